// Spans of few long rows, without overlap: a row is cut into tiles of 4096 tokens, which warps walk side by side.
//
//   tiles   each tile is walked twice, as if the walk came into it between spans and as if it came inside of one: how it leaves
//           the tile, and how many spans it closes there
//   chain   a warp a row goes from tile to tile by what was found; where the walk comes in behind the tile's begin, since a
//           match reached into it, and that would have made a difference, it walks the tile once more
//   spans   each tile again, now from the state into it and with the index of its first span
//
// The walk is that of shared/delim.h. Overlapping spans go by rows: each start asks for an end of its own.
#pragma once
#include "delim_marks.cuh"

namespace srp::cuda {

constexpr int64_t kTileTokens = 4096;

// Where a walk stands: it looks for a start (or, open, for an end) from `at` on.
struct WalkState {
  int64_t at;
  int64_t begin;  // of the open span
  int32_t alternative;  // that opened it
  int32_t open;
};

struct TileExit {
  WalkState state;
  int64_t count;  // of spans that end in the tile
  int64_t passes;  // 1: in and out of the tile inside of one span
};

struct TileSummary {
  TileExit closed, open;
  int64_t head;  // first match of the head that begins in the tile, -1 without one
};

struct TileEntry {
  WalkState state;
  int64_t before;  // spans of the row before the tile's
};

struct RowFound {
  int64_t spans, head;  // head: where it matches, -1 if it does not
};

// A row's finders. All lanes of the warp call them alike.
template <class Id>
struct RowFinders {
  MarkFinder<Id> start, end;

  __device__ RowFinders(const srp_delim_spans_args& a, const Id* tokens, const uint32_t* marks, int64_t words,
                        const Range& row)
      : start(start_of(a), marks, tokens, row), end(end_of(a), marks + words, tokens, row) {}
};

// Walks from `s` through the matches that begin before `stop`. Returns whether it met one.
template <class Id, class Emit>
__device__ bool walk_tile(const srp_delim_spans_args& a, RowFinders<Id>& find, int64_t stop, WalkState& s, Emit& emit) {
  bool met = false;
  while (s.at < stop) {
    if (!s.open) {
      const int64_t i = find.start.first(s.at, stop);
      if (i == stop) break;
      const Match match = find.start.match(i);
      s = {i + match.length, i + match.length, match.alternative, 1};
    } else {
      const int64_t j = find.end.first(s.at, stop);
      if (j == stop) break;
      const Match match = find.end.match(j);
      const int64_t included = a.include_end == SRP_END_ALL ? match.length : a.include_end == SRP_END_FIRST ? 1 : 0;
      if (j + included > s.begin) emit(s.begin, j + included, s.alternative, match.alternative);
      s.at = j + match.length;
      s.open = 0;
    }
    met = true;
  }
  if (s.at < stop) s.at = stop;
  return met;
}

template <class Id>
__device__ TileExit exit_of(const srp_delim_spans_args& a, RowFinders<Id>& find, int64_t stop, WalkState state) {
  SpanCount spans = {0};
  const bool open = state.open;
  const bool met = walk_tile(a, find, stop, state, spans);
  return {state, spans.count, open && !met};
}

// This warp's row and tile of a grid over all of them.
struct TilePlace {
  int64_t b, tile, begin, stop;
  Range row;

  __device__ static TilePlace of(const srp_delim_spans_args& a, int64_t tiles) {
    const int64_t item = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) / kWarp;
    TilePlace place = {item / tiles, item % tiles, 0, 0, {0, 0, true}};
    if (place.b < a.B) place.row = token_range(a, place.b);
    const int64_t length = place.row.end - place.row.begin;
    place.begin = place.tile * kTileTokens;
    place.stop = place.begin + kTileTokens < length ? place.begin + kTileTokens : length;
    return place;
  }
  __device__ bool empty() const { return begin >= stop; }
};

// ledger    delim_spans
// bytes     n / 8 delimiters + 88 n / 4096
// limit     latency
// notes     few long rows: each tile of 4096 tokens walked from both states
template <class Id>
__global__ void __launch_bounds__(kPairThreads)
    delim_tiles_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words, int64_t tiles,
                       TileSummary* summaries, uint32_t* faults) {
  const TilePlace place = TilePlace::of(a, tiles);
  const bool lane0 = threadIdx.x % kWarp == 0;
  if (!place.row.valid && place.tile == 0 && lane0) raise(faults, a.offsets ? SRP_FAULT_OFFSETS : SRP_FAULT_INDEX);
  if (place.empty()) return;  // the whole warp
  RowFinders<Id> find(a, tokens, marks, words, place.row);
  TileSummary& found = summaries[place.b * tiles + place.tile];
  // A loop over both walks, which stores the result of one before the next begins: unrolled, it spilled registers on sm_80.
  for (int32_t open = 0; open < 2; ++open) {
    const TileExit exit = exit_of(a, find, place.stop, {place.begin, open ? place.begin - 1 : 0, 0, open});
    if (lane0) (open ? found.open : found.closed) = exit;
  }
  int64_t first = -1;
  if (a.head_count > 0) {
    MarkFinder<Id> head(head_of(a), marks + 2 * words, tokens, place.row);
    const int64_t at = head.first(place.begin, place.stop);
    if (at < place.stop) first = at;
  }
  if (lane0) found.head = first;
}

// Whether a walk that comes into the tile in state s meets what one from its begin meets. All lanes of the warp call it.
template <class Id>
__device__ bool as_from_begin(RowFinders<Id>& find, const WalkState& s, int64_t begin, int64_t stop) {
  if (!s.open) return s.at <= begin || find.start.first(begin, s.at < stop ? s.at : stop) >= s.at;
  if (s.begin < begin) return true;
  const int64_t behind =
      s.at + 1 < stop ? s.at + 1 : stop;  // an end at the very begin of the span may give an empty one
  return find.end.first(begin, behind) >= behind && s.at < stop;
}

// ledger    delim_spans
// bytes     120 n / 4096
// limit     latency
// notes     a warp a row, tile after tile: about 40 ns each
template <class Id>
__global__ void __launch_bounds__(kWarp)
    delim_chain_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words, int64_t tiles,
                       const TileSummary* summaries, TileEntry* entries, RowFound* rows) {
  SRP_SHARED(TileSummary, near, kWarp);
  const int64_t b = blockIdx.x;
  const int lane = threadIdx.x;
  const Range row = token_range(a, b);
  const int64_t length = row.end - row.begin;
  RowFinders<Id> find(a, tokens, marks, words, row);
  WalkState state = {0, 0, SRP_ROW_STARTS_OPEN, a.starts_open};
  RowFound found = {0, -1};
  for (int64_t tile = 0; tile * kTileTokens < length; ++tile) {
    if (tile % kWarp == 0) {
      __syncwarp();  // the tiles before are read
      if ((tile + lane) * kTileTokens < length) near[lane] = summaries[b * tiles + tile + lane];
      __syncwarp();
    }
    const int64_t begin = tile * kTileTokens, stop = begin + kTileTokens < length ? begin + kTileTokens : length;
    const TileSummary& summary = near[tile % kWarp];
    if (found.head < 0) found.head = summary.head;
    if (lane == 0) entries[b * tiles + tile] = {state, found.spans};
    if (state.at >= stop) continue;
    TileExit out = state.open ? summary.open : summary.closed;
    if (!as_from_begin(find, state, begin, stop)) out = exit_of(a, find, stop, state);
    if (out.passes)
      state.at = out.state.at;
    else
      state = out.state;
    found.spans += out.count;
  }
  if (state.open && a.unterminated_keep && state.begin < length) ++found.spans;
  if (found.head >= 0) ++found.spans;
  if (lane == 0) rows[b] = found;
}

// ledger    delim_spans
// bytes     n / 8 delimiters + 32 n / 4096 + 12 S + 8 S alternatives
// limit     latency
// notes     few long rows: each tile walked from the state into it
template <class Id>
__global__ void __launch_bounds__(kPairThreads)
    delim_tile_spans_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words,
                            int64_t tiles, const TileEntry* entries, const RowFound* rows) {
  const TilePlace place = TilePlace::of(a, tiles);
  if (place.b >= a.B) return;  // the whole warp
  const int lane = threadIdx.x % kWarp;
  int64_t before = 0;  // spans of the rows before: integers, in any order
  for (int64_t r = lane; r < place.b; r += kWarp) before += rows[r].spans;
  before = warp_reduce(before, Sum{});
  const RowFound found = rows[place.b];
  if (place.b == a.B - 1 && place.tile == 0 && lane == 0) *a.count = before + found.spans;
  if (place.empty()) return;
  SpanWrite spans = {a, place.b, before};
  if (found.head >= 0) {
    if (place.tile == 0) {
      const MarkFinder<Id> head(head_of(a), marks + 2 * words, tokens, place.row);
      const Match match = head.match(found.head);
      spans(0, found.head + match.length, SRP_HEAD_SPAN, match.alternative);
    } else {
      ++spans.next;
    }
  }
  const TileEntry entry = entries[place.b * tiles + place.tile];
  spans.next += entry.before;
  RowFinders<Id> find(a, tokens, marks, words, place.row);
  WalkState state = entry.state;
  walk_tile(a, find, place.stop, state, spans);
  const int64_t length = place.row.end - place.row.begin;
  if (place.stop == length && state.open && a.unterminated_keep && state.begin < length)
    spans(state.begin, length, state.alternative, SRP_UNTERMINATED);
}

}  // namespace srp::cuda
