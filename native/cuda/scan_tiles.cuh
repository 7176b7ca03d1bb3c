// A scan from right to left, tile by tile. Where a row is cut is counted from its first token and the same for every kernel, and
// so is the order in which maps are composed: no bit depends on which threads scan what, on the other rows, or on masked tokens behind
// the row.
//
//   run     15 tokens, 5 in a row of at most 160: a lane, one after the other (odd, so that a warp's lanes meet 32 banks of shared memory)
//   tile    32 runs, 480 or 160 tokens: a warp, by a fixed tree
//   strip   16 tiles, 7680 tokens: tile after tile, from the carry into the strip; their maps compose to the strip's
//   row     strip after strip
//
// A tile is read once, into shared memory, with neighbouring lanes at neighbouring tokens, and written the same way: 16 bytes at a time
// where the arrays are aligned there. Tiles are visited in descending addresses.
#pragma once
#include "ptx.cuh"
#include "scan_maps.cuh"
#include "vector.cuh"

namespace srp::cuda {

constexpr int kRun = 15, kShortRun = 5;
template <int kTokens>
constexpr int kTileOf = kWarp * kTokens;
constexpr int kTilesOfStrip = 16;
constexpr int64_t kStripTokens = int64_t{kTileOf<kRun>} * kTilesOfStrip;
constexpr int kMostWarps = 4;

SRP_HD int64_t strips_of(int64_t tokens) { return (tokens + kStripTokens - 1) / kStripTokens; }

SRP_HD bool is_short(const Range& row) { return row.end - row.begin <= kTileOf<kShortRun>; }

// Bytes of a warp's tile in shared memory. The mask lies behind the numbers.
template <class F, class Args>
constexpr int tile_bytes() {
  return kTileOf<kRun> * (arrays_of(static_cast<const Args*>(nullptr)) * static_cast<int>(sizeof(F)) + 1);
}

// A tile of a warp: `a` with its arrays in shared memory, where token i of the tile is element i.
template <class Scan, class F, int kOwnRun>
class Tile {
 public:
  using Args = typename Scan::Args;
  static constexpr int kTokens = kTileOf<kOwnRun>;

  __device__ Tile(const Args& whole, int64_t row, unsigned char* memory) : whole_(whole), row_(row), memory_(memory) {}

  // Reads tokens [begin, begin + count) and returns the map of the tile: of its runs before the lane's own, in the order of
  // the scan, in `before`.
  __device__ CarryMap read(int64_t begin, int count, CarryMap& before) {
    begin_ = begin;
    count_ = count;
    tile_ = whole_;
    set_row<F>(tile_, row_, begin_);
    F* free = reinterpret_cast<F*>(memory_);
    each_input(tile_, [&](const void*& array) {
      if (array) fetch(free, static_cast<const F*>(array) + begin_);
      if (array) array = free;
      free += kTokens;
    });
    each_output(tile_, [&](void*& array) {
      if (array) array = free;
      free += kTokens;
    });
    if (whole_.mask) {
      uint8_t* const mask = reinterpret_cast<uint8_t*>(free);
      fetch(mask, whole_.mask + begin_);
      tile_.mask = mask;
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    CarryMap mine = is_plain(whole_) ? map_of_run(plain(tile_)) : map_of_any_run(tile_);
    SRP_UNROLL
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const CarryMap behind = shuffled_down(mine, distance);
      if (lane() + distance < kWarp) mine = then(behind, mine);
    }
    before = shuffled_down(mine, 1);
    if (lane() == kWarp - 1) before = keeping();
    return {__shfl_sync(kFullWarp, mine.value, 0), __shfl_sync(kFullWarp, mine.constant, 0),
            __shfl_sync(kFullWarp, mine.of_value, 0), __shfl_sync(kFullWarp, mine.of_sum, 0),
            __shfl_sync(kFullWarp, mine.kind, 0)};
  }

  // Writes the outputs of the tile that was read, from the carry into it.
  __device__ void write(const Carry& carry, const CarryMap& before) {
    Scan scan(whole_, row_);
    go_on(scan, apply(before, carry));
    if (is_plain(whole_))
      step_run(scan, plain(tile_));
    else
      step_any_run(scan, tile_);
    __syncwarp();
    Args targets = whole_;
    const F* free = reinterpret_cast<const F*>(memory_);
    each_input(targets, [&](const void*&) { free += kTokens; });
    each_output(targets, [&](void*& array) {
      if (array) put(static_cast<F*>(array) + begin_, free);
      free += kTokens;
    });
    __syncwarp();  // the next tile overwrites this one
  }

 private:
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ __forceinline__ int first() const { return lane() * kOwnRun; }
  __device__ __forceinline__ int last() const { return (first() + kOwnRun < count_ ? first() + kOwnRun : count_) - 1; }

  // Of plain arguments, which are given by value, the compiler knows what is constant; for the others the code is kept short.
  __device__ __forceinline__ CarryMap map_of_run(const Args a) const {
    CarryMap mine = keeping();
    for (int i = last(); i >= first(); --i) mine = then(mine, token_map<F>(a, i));
    return mine;
  }
  __device__ __forceinline__ void step_run(Scan& scan, const Args a) const {
    for (int i = last(); i >= first(); --i) scan.step(a, i);
  }
  __device__ __forceinline__ CarryMap map_of_any_run(const Args& a) const {
    CarryMap mine = keeping();
    SRP_KEEP_ROLLED
    for (int i = last(); i >= first(); --i) mine = then(mine, token_map<F>(a, i));
    return mine;
  }
  __device__ __forceinline__ void step_any_run(Scan& scan, const Args& a) const {
    SRP_KEEP_ROLLED
    for (int i = last(); i >= first(); --i) scan.step(a, i);
  }

  // 16 bytes at a time, where that is allowed.
  template <class V>
  __device__ __forceinline__ bool moves_vectors(const V* array) const {
    return count_ == kTokens && aligned16(array);
  }
  template <class V>
  __device__ __forceinline__ void fetch(V* to, const V* from) const {
    constexpr int kEach = 16 / static_cast<int>(sizeof(V));
    if (moves_vectors(from)) {
      for (int i = lane() * kEach; i < kTokens; i += kWarp * kEach) __pipeline_memcpy_async(to + i, from + i, 16);
      return;
    }
    SRP_KEEP_ROLLED
    for (int i = lane(); i < count_; i += kWarp) to[i] = from[i];
  }
  __device__ __forceinline__ void put(F* to, const F* from) const {
    constexpr int kEach = 16 / static_cast<int>(sizeof(F));
    if (moves_vectors(to)) {
      for (int i = lane() * kEach; i < kTokens; i += kWarp * kEach)
        *reinterpret_cast<uint4*>(to + i) = *reinterpret_cast<const uint4*>(from + i);
      return;
    }
    SRP_KEEP_ROLLED
    for (int i = lane(); i < count_; i += kWarp) to[i] = from[i];
  }

  const Args& whole_;
  const int64_t row_;
  unsigned char* const memory_;
  Args tile_;
  int64_t begin_ = 0;
  int count_ = 0;
};

// The map of tokens [begin, end), a strip, where it is `needed`; with kWrite also its outputs, from the carry into it. `kTogether`: the
// warps of the block take a tile each at a time, and all its threads call it; else this warp has the strip for itself.
template <bool kTogether, bool kWrite, class Scan, class F, int kOwnRun>
__device__ CarryMap scan_strip(Tile<Scan, F, kOwnRun>& tile, int64_t begin, int64_t end, Carry carry, bool needed) {
  constexpr int kTokens = kTileOf<kOwnRun>;
  SRP_SHARED(CarryMap, maps, kMostWarps);
  const int worker = kTogether ? static_cast<int>(threadIdx.x) / kWarp : 0;
  const int workers = kTogether ? static_cast<int>(blockDim.x) / kWarp : 1;
  CarryMap strip = keeping();
  const int tiles = static_cast<int>((end - begin + kTokens - 1) / kTokens);
  for (int done = 0; done < tiles; done += workers) {
    const int k = tiles - 1 - done - worker;
    CarryMap before = keeping(), mine = keeping();
    if (k >= 0) {
      const int64_t from = begin + int64_t{k} * kTokens;
      mine = tile.read(from, static_cast<int>(end - from < kTokens ? end - from : kTokens), before);
    }
    if (!kTogether) {
      if (kWrite) tile.write(carry, before);
      carry = apply(mine, carry);
      if (needed) strip = then(strip, mine);
      continue;
    }
    __syncthreads();  // all threads have read the maps of the previous round
    if (threadIdx.x % kWarp == 0) maps[worker] = mine;
    __syncthreads();
    Carry into = carry;
    for (int w = 0; w < workers; ++w) {
      if (w == worker) into = carry;
      carry = apply(maps[w], carry);
      if (needed) strip = then(strip, maps[w]);
    }
    if (kWrite && k >= 0) tile.write(into, before);
  }
  return strip;
}

}  // namespace srp::cuda
