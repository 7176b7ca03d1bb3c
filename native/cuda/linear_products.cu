// The gradients of a linear head on tensor cores (contract: surprisal/linear.h), of 16-bit numbers or of float32 numbers in parts: g of a
// slab (linear_slab.cuh), formed once, times weight for those of hidden and, with rows and ids changed over, times hidden for those of
// weight. Sums wait in float64 until the last slab.
//
// bfloat16 numbers are multiplied as they lie. Others come as two bfloat16 numbers each, of float16 exactly (a float16 g would lose
// what is small), of float32 within 2^-18.
#include "linear_product_tiles.cuh"

namespace srp::cuda {
namespace {

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
// variants  warpgroups on sm_90, warps elsewhere
// turn      128 of hidden_product_kernel<BFloat16, WarpgroupTiles>: 128 warpgroup, 160 loaded; 1.333 bytes; at most 1.57; before
//           4.3; threads 384; shared 218112
// sm_89     64 of hidden_product_kernel<BFloat16, WarpTiles>: 64 tensor, 96 loaded, 64 shared; 1.5 bytes; at most 4.1; before 4.1
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
// variants  warpgroups on sm_90, warps elsewhere
// turn      128 of weight_product_kernel<BFloat16, WarpgroupTiles>: 128 warpgroup, 160 loaded; 1.333 bytes; at most 1.38; before
//           4.2; threads 384; shared 218112
// sm_89     64 of weight_product_kernel<BFloat16, WarpTiles>: 64 tensor, 96 loaded, 64 shared; 1.5 bytes; at most 4.1; before 4.1
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

// ---- the passes over slabs

template <class T>
struct Pass {
  static constexpr bool kSplit = !std::is_same_v<T, BFloat16>;

  srp_queue* queue;
  TensorCores cores;
  const srp_linear_backward_args& a;
  BFloat16 *split, *parts;
  double *of_hidden, *of_weight, *of_bias;  // where sums wait: [rows of the pass, D], [kSlabIds, D], [kSlabIds]

  // Of the right side of a product, its lines from `first` on.
  TermLines lines_of(const void* numbers, const uint8_t* mask, int64_t first, int64_t count) const {
    const T* const from = static_cast<const T*>(numbers) + first * a.D;
    const int64_t unit = takes_groups<T>(cores, a) ? WarpgroupTiles::kStageTerms : kStepTerms;
    const int64_t lines = rounded_up(count, unit), steps = lines / unit;
    if (mask) mask += first;
    if constexpr (kSplit) {
      const int64_t pitch = pitch_of(a.D);
      launch_split(queue, from, mask, count, lines, a.D, split);
      return {split, pitch, pitch, 2 * lines, nullptr, true, steps, 2};
    } else {
      return {from, a.D, a.D, count, mask, a.D % kPieceTerms == 0 && aligned16(numbers), steps, 1};
    }
  }

  srp_status multiply_hidden(const Slab& slab, int64_t pass_row) const {
    const TermLines weight = lines_of(a.weight, nullptr, slab.first_id, slab.ids);
    return with_tiles_of<T>(cores, a, [&](auto way) {
      using Way = decltype(way);
      return launch(hidden_product_kernel<T, Way>, way, slab.rows, slab, weight,
                    of_hidden + (slab.first_row - pass_row) * a.D);
    });
  }

  srp_status multiply_weight(const Slab& slab) const {
    const int64_t rows = slab.first_row + slab.rows < a.N ? slab.rows : a.N - slab.first_row;
    const TermLines hidden = lines_of(a.hidden, a.mask, slab.first_row, rows);
    return with_tiles_of<T>(cores, a, [&](auto way) {
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
        const int64_t panel = takes_groups<T>(cores, a) ? kGroupPanel : kPanel;
        const Slab slab = {numbers, panel, row, rows, id, a.V - id < kSlabIds ? a.V - id : kSlabIds};
        SRP_TRY(launch_slab<T>(queue, cores, a, slab, parts));
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
  const int64_t split = Pass<T>::kSplit ? 2 * kSlabRows * pitch_of(a.D) : 0;
  const int64_t parts = kInParts<T> ? (part_rows(rows) + kSlabIds) * parts_width(a.D) : 0;
  const Scratch numbers(queue, Slab::bytes(rows) + static_cast<size_t>(split + parts) * sizeof(BFloat16));
  const Scratch waiting(queue, static_cast<size_t>((hidden_rows + weight_rows) * a.D + kSlabIds) * sizeof(double));
  SRP_TRY(numbers.status());
  SRP_TRY(waiting.status());
  uint16_t* const slab = numbers.as<uint16_t>();
  BFloat16* const behind = reinterpret_cast<BFloat16*>(slab + Slab::bytes(rows) / sizeof(uint16_t));
  double* const sums = waiting.as<double>();
  const Pass<T> pass = {queue,
                        cores,
                        a,
                        behind,
                        behind + split,
                        sums,
                        sums + hidden_rows * a.D,
                        sums + (hidden_rows + weight_rows) * a.D};
  if (of_head) return pass.run(slab, 0, a.N, of_hidden, true);
  for (int64_t row = 0; of_hidden && row < a.N; row += kSlabRows)
    SRP_TRY(pass.run(slab, row, a.N - row < kSlabRows ? a.N : row + kSlabRows, true, false));
  return SRP_OK;
}

template srp_status tensor_backward<float>(srp_queue*, TensorCores, const srp_linear_backward_args&, bool, bool);
template srp_status tensor_backward<Half>(srp_queue*, TensorCores, const srp_linear_backward_args&, bool, bool);
template srp_status tensor_backward<BFloat16>(srp_queue*, TensorCores, const srp_linear_backward_args&, bool, bool);

}  // namespace srp::cuda
