// Which groups a warp or a block takes: a warp as many as fit side by side, in turns.
#pragma once
#include "group_teams.cuh"

namespace srp::cuda {

// Lanes for groups of `items` on average, so that most lanes have work: 1, 2, 4, ..., 32.
inline int lanes_for(int64_t items) {
  int lanes = 1;
  while (lanes < kWarp && lanes * kOfTeamLane < items) lanes *= 2;
  return lanes;
}

template <class F, class Args>
__device__ __forceinline__ Group<F> group_at(const Args& a, int64_t g, bool reports, uint32_t* faults) {
  const Range range = row_range(a.offsets, 0, a.n, g);
  if (!range.valid && reports) raise(faults, SRP_FAULT_OFFSETS);
  return {static_cast<const F*>(a.values), a.members, a.n, range.begin, range.end};
}

// How many groups a warp takes that hold `items` each on average: what fills its lanes twice.
inline int batch_for(int64_t items) {
  const int batch = 2 * kWarp / lanes_for(items);
  return batch < kWarp ? batch : kWarp;
}

// The groups of a warp, each first with the lane that found it, then packed into turns of 32 slots, the larger teams first, so that each
// team begins at a multiple of its size. Sizes are powers of two.
struct Packing {
  int teams, slots;
  int slot;  // the first of the team at the place of this lane, in the order of slots
  int lane;  // whose team that is
  int size;  // of each team, where all are as large and in order; else 0

  // `team` is 0 in a lane without a group that fits. All lanes of the warp call it.
  __device__ Packing(int team) {
    SRP_SHARED(int, order, kTeamThreads);
    int* const mine = order + threadIdx.x / kWarp * kWarp;
    const int me = static_cast<int>(threadIdx.x) % kWarp;
    teams = __popc(__ballot_sync(kFullWarp, team > 0));
    size = __shfl_sync(kFullWarp, team, 0);
    slots = teams * size;
    slot = me * size;
    lane = me;
    if (__all_sync(kFullWarp, team == (me < teams ? size : 0))) return;
    const unsigned before = (1u << me) - 1;
    int place = 0, sorted = 0;
    size = slot = slots = 0;
    SRP_KEEP_ROLLED
    for (int lanes = kWarp; lanes >= 0; lanes = lanes == 0 ? -1 : lanes / 2) {
      const unsigned those = __ballot_sync(kFullWarp, team == lanes);
      const int earlier = __popc(those & before), count = __popc(those);
      if (team == lanes) {
        place = sorted + earlier;
        slot = slots + earlier * lanes;
      }
      sorted += count;
      slots += count * lanes;
    }
    mine[place] = me;
    __syncwarp();
    lane = mine[me];
    slot = __shfl_sync(kFullWarp, slot, lane);
  }

  // The lane that found the group of a slot; of a slot without one, some lane. All lanes of the warp call it.
  __device__ int owner(int of_slot) const {
    if (size) return (of_slot >> (__ffs(size) - 1)) % kWarp;
    int at = 0;
    SRP_KEEP_ROLLED
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      const int next = at + distance, begins = __shfl_sync(kFullWarp, slot, next);
      if (next < teams && begins <= of_slot) at = next;
    }
    return __shfl_sync(kFullWarp, lane, at);
  }
};

// The lanes that a group of so many items takes.
__device__ __forceinline__ int team_of(int items) {
  const int lanes = (items + kOfTeamLane - 1) / kOfTeamLane;
  return lanes < 2 ? 1 : 1 << (32 - __clz(lanes - 1));
}

// run(walk, g, items, live) for the `batch` groups of this warp: those that fit its teams side by side, then the larger ones one by one. A
// walk that is not live stores nothing.
template <class F, class Args, class Run>
__device__ __forceinline__ void each_group_of_warp(const Args& a, int batch, uint32_t* faults, const Run& run) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warp = (blockIdx.x * int64_t{kTeamThreads} + threadIdx.x) / kWarp, first = warp * batch;
  if (first >= a.G) return;  // the whole warp
  const bool exists = lane < batch && first + lane < a.G;
  Group<F> found = group_at<F>(a, exists ? first + lane : first, exists, faults);
  const int32_t begin = static_cast<int32_t>(found.begin), items = static_cast<int32_t>(found.end - found.begin);
  const unsigned larger = __ballot_sync(kFullWarp, exists && items > kTeamItems);
  const bool fits = exists && items <= kTeamItems;
  const Packing packing(fits ? team_of(items) : 0);
  SRP_KEEP_ROLLED
  for (int turn = 0; turn < packing.slots; turn += kWarp) {
    const int owner = packing.owner(turn + lane);
    const bool live = turn + lane < packing.slots;
    const int count = __shfl_sync(kFullWarp, items, owner), team = live ? team_of(count) : 1;
    Group<F> group = found;
    group.begin = __shfl_sync(kFullWarp, begin, owner);
    group.end = live ? group.begin + count : group.begin;
    run(TeamWalk<F>(group, team, __shfl_sync(kFullWarp, team, 0), faults), first + owner, count, live);
  }
  for (unsigned others = larger; others; others &= others - 1) {
    const int64_t g = first + __ffs(static_cast<int>(others)) - 1;
    const Group<F> group = group_at<F>(a, g, false, faults);
    run(LongWalk<F, false>(group, faults), g, group.end - group.begin, true);
  }
}

// The block's group.
template <class F, class Args, class Run>
__device__ __forceinline__ void group_of_block(const Args& a, uint32_t* faults, const Run& run) {
  const int64_t g = blockIdx.x;
  const Group<F> group = group_at<F>(a, g, threadIdx.x == 0, faults);
  const int64_t items = group.end - group.begin;
  if (items > kTeamItems)
    run(LongWalk<F, true>(group, faults), g, items, true);
  else if (threadIdx.x < kWarp)
    run(TeamWalk<F>(group, kWarp, kWarp, faults), g, items, true);
}

}  // namespace srp::cuda
