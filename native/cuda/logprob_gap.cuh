// How far z lies below the largest z seen, in powers of two, as every kernel over logits forms it.
//
//   arg + low   (z(x) - z(top)) / ln 2; arg is -infinity for a masked id, NaN for a NaN
//   power()     2^arg, 0 below 2^-126
//   term()      2^(arg + low) = exp(z(x) - z(top)), within 3e-7
//
// Without low the error is that of the last bit of arg: 3e-7 of a power 11 nats below the top, 1.3e-6 of one 23 nats below. To
// get there takes a factor in two parts, and for float32 what the subtraction rounds away; differences of 16-bit logits are
// exact but for the tiniest. With a softcap z - z(top) is a difference of two tanh, which only float64 holds to that.
#pragma once
#include "pairs.cuh"
#include "shared/logprob.h"

namespace srp::cuda {

constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.6931471805599453;
constexpr float kNoTerm = -150.0f;  // 2^-150 is 0 in float32

// For kernels compiled with or without a softcap: without one, they contain no tanh.
template <bool kCapped, class Args>
__device__ __forceinline__ LogitMap map_of(const Args& a) {
  LogitMap map = LogitMap::of(a);
  if (!kCapped) map.rate = map.height = 0;
  return map;
}

struct Gap {
  float arg, low;

  __device__ __forceinline__ float power() const { return power_of_two(arg); }

  // Down to the smallest float32, where the instruction gives 0: far below, 2^32 of it is taken, and then its part.
  __device__ __forceinline__ float term() const {
    const bool deep = arg < -64;
    const float lifted = power_of_two(deep ? arg + 32 : arg);
    const float exact = lifted > 0 ? fmaf(lifted, low * static_cast<float>(kLn2), lifted) : lifted;
    return deep ? exact * 0x1p-32f : exact;
  }

  // Replaces arg and low in a product with the term, since 0 * -infinity is not 0.
  __device__ __forceinline__ float finite_arg() const { return fmaxf(arg, kNoTerm); }
  __device__ __forceinline__ float finite_low() const { return arg > -INFINITY ? low : 0.0f; }
};

template <class T, bool kCapped>
class GapFrom;

template <class T>
class GapFrom<T, false> {
 public:
  __device__ explicit GapFrom(const LogitMap& map) {
    const double slope = map.slope * kLog2e;
    high_ = static_cast<float>(slope);
    // Below the slope, so that the rest is > 0: a masked id must not meet infinity - infinity.
    if (!(static_cast<double>(high_) < slope)) high_ = bits_float(float_bits(high_) - 1);
    low_ = static_cast<float>(slope - high_);
  }

  // Without a finite top there are no sums, so any number can replace it.
  __device__ __forceinline__ void set_top(float top) { top_ = fabsf(top) < INFINITY ? top : 0.0f; }

  // Powers of two between logits 1 apart, but for what low adds.
  __device__ __forceinline__ float slope() const { return high_; }
  // The logit that lies `powers` of two below the top.
  __device__ __forceinline__ float below(float top, float powers) const { return top - powers / high_; }
  // From here on a power alone, without low, is within 5e-7.
  __device__ __forceinline__ float near(float top) const { return fabsf(top) < INFINITY ? below(top, 16) : INFINITY; }

  __device__ __forceinline__ Gap operator()(float x) const {
    const float d = x - top_;
    float rest = d * low_;
    if constexpr (sizeof(T) == 4) {
      const float back = d - x;
      const float lost =
          (x - (d - back)) + (-top_ - back);  // exactly what the subtraction rounded away (Knuth's two-sum)
      rest = d > -INFINITY ? fmaf(lost, high_, rest) : rest;
    }
    const float arg = fmaf(d, high_, rest);
    return {arg, fmaf(d, high_, -arg) + rest};
  }

  // With low a NaN for a masked id, whose power is 0. No select for its sake: what reads all ids of a row takes this.
  __device__ __forceinline__ Gap unchecked(float x) const {
    const float d = x - top_, arg = d * high_;
    float low = fmaf(d, low_, fmaf(d, high_, -arg));
    if constexpr (sizeof(T) == 4) {
      const float back = d - x;
      low = fmaf((x - (d - back)) + (-top_ - back), high_, low);
    }
    return {arg, low};
  }

 private:
  float top_ = 0, high_, low_;
};

template <class T>
class GapFrom<T, true> {
 public:
  __device__ explicit GapFrom(const LogitMap& map) : map_(map) {}

  __device__ __forceinline__ void set_top(float top) {
    bend_ = fabsf(top) < INFINITY ? tanh(map_.rate * static_cast<double>(top)) : 0;
  }

  __device__ __forceinline__ float below(float, float) const { return INFINITY; }
  __device__ __forceinline__ float near(float) const { return INFINITY; }

  __device__ __forceinline__ Gap operator()(float x) const {
    if (x == -INFINITY) return {-INFINITY, 0};
    const double arg = (tanh(map_.rate * static_cast<double>(x)) - bend_) * (map_.height * kLog2e);
    const float high = static_cast<float>(arg);
    return {high, static_cast<float>(arg - high)};
  }

 private:
  LogitMap map_;
  double bend_ = 0;
};

}  // namespace srp::cuda
