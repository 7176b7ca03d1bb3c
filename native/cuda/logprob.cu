// Log-probs, entropy and gradient of logits (contract: surprisal/logprob.h): one block a row (logprob_row.cuh).
#include "backend.cuh"
#include "logprob_row.cuh"

namespace srp::cuda {
namespace {

// ---- kernels

template <class T, bool kCapped>
__global__ void forward_kernel(srp_logprob_forward_args a, uint32_t* faults) {
  const LogitMap map = LogitMap::of(a);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    if (!kept(a.keep, n)) {
      if (threadIdx.x == 0) clear_row(a, n);
      continue;
    }
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    const RowResult row = finish_row(map, sum_row<T, kCapped>(map, x, a.V));
    if (threadIdx.x == 0) store_row(a, n, row);
    for (int64_t k = threadIdx.x; k < a.K && a.logprob; k += blockDim.x) {
      const int64_t i = n * a.K + k, id = a.targets[i];
      const bool inside = id >= 0 && id < a.V;
      if (!inside) raise(faults, SRP_FAULT_INDEX);
      store(a.logprob, i, inside ? target_logprob(map, row, load(x, id)) : NAN);
    }
  }
}

template <class T, bool kCapped>
__global__ void partial_kernel(srp_logprob_partial_args a, uint32_t* faults) {
  const LogitMap map = LogitMap::of(a);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    const bool read = kept(a.keep, n);
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    const RowSums sums = read ? sum_row<T, kCapped>(map, x, a.V) : RowSums{0, kIgnoredRest, 0, 0};
    double* const state = a.state + n * (kStateSums + a.K);
    if (threadIdx.x == 0) store_state(state, sums);
    for (int64_t k = threadIdx.x; k < a.K; k += blockDim.x) {
      const int64_t id = read ? a.targets[n * a.K + k] : 0, column = id - a.vocab_start;
      if (read && (id < 0 || id >= a.vocab_size)) raise(faults, SRP_FAULT_INDEX);
      const bool inside = read && column >= 0 && column < a.V;
      state[kStateSums + k] = inside ? load(x, column) : read ? INFINITY : 0;
    }
  }
}

__global__ void merge_kernel(srp_logprob_merge_args a, uint32_t* faults) {
  const int64_t n = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (n >= a.N) return;
  if (ignored(a, n)) return clear_row(a, n);
  const LogitMap map = LogitMap::of(a);
  const RowSums sums = merged_sums(a, map, n);
  if (!finds_targets(a, sums, n)) raise(faults, SRP_FAULT_INDEX);
  merge_row(a, map, sums, n);
}

// Of equal ids the first one stands for all: they have the same gradient, and two threads must not write one element.
__device__ bool first_of_its_id(const int32_t* ids, int64_t k) {
  for (int64_t before = 0; before < k; ++before)
    if (ids[before] == ids[k]) return false;
  return true;
}

// `at_targets` has K gradients a block: in place, the targets' logits must be read before any thread overwrites them, and
// their gradients be written after every thread is done with its columns.
template <class T, bool kCapped>
__global__ void backward_kernel(srp_logprob_backward_args a, double* at_targets, uint32_t* faults) {
  const LogitMap map = LogitMap::of(a);
  const int64_t targets = a.grad_logprob ? a.K : 0;
  at_targets += blockIdx.x * targets;
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    T* const grad = static_cast<T*>(a.grad) + n * a.stride;
    const float max = kept(a.keep, n) ? a.max_logit[n] : -INFINITY;
    if (!(max > -INFINITY && max < INFINITY)) {
      fill_row(grad, 0, a.V, max == -INFINITY ? 0 : NAN);
      fill_row(grad, a.V, a.stride, 0);
      continue;
    }
    const int32_t* const ids = a.targets + n * targets;
    double part = 0;
    for (int64_t k = threadIdx.x; k < targets; k += blockDim.x) {
      const int64_t column = ids[k] - a.vocab_start;
      if (ids[k] < 0 || ids[k] >= a.vocab_size) {
        raise(faults, SRP_FAULT_INDEX);
        continue;
      }
      part += a.grad_logprob[n * a.K + k];
      if (column >= 0 && column < a.V) at_targets[k] = target_gradient(a, map, n, ids[k], load(x, column));
    }
    const float sum = static_cast<float>(block_sum(part));  // its barriers part the reads above from the writes below
    gradient_row<T, kCapped>(map, x, a.V, row_slopes(a, n, sum), grad);
    fill_row(grad, a.V, a.stride, 0);
    __syncthreads();
    for (int64_t k = threadIdx.x; k < targets; k += blockDim.x) {
      const int64_t column = ids[k] - a.vocab_start;
      if (column >= 0 && column < a.V && first_of_its_id(ids, k)) store(grad, column, at_targets[k]);
    }
    __syncthreads();  // the next row overwrites at_targets
  }
}

// ---- launchers

template <class T, class Args>
void launch_forward(srp_queue* queue, dim3 grid, const Args& a) {
  if (a.softcap != 0)
    SRP_LAUNCH((forward_kernel<T, true>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((forward_kernel<T, false>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
}

template <class T, class Args>
void launch_partial(srp_queue* queue, dim3 grid, const Args& a) {
  if (a.softcap != 0)
    SRP_LAUNCH((partial_kernel<T, true>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((partial_kernel<T, false>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
}

template <class T, class Args>
void launch_backward(srp_queue* queue, dim3 grid, const Args& a, double* at_targets) {
  if (a.softcap != 0)
    SRP_LAUNCH((backward_kernel<T, true>), grid, threads_for(a.V), 0, queue->stream, a, at_targets, queue->faults);
  else
    SRP_LAUNCH((backward_kernel<T, false>), grid, threads_for(a.V), 0, queue->stream, a, at_targets, queue->faults);
}

}  // namespace

srp_status logprob_forward(srp_queue* queue, const srp_logprob_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const dim3 grid = row_blocks(a->N);
  if (a->dtype == SRP_F32)
    launch_forward<float>(queue, grid, *a);
  else if (a->dtype == SRP_F16)
    launch_forward<Half>(queue, grid, *a);
  else
    launch_forward<BFloat16>(queue, grid, *a);
  return launched("logprob_forward");
}

srp_status logprob_backward(srp_queue* queue, const srp_logprob_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const dim3 grid = row_blocks(a->N);
  const int64_t targets = a->grad_logprob ? a->K : 0;
  const Scratch at_targets(queue, static_cast<size_t>(grid.x) * static_cast<size_t>(targets) * sizeof(double));
  SRP_TRY(at_targets.status());
  if (a->dtype == SRP_F32)
    launch_backward<float>(queue, grid, *a, at_targets.as<double>());
  else if (a->dtype == SRP_F16)
    launch_backward<Half>(queue, grid, *a, at_targets.as<double>());
  else
    launch_backward<BFloat16>(queue, grid, *a, at_targets.as<double>());
  return launched("logprob_backward");
}

srp_status logprob_partial(srp_queue* queue, const srp_logprob_partial_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const dim3 grid = row_blocks(a->N);
  if (a->dtype == SRP_F32)
    launch_partial<float>(queue, grid, *a);
  else if (a->dtype == SRP_F16)
    launch_partial<Half>(queue, grid, *a);
  else
    launch_partial<BFloat16>(queue, grid, *a);
  return launched("logprob_partial");
}

srp_status logprob_merge(srp_queue* queue, const srp_logprob_merge_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("logprob_merge", a->N / kMaxThreads + 1));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  SRP_LAUNCH(merge_kernel, blocks_for(a->N, kMaxThreads), kMaxThreads, 0, queue->stream, *a, queue->faults);
  return launched("logprob_merge");
}

}  // namespace srp::cuda
