// Statistics of two policies' log-probs, and their bounds (contract: surprisal/correction.h), in one launch each: a warp or a block a
// row (row_strips.cuh: which, and why the bits are the same).
//
//   measure   sums, then deviations from the means, for which the statistic is computed again: a block's second walk goes back
//             through its strips, from the nearest cache into L2
//   bound     one walk
#include "backend.cuh"
#include "policy_pairs.cuh"
#include "shared/correction.h"

namespace srp::cuda {
namespace {

constexpr int kReadAhead = 4;  // tokens of a lane whose inputs are being loaded

// visit(i, kept, log_prob, old_log_prob) for a lane's tokens of the strip [begin, end).
template <class F, class Args, class Visit>
__device__ __forceinline__ void each_token(const Args& a, int64_t begin, int64_t end, const Visit& visit) {
  SRP_KEEP_ROLLED
  for (int from = 0; from < kOfLane; from += kReadAhead) {
    const PolicyPairs<F, kReadAhead> tokens(a, begin, from, end);
    SRP_UNROLL
    for (int k = 0; k < kReadAhead; ++k) {
      const int64_t i = lane_token(begin, from + k);
      if (i < end)
        visit(i, tokens.kept[k], static_cast<double>(tokens.log_probs[k]),
              static_cast<double>(tokens.old_log_probs[k]));
    }
  }
}

template <class F, bool kTogether>
__device__ __forceinline__ MismatchSums sums_of_row(const srp_correction_measure_args& a, const Range& row) {
  const auto numbers = add_row<kTogether, 6, 2>(row, [&](int64_t begin, int64_t end, RowNumbers<6, 2>& mine) {
    MismatchSums sums;
    each_token<F>(a, begin, end, [&](int64_t, bool kept, double log_prob, double old_log_prob) {
      if (kept) sums.add(a, log_prob, old_log_prob);
    });
    mine.sums[0] = sums.x.sum;
    mine.sums[1] = static_cast<double>(sums.x.count);
    mine.sums[2] = sums.bounded;
    mine.sums[3] = sums.difference;
    mine.sums[4] = sums.above;
    mine.sums[5] = sums.below;
    mine.largest[0] = sums.x.high;
    mine.largest[1] = -sums.x.low;
  });
  MismatchSums sums;
  sums.x.sum = numbers.sums[0];
  sums.x.count = static_cast<int64_t>(numbers.sums[1]);
  sums.bounded = numbers.sums[2];
  sums.difference = numbers.sums[3];
  sums.above = static_cast<int32_t>(numbers.sums[4]);
  sums.below = static_cast<int32_t>(numbers.sums[5]);
  sums.x.high = numbers.largest[0];
  sums.x.low = -numbers.largest[1];
  return sums;
}

// ledger    correction_measure
// bytes     n (2 s + mask) + B outputs
// limit     memory
// notes     two walks of a row by a warp or a block, the second from cache; outputs: 48 moments, 48 bounded, 8
//           differences, 4 above, 4 below
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of measure_kernel<float, true>: 36 loaded, 100 float64 + 36 loaded, 100 float64; 9 bytes; at most 148, 127 on sm_89
template <class F, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, 2) measure_kernel(srp_correction_measure_args a, uint32_t* faults) {
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;  // true for a whole warp; with a block for each row, never
  const Range row = own_range<kTogether>(a.offsets, a.T, a.n, b, faults);
  const MismatchSums sums = sums_of_row<F, kTogether>(a, row);
  const ChunkSums bounded_sums = sums.bounded_sums(a);
  const double mean = sums.x.mean(), bounded_mean = bounded_sums.mean();
  const auto numbers = add_row<kTogether, 4, 0, true>(row, [&](int64_t begin, int64_t end, RowNumbers<4>& mine) {
    ChunkDeviations deviations, bounded;
    each_token<F>(a, begin, end, [&](int64_t, bool kept, double log_prob, double old_log_prob) {
      if (!kept) return;
      const double x = statistic_of(a.statistic, a.log_clamp, log_prob, old_log_prob);
      deviations.add(x, mean);
      bounded.add(clamp(x, a.low, a.high), bounded_mean);
    });
    mine.sums[0] = deviations.sum;
    mine.sums[1] = deviations.squares;
    mine.sums[2] = bounded.sum;
    mine.sums[3] = bounded.squares;
  });
  if (worker<kTogether>() != 0) return;
  ChunkDeviations deviations, bounded;
  deviations.sum = numbers.sums[0];
  deviations.squares = numbers.sums[1];
  bounded.sum = numbers.sums[2];
  bounded.squares = numbers.sums[3];
  store_measures(a, b, chunk_moments(sums.x, deviations), chunk_moments(bounded_sums, bounded), sums.difference,
                 sums.above, sums.below);
}

// ledger    correction_bound
// bytes     n (2 s + mask) + n (s weights + kept) + B inputs and outputs
// limit     memory
// notes     one walk; a warp or a block a row, four tokens of a lane under way
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of bound_kernel<float, true>: 36 loaded, 16 stored, 100 float64; 14 bytes; at most 92.5, 85 on sm_89
template <class F, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, 2) bound_kernel(srp_correction_bound_args a, uint32_t* faults) {
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;
  const Range row = own_range<kTogether>(a.offsets, a.T, a.n, b, faults);
  const double factor = row_factor(a, b);
  const auto numbers = add_row<kTogether, 1>(row, [&](int64_t begin, int64_t end, RowNumbers<1>& mine) {
    each_token<F>(a, begin, end, [&](int64_t i, bool kept, double log_prob, double old_log_prob) {
      mine.sums[0] += bound_token<F>(a, i, kept, factor, log_prob, old_log_prob) ? 1 : 0;
    });
  });
  if (worker<kTogether>() == 0 && a.kept_counts) a.kept_counts[b] = static_cast<int32_t>(numbers.sums[0]);
}

// Launchers

template <class F, bool kTogether>
void measure_rows(srp_queue* queue, const srp_correction_measure_args& a) {
  SRP_LAUNCH((measure_kernel<F, kTogether>), dim3(static_cast<unsigned>(row_blocks<kTogether>(a.B))), dim3(kRowThreads),
             0, queue->stream, a, queue->faults);
}

template <class F, bool kTogether>
void bound_rows(srp_queue* queue, const srp_correction_bound_args& a) {
  SRP_LAUNCH((bound_kernel<F, kTogether>), dim3(static_cast<unsigned>(row_blocks<kTogether>(a.B))), dim3(kRowThreads),
             0, queue->stream, a, queue->faults);
}

}  // namespace

srp_status correction_measure(srp_queue* queue, const srp_correction_measure_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("correction_measure", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const bool together = takes_block(a->n, a->B);
  if (a->dtype == SRP_F64)
    together ? measure_rows<double, true>(queue, *a) : measure_rows<double, false>(queue, *a);
  else
    together ? measure_rows<float, true>(queue, *a) : measure_rows<float, false>(queue, *a);
  return launched("correction_measure");
}

srp_status correction_bound(srp_queue* queue, const srp_correction_bound_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("correction_bound", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const bool together = takes_block(a->n, a->B);
  if (a->dtype == SRP_F64)
    together ? bound_rows<double, true>(queue, *a) : bound_rows<double, false>(queue, *a);
  else
    together ? bound_rows<float, true>(queue, *a) : bound_rows<float, false>(queue, *a);
  return launched("correction_bound");
}

}  // namespace srp::cuda
