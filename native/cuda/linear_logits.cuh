// Logits of a linear head of 16-bit numbers on tensor cores: those of 128 rows and 128 ids, of which a thread gets TensorSums.
#pragma once
#include "linear.cuh"
#include "tensor_tiles.cuh"
#include "vector.cuh"

namespace srp::cuda {

// Lines of hidden on the left and of weight on the right, terms side by side: 32 terms a slot, 64 bytes of each line. Pieces of 16 bytes
// change places so that eight lines next to each other meet all banks.
template <class T>
struct LogitTiles {
  using Number = T;
  static constexpr int kParts = 1, kSlots = 3, kSlotSteps = 2, kPartSteps = 16;
  static constexpr int kTerms = kSlotSteps * kStepTerms, kPieces = kTerms / kPieceTerms, kLineBytes = 2 * kTerms;
  static constexpr int kSideBytes = kTensorTile * kLineBytes, kSlotBytes = 2 * kSideBytes;

  static constexpr int kApart = kTensorTile / 2;  // lines between the two of a side that a thread copies

  const T *left, *right;  // the first line of each side that this thread copies: that of threadIdx.x / 4
  uint32_t there;  // a bit a line, left, left, right, right: those that are none count as 0, unread
  int64_t D;
  bool aligned;

  static __device__ __forceinline__ int place(int line, int piece) {
    return line * kLineBytes + ((piece ^ (line / 2 % kPieces)) * 16);
  }

  __device__ __forceinline__ const T* from_line(int i) const { return (i / 2 ? right : left) + i % 2 * kApart * D; }
  static __device__ __forceinline__ char* to_line(char* slot, int line, int piece, int i) {
    return slot + place(line, piece) + i % 2 * kApart * kLineBytes + i / 2 * kSideBytes;
  }

  __device__ __forceinline__ void copy(char* slot, int64_t turn) const {
    const int line = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
    const int64_t begin = turn * kTerms + piece * kPieceTerms;
    if (aligned) {  // D is a multiple of a piece then
      const uint32_t read = begin < D ? there : 0;
      SRP_UNROLL
      for (int i = 0; i < 4; ++i) copy_piece(to_line(slot, line, piece, i), from_line(i) + begin, (read >> i & 1) != 0);
      return;
    }
    SRP_KEEP_ROLLED
    for (int i = 0; i < 4; ++i)
      copy_numbers(to_line(slot, line, piece, i), from_line(i), begin, (there >> i & 1) != 0 ? D : 0);
  }

  __device__ __forceinline__ void load(Fragments<1>& of, const char* slot, int step) const {
    const int lane = tensor_lane(), move = step * 2 * 16;
    const int from_left = place(warp_row() + lane % 16, lane / 16) ^ move;
    const int from_right = (kSideBytes + place(warp_column() + lane / 16 * 8 + lane % 8, lane / 8 % 2)) ^ move;
    SRP_UNROLL
    for (int m = 0; m < kSumRows; ++m) ldmatrix_x4(of.left[0][m], slot + from_left + m * 16 * kLineBytes);
    SRP_UNROLL
    for (int n = 0; n < kSumColumns / 2; ++n) ldmatrix_x4(of.right[n], slot + from_right + n * 16 * kLineBytes);
  }
};

// A map that the host made: as an argument it takes no registers beside the sums. For kernels compiled without a softcap it has none.
template <bool kCapped>
__device__ __forceinline__ LogitMap given(LogitMap map) {
  if (!kCapped) map.rate = map.height = 0;
  return map;
}

// Logits without their bias. A row that is not kept counts as 0, unread.
template <class T, class Args>
__device__ __forceinline__ void form_logits(const Args& a, char* ring, int64_t first_row, int64_t first_id,
                                            TensorSums& x) {
  const T *const hidden = static_cast<const T*>(a.hidden), *const weight = static_cast<const T*>(a.weight);
  LogitTiles<T> tiles;
  tiles.D = a.D;
  tiles.aligned = a.D % kPieceTerms == 0 && aligned16(hidden) && aligned16(weight);
  const int64_t n = first_row + threadIdx.x / LogitTiles<T>::kPieces;
  const int64_t j = first_id + threadIdx.x / LogitTiles<T>::kPieces;
  tiles.left = hidden + n * a.D;
  tiles.right = weight + j * a.D;
  tiles.there = 0;
  SRP_UNROLL
  for (int i = 0; i < 2; ++i) {
    const int64_t row = n + i * LogitTiles<T>::kApart, id = j + i * LogitTiles<T>::kApart;
    if (row < a.N && kept(a.mask, row)) tiles.there |= 1u << i;
    if (id < a.V) tiles.there |= 4u << i;
  }
  multiply_tiles(ring, tiles, (a.D + LogitTiles<T>::kTerms - 1) / LogitTiles<T>::kTerms * 2, x);
}

// Adds the bias; an id that is not there has a logit of -infinity.
template <class T, class Args>
__device__ __forceinline__ void add_bias(const Args& a, int64_t first_id, TensorSums& x) {
  const T* const bias = static_cast<const T*>(a.bias);
  SRP_UNROLL
  for (int n = 0; n < kSumColumns; ++n) {
    SRP_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int64_t j = first_id + warp_column() + n * 8 + tensor_lane() % 4 * 2 + i;
      const float shift = j >= a.V ? -INFINITY : bias ? to_float(bias[j]) : 0.0f;
      SRP_UNROLL
      for (int m = 0; m < kSumRows; ++m) {
        x[m][n][i] += shift;
        x[m][n][i + 2] += shift;
      }
    }
  }
}

}  // namespace srp::cuda
