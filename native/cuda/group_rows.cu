// Numbers of rows spread over their tokens (contract: surprisal/group.h): a warp or a block a row, by the rule of row_pieces.cuh.
//
//   broadcast  the mask's bytes by fours, four words of a thread at a time, and 16-byte stores: 5 bytes a token of float32
//   place      the last kept token of the row first, over the mask alone, then the tokens
#include "backend.cuh"
#include "quads.cuh"
#include "row_pieces.cuh"
#include "shared/group.h"

namespace srp::cuda {
namespace {

// ledger    group_broadcast
// bytes     s n + mask n + s B inputs
// limit     memory
// notes     16-byte stores; a warp or a block a row
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of broadcast_rows_kernel<BlockPieces, float>: 4 loads, 16 stored; 5 bytes; at most 28.9, 29.2 on sm_89
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 4) broadcast_rows_kernel(srp_group_broadcast_args a, uint32_t* faults) {
  const int64_t b = Team::slot();
  if (b >= a.B) return;  // the whole team
  const Range range = team_row<Team>(a, b, faults);
  const double row = load(static_cast<const F*>(a.row), b);
  const double value = a.row_factors ? row * load(static_cast<const F*>(a.row_factors), b) : row;
  spread(static_cast<F*>(a.tokens), a.mask, range, value, Team::thread(), Team::kThreads);
}

// The last kept token of the row, -1 without one.
template <class Team>
__device__ __forceinline__ int64_t last_kept(const uint8_t* mask, const Range& row) {
  if (!mask) return row.end - 1;
  int64_t last = -1;
  for (int64_t q = row.begin / kQuad + Team::thread(); q * kQuad < row.end; q += Team::kThreads) {
    const QuadPlace place = {q * kQuad, row.begin, row.end};
    const uint32_t flags = load_flags(mask, place);
    SRP_UNROLL
    for (int k = 0; k < kQuad; ++k)
      if (flag_of(flags, k)) last = place.first + k;
  }
  if constexpr (Team::kTeams == 1)
    return block_reduce(last, Max{});
  else
    return warp_reduce(last, Max{});
}

// ledger    group_place
// bytes     s n inputs + s n + mask n + s B
// limit     memory
// notes     the mask twice, the second time from the cache
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of place_rows_kernel<BlockPieces, float>: 4 loads, 16 stored; 5 bytes; at most 27.7, 26.9 on sm_89
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 4) place_rows_kernel(srp_group_place_args a, uint32_t* faults) {
  const int64_t b = Team::slot();
  if (b >= a.B) return;
  const Range row = team_row<Team>(a, b, faults);
  const int64_t last = a.row ? last_kept<Team>(a.mask, row) : -1;
  F* const placed = static_cast<F*>(a.placed);
  for (int64_t first = row.begin + Team::thread(); first < row.end; first += kQuad * Team::kThreads) {
    double tokens[kQuad];  // all are loaded before the first is stored
    SRP_UNROLL
    for (int u = 0; u < kQuad; ++u) {
      const int64_t i = first + u * Team::kThreads;
      tokens[u] = i < row.end ? place_token<F>(a, i) : 0;
    }
    SRP_UNROLL
    for (int u = 0; u < kQuad; ++u) {
      const int64_t i = first + u * Team::kThreads;
      if (i < row.end) store(placed, i, i == last ? tokens[u] + place_row<F>(a, b) : tokens[u]);
    }
  }
}

struct Broadcast {
  using Args = srp_group_broadcast_args;

  template <class Team, class F>
  static void launch(srp_queue* queue, dim3 grid, const Args& a) {
    SRP_LAUNCH((broadcast_rows_kernel<Team, F>), grid, dim3(kPieceLanes), 0, queue->stream, a, queue->faults);
  }
};

struct Place {
  using Args = srp_group_place_args;

  template <class Team, class F>
  static void launch(srp_queue* queue, dim3 grid, const Args& a) {
    SRP_LAUNCH((place_rows_kernel<Team, F>), grid, dim3(kPieceLanes), 0, queue->stream, a, queue->faults);
  }
};

template <class Op>
srp_status launch(srp_queue* queue, const typename Op::Args* a, const char* op) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return launch_rows(op, *a, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    if (a->dtype == SRP_F64)
      Op::template launch<Team, double>(queue, grid, *a);
    else
      Op::template launch<Team, float>(queue, grid, *a);
  });
}

}  // namespace

srp_status group_broadcast(srp_queue* queue, const srp_group_broadcast_args* a) {
  return launch<Broadcast>(queue, a, "group_broadcast");
}
srp_status group_place(srp_queue* queue, const srp_group_place_args* a) {
  return launch<Place>(queue, a, "group_place");
}

}  // namespace srp::cuda
