// The log-probs of a lane's tokens under two policies, all loaded before the first is used, and before the mask is known. Those
// under the mask are not used.
#pragma once
#include "row_strips.cuh"

namespace srp::cuda {

template <class F, int kCount>
struct PolicyPairs {
  F log_probs[kCount], old_log_probs[kCount];
  bool kept[kCount];

  // Tokens `from` to `from` + kCount - 1 of the lane; those from `end` on count as masked.
  template <class Args>
  __device__ __forceinline__ PolicyPairs(const Args& a, int64_t begin, int from, int64_t end) {
    SRP_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const int64_t i = lane_token(begin, from + k);
      const bool inside = i < end;
      log_probs[k] = inside ? static_cast<const F*>(a.log_probs)[i] : F{0};
      old_log_probs[k] = inside ? static_cast<const F*>(a.old_log_probs)[i] : F{0};
      kept[k] = inside && (!a.mask || a.mask[i]);
    }
  }

  __device__ __forceinline__ double difference(int k) const {
    return static_cast<double>(log_probs[k]) - static_cast<double>(old_log_probs[k]);
  }
};

}  // namespace srp::cuda
