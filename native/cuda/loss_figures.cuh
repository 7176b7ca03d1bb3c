// The figures of a lane's tokens: sums, which are added up in the order of row_pieces.cuh, and what is the same in any order, how many tokens
// there are of a kind and the largest ratio.
#pragma once
#include "row_pieces.cuh"
#include "shared/loss.h"

namespace srp::cuda {

// ---- several sums

template <int kSums>
struct Numbers {
  double at[kSums] = {};
};
// In shared memory: beside a lane's own sums the registers would not hold them.
template <int kSums>
struct LaneTotal<Numbers<kSums>> {
  double* const at;

  __device__ __forceinline__ LaneTotal() : at(place()) {
    SRP_UNROLL
    for (int f = 0; f < kSums; ++f) at[f * kPieceLanes] = 0;
  }
  __device__ __forceinline__ void add(const Numbers<kSums>& mine) {
    SRP_UNROLL
    for (int f = 0; f < kSums; ++f) at[f * kPieceLanes] += mine.at[f];
  }
  __device__ __forceinline__ Numbers<kSums> total() const {
    SRP_KEEP_ROLLED
    for (int f = 0; f < kSums; ++f) at[f * kPieceLanes] = warp_reduce(at[f * kPieceLanes], Sum{});
    Numbers<kSums> all;
    SRP_UNROLL
    for (int f = 0; f < kSums; ++f) all.at[f] = at[f * kPieceLanes];
    return all;
  }

 private:
  static __device__ __forceinline__ double* place() {
    SRP_SHARED(double, lanes, kSums* kPieceLanes);
    return lanes + threadIdx.x;
  }
};
// The warps of the block take a number each. In the dynamic memory of the block: its tokens are done with.
template <int kSums>
__device__ __forceinline__ Numbers<kSums> block_total(const Numbers<kSums>& mine) {
  SRP_DYN_SHARED(double, lanes);
  SRP_SHARED(double, whole, kSums);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncthreads();  // all warps have read their tokens
  SRP_UNROLL
  for (int f = 0; f < kSums; ++f) lanes[f * kPieceLanes + threadIdx.x] = mine.at[f];
  __syncthreads();
  SRP_KEEP_ROLLED
  for (int f = static_cast<int>(threadIdx.x) / kWarp; f < kSums; f += kPieceLanes / kWarp) {
    const double* const each = lanes + f * kPieceLanes + lane;
    double all = each[0];
    SRP_UNROLL
    for (int first = kWarp; first < kPieceLanes; first += kWarp) all += each[first];
    all = warp_reduce(all, Sum{});
    if (lane == 0) whole[f] = all;
  }
  __syncthreads();
  Numbers<kSums> total;
  SRP_UNROLL
  for (int f = 0; f < kSums; ++f) total.at[f] = whole[f];
  return total;
}

// ---- figures

// Figures that count tokens, and the largest ratio. A lane's counts share three words, ten bits each, where nine numbers would take
// as many registers as there are left; they are added up over the warp before one could overflow, count f in lane f.
struct LossTally {
  static constexpr int kBits = 10, kOfWord = 3, kWords = 3;

  uint32_t words[kWords] = {};
  int warps = 0;  // of count number lane
  double largest = -INFINITY;

  // Which count a figure is, -1 for one that is a sum.
  static SRP_HD constexpr int place(int figure) {
    if (figure >= SRP_FIGURE_KEPT && figure <= SRP_FIGURE_LIMITED) return figure - SRP_FIGURE_KEPT;
    if (figure >= SRP_FIGURE_BELOW && figure <= SRP_FIGURE_OUTSIDE_NEGATIVE)
      return figure - SRP_FIGURE_BELOW + SRP_FIGURE_LIMITED - SRP_FIGURE_KEPT + 1;
    return -1;
  }

  // All lanes of the warp call it, behind at most kOfRun more tokens of each: the first count is that of all kept ones.
  template <int kOfRun>
  __device__ __forceinline__ void ran() {
    constexpr uint32_t kFull = (1u << kBits) / kWarp - kOfRun;
    if (__any_sync(kFullWarp, (words[0] & ((1u << kBits) - 1)) >= kFull)) drain();
  }
  __device__ __forceinline__ void drain() {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    SRP_UNROLL
    for (int w = 0; w < kWords; ++w) {
      const uint32_t sum = warp_reduce(words[w], Sum{});
      if (lane / kOfWord == w) warps += static_cast<int>(sum >> (lane % kOfWord * kBits) & ((1u << kBits) - 1));
      words[w] = 0;
    }
  }
};

// Of numbers the largest; NaN wins.
struct Largest {
  double at;
};
__device__ __forceinline__ Largest warp_total(const Largest& x) { return {warp_reduce(x.at, Max{})}; }
__device__ __forceinline__ Largest joined(const Largest& a, const Largest& b) { return {Max{}(a.at, b.at)}; }

struct CountsInTally {
  LossTally* tally;

  template <class N>
  SRP_HD void add(N*, int figure, bool says) {
    const int place = LossTally::place(figure);
    tally->words[place / LossTally::kOfWord] += (says ? 1u : 0u) << (place % LossTally::kOfWord * LossTally::kBits);
  }
};

// Of a lane of the team.
struct LaneFigures : FiguresWith<CountsInTally> {
  __device__ explicit LaneFigures(LossTally& tally) { counts.tally = &tally; }

  // The sums among them; `ratio`: which of the ratios is one.
  static constexpr int kSums = 8;
  template <int kAll>
  __device__ __forceinline__ void to(int ratio, Numbers<kAll>& sums) const {
    sums.at[0] = at[SRP_FIGURE_LOSS];
    sums.at[1] = at[SRP_FIGURE_KL];
    sums.at[2] = at[ratio];
    SRP_UNROLL
    for (int f = 3; f < kSums; ++f) sums.at[f] = at[SRP_FIGURE_LOG_RATIO + f - 3];
  }
};

// Those of the row. All threads of the team call it.
template <class Team, int kAll>
__device__ __forceinline__ LossFigures row_figures(int ratio, const Numbers<kAll>& sums, LossTally& tally) {
  tally.drain();
  double count = tally.warps;
  if constexpr (Team::kTeams == 1) count = joined_warps(count);
  LossFigures row;
  SRP_UNROLL
  for (int f = 0; f < SRP_LOSS_FIGURES; ++f)
    if (LossTally::place(f) >= 0) row.at[f] = __shfl_sync(kFullWarp, count, LossTally::place(f));
  row.at[SRP_FIGURE_LOSS] = sums.at[0];
  row.at[SRP_FIGURE_KL] = sums.at[1];
  row.at[ratio] = sums.at[2];
  SRP_UNROLL
  for (int f = 3; f < LaneFigures::kSums; ++f) row.at[SRP_FIGURE_LOG_RATIO + f - 3] = sums.at[f];
  return row;
}

}  // namespace srp::cuda
