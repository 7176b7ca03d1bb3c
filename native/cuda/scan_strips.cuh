// Strips of few long rows, which blocks scan side by side: the tiles of a strip stay in shared memory, and the carry comes from the
// strips ahead of it in the order of the scan.
//
// Blocks take their strips in that order as they start, so that a strip waits only for blocks that are running or done. It composes the
// maps of the strips ahead of it in its section by itself; the carry into a section comes from the section ahead of it, whose last strip
// hands it over. So a row is as many steps that wait for each other as it has sections.
#pragma once
#include "look_back.cuh"
#include "scan_rows.cuh"

namespace srp::cuda {

// What blocks tell each other. Flags and the counter are 0 before the launch.
template <class Scan>
struct StripChain {
  using Map = MapOf<Scan>;
  using Carry = CarryOf<Scan>;

  Map* maps;  // [B, strips]
  Carry* carries;  // [B, sections + 1]: into each section by its turn, and out of the last
  uint32_t *of_maps, *of_carries;  // flags
  LookBack::Word* started;
  int64_t strips;  // of the longest row that there may be

  static SRP_HD int64_t carries_of(int64_t strips) { return sections_of(strips) + 1; }

  // Strip s of row b, of which `used` strips have tokens. `tells`: hands over what its map makes of what is ahead; `first` comes into the
  // row. `asks`: returns the carry into the strip. All threads of the block call it.
  __device__ Carry into(int64_t b, int64_t s, int64_t used, const Map& own, const Carry& first, bool tells,
                        bool asks) const {
    SRP_SHARED(Carry, found, 1);
    if (threadIdx.x < kWarp) find(b, s, used, own, first, tells, asks, found);
    __syncthreads();
    return found[0];
  }

  // The carry out of the row, where all its strips have told theirs, or will: those of blocks that started earlier.
  __device__ Carry total(int64_t b, int64_t used) const { return carry_at(b, sections_of(used)); }

 private:
  __device__ void find(int64_t b, int64_t s, int64_t used, const Map& own, const Carry& first, bool tells, bool asks,
                       Carry* found) const {
    const int lane = static_cast<int>(threadIdx.x);
    // By turns a section has room for 32 strips; of the first or the last some have no tokens.
    const int64_t last = sections_of(used) * kStripsOfSection - 1, turn = Scan::kForward ? s : last - s;
    const int64_t section = turn / kStripsOfSection;
    const int ahead_of_it = static_cast<int>(turn % kStripsOfSection);
    const bool ends = ahead_of_it == kStripsOfSection - 1 || (Scan::kForward && s == used - 1);
    if (lane == 0 && tells && !ends) {
      maps[b * strips + s] = own;
      raise_flag(of_maps + b * strips + s);
    }
    if (!asks && !ends) return;
    const int64_t other = Scan::kForward ? turn - ahead_of_it + lane : last - (turn - ahead_of_it + lane);
    Map mine = Map::keeping();
    if (lane < ahead_of_it && other < used) {
      await_flag(of_maps + b * strips + other);
      mine = fresh(maps + b * strips + other);
    }
    __syncwarp();
    Map ahead = Map::keeping();
    SRP_KEEP_ROLLED
    for (int k = 0; k < ahead_of_it; ++k) ahead = then(ahead, shuffled(mine, k));
    if (lane != 0) return;
    const Carry carry = section > 0 ? carry_at(b, section) : first;
    if (ends && tells) {
      const int64_t slot = b * carries_of(strips) + section + 1;
      carries[slot] = apply(then(ahead, own), carry);
      raise_flag(of_carries + slot);
    }
    found[0] = apply(ahead, carry);
  }

  __device__ Carry carry_at(int64_t b, int64_t section) const {
    const int64_t slot = b * carries_of(strips) + section;
    await_flag(of_carries + slot);
    return fresh(carries + slot);
  }

  // Reads memory that another block wrote while this one ran.
  template <class T>
  static __device__ __forceinline__ T fresh(const T* numbers) {
    return moved(*numbers, [](const auto& x) { return __ldcg(&x); });
  }
};

// A strip whose tiles stay where they are.
template <class Scan>
class HeldStrip {
 public:
  using Map = MapOf<Scan>;
  using Carry = CarryOf<Scan>;

  __device__ HeldStrip(const typename Scan::Args& a, unsigned char* memory, const Strip& strip)
      : tiles_(a, memory), strip_(strip), all_(tiles_of(strip)) {}

  // All threads of the block get the strip's map.
  __device__ Map read() {
    SRP_SHARED(Map, maps, kTilesOfStrip);
    maps_ = maps;
    SRP_UNROLL
    for (int r = 0; r < kRounds; ++r) tiles_.ask(tile(r).begin, tile(r).tokens);
    SRP_UNROLL
    for (int r = 0; r < kRounds; ++r) {
      if (r > 0) tiles_.ask_nothing();
      if (turn(r) >= all_) continue;
      const Map mine = tiles_.read(strip_.b, tile(r).begin, tile(r).tokens, before_[r]);
      if (threadIdx.x % kWarp == 0) maps[turn(r)] = mine;
    }
    __syncthreads();
    Map whole = Map::keeping();
    for (int i = 0; i < all_; ++i) whole = then(whole, maps[i]);
    return whole;
  }

  __device__ void write(Carry carry, const Carry& total) {
    int done = 0;
    SRP_UNROLL
    for (int r = 0; r < kRounds; ++r) {
      if (turn(r) >= all_) continue;
      for (; done < turn(r); ++done) carry = apply(maps_[done], carry);
      tiles_.turn_to(r, strip_.b, tile(r).begin, tile(r).tokens);
      tiles_.write(strip_.b, carry, before_[r], total);
    }
  }

 private:
  static constexpr int kRounds = kTilesOfStrip / kMostWarps;

  // The warp's tile of a round.
  static __device__ __forceinline__ int turn(int round) {
    return static_cast<int>(threadIdx.x) / kWarp + round * kMostWarps;
  }
  __device__ __forceinline__ Tile tile(int round) const { return tile_of<Scan>(strip_, turn(round)); }

  HeldTiles<Scan> tiles_;
  const Strip strip_;
  const int all_;
  const Map* maps_ = nullptr;
  Map before_[kRounds];
};

}  // namespace srp::cuda
