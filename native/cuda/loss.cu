// Losses over rows of tokens (contract: surprisal/loss.h). A block takes a row: lanes stride over its tokens, and what the row
// adds up goes by a fixed tree over the lanes.
//
//   loss_token  one walk
//   loss_row    two walks, the row's sums and then its values, and a third one where a gradient is wanted
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/loss_steps.h"

namespace srp::cuda {
namespace {

// Lanes that share a row. Part of what a sum's bits depend on: never chosen by size.
constexpr int kLanes = 128;

// Adds up the lanes' numbers; of number `largest` it takes the maximum (-1 = of none). All threads of the block call it and
// get the totals.
template <int kCount>
__device__ void add_lanes(double (&numbers)[kCount], int largest = -1) {
  SRP_SHARED(double, lanes, kCount* kLanes);
  const int lane = threadIdx.x;
  __syncthreads();  // the previous call's totals are read
  SRP_UNROLL
  for (int k = 0; k < kCount; ++k) lanes[k * kLanes + lane] = numbers[k];
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    __syncthreads();  // both sides of each pair are stored
    if (lane >= distance) continue;
    for (int k = 0; k < kCount; ++k) {
      const double own = lanes[k * kLanes + lane], other = lanes[k * kLanes + lane + distance];
      lanes[k * kLanes + lane] = k == largest ? larger(own, other) : own + other;
    }
  }
  __syncthreads();  // the totals are there for all
  SRP_UNROLL
  for (int k = 0; k < kCount; ++k) numbers[k] = lanes[k * kLanes];
}

__device__ LossSums add_row_lanes(const LossSums& mine) {
  double numbers[] = {mine.log_ratio, mine.log_factor, mine.advantage, static_cast<double>(mine.kept),
                      static_cast<double>(mine.terms)};
  add_lanes(numbers);
  LossSums sums;
  sums.log_ratio = numbers[0];
  sums.log_factor = numbers[1];
  sums.advantage = numbers[2];
  sums.kept = static_cast<int64_t>(numbers[3]);
  sums.terms = static_cast<int64_t>(numbers[4]);
  return sums;
}

// Kernels

template <class F>
__global__ void token_losses_kernel(LossArgs a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range range = checked_row(a.offsets, a.T, a.n, b, faults);
  const LossParameters p = loss_parameters(a);
  const RowScale scale = row_scale(a, b);
  LossFigures figures = token_figures();
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += kLanes) token_loss<F>(a, b, i, p, scale, &figures);
  if (!a.figures) return;
  add_lanes(figures.at, SRP_FIGURE_ROW_RATIO);
  if (threadIdx.x == 0) store_figures(a, b, figures);
}

template <class F>
__global__ void row_losses_kernel(LossArgs a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range range = checked_row(a.offsets, a.T, a.n, b, faults);
  const LossParameters p = loss_parameters(a);
  LossSums sums;
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += kLanes) add_row_sums<F>(a, b, i, p, &sums);
  const RowForm row = row_form<F>(a, b, p, add_row_lanes(sums));

  LossFigures figures;
  double slope[1] = {0};
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += kLanes)
    row_value<F>(a, b, i, p, row, &figures, &slope[0]);
  add_lanes(figures.at);
  if (threadIdx.x == 0) store_row<F>(a, b, row, figures);
  if (!a.grad) return;

  if (goes_through(a.form)) add_lanes(slope);
  const double through = row_through(a, b, row, figures, slope[0]);
  const RowScale scale = row_scale(a, b);
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += kLanes) row_grad<F>(a, b, i, p, scale, row, through);
}

}  // namespace

// Launchers

srp_status loss_token(srp_queue* queue, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_grid("loss_token", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((token_losses_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((token_losses_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("loss_token");
}

srp_status loss_row(srp_queue* queue, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_grid("loss_row", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((row_losses_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((row_losses_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("loss_row");
}

}  // namespace srp::cuda
