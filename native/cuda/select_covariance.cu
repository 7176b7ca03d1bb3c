// Selection by covariance (contract: surprisal/select.h). A block a row sums it up, as the contract's order of additions has it, and the
// last of them adds the rows to the means; then a tile of 4096 tokens a block compares, in one more launch, or ranks the batch, in
// seven (select_batch.cuh, select_top.cuh). Each launch computes the covariances again.
//
// Minimum bytes: of each token its numbers and flags once for the sums and once more for what is selected, and 1 selected.
#include "backend.cuh"
#include "comes_last.cuh"
#include "select_top.cuh"

namespace srp::cuda {
namespace {

__device__ ChunkSums block_merge(ChunkSums mine) {
  mine.sum = block_sum(mine.sum);
  mine.low = block_reduce(mine.low, Min{});
  mine.high = block_reduce(mine.high, Max{});
  mine.count = block_sum(mine.count);
  return mine;
}

// Tokens of a lane that are loaded at the same time.
constexpr int kAhead = 8;

// The rows' sums, and by the last block to finish the means.
//
// ledger    select_covariance
// bytes     n (2 s + mask) + B sums
// limit     memory
// notes     a block a row in the order of the contract, eight tokens of a lane on their way; the last block adds the
//           rows
// turn      8 of pair_sums_kernel<float>: 24 loads, 80 float64; 9 bytes; at most 60.5, 58 on sm_89
template <class F>
__global__ void __launch_bounds__(kSumLanes) pair_sums_kernel(srp_select_covariance_args a, PairSums* rows,
                                                              PairMeans* means, uint32_t* ticket, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  const Pairs<F> pairs{a};
  PairSums mine;
  for (int64_t first = row.begin + threadIdx.x; first < row.end; first += kAhead * kSumLanes) {
    F advantages[kAhead], currents[kAhead];
    bool kept[kAhead];
    SRP_UNROLL
    for (int k = 0; k < kAhead; ++k) {
      const int64_t i = first + k * kSumLanes;
      kept[k] = i < row.end && pairs.kept(i);
      advantages[k] = i < row.end ? static_cast<const F*>(a.advantages)[a.advantages_per_token ? i : b] : F(0);
      currents[k] = i < row.end ? static_cast<const F*>(a.log_probs)[i] : F(0);
    }
    SRP_UNROLL
    for (int k = 0; k < kAhead; ++k)
      if (kept[k]) mine.add(advantages[k], currents[k]);
  }
  mine = {block_merge(mine.advantage), block_merge(mine.log_prob)};
  if (threadIdx.x == 0) rows[b] = mine;
  if (!comes_last(ticket, gridDim.x)) return;
  PairSums all;
  for (int64_t r = threadIdx.x; r < a.B; r += kSumLanes) merge(all, rows[r]);
  all = {block_merge(all.advantage), block_merge(all.log_prob)};
  if (threadIdx.x != 0) return;
  *means = means_of(all, a.count_epsilon);
  if (!all_finite(all)) raise(faults, SRP_FAULT_FINITE);
}

// A tile a block. `counts` starts at 0, or is NULL.
//
// ledger    select_covariance
// bytes     n (2 s + mask + excluded) + n selected
// limit     memory
// notes     a block a tile of 4096 tokens
// turn      16 of range_kernel<float>: whole, 8 loads16, 16 stored; 10 bytes; at most 31
template <class F>
__global__ void __launch_bounds__(kPieceLanes, 2) range_kernel(CovarianceKeys<F> keys) {
  const srp_select_covariance_args& a = keys.a;
  const int lane = static_cast<int>(threadIdx.x);
  double covariances[kHeld];
  uint32_t selected = keys.covariances(blockIdx.x, covariances);
  const Pairs<F> pairs{a};
  SRP_UNROLL
  for (int e = 0; e < kHeld; ++e)
    if (!pairs.in_range(covariances[e])) selected &= ~(1u << e);
  Held<F>::write_flags(a.selected, int64_t{blockIdx.x} * kPiece, keys.n, lane, selected);
  if (!a.counts) return;
  const int count = add_warps(warp_total(__popc(selected)));
  if (lane == 0) atomicAdd(a.counts, count);  // integers: any order
}

template <class F>
srp_status covariance(srp_queue* queue, const srp_select_covariance_args& a) {
  const char* const op = "select_covariance";
  if (a.counts) SRP_TRY(check_cuda(cudaMemsetAsync(a.counts, 0, sizeof *a.counts, queue->stream), op));
  if (a.B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const Scratch sums(queue, static_cast<size_t>(a.B) * sizeof(PairSums)), mean(queue, sizeof(PairMeans));
  SRP_TRY(sums.status());
  SRP_TRY(mean.status());
  PairSums* const rows = sums.as<PairSums>();
  PairMeans* const means = mean.as<PairMeans>();
  const dim3 each_row(static_cast<unsigned>(a.B)), lanes(kSumLanes);
  SRP_LAUNCH((pair_sums_kernel<F>), each_row, lanes, 0, queue->stream, a, rows, means, tickets_of(queue),
             queue->faults);
  if (a.n == 0) return launched(op);
  const CovarianceKeys<F> keys{a, means, a.n};
  if (a.mode == SRP_COVARIANCE_TOP) return top_of_batch(queue, keys, a, op);
  const int64_t tiles = tiles_of(a.n);
  SRP_TRY(check_grid(op, tiles));
  SRP_LAUNCH((range_kernel<F>), dim3(static_cast<unsigned>(tiles)), lanes, 0, queue->stream, keys);
  return launched(op);
}

}  // namespace

srp_status select_covariance(srp_queue* queue, const srp_select_covariance_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("select_covariance", a->B));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? covariance<double>(queue, *a) : covariance<float>(queue, *a);
}

}  // namespace srp::cuda
