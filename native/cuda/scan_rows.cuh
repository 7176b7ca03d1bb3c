// The strips of a row (scan_tiles.cuh), one after the other, by a warp or by the warps of a block. Few long rows have their
// strips scanned side by side instead (scan_strips.cuh).
#pragma once
#include "scan_tiles.cuh"

namespace srp::cuda {

// Who scans a strip: this warp alone, or the warps of the block together, a tile each at a time. Then all threads of the block call.
template <bool kTogether>
struct Workers {
  static __device__ __forceinline__ int own() { return kTogether ? static_cast<int>(threadIdx.x) / kWarp : 0; }
  static __device__ __forceinline__ int all() { return kTogether ? static_cast<int>(blockDim.x) / kWarp : 1; }
};

// Strip `number` of row b, counted from its first token. There may be none of that number: then it has no tiles.
struct Strip {
  int64_t b;
  Range row;
  int number;
};

__device__ __forceinline__ int strips_of(const Range& row) { return static_cast<int>(strips_of(row.end - row.begin)); }

__device__ __forceinline__ int tiles_of(const Strip& strip) {
  const int64_t left = strip.row.end - strip.row.begin - strip.number * kStripTokens;
  if (strip.number < 0 || left <= 0) return 0;
  return left < kStripTokens ? static_cast<int>((left + kTileTokens - 1) / kTileTokens) : kTilesOfStrip;
}

// The tile of a strip whose turn it is; without tokens where there is none.
struct Tile {
  int64_t begin;
  int tokens;
};
template <class Scan>
__device__ __forceinline__ Tile tile_of(const Strip& strip, int turn) {
  const int tiles = tiles_of(strip), k = ordered<Scan>(turn, tiles);
  const int64_t begin = strip.row.begin + strip.number * kStripTokens + k * kTileTokens, left = strip.row.end - begin;
  return {begin, turn >= tiles ? 0 : left < kTileTokens ? static_cast<int>(left) : kTileTokens};
}

// Sends for the tile of a strip that this warp takes first.
template <bool kTogether, class Scan>
__device__ __forceinline__ void ask_strip(LongTiles<Scan>& tiles, const Strip& strip) {
  const Tile tile = tile_of<Scan>(strip, Workers<kTogether>::own());
  tiles.ask(tile.begin, tile.tokens);
}

// The map of a strip whose first tile is asked for, where the map is `needed`; with kWrite also its outputs, from the carry into it. Sends
// for the first tile of strip `next` of the row.
template <bool kTogether, bool kWrite, class Scan>
__device__ __forceinline__ MapOf<Scan> scan_strip(LongTiles<Scan>& tiles, const Strip& strip, CarryOf<Scan> carry,
                                                  const CarryOf<Scan>& total, bool needed, int next) {
  using Map = MapOf<Scan>;
  SRP_SHARED(Map, maps, kMostWarps);
  const int worker = Workers<kTogether>::own(), workers = Workers<kTogether>::all();
  Map whole = Map::keeping();
  Tile tile = tile_of<Scan>(strip, worker);
  SRP_KEEP_ROLLED
  for (int round = 0; round < tiles_of(strip); round += workers) {
    const bool goes_on = round + workers < tiles_of(strip);
    const Tile later =
        tile_of<Scan>({strip.b, strip.row, goes_on ? strip.number : next}, worker + (goes_on ? round + workers : 0));
    tiles.ask(later.begin, later.tokens);
    Map before = Map::keeping();
    const Map mine = tiles.read(strip.b, tile.begin, tile.tokens, before);
    tile = later;
    const auto pass = [&](const Map& map) {
      carry = apply(map, carry);
      if (needed) whole = then(whole, map);
    };
    if (kTogether) {
      __syncthreads();  // all threads have read the maps of the previous round
      if (threadIdx.x % kWarp == 0) maps[worker] = mine;
      __syncthreads();
      SRP_KEEP_ROLLED
      for (int w = 0; w < worker; ++w) pass(maps[w]);
    }
    const CarryOf<Scan> into = carry;
    if (kTogether) {
      SRP_KEEP_ROLLED
      for (int w = worker; w < workers; ++w) pass(maps[w]);
    } else {
      pass(mine);
    }
    if (kWrite) tiles.write(strip.b, into, before, total);
  }
  return whole;
}

// The strips of a row, of which the first tile is asked for: returns the carry out of it. Sends for that tile again where it does not write.
template <bool kTogether, bool kWrite, class Scan>
__device__ __forceinline__ CarryOf<Scan> scan_strips(LongTiles<Scan>& tiles, int64_t b, const Range& row,
                                                     CarryOf<Scan> carry, const CarryOf<Scan>& total) {
  using Map = MapOf<Scan>;
  const int strips = strips_of(row);
  Map ahead = Map::keeping();  // of the strips of a section before the one at hand
  SRP_KEEP_ROLLED
  for (int turn = 0; turn < strips; ++turn) {
    const bool last = turn + 1 == strips;
    const int number = ordered<Scan>(turn, strips), after = Scan::kForward ? number + 1 : number - 1;
    ahead =
        then(ahead, scan_strip<kTogether, kWrite>(tiles, {b, row, number}, apply(ahead, carry), total, !kWrite || !last,
                                                  kWrite || !last ? after : ordered<Scan>(0, strips)));
    if ((Scan::kForward ? after : number) % kStripsOfSection == 0) {
      carry = apply(ahead, carry);
      ahead = Map::keeping();
    }
  }
  return apply(ahead, carry);
}

// A whole row.
template <bool kTogether, class Scan>
__device__ __forceinline__ void scan_row(const typename Scan::Args& a, int64_t b, const Range& row,
                                         unsigned char* memory) {
  LongTiles<Scan> tiles(a, memory);
  const CarryOf<Scan> carry = carry_of(Scan(a, b));
  CarryOf<Scan> total = carry;
  ask_strip<kTogether>(tiles, {b, row, ordered<Scan>(0, strips_of(row))});
  if (needs_total(a)) total = scan_strips<kTogether, false>(tiles, b, row, carry, total);
  scan_strips<kTogether, true>(tiles, b, row, carry, total);
}

}  // namespace srp::cuda
