// What a product of a linear head's gradients copies and multiplies: g of a slab (linear_slab.cuh) on the left, in its two numbers, and lines
// of D numbers on the right, those of weight or of hidden.
#pragma once
#include "linear_logits.cuh"
#include "linear_slab.cuh"

namespace srp::cuda {

// The right side of a product: D numbers a line, the lines are its terms.
struct TermLines {
  const BFloat16* first;
  int64_t D, pitch, lines;
  const uint8_t* mask;  // of lines, or NULL
  bool aligned;  // pitch and first: to 16 bytes
  int64_t steps;  // of the slab's terms
  int parts;  // of a number: the lines of the first, then those of the second

  // Not 0 for a line that is there: as it lies in memory, so that nobody waits for it before it is needed.
  __device__ __forceinline__ uint8_t there(int64_t line) const {
    if (line >= lines) return 0;
    return mask ? mask[line] : 1;
  }
};

// Of a slab's product, a step of 16 terms a slot: g on the left, in its two numbers; lines of D numbers on the right, 128 of each.
// Pieces of 16 bytes change places so that what a load reads meets all banks.
//
// kOfWeight: the terms are rows, the lines ids; else the terms are ids, the lines rows.
template <bool kOfWeight>
class ProductTiles {
 public:
  using Number = BFloat16;
  static constexpr int kParts = 2, kSlots = 4, kSlotSteps = 1, kPartSteps = 8;
  static constexpr int kPanelBytes = 2 * kPanel, kRightBytes = 2 * kTensorTile;  // of a line
  static constexpr int kSideBytes = kTensorTile * kPanelBytes, kSlotBytes = 3 * kSideBytes;

  // Of the left side a thread copies 16 bytes a step: of one panel of ids 128 rows, or of eight panels 16 rows, which follow each other in
  // the slot as they do there.
  __device__ ProductTiles(const Slab& slab, const TermLines& right, int64_t line, int64_t column) : right_(right) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t row = kOfWeight ? thread / 2 % kStepTerms : line + thread / 2;
    const int64_t id = (kOfWeight ? line + thread / 32 * kPanel : 0) + thread % 2 * kPieceTerms;
    left_ = slab.part(0) + slab.place(row, id);
    to_rest_ = slab.part(1) - slab.part(0);
    left_step_ = kOfWeight ? kStepTerms * kPanel : slab.rows * kPanel;
    term_ = own_term();
    line_ = right.first + term_ * right.pitch;
    column_ = column + thread % 16 * kPieceTerms;
    there_ = right.there(term_);
  }

  // Turns must come in their order.
  __device__ __forceinline__ void copy(char* slot, int64_t turn) {
    const int thread = static_cast<int>(threadIdx.x);
    char* const to = slot + left_place(thread / 2, thread % 2);
    __pipeline_memcpy_async(to, left_, 16);
    __pipeline_memcpy_async(to + kSideBytes, left_ + to_rest_, 16);
    char* const to_right = slot + 2 * kSideBytes + right_place(own_term(), thread % 16);
    if (right_.aligned)
      copy_piece(to_right, line_ + column_, there_ != 0 && column_ < right_.D);
    else
      copy_numbers(to_right, line_, column_, there_ != 0 ? right_.D : 0);
    left_ += left_step_;
    if (turn + 1 == right_.steps) left_ -= right_.steps * left_step_;  // the second parts meet the same g
    term_ += kStepTerms;
    line_ += kStepTerms * right_.pitch;
    there_ = right_.there(term_);  // read now, so that the next copies do not wait for it
  }

  __device__ __forceinline__ void load(Fragments<2>& of, const char* slot, int) const {
    const int lane = tensor_lane();
    const int row = kOfWeight ? lane / 16 * 8 + lane % 8 : lane % 16, piece = kOfWeight ? lane / 8 % 2 : lane / 16;
    // m counts 16 ids of a panel, or 16 rows: as many bytes.
    const char* const left = slot + left_place(warp_row() + row, piece);
    SRP_UNROLL
    for (int p = 0; p < kParts; ++p) {
      SRP_UNROLL
      for (int m = 0; m < kSumRows; ++m) {
        const char* const from = left + p * kSideBytes + m * 16 * kPanelBytes;
        if constexpr (kOfWeight)
          ldmatrix_x4_across(of.left[p][m], from);
        else
          ldmatrix_x4(of.left[p][m], from);
      }
    }
    const int term = lane / 8 % 2 * 8 + lane % 8;
    SRP_UNROLL
    for (int n = 0; n < kSumColumns / 2; ++n)
      ldmatrix_x4_across(of.right[n], slot + 2 * kSideBytes + right_place(term, warp_column() / 8 + n * 2 + lane / 16));
  }

 private:
  static __device__ __forceinline__ int own_term() { return static_cast<int>(threadIdx.x) / 16; }
  static __device__ __forceinline__ int left_place(int row, int piece) {
    return row * kPanelBytes + ((piece ^ (row / 4 % 2)) * 16);
  }
  static __device__ __forceinline__ int right_place(int term, int piece) {
    return term * kRightBytes + ((piece ^ (term % 8)) * 16);
  }

  const TermLines& right_;
  const uint16_t* left_;  // the nearest numbers, the rest `to_rest_` behind them
  int64_t to_rest_, left_step_;
  const BFloat16* line_;  // of this thread's next term
  int64_t term_, column_;
  uint8_t there_;
};

// The same for warpgroups, a stage of 64 terms a slot: 192 lines of the left side in two numbers, or the panels of 192 ids, whose lines are
// terms; of the right side 64 lines of 128 numbers, as two blocks of 64 numbers. Lines are whole 16 bytes.
template <bool kOfWeight>
class ProductStages {
 public:
  using Number = BFloat16;
  using Way = WarpgroupTiles;
  static constexpr int kParts = 2, kSlots = 3, kPartStages = 2, kBehind = 0, kAcrossLeft = kOfWeight, kAcrossRight = 1;

  __device__ ProductStages(const Slab& slab, const TermLines& right, int64_t line, int64_t column)
      : slab_(slab), right_(right) {
    left_ = slab.part(0) + (kOfWeight ? slab.place(0, line) : slab.place(line, 0)) + own_piece() * kPieceTerms;
    there_ = 0;
    SRP_UNROLL
    for (int i = 0; i < kLeft; ++i) {
      const int own = own_line() + i * kLines;
      if (kOfWeight ? line + own / Way::kStageTerms * kGroupPanel < slab.ids : line + own < slab.rows)
        there_ |= 1u << i;
    }
    line_ = right.first + own_term() * right.pitch + column + own_right() * kPieceTerms;
    if (column + own_right() * kPieceTerms < right.D) there_ |= 1u << kLeft;
  }

  // Stages must come in their order.
  __device__ __forceinline__ void copy(char* slot, int64_t stage) {
    copy_left(slot);
    copy_right(slot + kParts * Way::kLeftBytes, stage * Way::kStageTerms);
    const int64_t next = kOfWeight ? Way::kStageTerms * kGroupPanel : slab_.rows * kGroupPanel;
    left_ += next;
    if (stage + 1 == right_.steps) left_ -= right_.steps * next;  // the second parts meet the same g
    line_ += Way::kStageTerms * right_.pitch;
  }

 private:
  static constexpr int kPieces = Way::kLineBytes / 16,
                       kLines = Way::kThreads / kPieces;  // lines that all threads copy together
  static constexpr int kLeft = Way::kRows / kLines, kTerms = Way::kThreads / (2 * kPieces);

  static __device__ __forceinline__ int own_line() { return static_cast<int>(threadIdx.x) / kPieces; }
  static __device__ __forceinline__ int own_piece() { return static_cast<int>(threadIdx.x) % kPieces; }
  static __device__ __forceinline__ int own_term() { return static_cast<int>(threadIdx.x) / (2 * kPieces); }
  static __device__ __forceinline__ int own_right() { return static_cast<int>(threadIdx.x) % (2 * kPieces); }

  // A stage has 192 lines of a panel, or of each of three panels as many as it has terms.
  __device__ __forceinline__ void copy_left(char* slot) const {
    char* const to = slot + own_line() * Way::kLineBytes + (own_piece() ^ own_line() % kPieces) * 16;
    const int64_t rest = slab_.part(1) - slab_.part(0);
    SRP_UNROLL
    for (int i = 0; i < kLeft; ++i) {
      const int line = own_line() + i * kLines;
      const uint16_t* const from = left_ + (kOfWeight ? line / Way::kStageTerms * slab_.rows * kGroupPanel +
                                                            line % Way::kStageTerms * kGroupPanel
                                                      : line * kGroupPanel);
      const bool there = (there_ >> i & 1) != 0;
      copy_piece(to + i * kLines * Way::kLineBytes, from, there);
      copy_piece(to + i * kLines * Way::kLineBytes + Way::kLeftBytes, from + rest, there);
    }
  }

  __device__ __forceinline__ void copy_right(char* slot, int64_t term) const {
    char* const to = slot + own_right() / kPieces * (Way::kStageTerms * Way::kLineBytes) +
                     own_term() * Way::kLineBytes + (own_right() % kPieces ^ own_term() % kPieces) * 16;
    SRP_UNROLL
    for (int line = 0; line < Way::kStageTerms; line += kTerms) {
      if (own_term() + line >= Way::kStageTerms) break;
      const bool there = (there_ >> kLeft & 1) != 0 && right_.there(term + own_term() + line) != 0;
      copy_piece(to + line * Way::kLineBytes, line_ + line * right_.pitch, there);
    }
  }

  const Slab& slab_;
  const TermLines& right_;
  const uint16_t* left_;  // of this thread's first line, the nearest numbers
  const BFloat16* line_;  // of its first term
  uint32_t there_;  // a bit for each line of the left side, and one for the columns
};

// The product of a tile, whose sums begin at `line` and `column`.
template <bool kOfWeight, class Way>
__device__ __forceinline__ void multiply(char* memory, const Slab& slab, const TermLines& right, int64_t line,
                                         int64_t column, TensorSums& sums) {
  if constexpr (Way::kOfGroups) {
    ProductStages<kOfWeight> product(slab, right, line, column);
    multiply_stages(ring_of<Way>(memory), product, static_cast<int>(right.steps * right.parts), sums);
  } else {
    ProductTiles<kOfWeight> product(slab, right, line, column);
    multiply_tiles(ring_of<Way>(memory), product, right.steps * right.parts, sums);
  }
}

}  // namespace srp::cuda
