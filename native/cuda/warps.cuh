// Searches and sums by whole warps. Sums are those of common.cuh, a butterfly over the lanes and the warps in order, of several
// numbers at a time.
#pragma once
#include <type_traits>

#include "common.cuh"
#include "shared/reduce.h"

namespace srp::cuda {

// The first i of [low, high) for which `holds`, which holds from there on; high without one. All lanes of a warp call it alike: 32
// places are tested at a time. If `holds` is not monotone, it returns some i in [low, high].
template <class Holds>
__device__ __forceinline__ int64_t warp_first(int64_t low, int64_t high, const Holds& holds) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  while (low < high) {
    const int64_t step = (high - low + kWarp - 1) / kWarp, at = low + (lane + 1) * step - 1;
    const unsigned those = __ballot_sync(kFullWarp, at >= high || holds(at));
    if (those == 0) return high;
    low += (__ffs(static_cast<int>(those)) - 1) * step;
    if (low + step - 1 < high) high = low + step - 1;
  }
  return low;
}

// ---- sums of a warp, then of the warps of a block

__device__ __forceinline__ double warp_total(double x) { return warp_reduce(x, Sum{}); }
__device__ __forceinline__ double joined(double a, double b) { return a + b; }

__device__ __forceinline__ int warp_total(int x) { return warp_reduce(x, Sum{}); }
__device__ __forceinline__ int joined(int a, int b) { return a + b; }

__device__ __forceinline__ ChunkSums warp_total(const ChunkSums& x) {
  ChunkSums total;
  total.sum = warp_reduce(x.sum, Sum{});
  total.low = warp_reduce(x.low, Min{});
  total.high = warp_reduce(x.high, Max{});
  total.count = warp_reduce(static_cast<int>(x.count), Sum{});
  return total;
}
__device__ __forceinline__ ChunkSums joined(ChunkSums a, const ChunkSums& b) {
  a.sum += b.sum;
  a.low = Min{}(a.low, b.low);
  a.high = Max{}(a.high, b.high);
  a.count += b.count;
  return a;
}

__device__ __forceinline__ ChunkDeviations warp_total(const ChunkDeviations& x) {
  ChunkDeviations total;
  total.sum = warp_reduce(x.sum, Sum{});
  total.squares = warp_reduce(x.squares, Sum{});
  return total;
}
__device__ __forceinline__ ChunkDeviations joined(ChunkDeviations a, const ChunkDeviations& b) {
  a.sum += b.sum;
  a.squares += b.squares;
  return a;
}

// All threads of the block call it, each with its warp's total, and get the block's.
template <class T>
__device__ __forceinline__ T add_warps(const T& total) {
  SRP_SHARED(uint64_t, words, kMaxWarps * ((sizeof(T) + 7) / 8));
  T* const totals = reinterpret_cast<T*>(words);
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  __syncthreads();  // a previous call's readers are done
  if (threadIdx.x % kWarp == 0) totals[threadIdx.x / kWarp] = total;
  __syncthreads();
  T all = totals[0];
  for (int w = 1; w < warps; ++w) all = joined(all, totals[w]);
  return all;
}

}  // namespace srp::cuda
