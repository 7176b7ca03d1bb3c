// Whitening, affine maps and clamping (contract: surprisal/reduce.h): pure streams, one launch each. A row is cut into pieces of 4096
// positions (row_pieces.cuh); where rows have more than 512 tokens on average a block takes a piece, else a warp does. A lane
// issues all its loads before its first store.
//
// Minimum bytes: of each token a number in and one out, and 1 for the mask.
#include "backend.cuh"
#include "common.cuh"
#include "row_pieces.cuh"

namespace srp::cuda {
namespace {

template <class F>
class WhitenRow {
 public:
  using Args = srp_reduce_whiten_args;

  // Returns false if there is nothing to do.
  __device__ bool begin(const Args& a, int64_t b, bool leads, uint32_t* faults) {
    const int64_t unit = unit_of(a, b);
    if (unit < 0) {
      if (leads) raise(faults, SRP_FAULT_INDEX);
      return false;
    }
    const Whitening whitening(a, load_moments(a.moments, unit));
    center_ = whitening.center();
    back_ = whitening.back();
    abstain_ = a.nan_policy == SRP_NAN_ABSTAIN;
    // Multiplying by a reciprocal is exact enough where the result is rounded to float32, and takes a tenth of the time.
    scale_ = sizeof(F) == sizeof(float) ? 1 / whitening.divisor() : whitening.divisor();
    return true;
  }
  __device__ __forceinline__ double operator()(double x) const {
    if (abstain_ && isnan(x)) return 0;
    const double centred = x - center_;
    return (centred == 0 ? 0 : sizeof(F) == sizeof(float) ? centred * scale_ : centred / scale_) + back_;
  }

 private:
  double center_, back_, scale_;
  bool abstain_;
};

template <class F>
class AffineRow {
 public:
  using Args = srp_reduce_affine_args;

  __device__ bool begin(const Args& a, int64_t b, bool, uint32_t*) {
    center_ = a.center ? a.center[b] : 0;
    scale_ = a.scale ? a.scale[b] : 1;
    divisor_ = a.divisor;
    return true;
  }
  __device__ __forceinline__ double operator()(double x) const {
    const double y = (x - center_) * scale_;
    return divisor_ == 1 ? y : y / divisor_;
  }

 private:
  double center_, scale_, divisor_;
};

// Every output has one writer, and is written after it was read: they may be one array.
template <class Team, class F, class Map>
__device__ __forceinline__ void map_piece(const Piece& piece, const F* values, F* out, const uint8_t* mask, Map& map) {
  const bool aligned = aligned16(values, piece.begin * int64_t{sizeof(F)});
  const bool fits = aligned16(out, piece.begin * int64_t{sizeof(F)});
  Team::each_lane(piece.lanes<F>(), [&](int lane) {
    Held<F> held;
    const uint32_t mapped = Held<F>::flags(mask, piece.begin, piece.end, lane);
    held.read(values, aligned, piece.begin, piece.end, lane);
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) held.at[e] = static_cast<F>(mapped >> e & 1 ? map(held.at[e]) : 0.0);
    held.write(out, fits, piece.begin, piece.end, lane);
  });
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kMapBlocks = 1;  // with two, sm_120 spills a register of an affine map
#else
constexpr int kMapBlocks = 2;
#endif

// ledger    reduce_whiten, reduce_affine
// bytes     2 s n + mask n
// limit     memory
// notes     a pure stream: a block or a warp a piece of 4096 tokens, all its loads on their way at once
// variants  of a row's length: where rows are short a warp takes a piece, else a block, which holds it in registers
// turn      16 of map_rows_kernel<BlockPieces, WhitenRow, float>: whole, 4 loads16, 64 stored, 16 float64; 9 bytes; at most 29.1,
//           28.9 on sm_89
template <class Team, template <class> class Row, class F>
__global__ void __launch_bounds__(kPieceLanes, kMapBlocks)
    map_rows_kernel(typename Row<F>::Args a, Rows rows, uint32_t* faults) {
  Piece piece;
  const int64_t slot = Team::slot();
  if (slot >= rows.slots() || !piece_in(rows, slot, faults, piece)) return;  // the whole team
  Row<F> row;
  if (!row.begin(a, piece.b, Team::leads(), faults)) return;
  map_piece<Team, F>(piece, static_cast<const F*>(a.values), static_cast<F*>(mapped_of(a)),
                     a.transform_masked ? nullptr : a.mask, row);
}

// Counts of rows of several pieces start at 0, and are added up as integers: in any order.
//
// ledger    reduce_clamp
// bytes     n (s + mask) + s n out + 8 B
// limit     memory
// notes     as map_rows_kernel; counts are integers
// variants  of a row's length: where rows are short a warp takes a piece, else a block, which holds it in registers
// turn      16 of clamp_rows_kernel<BlockPieces, float>: whole, 4 loads16, 64 stored; 9 bytes; at most 28, 27.7 on sm_89
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    clamp_rows_kernel(srp_reduce_clamp_args a, Rows rows, uint32_t* faults) {
  Piece piece;
  const int64_t slot = Team::slot();
  if (slot >= rows.slots() || !piece_in(rows, slot, faults, piece)) return;  // the whole team
  const F* const values = static_cast<const F*>(a.values);
  F* const out = static_cast<F*>(a.clamped);
  const bool aligned = aligned16(values, piece.begin * int64_t{sizeof(F)});
  const bool fits = aligned16(out, piece.begin * int64_t{sizeof(F)});
  Clamped<F> clamped{a};
  Team::each_lane(piece.lanes<F>(), [&](int lane) {
    Held<F> held;
    const uint32_t kept = Held<F>::flags(a.mask, piece.begin, piece.end, lane);
    const uint32_t there = a.transform_masked ? Held<F>::flags(nullptr, piece.begin, piece.end, lane) : kept;
    held.read(values, aligned, piece.begin, piece.end, lane);
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e)
      held.at[e] = static_cast<F>(there >> e & 1 ? clamped.take(held.at[e], kept >> e & 1) : 0.0);
    if (out) held.write(out, fits, piece.begin, piece.end, lane);
  });
  if (!a.counts) return;
  const int32_t kept = Team::together(clamped.kept), outside = Team::together(clamped.outside);
  if (!Team::leads()) return;
  int32_t* const counts = a.counts + piece.b * SRP_CLAMPED_COUNTS;
  if (piece.pieces > 1) {
    atomicAdd(counts + SRP_CLAMPED_KEPT, kept);
    atomicAdd(counts + SRP_CLAMPED_OUTSIDE, outside);
  } else {
    counts[SRP_CLAMPED_KEPT] = kept;
    counts[SRP_CLAMPED_OUTSIDE] = outside;
  }
}

// Launchers

template <template <class> class Row, class Args>
srp_status map_rows(srp_queue* queue, const Args* a, const char* op) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const Rows rows = Rows::of(*a);
  return launch_pieces(op, rows, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    if (a->dtype == SRP_F64)
      SRP_LAUNCH((map_rows_kernel<Team, Row, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, rows,
                 queue->faults);
    else
      SRP_LAUNCH((map_rows_kernel<Team, Row, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, rows,
                 queue->faults);
  });
}

}  // namespace

srp_status reduce_whiten(srp_queue* queue, const srp_reduce_whiten_args* a) {
  return map_rows<WhitenRow>(queue, a, "reduce_whiten");
}
srp_status reduce_affine(srp_queue* queue, const srp_reduce_affine_args* a) {
  return map_rows<AffineRow>(queue, a, "reduce_affine");
}

srp_status reduce_clamp(srp_queue* queue, const srp_reduce_clamp_args* a) {
  const char* const op = "reduce_clamp";
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;
  const Rows rows = Rows::of(*a);
  const size_t count_bytes = static_cast<size_t>(a->B) * SRP_CLAMPED_COUNTS * sizeof(int32_t);
  if (a->counts && rows.most() > 1) SRP_TRY(check_cuda(cudaMemsetAsync(a->counts, 0, count_bytes, queue->stream), op));
  return launch_pieces(op, rows, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    if (a->dtype == SRP_F64)
      SRP_LAUNCH((clamp_rows_kernel<Team, double>), grid, dim3(kPieceLanes), 0, queue->stream, *a, rows, queue->faults);
    else
      SRP_LAUNCH((clamp_rows_kernel<Team, float>), grid, dim3(kPieceLanes), 0, queue->stream, *a, rows, queue->faults);
  });
}

}  // namespace srp::cuda
