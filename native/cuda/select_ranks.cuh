// Ranks among the candidates of one block, digit by digit, by histograms in shared memory (counts are integers, so the order
// of additions does not matter). Candidates are an object with
//
//   Key      an unsigned integer type
//   range    positions, at most 2^31 - 1
//   has(i)   whether position i is a candidate
//   key(i)   its key
//
// All threads of the block call these functions with the same arguments and get the same results.
#pragma once
#include "common.cuh"
#include "shared/select.h"

namespace srp::cuda {

// Shared memory by which the thread that finds the digit informs the others.
struct Picked {
  uint32_t digit, before, count;
};

// The digit in whose bin `rank` falls, found by the first warp: each lane adds up its share of the bins.
__device__ inline void pick_digit(const uint32_t* bins, uint32_t rank, Picked* picked) {
  constexpr int kShare = kDigits / kWarp;
  if (threadIdx.x >= kWarp) return;
  const int first = static_cast<int>(threadIdx.x) * kShare;
  uint32_t own = 0;
  for (int d = first; d < first + kShare; ++d) own += bins[d];
  uint32_t through = own;  // the sum of this lane's bins and all before
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, through, distance);
    if (static_cast<int>(threadIdx.x) >= distance) through += other;
  }
  uint32_t before = through - own;
  if (rank < before || rank >= through) return;
  int d = first;
  while (before + bins[d] <= rank) before += bins[d++];
  *picked = {static_cast<uint32_t>(d), before, bins[d]};
}

// The calling thread's share.
template <class Candidates, class Visit>
__device__ void each_candidate(const Candidates& candidates, Visit visit) {
  for (int64_t i = candidates.range.begin + threadIdx.x; i < candidates.range.end; i += blockDim.x)
    if (candidates.has(i)) visit(candidates.key(i));
}

template <class Candidates>
__device__ int64_t count_candidates(const Candidates& candidates) {
  int64_t own = 0;
  for (int64_t i = candidates.range.begin + threadIdx.x; i < candidates.range.end; i += blockDim.x)
    own += candidates.has(i);
  return block_sum(own);
}

// 0 <= rank < number of candidates.
template <class Candidates, class Key = typename Candidates::Key>
__device__ RankedKey<Key> key_at_rank(const Candidates& candidates, int64_t rank) {
  SRP_SHARED(uint32_t, bins, kDigits);
  SRP_SHARED(Picked, picked, 1);
  RankedKey<Key> found = {0, 0, 0};
  for (int shift = 8 * static_cast<int>(sizeof(Key)) - kDigitBits; shift >= 0; shift -= kDigitBits) {
    for (int d = threadIdx.x; d < kDigits; d += blockDim.x) bins[d] = 0;
    __syncthreads();
    each_candidate(candidates, [&](Key key) {
      if (shares_digits(key, found.key, shift)) atomicAdd(&bins[digit(key, shift)], 1u);
    });
    __syncthreads();
    pick_digit(bins, static_cast<uint32_t>(rank - found.below), picked);
    __syncthreads();  // also: the bins are read before the next round clears them
    found.key |= static_cast<Key>(picked->digit) << shift;
    found.below += picked->before;
    found.equal = picked->count;
  }
  return found;
}

// How many threads of the block before this one have the flag, and how many of the block: all threads must call it.
struct FlagRank {
  int64_t before, all;
};
__device__ inline FlagRank rank_flags(bool flag) {
  SRP_SHARED(int, counts, kMaxWarps);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const unsigned flags = __ballot_sync(kFullWarp, flag);
  __syncthreads();  // readers of the previous call are done
  if (lane == 0) counts[warp] = __popc(flags);
  __syncthreads();
  FlagRank rank = {__popc(flags & ((1u << lane) - 1)), 0};
  for (int w = 0; w < warps; ++w) {
    if (w < warp) rank.before += counts[w];
    rank.all += counts[w];
  }
  return rank;
}

// 1 for the k largest of `count` candidates, 0 for all other positions. The thread that writes a position's flag is
// the last to read that position. Returns whether the calling thread met a NaN; with k 0 none looks.
template <class Candidates>
__device__ bool mark_top(const Candidates& candidates, int64_t count, int64_t k, uint8_t* selected) {
  const Range range = candidates.range;
  if (k == 0) {
    for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x) selected[i] = 0;
    return false;
  }
  const auto smallest = key_at_rank(candidates, count - k);
  const int64_t equals = k - (count - smallest.below - smallest.equal);  // of those at the k-th key, in index order
  bool nan = false;
  if (equals == smallest.equal) {
    for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x) {
      const bool has = candidates.has(i);
      const auto key = has ? candidates.key(i) : 0;
      nan = nan || (has && key == 0);
      selected[i] = has && key >= smallest.key;
    }
    return nan;
  }
  int64_t seen = 0;
  for (int64_t base = range.begin; base < range.end; base += blockDim.x) {  // in step: every thread counts ties
    const int64_t i = base + threadIdx.x;
    const bool live = i < range.end && candidates.has(i);
    const auto key = live ? candidates.key(i) : 0;
    nan = nan || (live && key == 0);
    const bool tie = live && key == smallest.key;
    const FlagRank ties = rank_flags(tie);
    if (i < range.end) selected[i] = live && (key > smallest.key || (tie && seen + ties.before < equals));
    seen += ties.all;
  }
  return nan;
}

}  // namespace srp::cuda
