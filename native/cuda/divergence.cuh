// What the kernels of divergences share: a row that has no numbers to compare, filling, sizes of a launch; and the launcher of the KL
// divergences over a whole vocabulary (divergence_kl.cu).
#pragma once
#include "common.cuh"
#include "queue.cuh"
#include "shared/divergence.h"

namespace srp::cuda {

template <class F>
__device__ void fill_row(F* to, int64_t begin, int64_t end, double value) {
  for (int64_t j = begin + threadIdx.x; j < end; j += blockDim.x) store(to, j, value);
}

// The outputs of a row that is not read.
template <class F>
__device__ void clear_row(const srp_divergence_rows_args& a, int64_t n, F* grad) {
  if (a.divergences && threadIdx.x == 0) a.divergences[n] = 0;
  if (grad) fill_row(grad, 0, a.student_stride, 0);
}

constexpr int kMostThreads = 256;

inline dim3 row_blocks(const srp_queue* queue, int64_t N) {
  // More rows than this take turns: several times as many as are at work, so that the last ones end together.
  const int64_t most = int64_t{64} * queue->multiprocessors;
  return dim3(static_cast<unsigned>(N < most ? N : most));
}

// A warp for rows that it reads in a few steps. Depends on V alone: the order of sums must not depend on the batch.
inline dim3 threads_for(int64_t V) { return dim3(V <= 256 ? kWarp : V <= 2048 ? 128 : kMostThreads); }

// beta 0 or 1, no support, logits of at most 32 bits.
void launch_kl(srp_queue* queue, const srp_divergence_rows_args& a);

}  // namespace srp::cuda
