// In which order the tokens of a row are added up, and by which threads.
//
//   strip    256 tokens, counted from the row's first: lane l of a warp adds up tokens l, l + 32, ..., l + 224, one after the
//            other; then the lanes are added by halves
//   segment  32 strips, 8192 tokens: in order
//   row      its segments, in order
//
// A warp takes a row, or the warps of a block take its strips by turns. Both give the same bits, which depend neither on the other
// rows nor on the address, so the launch may choose by size: rows of at most 512 tokens on average take a warp each, since in a block
// six or more of eight warps would wait for the others at the end of each.
//
// A warp reads 32 neighbouring tokens at a time, 128 bytes of float32: whole sectors but for the ends, wherever the row begins.
// What makes it fast is that a lane has the loads of its eight tokens of every array under way at once: 2 KB a warp of two
// arrays, 64 KB where half of a multiprocessor's warps are there.
#pragma once
#include "common.cuh"

namespace srp::cuda {

constexpr int kRowWarps = 8;  // of a block
constexpr int kRowThreads = kRowWarps * kWarp;
constexpr int kOfLane = 8;  // tokens of a strip
constexpr int64_t kStrip = kWarp * kOfLane;
constexpr int kStripsOfSegment = 32;
constexpr int64_t kSegment = kStrip * kStripsOfSegment;
constexpr int64_t kWarpRow = 2 * kStrip;

// ---- rows of a warp or block

inline bool takes_block(int64_t n, int64_t B) { return n / B > kWarpRow; }

template <bool kTogether>
inline int64_t row_blocks(int64_t B) {
  return kTogether ? B : (B + kRowWarps - 1) / kRowWarps;
}

template <bool kTogether>
__device__ __forceinline__ int64_t own_row() {
  return kTogether ? int64_t{blockIdx.x} : int64_t{blockIdx.x} * kRowWarps + threadIdx.x / kWarp;
}
// The threads that share a row.
template <bool kTogether>
__device__ __forceinline__ int worker() {
  return static_cast<int>(kTogether ? threadIdx.x : threadIdx.x % kWarp);
}
template <bool kTogether>
SRP_HD constexpr int workers() {
  return kTogether ? kRowThreads : kWarp;
}

template <bool kTogether>
__device__ __forceinline__ Range own_range(const int32_t* offsets, int64_t T, int64_t n, int64_t b, uint32_t* faults) {
  const Range row = row_range(offsets, T, n, b);
  if (!row.valid && worker<kTogether>() == 0) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

// ---- sums

// The sums of a row, and numbers whose maximum it needs.
template <int kSums, int kLargest = 0>
struct RowNumbers {
  double sums[kSums];
  double largest[kLargest > 0 ? kLargest : 1];

  __device__ RowNumbers() {
    SRP_UNROLL
    for (int f = 0; f < kSums; ++f) sums[f] = 0;
    SRP_UNROLL
    for (int f = 0; f < kLargest; ++f) largest[f] = -INFINITY;
  }
};

// A step of the tree over lanes: of two numbers that the halves of the lanes hold, each half adds up one, so that many sums
// cost little more than one. kCount: numbers that a lane still holds.
template <int kHalf, int kCount, int kSums>
__device__ __forceinline__ void fold(double (&numbers)[kSums]) {
  const bool upper = threadIdx.x & kHalf;
  SRP_UNROLL
  for (int f = 0; f < (kHalf < kCount ? kHalf : kCount); ++f) {
    const bool paired = f + kHalf < kCount;
    const double own = paired && upper ? numbers[paired ? f + kHalf : f] : numbers[f];
    const double given = paired && !upper ? numbers[paired ? f + kHalf : f] : numbers[f];
    const double other = __shfl_xor_sync(kFullWarp, given, kHalf);
    numbers[f] = upper ? other + own : own + other;
  }
  if constexpr (kHalf > 1) fold<kHalf / 2, (kHalf < kCount ? kHalf : kCount)>(numbers);
}

// Lane f gets the warp's sum of number f.
template <int kSums>
__device__ __forceinline__ double fold_lanes(double (&numbers)[kSums]) {
  static_assert(kSums <= kWarp, "a number a lane");
  fold<kWarp / 2, kSums>(numbers);
  return numbers[0];
}

template <int kSums, int kLargest, class Visit>
__device__ __forceinline__ RowNumbers<kSums, kLargest> add_row_alone(const Range& row, const Visit& visit) {
  double total = 0, segment = 0;  // of number f in lane f
  RowNumbers<kSums, kLargest> totals;
  int strip = 0;
  for (int64_t begin = row.begin; begin < row.end; begin += kStrip) {
    RowNumbers<kSums, kLargest> mine;
    visit(begin, begin + kStrip < row.end ? begin + kStrip : row.end, mine);
    segment += fold_lanes(mine.sums);
    SRP_UNROLL
    for (int f = 0; f < kLargest; ++f)
      totals.largest[f] = Max{}(totals.largest[f], warp_reduce(mine.largest[f], Max{}));
    if (++strip < kStripsOfSegment) continue;
    total += segment;
    segment = strip = 0;
  }
  total += segment;
  SRP_UNROLL
  for (int f = 0; f < kSums; ++f) totals.sums[f] = __shfl_sync(kFullWarp, total, f);
  return totals;
}

template <int kSums, int kLargest, bool kBack, class Visit>
__device__ __forceinline__ RowNumbers<kSums, kLargest> add_row_together(const Range& row, const Visit& visit) {
  constexpr int kWidth = kSums + kLargest;
  SRP_SHARED(double, strips, kStripsOfSegment* kWidth);
  SRP_SHARED(double, whole, kWidth);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, number = threadIdx.x;
  double total = number < kSums ? 0 : -INFINITY;
  for (int64_t segment = row.begin; segment < row.end; segment += kSegment) {
    const int64_t end = segment + kSegment < row.end ? segment + kSegment : row.end;
    const int count = static_cast<int>((end - segment + kStrip - 1) / kStrip);
    for (int turn = warp; turn < count; turn += kRowWarps) {
      const int s = kBack ? count - 1 - turn : turn;
      const int64_t begin = segment + s * kStrip;
      RowNumbers<kSums, kLargest> mine;
      visit(begin, begin + kStrip < end ? begin + kStrip : end, mine);
      const double sum = fold_lanes(mine.sums);
      if (lane < kSums) strips[s * kWidth + lane] = sum;
      SRP_UNROLL
      for (int f = 0; f < kLargest; ++f) {
        const double largest = warp_reduce(mine.largest[f], Max{});
        if (lane == 0) strips[s * kWidth + kSums + f] = largest;
      }
    }
    __syncthreads();
    if (number < kSums) {
      double sum = 0;
      for (int s = 0; s < count; ++s) sum += strips[s * kWidth + number];
      total += sum;
    } else if (number < kWidth) {
      for (int s = 0; s < count; ++s) total = Max{}(total, strips[s * kWidth + number]);
    }
    __syncthreads();  // the next segment overwrites the strips' sums
  }
  if (number < kWidth) whole[number] = total;
  __syncthreads();
  RowNumbers<kSums, kLargest> totals;
  SRP_UNROLL
  for (int f = 0; f < kSums; ++f) totals.sums[f] = whole[f];
  SRP_UNROLL
  for (int f = 0; f < kLargest; ++f) totals.largest[f] = whole[kSums + f];
  __syncthreads();  // the next row overwrites the whole
  return totals;
}

// All threads that share the row call it, and all get its numbers. visit(begin, end, mine) adds up a lane's tokens of a strip. With kBack
// the walk goes backwards: a second walk finds in the nearest cache what the first read last.
template <bool kTogether, int kSums, int kLargest = 0, bool kBack = false, class Visit>
__device__ __forceinline__ RowNumbers<kSums, kLargest> add_row(const Range& row, const Visit& visit) {
  if constexpr (kTogether)
    return add_row_together<kSums, kLargest, kBack>(row, visit);
  else
    return add_row_alone<kSums, kLargest>(row, visit);
}

// Token k of a lane, from `begin` on.
__device__ __forceinline__ int64_t lane_token(int64_t begin, int k) {
  return begin + k * kWarp + static_cast<int64_t>(threadIdx.x % kWarp);
}

}  // namespace srp::cuda
