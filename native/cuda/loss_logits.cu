// From the logits of tokens to their gradient (contract: surprisal/loss.h, loss_logits): one block a row, which forms the sums,
// its first thread the token's loss, and the block reads the row once more, from L2, for the gradient.
#include "backend.cuh"
#include "logprob_row.cuh"
#include "surprisal/loss_logits_steps.h"

namespace srp::cuda {
namespace {

// The bound lets three blocks run on a multiprocessor: the first thread's float64 would take the registers of two.
template <class T, bool kCapped>
__global__ void __launch_bounds__(kMaxThreads, 3)
    loss_logits_kernel(LossLogitsArgs a, LossArgs tokens, LossParameters p, uint32_t* faults) {
  SRP_SHARED(RowSlopes, found, 1);
  const LogitMap map = LogitMap::of(a);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    T* const grad = static_cast<T*>(a.grad) + n * a.stride;
    if (!kept(a.keep, n)) {
      if (threadIdx.x == 0) clear_token(a, n);
      fill_row(grad, 0, a.stride, 0);
      continue;
    }
    const RowSums sums = sum_row<T, kCapped>(map, x, a.V);
    const int64_t target = a.targets[n];
    const bool inside = target >= 0 && target < a.V;
    double at_target = 0;  // of the first thread
    if (threadIdx.x == 0) {
      if (!inside) raise(faults, SRP_FAULT_INDEX);
      const RowResult row = finish_row(map, sums);
      const double logit = inside ? load(x, target) : NAN;  // in place, it will be gone
      found[0] = lose_row(a, tokens, p, n, row, target_logprob(map, row, logit));
      at_target = target_gradient(map, found[0], found[0].sum, 0, logit);
    }
    fill_row(grad, a.V, a.stride, 0);
    if (!sums.finite()) {
      __syncthreads();  // the target's logit is read
      fill_row(grad, 0, a.V, sums.max_logit == -INFINITY ? 0 : NAN);
      continue;
    }
    __syncthreads();  // the slopes are there, and the target's logit is read
    gradient_row<T, kCapped>(map, x, a.V, found[0], grad);
    __syncthreads();  // the target's column is written
    if (threadIdx.x == 0 && inside) store(grad, target, at_target);
  }
}

template <class T>
void launch(srp_queue* queue, const LossLogitsArgs& a) {
  const LossArgs tokens = token_args(a);
  const LossParameters p = loss_parameters(tokens);
  if (a.softcap != 0)
    SRP_LAUNCH((loss_logits_kernel<T, true>), row_blocks(a.N), threads_for(a.V), 0, queue->stream, a, tokens, p,
               queue->faults);
  else
    SRP_LAUNCH((loss_logits_kernel<T, false>), row_blocks(a.N), threads_for(a.V), 0, queue->stream, a, tokens, p,
               queue->faults);
}

}  // namespace

srp_status loss_logits(srp_queue* queue, const srp_loss_logits_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  if (a->dtype == SRP_F32)
    launch<float>(queue, *a);
  else if (a->dtype == SRP_F16)
    launch<Half>(queue, *a);
  else
    launch<BFloat16>(queue, *a);
  return launched("loss_logits");
}

}  // namespace srp::cuda
