// Products of tiles on tensor cores: 128 lines on the left times 128 on the right, of 16-bit numbers.
//
// Terms come in steps of 16 through a ring of slots in shared memory, copied beside the computation. Eight warps each make 32 x 64
// sums by mma.m16n8k16, and load the numbers of a step while they multiply those of the one before. A part of the terms is added up in
// the accumulators, which then go into float32 sums: a sum depends on the terms of its two lines alone, in an order that nothing
// changes. The left side may come as several numbers that make one (`kParts`); each of them is multiplied with the same right side.
#pragma once
#include "common.cuh"
#include "ptx.cuh"

namespace srp::cuda {

constexpr int kTensorTile = 128;  // lines of either side
constexpr int kTensorThreads = 256;
constexpr int kStepTerms = 16;
constexpr int kPieceTerms = 8;  // 16 bytes
constexpr size_t kTensorBytes = 48 << 10;  // of shared memory, as much as every device has

// A thread's sums, [m][n][i]: those of rows warp_row() + m * 16 + i / 2 * 8 + lane / 4 and columns warp_column() + n * 8 + lane % 4 * 2 +
// i % 2 of the tile.
constexpr int kSumRows = 2, kSumColumns = 8;
using TensorSums = float[kSumRows][kSumColumns][4];

__device__ __forceinline__ int tensor_lane() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ __forceinline__ int tensor_warp() { return static_cast<int>(threadIdx.x) / kWarp; }
__device__ __forceinline__ int warp_row() { return tensor_warp() / 2 * 32; }
__device__ __forceinline__ int warp_column() { return tensor_warp() % 2 * 64; }

// What a warp multiplies in a step, as mma wants it.
template <int kParts>
struct Fragments {
  uint32_t left[kParts][kSumRows][4], right[kSumColumns / 2][4];
};

template <class Number, int kParts>
__device__ __forceinline__ void multiply_step(const Fragments<kParts>& of, TensorSums& sums) {
  SRP_UNROLL
  for (int p = 0; p < kParts; ++p) {
    SRP_UNROLL
    for (int m = 0; m < kSumRows; ++m) {
      SRP_UNROLL
      for (int n = 0; n < kSumColumns; ++n)
        mma_m16n8k16(sums[m][n], of.left[p][m], of.right[n / 2][n % 2 * 2], of.right[n / 2][n % 2 * 2 + 1], Number{});
    }
  }
}

__device__ __forceinline__ void clear_sums(TensorSums& sums) {
  SRP_UNROLL
  for (int i = 0; i < 64; ++i) sums[i / 32][i / 4 % 8][i % 4] = 0;
}

__device__ __forceinline__ void add_sums(TensorSums& sums, const TensorSums& part) {
  SRP_UNROLL
  for (int i = 0; i < 64; ++i) sums[i / 32][i / 4 % 8][i % 4] += part[i / 32][i / 4 % 8][i % 4];
}

// 16 bytes from `from` on, which is aligned to them; or, unread, as many zeros.
__device__ __forceinline__ void copy_piece(char* to, const void* from, bool read) {
  __pipeline_memcpy_async(to, from, 16, read ? 0 : 16);
}

// The same number by number, for lines that are not aligned: from term `begin` on, those from `end` on as 0.
template <class T>
__device__ __forceinline__ void copy_numbers(char* to, const T* line, int64_t begin, int64_t end) {
  uint32_t words[4];
  SRP_UNROLL
  for (int w = 0; w < 4; ++w) {
    const int64_t d = begin + 2 * w;
    const uint32_t low = d < end ? line[d].bits : 0, high = d + 1 < end ? line[d + 1].bits : 0;
    words[w] = low | high << 16;
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

// sums = left times right, over `steps` steps. Tiles says what they are:
//
//   Number                what mma multiplies
//   kParts                numbers that make one of the left side
//   kSlots, kSlotBytes    of the ring
//   kSlotSteps            steps in a slot, 1 or 2; `steps` is a multiple of it
//   kPartSteps            steps that a part of a sum is made of, an even number
//   copy(slot, turn)      begins the copies by which this thread fills the turn-th slot
//   load(of, slot, step)  the fragments of a slot's step
//
// All threads of the block call it; the ring can be used for something else behind the next barrier.
template <class Tiles>
__device__ __forceinline__ void multiply_tiles(char* ring, Tiles& tiles, int64_t steps, TensorSums& sums) {
  constexpr int kSlots = Tiles::kSlots, kSlotSteps = Tiles::kSlotSteps, kBytes = Tiles::kSlotBytes;
  static_assert(kSlots * kBytes <= kTensorBytes && Tiles::kPartSteps % 2 == 0 && (kSlotSteps == 1 || kSlotSteps == 2),
                "the ring");
  const int64_t turns = steps / kSlotSteps;
  TensorSums part;
  clear_sums(sums);
  clear_sums(part);
  __syncthreads();  // what the ring held has been read
  SRP_UNROLL
  for (int t = 0; t < kSlots - 1; ++t) {
    if (t < turns) tiles.copy(ring + t * kBytes, t);
    __pipeline_commit();
  }
  __pipeline_wait_prior(kSlots - 2);
  __syncthreads();
  Fragments<Tiles::kParts> of[2];
  if (steps > 0) tiles.load(of[0], ring, 0);
  int64_t next = kSlots - 1;  // the turn to copy
  int full = 0, empty = (kSlots - 1) * kBytes;
  // Two loops, not one with a condition: nvcc would make it one of each addition, which then waits for the products at every step.
  for (int64_t first = 0; first < steps; first += Tiles::kPartSteps) {
    const int64_t end = first + Tiles::kPartSteps < steps ? first + Tiles::kPartSteps : steps;
    SRP_KEEP_ROLLED
    for (int64_t s = first; s < end; s += 2) {
      SRP_UNROLL
      for (int i = 0; i < 2; ++i) {
        if (kSlotSteps == 1 && s + i >= steps) break;
        if (kSlotSteps == 1 || i == 0) {
          if (next < turns) tiles.copy(ring + empty, next);
          __pipeline_commit();
          ++next;
          empty = empty == (kSlots - 1) * kBytes ? 0 : empty + kBytes;
        }
        if (kSlotSteps == 1 || i == 1) {
          __pipeline_wait_prior(kSlots - 2);
          __syncthreads();  // the next slot is there for all, and all have read this one
          full = full == (kSlots - 1) * kBytes ? 0 : full + kBytes;
        }
        if (s + i + 1 < steps) tiles.load(of[1 - i], ring + full, (i + 1) % kSlotSteps);
        multiply_step<typename Tiles::Number>(of[i], part);
      }
    }
    add_sums(sums, part);
    clear_sums(part);
  }
}

}  // namespace srp::cuda
