// Which threads add up the items of a group, and in which order. The order depends on the group's own size, never on the other groups:
//
//   up to 256 items   lane l of a warp has items 8 l to 8 l + 7, in registers: they are read once, by 16 bytes where neighbours in
//                     the group are neighbours in memory, and added one after the other; then the lanes by halves. A group of
//                     8 takes one lane, one of 64 eight lanes: as many, by powers of two, as it has use for. Groups are packed
//                     into a warp, the larger ones first
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

// Tally and Deviations of items of weight 1, in fewer instructions.
template <class F>
struct PlainTally {
  double sum = 0;
  F low = INFINITY, high = -INFINITY;
  int32_t numbers = 0;

  __device__ __forceinline__ void add(F x) {
    const bool number = x == x;
    sum += number ? static_cast<double>(x) : 0;
    if (x < low) low = x;
    if (x > high) high = x;
    numbers += number;
  }
  __device__ __forceinline__ Tally whole() const {
    Tally t;
    t.sum = sum;
    t.weight = static_cast<double>(numbers);
    t.low = static_cast<double>(low);
    t.high = static_cast<double>(high);
    t.numbers = numbers;
    return t;
  }
};
struct PlainDeviations {
  double sum = 0, squares = 0;

  template <class F>
  __device__ __forceinline__ void add(F x, double mean) {
    const double d = x == x ? static_cast<double>(x) - mean : 0;
    sum += d;
    squares += d * d;
  }
  __device__ __forceinline__ Deviations whole() const {
    Deviations d;
    d.sum = sum;
    d.squares = squares;
    return d;
  }
};

template <class F, class Visit>
__device__ __forceinline__ void each_number(PlainTally<F>& a, PlainTally<F>& b, const Visit& visit) {
  visit(a.sum, b.sum, Sum{});
  visit(a.low, b.low, Min{});
  visit(a.high, b.high, Max{});
  visit(a.numbers, b.numbers, Sum{});
}

template <class Visit>
__device__ __forceinline__ void each_number(PlainDeviations& a, PlainDeviations& b, const Visit& visit) {
  visit(a.sum, b.sum, Sum{});
  visit(a.squares, b.squares, Sum{});
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
// the group; `write` stores make(i, x) as element i of an array. `number_total` and `number_write` do not say which item a number is;
// they may call visit and make with a NaN that is none. `rare_total` and `rare_write` do what the first do in less code, for visits
// of many instructions that few calls need: a warp that goes through a kernel once waits for its code.

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

// Up to eight items a lane, in registers; `team` lanes have the group, from a multiple of it on, and `widest` is the largest team of the
// warp. All lanes of the warp call everything together but for the writes.
template <class F>
class TeamWalk {
 public:
  __device__ __forceinline__ TeamWalk(const Group<F>& group, int team, int widest, uint32_t* faults)
      : values_(group.values), members_(group.members), team_(team), widest_(widest) {
    const int rank = static_cast<int>(threadIdx.x) & (team - 1);
    first_ = static_cast<uint32_t>(group.begin) + static_cast<uint32_t>(rank * kOfTeamLane);
    const int left = static_cast<int>(group.end - group.begin) - rank * kOfTeamLane;
    const int count = left < 0 ? 0 : left < kOfTeamLane ? left : kOfTeamLane;
    there_ = (1u << count) - 1;
    if (group.members) {
      SRP_UNROLL
      for (int s = 0; s < kOfTeamLane; ++s) {
        const int64_t i = s < count ? group.item(place(s), faults) : -1;
        x_[s] = i >= 0 ? group.values[i] : static_cast<F>(NAN);
        if (i < 0) there_ &= ~(1u << s);
      }
    } else if (count == kOfTeamLane && aligned16(group.values + place(0))) {
      SRP_UNROLL
      for (int q = 0; q < kOfTeamLane / kQuad; ++q) {
        const Quad<F> quad = load_words(group.values + place(q * kQuad));
        SRP_UNROLL
        for (int k = 0; k < kQuad; ++k) x_[q * kQuad + k] = quad.at[k];
      }
    } else {
      SRP_UNROLL
      for (int s = 0; s < kOfTeamLane; ++s) x_[s] = s < count ? group.values[place(s)] : static_cast<F>(NAN);
    }
  }

  template <class T, class Visit>
  __device__ __forceinline__ T total(const Visit& visit) const {
    T all;
    SRP_UNROLL
    for (int s = 0; s < kOfTeamLane; ++s)
      if (there_ >> s & 1u) visit(all, item(s), x_[s]);
    return of_team(all);
  }
  template <class T, class Visit>
  __device__ __forceinline__ T rare_total(const Visit& visit) const {
    T all;
    SRP_KEEP_ROLLED
    for (int s = 0; s < kOfTeamLane; ++s) {
      if (!(there_ >> s & 1u)) continue;
      const int64_t i = item(s);
      visit(all, i, values_[i]);
    }
    return of_team(all);
  }

  template <class T, class Visit>
  __device__ __forceinline__ T number_total(const Visit& visit) const {
    T all;
    SRP_UNROLL
    for (int s = 0; s < kOfTeamLane; ++s) visit(all, x_[s]);
    return of_team(all);
  }

  template <class Make>
  __device__ __forceinline__ void write(F* out, const Make& make) const {
    F made[kOfTeamLane];
    SRP_UNROLL
    for (int s = 0; s < kOfTeamLane; ++s)
      srp::put(&made[s], there_ >> s & 1u ? make(item(s), static_cast<double>(x_[s])) : 0.0);
    store_all(out, made);
  }
  template <class Make>
  __device__ __forceinline__ void number_write(F* out, const Make& make) const {
    F made[kOfTeamLane];
    SRP_UNROLL
    for (int s = 0; s < kOfTeamLane; ++s) made[s] = make(x_[s]);
    store_all(out, made);
  }
  template <class Make>
  __device__ __forceinline__ void rare_write(F* out, const Make& make) const {
    SRP_KEEP_ROLLED
    for (int s = 0; s < kOfTeamLane; ++s) {
      if (!(there_ >> s & 1u)) continue;
      const int64_t i = item(s);
      store(out, i, make(i, static_cast<double>(values_[i])));
    }
  }

  // Whether any lane of the warp passes true.
  static __device__ __forceinline__ bool any(bool says) { return __any_sync(kFullWarp, says); }
  __device__ __forceinline__ bool leads() const { return (threadIdx.x & (team_ - 1)) == 0; }

 private:
  __device__ __forceinline__ int64_t place(int s) const { return first_ + static_cast<uint32_t>(s); }
  // Of the item at place s that is there. Looked up again, to save registers.
  __device__ __forceinline__ int64_t item(int s) const { return member(members_, place(s)); }

  __device__ __forceinline__ void store_all(F* out, const F (&made)[kOfTeamLane]) const {
    if (!members_ && there_ == (1u << kOfTeamLane) - 1 && aligned16(out + place(0))) {
      SRP_UNROLL
      for (int q = 0; q < kOfTeamLane / kQuad; ++q) {
        Quad<F> quad;
        SRP_UNROLL
        for (int k = 0; k < kQuad; ++k) quad.at[k] = made[q * kQuad + k];
        store_words(out + place(q * kQuad), quad);
      }
      return;
    }
    SRP_UNROLL
    for (int s = 0; s < kOfTeamLane; ++s)
      if (there_ >> s & 1u) out[item(s)] = made[s];
  }

  // Halves of the team add up, then halves of those.
  template <class T>
  __device__ __forceinline__ T of_team(T all) const {
    SRP_KEEP_ROLLED
    for (int distance = widest_ / 2; distance > 0; distance /= 2) {
      each_number(all, all, [&](auto& number, auto&, auto combine) {
        const auto other = __shfl_xor_sync(kFullWarp, number, distance);
        const auto both = (threadIdx.x & distance) ? combine(other, number) : combine(number, other);
        if (distance < team_) number = both;
      });
    }
    return all;
  }

  const F* const values_;
  const int32_t* const members_;
  const int team_, widest_;
  uint32_t first_;  // its place
  F x_[kOfTeamLane];  // NaN where there is no item
  unsigned there_;
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
      walk(threadIdx.x, kTeamThreads, [&](int64_t i, F x) { visit(all, i, x); });
      each_number(all, all, [](auto& number, auto&, auto combine) { number = block_reduce(number, combine); });
      return all;
    } else {
      T all;
      for (int w = 0; w < kTeamThreads / kWarp; ++w) {
        T part;
        walk(w * kWarp + threadIdx.x % kWarp, kTeamThreads, [&](int64_t i, F x) { visit(part, i, x); });
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
    walk(threadIdx.x % kThreads, kThreads, [&](int64_t i, F x) { store(out, i, make(i, static_cast<double>(x))); });
  }

  template <class T, class Visit>
  __device__ __forceinline__ T number_total(const Visit& visit) const {
    return total<T>([&](T& t, int64_t, F x) { visit(t, x); });
  }
  template <class Make>
  __device__ __forceinline__ void number_write(F* out, const Make& make) const {
    constexpr int kThreads = kTogether ? kTeamThreads : kWarp;
    walk(threadIdx.x % kThreads, kThreads, [&](int64_t i, F x) { out[i] = make(x); });
  }
  template <class T, class Visit>
  __device__ __forceinline__ T rare_total(const Visit& visit) const {
    return total<T>(visit);
  }
  template <class Make>
  __device__ __forceinline__ void rare_write(F* out, const Make& make) const {
    write(out, make);
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
        if (items[u] >= 0) visit(items[u], x[u]);
    }
  }

  const Group<F> group_;
  uint32_t* const faults_;
};

}  // namespace srp::cuda
