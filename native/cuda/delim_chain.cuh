// From tile to tile of a long row (delim_long.cuh): tiles are composed to groups, groups to the row, and what comes into a group is handed
// on to its tiles.
#pragma once
#include "delim_long.cuh"

namespace srp::cuda {

constexpr int kChainThreads = 256;  // tiles that are composed at a time
constexpr int kChainWarps = kChainThreads / kWarp;

// What a run of tiles makes of a walk, bit by bit of whether it comes in open: bit 0 closed, bit 1 open.
constexpr uint32_t kUnchanged = 2;
__device__ __forceinline__ uint32_t then(uint32_t first, uint32_t second) {
  return (second >> (first & 1) & 1) | (second >> (first >> 1 & 1) & 1) << 1;
}

// What the lanes of a warp leave to those behind it.
struct ChainLink {
  uint32_t map;
  int32_t opened;  // whether one of its tiles opens the span that is open behind them
  int64_t count, at, begin;
  int32_t alternative;
};

// Composes the tiles of a step, all of which go on plainly; `tile` is the thread's own, not `there` behind the row's last. All threads
// of the block call it: each gets the entry of its tile, and all get the state and the spans behind the step.
__device__ __forceinline__ TileEntry compose_tiles(const TileSummary& tile, bool there, ChainLink* links,
                                                   WalkState& state, int64_t& spans) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint32_t before = there ? tile.closed.state.open | tile.open.state.open << 1
                          : kUnchanged;  // of this lane and those before it, then without this one
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, before, distance);
    if (lane >= distance) before = then(other, before);
  }
  __syncthreads();  // the links of the step before are read
  if (lane == kWarp - 1) links[warp].map = before;
  before = __shfl_up_sync(kFullWarp, before, 1);
  if (lane == 0) before = kUnchanged;
  __syncthreads();
  uint32_t open = state.open;
  for (int w = 0; w < warp; ++w) open = links[w].map >> open & 1;
  open = before >> open & 1;
  TileExit exit = {};
  if (there) exit = open ? tile.open : tile.closed;
  const bool opens = exit.state.open && !exit.passes;
  int64_t count = exit.count;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int64_t other = __shfl_up_sync(kFullWarp, count, distance);
    if (lane >= distance) count += other;
  }
  const unsigned openers = __ballot_sync(kFullWarp, opens);
  if (lane == kWarp - 1) {
    links[warp].count = count;
    links[warp].at = exit.state.at;
  }
  if (opens && openers >> lane == 1) {
    links[warp].begin = exit.state.begin;
    links[warp].alternative = exit.state.alternative;
  }
  if (lane == 0) links[warp].opened = openers != 0;
  const unsigned earlier = openers & ((1u << lane) - 1);
  const int from = earlier ? kWarp - 1 - __clz(static_cast<int>(earlier)) : 0;
  WalkState entry;
  entry.at = __shfl_up_sync(kFullWarp, exit.state.at, 1);
  entry.begin = __shfl_sync(kFullWarp, exit.state.begin, from);
  entry.alternative = __shfl_sync(kFullWarp, exit.state.alternative, from);
  entry.open = static_cast<int32_t>(open);
  __syncthreads();
  WalkState last = state;
  int64_t total = 0, mine = 0;
  for (int w = 0; w < kChainWarps; ++w) {
    if (w == warp) {
      mine = total;
      if (lane == 0) entry.at = last.at;
      if (!earlier) {
        entry.begin = last.begin;
        entry.alternative = last.alternative;
      }
    }
    total += links[w].count;
    last.at = links[w].at;
    last.open = links[w].map >> last.open & 1;
    if (!links[w].opened) continue;
    last.begin = links[w].begin;
    last.alternative = links[w].alternative;
  }
  const TileEntry found = {entry, spans + mine + count - exit.count};
  state = last;
  spans += total;
  return found;
}

// The tiles of block `blockIdx.x` of a grid over all groups of all rows.
struct GroupPlace {
  int64_t b, group, first, begin, count;  // first: its first tile, begin: token; count: tiles of the row

  __device__ static GroupPlace of(const srp_delim_spans_args& a, int64_t groups) {
    const int64_t b = blockIdx.x / groups, group = blockIdx.x % groups;
    const Range row = token_range(a, b);
    return {b, group, group * kChainThreads, group * kChainThreads * kTileTokens,
            (row.end - row.begin + kTileTokens - 1) / kTileTokens};
  }
  __device__ bool empty() const { return first >= count; }
  __device__ int64_t own() const { return first + threadIdx.x; }
};

// A group's summary is `plain` where each of its tiles goes on plainly.
//
// ledger    delim_spans
// bytes     96 n / 1024
// limit     latency
// notes     few rows of more than 262144 tokens: 256 tiles become one
// threads   256
template <class Id>
__global__ void __launch_bounds__(kChainThreads, 1)
    delim_groups_kernel(srp_delim_spans_args a, int64_t tiles, int64_t groups, const TileSummary* summaries,
                        TileSummary* found) {
  SRP_SHARED(ChainLink, links, kChainWarps);
  const GroupPlace place = GroupPlace::of(a, groups);
  if (place.empty()) return;  // the whole block
  const bool there = place.own() < place.count;
  TileSummary tile = {};
  if (there) tile = summaries[place.b * tiles + place.own()];
  const int64_t head = block_reduce(there && tile.head >= 0 ? tile.head : INT64_MAX, Min{});
  const bool stumbles = block_reduce(static_cast<int>(there && tile.plain != 3), Max{}) != 0;
  WalkState closed = {place.begin, 0, 0, 0}, open = {place.begin, place.begin - 1, 0, 1};
  int64_t spans[2] = {};
  compose_tiles(tile, there, links, closed, spans[0]);
  compose_tiles(tile, there, links, open, spans[1]);
  if (threadIdx.x > 0) return;
  const int64_t passes = open.open && open.begin == place.begin - 1;
  found[place.b * groups + place.group] = {
      {closed, spans[0], 0}, {open, spans[1], passes}, head < INT64_MAX ? head : -1, stumbles ? 0 : 3};
}

// ledger    delim_spans
// bytes     128 n / 1024
// limit     latency
// notes     behind groups: the states into their tiles
// threads   256
template <class Id>
__global__ void __launch_bounds__(kChainThreads, 1)
    delim_expand_kernel(srp_delim_spans_args a, int64_t tiles, int64_t groups, const TileSummary* summaries,
                        const TileEntry* into, const RowFound* rows, TileEntry* entries) {
  SRP_SHARED(ChainLink, links, kChainWarps);
  const GroupPlace place = GroupPlace::of(a, groups);
  if (place.empty() || !rows[place.b].grouped) return;  // the whole block
  const bool there = place.own() < place.count;
  TileSummary tile = {};
  if (there) tile = summaries[place.b * tiles + place.own()];
  TileEntry entry = into[place.b * groups + place.group];
  const TileEntry own = compose_tiles(tile, there, links, entry.state, entry.before);
  if (there) entries[place.b * tiles + place.own()] = own;
}

// Tiles `first` to `last`, one after the other, by one warp.
template <class Finders>
__device__ void walk_tiles(const srp_delim_spans_args& a, Finders& find, int64_t length, int64_t first, int64_t last,
                           const TileSummary* summaries, TileSummary* near, TileEntry* entries, WalkState& state,
                           int64_t& spans) {
  const int lane = threadIdx.x % kWarp;
  for (int64_t tile = first; tile < last; ++tile) {
    const int64_t place = (tile - first) % kWarp;
    if (place == 0) {
      __syncwarp();  // the tiles before are read
      if (tile + lane < last) near[lane] = summaries[tile + lane];
      __syncwarp();
    }
    const int64_t begin = tile * kTileTokens, stop = begin + kTileTokens < length ? begin + kTileTokens : length;
    if (lane == 0) entries[tile] = {state, spans};
    if (state.at >= stop) continue;
    TileExit out = state.open ? near[place].open : near[place].closed;
    if (!as_from_begin(find, state, begin, stop)) out = exit_of(a, find, stop, state);
    if (out.passes)
      state.at = out.state.at;
    else
      state = out.state;
    spans += out.count;
  }
}

// `count` summaries of a row, all of which go on plainly, from `state` on: what comes into each. Its head, if it has one, goes to `found`.
__device__ __forceinline__ void compose_row(const TileSummary* summaries, int64_t count, ChainLink* links,
                                            TileEntry* entries, WalkState& state, RowFound& found) {
  int64_t head = INT64_MAX;
  for (int64_t first = 0; first < count; first += kChainThreads) {
    const int64_t own = first + threadIdx.x;
    TileSummary tile = {};
    if (own < count) tile = summaries[own];
    if (own < count && tile.head >= 0 && tile.head < head) head = tile.head;
    const TileEntry entry = compose_tiles(tile, own < count, links, state, found.spans);
    if (own < count) entries[own] = entry;
  }
  head = block_reduce(head, Min{});
  if (head < INT64_MAX) found.head = head;
}

// Whether all of a row's summaries go on plainly. All threads of the block get it.
__device__ __forceinline__ bool all_plain(const TileSummary* summaries, int64_t count) {
  int stumbles = 0;
  for (int64_t own = threadIdx.x; own < count; own += kChainThreads) stumbles |= summaries[own].plain != 3;
  return block_reduce(stumbles, Max{}) == 0;
}

// A row's tiles, 256 at a time; a step in which one does not go on plainly is walked by one warp. `as_tile`: whether the first does.
template <class Finders>
__device__ void chain_tiles(const srp_delim_spans_args& a, Finders& find, int64_t length, bool as_tile,
                            const TileSummary* summaries, ChainLink* links, TileSummary* near, TileEntry* walked,
                            TileEntry* entries, WalkState& state, RowFound& found) {
  const int64_t count = (length + kTileTokens - 1) / kTileTokens;
  bool plainly = as_tile;
  int64_t head = INT64_MAX;
  for (int64_t first = 0; first < count; first += kChainThreads) {
    const int64_t own = first + threadIdx.x, last = first + kChainThreads < count ? first + kChainThreads : count;
    const bool there = own < last;
    TileSummary tile = {};
    if (there) tile = summaries[own];
    if (there && tile.head >= 0 && tile.head < head) head = tile.head;
    // What the last tile says is of the one behind the step.
    const bool composed = block_reduce(static_cast<int>(!plainly || (own + 1 < last && tile.plain != 3)), Max{}) == 0;
    if (composed) {
      const TileEntry entry = compose_tiles(tile, there, links, state, found.spans);
      if (there) entries[own] = entry;
    } else {
      if (threadIdx.x < kWarp) {
        walk_tiles(a, find, length, first, last, summaries, near, entries, state, found.spans);
        if (threadIdx.x == 0) walked[0] = {state, found.spans};
      }
      __syncthreads();
      state = walked[0].state;
      found.spans = walked[0].before;
      __syncthreads();  // the next step may overwrite it
    }
    const int64_t begin = last * kTileTokens, stop = begin + kTileTokens < length ? begin + kTileTokens : length;
    plainly = last == count || goes_on(find, state, begin, stop);
  }
  head = block_reduce(head, Min{});
  if (head < INT64_MAX) found.head = head;
}

// ledger    delim_spans
// bytes     128 n / 1024
// limit     latency
// notes     a block a row composes 256 tiles, or groups of them, at a time; where a match that crosses tiles changes what follows, one
//           warp goes from tile to tile, about 40 ns each
// threads   256
template <class Id>
__global__ void __launch_bounds__(kChainThreads, 1)
    delim_chain_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words, int64_t tiles,
                       int64_t groups, const TileSummary* summaries, const TileSummary* of_groups, TileEntry* entries,
                       TileEntry* into_groups, RowFound* rows) {
  SRP_SHARED(ChainLink, links, kChainWarps);
  SRP_SHARED(TileSummary, near, kWarp);
  SRP_SHARED(TileEntry, walked, 1);
  const int64_t b = blockIdx.x;
  summaries += b * tiles;
  entries += b * tiles;
  const Range row = token_range(a, b);
  const int64_t length = row.end - row.begin, count = (length + kTileTokens - 1) / kTileTokens;
  RowFinders<MarkFinder, Id> find(a, tokens, marks, words, row);
  WalkState state = {0, 0, SRP_ROW_STARTS_OPEN, a.starts_open};
  RowFound found = {0, -1, 0};
  const int64_t own_groups = groups > 0 ? (count + kChainThreads - 1) / kChainThreads : 0;
  const bool as_tile = goes_on(find, state, 0, kTileTokens < length ? kTileTokens : length);
  if (own_groups > 0 && as_tile && all_plain(of_groups + b * groups, own_groups)) {
    compose_row(of_groups + b * groups, own_groups, links, into_groups + b * groups, state, found);
    found.grouped = 1;
  } else {
    chain_tiles(a, find, length, as_tile, summaries, links, near, walked, entries, state, found);
  }
  if (state.open && a.unterminated_keep && state.begin < length) ++found.spans;
  if (found.head >= 0) ++found.spans;
  if (threadIdx.x == 0) rows[b] = found;
}

}  // namespace srp::cuda
