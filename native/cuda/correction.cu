// Statistics of two policies' log-probs, and their bounds (contract: surprisal/correction.h), in one launch each: a warp or a block a
// row (row_pieces.cuh: which, and why the bits are the same).
//
//   measure   sums, then deviations from the means, for which the statistic is computed again: the second walk goes back
//             through the row, from the nearest cache into L2
//   bound     one walk
//
// GPUs with few float64 units have tokens of float32 in pairs of float32 (correction_pairs.cuh).
#include "backend.cuh"
#include "correction_pairs.cuh"

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

struct LaneDeviations : MismatchDeviations {};
__device__ __forceinline__ LaneDeviations warp_total(LaneDeviations x) {
  x.x = cuda::warp_total(x.x);
  x.bounded = cuda::warp_total(x.bounded);
  return x;
}
__device__ __forceinline__ LaneDeviations joined(LaneDeviations a, const LaneDeviations& b) {
  a.x = cuda::joined(a.x, b.x);
  a.bounded = cuda::joined(a.bounded, b.bounded);
  return a;
}

// Tokens of a lane at a time.
constexpr int kTokens = 4;

// For the kept tokens of a lane visit(log_prob, old_log_prob) in float64, or visit_pair() of those that go in pairs; ran() behind those
// that it has at a time.
template <class F, class Team, bool kBack, class Args, class Visit, class VisitPair, class Ran>
__device__ __forceinline__ void each_kept(const Args& a, const Range& row, int lane, const MismatchInPairs<F>& pairs,
                                          const Visit& visit, const VisitPair& visit_pair, const Ran& ran) {
  each_pairs<F, kTokens, Team::kTeams == 1, kBack>(a, row, lane, [&](int64_t, const TokenPairs<F, kTokens>& tokens) {
    SRP_UNROLL
    for (int e = 0; e < kTokens; ++e) {
      const F log_prob = tokens.log_probs.at[e], old_log_prob = tokens.old_log_probs.at[e];
      if (!(tokens.kept >> e & 1)) continue;
      if (pairs.takes(log_prob, old_log_prob))
        visit_pair(TwoFloats(log_prob), TwoFloats(old_log_prob));
      else
        visit(static_cast<double>(log_prob), static_cast<double>(old_log_prob));
    }
    if (pairs.may()) ran();
  });
}

// ledger    correction_measure
// bytes     n (2 s + mask) + B outputs
// limit     memory
// notes     two walks of a row by a warp or a block, the second from cache; float64, or pairs of float32 where it is slow; outputs: 48
//           moments, 48 bounded, 8 differences, 4 above, 4 below
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of measure_kernel<BlockPieces, float>: 36 loaded, 100 float64 + 36 loaded, 100 float64; 9 bytes; at most 140; before
//           146.5
// sm_89     4 of measure_kernel<BlockPieces, float>: 36 loaded, 128 fused + 36 loaded, 150 fused; 9 bytes; at most 498; before
//           125.5
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    measure_kernel(srp_correction_measure_args a, PairBounds bounds, uint32_t* faults) {
  const int64_t b = Team::slot();
  if (b >= a.B) return;  // the whole team
  const Range row = team_row<Team>(a, b, faults);
  const int lanes = lanes_of<F>(row);
  MismatchInPairs<F> pairs(bounds);
  const LaneMismatch sums = Team::total(lanes, [&](int lane) {
    LaneMismatch mine;
    PairSums few;
    each_kept<F, Team, false>(
        a, row, lane, pairs, [&](double log_prob, double old_log_prob) { mine.add(a, log_prob, old_log_prob); },
        [&](TwoFloats log_prob, TwoFloats old_log_prob) { few.add(pairs.bounds, log_prob, old_log_prob); },
        [&] { few.ran(mine); });
    if (pairs.may()) few.end(mine);
    return mine;
  });
  const ChunkSums bounded_sums = sums.bounded_sums(a);
  const double mean = sums.x.mean(), bounded_mean = bounded_sums.mean();
  const TwoFloats pair_mean = pairs.mean_of(sums.x, mean),
                  pair_bounded_mean = pairs.mean_of(bounded_sums, bounded_mean);
  const LaneDeviations deviations = Team::total(lanes, [&](int lane) {
    LaneDeviations mine;
    PairDeviations few;
    each_kept<F, Team, true>(
        a, row, lane, pairs,
        [&](double log_prob, double old_log_prob) { mine.add(a, mean, bounded_mean, log_prob, old_log_prob); },
        [&](TwoFloats log_prob, TwoFloats old_log_prob) {
          few.add(pairs.bounds, pair_mean, pair_bounded_mean, log_prob, old_log_prob);
        },
        [&] { few.ran(mine); });
    return mine;
  });
  if (Team::leads())
    store_measures(a, b, chunk_moments(sums.x, deviations.x), chunk_moments(bounded_sums, deviations.bounded),
                   sums.difference, sums.above, sums.below);
}

// ledger    correction_bound
// bytes     n (2 s + mask) + n (s weights + kept) + B inputs and outputs
// limit     memory
// notes     one walk; a warp or a block a row, 16 bytes in and out at a time; float64, or pairs of float32 where it is slow
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of bound_kernel<BlockPieces, float>: 36 loaded, 16 stored, 100 float64; 14 bytes; at most 82; before 91.8
// sm_89     4 of bound_kernel<BlockPieces, float>: 36 loaded, 16 stored, 128 fused; 14 bytes; at most 196; before 84.3
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    bound_kernel(srp_correction_bound_args a, PairBounds bounds, uint32_t* faults) {
  using Pairs = TokenPairs<F, kTokens>;
  const int64_t b = Team::slot();
  if (b >= a.B) return;
  const Range row = team_row<Team>(a, b, faults);
  const double factor = row_factor(a, b);
  BoundInPairs<F> pairs(a, bounds, factor);
  F* const weights = static_cast<F*>(a.weights);
  const bool fits = aligned16(weights, row.begin * int64_t{sizeof(F)});
  int count = 0;
  Team::each_lane(lanes_of<F>(row), [&](int lane) {
    each_pairs<F, kTokens, Team::kTeams == 1>(a, row, lane, [&](int64_t begin, const Pairs& tokens) {
      typename Pairs::Lane weight;
      uint32_t kept = 0;
      SRP_UNROLL
      for (int e = 0; e < kTokens; ++e) {
        const F log_prob = tokens.log_probs.at[e], old_log_prob = tokens.old_log_probs.at[e];
        const bool enters = tokens.kept >> e & 1;
        bool stays;
        if (pairs.takes(enters, log_prob, old_log_prob))
          stays = pairs.bound(enters, log_prob, old_log_prob, &weight.at[e]);
        else {
          const TokenBound<double> bound =
              token_bound(a, enters, factor, static_cast<double>(log_prob), static_cast<double>(old_log_prob));
          put(&weight.at[e], bound.weight);
          stays = bound.kept;
        }
        kept |= static_cast<uint32_t>(stays) << e;
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
      SRP_LAUNCH((measure_kernel<Team, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, PairBounds(*a),
                 queue->faults);
    else
      SRP_LAUNCH((measure_kernel<Team, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, PairBounds(*a),
                 queue->faults);
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
      SRP_LAUNCH((bound_kernel<Team, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, PairBounds(*a),
                 queue->faults);
    else
      SRP_LAUNCH((bound_kernel<Team, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, PairBounds(*a),
                 queue->faults);
  });
}

}  // namespace srp::cuda
