// GAE, returns and V-trace (contract: surprisal/scan.h) by the kernels of all scans. Sums: scan_sums.cu.
#include "scan_kernels.cuh"

namespace srp::cuda {

srp_status scan_gae(srp_queue* queue, const srp_scan_gae_args* a) { return scan<GaeScan>(queue, a, "scan_gae"); }
srp_status scan_returns(srp_queue* queue, const srp_scan_returns_args* a) {
  return scan<ReturnsScan>(queue, a, "scan_returns");
}
srp_status scan_vtrace(srp_queue* queue, const srp_scan_vtrace_args* a) {
  return scan<VtraceScan>(queue, a, "scan_vtrace");
}

}  // namespace srp::cuda
