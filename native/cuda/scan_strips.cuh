// Strips of few long rows, which blocks scan side by side: each is read once, its tiles stay in shared memory, and the carry comes from
// the strips behind it.
//
// Blocks take their strips in the order in which they start, from the ends of the rows on, so that a strip waits only for blocks that are
// running or done. It composes the maps of the strips behind it in its section by itself; the carry into a section comes from the section
// behind it, which its first strip hands over. So a row is as many steps that wait for each other as it has sections.
#pragma once
#include "look_back.cuh"
#include "scan_tiles.cuh"

namespace srp::cuda {

// What blocks tell each other. Flags and the counter are 0 before the launch.
struct StripChain {
  CarryMap* maps;  // [B, strips]
  Carry* carries;  // [B, sections]: into each section
  uint32_t *of_maps, *of_carries;  // flags
  LookBack::Word* started;
  int64_t strips;  // of the longest row that there may be

  // The carry into strip s of row b, whose map is `own`. `first` comes into the row, of which `used` strips have tokens. All threads of
  // the block call it.
  __device__ Carry into(int64_t b, int64_t s, int64_t used, const CarryMap& own, const Carry& first) const {
    SRP_SHARED(Carry, found, 1);
    if (threadIdx.x < kWarp) find(b, s, used, own, first, found);
    __syncthreads();
    return found[0];
  }

 private:
  __device__ void find(int64_t b, int64_t s, int64_t used, const CarryMap& own, const Carry& first,
                       Carry* found) const {
    const int lane = static_cast<int>(threadIdx.x);
    const int64_t q = s / kStripsOfSection, item = b * strips + s, section = b * sections_of(strips) + q;
    const bool begins = s % kStripsOfSection == 0;
    if (lane == 0 && !begins) {
      maps[item] = own;
      raise_flag(of_maps + item);
    }
    // Those behind it, the farthest first.
    const int behind_it = kStripsOfSection - 1 - static_cast<int>(s % kStripsOfSection);
    const int64_t other = q * kStripsOfSection + kStripsOfSection - 1 - lane;
    CarryMap mine = keeping();
    if (lane < behind_it && other < used) {
      await_flag(of_maps + b * strips + other);
      mine = fresh(maps + b * strips + other);
    }
    __syncwarp();
    CarryMap behind = keeping();
    SRP_KEEP_ROLLED
    for (int k = 0; k < behind_it; ++k) behind = then(behind, shuffled<kWarp>(mine, k));
    if (lane != 0) return;
    Carry carry = first;
    if (q < sections_of(used) - 1) {
      await_flag(of_carries + section);
      carry = {__ldcg(&carries[section].value), __ldcg(&carries[section].sum)};
    }
    if (begins && s > 0) {
      carries[section - 1] = apply(then(behind, own), carry);
      raise_flag(of_carries + section - 1);
    }
    found[0] = apply(behind, carry);
  }

  // Reads memory that another block wrote while this one ran.
  static __device__ __forceinline__ CarryMap fresh(const CarryMap* map) {
    return {__ldcg(&map->value), __ldcg(&map->constant), __ldcg(&map->of_value), __ldcg(&map->of_sum),
            __ldcg(&map->kind)};
  }
};

// A strip whose tiles stay where they are.
template <class Scan>
class HeldStrip {
 public:
  __device__ HeldStrip(const typename Scan::Args& a, unsigned char* memory, const Strip& strip)
      : tiles_(a, memory), strip_(strip), last_(tiles_of(strip) - 1) {}

  // All threads of the block get the strip's map.
  __device__ CarryMap read() {
    SRP_SHARED(CarryMap, maps, kTilesOfStrip);
    maps_ = maps;
    SRP_UNROLL
    for (int r = 0; r < kRounds; ++r) tiles_.ask(begin_of(r), tokens_of(strip_, tile(r)));
    SRP_UNROLL
    for (int r = 0; r < kRounds; ++r) {
      if (r > 0) tiles_.ask_nothing();
      if (tile(r) < 0) continue;
      const CarryMap mine = tiles_.read(strip_.row, begin_of(r), tokens_of(strip_, tile(r)), before_[r]);
      if (threadIdx.x % kWarp == 0) maps[last_ - tile(r)] = mine;
    }
    __syncthreads();
    CarryMap whole = keeping();
    for (int i = 0; i <= last_; ++i) whole = then(whole, maps[i]);
    return whole;
  }

  __device__ void write(Carry carry) {
    int done = 0;
    SRP_UNROLL
    for (int r = 0; r < kRounds; ++r) {
      if (tile(r) < 0) continue;
      for (; done < last_ - tile(r); ++done) carry = apply(maps_[done], carry);
      tiles_.turn_to(r, strip_.row, begin_of(r), tokens_of(strip_, tile(r)));
      tiles_.write(strip_.row, carry, before_[r]);
    }
  }

 private:
  static constexpr int kRounds = kTilesOfStrip / kMostWarps;

  // The warp's tile of a round: the strip's last tiles come first.
  __device__ __forceinline__ int tile(int round) const {
    return last_ - static_cast<int>(threadIdx.x) / kWarp - round * kMostWarps;
  }
  __device__ __forceinline__ int64_t begin_of(int round) const {
    return strip_.begin + int64_t{tile(round)} * kTileTokens;
  }

  HeldTiles<Scan> tiles_;
  const Strip strip_;
  const int last_;
  const CarryMap* maps_ = nullptr;
  CarryMap before_[kRounds];
};

}  // namespace srp::cuda
