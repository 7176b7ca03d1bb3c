// Spans of few long rows, without overlap: a row is cut into tiles of 1024 tokens, which threads walk side by side: most marks are
// far from the next, so that a walk is made of steps that wait for each other, of which no warp makes them fewer.
//
//   tile    a thread walks it twice, as if the walk came into it between spans and as if it came inside of one: how it leaves the tile,
//           and how many spans it closes there. Tiles are maps from between or inside to between or inside
//   group   a block composes its 256 tiles, tells the blocks behind it what they make of a walk, and composes the groups before it. Where
//           the walk comes in behind a tile's begin, since a match reached into it, and that makes a difference, one warp goes from tile to
//           tile of the group instead and walks such a tile once more; and the groups behind it wait for how it leaves
//   spans   each tile again, now from the state into it and with the index of its first span
//
// What blocks tell each other is in delim_chain.cuh. The walk is that of shared/delim.h. Overlapping spans go by rows: each start asks
// for an end of its own.
#pragma once
#include "delim_marks.cuh"

namespace srp::cuda {

constexpr int64_t kTileTokens = 1024;
constexpr int kGroupTiles = 256;
constexpr int64_t kGroupTokens = kGroupTiles * kTileTokens;

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
  int64_t
      plain;  // bits: whether the walk goes on in the next tile as from its begin, behind `closed` and behind `open`
};
constexpr int64_t kPlain = 3;

struct TileEntry {
  WalkState state;
  int64_t before;  // spans of the row before the tile's
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

// Tile [begin, stop) of a row of `length` tokens, walked from both states. Its open span began before the tile.
template <class Finders>
__device__ TileSummary summary_of(const srp_delim_spans_args& a, Finders& find, int64_t begin, int64_t stop,
                                  int64_t length) {
  const int64_t next = stop + kTileTokens < length ? stop + kTileTokens : length;  // end of the next tile
  const auto goes = [&](const WalkState& state) { return stop == length || goes_on(find, state, stop, next); };
  TileSummary found;
  found.closed = exit_of(a, find, stop, {begin, 0, 0, 0});
  found.open = exit_of(a, find, stop, {begin, begin - 1, 0, 1});
  found.plain = (goes(found.closed.state) ? 1 : 0) | (goes(found.open.state) ? 2 : 0);
  return found;
}

}  // namespace srp::cuda
