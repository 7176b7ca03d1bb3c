// The gradient of a row's logits as a stream (RowSlopes → dL/dx): what a thread writes depends on the logits in the same 16 bytes
// and on no others, so that gradients may lie where the logits do.
//
//   dL/dx[j] = p_j (-sum - h (log p_j + H)) dz/dx,  log p_j + H = z_j - M + mean_gap
//
// In rows near to uniform z - M and mean_gap cancel: both are pairs of floats, so that the difference keeps its digits.
#pragma once
#include "logprob_gap.cuh"
#include "vector.cuh"

namespace srp::cuda {

// A row's constants, ready-made: the loop over its logits has neither float64 nor a load that waits for another.
template <class T, bool kCapped>
class RowGradient {
 public:
  static constexpr int kCount = Vector<T>::kCount;

  __device__ RowGradient(const LogitMap& map, const RowSlopes& row) : map_(map), gap_(map) {
    const float top = static_cast<float>(row.max_logit);
    gap_.set_top(top);
    deep_ = gap_.below(top, 64);
    scale_ = static_cast<float>(exp(-row.log1p_sum));
    const double factor = kCapped ? 1 : map.slope;
    const double mean = row.mean_gap / kLn2;
    mean_high_ = static_cast<float>(mean);
    mean_low_ = static_cast<float>(mean - mean_high_);
    constant_ = static_cast<float>(-row.sum * factor);
    per_power_ = static_cast<float>(-row.of_entropy * kLn2 * factor);
  }

  // As if no id were a target. A masked id has exactly 0, without a sign, also where a slope is NaN.
  __device__ __forceinline__ Vector<T> operator()(const Vector<T>& from) const {
    float out[kCount];
    if constexpr (kCapped) {
      SRP_UNROLL
      for (int i = 0; i < kCount; ++i) out[i] = capped(element(from, i));
    } else if (least(from) >= deep_) {
      SRP_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const Gap gap = gap_.unchecked(element(from, i));
        out[i] = slope(power_of_two(gap.arg) * scale_, gap);
      }
    } else {  // masked ids, and such as the power alone does not reach
      SRP_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const Gap gap = gap_.unchecked(element(from, i));
        const bool deep = gap.arg < -64;  // as in Gap::term()
        const float power = power_of_two(deep ? gap.arg + 32 : gap.arg) * (deep ? scale_ * 0x1p-32f : scale_);
        out[i] = power == 0 ? 0.0f : slope(power, gap);
      }
    }
    return rounded(out, T{});
  }

 private:
  // `power`: p but for what `low` adds.
  __device__ __forceinline__ float slope(float power, const Gap& gap) const {
    const float p = fmaf(power, gap.low * static_cast<float>(kLn2), power);
    const float over_mean = (gap.arg + mean_high_) + (gap.low + mean_low_);
    return p * fmaf(per_power_, over_mean, constant_);
  }

  __device__ __forceinline__ float capped(float x) const {
    const Gap gap = gap_(x);
    const float p = gap.term() * scale_ * static_cast<float>(map_.derivative(x == -INFINITY ? 0.0 : x));
    const float over_mean = (gap.finite_arg() + mean_high_) + (gap.finite_low() + mean_low_);
    return p == 0 ? 0.0f : p * fmaf(per_power_, over_mean, constant_);
  }

  const LogitMap& map_;
  GapFrom<T, kCapped> gap_;
  float deep_, scale_, mean_high_, mean_low_, constant_, per_power_;
};

// What a thread has of a tile; what lies behind V as -infinity.
template <class T, int kSteps>
struct TileLogits {
  Vector<T> parts[kSteps];

  // `begin`: of the thread's first vector, `step`: elements to its next one; the tile begins at `first`.
  __device__ __forceinline__ void load(const T* x, int64_t first, int64_t begin, int64_t step, int64_t V,
                                       bool aligned) {
    constexpr int kCount = Vector<T>::kCount;
    if (aligned && first + kSteps * step <= V) {
      SRP_UNROLL
      for (int s = 0; s < kSteps; ++s) parts[s] = load_last(x + begin + s * step);
      return;
    }
    SRP_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      const int64_t j = begin + s * step;
      parts[s] = aligned && j + kCount <= V ? load_last(x + j) : load_pieces(x, j, V);
    }
  }
};

// Elements [begin, end) of `to` by all threads of the block, in 16-byte stores where the row is aligned.
template <class T>
__device__ __forceinline__ void fill_row(T* to, int64_t begin, int64_t end, float value, bool aligned) {
  constexpr int kCount = Vector<T>::kCount;
  float x[kCount];
  SRP_UNROLL
  for (int i = 0; i < kCount; ++i) x[i] = value;
  const Vector<T> all = rounded(x, T{});
  for (int64_t j = (begin / kCount + threadIdx.x) * kCount; j < end; j += int64_t{blockDim.x} * kCount) {
    if (aligned && j >= begin && j + kCount <= end)
      store_vector(to + j, all);
    else
      for (int64_t i = j < begin ? begin : j; i < j + kCount && i < end; ++i) store(to, i, static_cast<double>(value));
  }
}

}  // namespace srp::cuda
