// The results of a row of logits (surprisal/logprob.h), for every native backend: the map from logits to z, the results of a row from
// its sums, the merge of shards, and the checks of arguments. Each backend forms the sums in its own way.
#ifndef SURPRISAL_SHARED_LOGPROB_H
#define SURPRISAL_SHARED_LOGPROB_H

#include "shared/checks.h"
#include "shared/number.h"
#include "surprisal/logprob.h"

namespace srp {

// z of a raw logit x. Never z alone: differences keep the digits that z of size M loses.
struct LogitMap {
  double slope;  // scale / temperature
  double rate, height;  // with a softcap: scale / softcap, softcap / temperature; else 0

  template <class Args>
  static SRP_HD LogitMap of(const Args& a) {
    if (a.softcap == 0) return {a.scale / a.temperature, 0, 0};
    return {a.scale / a.temperature, a.scale / a.softcap, a.softcap / a.temperature};
  }

  SRP_HD bool capped() const { return rate != 0; }

  SRP_HD double z(double x) const { return capped() ? height * tanh(rate * x) : slope * x; }

  // z(x) - z(max) <= 0. A logit of -infinity is a masked id, also with a softcap.
  SRP_HD double below_max(double x, double max) const {
    if (!capped()) return (x - max) * slope;
    if (x == -INFINITY) return max == -INFINITY ? NAN : -INFINITY;
    return height * (tanh(rate * x) - tanh(rate * max));
  }

  // dz/dx
  SRP_HD double derivative(double x) const {
    if (!capped()) return slope;
    const double t = tanh(rate * x);
    return slope * ((1 - t) * (1 + t));
  }
};

// The sums of a row; the first index of the maximum is in none of them.
struct RowSums {
  double max_logit;  // raw; NaN or +infinity: the row has one; -infinity: it has no finite logit
  double rest;  // S'
  double weighted;  // W
  double squares;  // sum exp(2 (z - M))

  SRP_HD bool finite() const { return max_logit > -INFINITY && max_logit < INFINITY; }
};

// A row without sums: its maximum is -infinity, +infinity or NaN.
SRP_HD RowSums no_sums(double max_logit) {
  const double nothing = max_logit == -INFINITY ? 0 : NAN;
  return {max_logit, nothing, nothing, nothing};
}

constexpr int64_t kStateSums = 4;  // doubles of a state in front of its target logits
constexpr double kIgnoredRest = -1;  // S' in the state of an ignored row: no sum of exponentials is negative

struct RowResult {
  double max_logit, log1p_sum, mean_gap, lse, sum_sq;
};

SRP_HD RowResult finish_row(const LogitMap& map, const RowSums& sums) {
  if (!sums.finite()) return {sums.max_logit == -INFINITY ? -INFINITY : NAN, NAN, NAN, NAN, NAN};
  const double total = 1 + sums.rest, tail = log1p(sums.rest);
  return {sums.max_logit, tail, (0 - sums.weighted) / total, map.z(sums.max_logit) + tail,
          (1 + sums.squares) / (total * total)};
}

// In a row without a finite logit log1p_sum is NaN, and so is this.
SRP_HD double target_logprob(const LogitMap& map, const RowResult& row, double logit) {
  return map.below_max(logit, row.max_logit) - row.log1p_sum;
}

SRP_HD void put_if(float* out, int64_t i, double x) {
  if (out) store(out, i, x);
}

template <class Args>
SRP_HD void store_row(const Args& a, int64_t n, const RowResult& row) {
  put_if(a.entropies, n, row.log1p_sum + row.mean_gap);
  put_if(a.log_sum_exps, n, row.lse);
  put_if(a.max_logits, n, row.max_logit);
  put_if(a.log1p_sums, n, row.log1p_sum);
  put_if(a.mean_gaps, n, row.mean_gap);
  put_if(a.sum_squares, n, row.sum_sq);
}

// Outputs of an ignored row.
template <class Args>
SRP_HD void clear_row(const Args& a, int64_t n) {
  store_row(a, n, {0, 0, 0, 0, 0});
  for (int64_t k = 0; k < a.K; ++k) put_if(a.log_probs, n * a.K + k, 0);
}

SRP_HD bool kept(const uint8_t* mask, int64_t n) { return !mask || mask[n]; }

// What the gradient of a row's logits is made of: its state as float32 holds it, the sum of its a's, and h.
struct RowSlopes {
  double max_logit, log1p_sum, mean_gap;
  double sum, of_entropy;
};

// dL/dx at a target, `own` of the row's a's being its own: 1 - p must not be formed from a p near 1.
SRP_HD double target_gradient(const LogitMap& map, const RowSlopes& row, double own, double others, double logit) {
  const double gap = map.below_max(logit, row.max_logit), logp = gap - row.log1p_sum, p = exp(logp);
  double dz = own * -expm1(logp) - others * p;
  if (row.of_entropy != 0 && p > 0) dz -= row.of_entropy * p * (gap + row.mean_gap);
  return dz * map.derivative(logit);
}

// Of a row that backward_args describe; the sum of its a's is the caller's to form.
template <class Args>
SRP_HD RowSlopes row_slopes(const Args& a, int64_t n, double sum) {
  if (!a.grad_entropies) return {a.max_logits[n], a.log1p_sums[n], 0, sum, 0};
  return {a.max_logits[n], a.log1p_sums[n], a.mean_gaps[n], sum, a.grad_entropies[n]};
}

// The same at a target of a row of K.
template <class Args>
SRP_HD double target_gradient(const Args& a, const LogitMap& map, int64_t n, int32_t id, double logit) {
  double own = 0, others = 0;
  for (int64_t k = 0; k < a.K; ++k) {
    const int64_t i = n * a.K + k;
    (a.targets[i] == id ? own : others) += a.grad_log_probs[i];
  }
  return target_gradient(map, row_slopes(a, n, own + others), own, others, logit);
}

// Adds shard p to the sums of the shards before it. The maximum of the result stays out of its sums: the earlier shard's on
// equality, as its index is the smaller one.
SRP_HD RowSums merge_sums(const LogitMap& map, const RowSums& a, const RowSums& b) {
  if (a.max_logit != a.max_logit || b.max_logit != b.max_logit) return no_sums(NAN);
  const bool b_leads = b.max_logit > a.max_logit;
  const RowSums high = {select(b_leads, b.max_logit, a.max_logit), select(b_leads, b.rest, a.rest),
                        select(b_leads, b.weighted, a.weighted), select(b_leads, b.squares, a.squares)};
  const RowSums low = {select(b_leads, a.max_logit, b.max_logit), select(b_leads, a.rest, b.rest),
                       select(b_leads, a.weighted, b.weighted), select(b_leads, a.squares, b.squares)};
  if (!high.finite()) return no_sums(high.max_logit);
  if (!low.finite()) return high;
  const double gap = map.below_max(low.max_logit, high.max_logit), f = exp(gap), total = 1 + low.rest;
  if (f == 0) return high;
  return {high.max_logit, high.rest + f * total, high.weighted + f * (low.weighted + gap * total),
          high.squares + f * f * (1 + low.squares)};
}

SRP_HD void store_state(double* state, const RowSums& sums) {
  state[0] = sums.max_logit;
  state[1] = sums.rest;
  state[2] = sums.weighted;
  state[3] = sums.squares;
}

SRP_HD const double* state_of(const srp_logprob_merge_args& a, int64_t p, int64_t n) {
  return a.states + (p * a.N + n) * (kStateSums + a.K);
}

SRP_HD bool ignored(const srp_logprob_merge_args& a, int64_t n) {
  for (int64_t p = 0; p < a.P; ++p)
    if (state_of(a, p, n)[1] == kIgnoredRest) return true;
  return false;
}

SRP_HD RowSums merged_sums(const srp_logprob_merge_args& a, const LogitMap& map, int64_t n) {
  RowSums sums = no_sums(-INFINITY);
  for (int64_t p = 0; p < a.P; ++p) {
    const double* const s = state_of(a, p, n);
    sums = merge_sums(map, sums, {s[0], s[1], s[2], s[3]});
  }
  return sums;
}

// +infinity: no shard has this target (or the row has a real +infinity, and no finite sums).
SRP_HD double merged_target(const srp_logprob_merge_args& a, int64_t n, int64_t k) {
  double logit = INFINITY;
  for (int64_t p = 0; p < a.P; ++p) {
    const double x = state_of(a, p, n)[kStateSums + k];
    if (x != INFINITY) logit = x;
  }
  return logit;
}

// False when a target that the row needs is in no shard.
SRP_HD bool finds_targets(const srp_logprob_merge_args& a, const RowSums& sums, int64_t n) {
  for (int64_t k = 0; k < a.K && a.log_probs && sums.finite(); ++k)
    if (merged_target(a, n, k) == INFINITY) return false;
  return true;
}

SRP_HD void merge_row(const srp_logprob_merge_args& a, const LogitMap& map, const RowSums& sums, int64_t n) {
  const RowResult row = finish_row(map, sums);
  store_row(a, n, row);
  for (int64_t k = 0; k < a.K && a.log_probs; ++k) {
    const double logit = merged_target(a, n, k);
    store(a.log_probs, n * a.K + k, logit == INFINITY ? NAN : target_logprob(map, row, logit));
  }
}

inline srp_status check_map(double temperature, double scale, double softcap) {
  constexpr double kLow = 1e-30, kHigh = 1e30;  // float32 holds these with room for a logit difference
  SRP_TRY(check_range("temperature", temperature, 1e-300, 1e300));
  SRP_TRY(check_range("scale", scale, 1e-300, 1e300));
  SRP_TRY(check_range("scale / temperature", scale / temperature, kLow, kHigh));
  if (softcap == 0) return SRP_OK;
  SRP_TRY(check_range("softcap", softcap, 1e-300, 1e300));
  SRP_TRY(check_range("scale / softcap", scale / softcap, kLow, kHigh));
  return check_range("softcap / temperature", softcap / temperature, kLow, kHigh);
}

// Sizes of the args that read logits.
template <class Args>
srp_status check_logits(const Args* a) {
  SRP_TRY(check_size(a));
  if (a->dtype != SRP_F32 && a->dtype != SRP_F16 && a->dtype != SRP_BF16)
    return fail(SRP_BAD_DTYPE, "dtype is %d, expected float32 (%d), float16 (%d) or bfloat16 (%d)", a->dtype, SRP_F32,
                SRP_F16, SRP_BF16);
  SRP_TRY(check_count("N", a->N));
  SRP_TRY(check_count("V", a->V));
  SRP_TRY(check_count("K", a->K));
  SRP_TRY(check_count("stride", a->stride));
  if (a->V > INT32_MAX) return fail(SRP_BAD_SHAPE, "V is %lld, ids are int32", static_cast<long long>(a->V));
  if (a->stride < a->V)
    return fail(SRP_BAD_SHAPE, "stride is %lld, expected V = %lld or more", static_cast<long long>(a->stride),
                static_cast<long long>(a->V));
  if (a->N > 0 && (a->stride > INT64_MAX / 8 / a->N || a->K > INT64_MAX / 8 / a->N - kStateSums))
    return fail(SRP_BAD_SHAPE, "N * stride or N * K does not fit in memory");
  SRP_TRY(check_map(a->temperature, a->scale, a->softcap));
  return check_pointer("logits", a->logits, a->stride == 0 ? 0 : a->N);
}

template <class Args>
srp_status check_shard(const Args* a) {
  if (a->vocab_size >= 0 && a->vocab_size <= INT32_MAX && a->vocab_start >= 0 && a->vocab_start <= a->vocab_size - a->V)
    return SRP_OK;
  return fail(SRP_BAD_SHAPE, "shard of %lld ids from %lld leaves the vocabulary of %lld", static_cast<long long>(a->V),
              static_cast<long long>(a->vocab_start), static_cast<long long>(a->vocab_size));
}

inline srp_status check(const srp_logprob_forward_args* a) {
  SRP_TRY(check_logits(a));
  return check_pointer("targets", a->targets, a->N * a->K);
}

inline srp_status check(const srp_logprob_backward_args* a) {
  SRP_TRY(check_logits(a));
  SRP_TRY(check_shard(a));
  SRP_TRY(check_pointer("targets", a->targets, a->grad_log_probs ? a->N * a->K : 0));
  SRP_TRY(check_pointer("max_logits", a->max_logits, a->N));
  SRP_TRY(check_pointer("log1p_sums", a->log1p_sums, a->N));
  SRP_TRY(check_pointer("mean_gaps", a->mean_gaps, a->grad_entropies ? a->N : 0));
  return check_pointer("grad_logits", a->grad_logits, a->stride == 0 ? 0 : a->N);
}

inline srp_status check(const srp_logprob_partial_args* a) {
  SRP_TRY(check_logits(a));
  SRP_TRY(check_shard(a));
  SRP_TRY(check_pointer("targets", a->targets, a->N * a->K));
  return check_pointer("states", a->states, a->N);
}

inline srp_status check(const srp_logprob_merge_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_count("P", a->P));
  SRP_TRY(check_count("N", a->N));
  SRP_TRY(check_count("K", a->K));
  // Without shards, too, there may be log_probs.
  const int64_t P = a->P > 0 ? a->P : 1;
  if (a->N > 0 && a->K > INT64_MAX / 8 / a->N / P - kStateSums)
    return fail(SRP_BAD_SHAPE, "P * N * (4 + K) does not fit in memory");
  SRP_TRY(check_map(a->temperature, a->scale, a->softcap));
  return check_pointer("states", a->states, a->P == 0 ? 0 : a->N);
}

// Targets in host memory: those of kept rows lie in the vocabulary.
inline srp_status check_targets(const int32_t* targets, const uint8_t* mask, int64_t N, int64_t K, int64_t vocab_size) {
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K && kept(mask, n); ++k)
      if (targets[n * K + k] < 0 || targets[n * K + k] >= vocab_size)
        return fail(SRP_OUT_OF_RANGE, "targets[%lld] is %d, expected 0..%lld (vocabulary)",
                    static_cast<long long>(n * K + k), targets[n * K + k], static_cast<long long>(vocab_size - 1));
  return SRP_OK;
}

}  // namespace srp

#endif
