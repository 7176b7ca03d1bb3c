// What the two kernels of loss_logits share: one that keeps rows in shared memory between their two readings, and one that reads
// them again.
#pragma once
#include "backend.cuh"
#include "logprob_gradient.cuh"
#include "logprob_stream.cuh"
#include "shared/loss_logits.h"

namespace srp::cuda {

// Of a row: what its gradient is made of, and the target's own.
struct RowLoss {
  RowSlopes row;
  double at_target;
};

// By one thread. `logit`: that of the target, which the gradient may overwrite.
__device__ __forceinline__ RowLoss lose(const LossLogitsArgs& a, const LossArgs& tokens, const LossParameters& p,
                                        const LogitMap& map, int64_t n, const RowSums& sums, double logit) {
  const RowResult row = finish_row(map, sums);
  const RowSlopes slopes = lose_row(a, tokens, p, n, row, target_logprob(map, row, logit));
  return {slopes, target_gradient(map, slopes, slopes.sum, 0, logit)};
}

// Launches the kernel that keeps its rows, if it can: *launched says so (loss_logits_held.cu).
template <class T>
srp_status launch_held(srp_queue* queue, const LossLogitsArgs& a, bool* launched);

}  // namespace srp::cuda
