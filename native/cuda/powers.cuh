// Powers of two in float64, many of them at once, of differences of logits.
//
// With n the integer next to 32 y and f = 32 y - n, 2^y = 2^(n div 32) · 2^(n mod 32 / 32) · 2^(f/32): the first factor goes into the
// exponent, the second is one of 32 numbers of which each lane of a warp holds one, the third a polynomial of degree 5, within 3e-15.
// Twelve instructions, nine of them float64, where exp() takes about twice as many.
#pragma once
#include "common.cuh"

namespace srp::cuda {

constexpr double kNats = 0.02166084939249829;  // ln 2 / 32

class LanePowers {
 public:
  __device__ LanePowers() {
    const uint32_t lane = threadIdx.x % kWarp;
    const double power = exp2(static_cast<double>(lane) / 32);
    memcpy(words_, &power, sizeof power);
    words_[1] -= lane << 15;  // as 2^15 n is added whole, of which this much does not belong to the exponent
  }

  // 2^(d rate / 32), for d <= 0 and d rate from -32,000 on; NaN of a NaN. All lanes of the warp call it.
  __device__ __forceinline__ double operator()(double d, double rate) const {
    constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: of a sum with it, the low bits are the nearest integer
    const double shifted = fma(d, rate, kRound), f = fma(d, rate, kRound - shifted);
    uint32_t words[2];
    memcpy(words, &shifted, sizeof words);
    const uint32_t n = words[0];
    double p = 3.973709984549416e-11;  // (ln 2 / 32)^k / k!, k from 5 down
    p = fma(p, f, 9.172562701824643e-9);
    p = fma(p, f, 1.693850972437182e-6);
    p = fma(p, f, 2.345961982022468e-4);
    p = fma(p, f, kNats);
    p = fma(p, f, 1.0);
    words[0] = __shfl_sync(kFullWarp, words_[0], static_cast<int>(n));  // of lane n modulo 32
    words[1] = __shfl_sync(kFullWarp, words_[1], static_cast<int>(n)) + (n << 15);
    double scale;
    memcpy(&scale, words, sizeof scale);
    return p * scale;
  }

  // The same for all d <= 0: down to the smallest float64, and 0 of -infinity.
  __device__ __forceinline__ double deep(double d, double rate) const {
    const double nothing = -32.0 * 1250 / rate;
    const double half = (*this)(d < nothing ? nothing : d, rate * 0.5);
    return half * half;
  }

 private:
  uint32_t words_[2];  // of 2^(lane/32), the high one as above
};

}  // namespace srp::cuda
