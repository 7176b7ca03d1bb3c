// What lies in spans, and n-grams (contract: surprisal/delim.h). How spans are found: delim_spans.cu.
//
// means     a thread a span, in token order as the contract says
// mask      each span notes at its first token how far it reaches; a warp a row takes the running maximum
#include "backend.cuh"
#include "common.cuh"
#include "shared/delim.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRowsPerBlock = kThreads / kWarp;

__device__ int64_t warp_row() { return blockIdx.x * static_cast<int64_t>(kRowsPerBlock) + threadIdx.x / kWarp; }

// ledger    delim_means
// bytes     s sum of span lengths + 20 S
// limit     latency
// notes     a thread a span, in token order by contract
// threads   128
template <class F>
__global__ void span_means_kernel(srp_delim_means_args a, uint32_t* faults) {
  const int64_t s = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  const int64_t live = checked_spans(a.count, a.S, faults);
  if (s >= live) {
    if (s < a.S) a.means[s] = 0;
    return;
  }
  const Range span = span_range(a.spans, a.offsets, a.n, a.B, a.T, s);
  if (!span.valid) raise(faults, SRP_FAULT_INDEX);
  double sum = 0;
  for (int64_t i = span.begin; i < span.end; ++i) sum += load(static_cast<const F*>(a.values), i);
  a.means[s] = sum / static_cast<double>(span.end - span.begin);
}

// reach[t] = last finish, within the row, of the spans that begin at t; a maximum does not depend on order.
//
// ledger    delim_mask
// bytes     12 S + 4 n
// limit     memory
// notes     the n int32 are zeroed before
// threads   128
// turn      1 of span_reach_kernel: whole, 12 loaded; 16 bytes; at most 65.5, 61.5 on sm_89
__global__ void span_reach_kernel(srp_delim_mask_args a, int32_t* reach, uint32_t* faults) {
  const int64_t s = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (s >= checked_spans(a.count, a.S, faults)) return;
  const Range span = span_range(a.spans, a.offsets, a.n, a.B, a.T, s);
  if (!span.valid) raise(faults, SRP_FAULT_INDEX);
  if (span.begin < span.end) atomicMax(reach + span.begin, a.spans[3 * s + 2]);
}

// ledger    delim_mask
// bytes     5 n
// limit     memory
// notes     a warp a row
// threads   128
// turn      1 of span_mask_kernel: whole, 4 loaded, 1 stored; 5 bytes; at most 119, 115 on sm_89
__global__ void span_mask_kernel(srp_delim_mask_args a, const int32_t* reach, uint32_t* faults) {
  const int64_t b = warp_row();
  if (b >= a.B) return;  // the whole warp
  const int lane = threadIdx.x % kWarp;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid && lane == 0) raise(faults, SRP_FAULT_OFFSETS);
  int32_t covered = 0;  // by spans that begin before this window
  for (int64_t window = row.begin; window < row.end; window += kWarp) {
    const int64_t i = window + lane;
    int32_t far = i < row.end ? reach[i] : 0;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const int32_t before = __shfl_up_sync(kFullWarp, far, distance);
      if (lane >= distance && before > far) far = before;
    }
    if (covered > far) far = covered;
    if (i < row.end) a.mask[i] = i - row.begin < far;
    covered = __shfl_sync(kFullWarp, far, kWarp - 1);
  }
}

// A block takes a row. Threads take slots by compare-and-swap. The number of slots taken does not depend on which of several equal
// n-grams takes one: they walk the same slots, and each stops at the first that holds an equal n-gram.
//
// ledger    delim_ngrams
// bytes     4 n + mask n + 16 n + 8 B
// limit     latency
// notes     a table of 2 n int32, set and probed at random
// threads   128
__global__ void ngrams_kernel(srp_delim_ngrams_args a, int32_t* tables, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  const int64_t slots = 2 * (row.end - row.begin);
  int* const table = tables + 2 * row.begin;
  int32_t total = 0, distinct = 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += blockDim.x) {
    if (!ngram_at(a, row, i)) continue;
    ++total;
    int64_t slot = ngram_slot(a, i, slots);
    for (;;) {
      const int found = atomicCAS(table + slot, -1, static_cast<int>(i - row.begin));
      if (found < 0) ++distinct;
      if (found < 0 || same_ngram(a, row.begin + found, i)) break;
      slot = slot + 1 < slots ? slot + 1 : 0;
    }
  }
  total = block_sum(total);
  distinct = block_sum(distinct);
  if (threadIdx.x != 0) return;
  a.counts[2 * b] = total;
  a.counts[2 * b + 1] = distinct;
}

}  // namespace

srp_status delim_means(srp_queue* queue, const srp_delim_means_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("delim_means", a->S / kThreads + 1));
  SRP_TRY(enter(queue));
  if (a->S == 0) return SRP_OK;
  const dim3 grid(blocks_for(a->S, kThreads)), block(kThreads);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH(span_means_kernel<double>, grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH(span_means_kernel<float>, grid, block, 0, queue->stream, *a, queue->faults);
  return launched("delim_means");
}

srp_status delim_ngrams(srp_queue* queue, const srp_delim_ngrams_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("delim_ngrams", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const size_t bytes = static_cast<size_t>(a->n) * 2 * sizeof(int32_t);
  const Scratch tables(queue, bytes);
  SRP_TRY(tables.status());
  SRP_TRY(check_cuda(cudaMemsetAsync(tables.as<int32_t>(), 0xff, bytes, queue->stream), "delim_ngrams"));
  SRP_LAUNCH(ngrams_kernel, dim3(static_cast<unsigned>(a->B)), dim3(kThreads), 0, queue->stream, *a,
             tables.as<int32_t>(), queue->faults);
  return launched("delim_ngrams");
}

srp_status delim_mask(srp_queue* queue, const srp_delim_mask_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("delim_mask", a->S / kThreads + 1));
  SRP_TRY(check_grid("delim_mask", a->B / kRowsPerBlock + 1));
  SRP_TRY(enter(queue));
  const size_t reach_bytes = static_cast<size_t>(a->n) * sizeof(int32_t);
  const Scratch reach(queue, reach_bytes);
  SRP_TRY(reach.status());
  SRP_TRY(check_cuda(cudaMemsetAsync(reach.as<int32_t>(), 0, reach_bytes, queue->stream), "delim_mask"));
  if (a->S > 0)
    SRP_LAUNCH(span_reach_kernel, dim3(blocks_for(a->S, kThreads)), dim3(kThreads), 0, queue->stream, *a,
               reach.as<int32_t>(), queue->faults);
  if (a->n > 0 && a->B > 0)
    SRP_LAUNCH(span_mask_kernel, dim3(blocks_for(a->B, kRowsPerBlock)), dim3(kThreads), 0, queue->stream, *a,
               reach.as<int32_t>(), queue->faults);
  return launched("delim_mask");
}

}  // namespace srp::cuda
