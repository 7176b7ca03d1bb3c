// Products of tiles on tensor cores: 128 lines on the left times 128 on the right, both 16-bit numbers with their terms side by side.
//
// Terms come in stages of 32 through a ring of three in shared memory, copied beside the computation. Eight warps each make 64 x 32 sums
// by mma.m16n8k16, 256 terms in the accumulators, which then go into float32 sums. So a sum depends on the terms of its two lines
// alone, in an order that nothing changes.
#pragma once
#include "common.cuh"
#include "ptx.cuh"

namespace srp::cuda {

constexpr int kTensorTile = 128;  // lines of either side
constexpr int kTensorThreads = 256;
constexpr int kTensorTerms = 32;  // of a stage
constexpr int kTensorStages = 3;
constexpr int kPartStages = 8;  // stages that a part of a sum is made of
constexpr int kPieceTerms = 8;  // 16 bytes
constexpr int kLinePieces = kTensorTerms / kPieceTerms;

struct alignas(16) TensorStage {
  uint16_t terms[2 * kTensorTile * kTensorTerms];  // lines of the left, then of the right

  // Where 16 bytes of a line lie: eight lines next to each other meet all banks.
  __device__ __forceinline__ uint16_t* piece(int line, int number) {
    return terms + line * kTensorTerms + ((number ^ (line / 2 % kLinePieces)) * kPieceTerms);
  }
};
constexpr size_t kTensorBytes = kTensorStages * sizeof(TensorStage);  // of shared memory: 48 KiB

// A thread's sums: rows tensor_row(m, i / 2), columns tensor_column(n, i % 2) of the tile.
using TensorSums = float[4][4][4];  // [m][n][i]

__device__ __forceinline__ int tensor_lane() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ __forceinline__ int tensor_warp() { return static_cast<int>(threadIdx.x) / kWarp; }
__device__ __forceinline__ int warp_row() { return tensor_warp() / 4 * 64; }
__device__ __forceinline__ int warp_column() { return tensor_warp() % 4 * 32; }

// 128 lines of one side, D terms each; a line that is not there is NULL and counts as 0.
template <class T>
struct TensorLines {
  const T* lines[2];  // those that this thread copies: threadIdx.x / 4, and 64 behind it

  // line(i): its first term, or NULL.
  template <class Line>
  __device__ static TensorLines of(const Line& line) {
    const int first = static_cast<int>(threadIdx.x) / kLinePieces;
    return {{line(first), line(first + kTensorTile / 2)}};
  }
};

// 16 bytes of a line from term `begin` on, those from D on as 0.
template <class T>
__device__ __forceinline__ void copy_piece(uint16_t* to, const T* line, const T* any, int64_t begin, int64_t D,
                                           bool aligned) {
  if (aligned) {  // D is a multiple of a piece then
    const bool read = line && begin < D;
    __pipeline_memcpy_async(to, read ? line + begin : any, 16, read ? 0 : 16);
    return;
  }
  uint32_t words[4];
  SRP_UNROLL
  for (int w = 0; w < 4; ++w) {
    const int64_t d = begin + 2 * w;
    const uint32_t low = line && d < D ? line[d].bits : 0, high = line && d + 1 < D ? line[d + 1].bits : 0;
    words[w] = low | high << 16;
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

template <class T>
__device__ __forceinline__ void copy_stage(TensorStage& to, const TensorLines<T>& left, const TensorLines<T>& right,
                                           const T* any, int64_t stage, int64_t D, bool aligned) {
  const int first = static_cast<int>(threadIdx.x) / kLinePieces, number = static_cast<int>(threadIdx.x) % kLinePieces;
  const int64_t begin = stage * kTensorTerms + number * kPieceTerms;
  SRP_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int line = first + half * kTensorTile / 2;
    copy_piece(to.piece(line, number), left.lines[half], any, begin, D, aligned);
    copy_piece(to.piece(kTensorTile + line, number), right.lines[half], any, begin, D, aligned);
  }
}

template <class T>
__device__ __forceinline__ void multiply_stage(TensorStage& stage, TensorSums& part) {
  const int lane = tensor_lane();
  SRP_UNROLL
  for (int k = 0; k < kTensorTerms / 16; ++k) {
    uint32_t a[4][4], b[2][4];
    SRP_UNROLL
    for (int m = 0; m < 4; ++m) ldmatrix_x4(a[m], stage.piece(warp_row() + m * 16 + lane % 16, 2 * k + lane / 16));
    SRP_UNROLL
    for (int n = 0; n < 2; ++n)
      ldmatrix_x4(b[n],
                  stage.piece(kTensorTile + warp_column() + n * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
    SRP_UNROLL
    for (int m = 0; m < 4; ++m) {
      SRP_UNROLL
      for (int n = 0; n < 4; ++n) mma_m16n8k16(part[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1], T{});
    }
  }
}

__device__ __forceinline__ void clear_sums(TensorSums& sums) {
  SRP_UNROLL
  for (int i = 0; i < 64; ++i) sums[i / 16][i / 4 % 4][i % 4] = 0;
}

// sums = left times right. `any`: an address of T that is aligned where the lines are. All threads of the block call it; the stages
// can be used for something else behind the next barrier.
template <class T>
__device__ __forceinline__ void multiply_tiles(TensorStage* ring, const TensorLines<T>& left,
                                               const TensorLines<T>& right, const T* any, int64_t D, bool aligned,
                                               TensorSums& sums) {
  const int64_t stages = (D + kTensorTerms - 1) / kTensorTerms;
  TensorSums part;
  clear_sums(sums);
  clear_sums(part);
  __syncthreads();  // what the ring held has been read
  for (int64_t s = 0; s < kTensorStages - 1; ++s) {
    if (s < stages) copy_stage(ring[s], left, right, any, s, D, aligned);
    __pipeline_commit();
  }
  for (int64_t s = 0; s < stages; ++s) {
    __pipeline_wait_prior(kTensorStages - 2);
    __syncthreads();  // this stage is there for all, and all have read the one before, whose place is next
    const int64_t next = s + kTensorStages - 1;
    if (next < stages) copy_stage(ring[next % kTensorStages], left, right, any, next, D, aligned);
    __pipeline_commit();
    multiply_stage<T>(ring[s % kTensorStages], part);
    if ((s + 1) % kPartStages != 0 && s + 1 < stages) continue;
    SRP_UNROLL
    for (int i = 0; i < 64; ++i) sums[i / 16][i / 4 % 4][i % 4] += part[i / 16][i / 4 % 4][i % 4];
    clear_sums(part);
  }
}

}  // namespace srp::cuda
