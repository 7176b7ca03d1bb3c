// Log-probs, entropy and gradient of logits (contract: surprisal/logprob.h), a row at a time (logprob_row.h), rows on threads.
#include <memory>
#include <new>

#include "backend.h"
#include "logprob_row.h"
#include "pool.h"

namespace srp::cpu {
namespace {

template <class T>
srp_status forward_rows(const srp_logprob_forward_args& a) {
  const LogitMap map = LogitMap::of(a);
  return parallel_rows(a.N, a.V * int64_t{sizeof(T)}, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      if (!kept(a.mask, n)) {
        clear_row(a, n);
        continue;
      }
      const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
      const RowResult row = finish_row(map, sum_row(map, x, a.V, a.sum_squares != nullptr));
      store_row(a, n, row);
      for (int64_t i = n * a.K; i < (n + 1) * a.K && a.log_probs; ++i)
        store(a.log_probs, i, target_logprob(map, row, load(x, a.targets[i])));
    }
  });
}

template <class T>
srp_status partial_rows(const srp_logprob_partial_args& a) {
  const LogitMap map = LogitMap::of(a);
  return parallel_rows(a.N, a.V * int64_t{sizeof(T)}, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const bool read = kept(a.mask, n);
      const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
      const RowSums sums = read ? sum_row(map, x, a.V) : RowSums{0, kIgnoredRest, 0, 0};
      double* const state = a.states + n * (kStateSums + a.K);
      store_state(state, sums);
      for (int64_t k = 0; k < a.K; ++k) {
        const int64_t column = read ? a.targets[n * a.K + k] - a.vocab_start : 0;
        const bool inside = read && column >= 0 && column < a.V;
        state[kStateSums + k] = inside ? load(x, column) : read ? INFINITY : 0;
      }
    }
  });
}

// Of a row. Without gradients of their log-probs there are none, whatever K is.
int64_t targets_read(const srp_logprob_backward_args& a) { return a.grad_log_probs ? a.K : 0; }

// `at_targets` has room for as many gradients: where the gradient overwrites the logits, those of the targets must be read first.
template <class T>
void backward_row(const srp_logprob_backward_args& a, const LogitMap& map, int64_t n, double* at_targets,
                  bool past_cache) {
  const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
  T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
  const double max = a.max_logits[n];
  if (!kept(a.mask, n) || max == -INFINITY) return fill(grad, a.stride, 0);
  fill(grad + a.V, a.stride - a.V, 0);
  if (!(max < INFINITY)) return fill(grad, a.V, NAN);

  const int64_t targets = targets_read(a);
  const int32_t* const ids = a.targets + n * targets;
  double sum = 0;
  for (int64_t k = 0; k < targets; ++k) {
    sum += a.grad_log_probs[n * a.K + k];
    const int64_t column = ids[k] - a.vocab_start;
    if (column >= 0 && column < a.V) at_targets[k] = target_gradient(a, map, n, ids[k], load(x, column));
  }
  gradient_row(map, x, a.V, row_slopes(a, n, sum), grad, past_cache);
  for (int64_t k = 0; k < targets; ++k) {
    const int64_t column = ids[k] - a.vocab_start;
    if (column >= 0 && column < a.V) store(grad, column, at_targets[k]);
  }
}

template <class T>
srp_status backward_rows(const srp_logprob_backward_args& a) {
  if (a.N == 0) return SRP_OK;  // and K may be any number
  const LogitMap map = LogitMap::of(a);
  const bool past_cache = a.grad_logits != a.logits && leaves_cache(a.N * a.stride * int64_t{sizeof(T)});
  return parallel_rows(a.N, 2 * a.V * int64_t{sizeof(T)}, [&](int64_t begin, int64_t end) {
    const int64_t targets = targets_read(a);
    const std::unique_ptr<double[]> at_targets(new (std::nothrow) double[static_cast<size_t>(targets)]);
    if (!at_targets)
      return fail(SRP_OUT_OF_MEMORY, "out of memory: %lld targets a row", static_cast<long long>(targets));
    for (int64_t n = begin; n < end; ++n) backward_row<T>(a, map, n, at_targets.get(), past_cache);
    return SRP_OK;
  });
}

}  // namespace

srp_status logprob_forward(srp_queue*, const srp_logprob_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->K, a->V));
  if (a->dtype == SRP_F32) return forward_rows<float>(*a);
  return a->dtype == SRP_F16 ? forward_rows<Half>(*a) : forward_rows<BFloat16>(*a);
}

srp_status logprob_backward(srp_queue*, const srp_logprob_backward_args* a) {
  SRP_TRY(check(a));
  if (a->grad_log_probs) SRP_TRY(check_targets(a->targets, a->mask, a->N, a->K, a->vocab_size));
  if (a->dtype == SRP_F32) return backward_rows<float>(*a);
  return a->dtype == SRP_F16 ? backward_rows<Half>(*a) : backward_rows<BFloat16>(*a);
}

srp_status logprob_partial(srp_queue*, const srp_logprob_partial_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->K, a->vocab_size));
  if (a->dtype == SRP_F32) return partial_rows<float>(*a);
  return a->dtype == SRP_F16 ? partial_rows<Half>(*a) : partial_rows<BFloat16>(*a);
}

srp_status logprob_merge(srp_queue*, const srp_logprob_merge_args* a) {
  SRP_TRY(check(a));
  const LogitMap map = LogitMap::of(*a);
  for (int64_t n = 0; n < a->N; ++n)
    if (!ignored(*a, n) && !finds_targets(*a, merged_sums(*a, map, n), n))
      return fail(SRP_OUT_OF_RANGE, "states: a target of row %lld is in no shard", static_cast<long long>(n));
  for (int64_t n = 0; n < a->N; ++n) {
    if (ignored(*a, n))
      clear_row(*a, n);
    else
      merge_row(*a, map, merged_sums(*a, map, n), n);
  }
  return SRP_OK;
}

}  // namespace srp::cpu
