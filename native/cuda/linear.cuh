// What the kernels of the linear head share: where the results of a chunk of rows and a strip of ids lie; and the launchers of each way.
#pragma once
#include "backend.cuh"
#include "common.cuh"
#include "shared/linear.h"

namespace srp::cuda {

constexpr int64_t kStrip = 1024;  // ids

// The results of the strips of a chunk of rows: states [rows, strips, kStateSums], then the targets' logits [rows].
struct Strips {
  double *states, *at_target;
  int64_t first_row, rows, strips;
  unsigned first_strip = 0;  // of those in work

  __device__ double* state(int64_t n, int64_t strip) const {
    return states + ((n - first_row) * strips + strip) * kStateSums;
  }
};

// Of `rows` rows from `first` on. The same for all threads of a block.
template <class Args>
__device__ bool any_kept(const Args& a, int64_t first, int64_t rows) {
  for (int64_t n = first; n < first + rows && n < a.N; ++n)
    if (kept(a.mask, n)) return true;
  return false;
}

// What the gradient of row n has in common: nothing where it is not kept.
template <class T>
__device__ RowGradient gradient_of(const srp_linear_backward_args& a, int64_t n) {
  return n < a.N && kept(a.mask, n) ? RowGradient::of<T>(a, n) : RowGradient{-INFINITY, 0, 0, 0, 0, -1};
}

constexpr int64_t kChunk = 2048;  // rows in work at a time, if the caller leaves the number to us

// ---- on the plain pipes

constexpr int64_t kPlainRows = 64;  // chunks are made of

template <class T>
void launch_plain_strips(srp_queue* queue, const srp_linear_forward_args& a, const Strips& use);
template <class T>
srp_status plain_backward(srp_queue* queue, const srp_linear_backward_args& a, bool of_hidden, bool of_head);

// ---- on tensor cores, for 16-bit numbers, and for float32 numbers in parts

constexpr int64_t kTensorRows = 128;  // slabs are made of

// How the queue's device multiplies tiles: since sm_80 by warps, on sm_90 by warpgroups.
enum class TensorCores { none, of_warps, of_warpgroups };
srp_status tensor_cores(const srp_queue* queue, TensorCores* cores);

template <class T>
srp_status launch_tensor_strips(srp_queue* queue, TensorCores cores, const srp_linear_forward_args& a,
                                const Strips& use);
template <class T>
srp_status tensor_backward(srp_queue* queue, TensorCores cores, const srp_linear_backward_args& a, bool of_hidden,
                           bool of_head);

}  // namespace srp::cuda
