// Log ratios and the clipped objective of groups of rows (contract: surprisal/ratio.h), in two launches. One would need blocks
// that wait for blocks of a higher number, which may not have started: the sums of a group come from all its rows, which
// members scatters, and its gradient goes back to all of them.
//
//   row_sums     a warp or a block a row (row_strips.cuh)
//   log_groups   a warp a group adds its rows in member order
//   clip_groups  the blocks of a group do so too, all of them alike, and spread the gradient over its rows, which they take by
//                turns: as many blocks a group as there are rows in one, on average
#include "ratio_rows.cuh"

namespace srp::cuda {
namespace {

template <class F, class Args, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, 4) row_sums_kernel(Args a, LogSum* sums, uint32_t* faults) {
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;  // the whole warp; together, no block has such a row
  const LogSum row = sum_row<F, kTogether>(a, own_range<kTogether>(a.offsets, a.T, a.n, b, faults));
  if (worker<kTogether>() == 0) sums[b] = row;
}

// The row of a group's member, or -1 for one outside the batch.
__device__ int64_t checked_member(const int32_t* members, int64_t B, int64_t m, uint32_t* faults) {
  const int64_t b = member(members, m);
  if (b >= 0 && b < B) return b;
  raise(faults, SRP_FAULT_INDEX);
  return -1;
}

__device__ Range checked_group(const int32_t* group_offsets, int64_t B, int64_t g, uint32_t* faults) {
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

template <class F>
__global__ void log_groups_kernel(srp_ratio_log_args a, const LogSum* sums, uint32_t* faults) {
  const int64_t g = own_row<false>();
  if (g >= a.G) return;
  const Range group = checked_group(a.group_offsets, a.B, g, faults);
  const LogSum unit = sum_group(a, sums, group, faults);
  if (threadIdx.x % kWarp == 0) store_log_ratio<F>(a, g, log_ratio_of(unit, a.reduce));
}

template <class F>
__global__ void __launch_bounds__(kRowThreads, 4)
    clip_groups_kernel(srp_ratio_clip_args a, int blocks, const LogSum* sums, uint32_t* faults) {
  const int64_t g = blockIdx.x / blocks;
  const int block = static_cast<int>(blockIdx.x % blocks);
  const bool first_warp = threadIdx.x < kWarp;
  SRP_SHARED(double, row_grad, 1);
  const Range group = checked_group(a.group_offsets, a.B, g, faults);
  if (first_warp) {
    const LogSum unit = sum_group(a, sums, group, faults);
    const ClampedRatio<double> x = unit_ratio(a, log_ratio_of(unit, a.reduce));
    const double slope = sum_members(a.members, a.B, group, faults, [&](int64_t b) {
      if (b < 0) return 0.0;
      const LossTerm<double> t = term_of_row<F>(a, b, x);
      if (block == 0) store_row_term<F>(a, b, t);
      return row_slope(a, b, t);
    });
    if (threadIdx.x == 0) {
      const LossTerm<double> t = term_of(a, x, 0);  // of its ratios only: an empty group has them, too
      if (block == 0) store_ratios<F>(a, g, t.ratio, t.clipped_ratio);
      row_grad[0] = negated(slope / divisor(unit.kept, a.reduce));
    }
  }
  if (!a.grad) return;
  __syncthreads();  // the gradient is there for all
  for (int64_t m = group.begin + block; m < group.end; m += blocks) {
    const int64_t b = member(a.members, m);
    if (b < 0 || b >= a.B) continue;
    const Range row = row_range(a.offsets, a.T, a.n, b);
    spread(static_cast<F*>(a.grad), a.mask, row, row_grad[0], static_cast<int>(threadIdx.x), kRowThreads);
  }
}

// Launchers

template <class F, class Args>
void sum_rows(srp_queue* queue, const Args& a, LogSum* sums) {
  if (a.B == 0) return;  // a grid of size 0 is a CUDA error
  const dim3 block(kRowThreads);
  if (takes_block(a.n, a.B))
    SRP_LAUNCH((row_sums_kernel<F, Args, true>), dim3(static_cast<unsigned>(row_blocks<true>(a.B))), block, 0,
               queue->stream, a, sums, queue->faults);
  else
    SRP_LAUNCH((row_sums_kernel<F, Args, false>), dim3(static_cast<unsigned>(row_blocks<false>(a.B))), block, 0,
               queue->stream, a, sums, queue->faults);
}

}  // namespace

template <class F>
srp_status log_groups(srp_queue* queue, const srp_ratio_log_args& a) {
  const Scratch scratch(queue, static_cast<size_t>(a.B) * sizeof(LogSum));
  SRP_TRY(scratch.status());
  LogSum* const sums = scratch.as<LogSum>();
  sum_rows<F>(queue, a, sums);
  if (a.G > 0)
    SRP_LAUNCH((log_groups_kernel<F>), dim3(static_cast<unsigned>(row_blocks<false>(a.G))), dim3(kRowThreads), 0,
               queue->stream, a, sums, queue->faults);
  return launched("ratio_log");
}

template <class F>
srp_status clip_groups(srp_queue* queue, const srp_ratio_clip_args& a) {
  const Scratch scratch(queue, static_cast<size_t>(a.B) * sizeof(LogSum));
  SRP_TRY(scratch.status());
  LogSum* const sums = scratch.as<LogSum>();
  sum_rows<F>(queue, a, sums);
  if (a.G == 0) return launched("ratio_clip");
  const int64_t rows = a.grad && a.B > a.G ? (a.B + a.G - 1) / a.G : 1;
  SRP_TRY(check_grid("ratio_clip", a.G * rows));
  SRP_LAUNCH((clip_groups_kernel<F>), dim3(static_cast<unsigned>(a.G * rows)), dim3(kRowThreads), 0, queue->stream, a,
             static_cast<int>(rows), sums, queue->faults);
  return launched("ratio_clip");
}

template srp_status log_groups<float>(srp_queue*, const srp_ratio_log_args&);
template srp_status log_groups<double>(srp_queue*, const srp_ratio_log_args&);
template srp_status clip_groups<float>(srp_queue*, const srp_ratio_clip_args&);
template srp_status clip_groups<double>(srp_queue*, const srp_ratio_clip_args&);

}  // namespace srp::cuda
