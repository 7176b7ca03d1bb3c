// Log-probs over kept ids, and their gradient (contract: surprisal/logprob.h): a warp a row, its lanes along the list. The gradient of
// the entropy is that of logprob_backward. It may overwrite the logits, and so the gradients of kept ids are formed first, into scratch.
//
// Minimum bytes: 4 K (ids) + 32 (K + N) (a sector of logits each) + 4 bytes a row and array; backward: the gradient beside it.
#include "backend.cuh"
#include "common.cuh"
#include "shared/logprob_kept.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = kThreads / kWarp;  // of a block

// Row of this warp, and where its list lies; one outside of the ids is not read.
struct List {
  int64_t n;
  Range range;
  bool read;

  template <class Args>
  __device__ static List of(const Args& a, uint32_t* faults) {
    const int64_t n = int64_t{blockIdx.x} * kRows + threadIdx.x / kWarp;
    const bool inside = n < a.N && kept(a.mask, n);
    const Range range = inside ? row_range(a.offsets, 0, a.K, n) : Range{0, 0, true};
    if (!range.valid) raise(faults, SRP_FAULT_OFFSETS);
    return {n, range, inside && range.valid};
  }
};

// Calls use(id, k) for each id of the list in the vocabulary but the target, and for the target with k = end: where lanes write, an id is
// one lane's.
template <class Args, class Use>
__device__ __forceinline__ void each_id(const Args& a, const List& list, uint32_t* faults, const Use& use) {
  const int64_t end = list.range.end;
  const int32_t target = list.read ? a.targets[list.n] : 0;
  for (int64_t k = list.range.begin + threadIdx.x % kWarp; list.read && k <= end; k += kWarp) {
    const int32_t id = k < end ? a.ids[k] : target;
    if (k < end && id == target) continue;
    if (id >= 0 && id < a.V)
      use(id, k);
    else
      raise(faults, SRP_FAULT_INDEX);
  }
}

// ledger    logprob_kept_forward
// bytes     4 K + 32 (K + N) + 4 N outputs
// limit     latency
// notes     a warp a row; a sector of 32 bytes a kept logit
template <class T>
__global__ void __launch_bounds__(kThreads) kept_forward_kernel(srp_logprob_kept_forward_args a, uint32_t* faults) {
  const List list = List::of(a, faults);
  const LogitMap map = LogitMap::of(a);
  const T* const x = static_cast<const T*>(a.logits) + (list.read ? list.n : 0) * a.stride;
  const int64_t target = list.read ? a.targets[list.n] : 0;
  RowSums sums = no_sums(-INFINITY);
  each_id(a, list, faults, [&](int32_t id, int64_t) { sums = with_logit(map, sums, load(x, id)); });
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const RowSums other = {__shfl_xor_sync(kFullWarp, sums.max_logit, distance),
                           __shfl_xor_sync(kFullWarp, sums.rest, distance), 0, 0};
    sums = threadIdx.x % kWarp & distance ? merge_sums(map, other, sums) : merge_sums(map, sums, other);
  }
  if (list.n >= a.N || threadIdx.x % kWarp != 0) return;
  if (!list.read) return store_kept(a, list.n, {0, 0, 0, 0, 0}, 0);
  const RowResult row = finish_row(map, sums);
  const bool known = target >= 0 && target < a.V;
  store_kept(a, list.n, row, known ? target_logprob(map, row, load(x, target)) : NAN);
}

// Where the gradient of place k of row n's list waits; the target's place is behind the list.
__device__ __forceinline__ int64_t slot(int64_t n, int64_t k) { return n + k; }

// ledger    logprob_kept_backward
// bytes     4 K + 32 (K + N) + 4 N inputs + s (K + N)
// limit     latency
// notes     the gradients of kept ids, into scratch; what the rest of the rows takes: logprob_backward
template <class T>
__global__ void __launch_bounds__(kThreads)
    kept_gradient_kernel(srp_logprob_kept_backward_args a, T* slots, uint32_t* faults) {
  const List list = List::of(a, faults);
  if (!list.read) return;
  const LogitMap map = LogitMap::of(a);
  const T* const x = static_cast<const T*>(a.logits) + list.n * a.stride;
  const KeptGradient gradient = KeptGradient::of(a, list.n);
  each_id(a, list, faults,
          [&](int32_t id, int64_t k) { store(slots, slot(list.n, k), gradient.at(map, load(x, id), id)); });
}

// ledger    logprob_kept_backward
// bytes     4 K + s (K + N) + 32 (K + N)
// limit     latency
// notes     from scratch to their places
template <class T>
__global__ void __launch_bounds__(kThreads)
    kept_place_kernel(srp_logprob_kept_backward_args a, const T* slots, uint32_t* faults) {
  const List list = List::of(a, faults);
  if (!list.read) return;
  T* const grad = static_cast<T*>(a.grad_logits) + list.n * a.stride;
  each_id(a, list, faults, [&](int32_t id, int64_t k) { grad[id] = slots[slot(list.n, k)]; });
}

template <class T>
srp_status forward(srp_queue* queue, const srp_logprob_kept_forward_args& a) {
  SRP_LAUNCH(kept_forward_kernel<T>, dim3(blocks_for(a.N, kRows)), dim3(kThreads), 0, queue->stream, a, queue->faults);
  return launched("logprob_kept_forward");
}

// The gradient of the entropy of all ids, 0 without one, in the whole matrix.
srp_status fill_gradient(srp_queue* queue, const srp_logprob_kept_backward_args& a, size_t bytes) {
  if (!a.grad_entropies)
    return check_cuda(cudaMemsetAsync(a.grad_logits, 0, bytes, queue->stream), "logprob_kept_backward");
  srp_logprob_backward_args all = {};
  all.size = sizeof all;
  all.dtype = a.dtype;
  all.logits = a.logits;
  all.mask = a.mask;
  all.max_logits = a.max_logits;
  all.log1p_sums = a.log1p_sums;
  all.mean_gaps = a.mean_gaps;
  all.grad_entropies = a.grad_entropies;
  all.N = a.N;
  all.V = all.vocab_size = a.V;
  all.stride = a.stride;
  all.temperature = a.temperature;
  all.scale = a.scale;
  all.softcap = a.softcap;
  all.grad_logits = a.grad_logits;
  return logprob_backward(queue, &all);
}

template <class T>
srp_status backward(srp_queue* queue, const srp_logprob_kept_backward_args& a) {
  const Scratch scratch(queue, static_cast<size_t>(a.K + a.N) * sizeof(T));
  SRP_TRY(scratch.status());
  const dim3 grid(blocks_for(a.N, kRows)), block(kThreads);
  SRP_LAUNCH(kept_gradient_kernel<T>, grid, block, 0, queue->stream, a, scratch.as<T>(), queue->faults);
  SRP_TRY(launched("logprob_kept_backward"));
  SRP_TRY(fill_gradient(queue, a, static_cast<size_t>(a.N * a.stride) * sizeof(T)));
  SRP_LAUNCH(kept_place_kernel<T>, grid, block, 0, queue->stream, a, scratch.as<T>(), queue->faults);
  return launched("logprob_kept_backward");
}

// Checks that both ops make; a grid of size 0 is a CUDA error.
template <class Args>
srp_status launch(srp_queue* queue, const Args* a, const char* op, srp_status (*of_float)(srp_queue*, const Args&),
                  srp_status (*of_half)(srp_queue*, const Args&), srp_status (*of_bfloat16)(srp_queue*, const Args&)) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, a->N / kRows + 1));
  SRP_TRY(enter(queue));
  if (a->N == 0 || a->stride == 0) return SRP_OK;
  if (a->dtype == SRP_F32) return of_float(queue, *a);
  return a->dtype == SRP_F16 ? of_half(queue, *a) : of_bfloat16(queue, *a);
}

}  // namespace

srp_status logprob_kept_forward(srp_queue* queue, const srp_logprob_kept_forward_args* a) {
  return launch(queue, a, "logprob_kept_forward", forward<float>, forward<Half>, forward<BFloat16>);
}

srp_status logprob_kept_backward(srp_queue* queue, const srp_logprob_kept_backward_args* a) {
  return launch(queue, a, "logprob_kept_backward", backward<float>, backward<Half>, backward<BFloat16>);
}

}  // namespace srp::cuda
