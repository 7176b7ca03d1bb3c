// Statistics of two policies' log-probs, and their bounds (contract: surprisal/correction.h), in one launch each: a warp or a block a
// row (row_pieces.cuh: which, and why the bits are the same).
//
//   measure   sums, then deviations from the means, for which the statistic is computed again: the second walk goes back
//             through the row, from the nearest cache into L2
//   bound     one walk
#include "backend.cuh"
#include "shared/correction.h"
#include "token_pairs.cuh"

namespace srp::cuda {
namespace {

// Of a lane's tokens, of a warp or of the whole row.
struct LaneMismatch : MismatchSums {};
__device__ __forceinline__ LaneMismatch warp_total(LaneMismatch x) {
  x.x = cuda::warp_total(x.x);
  x.bounded = warp_reduce(x.bounded, Sum{});
  x.difference = warp_reduce(x.difference, Sum{});
  x.above = warp_reduce(x.above, Sum{});
  x.below = warp_reduce(x.below, Sum{});
  return x;
}
__device__ __forceinline__ LaneMismatch joined(LaneMismatch a, const LaneMismatch& b) {
  a.x = cuda::joined(a.x, b.x);
  a.bounded += b.bounded;
  a.difference += b.difference;
  a.above += b.above;
  a.below += b.below;
  return a;
}

struct LaneDeviations {
  ChunkDeviations x, bounded;
};
__device__ __forceinline__ LaneDeviations warp_total(const LaneDeviations& x) {
  return {cuda::warp_total(x.x), cuda::warp_total(x.bounded)};
}
__device__ __forceinline__ LaneDeviations joined(const LaneDeviations& a, const LaneDeviations& b) {
  return {cuda::joined(a.x, b.x), cuda::joined(a.bounded, b.bounded)};
}

// Tokens of a lane at a time.
constexpr int kTokens = 4;

// visit(log_prob, old_log_prob) for the kept tokens of a lane.
template <class F, class Team, bool kBack, class Args, class Visit>
__device__ __forceinline__ void each_kept(const Args& a, const Range& row, int lane, const Visit& visit) {
  each_pairs<F, kTokens, Team::kTeams == 1, kBack>(a, row, lane, [&](int64_t, const TokenPairs<F, kTokens>& tokens) {
    SRP_UNROLL
    for (int e = 0; e < kTokens; ++e)
      if (tokens.kept >> e & 1)
        visit(static_cast<double>(tokens.log_probs.at[e]), static_cast<double>(tokens.old_log_probs.at[e]));
  });
}

// ledger    correction_measure
// bytes     n (2 s + mask) + B outputs
// limit     memory
// notes     two walks of a row by a warp or a block, the second from cache; outputs: 48 moments, 48 bounded, 8
//           differences, 4 above, 4 below
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of measure_kernel<BlockPieces, float>: 36 loaded, 100 float64 + 36 loaded, 100 float64; 9 bytes; at most 140, 120 on
//           sm_89; before 146.5
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2) measure_kernel(srp_correction_measure_args a, uint32_t* faults) {
  const int64_t b = Team::slot();
  if (b >= a.B) return;  // the whole team
  const Range row = team_row<Team>(a, b, faults);
  const int lanes = lanes_of<F>(row);
  const LaneMismatch sums = Team::total(lanes, [&](int lane) {
    LaneMismatch mine;
    each_kept<F, Team, false>(a, row, lane,
                              [&](double log_prob, double old_log_prob) { mine.add(a, log_prob, old_log_prob); });
    return mine;
  });
  const ChunkSums bounded_sums = sums.bounded_sums(a);
  const double mean = sums.x.mean(), bounded_mean = bounded_sums.mean();
  const LaneDeviations deviations = Team::total(lanes, [&](int lane) {
    LaneDeviations mine;
    each_kept<F, Team, true>(a, row, lane, [&](double log_prob, double old_log_prob) {
      const double x = statistic_of(a.statistic, a.log_clamp, log_prob, old_log_prob);
      mine.x.add(x, mean);
      mine.bounded.add(clamp(x, a.low, a.high), bounded_mean);
    });
    return mine;
  });
  if (Team::leads())
    store_measures(a, b, chunk_moments(sums.x, deviations.x), chunk_moments(bounded_sums, deviations.bounded),
                   sums.difference, sums.above, sums.below);
}

// ledger    correction_bound
// bytes     n (2 s + mask) + n (s weights + kept) + B inputs and outputs
// limit     memory
// notes     one walk; a warp or a block a row, 16 bytes in and out at a time
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of bound_kernel<BlockPieces, float>: 36 loaded, 16 stored, 100 float64; 14 bytes; at most 82, 76 on sm_89; before
//           91.8
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2) bound_kernel(srp_correction_bound_args a, uint32_t* faults) {
  using Pairs = TokenPairs<F, kTokens>;
  const int64_t b = Team::slot();
  if (b >= a.B) return;
  const Range row = team_row<Team>(a, b, faults);
  const double factor = row_factor(a, b);
  F* const weights = static_cast<F*>(a.weights);
  const bool fits = aligned16(weights, row.begin * int64_t{sizeof(F)});
  int count = 0;
  Team::each_lane(lanes_of<F>(row), [&](int lane) {
    each_pairs<F, kTokens, Team::kTeams == 1>(a, row, lane, [&](int64_t begin, const Pairs& tokens) {
      typename Pairs::Lane weight;
      uint32_t kept = 0;
      SRP_UNROLL
      for (int e = 0; e < kTokens; ++e) {
        const TokenBound bound =
            token_bound(a, tokens.kept >> e & 1, factor, static_cast<double>(tokens.log_probs.at[e]),
                        static_cast<double>(tokens.old_log_probs.at[e]));
        put(&weight.at[e], bound.weight);
        kept |= static_cast<uint32_t>(bound.kept) << e;
      }
      if (weights) weight.write(weights, fits, begin, row.end, lane);
      if (a.kept) Pairs::Lane::write_flags(a.kept, begin, row.end, lane, kept);
      count += __popc(kept);
    });
  });
  if (!a.kept_counts) return;
  count = Team::together(count);
  if (Team::leads()) a.kept_counts[b] = count;
}

}  // namespace

srp_status correction_measure(srp_queue* queue, const srp_correction_measure_args* a) {
  const char* const op = "correction_measure";
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return launch_rows(op, *a, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    if (a->dtype == SRP_F64)
      SRP_LAUNCH((measure_kernel<Team, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, queue->faults);
    else
      SRP_LAUNCH((measure_kernel<Team, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, queue->faults);
  });
}

srp_status correction_bound(srp_queue* queue, const srp_correction_bound_args* a) {
  const char* const op = "correction_bound";
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  return launch_rows(op, *a, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    if (a->dtype == SRP_F64)
      SRP_LAUNCH((bound_kernel<Team, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, queue->faults);
    else
      SRP_LAUNCH((bound_kernel<Team, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, queue->faults);
  });
}

}  // namespace srp::cuda
