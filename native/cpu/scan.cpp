// Scans along rows (contract: surprisal/scan.h), rows on threads. Advantages and returns go through the level's kernel, a
// register of tokens at a time; the others, and everything on the level "portable", token by token.
#include <memory>
#include <new>

#include "backend.h"
#include "sizes.h"
#include "level.h"
#include "pool.h"
#include "shared/scan.h"

namespace srp::cpu {
namespace {

template <template <class> class Scan, class F, class Args>
void scan_slowly(const Args& a, int64_t b) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  Scan<F> scan(a, b);
  if (Scan<F>::kForward) {
    for (int64_t i = row.begin; i < row.end; ++i) scan.step(a, i);
  } else {
    for (int64_t i = row.end - 1; i >= row.begin; --i) scan.step(a, i);
  }
}

template <class F>
ScanRows<F> rows_of(const srp_scan_gae_args& a) {
  return {static_cast<const F*>(a.rewards),
          static_cast<const F*>(a.values),
          static_cast<const F*>(a.gammas),
          a.mask,
          static_cast<const F*>(a.bootstrap),
          a.offsets,
          a.n,
          a.T,
          static_cast<F*>(a.advantages),
          static_cast<F*>(a.returns),
          a.gamma,
          a.lambda,
          a.mask_mode,
          static_cast<const F*>(a.lambdas),
          a.lambdas_per_token != 0};
}

template <class F>
ScanRows<F> rows_of(const srp_scan_returns_args& a) {
  return {static_cast<const F*>(a.rewards),
          nullptr,
          static_cast<const F*>(a.gammas),
          a.mask,
          static_cast<const F*>(a.bootstrap),
          a.offsets,
          a.n,
          a.T,
          nullptr,
          static_cast<F*>(a.returns),
          a.gamma,
          1,
          a.mask_mode,
          nullptr,
          false};
}

template <template <class> class Scan, class F, class Args>
srp_status scan_rows(const Args& a) {
  constexpr int64_t kArrays = std::is_same_v<Args, srp_scan_returns_args> ? 2 : 4;
  const int64_t mean_bytes = a.B == 0 ? 0 : a.n / a.B * kArrays * int64_t{sizeof(F)};
  // Rows go from last to first, as do tokens within them, so that memory is read in one direction.
  return parallel_rows(a.B, mean_bytes, [&](int64_t from, int64_t to) {
    const int64_t begin = a.B - to, end = a.B - from;
    if constexpr (std::is_same_v<Args, srp_scan_gae_args> || std::is_same_v<Args, srp_scan_returns_args>) {
      const Kernels* const level = kernels();
      if (level && !a.transform_masked) {
        level->floats.of<F>().scan(rows_of<F>(a), begin, end, leaves_cache_by_turns(a.n * int64_t{sizeof(F)}));
        return;
      }
    }
    for (int64_t b = end - 1; b >= begin; --b) scan_slowly<Scan, F>(a, b);
  });
}

// `powers` of gamma, or NULL: by the number of the steps before a token. To take one is ten times as long as a step.
template <class F>
void tails_of_row(const srp_scan_tail_args& a, const double* powers, int64_t b) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  F* const tails = static_cast<F*>(a.tails);
  TailScan<F> scan(a, b);
  for (int64_t i = row.end - 1; i >= row.begin; --i) {
    const bool kept = !a.mask || a.mask[i], steps = kept || a.mask_mode == SRP_MASK_STEPS;
    double tail = steps ? scan.take(a, i, kept) : 0;
    if (steps && !a.normalize) tail *= powers ? powers[scan.before] : pow(a.gamma, static_cast<double>(scan.before));
    store(tails, i, tail);
  }
}

constexpr int64_t kMostPowers = 1 << 20;

// How many powers two rows at least have in common; 0 where there are none, or more than memory is worth.
int64_t shared_powers(const srp_scan_tail_args& a) {
  int64_t longest = 0;
  for (int64_t b = 0; b < a.B && !a.normalize; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    if (row.end - row.begin > longest) longest = row.end - row.begin;
  }
  return longest <= kMostPowers && longest <= a.n / 2 ? longest : 0;
}

template <class F>
srp_status tail_rows(const srp_scan_tail_args& a) {
  const int64_t count = shared_powers(a);
  const std::unique_ptr<double[]> powers(count ? new (std::nothrow) double[static_cast<size_t>(count)] : nullptr);
  if (count && !powers)
    return fail(SRP_OUT_OF_MEMORY, "out of memory: %lld powers of gamma", static_cast<long long>(count));
  for (int64_t k = 0; k < count; ++k) powers[k] = pow(a.gamma, static_cast<double>(k));
  return parallel_rows_of(a.B, a.n, 4 * int64_t{sizeof(F)}, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) tails_of_row<F>(a, powers.get(), b);
  });
}

template <class Args>
srp_status check_all(const Args* a) {
  SRP_TRY(check(a));
  return check_offsets("offsets", a->offsets, a->B, a->n);
}

template <template <class> class Scan, class Args>
srp_status scan(const Args* a) {
  SRP_TRY(check_all(a));
  return a->dtype == SRP_F64 ? scan_rows<Scan, double>(*a) : scan_rows<Scan, float>(*a);
}

}  // namespace

srp_status scan_gae(srp_queue*, const srp_scan_gae_args* a) { return scan<GaeScan>(a); }
srp_status scan_returns(srp_queue*, const srp_scan_returns_args* a) { return scan<ReturnsScan>(a); }
srp_status scan_vtrace(srp_queue*, const srp_scan_vtrace_args* a) { return scan<VtraceScan>(a); }
srp_status scan_tail(srp_queue*, const srp_scan_tail_args* a) {
  SRP_TRY(check_all(a));
  return a->dtype == SRP_F64 ? tail_rows<double>(*a) : tail_rows<float>(*a);
}
srp_status scan_prefix(srp_queue*, const srp_scan_prefix_args* a) { return scan<PrefixScan>(a); }
srp_status scan_shares(srp_queue*, const srp_scan_shares_args* a) { return scan<SharesScan>(a); }

}  // namespace srp::cpu
