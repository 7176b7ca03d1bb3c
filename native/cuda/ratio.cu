// Log ratios and the clipped objective (contract: surprisal/ratio.h).
//
//   token     one block a row: every thread its tokens, the row's figures by block reductions
//   sequence  one block a row in two phases: the sum of differences, then the gradient spread over the tokens
//   group     three launches: row sums, one thread a group for its ratio and terms, one block a row for the gradient
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/ratio_terms.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;       // a block a row
constexpr int kGroupThreads = 128;  // a thread a group

// All threads of the block get the row's sum.
template <class F, class Args>
__device__ LogSum block_row_sum(const Args& a, const Range& row) {
  double sum = 0;
  int64_t kept = 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += blockDim.x) {
    if (!is_kept(a, i)) continue;
    sum += difference<F>(a, i);
    kept += 1;
  }
  return {block_sum(sum), block_sum(kept)};
}

template <class F>
__device__ void block_spread_grad(const srp_ratio_clip_args& a, const Range& row, double grad) {
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += blockDim.x) store_grad<F>(a, i, is_kept(a, i) ? grad : 0);
}

__device__ Range checked_group(const int32_t* group_offsets, int64_t B, int64_t g, uint32_t* faults) {
  const Range group = row_range(group_offsets, 0, B, g);
  if (!group.valid) raise(faults, SRP_FAULT_OFFSETS);
  return group;
}

// The row of a group's member, or -1 for one outside the batch.
__device__ int64_t checked_member(const int32_t* members, int64_t B, int64_t m, uint32_t* faults) {
  const int64_t b = member(members, m);
  if (b >= 0 && b < B) return b;
  raise(faults, SRP_FAULT_INDEX);
  return -1;
}

// Rows in member order, like the CPU: the sum does not depend on which thread does it.
__device__ LogSum sum_members(const LogSum* rows, const int32_t* members, int64_t B, const Range& group,
                              uint32_t* faults) {
  LogSum unit = {0, 0};
  for (int64_t m = group.begin; m < group.end; ++m) {
    const int64_t b = checked_member(members, B, m, faults);
    if (b < 0) continue;
    unit.sum += rows[b].sum;
    unit.kept += rows[b].kept;
  }
  return unit;
}

// Kernels

template <class F>
__global__ void log_tokens_kernel(srp_ratio_log_args a) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= a.n) return;
  if (is_kept(a, i))
    store_log_ratio<F>(a, i, difference<F>(a, i));
  else
    store_masked_log_ratio<F>(a, i);
}

template <class F>
__global__ void log_rows_kernel(srp_ratio_log_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const LogSum row = block_row_sum<F>(a, checked_row(a.offsets, a.T, a.n, b, faults));
  if (threadIdx.x == 0) store_log_ratio<F>(a, b, log_ratio_of(row, a.reduce));
}

template <class F, class Args>
__global__ void row_sums_kernel(Args a, LogSum* sums, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const LogSum row = block_row_sum<F>(a, checked_row(a.offsets, a.T, a.n, b, faults));
  if (threadIdx.x == 0) sums[b] = row;
}

template <class F>
__global__ void log_groups_kernel(srp_ratio_log_args a, const LogSum* sums, uint32_t* faults) {
  const int64_t g = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (g >= a.G) return;
  const Range group = checked_group(a.group_offsets, a.B, g, faults);
  store_log_ratio<F>(a, g, log_ratio_of(sum_members(sums, a.members, a.B, group, faults), a.reduce));
}

template <class F>
__global__ void clip_tokens_kernel(srp_ratio_clip_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range range = checked_row(a.offsets, a.T, a.n, b, faults);
  RowFigures row;
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x) token_term<F>(a, b, i, &row);
  row.term_sum = block_sum(row.term_sum);
  row.ratio_sum = block_sum(row.ratio_sum);
  row.ratio_max = block_reduce(row.ratio_max, Max{});
  row.terms = block_sum(row.terms);
  row.clipped = block_sum(row.clipped);
  row.limited = block_sum(row.limited);
  if (threadIdx.x == 0) store_figures(a, b, row);
}

template <class F>
__global__ void clip_rows_kernel(srp_ratio_clip_args a, uint32_t* faults) {
  SRP_SHARED(double, row_grad, 1);
  const int64_t b = blockIdx.x;
  const Range range = checked_row(a.offsets, a.T, a.n, b, faults);
  const LogSum row = block_row_sum<F>(a, range);
  if (threadIdx.x == 0) {
    LossTerm<double> t;
    const double slope = row_term<F>(a, b, unit_ratio(a, log_ratio_of(row, a.reduce)), &t);
    store_ratios<F>(a, b, t.ratio, t.clipped_ratio);
    row_grad[0] = negated(slope / divisor(row.kept, a.reduce));
  }
  __syncthreads();  // the gradient is there for all
  block_spread_grad<F>(a, range, row_grad[0]);
}

// `grads` gets the gradient of every row's tokens.
template <class F>
__global__ void clip_groups_kernel(srp_ratio_clip_args a, const LogSum* sums, double* grads, uint32_t* faults) {
  const int64_t g = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (g >= a.G) return;
  const Range group = checked_group(a.group_offsets, a.B, g, faults);
  const LogSum unit = sum_members(sums, a.members, a.B, group, faults);
  const ClampedRatio<double> x = unit_ratio(a, log_ratio_of(unit, a.reduce));
  LossTerm<double> t = term_of(a, x, 0);  // an empty group still has a ratio
  double slope = 0;
  for (int64_t m = group.begin; m < group.end; ++m) {
    const int64_t b = checked_member(a.members, a.B, m, faults);
    if (b >= 0) slope += row_term<F>(a, b, x, &t);
  }
  store_ratios<F>(a, g, t.ratio, t.clipped_ratio);
  const double grad = negated(slope / divisor(unit.kept, a.reduce));
  for (int64_t m = group.begin; m < group.end; ++m) {
    const int64_t b = checked_member(a.members, a.B, m, faults);
    if (b >= 0) grads[b] = grad;
  }
}

template <class F>
__global__ void spread_grads_kernel(srp_ratio_clip_args a, const double* grads, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  block_spread_grad<F>(a, checked_row(a.offsets, a.T, a.n, b, faults), grads[b]);
}

// Launchers

template <class F>
srp_status log_groups(srp_queue* queue, const srp_ratio_log_args& a) {
  const Scratch sums(queue, a.B * sizeof(LogSum));
  SRP_TRY(sums.status());
  LogSum* const rows = sums.as<LogSum>();
  if (a.B > 0)
    SRP_LAUNCH((row_sums_kernel<F, srp_ratio_log_args>), dim3(a.B), dim3(kThreads), 0, queue->stream, a, rows,
               queue->faults);
  if (a.G > 0)
    SRP_LAUNCH((log_groups_kernel<F>), dim3(blocks_for(a.G, kGroupThreads)), dim3(kGroupThreads), 0, queue->stream, a,
               rows, queue->faults);
  return launched("ratio_log");
}

template <class F>
srp_status log_level(srp_queue* queue, const srp_ratio_log_args& a) {
  if (a.level == SRP_LEVEL_GROUP) return log_groups<F>(queue, a);
  if (a.level == SRP_LEVEL_TOKEN && a.n > 0)
    SRP_LAUNCH((log_tokens_kernel<F>), dim3(blocks_for(a.n, kThreads)), dim3(kThreads), 0, queue->stream, a);
  if (a.level == SRP_LEVEL_SEQUENCE && a.B > 0)
    SRP_LAUNCH((log_rows_kernel<F>), dim3(a.B), dim3(kThreads), 0, queue->stream, a, queue->faults);
  return launched("ratio_log");
}

template <class F>
srp_status clip_groups(srp_queue* queue, const srp_ratio_clip_args& a) {
  const Scratch sums(queue, a.B * sizeof(LogSum)), grads(queue, a.B * sizeof(double));
  SRP_TRY(sums.status());
  SRP_TRY(grads.status());
  LogSum* const rows = sums.as<LogSum>();
  double* const row_grads = grads.as<double>();
  if (a.B > 0)
    SRP_LAUNCH((row_sums_kernel<F, srp_ratio_clip_args>), dim3(a.B), dim3(kThreads), 0, queue->stream, a, rows,
               queue->faults);
  if (a.G > 0)
    SRP_LAUNCH((clip_groups_kernel<F>), dim3(blocks_for(a.G, kGroupThreads)), dim3(kGroupThreads), 0, queue->stream, a,
               rows, row_grads, queue->faults);
  if (a.B > 0 && a.grad)
    SRP_LAUNCH((spread_grads_kernel<F>), dim3(a.B), dim3(kThreads), 0, queue->stream, a, row_grads, queue->faults);
  return launched("ratio_clip");
}

template <class F>
srp_status clip_level(srp_queue* queue, const srp_ratio_clip_args& a) {
  if (a.level == SRP_LEVEL_GROUP) return clip_groups<F>(queue, a);
  if (a.B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  if (a.level == SRP_LEVEL_TOKEN)
    SRP_LAUNCH((clip_tokens_kernel<F>), dim3(a.B), dim3(kThreads), 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((clip_rows_kernel<F>), dim3(a.B), dim3(kThreads), 0, queue->stream, a, queue->faults);
  return launched("ratio_clip");
}

}  // namespace

srp_status ratio_log(srp_queue* queue, const srp_ratio_log_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("ratio_log", a->level == SRP_LEVEL_TOKEN ? a->n / kThreads + 1 : a->B));
  SRP_TRY(check_grid("ratio_log", a->G / kGroupThreads + 1));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? log_level<double>(queue, *a) : log_level<float>(queue, *a);
}

srp_status ratio_clip(srp_queue* queue, const srp_ratio_clip_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("ratio_clip", a->B));
  SRP_TRY(check_grid("ratio_clip", a->G / kGroupThreads + 1));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? clip_level<double>(queue, *a) : clip_level<float>(queue, *a);
}

}  // namespace srp::cuda
