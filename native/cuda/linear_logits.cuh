// Logits of a linear head on tensor cores, of 16-bit numbers or of float32 numbers in parts: those of some rows (WarpTiles::kRows or WarpgroupTiles::kRows) and 128 ids,
// of which a thread gets TensorSums.
#pragma once
#include "launch.cuh"
#include "linear_parts.cuh"
#include "vector.cuh"
#include "warpgroup_tiles.cuh"

namespace srp::cuda {

// Lines of hidden on the left and of weight on the right, terms side by side: 32 terms a slot, 64 bytes of each line. Pieces of 16 bytes
// change places so that eight lines next to each other meet all banks.
template <class T>
struct LogitTiles {
  using Number = T;
  static constexpr int kParts = 1, kSlots = 3, kSlotSteps = 2, kPartSteps = 16;
  static constexpr int kTerms = kSlotSteps * kStepTerms, kPieces = kTerms / kPieceTerms, kLineBytes = 2 * kTerms;
  static constexpr int kSideBytes = kTensorTile * kLineBytes, kSlotBytes = 2 * kSideBytes;

  static constexpr int kLeft = 2, kRight = 2;  // lines of a side that a thread copies
  static constexpr int kApart = kTensorTile / 2;  // and how many lie between them

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

// The same for warpgroups: 64 terms a stage, 128 bytes of each line, whose numbers are aligned to 16 bytes. A thread copies a piece of every
// 48th line.
template <class T>
struct LogitStages {
  using Number = T;
  static constexpr int kParts = 1, kSlots = 5, kPartStages = 4, kBehind = 1, kAcrossLeft = 0, kAcrossRight = 0;
  static constexpr int kPieces = WarpgroupTiles::kStageTerms / kPieceTerms, kApart = WarpgroupTiles::kThreads / kPieces;
  static constexpr int kLeft = WarpgroupTiles::kRows / kApart, kRight = (kTensorTile + kApart - 1) / kApart;
  static constexpr int kLast = kLeft + kRight - 1, kLastLines = kTensorTile - (kRight - 1) * kApart;

  const T *left, *right;  // the first line of each side that this thread copies: that of threadIdx.x / 8
  uint32_t there;  // a bit a line, the left ones first
  int64_t D;

  __device__ __forceinline__ void copy(char* slot, int64_t stage) const {
    const int line = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
    const int64_t begin = stage * WarpgroupTiles::kStageTerms + piece * kPieceTerms;
    char* const to = slot + line * WarpgroupTiles::kLineBytes + (piece ^ line % kPieces) * 16;
    const uint32_t read = begin < D ? there : 0;
    SRP_UNROLL
    for (int i = 0; i <= kLast; ++i) {
      if (i == kLast && line >= kLastLines) break;
      const T* const from = i < kLeft ? left + i * kApart * D : right + (i - kLeft) * kApart * D;
      copy_piece(to + i * kApart * WarpgroupTiles::kLineBytes, from + begin, (read >> i & 1) != 0);
    }
  }
};

// A map that the host made: as an argument it takes no registers beside the sums. For kernels compiled without a softcap it has none.
template <bool kCapped>
__device__ __forceinline__ LogitMap given(LogitMap map) {
  if (!kCapped) map.rate = map.height = 0;
  return map;
}

// Whether lines can be copied 16 bytes at a time.
template <class T, class Args>
SRP_HD bool in_pieces(const Args& a) {
  return kInParts<T> || (a.D % kPieceTerms == 0 && aligned16(a.hidden) && aligned16(a.weight));
}

// Which of `kLines` lines that are `kApart` from each other are there, a bit each.
template <int kLines, int kApart, class There>
__device__ __forceinline__ uint32_t lines_there(int64_t first, const There& there) {
  uint32_t bits = 0;
  SRP_UNROLL
  for (int i = 0; i < kLines; ++i)
    if (there(first + i * kApart)) bits |= 1u << i;
  return bits;
}

// Logits without their bias. A row that is not kept counts as 0, unread. Of float32 numbers the arguments are those of in_parts(), whose first
// lines are `parts`.
template <class T, class Way, class Args>
__device__ __forceinline__ void form_logits(const Args& a, char* ring, int64_t first_row, int64_t first_id,
                                            const PartsOf& parts, TensorSums& x) {
  using Number = ProductNumber<T>;
  using Tiles = std::conditional_t<Way::kOfGroups, LogitStages<Number>, LogitTiles<Number>>;
  Tiles tiles;
  tiles.D = a.D;
  const int64_t n = first_row + threadIdx.x / Tiles::kPieces, j = first_id + threadIdx.x / Tiles::kPieces;
  tiles.left = static_cast<const Number*>(a.hidden) + (kInParts<T> ? n - parts.row : n) * a.D;
  tiles.right = static_cast<const Number*>(a.weight) + (kInParts<T> ? j - parts.id : j) * a.D;
  const auto row_there = [&](int64_t row) { return row < a.N && kept(a.mask, row); };
  const auto id_there = [&](int64_t id) { return id < a.V; };
  tiles.there = lines_there<Tiles::kLeft, Tiles::kApart>(n, row_there) |
                lines_there<Tiles::kRight, Tiles::kApart>(j, id_there) << Tiles::kLeft;
  if constexpr (Way::kOfGroups) {
    constexpr int64_t kTerms = WarpgroupTiles::kStageTerms;
    multiply_stages(ring, tiles, static_cast<int>((a.D + kTerms - 1) / kTerms), x);
  } else {
    tiles.aligned = in_pieces<T>(a);
    multiply_tiles(ring, tiles, (a.D + Tiles::kTerms - 1) / Tiles::kTerms * 2, x);
  }
}

// Whether a card's warpgroups make the tiles; where lines are not made of pieces, its warps do.
template <class T, class Args>
bool takes_groups(TensorCores cores, const Args& a) {
  return cores == TensorCores::of_warpgroups && in_pieces<T>(a);
}

// Calls `run(way)` with the tiles.
template <class T, class Args, class Run>
srp_status with_tiles_of(TensorCores cores, const Args& a, const Run& run) {
  return takes_groups<T>(cores, a) ? run(WarpgroupTiles{}) : run(WarpTiles{});
}

// Adds the bias; an id that is not there has a logit of -infinity.
template <class T, class Way, class Args>
__device__ __forceinline__ void add_bias(const Args& a, int64_t first_id, TensorSums& x) {
  const T* const bias = static_cast<const T*>(a.bias);
  SRP_UNROLL
  for (int m = 0; m < kSumRows; ++m) {
    SRP_UNROLL
    for (int n = 0; n < kSumColumns; ++n) {
      SRP_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int64_t j = first_id + Way::column(m) + n * 8 + tensor_lane() % 4 * 2 + i;
        const float shift = j >= a.V ? -INFINITY : bias ? to_float(bias[j]) : 0.0f;
        x[m][n][i] += shift;
        x[m][n][i + 2] += shift;
      }
    }
  }
}

}  // namespace srp::cuda
