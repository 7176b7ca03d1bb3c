// What one logit of a linear head adds to its row's sums, and the gradient that comes back to it (surprisal/linear.h), for every
// native backend; and the checks of arguments. The row itself is that of shared/logprob.h.
#ifndef SURPRISAL_SHARED_LINEAR_H
#define SURPRISAL_SHARED_LINEAR_H

#include "shared/logprob.h"
#include "surprisal/linear.h"

namespace srp {

// The type of results and sums: float64 where the inputs are.
template <class T>
struct WideOf {
  using Type = float;
};
template <>
struct WideOf<double> {
  using Type = double;
};
template <class T>
using Wide = typename WideOf<T>::Type;

// A row's sums with one more logit: a row of one id has no rest.
SRP_HD RowSums with_logit(const LogitMap& map, const RowSums& sums, double x) {
  return merge_sums(map, sums, {x, 0, 0, 0});
}

template <class T>
SRP_HD void put_wide(void* out, int64_t n, double x) {
  if (out) store(static_cast<Wide<T>*>(out), n, x);
}

template <class T>
SRP_HD void store_linear(const srp_linear_forward_args& a, int64_t n, const RowResult& row, double logprob) {
  put_wide<T>(a.log_probs, n, logprob);
  put_wide<T>(a.entropies, n, row.log1p_sum + row.mean_gap);
  put_wide<T>(a.log_sum_exps, n, row.lse);
  put_wide<T>(a.sum_squares, n, row.sum_sq);
  if (a.max_logits) a.max_logits[n] = row.max_logit;
  if (a.log1p_sums) a.log1p_sums[n] = row.log1p_sum;
  if (a.mean_gaps) a.mean_gaps[n] = row.mean_gap;
}

template <class T>
SRP_HD void clear_linear(const srp_linear_forward_args& a, int64_t n) {
  store_linear<T>(a, n, {0, 0, 0, 0, 0}, 0);
}

// What the gradients of a kept row's logits have in common.
struct RowGradient {
  double max_logit, log1p_sum, mean_gap;
  double of_logprob, of_entropy;  // a and h
  int64_t target;  // -1 without one

  template <class T>
  static SRP_HD RowGradient of(const srp_linear_backward_args& a, int64_t n) {
    const Wide<T>* const of_logprob = static_cast<const Wide<T>*>(a.grad_log_probs);
    const Wide<T>* const of_entropy = static_cast<const Wide<T>*>(a.grad_entropies);
    return {a.max_logits[n],
            a.log1p_sums[n],
            of_entropy ? a.mean_gaps[n] : 0,
            of_logprob ? load(of_logprob, n) : 0,
            of_entropy ? load(of_entropy, n) : 0,
            of_logprob ? here(a, a.targets[n] - a.vocab_start) : -1};
  }

  // A target of another shard is none of the ids here.
  static SRP_HD int64_t here(const srp_linear_backward_args& a, int64_t id) { return id >= 0 && id < a.V ? id : -1; }

  // g of logit x of id j.
  SRP_HD double at(const LogitMap& map, double x, int64_t j) const {
    if (max_logit == -INFINITY) return 0;
    if (!(max_logit < INFINITY)) return NAN;
    const double gap = map.below_max(x, max_logit), logp = gap - log1p_sum, p = exp(logp);
    // 1 - p must not be formed from a p near 1.
    double dz = j == target ? of_logprob * -expm1(logp) : 0 - of_logprob * p;
    if (p > 0) dz -= of_entropy * p * (gap + mean_gap);
    return p == 0 && j != target ? 0 : dz * map.derivative(x);
  }
};

// A sum of grad_weight or grad_bias, on top of what is there if asked.
template <class T>
SRP_HD void store_sum(const srp_linear_backward_args& a, void* out, int64_t i, double sum) {
  Wide<T>* const to = static_cast<Wide<T>*>(out);
  store(to, i, a.accumulate ? load(to, i) + sum : sum);
}

// Sizes that both ops have.
template <class Args>
srp_status check_linear(const Args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_any_float(a->dtype));
  SRP_TRY(check_count("N", a->N));
  SRP_TRY(check_count("D", a->D));
  SRP_TRY(check_count("V", a->V));
  SRP_TRY(check_count("chunk_rows", a->chunk_rows));
  SRP_TRY(check_enum("sums", a->sums, SRP_SUMS_BFLOAT16X3));
  if (a->V > INT32_MAX) return fail(SRP_BAD_SHAPE, "V is %lld, ids are int32", static_cast<long long>(a->V));
  if (a->padded < a->V)
    return fail(SRP_BAD_SHAPE, "padded is %lld, expected V = %lld or more", static_cast<long long>(a->padded),
                static_cast<long long>(a->V));
  // The first condition keeps D + 1 from overflowing.
  const bool wide = a->D > INT64_MAX / 2048;
  const int64_t most = wide ? 0 : INT64_MAX / 1024 / (a->D + 1);
  if (wide || a->N > most || a->padded > most) return fail(SRP_BAD_SHAPE, "N * D or padded * D does not fit in memory");
  SRP_TRY(check_map(a->temperature, a->scale, a->softcap));
  SRP_TRY(check_pointer("hidden", a->hidden, a->N * a->D));
  return check_pointer("weight", a->weight, a->V * a->D);
}

inline srp_status check(const srp_linear_forward_args* a) {
  SRP_TRY(check_linear(a));
  return check_pointer("targets", a->targets, a->log_probs ? a->N : 0);
}

inline srp_status check(const srp_linear_backward_args* a) {
  SRP_TRY(check_linear(a));
  SRP_TRY(check_shard(a));
  SRP_TRY(check_enum("accumulate", a->accumulate, 1));
  SRP_TRY(check_pointer("targets", a->targets, a->grad_log_probs ? a->N : 0));
  SRP_TRY(check_pointer("max_logits", a->max_logits, a->N));
  SRP_TRY(check_pointer("log1p_sums", a->log1p_sums, a->N));
  return check_pointer("mean_gaps", a->mean_gaps, a->grad_entropies ? a->N : 0);
}

// Rows in work at a time: the caller's number or the backend's own, in whole tiles, one at least, and no more than there are.
inline int64_t chunk_rows(int64_t chunk, int64_t own, int64_t tile, int64_t N) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const int64_t wanted = chunk == 0 ? own : chunk;
  int64_t rows = wanted < kMost ? wanted : kMost;
  if (rows > N) rows = N;
  return rows < tile ? tile : (rows + tile - 1) / tile * tile;
}

}  // namespace srp

#endif
