// Scans along rows (contract: surprisal/scan.h), one row after the other.
#include "backend.h"
#include "surprisal/scan_steps.h"

namespace srp::cpu {
namespace {

template <template <class> class Scan, class F, class Args>
void scan_rows(const Args& a) {
  for (int64_t b = 0; b < a.B; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    Scan<F> scan(a, b);
    if (Scan<F>::kForward) {
      for (int64_t i = row.begin; i < row.end; ++i) scan.step(a, i);
    } else {
      for (int64_t i = row.end - 1; i >= row.begin; --i) scan.step(a, i);
    }
  }
}

template <template <class> class Scan, class Args>
srp_status scan(const Args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    scan_rows<Scan, double>(*a);
  else
    scan_rows<Scan, float>(*a);
  return SRP_OK;
}

}  // namespace

srp_status scan_gae(srp_queue*, const srp_scan_gae_args* a) { return scan<GaeScan>(a); }
srp_status scan_returns(srp_queue*, const srp_scan_returns_args* a) { return scan<ReturnsScan>(a); }
srp_status scan_vtrace(srp_queue*, const srp_scan_vtrace_args* a) { return scan<VtraceScan>(a); }
srp_status scan_tail(srp_queue*, const srp_scan_tail_args* a) { return scan<TailScan>(a); }
srp_status scan_prefix(srp_queue*, const srp_scan_prefix_args* a) { return scan<PrefixScan>(a); }
srp_status scan_shares(srp_queue*, const srp_scan_shares_args* a) { return scan<SharesScan>(a); }

}  // namespace srp::cpu
