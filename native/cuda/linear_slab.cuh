// g of some rows and ids of a linear head, in memory as tensor cores multiply it: each number as the sum of two
// bfloat16 numbers, within 2^-18 of itself, whatever the type of hidden and weight.
#pragma once
#include "linear_parts.cuh"
#include "warpgroup_tiles.cuh"

namespace srp::cuda {

constexpr int64_t kSlabRows = 2048, kSlabIds = 2048;  // at most

// A panel: ids that lie beside each other, all rows of them behind each other. For warps a step of terms, for warpgroups a stage of them.
constexpr int64_t kPanel = 16, kGroupPanel = 64;

struct Slab {
  uint16_t* numbers;  // [2, ids / panel, rows, panel]: the numbers nearest to g, then those nearest to what is left
  int64_t panel;
  int64_t first_row, rows, first_id, ids;  // rows: a multiple of kTensorRows; ids: those that there are

  static constexpr size_t bytes(int64_t rows) { return static_cast<size_t>(2 * rows * kSlabIds) * sizeof(uint16_t); }

  __device__ __forceinline__ uint16_t* part(int number) const { return numbers + number * rows * kSlabIds; }
  __device__ __forceinline__ int64_t place(int64_t row, int64_t id) const {
    return panel == kPanel ? (id / kPanel * rows + row) * kPanel + id % kPanel
                           : (id / kGroupPanel * rows + row) * kGroupPanel + id % kGroupPanel;
  }
};

// The rows of the tiles that touch so many of a slab.
constexpr int64_t part_rows(int64_t rows) { return rounded_up(rows, WarpgroupTiles::kRows); }

// `parts`: of float32 numbers, [part_rows(rows) + kSlabIds, parts_width(D)] of memory.
template <class T>
srp_status launch_slab(srp_queue* queue, TensorCores cores, const srp_linear_backward_args& a, const Slab& slab,
                       BFloat16* parts);
// `waiting`: sums of the rows before, [kSlabIds].
template <class T>
void launch_slab_bias(srp_queue* queue, const srp_linear_backward_args& a, const Slab& slab, double* waiting);

}  // namespace srp::cuda
