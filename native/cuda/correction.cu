// Statistics of two policies' log-probs, and their bounds (contract: surprisal/correction.h).
//
//   measure   one block a row, which it walks twice: sums, then deviations from the means (the statistic is computed again)
//   bound     one block a row, every token by one thread
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/correction_steps.h"

namespace srp::cuda {
namespace {

// Lanes that share a row. Part of what a result's bits depend on: never chosen by size.
constexpr int kLanes = 256;

// All threads of the block must call it, and all get the whole.
__device__ MismatchSums sum_lanes(MismatchSums lane) {
  MismatchSums row;
  row.x.sum = block_sum(lane.x.sum);
  row.x.low = block_reduce(lane.x.low, Min{});
  row.x.high = block_reduce(lane.x.high, Max{});
  row.x.count = block_sum(lane.x.count);
  row.bounded = block_sum(lane.bounded);
  row.difference = block_sum(lane.difference);
  row.above = block_sum(lane.above);
  row.below = block_sum(lane.below);
  return row;
}

__device__ ChunkDeviations sum_lanes(ChunkDeviations lane) {
  ChunkDeviations row;
  row.sum = block_sum(lane.sum);
  row.squares = block_sum(lane.squares);
  return row;
}

template <class F>
__global__ void measure_kernel(srp_correction_measure_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  MismatchSums sums;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kLanes)
    if (!a.mask || a.mask[i]) sums.add<F>(a, i);
  sums = sum_lanes(sums);

  const ChunkSums bounded_sums = sums.bounded_sums(a);
  const double mean = sums.x.mean(), bounded_mean = bounded_sums.mean();
  ChunkDeviations deviations, bounded_deviations;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kLanes) {
    if (a.mask && !a.mask[i]) continue;
    const double x = statistic_at<F>(a, i);
    deviations.add(x, mean);
    bounded_deviations.add(clamp(x, a.low, a.high), bounded_mean);
  }
  deviations = sum_lanes(deviations);
  bounded_deviations = sum_lanes(bounded_deviations);
  if (threadIdx.x == 0)
    store_measures(a, b, chunk_moments(sums.x, deviations), chunk_moments(bounded_sums, bounded_deviations),
                   sums.difference, sums.above, sums.below);
}

template <class F>
__global__ void bound_kernel(srp_correction_bound_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  int32_t kept = 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kLanes) kept += bound_token<F>(a, b, i) ? 1 : 0;
  kept = block_sum(kept);
  if (threadIdx.x == 0 && a.kept_count) a.kept_count[b] = kept;
}

}  // namespace

srp_status correction_measure(srp_queue* queue, const srp_correction_measure_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("correction_measure", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((measure_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((measure_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("correction_measure");
}

srp_status correction_bound(srp_queue* queue, const srp_correction_bound_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("correction_bound", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((bound_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((bound_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("correction_bound");
}

}  // namespace srp::cuda
