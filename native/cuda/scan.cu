// Scans along rows (contract: surprisal/scan.h) but for GAE, returns and V-trace, which go by tiles (scan_tiled.cu).
//
// One thread walks one row: tail sums need to know the kept tokens of the whole row, shares its whole sum, before the first
// step.
//
// Minimum bytes: of each token every input and output once, and 1 for the mask.
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/scan_steps.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;

template <class Scan>
__global__ void scan_rows_kernel(typename Scan::Args a, uint32_t* faults) {
  const int64_t b = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;  // 64-bit: b * T overflows int
  if (b >= a.B) return;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid) raise(faults, SRP_FAULT_OFFSETS);
  Scan scan(a, b);
  if (Scan::kForward) {
    for (int64_t i = row.begin; i < row.end; ++i) scan.step(a, i);
  } else {
    for (int64_t i = row.end - 1; i >= row.begin; --i) scan.step(a, i);
  }
}

template <template <class> class Scan, class Args>
srp_status scan(srp_queue* queue, const Args* a, const char* op) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, a->B / kThreads + 1));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const dim3 grid(blocks_for(a->B, kThreads)), block(kThreads);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((scan_rows_kernel<Scan<double>>), grid, block, 0, queue->stream, *a, queue->faults);
  else
    SRP_LAUNCH((scan_rows_kernel<Scan<float>>), grid, block, 0, queue->stream, *a, queue->faults);
  return launched(op);
}

}  // namespace

srp_status scan_tail(srp_queue* queue, const srp_scan_tail_args* a) { return scan<TailScan>(queue, a, "scan_tail"); }
srp_status scan_prefix(srp_queue* queue, const srp_scan_prefix_args* a) {
  return scan<PrefixScan>(queue, a, "scan_prefix");
}
srp_status scan_shares(srp_queue* queue, const srp_scan_shares_args* a) {
  return scan<SharesScan>(queue, a, "scan_shares");
}

}  // namespace srp::cuda
