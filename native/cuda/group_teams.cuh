// Which threads add up the items of a group, and in which order. The order depends on the group's own size, never on the other groups:
//
//   up to 256 items   lane l of a warp has items 8 l to 8 l + 7, in registers: they are read once, by 16 bytes where neighbours in
//                     the group are neighbours in memory, and added one after the other; then the lanes by halves. A group of
//                     8 takes one lane, one of 64 eight lanes. The other lanes would add zeros, so as many groups as fit
//                     share a warp
//   more              256 walkers, walker w has items w, w + 256, ...: the 32 of each warp are added by halves, the eight
//                     warps in order. They are the threads of a block, or a warp plays one after the other
#pragma once
#include "common.cuh"
#include "quads.cuh"
#include "shared/group.h"

namespace srp::cuda {

constexpr int kTeamThreads = 256;
constexpr int kOfTeamLane = 8;
constexpr int64_t kTeamItems = kWarp * kOfTeamLane;  // of the largest group whose items fit registers

// ---- sums, number by number

template <class Visit>
__device__ __forceinline__ void each_number(Tally& a, Tally& b, const Visit& visit) {
  visit(a.sum, b.sum, Sum{});
  visit(a.weight, b.weight, Sum{});
  visit(a.low, b.low, Min{});
  visit(a.high, b.high, Max{});
  visit(a.numbers, b.numbers, Sum{});
}

template <class Visit>
__device__ __forceinline__ void each_number(Deviations& a, Deviations& b, const Visit& visit) {
  visit(a.sum, b.sum, Sum{});
  visit(a.squares, b.squares, Sum{});
  visit(a.second, b.second, Max{});
  visit(a.winners, b.winners, Sum{});
}

struct Total {
  double sum = 0;
};
struct Largest {
  double number = -INFINITY;
};
struct Smallest {
  int32_t index = INT32_MAX;
};
struct Span {
  double low = INFINITY, high = -INFINITY;
};

template <class Visit>
__device__ __forceinline__ void each_number(Total& a, Total& b, const Visit& visit) {
  visit(a.sum, b.sum, Sum{});
}
template <class Visit>
__device__ __forceinline__ void each_number(Largest& a, Largest& b, const Visit& visit) {
  visit(a.number, b.number, Max{});
}
template <class Visit>
__device__ __forceinline__ void each_number(Smallest& a, Smallest& b, const Visit& visit) {
  visit(a.index, b.index, Min{});
}
template <class Visit>
__device__ __forceinline__ void each_number(Span& a, Span& b, const Visit& visit) {
  visit(a.low, b.low, Min{});
  visit(a.high, b.high, Max{});
}

// ---- the three ways to walk a group. `total` calls visit(total, i, x) for every item i with number x and adds up, for every thread of
// the group; `write` stores make(i, x) as element i of an array.

template <class F>
struct Group {
  const F* values;
  const int32_t* members;
  int64_t n, begin, end;

  // The item at place k, -1 for a member outside the values.
  __device__ __forceinline__ int64_t item(int64_t k, uint32_t* faults) const {
    const int64_t i = member(members, k);
    if (i >= 0 && i < n) return i;
    raise(faults, SRP_FAULT_INDEX);
    return -1;
  }
};

// Up to eight items a lane, in registers; `lanes` neighbours have a group. All lanes of the warp call everything together.
template <class F>
class TeamWalk {
 public:
  __device__ TeamWalk(const Group<F>& group, int lanes, uint32_t* faults) : group_(group), lanes_(lanes) {
    const int rank = static_cast<int>(threadIdx.x) % lanes;
    first_ = group.begin + rank * kOfTeamLane;
    SRP_UNROLL
    for (int q = 0; q < kOfTeamLane / kQuad; ++q) {
      if (!group.members) {
        const Quad<F> quad = load_quad(group.values, place(q));
        SRP_UNROLL
        for (int k = 0; k < kQuad; ++k) {
          x_[q * kQuad + k] = quad.at[k];
          if (place(q).has(k)) there_ |= 1u << (q * kQuad + k);
        }
        continue;
      }
      SRP_UNROLL
      for (int k = 0; k < kQuad; ++k) {
        const int64_t i = place(q).has(k) ? group.item(place(q).first + k, faults) : -1;
        x_[q * kQuad + k] = i >= 0 ? group.values[i] : F{0};
        if (i >= 0) there_ |= 1u << (q * kQuad + k);
      }
    }
  }

  template <class T, class Visit>
  __device__ __forceinline__ T total(const Visit& visit) const {
    T all;
    SRP_UNROLL
    for (int s = 0; s < kOfTeamLane; ++s) {
      const int64_t i = item(s);
      if (i >= 0) visit(all, i, static_cast<double>(x_[s]));
    }
    each_number(all, all, [&](auto& number, auto&, auto combine) {
      for (int distance = lanes_ / 2; distance > 0; distance /= 2) {
        const auto other = __shfl_xor_sync(kFullWarp, number, distance);
        number = (threadIdx.x & distance) ? combine(other, number) : combine(number, other);
      }
    });
    return all;
  }

  template <class Make>
  __device__ __forceinline__ void write(F* out, const Make& make) const {
    SRP_UNROLL
    for (int q = 0; q < kOfTeamLane / kQuad; ++q) {
      Quad<F> quad;
      SRP_UNROLL
      for (int k = 0; k < kQuad; ++k) {
        const int64_t i = item(q * kQuad + k);
        srp::put(&quad.at[k], i >= 0 ? make(i, static_cast<double>(x_[q * kQuad + k])) : 0.0);
        if (group_.members && i >= 0) out[i] = quad.at[k];
      }
      if (!group_.members) store_quad(out, place(q), quad);
    }
  }

  // Whether any lane of the warp passes true.
  static __device__ __forceinline__ bool any(bool says) { return __any_sync(kFullWarp, says); }
  __device__ __forceinline__ bool leads() const { return static_cast<int>(threadIdx.x) % lanes_ == 0; }

 private:
  __device__ __forceinline__ QuadPlace place(int q) const { return {first_ + q * kQuad, group_.begin, group_.end}; }
  // Looked up again, to save registers.
  __device__ __forceinline__ int64_t item(int s) const {
    return there_ >> s & 1u ? member(group_.members, first_ + s) : -1;
  }

  const Group<F> group_;
  const int lanes_;
  int64_t first_;
  F x_[kOfTeamLane];
  unsigned there_ = 0;
};

// 256 walkers: the threads of a block (kTogether), or a warp that plays eight warps one after the other.
template <class F, bool kTogether>
class LongWalk {
 public:
  __device__ LongWalk(const Group<F>& group, uint32_t* faults) : group_(group), faults_(faults) {}

  template <class T, class Visit>
  __device__ __forceinline__ T total(const Visit& visit) const {
    if constexpr (kTogether) {
      T all;
      walk(threadIdx.x, kTeamThreads, [&](int64_t i, double x) { visit(all, i, x); });
      each_number(all, all, [](auto& number, auto&, auto combine) { number = block_reduce(number, combine); });
      return all;
    } else {
      T all;
      for (int w = 0; w < kTeamThreads / kWarp; ++w) {
        T part;
        walk(w * kWarp + threadIdx.x % kWarp, kTeamThreads, [&](int64_t i, double x) { visit(part, i, x); });
        each_number(all, part, [&](auto& number, auto& own, auto combine) {
          own = warp_reduce(own, combine);
          number = w == 0 ? own : combine(number, own);
        });
      }
      return all;
    }
  }

  template <class Make>
  __device__ __forceinline__ void write(F* out, const Make& make) const {
    constexpr int kThreads = kTogether ? kTeamThreads : kWarp;
    walk(threadIdx.x % kThreads, kThreads, [&](int64_t i, double x) { store(out, i, make(i, x)); });
  }

  static __device__ __forceinline__ bool any(bool says) {
    return says;
  }  // all threads of the group pass the same value
  __device__ __forceinline__ bool leads() const { return threadIdx.x % (kTogether ? kTeamThreads : kWarp) == 0; }

 private:
  // Loads four items at a time.
  template <class Visit>
  __device__ __forceinline__ void walk(int64_t from, int64_t stride, const Visit& visit) const {
    constexpr int kUnderWay = 4;
    for (int64_t first = group_.begin + from; first < group_.end; first += kUnderWay * stride) {
      int64_t items[kUnderWay];
      F x[kUnderWay];
      SRP_UNROLL
      for (int u = 0; u < kUnderWay; ++u)
        items[u] = first + u * stride < group_.end ? group_.item(first + u * stride, faults_) : -1;
      SRP_UNROLL
      for (int u = 0; u < kUnderWay; ++u) x[u] = items[u] >= 0 ? group_.values[items[u]] : F{0};
      SRP_UNROLL
      for (int u = 0; u < kUnderWay; ++u)
        if (items[u] >= 0) visit(items[u], static_cast<double>(x[u]));
    }
  }

  const Group<F> group_;
  uint32_t* const faults_;
};

// ---- groups of a warp or block

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

template <class F>
__device__ __forceinline__ Group<F> empty(Group<F> group) {
  group.begin = group.end = 0;
  return group;
}

// run(walk, g, items, live) for the groups of this warp: those that fit its teams side by side, then the larger ones one by one. A
// walk that is not live stores nothing.
template <class F, class Args, class Run>
__device__ __forceinline__ void each_group_of_warp(const Args& a, int lanes, uint32_t* faults, const Run& run) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warp = (blockIdx.x * int64_t{kTeamThreads} + threadIdx.x) / kWarp, first = warp * (kWarp / lanes);
  if (first >= a.G) return;  // the whole warp
  int64_t g = first + lane / lanes < a.G ? first + lane / lanes : a.G - 1;
  const bool exists = first + lane / lanes < a.G, leads = lane % lanes == 0;
  Group<F> group = group_at<F>(a, g, exists && leads, faults);
  const bool fits = group.end - group.begin <= lanes * kOfTeamLane;
  unsigned others = __ballot_sync(kFullWarp, exists && leads && !fits);
  // One walk in the code for both: most of a kernel's code is `run`.
  int team = lanes;
  bool live = exists && fits;
  SRP_KEEP_ROLLED
  while (true) {
    const int64_t items = group.end - group.begin;
    if (live && items > kTeamItems)
      run(LongWalk<F, false>(group, faults), g, items, true);
    else
      run(TeamWalk<F>(live ? group : empty(group), team, faults), g, items, live);
    if (!others) return;
    g = first + (__ffs(static_cast<int>(others)) - 1) / lanes;
    group = group_at<F>(a, g, false, faults);
    team = kWarp;
    live = true;
    others &= others - 1;
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
    run(TeamWalk<F>(group, kWarp, faults), g, items, true);
}

}  // namespace srp::cuda
