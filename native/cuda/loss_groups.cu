// loss_row of groups of rows (contract: surprisal/loss.h), in two launches (row_groups.cuh). In the second the blocks of a group
// add its rows up, all of them alike, and spread the gradient over the rows, which they take by turns: as many blocks a group as
// there are rows in one, on average.
#include "loss_groups.cuh"
#include "row_groups.cuh"
#include "shared/loss_rows.h"

namespace srp::cuda {
namespace {

// ledger    loss_row
// bytes     n (s grad + mask) + 16 B + 4 B members + B inputs and outputs
// limit     memory
// notes     the second of two launches of groups: ratio, losses and gradient; the blocks of a group add its rows alike
// turn      4 of loss_groups_kernel<float>: 4 loads, 16 stored; 5 bytes; at most 29.9, 30.5 on sm_89
template <class F>
__global__ void __launch_bounds__(kPieceLanes, 2)
    loss_groups_kernel(LossArgs a, int blocks, const LogSum* sums, uint32_t* faults) {
  const int64_t g = blockIdx.x / blocks;
  const int block = static_cast<int>(blockIdx.x % blocks);
  const bool first_warp = threadIdx.x < kWarp;
  SRP_SHARED(double, row_grad, 1);
  const Range group = checked_group(a.group_offsets, a.B, g, faults);
  if (first_warp) {
    const LossParameters p = loss_parameters(a.parameters);
    const LogSum unit = sum_group(a, sums, group, faults);
    LossSums all;
    all.log_ratio = unit.sum;
    all.kept = unit.kept;
    const double slope = sum_members(a.members, a.B, group, faults, [&](int64_t b) {
      if (b < 0) return 0.0;
      const RowForm row = mean_row<F>(a, b, p, all);
      if (block == 0) {
        LossSums own;
        own.kept = own.terms = sums[b].kept;
        LossFigures figures;
        add_counts(own, &figures);
        store_row<F>(a, b, row, &figures);
      }
      return scaled(row_scale(a, b).policy, row.slope);
    });
    if (threadIdx.x == 0) row_grad[0] = slope / divisor(unit.kept, a.reduce) + 0.0;
  }
  if (!a.grad_log_probs) return;
  __syncthreads();  // the gradient is visible to all threads
  for (int64_t m = group.begin + block; m < group.end; m += blocks) {
    const int64_t b = member(a.members, m);
    if (b < 0 || b >= a.B) continue;
    const Range row = row_range(a.offsets, a.T, a.n, b);
    spread(static_cast<F*>(a.grad_log_probs), a.mask, row, row_grad[0], static_cast<int>(threadIdx.x), kPieceLanes);
  }
}

template <class F>
srp_status group_losses_of(srp_queue* queue, const LossArgs& a) {
  const Scratch scratch(queue, static_cast<size_t>(a.B) * sizeof(LogSum));
  SRP_TRY(scratch.status());
  LogSum* const sums = scratch.as<LogSum>();
  SRP_TRY(sum_rows<F>(queue, "loss_row", a, sums));
  if (a.G == 0) return launched("loss_row");
  const int64_t rows = a.grad_log_probs && a.B > a.G ? (a.B + a.G - 1) / a.G : 1;
  SRP_TRY(check_grid("loss_row", a.G * rows));
  SRP_LAUNCH((loss_groups_kernel<F>), dim3(static_cast<unsigned>(a.G * rows)), dim3(kPieceLanes), 0, queue->stream, a,
             static_cast<int>(rows), sums, queue->faults);
  return launched("loss_row");
}

}  // namespace

srp_status group_losses(srp_queue* queue, const LossArgs& a) {
  return a.dtype == SRP_F64 ? group_losses_of<double>(queue, a) : group_losses_of<float>(queue, a);
}

}  // namespace srp::cuda
