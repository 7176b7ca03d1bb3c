// What CPU and CUDA share of correction.h: one token's statistic, its bounds, a row's figures, and the checks of the
// arguments. Each backend has its own loops over tokens.
#ifndef SURPRISAL_SHARED_CORRECTION_H
#define SURPRISAL_SHARED_CORRECTION_H

#include "shared/checks.h"
#include "shared/loss_forms.h"
#include "shared/reduce.h"
#include "shared/rows.h"
#include "surprisal/correction.h"

namespace srp {

// exp(d) - 1 - d. Near 0 the two numbers of size d would cancel: the sum of d^n / n! from n = 2 to 15, where the next term
// is 2^-57 of the first at d = 1/2.
SRP_HD double exponential_beyond_line(double d) {
  if (!(fabs(d) < 0.5)) return expm1(d) - d;
  double sum = 0;
  for (int n = 15; n >= 3; --n) sum = (sum + 1) * d * (1.0 / n);
  return (sum + 1) * d * d / 2;
}

// |exp(a) - exp(b)| from the larger of the two.
template <class N>
SRP_HD N probability_distance(N a, N b) {
  if (a == b) return N(0);  // both may be -infinity
  return exponential(greatest(a, b)) * -exponential_less_one(-magnitude(a - b));
}

// x of the header, at the log-probs of one token.
template <class N>
SRP_HD N statistic_of(int32_t statistic, N log_clamp, N log_prob, N old_log_prob) {
  const N d = clamp(log_prob - old_log_prob, -log_clamp, log_clamp);
  switch (statistic) {
    case SRP_STATISTIC_K1:
      return N(0) - d;
    case SRP_STATISTIC_K2:
      return d * d * N(0.5);
    case SRP_STATISTIC_K3:
      return exponential_beyond_line(d);
    case SRP_STATISTIC_RATIO:
      return exponential(d);
    case SRP_STATISTIC_DISTANCE:
      return probability_distance(log_prob, old_log_prob);
    case SRP_STATISTIC_CURRENT:
      return exponential(log_prob);
    case SRP_STATISTIC_OLD:
      return exponential(old_log_prob);
    default:  // the argument check refuses any other statistic
      return exponential(log_prob) + exponential(old_log_prob);
  }
}

// The first walk over kept tokens: those of a chunk, or of one lane. P is the arguments, or the same with bounds that are N's.
template <class N>
struct MismatchSumsOf {
  ChunkSumsOf<N> x;
  N bounded{0}, difference{0};
  int32_t above = 0, below = 0;

  template <class F>
  SRP_HD N add(const srp_correction_measure_args& a, int64_t i) {
    return add(a, load(static_cast<const F*>(a.log_probs), i), load(static_cast<const F*>(a.old_log_probs), i));
  }
  template <class P>
  SRP_HD N add(const P& p, N log_prob, N old_log_prob) {
    const N value = statistic_of(p.statistic, p.log_clamp, log_prob, old_log_prob);
    x.add(value);
    bounded += clamp(value, p.low, p.high);
    difference += log_prob - old_log_prob;
    above += value <= p.high ? 0 : 1;  // and NaN
    below += value < p.low ? 1 : 0;
    return value;
  }

  // The sums of the bounded statistic. Bounds keep order: the extremes are those of x, bounded.
  template <class P>
  SRP_HD ChunkSumsOf<N> bounded_sums(const P& p) const {
    ChunkSumsOf<N> sums = x;
    sums.sum = bounded;
    sums.low = clamp(x.low, p.low, p.high);
    sums.high = clamp(x.high, p.low, p.high);
    return sums;
  }
};
using MismatchSums = MismatchSumsOf<double>;

// The second walk, which computes the statistic again.
template <class N>
struct MismatchDeviationsOf {
  ChunkDeviationsOf<N> x, bounded;

  template <class P>
  SRP_HD void add(const P& p, N mean, N bounded_mean, N log_prob, N old_log_prob) {
    const N value = statistic_of(p.statistic, p.log_clamp, log_prob, old_log_prob);
    x.add(value, mean);
    bounded.add(clamp(value, p.low, p.high), bounded_mean);
  }
};
using MismatchDeviations = MismatchDeviationsOf<double>;

SRP_HD void store_measures(const srp_correction_measure_args& a, int64_t b, const Moments& x, const Moments& bounded,
                           double difference, int32_t above, int32_t below) {
  if (a.moments) store_moments(a.moments, b, x);
  if (a.bounded) store_moments(a.bounded, b, bounded);
  if (a.differences) a.differences[b] = difference;
  if (a.above) a.above[b] = above;
  if (a.below) a.below[b] = below;
}

// Weight and flag of a token, which enters or lies under the mask.
template <class N>
struct TokenBound {
  N weight;
  bool kept;
};

template <class N, class P>
SRP_HD TokenBound<N> token_bound(const P& p, bool enters, N factor, N log_prob, N old_log_prob) {
  if (!enters) return {p.masked_weight, false};
  const N x = statistic_of(p.statistic, p.log_clamp, log_prob, old_log_prob);
  const bool outside = x < p.low || x > p.high;
  return {scaled(factor, p.outside == SRP_OUTSIDE_CLAMP ? clamp(x, p.low, p.high)
                         : outside                      ? N(0)
                                                        : x),
          x >= p.low && x <= p.high && factor != N(0)};
}

SRP_HD double row_factor(const srp_correction_bound_args& a, int64_t b) {
  return a.row_factors ? a.row_factors[b] : 1.0;
}

// Writes those of token i; returns whether it is kept.
template <class F>
SRP_HD bool bound_token(const srp_correction_bound_args& a, int64_t b, int64_t i) {
  const bool enters = !a.mask || a.mask[i];
  const double log_prob = enters ? load(static_cast<const F*>(a.log_probs), i) : 0.0;
  const double old_log_prob = enters ? load(static_cast<const F*>(a.old_log_probs), i) : 0.0;
  const TokenBound<double> bound = token_bound(a, enters, row_factor(a, b), log_prob, old_log_prob);
  if (a.weights) store(static_cast<F*>(a.weights), i, bound.weight);
  if (a.kept) a.kept[i] = bound.kept ? 1 : 0;
  return bound.kept;
}

template <class Args>
inline srp_status check_mismatch(const Args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_enum("statistic", a->statistic, SRP_STATISTIC_TOTAL));
  if (!(a->log_clamp > 0)) return fail(SRP_BAD_ARGUMENT, "log_clamp is %g, expected more than 0", a->log_clamp);
  if (!(a->low <= a->high)) return fail(SRP_BAD_ARGUMENT, "low is %g, expected at most high = %g", a->low, a->high);
  SRP_TRY(check_pointer("log_probs", a->log_probs, a->n));
  return check_pointer("old_log_probs", a->old_log_probs, a->n);
}

inline srp_status check(const srp_correction_measure_args* a) { return check_mismatch(a); }

inline srp_status check(const srp_correction_bound_args* a) {
  SRP_TRY(check_mismatch(a));
  return check_enum("outside", a->outside, SRP_OUTSIDE_ZERO);
}

}  // namespace srp

#endif
