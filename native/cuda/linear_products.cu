// The gradients of a linear head of 16-bit numbers on tensor cores (contract: surprisal/linear.h): g of a slab (linear_slab.cuh), formed
// once, times weight for those of hidden and, with rows and ids changed over, times hidden for those of weight. Sums wait in float64
// until the last slab.
//
// bfloat16 numbers are multiplied as they lie. Those of float16 come as two bfloat16 numbers each, which together are exactly theirs: a
// float16 g would lose what is small.
#include <type_traits>

#include "linear_logits.cuh"
#include "linear_slab.cuh"

namespace srp::cuda {
namespace {

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

// Where a product's sums go, of the lines before `end`: with those that wait, to wait on or to `store(line, d, sum)`.
template <class Way, class Store>
__device__ __forceinline__ void put_sums(const TensorSums& sums, double* waiting, int64_t line, int64_t end,
                                         int64_t column, int64_t D, bool first, bool last, const Store& store) {
  SRP_UNROLL
  for (int r = 0; r < 2 * kSumRows; ++r) {
    const int64_t at = line + Way::row(r / 2) + r % 2 * 8 + tensor_lane() / 4;
    if (at >= end) continue;
    SRP_UNROLL
    for (int c = 0; c < 2 * kSumColumns; ++c) {
      const int64_t d = column + Way::column(r / 2) + c / 2 * 8 + tensor_lane() % 4 * 2 + c % 2;
      if (d >= D) continue;
      double sum = static_cast<double>(sums[r / 2][c / 2][r % 2 * 2 + c % 2]);
      if (!first) sum += waiting[at * D + d];
      if (last)
        store(at, d, sum);
      else
        waiting[at * D + d] = sum;
    }
  }
}

// ledger    linear_backward
// bytes     4 N V + s D V + 16 N D V / 2048
// limit     issue
// threads   256
// shared    49152
// notes     2 N V D operations on tensor cores, twice: g comes in two parts; of warps, or on sm_90 of warpgroups with 384 threads and
//           205824 bytes
// turn      128 of hidden_product_kernel<BFloat16, WarpgroupTiles>: 128 warpgroup, 160 loaded; 1.333 bytes; at most 3
template <class T, class Way>
__global__ void __launch_bounds__(Way::kThreads, 1)
    hidden_product_kernel(srp_linear_backward_args a, Slab slab, TermLines weight, double* waiting) {
  if constexpr (Way::kOfGroups && SRP_WARPGROUP_INSTRUCTIONS == 0) return;
  SRP_DYN_SHARED(char, memory);
  const int64_t tiles = (slab.rows + Way::kRows - 1) / Way::kRows;
  const int64_t line = blockIdx.x % tiles * Way::kRows, column = blockIdx.x / tiles * kTensorTile;
  TensorSums sums;
  multiply<false, Way>(memory, slab, weight, line, column, sums);
  const bool first = slab.first_id == 0, last = slab.first_id + slab.ids >= a.V;
  put_sums<Way>(sums, waiting, line, slab.rows, column, a.D, first, last, [&](int64_t row, int64_t d, double sum) {
    const int64_t n = slab.first_row + row;
    if (n < a.N) store(static_cast<T*>(a.grad_hidden), n * a.D + d, kept(a.mask, n) ? sum : 0);
  });
}

// ledger    linear_backward
// bytes     4 N V + s D N + w D V
// limit     issue
// threads   256
// shared    49152
// notes     2 N V D operations on tensor cores, twice: g comes in two parts; of warps, or on sm_90 of warpgroups with 384 threads and
//           205824 bytes
// turn      128 of weight_product_kernel<BFloat16, WarpgroupTiles>: 128 warpgroup, 160 loaded; 1.333 bytes; at most 3
template <class T, class Way>
__global__ void __launch_bounds__(Way::kThreads, 1)
    weight_product_kernel(srp_linear_backward_args a, Slab slab, TermLines hidden, double* waiting) {
  if constexpr (Way::kOfGroups && SRP_WARPGROUP_INSTRUCTIONS == 0) return;
  SRP_DYN_SHARED(char, memory);
  const int64_t tiles = (slab.ids + Way::kRows - 1) / Way::kRows;
  const int64_t line = blockIdx.x % tiles * Way::kRows, column = blockIdx.x / tiles * kTensorTile;
  TensorSums sums;
  multiply<true, Way>(memory, slab, hidden, line, column, sums);
  const bool first = slab.first_row == 0, last = slab.first_row + slab.rows >= a.N;
  put_sums<Way>(sums, waiting, line, slab.ids, column, a.D, first, last, [&](int64_t id, int64_t d, double sum) {
    store_sum<T>(a, a.grad_weight, (slab.first_id + id) * a.D + d, sum);
  });
}

// Each number as two: the nearest bfloat16 and the rest, [2, lines, pitch]; 0 where there is none.
//
// ledger    linear_backward
// bytes     6 D N V / 2048 + 6 D V N / 2048
// limit     memory
// notes     float16 alone: hidden of a slab's rows and weight of its ids, as bfloat16
__global__ void split_kernel(const Half* from, const uint8_t* mask, int64_t there, int64_t lines, int64_t D,
                             int64_t pitch, BFloat16* to) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= lines * pitch) return;
  const int64_t line = i / pitch, d = i % pitch;
  const float x = line < there && d < D && kept(mask, line) ? to_float(from[line * D + d]) : 0.0f;
  const BFloat16 near = to_bfloat16(x);
  to[i] = near;
  to[lines * pitch + i] = to_bfloat16(x - to_float(near));
}

// ---- the passes over slabs

int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

template <class T>
struct Pass {
  static constexpr bool kSplit = !std::is_same_v<T, BFloat16>;

  srp_queue* queue;
  TensorCores cores;
  bool in_groups;  // whether warpgroups take its tiles
  const srp_linear_backward_args& a;
  BFloat16* split;
  double *of_hidden, *of_weight, *of_bias;  // where sums wait: [rows of the pass, D], [kSlabIds, D], [kSlabIds]

  // Of the right side of a product, its lines from `first` on.
  TermLines lines_of(const void* numbers, const uint8_t* mask, int64_t first, int64_t count) const {
    const T* const from = static_cast<const T*>(numbers) + first * a.D;
    const int64_t unit = in_groups ? WarpgroupTiles::kStageTerms : kStepTerms;
    const int64_t lines = rounded_up(count, unit), steps = lines / unit;
    if (mask) mask += first;
    if constexpr (kSplit) {
      const int64_t pitch = rounded_up(a.D, kPieceTerms);
      if (lines * pitch > 0)
        SRP_LAUNCH(split_kernel, blocks_for(lines * pitch, 256), 256, 0, queue->stream, from, mask, count, lines, a.D,
                   pitch, split);
      return {split, pitch, pitch, 2 * lines, nullptr, true, steps, 2};
    } else {
      return {from, a.D, a.D, count, mask, a.D % kPieceTerms == 0 && aligned16(numbers), steps, 1};
    }
  }

  srp_status multiply_hidden(const Slab& slab, int64_t pass_row) const {
    const TermLines weight = lines_of(a.weight, nullptr, slab.first_id, slab.ids);
    return with_tiles_of(cores, a, [&](auto way) {
      using Way = decltype(way);
      return launch(hidden_product_kernel<T, Way>, way, slab.rows, slab, weight,
                    of_hidden + (slab.first_row - pass_row) * a.D);
    });
  }

  srp_status multiply_weight(const Slab& slab) const {
    const int64_t rows = slab.first_row + slab.rows < a.N ? slab.rows : a.N - slab.first_row;
    const TermLines hidden = lines_of(a.hidden, a.mask, slab.first_row, rows);
    return with_tiles_of(cores, a, [&](auto way) {
      using Way = decltype(way);
      return launch(weight_product_kernel<T, Way>, way, slab.ids, slab, hidden, of_weight);
    });
  }

  // A block for each tile of `lines` and D.
  template <class Way>
  srp_status launch(void (*kernel)(srp_linear_backward_args, Slab, TermLines, double*), Way, int64_t lines,
                    const Slab& slab, const TermLines& right, double* waiting) const {
    const int64_t tiles = (lines + Way::kRows - 1) / Way::kRows * ((a.D + kTensorTile - 1) / kTensorTile);
    if (tiles == 0) return SRP_OK;
    SRP_TRY(allow_shared(kernel, Way::kRingBytes));
    SRP_LAUNCH(kernel, static_cast<unsigned>(tiles), Way::kThreads, Way::kRingBytes, queue->stream, a, slab, right,
               waiting);
    return SRP_OK;
  }

  // Over rows [begin, end). There is a slab even without rows or ids: their empty sums must be stored too.
  srp_status run(uint16_t* numbers, int64_t begin, int64_t end, bool hidden, bool head) const {
    for (int64_t id = 0; id == 0 || id < a.V; id += kSlabIds)
      for (int64_t row = begin; row == begin || row < end; row += kSlabRows) {
        const int64_t rows = end - row < kSlabRows ? rounded_up(end - row, kTensorRows) : kSlabRows;
        const int64_t panel = in_groups ? kGroupPanel : kPanel;
        const Slab slab = {numbers, panel, row, rows, id, a.V - id < kSlabIds ? a.V - id : kSlabIds};
        SRP_TRY(launch_slab<T>(queue, cores, a, slab));
        if (hidden) SRP_TRY(multiply_hidden(slab, begin));
        if (head && a.grad_weight) SRP_TRY(multiply_weight(slab));
        if (head && a.grad_bias) launch_slab_bias<T>(queue, a, slab, of_bias);
      }
    return SRP_OK;
  }
};

}  // namespace

// With a head's gradients all rows are one pass, and g is formed once; hidden's alone are made of kSlabRows rows after another.
template <class T>
srp_status tensor_backward(srp_queue* queue, TensorCores cores, const srp_linear_backward_args& a, bool of_hidden,
                           bool of_head) {
  const int64_t all = rounded_up(a.N, kTensorRows), rows = all < kSlabRows ? all : kSlabRows;
  SRP_TRY(check_grid("linear_backward", kSlabRows / 256 * (a.D + kTensorTile)));
  const int64_t hidden_rows = !of_hidden ? 0 : of_head ? all : rows;
  const int64_t weight_rows = a.grad_weight && a.N > kSlabRows ? kSlabIds : 0;
  const int64_t split_lines = Pass<T>::kSplit ? 2 * kSlabRows * rounded_up(a.D, kPieceTerms) : 0;
  const Scratch numbers(queue, Slab::bytes(rows) + static_cast<size_t>(split_lines) * sizeof(BFloat16));
  const Scratch waiting(queue, static_cast<size_t>((hidden_rows + weight_rows) * a.D + kSlabIds) * sizeof(double));
  SRP_TRY(numbers.status());
  SRP_TRY(waiting.status());
  uint16_t* const slab = numbers.as<uint16_t>();
  double* const sums = waiting.as<double>();
  const Pass<T> pass = {queue,
                        cores,
                        cores == TensorCores::of_warpgroups && in_pieces(a),
                        a,
                        reinterpret_cast<BFloat16*>(slab + Slab::bytes(rows) / sizeof(uint16_t)),
                        sums,
                        sums + hidden_rows * a.D,
                        sums + (hidden_rows + weight_rows) * a.D};
  if (of_head) return pass.run(slab, 0, a.N, of_hidden, true);
  for (int64_t row = 0; of_hidden && row < a.N; row += kSlabRows)
    SRP_TRY(pass.run(slab, row, a.N - row < kSlabRows ? a.N : row + kSlabRows, true, false));
  return SRP_OK;
}

template srp_status tensor_backward<Half>(srp_queue*, TensorCores, const srp_linear_backward_args&, bool, bool);
template srp_status tensor_backward<BFloat16>(srp_queue*, TensorCores, const srp_linear_backward_args&, bool, bool);

}  // namespace srp::cuda
