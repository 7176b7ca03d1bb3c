// One row of logits a block: its sums in two passes, first the maximum with its index, then the rest, and the gradient of its
// columns. For every op that walks them.
//
// Terms are float32; the argument z - M is a pair of floats, since a single one costs |z - M| * 1.2e-7 of its term. With a
// softcap z - M is a difference of two tanh, which only float64 holds to that.
#pragma once
#include "common.cuh"
#include "surprisal/logprob_rows.h"

namespace srp::cuda {

constexpr int kMaxThreads = 256;
constexpr int kTile = 32;  // float32 terms in a thread's sum before it goes into a float64
constexpr int64_t kMaxBlocks = 8192;  // more rows than this take turns; a GPU holds about 2000 at a time

// ---- the maximum

// Orders (value, index) as one integer: larger value first, then the smaller index; NaN above everything. 0 is below all.
__device__ __forceinline__ unsigned long long key_of(float x, uint32_t j) {
  const uint32_t bits = float_bits(x == 0 ? 0.0f : x);  // -0 ties with 0
  const uint32_t ordered = x != x ? 0xffffffffu : (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return (static_cast<unsigned long long>(ordered) << 32) | ~j;
}

struct Maximum {
  float value;  // -infinity in an empty row
  int64_t index;  // -1 in an empty row
};

template <class T>
__device__ Maximum row_maximum(const T* x, int64_t V) {
  unsigned long long best = 0;
  for (int64_t j = threadIdx.x; j < V; j += blockDim.x) {
    const unsigned long long key = key_of(to_float(x[j]), static_cast<uint32_t>(j));
    best = key > best ? key : best;
  }
  best = block_reduce(best, Max{});
  if (best == 0) return {-INFINITY, -1};
  const uint32_t ordered = static_cast<uint32_t>(best >> 32);
  const float value =
      ordered == 0xffffffffu ? NAN : bits_float((ordered & 0x80000000u) ? ordered & 0x7fffffffu : ~ordered);
  return {value, static_cast<int64_t>(static_cast<uint32_t>(~best))};
}

// ---- z - M and its exponential

struct Pair {
  float high, low;  // the sum of both
};

template <bool kCapped>
struct Gap;

template <>
struct Gap<false> {
  float max, slope_high, slope_low;

  __device__ Gap(const LogitMap& map, float max_logit)
      : max(max_logit),
        slope_high(static_cast<float>(map.slope)),
        slope_low(static_cast<float>(map.slope - slope_high)) {}

  __device__ __forceinline__ Pair operator()(float x) const {
    const float d = x - max, back = d - x;
    const float lost = (x - (d - back)) + (-max - back);  // exactly what the subtraction rounded away (Knuth's two-sum)
    const float high = d * slope_high;
    return {high, fmaf(d, slope_high, -high) + fmaf(d, slope_low, lost * slope_high)};
  }

  __device__ __forceinline__ float derivative(float) const { return slope_high; }
};

template <>
struct Gap<true> {
  LogitMap map;
  double max;

  __device__ Gap(const LogitMap& m, float max_logit) : map(m), max(max_logit) {}

  __device__ __forceinline__ Pair operator()(float x) const {
    const double gap = map.below_max(x, max);
    const float high = static_cast<float>(gap);
    return {high, static_cast<float>(gap - high)};
  }

  __device__ __forceinline__ float derivative(float x) const { return static_cast<float>(map.derivative(x)); }
};

// 0 below the smallest float32: also for masked ids, whose gap is -infinity and has no low part.
__device__ __forceinline__ float exp_of(Pair gap) {
  if (!(gap.high > -104.0f)) return 0.0f;
  const float e = expf(gap.high);
  return fmaf(e, gap.low, e);
}

// ---- the sums

template <class T, bool kCapped>
__device__ RowSums sum_row(const LogitMap& map, const T* x, int64_t V) {
  const Maximum max = row_maximum(x, V);
  if (!(max.value > -INFINITY && max.value < INFINITY)) return no_sums(max.value);
  const Gap<kCapped> gap_of(map, max.value);
  const int64_t tile = static_cast<int64_t>(blockDim.x) * kTile;
  double rest = 0, weighted = 0, squares = 0;
  for (int64_t begin = threadIdx.x; begin < V; begin += tile) {
    const int64_t stop = begin + tile < V ? begin + tile : V;
    float tile_rest = 0, tile_weighted = 0, tile_squares = 0;
    for (int64_t j = begin; j < stop; j += blockDim.x) {
      if (j == max.index) continue;
      const Pair gap = gap_of(to_float(x[j]));
      const float e = exp_of(gap);
      if (e == 0) continue;  // 0 * -infinity is not 0
      tile_rest += e;
      tile_weighted += e * gap.high;
      tile_squares += e * e;
    }
    rest += tile_rest;
    weighted += tile_weighted;
    squares += tile_squares;
  }
  return {max.value, block_sum(rest), block_sum(weighted), block_sum(squares)};
}

// ---- the gradient

template <class T>
__device__ void fill_row(T* to, int64_t begin, int64_t end, double value) {
  for (int64_t j = begin + threadIdx.x; j < end; j += blockDim.x) store(to, j, value);
}

// Of all V columns as if none were a target. `grad` may be `x`.
template <class T, bool kCapped>
__device__ void gradient_row(const LogitMap& map, const T* x, int64_t V, const RowSlopes& row, T* grad) {
  const float sum = static_cast<float>(row.sum), h = static_cast<float>(row.of_entropy);
  const float scale = static_cast<float>(exp(-row.log1p_sum)), mean_gap = static_cast<float>(row.mean_gap);
  const Gap<kCapped> gap_of(map, static_cast<float>(row.max_logit));
  for (int64_t j = threadIdx.x; j < V; j += blockDim.x) {
    const float logit = to_float(x[j]);
    const Pair gap = gap_of(logit);
    const float p = exp_of(gap) * scale;
    store(grad, j, p == 0 ? 0 : p * (0 - sum - h * (gap.high + mean_gap)) * gap_of.derivative(logit));
  }
}

// ---- launches

inline dim3 row_blocks(int64_t N) { return dim3(static_cast<unsigned>(N < kMaxBlocks ? N : kMaxBlocks)); }

// A warp for rows that it reads in a few steps. Depends on V alone: the order of sums must not depend on the batch.
inline dim3 threads_for(int64_t V) { return dim3(V <= 256 ? kWarp : V <= 2048 ? 128 : kMaxThreads); }

}  // namespace srp::cuda
