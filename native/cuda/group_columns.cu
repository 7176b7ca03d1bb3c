// Column baselines of the rows of a group (contract: surprisal/group.h). A block takes a group, a thread a column; the rows
// are added in member order, so no reduction is needed. How far each row reaches is found first, by one thread a row.
#include "backend.cuh"
#include "common.cuh"
#include "shared/group.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;

// ledger    group_columns
// bytes     mask n + 8 B
// limit     memory
// notes     a thread a row
// threads   128
// omitted   it reads the mask from the row's end up to the last kept token, and no more
__global__ void columns_reach_kernel(srp_group_columns_args a, int64_t* reach, uint32_t* faults) {
  const int64_t b = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (b >= a.B) return;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid) raise(faults, SRP_FAULT_OFFSETS);
  reach[b] = kept_length(a.mask, row);
}

// The row that is member k of the group; -1 and a raised flag where the member is no row.
__device__ int64_t row_of(const srp_group_columns_args& a, int64_t k, uint32_t* faults) {
  const int64_t b = member(a.members, k);
  if (b >= 0 && b < a.B) return b;
  raise(faults, SRP_FAULT_INDEX);
  return -1;
}

// ledger    group_columns
// bytes     2 s n + mask n + s n outputs
// limit     memory
// notes     a thread a column
// threads   128
// omitted   lanes walk columns of neighbouring rows side by side, four bytes at a time; how often depends on the groups
template <class F>
__global__ void columns_kernel(srp_group_columns_args a, const int64_t* reach, uint32_t* faults) {
  const Range group = checked_row(a.group_offsets, 0, a.B, blockIdx.x, faults);
  const F* const values = static_cast<const F*>(a.values);
  const F* const weights = static_cast<const F*>(a.weights);
  F* const baselines = static_cast<F*>(a.baselines);
  F* const centred = static_cast<F*>(a.centred);

  int64_t width = 0;
  for (int64_t k = group.begin + threadIdx.x; k < group.end; k += blockDim.x) {
    const int64_t b = row_of(a, k, faults);
    if (b < 0) continue;
    const Range row = row_range(a.offsets, a.T, a.n, b);
    if (row.end - row.begin > width) width = row.end - row.begin;
  }
  width = block_reduce(width, Max{});

  for (int64_t t = threadIdx.x; t < width; t += blockDim.x) {
    Column column;
    int64_t reached = 0;
    for (int64_t k = group.begin; k < group.end; ++k) {
      const int64_t b = row_of(a, k, faults);
      if (b < 0) continue;
      const Range row = row_range(a.offsets, a.T, a.n, b);
      const int64_t i = row.begin + t;
      if (i >= row.end) continue;
      if (!a.mask || a.mask[i]) column.add(load(values, i), load(weights, i));
      if (reach[b] > t) ++reached;
    }
    const double baseline = column.baseline(a, group.end - group.begin, reached <= 1);
    for (int64_t k = group.begin; k < group.end; ++k) {
      const int64_t b = row_of(a, k, faults);
      if (b < 0) continue;
      const Range row = row_range(a.offsets, a.T, a.n, b);
      const int64_t i = row.begin + t;
      if (i >= row.end) continue;
      const bool kept = !a.mask || a.mask[i];
      if (baselines) store(baselines, i, kept ? baseline : 0.0);
      if (centred) store(centred, i, kept ? load(values, i) - baseline : 0.0);
    }
  }
}

}  // namespace

srp_status group_columns(srp_queue* queue, const srp_group_columns_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("group_columns", a->G));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->G == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const Scratch scratch(queue, static_cast<size_t>(a->B) * sizeof(int64_t));
  SRP_TRY(scratch.status());
  int64_t* const reach = scratch.as<int64_t>();
  const dim3 rows(blocks_for(a->B, kThreads)), groups(static_cast<unsigned>(a->G)), block(kThreads);
  SRP_LAUNCH(columns_reach_kernel, rows, block, 0, queue->stream, *a, reach, queue->faults);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH(columns_kernel<double>, groups, block, 0, queue->stream, *a, reach, queue->faults);
  else
    SRP_LAUNCH(columns_kernel<float>, groups, block, 0, queue->stream, *a, reach, queue->faults);
  return launched("group_columns");
}

}  // namespace srp::cuda
