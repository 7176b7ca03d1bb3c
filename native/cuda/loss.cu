// Losses over rows of tokens (contract: surprisal/loss.h): one thread walks one row.
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/loss_steps.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;

__device__ Range thread_row(const LossArgs& a, int64_t b, uint32_t* faults) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

// Kernels

template <class F>
__global__ void token_losses_kernel(LossArgs a, uint32_t* faults) {
  const int64_t b = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;  // 64-bit: b * T overflows int
  if (b >= a.B) return;
  const Range range = thread_row(a, b, faults);
  const LossParameters p = loss_parameters(a);
  const RowScale scale = row_scale(a, b);
  LossFigures figures = token_figures();
  for (int64_t i = range.begin; i < range.end; ++i) token_loss<F>(a, b, i, p, scale, &figures);
  store_figures(a, b, figures);
}

template <class F>
__global__ void row_losses_kernel(LossArgs a, uint32_t* faults) {
  const int64_t b = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (b >= a.B) return;
  const Range range = thread_row(a, b, faults);
  const LossParameters p = loss_parameters(a);
  const RowScale scale = row_scale(a, b);
  RowSums sums;
  for (int64_t i = range.begin; i < range.end; ++i) add_row_sums<F>(a, b, i, p, &sums);
  const RowForm row = row_form<F>(a, b, p, sums);
  LossFigures figures;
  double slope = 0;
  for (int64_t i = range.begin; i < range.end; ++i) row_value<F>(a, b, i, p, row, &figures, &slope);
  store_row<F>(a, b, row, figures);
  if (!a.grad) return;
  const double through = row_through(a, b, row, figures, slope);
  for (int64_t i = range.begin; i < range.end; ++i) row_grad<F>(a, b, i, p, scale, row, through);
}

}  // namespace

// Launchers

srp_status loss_token(srp_queue* queue, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_grid("loss_token", a->B / kThreads + 1));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const dim3 grid(blocks_for(a->B, kThreads)), block(kThreads);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((token_losses_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((token_losses_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("loss_token");
}

srp_status loss_row(srp_queue* queue, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_grid("loss_row", a->B / kThreads + 1));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const dim3 grid(blocks_for(a->B, kThreads)), block(kThreads);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((row_losses_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((row_losses_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("loss_row");
}

}  // namespace srp::cuda
