// Sums of log-prob differences over the rows of a group, from which the log ratios and losses of groups start: those of each row
// in a launch of their own, since the rows of a group are scattered and a block cannot wait for others, which may not have started.
// Then each warp that needs a group's sum adds its rows up in member order.
#pragma once
#include "ratio_rows.cuh"

namespace srp::cuda {

// ledger    ratio_log, loss_row
// bytes     n (2 s + mask) + 16 B
// limit     memory
// notes     a warp or a block a row; the first of the two launches of a group
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      8 of row_sums_kernel<BlockPieces, float, srp_loss_token_args>: 72 loaded, 16 float64; 9 bytes; at most 15.8, 15.9 on
//           sm_89; before 37.5, 38 on sm_89
template <class Team, class F, class Args>
__global__ void __launch_bounds__(kPieceLanes, 4) row_sums_kernel(Args a, LogSum* sums, uint32_t* faults) {
  const int64_t b = Team::slot();
  if (b >= a.B) return;  // the whole team
  const LogSum row = sum_row<F, Team>(a, team_row<Team>(a, b, faults));
  if (Team::leads()) sums[b] = row;
}

// The row of a group's member, or -1 for one outside the batch.
static __device__ int64_t checked_member(const int32_t* members, int64_t B, int64_t m, uint32_t* faults) {
  const int64_t b = member(members, m);
  if (b >= 0 && b < B) return b;
  raise(faults, SRP_FAULT_INDEX);
  return -1;
}

static __device__ Range checked_group(const int32_t* group_offsets, int64_t B, int64_t g, uint32_t* faults) {
  const Range group = row_range(group_offsets, 0, B, g);
  if (!group.valid && threadIdx.x % kWarp == 0) raise(faults, SRP_FAULT_OFFSETS);
  return group;
}

// The sum of number_of(row) in member order: the lanes of a warp look up 32 members at a time, then each adds all of them.
// number_of(-1) is of no row.
template <class NumberOf>
__device__ __forceinline__ double sum_members(const int32_t* members, int64_t B, const Range& group, uint32_t* faults,
                                              const NumberOf& number_of) {
  double sum = 0;
  for (int64_t first = group.begin; first < group.end; first += kWarp) {
    const int64_t m = first + threadIdx.x % kWarp;
    const double mine = number_of(m < group.end ? checked_member(members, B, m, faults) : -1);
    const int count = static_cast<int>(group.end - first < kWarp ? group.end - first : kWarp);
    for (int k = 0; k < count; ++k) sum += __shfl_sync(kFullWarp, mine, k);
  }
  return sum;
}

// All lanes of a warp call it, and all get the sum.
template <class Args>
__device__ __forceinline__ LogSum sum_group(const Args& a, const LogSum* sums, const Range& group, uint32_t* faults) {
  const double sum = sum_members(a.members, a.B, group, faults, [&](int64_t b) { return b < 0 ? 0.0 : sums[b].sum; });
  const double kept = sum_members(a.members, a.B, group, faults,
                                  [&](int64_t b) { return b < 0 ? 0.0 : static_cast<double>(sums[b].kept); });
  return {sum, static_cast<int64_t>(kept)};
}

template <class F, class Args>
srp_status sum_rows(srp_queue* queue, const char* op, const Args& a, LogSum* sums) {
  if (a.B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return launch_rows(op, a, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    SRP_LAUNCH((row_sums_kernel<Team, F, Args>), grid, dim3(kPieceLanes), 0, queue->stream, a, sums, queue->faults);
  });
}

}  // namespace srp::cuda
