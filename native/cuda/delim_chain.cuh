// From tile to tile of a long row (delim_long.cuh): tiles are composed to groups, groups to the row, and what comes into a group is handed
// on to its tiles.
#pragma once
#include "delim_long.cuh"
#include "look_back.cuh"
#include "ptx.cuh"

namespace srp::cuda {

constexpr int kGroupThreads = kGroupTiles;
constexpr int kGroupWarps = kGroupThreads / kWarp;

// What a run of tiles makes of a walk, bit by bit of whether it comes in open: bit 0 closed, bit 1 open.
constexpr uint32_t kUnchanged = 2;
__device__ __forceinline__ uint32_t then(uint32_t first, uint32_t second) {
  return (second >> (first & 1) & 1) | (second >> (first >> 1 & 1) & 1) << 1;
}

// What the lanes of a warp leave to those behind it.
struct ChainLink {
  uint32_t map;
  int32_t opened;  // whether one of its tiles opens the span that is open behind them
  int64_t count, at, begin;  // at: kNobody of a warp without tiles
  int32_t alternative;
};
constexpr int64_t kNobody = -1;

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
  const unsigned present = __ballot_sync(kFullWarp, there);
  if (lane == kWarp - 1) links[warp].count = count;
  if (present >> lane == 1) links[warp].at = exit.state.at;
  if (lane == 0 && present == 0) links[warp].at = kNobody;
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
  for (int w = 0; w < kGroupWarps; ++w) {
    if (w == warp) {
      mine = total;
      if (lane == 0) entry.at = last.at;
      if (!earlier) {
        entry.begin = last.begin;
        entry.alternative = last.alternative;
      }
    }
    total += links[w].count;
    if (links[w].at != kNobody) last.at = links[w].at;
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

// What the blocks of a launch tell each other: group g of row b is number b groups + g. Flags, heads and the counter are 0 before the launch.
struct GroupChain {
  TileSummary* summaries;  // of groups
  TileEntry* exits;  // of groups: how the walk leaves them
  int64_t* totals;  // of rows: their spans
  uint32_t *of_summaries, *of_exits, *of_totals;  // flags
  unsigned long long* heads;  // of rows: the complement of where the head first matches, 0 if it does not
  LookBack::Word* started;
  int64_t groups;  // of the longest row that there may be
};

// Reads memory that another block wrote while this one ran.
template <class T>
__device__ __forceinline__ T fresh(const T* from) {
  static_assert(sizeof(T) % 8 == 0);
  unsigned long long words[sizeof(T) / 8];
  SRP_UNROLL
  for (int w = 0; w < static_cast<int>(sizeof(T) / 8); ++w)
    words[w] = __ldcg(reinterpret_cast<const unsigned long long*>(from) + w);
  T found;
  memcpy(&found, words, sizeof found);
  return found;
}

// A block's group of tiles.
template <class Id>
class Group {
 public:
  __device__ Group(const srp_delim_spans_args& a, const Id* tokens, const uint32_t* marks, int64_t words,
                   const GroupChain& chain, int64_t number)
      : a_(a),
        tokens_(tokens),
        chain_(chain),
        number_(number),
        b_(number / chain.groups),
        row_(token_range(a, b_)),
        length_(row_.end - row_.begin),
        tiles_((length_ + kTileTokens - 1) / kTileTokens),
        first_(number % chain.groups * kGroupTiles),
        find_(a, tokens, marks, words, row_),
        together_(a, tokens, marks, words, row_) {}

  __device__ bool valid() const { return row_.valid; }
  __device__ bool begins_row() const { return first_ == 0; }
  __device__ bool ends_row() const { return first_ + kGroupTiles >= tiles_; }
  // Behind the row's tiles. A row without tokens has its first group.
  __device__ bool empty() const { return first_ > 0 && first_ >= tiles_; }

  // All threads of the block call each of these.

  // Walks the tiles, and tells what the group makes of a walk.
  __device__ void summarize(ChainLink* links) {
    if (there()) mine_ = summary_of(a_, find_, begin(), stop(), length_);
    const bool stumbles = any(there() && mine_.plain != kPlain);
    WalkState closed = {first_ * kTileTokens, 0, 0, 0}, open = {first_ * kTileTokens, first_ * kTileTokens - 1, 0, 1};
    int64_t of_closed = 0, of_open = 0;
    compose_tiles(mine_, there(), links, closed, of_closed);
    compose_tiles(mine_, there(), links, open, of_open);
    if (threadIdx.x > 0 || ends_row()) return;
    const int64_t passes = open.open && open.begin == first_ * kTileTokens - 1;
    chain_.summaries[number_] = {{closed, of_closed, 0}, {open, of_open, passes}, stumbles ? 0 : kPlain};
    raise_flag(chain_.of_summaries + number_);
  }

  // Finds how the walk comes into the group and its tiles, and tells how it leaves the group.
  __device__ void enter(ChainLink* links) {
    SRP_SHARED(TileEntry, told, 1);
    WalkState state = {0, 0, SRP_ROW_STARTS_OPEN, a_.starts_open};
    int64_t spans = 0;
    bool plainly = goes_on(find_, state, 0, kTileTokens < length_ ? kTileTokens : length_);
    const int64_t begin_of_row = number_ - first_ / kGroupTiles;
    for (int64_t g = begin_of_row; g < number_ && plainly; g += kGroupThreads) {
      const bool is_there = g + threadIdx.x < number_;
      TileSummary group = {};
      if (is_there) {
        await_flag(chain_.of_summaries + g + threadIdx.x);
        group = fresh(chain_.summaries + g + threadIdx.x);
      }
      plainly = !any(is_there && group.plain != kPlain);
      if (plainly) compose_tiles(group, is_there, links, state, spans);
    }
    if (!plainly && !begins_row()) {
      if (threadIdx.x == 0) {
        await_flag(chain_.of_exits + number_ - 1);
        told[0] = fresh(chain_.exits + number_ - 1);
      }
      __syncthreads();
      state = told[0].state;
      spans = told[0].before;
      const int64_t begin = first_ * kTileTokens, stop = begin + kTileTokens < length_ ? begin + kTileTokens : length_;
      plainly = goes_on(find_, state, begin, stop);
      __syncthreads();  // told may be overwritten
    }
    // What the last tile says is of the one behind the group.
    if (!any(!plainly || (there() && threadIdx.x + 1 < kGroupThreads && own() + 1 < tiles_ && mine_.plain != kPlain)))
      entry_ = compose_tiles(mine_, there(), links, state, spans);
    else
      walk_group(told, state, spans);
    exit_ = {state, spans};
    if (threadIdx.x > 0 || ends_row()) return;
    chain_.exits[number_] = exit_;
    raise_flag(chain_.of_exits + number_);
  }

  // Writes the spans that end in the group's tiles. Behind the row's last group its total is known.
  __device__ void write() {
    const bool keeps = ends_row() && exit_.state.open && a_.unterminated_keep && exit_.state.begin < length_;
    const unsigned long long head = chain_.heads[b_];
    const int64_t total = exit_.before + (keeps ? 1 : 0) + (head != 0 ? 1 : 0);
    if (ends_row() && threadIdx.x == 0) {
      chain_.totals[b_] = total;
      raise_flag(chain_.of_totals + b_);
    }
    int64_t before = 0;  // spans of the rows before
    for (int64_t r = threadIdx.x; r < b_; r += kGroupThreads) {
      await_flag(chain_.of_totals + r);
      before += fresh(chain_.totals + r);
    }
    before = block_sum(before);
    if (ends_row() && b_ == a_.B - 1 && threadIdx.x == 0) *a_.count = before + total;
    if (!there()) return;
    SpanWrite spans = {a_, b_, before, true};
    if (head != 0) {
      if (own() == 0) {
        const int64_t at = static_cast<int64_t>(~head);
        const LaneFinder<Id> of_head(head_of(a_), nullptr, tokens_, row_);
        const Match match = of_head.match(at);
        spans(0, at + match.length, SRP_HEAD_SPAN, match.alternative);
      } else {
        ++spans.next;
      }
    }
    spans.next += entry_.before;
    WalkState state = entry_.state;
    walk_tile(a_, find_, stop(), state, spans);
    if (stop() == length_ && keeps) spans(state.begin, length_, state.alternative, SRP_UNTERMINATED);
  }

 private:
  __device__ int64_t own() const { return first_ + threadIdx.x; }
  __device__ bool there() const { return own() < tiles_; }
  __device__ int64_t begin() const { return own() * kTileTokens; }
  __device__ int64_t stop() const { return begin() + kTileTokens < length_ ? begin() + kTileTokens : length_; }
  static __device__ bool any(bool mine) { return block_reduce(static_cast<int>(mine), Max{}) != 0; }

  // One tile after the other, by one warp.
  __device__ void walk_group(TileEntry* told, WalkState& state, int64_t& spans) {
    SRP_SHARED(TileSummary, tiles, kGroupTiles);
    SRP_SHARED(TileEntry, entries, kGroupTiles);
    tiles[threadIdx.x] = mine_;
    __syncthreads();
    if (threadIdx.x < kWarp) {
      for (int i = 0; i < kGroupTiles && first_ + i < tiles_; ++i) {
        const int64_t begin = (first_ + i) * kTileTokens;
        const int64_t stop = begin + kTileTokens < length_ ? begin + kTileTokens : length_;
        if (threadIdx.x == 0) entries[i] = {state, spans};
        if (state.at >= stop) continue;
        TileExit out = state.open ? tiles[i].open : tiles[i].closed;
        if (!as_from_begin(together_, state, begin, stop)) out = exit_of(a_, together_, stop, state);
        if (out.passes)
          state.at = out.state.at;
        else
          state = out.state;
        spans += out.count;
      }
      if (threadIdx.x == 0) told[0] = {state, spans};
    }
    __syncthreads();
    entry_ = entries[threadIdx.x];
    state = told[0].state;
    spans = told[0].before;
  }

  const srp_delim_spans_args& a_;
  const Id* const tokens_;
  const GroupChain& chain_;
  const int64_t number_, b_;
  const Range row_;
  const int64_t length_, tiles_, first_;
  RowFinders<LaneFinder, Id> find_;
  RowFinders<MarkFinder, Id> together_;
  TileSummary mine_ = {};
  TileEntry entry_ = {}, exit_ = {};
};

// ledger    delim_spans
// bytes     n / 8 delimiters + 136 n / 262144 + 12 S + 8 S alternatives
// limit     latency
// notes     few long rows: a block a group of 256 tiles of 1024 tokens, each walked from both states and then from its own; where a match
//           that crosses tiles changes what follows, one warp goes from tile to tile, about 40 ns each
// threads   256
template <class Id>
__global__ void __launch_bounds__(kGroupThreads, 2)
    delim_groups_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words,
                        GroupChain chain, uint32_t* faults) {
  SRP_SHARED(ChainLink, links, kGroupWarps);
  Group<Id> group(a, tokens, marks, words, chain, LookBack(chain.started).enter());
  if (!group.valid() && group.begins_row() && threadIdx.x == 0)
    raise(faults, a.offsets ? SRP_FAULT_OFFSETS : SRP_FAULT_INDEX);
  if (group.empty()) return;
  group.summarize(links);
  group.enter(links);
  group.write();
}

}  // namespace srp::cuda
