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
SRP_HD double probability_distance(double a, double b) {
  if (a == b) return 0;  // both may be -infinity
  return exp(greatest(a, b)) * -expm1(-fabs(a - b));
}

// x of the header, at the log-probs of one token.
SRP_HD double statistic_of(int32_t statistic, double log_clamp, double log_prob, double old_log_prob) {
  const double d = clamp(log_prob - old_log_prob, -log_clamp, log_clamp);
  switch (statistic) {
    case SRP_STATISTIC_K1:
      return 0 - d;
    case SRP_STATISTIC_K2:
      return d * d / 2;
    case SRP_STATISTIC_K3:
      return exponential_beyond_line(d);
    case SRP_STATISTIC_RATIO:
      return exp(d);
    case SRP_STATISTIC_DISTANCE:
      return probability_distance(log_prob, old_log_prob);
    case SRP_STATISTIC_CURRENT:
      return exp(log_prob);
    case SRP_STATISTIC_OLD:
      return exp(old_log_prob);
    default:  // the argument check refuses any other statistic
      return exp(log_prob) + exp(old_log_prob);
  }
}

// The first walk over kept tokens: those of a chunk, or of one lane.
struct MismatchSums {
  ChunkSums x;
  double bounded = 0, difference = 0;
  int32_t above = 0, below = 0;

  template <class F>
  SRP_HD double add(const srp_correction_measure_args& a, int64_t i) {
    return add(a, load(static_cast<const F*>(a.log_probs), i), load(static_cast<const F*>(a.old_log_probs), i));
  }
  SRP_HD double add(const srp_correction_measure_args& a, double log_prob, double old_log_prob) {
    const double value = statistic_of(a.statistic, a.log_clamp, log_prob, old_log_prob);
    x.add(value);
    bounded += clamp(value, a.low, a.high);
    difference += log_prob - old_log_prob;
    above += value <= a.high ? 0 : 1;  // and NaN
    below += value < a.low ? 1 : 0;
    return value;
  }

  // The sums of the bounded statistic. Bounds keep order: the extremes are those of x, bounded.
  SRP_HD ChunkSums bounded_sums(const srp_correction_measure_args& a) const {
    ChunkSums sums = x;
    sums.sum = bounded;
    sums.low = clamp(x.low, a.low, a.high);
    sums.high = clamp(x.high, a.low, a.high);
    return sums;
  }
};

SRP_HD void store_measures(const srp_correction_measure_args& a, int64_t b, const Moments& x, const Moments& bounded,
                           double difference, int32_t above, int32_t below) {
  if (a.moments) store_moments(a.moments, b, x);
  if (a.bounded) store_moments(a.bounded, b, bounded);
  if (a.differences) a.differences[b] = difference;
  if (a.above) a.above[b] = above;
  if (a.below) a.below[b] = below;
}

// Weight and flag of a token, which enters or lies under the mask.
struct TokenBound {
  double weight;
  bool kept;
};

SRP_HD TokenBound token_bound(const srp_correction_bound_args& a, bool enters, double factor, double log_prob,
                              double old_log_prob) {
  if (!enters) return {a.masked_weight, false};
  const double x = statistic_of(a.statistic, a.log_clamp, log_prob, old_log_prob);
  const bool outside = x < a.low || x > a.high;
  return {scaled(factor, a.outside == SRP_OUTSIDE_CLAMP ? clamp(x, a.low, a.high)
                         : outside                      ? 0.0
                                                        : x),
          x >= a.low && x <= a.high && factor != 0};
}

SRP_HD double row_factor(const srp_correction_bound_args& a, int64_t b) {
  return a.row_factors ? a.row_factors[b] : 1.0;
}

// Writes those of token i; returns whether it is kept.
template <class F>
SRP_HD bool bound_token(const srp_correction_bound_args& a, int64_t b, int64_t i) {
  const bool enters = !a.mask || a.mask[i];
  const double log_prob = enters ? load(static_cast<const F*>(a.log_probs), i) : 0;
  const TokenBound bound =
      token_bound(a, enters, row_factor(a, b), log_prob, enters ? load(static_cast<const F*>(a.old_log_probs), i) : 0);
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
