// Device helpers that several kernels share: block reductions in a fixed order, and raising a fault.
#pragma once
#include "cuda.cuh"
#include "queue.cuh"
#include "shared/rows.h"

namespace srp::cuda {

constexpr int kWarp = 32;
constexpr unsigned kFullWarp = 0xffffffffu;
constexpr int kMaxWarps = 32;

struct Sum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
// NaN wins over every number. Comparisons with NaN are false, so NaN needs a test of its own.
struct Max {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return (a != a || a >= b) ? a : b;
  }
};
struct Min {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return (a != a || a <= b) ? a : b;
  }
};

// Butterfly over the lanes of a full warp: every lane gets the result, in an order that depends on lane numbers only.
template <class T, class Combine>
__device__ __forceinline__ T warp_reduce(T value, Combine combine) {
  const int lane = threadIdx.x % kWarp;
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(kFullWarp, value, distance);
    // The lower lane is always the left operand, so that both lanes of a pair compute the same bits.
    value = (lane & distance) ? combine(other, value) : combine(value, other);
  }
  return value;
}

// All threads of the block must call it, and all get the result. blockDim.x is a multiple of 32. T has at most 8 bytes.
template <class T, class Combine>
__device__ __forceinline__ T block_reduce(T value, Combine combine) {
  SRP_SHARED(T, partial, kMaxWarps);
  const int warps = blockDim.x / kWarp;
  value = warp_reduce(value, combine);
  __syncthreads();  // a previous call's readers are done with `partial`
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = partial[0];
  for (int w = 1; w < warps; ++w) value = combine(value, partial[w]);
  return value;
}

template <class T>
__device__ __forceinline__ T block_sum(T value) {
  return block_reduce(value, Sum{});
}

// Sticky: an OR of bits does not depend on order.
__device__ __forceinline__ void raise(uint32_t* faults, uint32_t fault) { atomicOr(faults, fault); }

// How many of the S spans of a list there are. Every thread of a launch calls it; the first one raises a flag if there are more than
// the list has room for.
__device__ __forceinline__ int64_t checked_spans(const int64_t* found, int64_t S, uint32_t* faults) {
  if (found && *found > S && blockIdx.x == 0 && threadIdx.x == 0) raise(faults, SRP_FAULT_ROOM);
  return live_spans(found, S);
}

// The range of row b; a bad one raises the flag (once a block is enough) and counts as empty.
__device__ __forceinline__ Range checked_row(const int32_t* offsets, int64_t T, int64_t n, int64_t b,
                                             uint32_t* faults) {
  const Range row = row_range(offsets, T, n, b);
  if (!row.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

}  // namespace srp::cuda
