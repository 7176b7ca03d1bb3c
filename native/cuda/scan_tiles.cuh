// A scan from right to left or from left to right, tile by tile. Where a row is cut is counted from its first token and the same for
// every kernel and every length, and so is the order in which maps are composed: no bit depends on which threads scan what, on the other
// rows, or on masked tokens behind the row.
//
//   run      15 tokens: a lane, one after the other (odd, so that a warp's lanes meet 32 banks of shared memory)
//   tile     32 runs, 480 tokens: a warp, by a fixed tree
//   strip    16 tiles, 7680 tokens: tile after tile, from the carry into the strip; their maps compose to the strip's
//   section  32 strips: the maps of the strips ahead of one compose, strip after strip, and take the carry into the section to it
//   row      section after section
//
// The maps of a tile are composed so that runs without tokens drop out. So a row of at most 150 tokens takes no more than its 10 runs: a
// third of a warp, of which two lanes are left over.
//
// A tile is read into shared memory, 16 bytes at a time from the last boundary of 16 bytes before it, so that where its tokens lie
// there follows their address; what lies beside it in these pieces is of other rows and is not looked at. Outputs replace inputs and
// leave the same way. There are two places for a tile: while one is scanned, the next is on its way to the other; or there is one for
// each tile of a strip, which stay there until the carry into the strip is known. Tiles, strips and sections are visited in the order
// of the scan; their turns count from 0 in it. What needs the total of its row goes over the row twice, first for the total alone.
#pragma once
#include <utility>

#include "ptx.cuh"
#include "scan_sum_maps.cuh"
#include "vector.cuh"

namespace srp::cuda {

constexpr int kRun = 15;
static_assert(kRun <= kPowers);
constexpr int kThirds = 3, kThird = kWarp / kThirds;  // of a warp, and the lanes of one
constexpr int kTileTokens = kWarp * kRun, kShortTokens = kThird * kRun;
constexpr int kTilesOfStrip = 16, kStripsOfSection = kWarp;
constexpr int64_t kStripTokens = int64_t{kTileTokens} * kTilesOfStrip;

SRP_HD int64_t strips_of(int64_t tokens) { return (tokens + kStripTokens - 1) / kStripTokens; }
SRP_HD int64_t sections_of(int64_t strips) { return (strips + kStripsOfSection - 1) / kStripsOfSection; }

SRP_HD bool is_short(const Range& row) { return row.end - row.begin <= kShortTokens; }

template <class Scan>
struct NumberOf;
template <template <class> class Scan, class F>
struct NumberOf<Scan<F>> {
  using Type = F;
};

// Number k of n in the order of the scan.
template <class Scan>
__device__ __forceinline__ int ordered(int k, int n) {
  return Scan::kForward ? k : n - 1 - k;
}

template <class Scan>
using MapOf = decltype(token_map<typename NumberOf<Scan>::Type>(std::declval<const typename Scan::Args&>(), 0));
template <class Scan>
using CarryOf = decltype(carry_of(std::declval<const Scan&>()));

// From lane `from` of the warp.
template <class Map>
__device__ __forceinline__ Map shuffled(const Map& map, int from) {
  return moved(map, [&](auto x) { return __shfl_sync(kFullWarp, x, from); });
}
// From the lane `distance` to the left, or to the right.
template <class Map>
__device__ __forceinline__ Map shuffled_up(const Map& map, int distance) {
  return moved(map, [&](auto x) { return __shfl_up_sync(kFullWarp, x, distance); });
}
template <class Map>
__device__ __forceinline__ Map shuffled_down(const Map& map, int distance) {
  return moved(map, [&](auto x) { return __shfl_down_sync(kFullWarp, x, distance); });
}

// Bytes of an array of a tile, wherever its tokens begin among 16 bytes.
SRP_HD constexpr int array_bytes(int tokens, int size) { return (tokens * size + 31) / 16 * 16; }

// Bytes of a tile's place in shared memory: its numbers, those of `a` that are there, and the mask behind them.
template <class F, class Args>
SRP_HD int place_bytes(const Args& a, int tokens) {
  return arrays_of(a) * array_bytes(tokens, sizeof(F)) + (a.mask ? array_bytes(tokens, 1) : 0);
}

// Bytes of a warp: two places for its tiles. Three short tiles take no more than a long one.
template <class F, class Args>
SRP_HD int warp_bytes(const Args& a) {
  return 2 * place_bytes<F>(a, kTileTokens);
}
static_assert(kThirds * array_bytes(kShortTokens, 4) <= array_bytes(kTileTokens, 4));
static_assert(kThirds * array_bytes(kShortTokens, 8) <= array_bytes(kTileTokens, 8));
static_assert(kThirds * (array_bytes(kShortTokens, 4) + array_bytes(kShortTokens, 1)) <=
              array_bytes(kTileTokens, 4) + array_bytes(kTileTokens, 1));

__device__ __forceinline__ int bytes_past_16(const void* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16);
}

// The tiles of `kLanes` lanes, one after the other. They are read in the order in which they were asked for. All lanes of the warp
// call each function; those that are left over, with a tile without tokens.
template <class Scan, int kLanes, int kGroup, int kPlaces = 2>
class Tiles {
 public:
  using F = typename NumberOf<Scan>::Type;
  using Args = typename Scan::Args;
  using Map = MapOf<Scan>;
  using Carry = CarryOf<Scan>;
  static constexpr bool kForward = Scan::kForward;
  static constexpr int kTokens = kLanes * kRun, kParts = kWarp / kLanes, kLast = kLanes - 1;
  static_assert(kRun % kGroup == 0);

  // `memory`: of the warp.
  __device__ Tiles(const Args& whole, unsigned char* memory)
      : whole_(whole), memory_(memory + part() * place_bytes<F>(whole, kTokens)) {
    prepare(whole);
  }

  // Sends for tokens [begin, begin + count).
  __device__ void ask(int64_t begin, int count) {
    __syncwarp();  // what the lanes read there is read
    unsigned char* at = place_at(asked_);
    asked_ = asked_ + 1 == kPlaces ? 0 : asked_ + 1;
    Args inputs = whole_;
    each_array(inputs, [&](int pair, const void*& array, void*&) {
      if (is_input(pair, array)) fetch(at, static_cast<const F*>(array), begin, count);
      at += kArrayBytes;
    });
    each_extra(inputs, [&](const void*& array) {
      if (!array) return;
      fetch(at, static_cast<const F*>(array), begin, count);
      at += kArrayBytes;
    });
    if (whole_.mask) fetch(at, whole_.mask, begin, count);
    __pipeline_commit();
  }
  // In place of ask(), where there is nothing to send for yet.
  __device__ void ask_nothing() { __pipeline_commit(); }

  // Waits until fewer tiles than there are places are on their way (ask_nothing() counts as one) and returns the next one's map: of its
  // runs before the lane's own, in the order of the scan, in `before`.
  __device__ Map read(int64_t row, int64_t begin, int count, Map& before) {
    turn_to(read_, row, begin, count);
    read_ = read_ + 1 == kPlaces ? 0 : read_ + 1;
    __pipeline_wait_prior(kPlaces - 1);
    __syncwarp();
    Map mine = is_plain(whole_) ? map_of_run() : map_of_any_run();
    // Each lane with as many runs as it has composed already. Those of the last lane from left to right begin at a multiple of their
    // number: so it composes its tile alike, of however many lanes it is the last.
    SRP_UNROLL
    for (int distance = 1; distance < kLanes; distance *= 2) {
      const bool last = kForward && lane() == kLast;
      const Map earlier =
          kForward ? shuffled_up(mine, last ? kLast % distance + 1 : distance) : shuffled_down(mine, distance);
      if (last ? kLast & distance : kForward ? lane() >= distance : lane() + distance < kLanes)
        mine = then(earlier, mine);
    }
    before = kForward ? shuffled_up(mine, 1) : shuffled_down(mine, 1);
    if (lane() == (kForward ? 0 : kLast)) before = Map::keeping();
    return shuffled(mine, part() * kLanes + (kForward ? kLast : 0));
  }

  // The tile in that place is the one that write() writes: one that was read, if not the last.
  __device__ void turn_to(int place, int64_t row, int64_t begin, int count) {
    begin_ = begin;
    count_ = count;
    tile_ = whole_;
    set_row<F>(tile_, row, begin);
    unsigned char* at = place_at(place);
    each_array(tile_, [&](int pair, const void*& input, void*& output) {
      numbers_[pair] = reinterpret_cast<F*>(at + bytes_past_16(placed_as(pair, input, output) + begin));
      input = output = numbers_[pair];
      at += kArrayBytes;
    });
    each_extra(tile_, [&](const void*& input) {
      if (!input) return;
      input = at + bytes_past_16(static_cast<const F*>(input) + begin);
      at += kArrayBytes;
    });
    mask_ = at + bytes_past_16(whole_.mask + begin);
    if (whole_.mask) tile_.mask = mask_;
  }

  // Writes the outputs of the tile that was read, from the carry into it. `total`: of the row, where the scan needs it.
  __device__ void write(int64_t row, const Carry& carry, const Map& before, const Carry& total) {
    Scan scan(whole_, row);
    if (kPlaces > 2) find_kept();  // other tiles were read since
    go_on(scan, whole_, apply(before, carry), total, steps_of_run());
    if (is_plain(whole_))
      step_run(scan);
    else
      step_any_run(scan);
    __syncwarp();
    Args targets = whole_;
    each_array(targets, [&](int pair, const void*&, void*& output) {
      if (output) put(static_cast<F*>(output) + begin_, numbers_[pair]);
    });
  }

 private:
  static constexpr int kArrayBytes = array_bytes(kTokens, sizeof(F));
  static constexpr int kGroups = kRun / kGroup;
  static constexpr ArrayCounts kCounts = counts_of(static_cast<const Args*>(nullptr));

  // The pairs of which an array is there, by number; and what of it tells its place among 16 bytes.
  static __device__ __forceinline__ bool is_input(int pair, const void* input) {
    return pair < kCounts.inputs || input;
  }
  template <class Visit>
  static __device__ __forceinline__ void each_array(Args& a, const Visit& visit) {
    int pair = 0;
    each_pair(a, [&](const void*& input, void*& output) {
      if (is_input(pair, input) || output) visit(pair, input, output);
      ++pair;
    });
  }
  static __device__ __forceinline__ const F* placed_as(int pair, const void* input, const void* output) {
    return static_cast<const F*>(is_input(pair, input) ? input : output);
  }

  __device__ __forceinline__ unsigned char* place_at(int place) const {
    return memory_ + place * kParts * place_bytes<F>(whole_, kTokens);
  }
  static __device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarp; }
  static __device__ __forceinline__ int lane() { return lane_of_warp() % kLanes; }
  static __device__ __forceinline__ int part() { return lane_of_warp() / kLanes; }
  static __device__ __forceinline__ bool is_left_over() { return kWarp % kLanes != 0 && part() == kParts; }
  __device__ __forceinline__ int first() const { return lane() * kRun; }

  // Plain arguments: a group of tokens at a time is in registers, those behind the tile as if masked. Of arguments that are given by
  // value the compiler knows what is constant.
  struct Held {
    F numbers[kCounts.pairs][kGroup];
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
  __device__ __forceinline__ void find_kept() {
    const int left = count_ - first();
    kept_ = left <= 0 ? 0 : left < kRun ? (1u << left) - 1 : (1u << kRun) - 1;
    if (!whole_.mask) return;
    uint32_t unmasked = 0;
    SRP_UNROLL
    for (int i = 0; i < kRun; ++i) unmasked |= static_cast<uint32_t>(mask_[first() + i] != 0) << i;
    kept_ &= unmasked;
  }
  // Tokens of the lane's run, without masked ones where arguments are plain.
  __device__ __forceinline__ int steps_of_run() const {
    if (is_plain(whole_)) return __popc(kept_);
    const int left = count_ - first();
    return left < 0 ? 0 : left < kRun ? left : kRun;
  }
  __device__ __forceinline__ void hold(int group) {
    const int from = first() + group * kGroup;
    SRP_UNROLL
    for (int pair = 0; pair < kCounts.inputs; ++pair) {
      SRP_UNROLL
      for (int i = 0; i < kGroup; ++i) held_.numbers[pair][i] = numbers_[pair][from + i];
    }
    const uint32_t kept = kept_ >> group * kGroup;
    SRP_UNROLL
    for (int i = 0; i < kGroup; ++i) held_.kept[i] = kept >> i & 1;
  }
  __device__ __forceinline__ void release(int group) {
    const int from = first() + group * kGroup;
    each_array(tile_, [&](int pair, const void*&, void*&) {
      SRP_UNROLL
      for (int i = 0; i < kGroup; ++i) numbers_[pair][from + i] = held_.numbers[pair][i];
    });
  }
  __device__ __forceinline__ Map map_of_run() {
    Map mine = Map::keeping();
    if (is_left_over()) return mine;  // and has no place in shared memory
    find_kept();
    SRP_KEEP_ROLLED
    for (int g = 0; g < kGroups; ++g) {
      hold(ordered<Scan>(g, kGroups));
      SRP_UNROLL
      for (int k = 0; k < kGroup; ++k) {
        const int i = ordered<Scan>(k, kGroup);
        if (held_.kept[i]) mine = then_step(mine, token_map<F>(held(), i));
      }
    }
    return mine;
  }
  __device__ __forceinline__ void step_run(Scan& scan) {
    if (is_left_over()) return;
    SRP_KEEP_ROLLED
    for (int g = 0; g < kGroups; ++g) {
      if (kGroups > 1) hold(ordered<Scan>(g, kGroups));  // a single one is held since its map was made
      SRP_UNROLL
      for (int k = 0; k < kGroup; ++k) scan.step(held(), ordered<Scan>(k, kGroup));
      release(ordered<Scan>(g, kGroups));
    }
  }

  // All others: short code.
  template <class Visit>
  __device__ __forceinline__ void each_of_run(const Visit& visit) const {
    const int end = first() + kRun < count_ ? first() + kRun : count_;
    SRP_KEEP_ROLLED
    for (int k = first(); k < end; ++k) visit(kForward ? k : first() + end - 1 - k);
  }
  __device__ __forceinline__ Map map_of_any_run() const {
    Map mine = Map::keeping();
    each_of_run([&](int i) { mine = then(mine, token_map<F>(tile_, i)); });
    return mine;
  }
  __device__ __forceinline__ void step_any_run(Scan& scan) const {
    each_of_run([&](int i) { scan.step(tile_, i); });
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
  unsigned char* const memory_;
  int asked_ = 0, read_ = 0;
  F* numbers_[kCounts.pairs];  // in shared memory, of pairs that there are
  const uint8_t* mask_ = nullptr;  // the same, if there is one
  Args tile_;
  Held held_;
  uint32_t kept_ = 0;  // of the lane's run: bit i, whether there is a token i that is kept
  int64_t begin_ = 0;
  int count_ = 0;
};

template <class Scan>
using LongTiles = Tiles<Scan, kWarp, 5>;
template <class Scan>
using HeldTiles = Tiles<Scan, kWarp, 5, kTilesOfStrip / kMostWarps>;  // all tiles of a strip
template <class Scan>
using ShortTiles = Tiles<Scan, kThird, 5>;

}  // namespace srp::cuda
