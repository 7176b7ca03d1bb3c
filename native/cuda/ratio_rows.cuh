// The sum of log-prob differences of a row, which log ratios of rows and of groups start from.
#pragma once
#include "policy_pairs.cuh"
#include "quads.cuh"
#include "row_strips.cuh"
#include "shared/ratio.h"

namespace srp::cuda {

// A lane's differences of a strip.
template <class F, class Args>
__device__ __forceinline__ void add_differences(const Args& a, int64_t begin, int64_t end, RowNumbers<2>& mine) {
  const PolicyPairs<F, kOfLane> tokens(a, begin, 0, end);
  SRP_UNROLL
  for (int k = 0; k < kOfLane; ++k) {
    mine.sums[0] += tokens.kept[k] ? tokens.difference(k) : 0.0;
    mine.sums[1] += tokens.kept[k] ? 1.0 : 0.0;
  }
}

// All threads that share the row call it, and all get the sum.
template <class F, bool kTogether, class Args>
__device__ __forceinline__ LogSum sum_row(const Args& a, const Range& row) {
  const RowNumbers<2> numbers = add_row<kTogether, 2>(
      row, [&](int64_t begin, int64_t end, RowNumbers<2>& mine) { add_differences<F>(a, begin, end, mine); });
  return {numbers.sums[0], static_cast<int64_t>(numbers.sums[1])};
}

// Defined in ratio_groups.cu.
template <class F>
srp_status log_groups(srp_queue* queue, const srp_ratio_log_args& a);

}  // namespace srp::cuda
