// Moments, merge, gamma weights and counts (contract: surprisal/reduce.h; maps: reduce_maps.cu), each row cut into pieces of 4096
// positions (row_pieces.cuh), so that one long row fills the device as well as many short ones. A piece is read once.
//
//   rows of more than 512 tokens on average: a block a piece; shorter ones: a warp a piece. The same bits
//   rows that have one piece: one launch. Rows that may have more: a second one adds up the pieces of those that do, a block or a
//   warp a row in the same order
//
// Minimum bytes: of each token its numbers once, and 1 for the mask; 48 a piece of moments and 8 of other sums, where a row has several.
#include "backend.cuh"
#include "common.cuh"
#include "row_pieces.cuh"

namespace srp::cuda {
namespace {

static_assert(kPiece == kChunk, "the contract's chunk of moments is a piece");

// Lanes that share a merge. Part of what a result's bits depend on: never chosen by size.
constexpr int kLanes = 256;

// ---- moments

// ledger    reduce_moments
// bytes     n (s + mask) + 48 n / chunk
// limit     memory
// notes     a block or a warp a chunk, held in registers by the block; the only launch where no row has more than one
// variants  of a row's length: where rows are short a warp takes a piece, else a block, which holds it in registers
// turn      16 of chunk_moments_kernel<BlockPieces, float>: whole, 4 loads16, 48 float64; 5 bytes; at most 42
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    chunk_moments_kernel(srp_reduce_moments_args a, Rows rows, double* chunks, uint32_t* faults) {
  Piece piece;
  const int64_t slot = Team::slot();
  if (slot >= rows.slots() || !piece_in(rows, slot, faults, piece)) return;  // the whole team
  const F* const values = static_cast<const F*>(a.values);
  const bool aligned = aligned16(values, piece.begin * int64_t{sizeof(F)});
  const int lanes = piece.lanes<F>();
  Held<F> held;
  uint32_t entering = 0;
  const auto fetch = [&](int lane) {
    entering = Held<F>::flags(a.mask, piece.begin, piece.end, lane);
    held.read(values, aligned, piece.begin, piece.end, lane);
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e)
      if (a.nan_policy == SRP_NAN_ABSTAIN && isnan(held.at[e])) entering &= ~(1u << e);
  };
  if (Team::kTeams == 1) fetch(static_cast<int>(threadIdx.x));
  const ChunkSums sums = Team::total(lanes, [&](int lane) {
    if (Team::kTeams > 1) fetch(lane);
    ChunkSums mine;
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e)
      if (entering >> e & 1) mine.add(held.at[e]);
    return mine;
  });
  const double mean = sums.mean();
  const ChunkDeviations deviations = Team::total(lanes, [&](int lane) {
    if (Team::kTeams > 1 && lanes > kWarp) fetch(lane);
    ChunkDeviations mine;
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e)
      if (entering >> e & 1) mine.add(held.at[e], mean);
    return mine;
  });
  if (!Team::leads()) return;
  const Moments moments = chunk_moments(sums, deviations);
  if (piece.pieces > 1)
    store_moments(chunks, slot, moments);
  else
    store_moments(a.partials, piece.b, moments);
}

__device__ __forceinline__ double shuffled_down(double x, int distance) {
  return __shfl_down_sync(kFullWarp, x, distance);
}
__device__ __forceinline__ Moments shuffled_down(const Moments& m, int distance) {
  Moments other;
  other.count = shuffled_down(m.count, distance);
  other.sum = shuffled_down(m.sum, distance);
  other.mean = shuffled_down(m.mean, distance);
  other.m2 = shuffled_down(m.m2, distance);
  other.low = shuffled_down(m.low, distance);
  other.high = shuffled_down(m.high, distance);
  return other;
}

__device__ __forceinline__ Moments merge_within_warp(Moments mine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) mine = merged(mine, shuffled_down(mine, distance));
  return mine;
}

// 256 lanes take `count` moments by turns, and merge theirs by a fixed tree of halves: the threads of a block, ...
struct BlockMerge {
  static __device__ __forceinline__ int64_t index() { return blockIdx.x; }
  static __device__ __forceinline__ bool leads() { return threadIdx.x == 0; }

  // Returns the whole to the leading thread. All threads of the block must call it, once.
  template <class At>
  static __device__ Moments all(int64_t count, const At& at) {
    SRP_SHARED(double, lanes, kLanes* SRP_MOMENTS);
    Moments mine;
    for (int64_t k = threadIdx.x; k < count; k += kLanes) mine = merged(mine, at(k));
    store_moments(lanes, threadIdx.x, mine);
    for (int distance = kLanes / 2; distance >= kWarp; distance /= 2) {
      __syncthreads();  // both sides of the pair are stored
      if (static_cast<int>(threadIdx.x) >= distance) continue;
      mine = merged(mine, load_moments(lanes, threadIdx.x + distance));
      store_moments(lanes, threadIdx.x, mine);
    }
    return threadIdx.x < kWarp ? merge_within_warp(mine) : mine;
  }
};

// ... or those of a warp, eight times each.
struct WarpMerge {
  static constexpr int kTeams = kLanes / kWarp;
  static __device__ __forceinline__ int64_t index() {
    return int64_t{blockIdx.x} * kTeams + static_cast<int>(threadIdx.x) / kWarp;
  }
  static __device__ __forceinline__ bool leads() { return threadIdx.x % kWarp == 0; }

  template <class At>
  static __device__ Moments all(int64_t count, const At& at) {
    const auto lanes = [&](int w) {
      Moments mine;
      for (int64_t k = threadIdx.x % kWarp + w * kWarp; k < count; k += kLanes) mine = merged(mine, at(k));
      return mine;
    };
    const auto halves = [&](int w) { return merged(lanes(w), lanes(w + 4)); };
    if (count <= kWarp) return merge_within_warp(lanes(0));  // the other lanes have nothing
    const Moments even = merged(halves(0), halves(2)), odd = merged(halves(1), halves(3));
    return merge_within_warp(merged(even, odd));
  }
};

// Rows of several chunks.
//
// ledger    reduce_moments
// bytes     48 n / chunk + 48 B
// limit     latency
// notes     a block or a warp a row
// variants  of a row's pieces: a warp where they are few
template <class Team>
__global__ void __launch_bounds__(kLanes) merge_chunks_kernel(Rows rows, const double* chunks, double* partials) {
  const int64_t b = Team::index();
  if (b >= rows.B) return;  // the whole team
  const Range row = row_range(rows.offsets, rows.T, rows.n, b);
  const int64_t count = pieces_of(row), first = row.valid ? rows.first_slot(b) : 0;
  if (count <= 1) return;
  const Moments all = Team::all(count, [&](int64_t c) { return load_moments(chunks, first + c); });
  if (Team::leads()) store_moments(partials, b, all);
}

// ledger    reduce_merge
// bytes     48 B + 4 B members + 48 G
// limit     latency
// notes     a warp a group, a block where groups have more than 256 partials on average
// variants  of a group's members: a warp where they are few
template <class Team>
__global__ void __launch_bounds__(kLanes) merge_groups_kernel(srp_reduce_merge_args a, uint32_t* faults) {
  const int64_t g = Team::index();
  if (g >= a.G) return;  // the whole team
  const Range group = row_range(a.offsets, a.B, a.B, g);  // without offsets: one group of width B
  if (!group.valid && Team::leads()) raise(faults, SRP_FAULT_OFFSETS);
  const Moments all = Team::all(group.end - group.begin, [&](int64_t k) {
    const int64_t i = member(a.members, group.begin + k);
    if (i >= 0 && i < a.B) return load_moments(a.partials, i);
    raise(faults, SRP_FAULT_INDEX);
    return Moments{};
  });
  if (Team::leads()) store_moments(a.merged, g, all);
}

// ---- sums: of each row one number, made of what its pieces add up to

struct GammaSum {
  using Args = srp_reduce_gamma_args;

  template <class Team, class F>
  static __device__ double of(const Args& a, const Piece& piece) {
    const F *const values = static_cast<const F*>(a.log_ratios), *const factor = static_cast<const F*>(a.factors);
    const bool aligned = aligned16(values, piece.begin * int64_t{sizeof(F)});
    const bool factors_aligned = aligned16(factor, piece.begin * int64_t{sizeof(F)});
    return Team::total(piece.lanes<F>(), [&](int lane) {
      Held<F> held;
      const uint32_t kept = Held<F>::flags(a.mask, piece.begin, piece.end, lane);
      held.read(values, aligned, piece.begin, piece.end, lane);
      double sum = 0;
      SRP_UNROLL
      for (int e = 0; e < kHeld; ++e)
        if (kept >> e & 1) sum += gamma_value(a, held.at[e]);
      if (!factor) return sum;
      const uint32_t there = a.all_factors ? Held<F>::flags(nullptr, piece.begin, piece.end, lane) : kept;
      held.read(factor, factors_aligned, piece.begin, piece.end, lane);
      SRP_UNROLL
      for (int e = 0; e < kHeld; ++e)
        if (there >> e & 1) sum += gamma_factor(a, held.at[e]);
      return sum;
    });
  }
  template <class F>
  static __device__ void finish(const Args& a, int64_t b, double sum) {
    store_gamma<F>(a, b, sum);
  }
};

// Whole numbers below 2^53: exact in any order.
struct KeptCount {
  using Args = srp_reduce_counts_args;

  template <class Team, class>
  static __device__ double of(const Args& a, const Piece& piece) {
    return Team::total(piece.lanes<float>(),
                       [&](int lane) { return __popc(Held<float>::flags(a.mask, piece.begin, piece.end, lane)); });
  }
  template <class>
  static __device__ void finish(const Args& a, int64_t b, double kept) {
    a.counts[b] = kept;
  }
};

// ledger    reduce_gamma, reduce_counts
// bytes     n (s inputs + mask) + 8 n / 4096
// limit     memory
// notes     a block or a warp a piece; gamma with factors takes a logarithm a token; counts: inputs 0; the only launch
//           where no row has more than one piece
// variants  of a row's length: where rows are short a warp takes a piece, else a block, which holds it in registers
// turn      16 of sum_pieces_kernel<BlockPieces, GammaSum, float>: whole, 4 loads16, 16 float64; 5 bytes; at most 26.5, 26.6 on
//           sm_89
template <class Team, class Op, class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    sum_pieces_kernel(typename Op::Args a, Rows rows, double* sums, uint32_t* faults) {
  Piece piece;
  const int64_t slot = Team::slot();
  if (slot >= rows.slots() || !piece_in(rows, slot, faults, piece)) return;  // the whole team
  const double sum = Op::template of<Team, F>(a, piece);
  if (!Team::leads()) return;
  if (piece.pieces > 1)
    sums[slot] = sum;
  else
    Op::template finish<F>(a, piece.b, sum);
}

// A warp a row of several pieces.
//
// ledger    reduce_gamma, reduce_counts
// bytes     8 n / 4096 + 8 B
// limit     latency
// notes     a warp a row of several pieces
// variants  an op each
template <class Op, class F>
__global__ void __launch_bounds__(kPieceLanes, 2) sum_rows_kernel(typename Op::Args a, Rows rows, const double* sums) {
  const int64_t b = WarpPieces::slot();
  if (b >= rows.B) return;  // the whole warp
  const Range row = row_range(rows.offsets, rows.T, rows.n, b);
  const int64_t count = pieces_of(row), first = row.valid ? rows.first_slot(b) : 0;
  if (count <= 1) return;
  double sum = 0;
  for (int64_t p = threadIdx.x % kWarp; p < count; p += kWarp) sum += sums[first + p];
  sum = warp_reduce(sum, Sum{});
  if (WarpPieces::leads()) Op::template finish<F>(a, b, sum);
}

// Launchers

template <class F>
srp_status moments(srp_queue* queue, const srp_reduce_moments_args& a) {
  const char* const op = "reduce_moments";
  const Rows rows = Rows::of(a);
  const bool several = rows.most() > 1;
  const Scratch scratch(queue, several ? static_cast<size_t>(rows.slots()) * SRP_MOMENTS * sizeof(double) : 0);
  SRP_TRY(scratch.status());
  double* const chunks = scratch.as<double>();
  SRP_TRY(launch_pieces(op, rows, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    SRP_LAUNCH((chunk_moments_kernel<Team, F>), grid, dim3(kPieceLanes), 0, queue->stream, a, rows, chunks,
               queue->faults);
  }));
  if (!several) return SRP_OK;
  if (takes_block(a.n, a.B))
    SRP_LAUNCH((merge_chunks_kernel<BlockMerge>), dim3(static_cast<unsigned>(a.B)), dim3(kLanes), 0, queue->stream,
               rows, chunks, a.partials);
  else
    SRP_LAUNCH((merge_chunks_kernel<WarpMerge>), dim3(blocks_for(a.B, WarpMerge::kTeams)), dim3(kLanes), 0,
               queue->stream, rows, chunks, a.partials);
  return launched(op);
}

template <class Op, class F>
srp_status sum_rows(srp_queue* queue, const typename Op::Args& a, const char* op) {
  const Rows rows = Rows::of(a);
  const bool several = rows.most() > 1;
  const Scratch scratch(queue, several ? static_cast<size_t>(rows.slots()) * sizeof(double) : 0);
  SRP_TRY(scratch.status());
  double* const sums = scratch.as<double>();
  SRP_TRY(launch_pieces(op, rows, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    SRP_LAUNCH((sum_pieces_kernel<Team, Op, F>), grid, dim3(kPieceLanes), 0, queue->stream, a, rows, sums,
               queue->faults);
  }));
  if (!several) return SRP_OK;
  SRP_LAUNCH((sum_rows_kernel<Op, F>), dim3(blocks_for(a.B, WarpPieces::kTeams)), dim3(kPieceLanes), 0, queue->stream,
             a, rows, sums);
  return launched(op);
}

}  // namespace

srp_status reduce_moments(srp_queue* queue, const srp_reduce_moments_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_moments", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return a->dtype == SRP_F64 ? moments<double>(queue, *a) : moments<float>(queue, *a);
}

srp_status reduce_merge(srp_queue* queue, const srp_reduce_merge_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_merge", a->G));
  SRP_TRY(enter(queue));
  if (a->G == 0) return SRP_OK;
  if (a->B / a->G > kLanes)
    SRP_LAUNCH((merge_groups_kernel<BlockMerge>), dim3(static_cast<unsigned>(a->G)), dim3(kLanes), 0, queue->stream, *a,
               queue->faults);
  else
    SRP_LAUNCH((merge_groups_kernel<WarpMerge>), dim3(blocks_for(a->G, WarpMerge::kTeams)), dim3(kLanes), 0,
               queue->stream, *a, queue->faults);
  return launched("reduce_merge");
}

srp_status reduce_gamma(srp_queue* queue, const srp_reduce_gamma_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_gamma", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  return a->dtype == SRP_F64 ? sum_rows<GammaSum, double>(queue, *a, "reduce_gamma")
                             : sum_rows<GammaSum, float>(queue, *a, "reduce_gamma");
}

srp_status reduce_counts(srp_queue* queue, const srp_reduce_counts_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("reduce_counts", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  return sum_rows<KeptCount, float>(queue, *a, "reduce_counts");
}

}  // namespace srp::cuda
