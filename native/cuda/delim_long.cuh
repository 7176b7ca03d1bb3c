// Spans of few long rows, without overlap: a row is cut into tiles of 1024 tokens, which threads walk side by side: most marks are
// far from the next, so that a walk is made of steps that wait for each other, of which no warp makes them fewer.
//
//   tiles   two threads walk each tile, as if the walk came into it between spans and as if it came inside of one: how it leaves
//           the tile, and how many spans it closes there
//   groups  a block for each 256 tiles of a longer row composes what was found: tiles are maps from between or inside to between or
//           inside, and so are groups of them
//   chain   a block a row composes groups, or its tiles. Where the walk comes in behind a tile's begin, since a match reached into it, and
//           that makes a difference, one warp goes from tile to tile and walks such a tile once more
//   expand  a block a group: from the state into it to those into its tiles
//   spans   each tile again, now from the state into it and with the index of its first span
//
// Groups, chain and expansion are in delim_chain.cuh. The walk is that of shared/delim.h. Overlapping spans go by rows: each start asks
// for an end of its own.
#pragma once
#include "delim_marks.cuh"

namespace srp::cuda {

constexpr int64_t kTileTokens = 1024;
constexpr int kTileBlocks = 8;  // an SM: left to itself ptxas takes so few registers that it spills

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
  int32_t
      plain;  // bits: whether the walk goes on in the next tile as from its begin, behind `closed` and behind `open`
};

struct TileEntry {
  WalkState state;
  int64_t before;  // spans of the row before the tile's
};

struct RowFound {
  int64_t spans, head;  // head: where it matches, -1 if it does not
  int64_t grouped;  // 1: the states into its groups are known, and not yet those into its tiles
};

// A row's finders: MarkFinders, which all lanes of the warp call alike, or LaneFinders.
template <template <class> class Finder, class Id>
struct RowFinders {
  Finder<Id> start, end;

  __device__ RowFinders(const srp_delim_spans_args& a, const Id* tokens, const uint32_t* marks, int64_t words,
                        const Range& row)
      : start(start_of(a), marks, tokens, row), end(end_of(a), marks + words, tokens, row) {}
};

// Walks from `s` through the matches that begin before `stop`. Returns whether it met one.
template <class Finders, class Emit>
__device__ bool walk_tile(const srp_delim_spans_args& a, Finders& find, int64_t stop, WalkState& s, Emit& emit) {
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

template <class Finders>
__device__ TileExit exit_of(const srp_delim_spans_args& a, Finders& find, int64_t stop, WalkState state) {
  SpanCount spans = {0};
  const bool open = state.open;
  const bool met = walk_tile(a, find, stop, state, spans);
  return {state, spans.count, open && !met};
}

// Row and tile of item `item` among those of all rows.
struct TilePlace {
  int64_t b, tile, begin, stop;
  Range row;

  __device__ static TilePlace of(const srp_delim_spans_args& a, int64_t item, int64_t tiles) {
    TilePlace place = {item / tiles, item % tiles, 0, 0, {0, 0, true}};
    if (place.b < a.B) place.row = token_range(a, place.b);
    const int64_t length = place.row.end - place.row.begin;
    place.begin = place.tile * kTileTokens;
    place.stop = place.begin + kTileTokens < length ? place.begin + kTileTokens : length;
    return place;
  }
  __device__ bool empty() const { return begin >= stop; }
};

// Whether a walk that comes into the tile in state s meets what one from its begin meets.
template <class Finders>
__device__ bool as_from_begin(Finders& find, const WalkState& s, int64_t begin, int64_t stop) {
  if (!s.open) return s.at <= begin || find.start.first(begin, s.at < stop ? s.at : stop) >= s.at;
  if (s.begin < begin) return true;
  const int64_t behind =
      s.at + 1 < stop ? s.at + 1 : stop;  // an end at the very begin of the span may give an empty one
  return find.end.first(begin, behind) >= behind && s.at < stop;
}

// The same, and it does not jump over the tile.
template <class Finders>
__device__ bool goes_on(Finders& find, const WalkState& s, int64_t begin, int64_t stop) {
  return s.at < stop && as_from_begin(find, s, begin, stop);
}

// ledger    delim_spans
// bytes     n / 8 delimiters + 96 n / 1024
// limit     latency
// notes     few long rows: each tile of 1024 tokens walked from both states
template <class Id>
__global__ void __launch_bounds__(kPairThreads, kTileBlocks)
    delim_tiles_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words, int64_t tiles,
                       TileSummary* summaries, uint32_t* faults) {
  const int64_t thread = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  const int32_t open = static_cast<int32_t>(thread % 2);
  const TilePlace place = TilePlace::of(a, thread / 2, tiles);
  if (!place.row.valid && place.tile == 0 && !open) raise(faults, a.offsets ? SRP_FAULT_OFFSETS : SRP_FAULT_INDEX);
  TileSummary* const found = place.empty() ? nullptr : summaries + place.b * tiles + place.tile;
  int32_t plain = 0;
  if (found) {
    RowFinders<LaneFinder, Id> find(a, tokens, marks, words, place.row);
    const int64_t length = place.row.end - place.row.begin;
    const int64_t next = place.stop + kTileTokens < length ? place.stop + kTileTokens : length;  // end of the next tile
    const TileExit exit = exit_of(a, find, place.stop, {place.begin, open ? place.begin - 1 : 0, 0, open});
    (open ? found->open : found->closed) = exit;
    if (place.stop == length || goes_on(find, exit.state, place.stop, next)) plain = 1 << open;
  }
  plain |= __shfl_xor_sync(kFullWarp, plain, 1);
  if (!found || open) return;
  found->plain = plain;
  found->head = -1;
  if (a.head_count > 0) {
    const LaneFinder<Id> head(head_of(a), marks + 2 * words, tokens, place.row);
    const int64_t at = head.first(place.begin, place.stop);
    if (at < place.stop) found->head = at;
  }
}

// ledger    delim_spans
// bytes     n / 8 delimiters + 32 n / 1024 + 12 S + 8 S alternatives
// limit     latency
// notes     few long rows: each tile walked from the state into it
template <class Id>
__global__ void __launch_bounds__(kPairThreads, kTileBlocks)
    delim_tile_spans_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words,
                            int64_t tiles, const TileEntry* entries, const RowFound* rows) {
  const int64_t item = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  const TilePlace place = TilePlace::of(a, item, tiles);
  if (place.b >= a.B) return;
  int64_t before = 0;  // spans of the rows before
  for (int64_t r = 0; r < place.b; ++r) before += rows[r].spans;
  const RowFound found = rows[place.b];
  if (place.b == a.B - 1 && place.tile == 0) *a.count = before + found.spans;
  if (place.empty()) return;
  SpanWrite spans = {a, place.b, before, true};
  if (found.head >= 0) {
    if (place.tile == 0) {
      const LaneFinder<Id> head(head_of(a), marks + 2 * words, tokens, place.row);
      const Match match = head.match(found.head);
      spans(0, found.head + match.length, SRP_HEAD_SPAN, match.alternative);
    } else {
      ++spans.next;
    }
  }
  const TileEntry entry = entries[place.b * tiles + place.tile];
  spans.next += entry.before;
  RowFinders<LaneFinder, Id> find(a, tokens, marks, words, place.row);
  WalkState state = entry.state;
  walk_tile(a, find, place.stop, state, spans);
  const int64_t length = place.row.end - place.row.begin;
  if (place.stop == length && state.open && a.unterminated_keep && state.begin < length)
    spans(state.begin, length, state.alternative, SRP_UNTERMINATED);
}

}  // namespace srp::cuda
