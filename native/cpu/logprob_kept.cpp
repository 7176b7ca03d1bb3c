// Log-probs over kept ids, and their gradient (contract: surprisal/logprob.h): a row's list in its order, in float64, rows on threads.
#include <memory>
#include <new>

#include "backend.h"
#include "logprob_row.h"
#include "pool.h"
#include "shared/logprob_kept.h"

namespace srp::cpu {
namespace {

constexpr int64_t kBytesOfId = 256;  // an exponential costs as much time as that many bytes

template <class Args>
srp_status check_lists(const Args& a) {
  SRP_TRY(check_offsets("offsets", a.offsets, a.N, a.K));
  SRP_TRY(check_targets(a.targets, a.mask, a.N, 1, a.V));
  for (int64_t n = 0; n < a.N; ++n)
    if (kept(a.mask, n)) SRP_TRY(check_indices("ids", a.ids + a.offsets[n], a.offsets[n + 1] - a.offsets[n], a.V));
  return SRP_OK;
}

template <class T>
srp_status forward_rows(const srp_logprob_kept_forward_args& a) {
  const LogitMap map = LogitMap::of(a);
  return parallel_rows_of(a.N, a.N + a.K, kBytesOfId, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      if (!kept(a.mask, n)) {
        store_kept(a, n, {0, 0, 0, 0, 0}, 0);
        continue;
      }
      const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
      const double own = load(x, a.targets[n]);
      RowSums sums = with_logit(map, no_sums(-INFINITY), own);
      for (int64_t k = a.offsets[n]; k < a.offsets[n + 1]; ++k)
        if (a.ids[k] != a.targets[n]) sums = with_logit(map, sums, load(x, a.ids[k]));
      const RowResult row = finish_row(map, sums);
      store_kept(a, n, row, target_logprob(map, row, own));
    }
  });
}

// `own` has room for a gradient of each id of the row and of its target: the entropy's may overwrite the logits.
template <class T>
void backward_row(const srp_logprob_kept_backward_args& a, const LogitMap& map, int64_t n, double* own) {
  const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
  T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
  if (!kept(a.mask, n)) return fill(grad, a.stride, 0);
  const int32_t* const ids = a.ids + a.offsets[n];
  const int64_t count = a.offsets[n + 1] - a.offsets[n];
  const KeptGradient gradient = KeptGradient::of(a, n);
  for (int64_t k = 0; k <= count; ++k) {
    const int64_t id = k < count ? ids[k] : a.targets[n];
    own[k] = gradient.at(map, load(x, id), id);
  }
  const RowGradient& all = gradient.over_all;
  fill(grad + a.V, a.stride - a.V, 0);
  if (fabs(all.max_logit) < INFINITY)
    gradient_row(map, x, a.V, {all.max_logit, all.log1p_sum, all.mean_gap, 0, all.of_entropy}, grad);
  else
    fill(grad, a.V, all.max_logit == -INFINITY ? 0 : NAN);
  for (int64_t k = 0; k <= count; ++k) store(grad, k < count ? ids[k] : a.targets[n], own[k]);
}

template <class T>
srp_status backward_rows(const srp_logprob_kept_backward_args& a) {
  const LogitMap map = LogitMap::of(a);
  int64_t most = 0;
  for (int64_t n = 0; n < a.N; ++n) {
    const int64_t count = a.offsets[n + 1] - a.offsets[n];
    if (count > most) most = count;
  }
  return parallel_rows(a.N, 2 * a.V * int64_t{sizeof(T)}, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<double[]> own(new (std::nothrow) double[static_cast<size_t>(most + 1)]);
    if (!own) return fail(SRP_OUT_OF_MEMORY, "out of memory: %lld ids of a row", static_cast<long long>(most));
    for (int64_t n = begin; n < end; ++n) backward_row<T>(a, map, n, own.get());
    return SRP_OK;
  });
}

}  // namespace

srp_status logprob_kept_forward(srp_queue*, const srp_logprob_kept_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_lists(*a));
  if (a->dtype == SRP_F32) return forward_rows<float>(*a);
  return a->dtype == SRP_F16 ? forward_rows<Half>(*a) : forward_rows<BFloat16>(*a);
}

srp_status logprob_kept_backward(srp_queue*, const srp_logprob_kept_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_lists(*a));
  if (a->dtype == SRP_F32) return backward_rows<float>(*a);
  return a->dtype == SRP_F16 ? backward_rows<Half>(*a) : backward_rows<BFloat16>(*a);
}

}  // namespace srp::cpu
