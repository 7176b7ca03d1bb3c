// Log ratios of groups of rows (contract: surprisal/ratio.h), in two launches (row_groups.cuh): a warp a group adds its rows up.
#include "row_groups.cuh"

namespace srp::cuda {
namespace {

// ledger    ratio_log
// bytes     16 B + 4 B members + s G outputs
// limit     latency
// notes     a warp a group
template <class F>
__global__ void log_groups_kernel(srp_ratio_log_args a, const LogSum* sums, uint32_t* faults) {
  const int64_t g = WarpPieces::slot();
  if (g >= a.G) return;
  const Range group = checked_group(a.group_offsets, a.B, g, faults);
  const LogSum unit = sum_group(a, sums, group, faults);
  if (WarpPieces::leads()) store_log_ratio<F>(a, g, log_ratio_of(unit, a.reduce));
}

}  // namespace

template <class F>
srp_status log_groups(srp_queue* queue, const srp_ratio_log_args& a) {
  const Scratch scratch(queue, static_cast<size_t>(a.B) * sizeof(LogSum));
  SRP_TRY(scratch.status());
  LogSum* const sums = scratch.as<LogSum>();
  SRP_TRY(sum_rows<F>(queue, "ratio_log", a, sums));
  if (a.G > 0)
    SRP_LAUNCH((log_groups_kernel<F>), dim3(blocks_for(a.G, WarpPieces::kTeams)), dim3(kPieceLanes), 0, queue->stream,
               a, sums, queue->faults);
  return launched("ratio_log");
}

template srp_status log_groups<float>(srp_queue*, const srp_ratio_log_args&);
template srp_status log_groups<double>(srp_queue*, const srp_ratio_log_args&);

}  // namespace srp::cuda
