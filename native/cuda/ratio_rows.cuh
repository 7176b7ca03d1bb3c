// The sum of log-prob differences of a row, which log ratios of rows and of groups start from.
#pragma once
#include "quads.cuh"
#include "shared/ratio.h"
#include "token_pairs.cuh"

namespace srp::cuda {

// Of a lane's tokens, of a warp or of the whole row.
struct RowSum {
  double sum;
  int64_t kept;
};
__device__ __forceinline__ RowSum warp_total(const RowSum& x) {
  return {warp_reduce(x.sum, Sum{}), warp_reduce(x.kept, Sum{})};
}
__device__ __forceinline__ RowSum joined(const RowSum& a, const RowSum& b) { return {a.sum + b.sum, a.kept + b.kept}; }

// All threads of the team call it, and all get the sum.
template <class F, class Team, class Args>
__device__ __forceinline__ LogSum sum_row(const Args& a, const Range& row) {
  constexpr int kCount = Team::kTeams == 1 && sizeof(F) == sizeof(float) ? 8 : 4;
  const RowSum all = Team::total(lanes_of<F>(row), [&](int lane) {
    RowSum mine = {0, 0};
    each_pairs<F, kCount, Team::kTeams == 1>(a, row, lane, [&](int64_t, const TokenPairs<F, kCount>& tokens) {
      mine.kept += __popc(tokens.kept);
      SRP_UNROLL
      for (int e = 0; e < kCount; ++e)
        if (tokens.kept >> e & 1)
          mine.sum += static_cast<double>(tokens.log_probs.at[e]) - static_cast<double>(tokens.old_log_probs.at[e]);
    });
    return mine;
  });
  return {all.sum, all.kept};
}

// Defined in ratio_groups.cu.
template <class F>
srp_status log_groups(srp_queue* queue, const srp_ratio_log_args& a);

}  // namespace srp::cuda
