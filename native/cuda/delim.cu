// Spans between delimiters (contract: surprisal/delim.h). Integers only, so the result equals the CPU's exactly.
//
// spans     a warp a row, which tests 32 tokens at once for the next match and then walks as the CPU does. Twice: to count,
//           and, once the counts of all rows are summed, to write each row's spans behind those of the rows before it
// means     a thread a span, in token order as the contract says
// mask      each span notes at its first token how far it reaches; a warp a row takes the running maximum
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/delim_match.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRowsPerBlock = kThreads / kWarp;
constexpr int kSumThreads = 256;

__device__ int64_t warp_row() { return blockIdx.x * static_cast<int64_t>(kRowsPerBlock) + threadIdx.x / kWarp; }

// All lanes of the warp call it with the same positions and get the same answer.
class WarpFinder {
 public:
  __device__ WarpFinder(const Delimiter& delimiter, const uint32_t* first_ids, const int32_t* row, int64_t length)
      : delimiter_(delimiter), first_ids_(first_ids), row_(row), length_(length) {}

  __device__ int64_t first(int64_t from, int64_t to) {
    while (from < to) {
      if (from < window_ || from >= window_ + kWarp) look(from);
      const unsigned hits = hits_ >> (from - window_);
      if (hits) {
        const int64_t position = from + __ffs(static_cast<int>(hits)) - 1;
        return position < to ? position : to;
      }
      from = window_ + kWarp;
    }
    return to;
  }

  __device__ Match match(int64_t position) const { return match_at(delimiter_, row_, length_, position); }

 private:
  // Tests the 32 tokens from `from` on. Kept: where matches are dense, the next question is about the same tokens.
  __device__ void look(int64_t from) {
    const int64_t position = from + threadIdx.x % kWarp;
    const bool hit = position < length_ && may_begin(first_ids_, row_[position]) && match(position).alternative >= 0;
    hits_ = __ballot_sync(kFullWarp, hit);
    window_ = from;
  }

  const Delimiter delimiter_;
  const uint32_t* const first_ids_;
  const int32_t* const row_;
  const int64_t length_;
  int64_t window_ = -kWarp;  // hits_ bit k: the delimiter matches at window_ + k
  unsigned hits_ = 0;
};

// Counts in every lane alike.
struct SpanCount {
  int64_t count;

  __device__ void operator()(int64_t, int64_t, int32_t, int32_t) { ++count; }
};

struct SpanWrite {
  const srp_delim_spans_args& a;
  int64_t row;
  int64_t next;  // index of the next span among those of all rows

  __device__ void operator()(int64_t begin, int64_t finish, int32_t start_alternative, int32_t end_alternative) {
    const int64_t s = next++;
    if (s >= a.capacity || threadIdx.x % kWarp != 0) return;
    a.spans[3 * s] = static_cast<int32_t>(row);
    a.spans[3 * s + 1] = static_cast<int32_t>(begin);
    a.spans[3 * s + 2] = static_cast<int32_t>(finish);
    if (!a.which) return;
    a.which[2 * s] = start_alternative;
    a.which[2 * s + 1] = end_alternative;
  }
};

// Filters of first ids, one after the other.
constexpr int kStartFilter = 0, kEndFilter = kFirstIdWords, kHeadFilter = 2 * kFirstIdWords;
constexpr int kFilterWords = 3 * kFirstIdWords;

template <class Emit>
__device__ void walk_row(const srp_delim_spans_args& a, const uint32_t* filters, const Range& range, Emit& emit) {
  const int32_t* const row = a.tokens + range.begin;
  const int64_t length = range.end - range.begin;
  WarpFinder start(start_of(a), filters + kStartFilter, row, length);
  WarpFinder end(end_of(a), filters + kEndFilter, row, length);
  RowWalk<WarpFinder, Emit> walk(a, length, start, end, emit);
  if (a.head_count > 0) {
    WarpFinder head(head_of(a), filters + kHeadFilter, row, length);
    walk.head(head);
  }
  walk.spans();
}

// One block a delimiter fills its filter, which is 0 before. The host could not look at the alternatives: a bad one is
// left out, so that it never matches, and reported.
__global__ void first_ids_kernel(srp_delim_spans_args a, uint32_t* filters, uint32_t* faults) {
  const Delimiter d = blockIdx.x == 0 ? start_of(a) : blockIdx.x == 1 ? end_of(a) : head_of(a);
  uint32_t* const filter = filters + blockIdx.x * kFirstIdWords;
  const bool whole = d.count == 0 || (d.offsets[0] == 0 && d.offsets[d.count] == d.size);
  if (!whole && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  for (int64_t k = threadIdx.x; k < d.count; k += blockDim.x) {
    const Range alternative = row_range(d.offsets, 0, d.size, k);
    if (!alternative.valid || alternative.begin == alternative.end) {
      raise(faults, SRP_FAULT_OFFSETS);
      continue;
    }
    const uint32_t bit = first_id_bit(d.ids[alternative.begin]);
    atomicOr(filter + bit / 32, 1u << (bit % 32));
  }
}

__global__ void spans_count_kernel(srp_delim_spans_args a, const uint32_t* filters, int64_t* counts, uint32_t* faults) {
  const int64_t b = warp_row();
  if (b >= a.B) return;  // the whole warp
  const Range range = token_range(a, b);
  const bool lane0 = threadIdx.x % kWarp == 0;
  if (!range.valid && lane0) raise(faults, a.offsets ? SRP_FAULT_OFFSETS : SRP_FAULT_INDEX);
  SpanCount spans = {0};
  walk_row(a, filters, range, spans);
  if (lane0) counts[b] = spans.count;
}

// One block turns the counts of the rows into the index of each row's first span, and sums them. Each thread has a run
// of neighbouring rows: it sums the run, adds up the runs before its own, and goes over its rows again.
__global__ void row_starts_kernel(int64_t* counts, int64_t B, int64_t* total) {
  SRP_SHARED(int64_t, sums, kSumThreads);
  const int64_t run = (B + kSumThreads - 1) / kSumThreads;
  const int64_t begin = threadIdx.x * run;
  const int64_t finish = begin + run < B ? begin + run : B;
  int64_t sum = 0;
  for (int64_t b = begin; b < finish; ++b) sum += counts[b];
  sums[threadIdx.x] = sum;
  __syncthreads();
  int64_t next = 0;
  for (unsigned t = 0; t < threadIdx.x; ++t) next += sums[t];
  if (threadIdx.x == kSumThreads - 1) *total = next + sum;
  for (int64_t b = begin; b < finish; ++b) {
    const int64_t count = counts[b];
    counts[b] = next;
    next += count;
  }
}

__global__ void spans_write_kernel(srp_delim_spans_args a, const uint32_t* filters, const int64_t* row_starts) {
  const int64_t b = warp_row();
  if (b >= a.B || row_starts[b] >= a.capacity) return;  // the whole warp
  SpanWrite spans = {a, b, row_starts[b]};
  walk_row(a, filters, token_range(a, b), spans);
}

template <class F>
__global__ void span_means_kernel(srp_delim_means_args a, uint32_t* faults) {
  const int64_t s = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (s >= a.S) return;
  const Range span = span_range(a.spans, a.offsets, a.n, a.B, a.T, s);
  if (!span.valid) raise(faults, SRP_FAULT_INDEX);
  double sum = 0;
  for (int64_t i = span.begin; i < span.end; ++i) sum += load(static_cast<const F*>(a.values), i);
  a.means[s] = sum / static_cast<double>(span.end - span.begin);
}

// reach[t] = last finish, within the row, of the spans that begin at t; a maximum does not depend on order.
__global__ void span_reach_kernel(srp_delim_mask_args a, int32_t* reach, uint32_t* faults) {
  const int64_t s = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (s >= a.S) return;
  const Range span = span_range(a.spans, a.offsets, a.n, a.B, a.T, s);
  if (!span.valid) raise(faults, SRP_FAULT_INDEX);
  if (span.begin < span.end) atomicMax(reach + span.begin, a.spans[3 * s + 2]);
}

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

// A block takes a row. A slot is taken by compare-and-swap; who takes it for an n-gram does not change how many are taken,
// since equal n-grams walk the same slots and the first of them stops the others.
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

srp_status delim_spans(srp_queue* queue, const srp_delim_spans_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("delim_spans", a->B / kRowsPerBlock + 1));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0)
    return check_cuda(cudaMemsetAsync(a->count, 0, sizeof(int64_t), queue->stream), "delim_spans");
  const Scratch counts(queue, static_cast<size_t>(a->B) * sizeof(int64_t));
  SRP_TRY(counts.status());
  const Scratch filter_memory(queue, kFilterWords * sizeof(uint32_t));
  SRP_TRY(filter_memory.status());
  uint32_t* const filters = filter_memory.as<uint32_t>();
  SRP_TRY(check_cuda(cudaMemsetAsync(filters, 0, kFilterWords * sizeof(uint32_t), queue->stream), "delim_spans"));
  const dim3 grid(blocks_for(a->B, kRowsPerBlock)), block(kThreads);
  int64_t* const starts = counts.as<int64_t>();
  SRP_LAUNCH(first_ids_kernel, dim3(3), block, 0, queue->stream, *a, filters, queue->faults);
  SRP_LAUNCH(spans_count_kernel, grid, block, 0, queue->stream, *a, filters, starts, queue->faults);
  SRP_LAUNCH(row_starts_kernel, dim3(1), dim3(kSumThreads), 0, queue->stream, starts, a->B, a->count);
  if (a->capacity > 0) SRP_LAUNCH(spans_write_kernel, grid, block, 0, queue->stream, *a, filters, starts);
  return launched("delim_spans");
}

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
