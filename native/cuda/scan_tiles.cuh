// A scan from right to left, tile by tile. Where a row is cut is counted from its first token and the same for every kernel, and
// so is the order in which maps are composed: no bit depends on which threads scan what, on the other rows, or on masked tokens behind
// the row.
//
//   run     7 tokens: a lane, one after the other (odd, so that a warp's lanes meet 32 banks of shared memory)
//   tile    32 runs, 224 tokens: a warp, by a fixed tree
//   strip   32 tiles, 7168 tokens: tile after tile, from the carry into the strip; their maps compose to the strip's
//   row     strip after strip
//
// A tile is read once, into shared memory, with neighbouring lanes at neighbouring tokens, and written the same way. Tiles are
// visited in descending addresses.
#pragma once
#include "scan_maps.cuh"

namespace srp::cuda {

constexpr int kRun = 7;
constexpr int kTileTokens = kWarp * kRun;
constexpr int kTilesOfStrip = 32;
constexpr int64_t kStripTokens = int64_t{kTileTokens} * kTilesOfStrip;
constexpr int kMostWarps = 8;

SRP_HD int64_t strips_of(int64_t tokens) { return (tokens + kStripTokens - 1) / kStripTokens; }

// Bytes of a warp's tile in shared memory. The mask lies behind the numbers.
template <class F, class Args>
constexpr int tile_bytes() {
  return kTileTokens * (arrays_of(static_cast<const Args*>(nullptr)) * static_cast<int>(sizeof(F)) + 1);
}

// A tile of a warp: `a` with its arrays in shared memory, where token i of the tile is element i.
template <class Scan, class F>
class Tile {
 public:
  using Args = typename Scan::Args;

  __device__ Tile(const Args& whole, int64_t row, unsigned char* memory) : whole_(whole), row_(row), memory_(memory) {}

  // Reads tokens [begin, begin + count) and returns the map of the tile: of its runs before the lane's own, in the order of
  // the scan, in `before`.
  __device__ CarryMap read(int64_t begin, int count, CarryMap& before) {
    begin_ = begin;
    count_ = count;
    tile_ = whole_;
    set_row<F>(tile_, row_, begin_);
    F* free = reinterpret_cast<F*>(memory_);
    each_input(tile_, [&](const void*& array) { fetch(array, free); });
    each_output(tile_, [&](void*& array) {
      if (array) array = free;
      free += kTileTokens;
    });
    if (whole_.mask) {
      uint8_t* const mask = reinterpret_cast<uint8_t*>(free);
      SRP_UNROLL
      for (int k = 0; k < kRun; ++k) {
        const int i = k * kWarp + lane();
        if (i < count_) mask[i] = whole_.mask[begin_ + i];
      }
      tile_.mask = mask;
    }
    __syncwarp();
    CarryMap mine = keeping();
    for (int i = last(); i >= first(); --i) mine = then(mine, token_map<F>(tile_, i));
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
    for (int i = last(); i >= first(); --i) scan.step(tile_, i);
    __syncwarp();
    Args targets = whole_;
    const F* free = reinterpret_cast<const F*>(memory_);
    each_input(targets, [&](const void*&) { free += kTileTokens; });
    each_output(targets, [&](void*& array) {
      if (array) {
        SRP_UNROLL
        for (int k = 0; k < kRun; ++k) {
          const int i = k * kWarp + lane();
          if (i < count_) static_cast<F*>(array)[begin_ + i] = free[i];
        }
      }
      free += kTileTokens;
    });
    __syncwarp();  // the next tile overwrites this one
  }

 private:
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ __forceinline__ int first() const { return lane() * kRun; }
  __device__ __forceinline__ int last() const { return (first() + kRun < count_ ? first() + kRun : count_) - 1; }

  __device__ __forceinline__ void fetch(const void*& array, F*& free) const {
    if (array) {
      SRP_UNROLL
      for (int k = 0; k < kRun; ++k) {
        const int i = k * kWarp + lane();
        if (i < count_) free[i] = static_cast<const F*>(array)[begin_ + i];
      }
      array = free;
    }
    free += kTileTokens;
  }

  const Args& whole_;
  const int64_t row_;
  unsigned char* const memory_;
  Args tile_;
  int64_t begin_ = 0;
  int count_ = 0;
};

// The map of tokens [begin, end), a strip; with kWrite also its outputs, from the carry into it. `kTogether`: the warps of the
// block take a tile each at a time, and all its threads call it; else this warp has the strip for itself.
template <class Scan, class F, bool kTogether, bool kWrite>
__device__ CarryMap scan_strip(Tile<Scan, F>& tile, int64_t begin, int64_t end, Carry carry) {
  SRP_SHARED(CarryMap, maps, kMostWarps);
  const int worker = kTogether ? static_cast<int>(threadIdx.x) / kWarp : 0;
  const int workers = kTogether ? static_cast<int>(blockDim.x) / kWarp : 1;
  CarryMap strip = keeping();
  const int tiles = static_cast<int>((end - begin + kTileTokens - 1) / kTileTokens);
  for (int done = 0; done < tiles; done += workers) {
    const int k = tiles - 1 - done - worker;
    CarryMap before = keeping(), mine = keeping();
    if (k >= 0) {
      const int64_t from = begin + int64_t{k} * kTileTokens;
      mine = tile.read(from, static_cast<int>(end - from < kTileTokens ? end - from : kTileTokens), before);
    }
    if (!kTogether) {
      if (kWrite) tile.write(carry, before);
      carry = apply(mine, carry);
      strip = then(strip, mine);
      continue;
    }
    __syncthreads();  // all threads have read the maps of the previous round
    if (threadIdx.x % kWarp == 0) maps[worker] = mine;
    __syncthreads();
    Carry into = carry;
    for (int w = 0; w < workers; ++w) {
      if (w == worker) into = carry;
      carry = apply(maps[w], carry);
      strip = then(strip, maps[w]);
    }
    if (kWrite && k >= 0) tile.write(into, before);
  }
  return strip;
}

}  // namespace srp::cuda
