// The gradient of a row's logits as a stream (RowSlopes → dL/dx): what a thread writes depends on the logit in the same place
// and on no other, so that gradients may lie where the logits do.
//
//   dL/dx[j] = p_j (-sum - h (log p_j + H)) dz/dx,  log p_j + H = z_j - M + mean_gap
//
// In rows near to uniform z - M and mean_gap cancel: both are pairs of floats, so that the difference keeps its digits.
#pragma once
#include "logprob_gap.cuh"
#include "vector.cuh"

namespace srp::cuda {

template <class T, bool kCapped>
class RowGradient {
 public:
  __device__ RowGradient(const LogitMap& map, const RowSlopes& row) : map_(map), gap_(map) {
    gap_.set_top(static_cast<float>(row.max_logit));
    scale_ = static_cast<float>(exp(-row.log1p_sum));
    deep_scale_ = scale_ * 0x1p-32f;
    const double factor = kCapped ? 1 : map.slope;
    const double mean = row.mean_gap / kLn2;
    mean_high_ = static_cast<float>(mean);
    mean_low_ = static_cast<float>(mean - mean_high_);
    constant_ = static_cast<float>(-row.sum * factor);
    per_power_ = static_cast<float>(-row.of_entropy * kLn2 * factor);
  }

  // As if the id were no target. A masked id has exactly 0, without a sign, also where a slope is NaN.
  __device__ __forceinline__ float operator()(float x) const {
    if constexpr (kCapped) {
      const Gap gap = gap_(x);
      const float p = gap.term() * scale_ * static_cast<float>(map_.derivative(x == -INFINITY ? 0.0 : x));
      const float over_mean = (gap.finite_arg() + mean_high_) + (gap.finite_low() + mean_low_);
      return p == 0 ? 0.0f : p * fmaf(per_power_, over_mean, constant_);
    } else {
      const Gap gap = gap_.unchecked(x);
      const bool deep = gap.arg < -64;  // as in Gap::term()
      const float power = power_of_two(deep ? gap.arg + 32 : gap.arg) * (deep ? deep_scale_ : scale_);
      const float p = fmaf(power, gap.low * static_cast<float>(kLn2), power);
      const float over_mean = (gap.arg + mean_high_) + (gap.low + mean_low_);
      return power == 0 ? 0.0f : p * fmaf(per_power_, over_mean, constant_);
    }
  }

 private:
  const LogitMap& map_;
  GapFrom<T, kCapped> gap_;
  float scale_, deep_scale_, mean_high_, mean_low_, constant_, per_power_;
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
