// Tail sums, prefix sums and shares (contract: surprisal/scan.h) by the kernels of all scans.
#include "scan_kernels.cuh"

namespace srp::cuda {

srp_status scan_tail(srp_queue* queue, const srp_scan_tail_args* a) { return scan<TailSteps>(queue, a, "scan_tail"); }
srp_status scan_prefix(srp_queue* queue, const srp_scan_prefix_args* a) {
  SRP_TRY(check(a));
  srp_scan_prefix_args terms = *a;
  if (a->values) terms.log_probs = terms.sum_squares = terms.weights = nullptr;
  return scan<PrefixScan>(queue, &terms, "scan_prefix");
}
srp_status scan_shares(srp_queue* queue, const srp_scan_shares_args* a) {
  return scan<ShareSteps>(queue, a, "scan_shares");
}

}  // namespace srp::cuda
