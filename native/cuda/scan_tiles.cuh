// A scan from right to left, tile by tile. Where a row is cut is counted from its first token and the same for every kernel, and
// so is the order in which maps are composed: no bit depends on which threads scan what, on the other rows, or on masked tokens behind
// the row.
//
//   run      15 tokens: a lane, one after the other (odd, so that a warp's lanes meet 32 banks of shared memory)
//   tile     32 runs, 480 tokens: a warp, by a fixed tree
//   strip    16 tiles, 7680 tokens: tile after tile, from the carry into the strip; their maps compose to the strip's
//   section  32 strips: the maps of the strips behind one compose, strip after strip, and take the carry into the section to it
//   row      section after section
//
// A row of at most 144 tokens is one tile of 16 runs of 9: half a warp.
//
// A tile is read into shared memory, 16 bytes at a time from the last boundary of 16 bytes before it, so that where its tokens lie
// there follows their address; what lies beside it in these pieces is of other rows and is not looked at. Outputs replace inputs and
// leave the same way. There are two places for a tile: while one is scanned, the next is on its way to the other; or there is one for
// each tile of a strip, which stay there until the carry into the strip is known. Tiles are visited in descending addresses.
#pragma once
#include "ptx.cuh"
#include "scan_maps.cuh"
#include "vector.cuh"

namespace srp::cuda {

constexpr int kRun = 15, kShortRun = 9;
constexpr int kHalfWarp = kWarp / 2;
constexpr int kTileTokens = kWarp * kRun, kShortTokens = kHalfWarp * kShortRun;
constexpr int kTilesOfStrip = 16, kStripsOfSection = kWarp;
constexpr int64_t kStripTokens = int64_t{kTileTokens} * kTilesOfStrip;
constexpr int kMostWarps = 4;

SRP_HD int64_t strips_of(int64_t tokens) { return (tokens + kStripTokens - 1) / kStripTokens; }
SRP_HD int64_t sections_of(int64_t strips) { return (strips + kStripsOfSection - 1) / kStripsOfSection; }

SRP_HD bool is_short(const Range& row) { return row.end - row.begin <= kShortTokens; }

template <class Scan>
struct NumberOf;
template <template <class> class Scan, class F>
struct NumberOf<Scan<F>> {
  using Type = F;
};

// Bytes of a tile's place in shared memory: its numbers, those of `a` that are there, and the mask behind them.
template <class F, class Args>
SRP_HD int place_bytes(const Args& a, int tokens) {
  const int arrays = pairs_of(static_cast<const Args*>(nullptr)) + (a.gammas ? 1 : 0);
  return arrays * (tokens * static_cast<int>(sizeof(F)) + 16) + (a.mask ? tokens + 16 : 0);
}

// Bytes of a warp: two places for its tiles. Two half warps' short tiles take no more.
template <class F, class Args>
SRP_HD int warp_bytes(const Args& a) {
  return 2 * place_bytes<F>(a, kTileTokens);
}
static_assert(2 * (kShortTokens + 16) <= kTileTokens);

__device__ __forceinline__ int bytes_past_16(const void* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16);
}

// The tiles of `kLanes` lanes, one after the other. They are read in the order in which they were asked for. All lanes of the warp
// call each function.
template <class Scan, int kLanes, int kOwnRun, int kGroup, int kPlaces = 2>
class Tiles {
 public:
  using F = typename NumberOf<Scan>::Type;
  using Args = typename Scan::Args;
  static constexpr int kTokens = kLanes * kOwnRun;
  static_assert(kOwnRun % kGroup == 0);

  // `memory`: of the warp.
  __device__ Tiles(const Args& whole, unsigned char* memory)
      : whole_(whole), bytes_(place_bytes<F>(whole, kTokens)), memory_(memory + part() * bytes_) {}

  // Sends for tokens [begin, begin + count).
  __device__ void ask(int64_t begin, int count) {
    __syncwarp();  // what the lanes read there is read
    unsigned char* at = place_at(asked_);
    asked_ = asked_ + 1 == kPlaces ? 0 : asked_ + 1;
    Args inputs = whole_;
    each_pair(inputs, [&](const void*& array, void*&) {
      fetch(at, static_cast<const F*>(array), begin, count);
      at += kArrayBytes;
    });
    if (whole_.gammas) {
      fetch(at, static_cast<const F*>(whole_.gammas), begin, count);
      at += kArrayBytes;
    }
    if (whole_.mask) fetch(at, whole_.mask, begin, count);
    __pipeline_commit();
  }
  // In place of ask(), where there is nothing to send for yet.
  __device__ void ask_nothing() { __pipeline_commit(); }

  // Waits until fewer tiles than there are places are on their way (ask_nothing() counts as one) and returns the next one's map: of its
  // runs before the lane's own, in the order of the scan, in `before`.
  __device__ CarryMap read(int64_t row, int64_t begin, int count, CarryMap& before) {
    turn_to(read_, row, begin, count);
    read_ = read_ + 1 == kPlaces ? 0 : read_ + 1;
    __pipeline_wait_prior(kPlaces - 1);
    __syncwarp();
    CarryMap mine = is_plain(whole_) ? map_of_run() : map_of_any_run();
    SRP_UNROLL
    for (int distance = 1; distance < kLanes; distance *= 2) {
      const CarryMap behind = shuffled_down<kLanes>(mine, distance);
      if (lane() + distance < kLanes) mine = then(behind, mine);
    }
    before = shuffled_down<kLanes>(mine, 1);
    if (lane() == kLanes - 1) before = keeping();
    return shuffled<kLanes>(mine, 0);
  }

  // The tile in that place is the one that write() writes: one that was read, if not the last.
  __device__ void turn_to(int place, int64_t row, int64_t begin, int count) {
    begin_ = begin;
    count_ = count;
    place_ = place_at(place);
    tile_ = whole_;
    set_row<F>(tile_, row, begin);
    unsigned char* at = place_;
    each_pair(tile_, [&](const void*& input, void*& output) {
      output = at + bytes_past_16(static_cast<const F*>(input) + begin);
      input = output;
      at += kArrayBytes;
    });
    if (whole_.gammas) {
      tile_.gammas = at + bytes_past_16(static_cast<const F*>(whole_.gammas) + begin);
      at += kArrayBytes;
    }
    mask_ = at + bytes_past_16(whole_.mask + begin);
    if (whole_.mask) tile_.mask = mask_;
  }

  // Writes the outputs of the tile that was read, from the carry into it.
  __device__ void write(int64_t row, const Carry& carry, const CarryMap& before) {
    Scan scan(whole_, row);
    go_on(scan, apply(before, carry));
    if (is_plain(whole_))
      step_run(scan);
    else
      step_any_run(scan);
    __syncwarp();
    Args targets = whole_;
    const unsigned char* at = place_;
    each_pair(targets, [&](const void*& input, void*& output) {
      const F* const from = reinterpret_cast<const F*>(at + bytes_past_16(static_cast<const F*>(input) + begin_));
      if (output) put(static_cast<F*>(output) + begin_, from);
      at += kArrayBytes;
    });
  }

 private:
  static constexpr int kArrayBytes = kTokens * static_cast<int>(sizeof(F)) + 16;
  static constexpr int kGroups = kOwnRun / kGroup;

  __device__ __forceinline__ unsigned char* place_at(int place) const {
    return memory_ + place * kWarp / kLanes * bytes_;
  }
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  static __device__ __forceinline__ int part() { return static_cast<int>(threadIdx.x) % kWarp / kLanes; }
  __device__ __forceinline__ int first() const { return lane() * kOwnRun; }
  __device__ __forceinline__ int last() const { return (first() + kOwnRun < count_ ? first() + kOwnRun : count_) - 1; }

  // Plain arguments: a group of tokens at a time is in registers, those behind the tile as if masked. Of arguments that are given by
  // value the compiler knows what is constant.
  struct Held {
    F numbers[pairs_of(static_cast<const Args*>(nullptr))][kGroup];
    uint8_t kept[kGroup];
  };
  __device__ __forceinline__ Args held() {
    Args a = plain(tile_);
    int array = 0;
    each_pair(a, [&](const void*& input, void*& output) {
      output = held_.numbers[array++];
      input = output;
    });
    a.mask = held_.kept;
    return a;
  }
  __device__ __forceinline__ void hold(int group) {
    const int from = first() + group * kGroup;
    int array = 0;
    each_pair(tile_, [&](const void*& input, void*&) {
      SRP_UNROLL
      for (int i = 0; i < kGroup; ++i) held_.numbers[array][i] = static_cast<const F*>(input)[from + i];
      ++array;
    });
    SRP_UNROLL
    for (int i = 0; i < kGroup; ++i) held_.kept[i] = from + i < count_;
    if (whole_.mask) {
      SRP_UNROLL
      for (int i = 0; i < kGroup; ++i) held_.kept[i] = held_.kept[i] & (mask_[from + i] != 0);
    }
  }
  __device__ __forceinline__ void release(int group) {
    const int from = first() + group * kGroup;
    int array = 0;
    each_pair(tile_, [&](const void*&, void*& output) {
      SRP_UNROLL
      for (int i = 0; i < kGroup; ++i) static_cast<F*>(output)[from + i] = held_.numbers[array][i];
      ++array;
    });
  }
  __device__ __forceinline__ CarryMap map_of_run() {
    CarryMap mine = keeping();
    SRP_KEEP_ROLLED
    for (int group = kGroups - 1; group >= 0; --group) {
      hold(group);
      SRP_UNROLL
      for (int i = kGroup - 1; i >= 0; --i)
        if (held_.kept[i]) mine = then_step(mine, token_map<F>(held(), i));
    }
    return mine;
  }
  __device__ __forceinline__ void step_run(Scan& scan) {
    SRP_KEEP_ROLLED
    for (int group = kGroups - 1; group >= 0; --group) {
      if (kGroups > 1) hold(group);  // a single one is held since its map was made
      SRP_UNROLL
      for (int i = kGroup - 1; i >= 0; --i) scan.step(held(), i);
      release(group);
    }
  }

  // All others: short code.
  __device__ __forceinline__ CarryMap map_of_any_run() const {
    CarryMap mine = keeping();
    SRP_KEEP_ROLLED
    for (int i = last(); i >= first(); --i) mine = then(mine, token_map<F>(tile_, i));
    return mine;
  }
  __device__ __forceinline__ void step_any_run(Scan& scan) const {
    SRP_KEEP_ROLLED
    for (int i = last(); i >= first(); --i) scan.step(tile_, i);
  }

  // The pieces of 16 bytes that have tokens of the tile; where one of them is not all in the array, the tokens alone.
  template <class V>
  __device__ __forceinline__ void fetch(unsigned char* place, const V* array, int64_t begin, int count) const {
    constexpr int kEach = 16 / static_cast<int>(sizeof(V));
    const int shift = bytes_past_16(array + begin) / static_cast<int>(sizeof(V));
    const int end = count > 0 ? shift + count : 0;
    const int64_t low = begin - shift;
    const V* const from = array + low;
    V* const to = reinterpret_cast<V*>(place);
    if (low >= 0 && low + (end + kEach - 1) / kEach * kEach <= whole_.n) {
      SRP_KEEP_ROLLED
      for (int i = lane() * kEach; i < end; i += kLanes * kEach) __pipeline_memcpy_async(to + i, from + i, 16);
    } else {
      SRP_KEEP_ROLLED
      for (int i = shift + lane(); i < end; i += kLanes) to[i] = from[i];
    }
  }
  // The pieces that are all tokens of the tile, and what is left on either side.
  __device__ __forceinline__ void put(F* to, const F* from) const {
    constexpr int kEach = 16 / static_cast<int>(sizeof(F));
    const int past = bytes_past_16(to);
    if (past != bytes_past_16(from)) {
      SRP_KEEP_ROLLED
      for (int i = lane(); i < count_; i += kLanes) to[i] = from[i];
      return;
    }
    const int left = past == 0 ? 0 : (16 - past) / static_cast<int>(sizeof(F));
    const int head = left < count_ ? left : count_;
    const int tail = head + (count_ - head) / kEach * kEach;
    SRP_KEEP_ROLLED
    for (int i = head + lane() * kEach; i < tail; i += kLanes * kEach)
      __stcs(reinterpret_cast<uint4*>(to + i), *reinterpret_cast<const uint4*>(from + i));
    const int i = lane() < kEach ? lane() : tail + lane() - kEach;
    if (i < (lane() < kEach ? head : count_)) to[i] = from[i];
  }

  const Args& whole_;
  const int bytes_;
  unsigned char* const memory_;
  int asked_ = 0, read_ = 0;
  unsigned char* place_ = nullptr;
  const uint8_t* mask_ = nullptr;  // in shared memory, if there is one
  Args tile_;
  Held held_;
  int64_t begin_ = 0;
  int count_ = 0;
};

template <class Scan>
using LongTiles = Tiles<Scan, kWarp, kRun, 5>;
template <class Scan>
using HeldTiles = Tiles<Scan, kWarp, kRun, 5, kTilesOfStrip / kMostWarps>;  // all tiles of a strip
template <class Scan>
using ShortTiles = Tiles<Scan, kHalfWarp, kShortRun, 3>;

// Who scans a strip: this warp alone, or the warps of the block together, a tile each at a time. Then all threads of the block call.
template <bool kTogether>
struct Workers {
  static __device__ __forceinline__ int own() { return kTogether ? static_cast<int>(threadIdx.x) / kWarp : 0; }
  static __device__ __forceinline__ int all() { return kTogether ? static_cast<int>(blockDim.x) / kWarp : 1; }
};

// Tokens [begin, end), a strip.
struct Strip {
  int64_t row, begin, end;
};

__device__ __forceinline__ int tiles_of(const Strip& strip) {
  return static_cast<int>((strip.end - strip.begin + kTileTokens - 1) / kTileTokens);
}
// How many tokens tile k of a strip has.
__device__ __forceinline__ int tokens_of(const Strip& strip, int k) {
  if (k < 0) return 0;
  const int64_t left = strip.end - strip.begin - int64_t{k} * kTileTokens;
  return left < kTileTokens ? static_cast<int>(left) : kTileTokens;
}

// Sends for the first tile of a strip that this warp takes.
template <bool kTogether, class Scan>
__device__ __forceinline__ void ask_strip(LongTiles<Scan>& tiles, const Strip& strip) {
  const int k = tiles_of(strip) - 1 - Workers<kTogether>::own();
  tiles.ask(strip.begin + int64_t{k} * kTileTokens, tokens_of(strip, k));
}

// The map of a strip whose first tile is asked for, where the map is `needed`; with kWrite also its outputs, from the carry into it. Sends for
// the first tile of the strip before it where `goes_on`.
template <bool kTogether, bool kWrite, class Scan>
__device__ __forceinline__ CarryMap scan_strip(LongTiles<Scan>& tiles, const Strip& strip, Carry carry, bool needed,
                                               bool goes_on) {
  SRP_SHARED(CarryMap, maps, kMostWarps);
  const int worker = Workers<kTogether>::own(), workers = Workers<kTogether>::all();
  CarryMap whole = keeping();
  SRP_KEEP_ROLLED
  for (int k = tiles_of(strip) - 1 - worker; k + worker >= 0; k -= workers) {
    const int64_t from = strip.begin + int64_t{k} * kTileTokens;
    if (k + worker >= workers)
      tiles.ask(from - int64_t{workers} * kTileTokens, tokens_of(strip, k - workers));
    else if (goes_on)
      ask_strip<kTogether>(tiles, {strip.row, strip.begin - kStripTokens, strip.begin});
    else
      tiles.ask_nothing();
    CarryMap before = keeping();
    const CarryMap mine = tiles.read(strip.row, from, tokens_of(strip, k), before);
    if (!kTogether) {
      if (kWrite) tiles.write(strip.row, carry, before);
      carry = apply(mine, carry);
      if (needed) whole = then(whole, mine);
      continue;
    }
    __syncthreads();  // all threads have read the maps of the previous round
    if (threadIdx.x % kWarp == 0) maps[worker] = mine;
    __syncthreads();
    Carry into = carry;
    for (int w = 0; w < workers; ++w) {
      if (w == worker) into = carry;
      carry = apply(maps[w], carry);
      if (needed) whole = then(whole, maps[w]);
    }
    if (kWrite) tiles.write(strip.row, into, before);
  }
  return whole;
}

// A whole row that is not short.
template <bool kTogether, class Scan>
__device__ __forceinline__ void scan_row(const typename Scan::Args& a, int64_t b, const Range& row,
                                         unsigned char* memory) {
  LongTiles<Scan> tiles(a, memory);
  Carry carry = carry_of(Scan(a, b));  // into the section
  CarryMap behind = keeping();
  int64_t s = strips_of(row.end - row.begin) - 1;
  Strip strip = {b, row.begin + s * kStripTokens, row.end};
  ask_strip<kTogether>(tiles, strip);
  SRP_KEEP_ROLLED
  for (; s >= 0; --s) {
    behind = then(behind, scan_strip<kTogether, true>(tiles, strip, apply(behind, carry), s > 0, s > 0));
    if (s % kStripsOfSection == 0) {
      carry = apply(behind, carry);
      behind = keeping();
    }
    strip = {b, strip.begin - kStripTokens, strip.begin};
  }
}

}  // namespace srp::cuda
