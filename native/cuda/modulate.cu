// Entropy modulation of steps and rows (contract: surprisal/modulate.h); of spans: modulate_spans.cu.
//
//   steps  the extremes, the sum of the weights, the results, 1024 steps a block. At most 4096 steps: one launch of one block, which
//          goes over them three times; more: three launches, each of which adds up the blocks' results of the one before. Both give the
//          same bits. A step takes three exponentials in float64, which is why one block alone would be slow
//   rows   a piece of a row adds up as in reduce.cu, then a block or, where groups have at most 32 rows on average, a warp a group
//          for mu, sigma, ratios and weights
#include "backend.cuh"
#include "common.cuh"
#include "row_pieces.cuh"
#include "shared/modulate.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;

// ---- steps

constexpr int64_t kStepChunk = 1024;
constexpr int64_t kFewSteps = 4 * kStepChunk;

SRP_HD int64_t chunks_of_steps(int64_t S) { return (S + kStepChunk - 1) / kStepChunk; }

// The chunks' results, one number each.
struct StepScratch {
  double *lows, *highs, *sums;
};

__device__ void chunk_extremes(const srp_modulate_steps_args& a, const StepScratch& scratch, int64_t chunk,
                               uint32_t* faults) {
  double low = INFINITY, high = -INFINITY;
  for (int64_t s = chunk * kStepChunk + threadIdx.x; s < a.S && s < (chunk + 1) * kStepChunk; s += kThreads) {
    if (a.finite && !is_finite(a.entropies[s])) raise(faults, SRP_FAULT_FINITE);
    low = Min{}(low, a.entropies[s]);
    high = Max{}(high, a.entropies[s]);
  }
  low = block_reduce(low, Min{});
  high = block_reduce(high, Max{});
  if (threadIdx.x != 0) return;
  scratch.lows[chunk] = low;
  scratch.highs[chunk] = high;
}

// Everything but the scale: the weight is stored in its place until the mean of the weights is known.
__device__ void chunk_weights(const srp_modulate_steps_args& a, const StepScratch& scratch, double low, double high,
                              int64_t chunk) {
  double sum = 0;
  for (int64_t s = chunk * kStepChunk + threadIdx.x; s < a.S && s < (chunk + 1) * kStepChunk; s += kThreads) {
    const StepWeights weights = step_weights(a, low, high, s);
    if (a.entropy_norms) a.entropy_norms[s] = weights.norm;
    if (a.clarities) a.clarities[s] = weights.clarity;
    if (a.scales) a.scales[s] = weights.calibrated;
    sum += weights.calibrated;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) scratch.sums[chunk] = sum;
}

__device__ void chunk_scales(const srp_modulate_steps_args& a, double mean, int64_t chunk) {
  for (int64_t s = chunk * kStepChunk + threadIdx.x; s < a.S && s < (chunk + 1) * kStepChunk; s += kThreads)
    a.scales[s] /= mean + a.epsilon;
}

// Behind the last step.
__device__ void clear_chunk(const srp_modulate_steps_args& a, int64_t live, int64_t chunk) {
  for (int64_t s = chunk * kStepChunk + threadIdx.x; s < a.S && s < (chunk + 1) * kStepChunk; s += kThreads) {
    if (s < live) continue;
    if (a.entropy_norms) a.entropy_norms[s] = 0;
    if (a.scales) a.scales[s] = 0;
    if (a.clarities) a.clarities[s] = 0;
  }
}

// Combines the numbers of all chunks. All threads of the block get the result.
template <class Combine>
__device__ double over_chunks(const double* numbers, int64_t chunks, double none, Combine combine) {
  double all = none;
  for (int64_t k = threadIdx.x; k < chunks; k += kThreads) all = combine(all, numbers[k]);
  return block_reduce(all, combine);
}
__device__ double low_of(const StepScratch& scratch, int64_t chunks) {
  return over_chunks(scratch.lows, chunks, INFINITY, Min{});
}
__device__ double high_of(const StepScratch& scratch, int64_t chunks) {
  return over_chunks(scratch.highs, chunks, -INFINITY, Max{});
}
__device__ double mean_of(const StepScratch& scratch, int64_t S) {
  return over_chunks(scratch.sums, chunks_of_steps(S), 0, Sum{}) / static_cast<double>(S);
}

// One block.
//
// ledger    modulate_steps
// bytes     8 S + 8 S outputs
// limit     latency
// notes     one block, three walks; at most 4096 steps
// values    S 4096, outputs 3
__global__ void __launch_bounds__(kThreads)
    few_steps_kernel(srp_modulate_steps_args a, StepScratch scratch, uint32_t* faults) {
  const int64_t live = checked_spans(a.count, a.S, faults);
  for (int64_t k = 0; k < chunks_of_steps(a.S); ++k) clear_chunk(a, live, k);
  a.S = live;
  const int64_t chunks = chunks_of_steps(live);
  for (int64_t k = 0; k < chunks; ++k) chunk_extremes(a, scratch, k, faults);
  __syncthreads();  // the first thread's numbers are visible
  const double low = low_of(scratch, chunks), high = high_of(scratch, chunks);
  for (int64_t k = 0; k < chunks; ++k) chunk_weights(a, scratch, low, high, k);
  __syncthreads();
  const double mean = mean_of(scratch, live);
  for (int64_t k = 0; a.scales && k < chunks; ++k) chunk_scales(a, mean, k);
}

// A block a chunk.
//
// ledger    modulate_steps
// bytes     8 S
// limit     latency
// notes     a block takes 1024 steps; the first of three launches
__global__ void __launch_bounds__(kThreads)
    step_extremes_kernel(srp_modulate_steps_args a, StepScratch scratch, uint32_t* faults) {
  const int64_t live = checked_spans(a.count, a.S, faults);
  clear_chunk(a, live, blockIdx.x);
  a.S = live;
  if (blockIdx.x < chunks_of_steps(live)) chunk_extremes(a, scratch, blockIdx.x, faults);
}

// ledger    modulate_steps
// bytes     8 S + 8 S outputs
// limit     latency
// notes     three exponentials a step in float64
// values    outputs 3
__global__ void __launch_bounds__(kThreads) step_weights_kernel(srp_modulate_steps_args a, StepScratch scratch) {
  a.S = live_spans(a.count, a.S);
  const int64_t chunks = chunks_of_steps(a.S);
  if (blockIdx.x < chunks) chunk_weights(a, scratch, low_of(scratch, chunks), high_of(scratch, chunks), blockIdx.x);
}

// ledger    modulate_steps
// bytes     16 S
// limit     latency
// notes     divides by the mean
__global__ void __launch_bounds__(kThreads) step_scales_kernel(srp_modulate_steps_args a, StepScratch scratch) {
  a.S = live_spans(a.count, a.S);
  if (blockIdx.x < chunks_of_steps(a.S)) chunk_scales(a, mean_of(scratch, a.S), blockIdx.x);
}

// ---- rows

// The sums over a row's kept tokens; rows of several pieces have one for each piece.
struct EntropySum {
  double sum;
  int64_t kept;
};
__device__ __forceinline__ EntropySum warp_total(const EntropySum& x) {
  return {warp_reduce(x.sum, Sum{}), warp_reduce(static_cast<int>(x.kept), Sum{})};
}
__device__ __forceinline__ EntropySum joined(const EntropySum& a, const EntropySum& b) {
  return {a.sum + b.sum, a.kept + b.kept};
}

// ledger    modulate_rows
// bytes     n (s + mask) + 16 n / 4096
// limit     memory
// notes     a block or a warp a piece of 4096 tokens
// variants  of a row's length: where rows are short a warp takes a piece, else a block, which holds it in registers
// turn      16 of measure_rows_kernel<BlockPieces, float>: whole, 4 loads16, 16 float64; 5 bytes; at most 25.6
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    measure_rows_kernel(srp_modulate_rows_args a, Rows rows, EntropySum* sums, uint32_t* faults) {
  Piece piece;
  const int64_t slot = Team::slot();
  if (slot >= rows.slots() || !piece_in(rows, slot, faults, piece)) return;  // the whole team
  const F* const entropy = static_cast<const F*>(a.values);
  const bool aligned = aligned16(entropy, piece.begin * int64_t{sizeof(F)});
  const EntropySum sum = Team::total(piece.lanes<F>(), [&](int lane) {
    Held<F> held;
    const uint32_t kept = Held<F>::flags(a.mask, piece.begin, piece.end, lane);
    held.read(entropy, aligned, piece.begin, piece.end, lane);
    EntropySum mine = {0, __popc(kept)};
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e)
      if (kept >> e & 1) mine.sum += held.at[e];
    return mine;
  });
  if (Team::leads()) sums[slot] = sum;
}

struct RowEntropy {
  double mean;
  int64_t length;
};

// Of row b, its pieces one after the other; a bad row is empty.
__device__ RowEntropy row_entropy(const srp_modulate_rows_args& a, const Rows& rows, const EntropySum* sums,
                                  int64_t b) {
  const Range row = row_range(rows.offsets, rows.T, rows.n, b);
  if (!row.valid) return {0, 0};
  const int64_t first = rows.first_slot(b), pieces = pieces_of(row);
  EntropySum all = {0, 0};
  for (int64_t p = 0; p < pieces; ++p) all = joined(all, sums[first + p]);
  const double sum = a.negate ? -all.sum : all.sum;
  return {all.kept > 0 ? sum / static_cast<double>(all.kept) : 0, all.kept};
}

// The row of item i of a group, or -1 where members points outside.
__device__ __forceinline__ int64_t checked_member(const srp_modulate_rows_args& a, int64_t i) {
  const int64_t b = member(a.members, i);
  return b >= 0 && b < a.B ? b : -1;
}

// The sums over a lane's valid rows.
struct GroupSum {
  double sum;
  int count;
};
__device__ __forceinline__ GroupSum warp_total(const GroupSum& x) {
  return {warp_reduce(x.sum, Sum{}), warp_reduce(x.count, Sum{})};
}
__device__ __forceinline__ GroupSum joined(const GroupSum& a, const GroupSum& b) {
  return {a.sum + b.sum, a.count + b.count};
}

// 256 lanes take a group's rows by turns: the threads of a block, or those of a warp, eight times each.
//
// ledger    modulate_rows
// bytes     16 n / 4096 + 4 B members + 8 B outputs
// limit     latency
// notes     a warp a group, a block where groups have more than 32 rows on average
// variants  of a row's length: where rows are short a warp takes a piece, else a block, which holds it in registers
template <class Team>
__global__ void __launch_bounds__(kPieceLanes, 2)
    weigh_rows_kernel(srp_modulate_rows_args a, Rows rows, const EntropySum* sums, uint32_t* faults) {
  const int64_t g = Team::slot();
  if (g >= a.G) return;  // the whole team
  const Range group = row_range(a.group_offsets, 0, a.B, g);
  if (!group.valid && Team::leads()) raise(faults, SRP_FAULT_OFFSETS);
  const int64_t items = group.end - group.begin;
  const int lanes = static_cast<int>(items < kPieceLanes ? items : kPieceLanes);
  const GroupSum valid = Team::total(lanes, [&](int lane) {
    GroupSum mine = {0, 0};
    for (int64_t i = group.begin + lane; i < group.end; i += kPieceLanes) {
      const int64_t b = checked_member(a, i);
      if (b < 0) {
        raise(faults, SRP_FAULT_INDEX);
        continue;
      }
      const RowEntropy row = row_entropy(a, rows, sums, b);
      if (row_poisons(a, row.mean)) mine.sum = NAN;
      if (!row_valid(a, row.mean, row.length)) continue;
      mine.sum += row.mean;
      ++mine.count;
    }
    return mine;
  });
  const double mean = valid.count > 0 ? valid.sum / valid.count : static_cast<double>(NAN);
  const double squares = Team::total(lanes, [&](int lane) {
    double mine = 0;
    for (int64_t i = group.begin + lane; i < group.end; i += kPieceLanes) {
      const int64_t b = checked_member(a, i);
      if (b < 0) continue;
      const RowEntropy row = row_entropy(a, rows, sums, b);
      if (row_valid(a, row.mean, row.length)) mine += (row.mean - mean) * (row.mean - mean);
    }
    return mine;
  });
  const GroupEntropy statistics = entropy_statistics(a, valid.count, mean, squares);
  Team::each_lane(lanes, [&](int lane) {
    for (int64_t i = group.begin + lane; i < group.end; i += kPieceLanes) {
      const int64_t b = checked_member(a, i);
      if (b < 0) continue;
      const RowEntropy row = row_entropy(a, rows, sums, b);
      const bool row_counts = row_valid(a, row.mean, row.length);
      const double ratio = row_ratio(a, statistics, row.mean, row_counts);
      if (a.sequence_entropies) a.sequence_entropies[b] = row.mean;
      if (a.group_mean_entropies) a.group_mean_entropies[b] = statistics.mean;
      if (a.entropy_ratios) a.entropy_ratios[b] = ratio;
      if (a.weights) a.weights[b] = row_weight(a, b, ratio);
      if (a.lengths) a.lengths[b] = static_cast<int32_t>(row.length);
      if (a.valid) a.valid[b] = row_counts;
    }
  });
}

}  // namespace

// Launchers

srp_status modulate_steps(srp_queue* queue, const srp_modulate_steps_args* a) {
  const char* const op = "modulate_steps";
  SRP_TRY(check(a));
  const int64_t chunks = chunks_of_steps(a->S);
  SRP_TRY(check_grid(op, chunks));
  SRP_TRY(enter(queue));
  if (a->S == 0) return SRP_OK;
  const Scratch numbers(queue, static_cast<size_t>(3 * chunks) * sizeof(double));
  SRP_TRY(numbers.status());
  double* const lows = numbers.as<double>();
  const StepScratch scratch = {lows, lows + chunks, lows + 2 * chunks};
  const dim3 grid(static_cast<unsigned>(chunks)), block(kThreads);
  if (a->S <= kFewSteps) {
    SRP_LAUNCH(few_steps_kernel, dim3(1), block, 0, queue->stream, *a, scratch, queue->faults);
    return launched(op);
  }
  SRP_LAUNCH(step_extremes_kernel, grid, block, 0, queue->stream, *a, scratch, queue->faults);
  SRP_LAUNCH(step_weights_kernel, grid, block, 0, queue->stream, *a, scratch);
  if (a->scales) SRP_LAUNCH(step_scales_kernel, grid, block, 0, queue->stream, *a, scratch);
  return launched(op);
}

srp_status modulate_rows(srp_queue* queue, const srp_modulate_rows_args* a) {
  const char* const op = "modulate_rows";
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, a->G));
  SRP_TRY(enter(queue));
  if (a->B == 0 || a->G == 0) return SRP_OK;
  const Rows rows = Rows::of(*a);
  const Scratch scratch(queue, static_cast<size_t>(rows.slots()) * sizeof(EntropySum));
  SRP_TRY(scratch.status());
  EntropySum* const sums = scratch.as<EntropySum>();
  SRP_TRY(launch_pieces(op, rows, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    if (a->dtype == SRP_F64)
      SRP_LAUNCH((measure_rows_kernel<Team, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, rows, sums,
                 queue->faults);
    else
      SRP_LAUNCH((measure_rows_kernel<Team, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, rows, sums,
                 queue->faults);
  }));
  if (a->B / a->G > kWarp)
    SRP_LAUNCH((weigh_rows_kernel<BlockPieces>), dim3(static_cast<unsigned>(a->G)), dim3(kPieceLanes), 0, queue->stream,
               *a, rows, sums, queue->faults);
  else
    SRP_LAUNCH((weigh_rows_kernel<WarpPieces>), dim3(blocks_for(a->G, WarpPieces::kTeams)), dim3(kPieceLanes), 0,
               queue->stream, *a, rows, sums, queue->faults);
  return launched(op);
}

}  // namespace srp::cuda
