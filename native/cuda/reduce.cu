// Moments, merge, whitening and affine maps (contract: surprisal/reduce.h). A block takes a chunk of a row, a second kernel
// merges the chunks of each row, so that one long row fills the device as well as many short ones.
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/reduce_steps.h"

namespace srp::cuda {
namespace {

// Lanes that share a chunk or a merge. Part of what a result's bits depend on: never chosen by size.
constexpr int kLanes = 256;

// Where the chunks of row b lie in scratch memory: chunk c at first_slot + c. Rows of any length never collide, since
// begin / kChunk + b grows from row to row by at least the row's chunks; all rows need n / kChunk + B slots.
__device__ int64_t first_slot(const srp_reduce_moments_args& a, int64_t b) {
  const int64_t begin = a.offsets ? a.offsets[b] : b * a.T;
  return begin / kChunk + b;
}

// The last row that begins at this slot or before it. Never outside [0, B), whatever the offsets say.
__device__ int64_t row_of_slot(const srp_reduce_moments_args& a, int64_t slot) {
  int64_t low = 0, high = a.B - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (first_slot(a, middle) <= slot)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

__device__ int64_t chunks_of(Range row) { return (row.end - row.begin + kChunk - 1) / kChunk; }

template <class F>
__global__ void chunk_moments_kernel(srp_reduce_moments_args a, double* chunks) {
  const int64_t slot = blockIdx.x;
  const int64_t b = row_of_slot(a, slot);
  const Range row = row_range(a.offsets, a.T, a.n, b);  // a bad one is reported by the kernel that merges
  const int64_t chunk = slot - first_slot(a, b);
  if (!row.valid || chunk < 0 || chunk >= chunks_of(row)) return;  // the whole block
  const int64_t begin = row.begin + chunk * kChunk;
  const int64_t end = begin + kChunk < row.end ? begin + kChunk : row.end;
  const F* const values = static_cast<const F*>(a.values);

  ChunkSums sums;
  for (int64_t i = begin + threadIdx.x; i < end; i += kLanes)
    if (enters<F>(a, i)) sums.add(load(values, i));
  sums.sum = block_sum(sums.sum);
  sums.low = block_reduce(sums.low, Min{});
  sums.high = block_reduce(sums.high, Max{});
  sums.count = block_sum(sums.count);

  const double mean = sums.mean();
  ChunkDeviations deviations;
  for (int64_t i = begin + threadIdx.x; i < end; i += kLanes)
    if (enters<F>(a, i)) deviations.add(load(values, i), mean);
  deviations.sum = block_sum(deviations.sum);
  deviations.squares = block_sum(deviations.squares);
  if (threadIdx.x == 0) store_moments(chunks, slot, chunk_moments(sums, deviations));
}

// Merges the lanes' moments by a fixed tree; lane 0 returns the whole. All threads of the block must call it, once.
__device__ Moments merge_lanes(Moments mine) {
  SRP_SHARED(double, lanes, kLanes* SRP_MOMENTS);
  store_moments(lanes, threadIdx.x, mine);
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    __syncthreads();  // both sides of the pair are stored
    if (static_cast<int>(threadIdx.x) >= distance) continue;
    mine = merged(mine, load_moments(lanes, threadIdx.x + distance));
    store_moments(lanes, threadIdx.x, mine);
  }
  return mine;
}

__global__ void merge_chunks_kernel(srp_reduce_moments_args a, const double* chunks, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  const int64_t first = row.valid ? first_slot(a, b) : 0;
  Moments mine;
  for (int64_t c = threadIdx.x; c < chunks_of(row); c += kLanes) mine = merged(mine, load_moments(chunks, first + c));
  mine = merge_lanes(mine);
  if (threadIdx.x == 0) store_moments(a.partials, b, mine);
}

__global__ void merge_groups_kernel(srp_reduce_merge_args a, uint32_t* faults) {
  const int64_t g = blockIdx.x;
  const Range group = checked_row(a.offsets, a.B, a.B, g, faults);  // without offsets: one group of width B
  Moments mine;
  for (int64_t k = group.begin + threadIdx.x; k < group.end; k += kLanes) {
    const int64_t i = member(a.members, k);
    if (i < 0 || i >= a.B)
      raise(faults, SRP_FAULT_INDEX);
    else
      mine = merged(mine, load_moments(a.partials, i));
  }
  mine = merge_lanes(mine);
  if (threadIdx.x == 0) store_moments(a.merged, g, mine);
}

template <class F, class Args, class Map>
__device__ void map_row(const Args& a, Range row, int part, int parts, const Map& map) {
  const F* const values = static_cast<const F*>(a.values);
  F* const out = static_cast<F*>(a.out);
  const uint8_t* const mask = a.transform_masked ? nullptr : a.mask;
  const int64_t stride = static_cast<int64_t>(parts) * kLanes;
  for (int64_t i = row.begin + part * kLanes + static_cast<int64_t>(threadIdx.x); i < row.end; i += stride)
    store(out, i, !mask || mask[i] ? map(load(values, i)) : 0.0);
}

struct Whiten {
  using Args = srp_reduce_whiten_args;

  template <class F>
  static __device__ void run(const Args& a, int64_t b, Range row, int part, int parts, uint32_t* faults) {
    const int64_t unit = unit_of(a, b);
    if (unit < 0) {
      if (threadIdx.x == 0) raise(faults, SRP_FAULT_INDEX);
      return;
    }
    map_row<F>(a, row, part, parts, Whitening(a, load_moments(a.moments, unit)));
  }
};

struct Affine {
  using Args = srp_reduce_affine_args;

  template <class F>
  static __device__ void run(const Args& a, int64_t b, Range row, int part, int parts, uint32_t*) {
    const double center = a.center ? a.center[b] : 0, scale = a.scale ? a.scale[b] : 1, divisor = a.divisor;
    map_row<F>(a, row, part, parts, [=](double x) { return (x - center) * scale / divisor; });
  }
};

// `parts` blocks share a row, so that long rows do not leave the device idle. Every output has one writer: how many there
// are changes no bit.
template <class Op, class F>
__global__ void map_rows_kernel(typename Op::Args a, int parts, uint32_t* faults) {
  const int64_t b = blockIdx.x / parts;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  Op::template run<F>(a, b, row, static_cast<int>(blockIdx.x % parts), parts, faults);
}

template <class Op>
srp_status map_rows(srp_queue* queue, const typename Op::Args* a, const char* op) {
  SRP_TRY(check(a));
  constexpr int64_t kMostParts = 1024;
  const int64_t wanted = a->B == 0 ? 1 : a->n / a->B / kChunk + 1;
  const int parts = static_cast<int>(wanted < kMostParts ? wanted : kMostParts);
  SRP_TRY(check_grid(op, a->B * parts));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const dim3 grid(static_cast<unsigned>(a->B * parts)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((map_rows_kernel<Op, double>), grid, block, 0, queue->stream, *a, parts, queue->faults);
  else
    SRP_LAUNCH((map_rows_kernel<Op, float>), grid, block, 0, queue->stream, *a, parts, queue->faults);
  return launched(op);
}

// A block takes a row: its counts have one writer.
template <class F>
__global__ void clamp_rows_kernel(srp_reduce_clamp_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  Clamped<F> clamped{a};
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kLanes) clamped.step(i);
  const int32_t kept = block_sum(clamped.kept), outside = block_sum(clamped.outside);
  if (threadIdx.x != 0 || !a.counts) return;
  a.counts[b * SRP_CLAMPED_COUNTS + SRP_CLAMPED_KEPT] = kept;
  a.counts[b * SRP_CLAMPED_COUNTS + SRP_CLAMPED_OUTSIDE] = outside;
}

template <class F>
__global__ void gamma_rows_kernel(srp_reduce_gamma_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  double sum = 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kLanes) sum += gamma_term<F>(a, i);
  sum = block_sum(sum);
  if (threadIdx.x == 0) store_gamma<F>(a, b, sum);
}

// Whole numbers below 2^53: exact in any order.
__global__ void count_rows_kernel(srp_reduce_counts_args a, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  double kept = 0;
  if (a.mask)
    for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kLanes) kept += a.mask[i] ? 1 : 0;
  else if (threadIdx.x == 0)
    kept = static_cast<double>(row.end - row.begin);
  kept = block_sum(kept);
  if (threadIdx.x == 0) a.counts[b] = kept;
}

}  // namespace

srp_status reduce_moments(srp_queue* queue, const srp_reduce_moments_args* a) {
  SRP_TRY(check(a));
  const int64_t slots = a->n / kChunk + a->B;
  SRP_TRY(check_grid("reduce_moments", slots));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const size_t bytes = static_cast<size_t>(slots) * SRP_MOMENTS * sizeof(double);
  const Scratch chunks(queue, bytes);
  SRP_TRY(chunks.status());
  // Zeros are the empty moments (count 0): what rows without tokens, and bad ones, leave unwritten.
  SRP_TRY(check_cuda(cudaMemsetAsync(chunks.as<double>(), 0, bytes, queue->stream), "reduce_moments"));
  const dim3 grid(static_cast<unsigned>(slots)), rows(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((chunk_moments_kernel<double>), grid, block, 0, queue->stream, *a, chunks.as<double>());
  else
    SRP_LAUNCH((chunk_moments_kernel<float>), grid, block, 0, queue->stream, *a, chunks.as<double>());
  SRP_LAUNCH(merge_chunks_kernel, rows, block, 0, queue->stream, *a, chunks.as<double>(), queue->faults);
  return launched("reduce_moments");
}

srp_status reduce_merge(srp_queue* queue, const srp_reduce_merge_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_merge", a->G));
  SRP_TRY(enter(queue));
  if (a->G == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(a->G)), block(kLanes);
  SRP_LAUNCH(merge_groups_kernel, grid, block, 0, queue->stream, *a, queue->faults);
  return launched("reduce_merge");
}

srp_status reduce_whiten(srp_queue* queue, const srp_reduce_whiten_args* a) {
  return map_rows<Whiten>(queue, a, "reduce_whiten");
}
srp_status reduce_affine(srp_queue* queue, const srp_reduce_affine_args* a) {
  return map_rows<Affine>(queue, a, "reduce_affine");
}

srp_status reduce_clamp(srp_queue* queue, const srp_reduce_clamp_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_clamp", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((clamp_rows_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((clamp_rows_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("reduce_clamp");
}

srp_status reduce_gamma(srp_queue* queue, const srp_reduce_gamma_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_gamma", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((gamma_rows_kernel<double>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((gamma_rows_kernel<float>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched("reduce_gamma");
}

srp_status reduce_counts(srp_queue* queue, const srp_reduce_counts_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_counts", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(a->B)), block(kLanes);
  SRP_LAUNCH(count_rows_kernel, grid, block, 0, queue->stream, *a, queue->faults);
  return launched("reduce_counts");
}

}  // namespace srp::cuda
