// The formulas of modulate.h for one step, one token and one row, and the checks of their arguments. Each backend has its own
// reductions and loops.
#ifndef SURPRISAL_SHARED_MODULATE_H
#define SURPRISAL_SHARED_MODULATE_H

#include "shared/checks.h"
#include "shared/rows.h"
#include "surprisal/modulate.h"

namespace srp {

// Not isfinite(): host and device compilers both accept this.
SRP_HD bool is_finite(double x) { return x - x == 0; }

struct StepWeights {
  double norm, calibrated, clarity;  // calibrated: before the division by its mean
};

SRP_HD StepWeights step_weights(const srp_modulate_steps_args& a, double low, double high, int64_t s) {
  const double width = high - low + a.epsilon;
  const double norm = width == 0 ? 0.0 : (a.entropies[s] - low) / width;  // 0 only for equal entropies and epsilon 0
  return {norm, exp(-a.k * norm), exp(-a.k_future * norm)};
}

struct Span {
  int64_t row, begin, finish;
};

SRP_HD Span span_at(const int32_t* spans, int64_t s) { return {spans[3 * s], spans[3 * s + 1], spans[3 * s + 2]}; }

// What span s adds to the tokens it covers: the clarity of the step behind it, nothing behind the last step of a row.
SRP_HD double span_bonus(const srp_modulate_spans_args& a, int64_t s) {
  const bool followed = s + 1 < a.S && a.spans[3 * (s + 1)] == a.spans[3 * s];
  return followed ? a.zeta * a.clarities[s + 1] : 0.0;
}

// Whether the step mean is subtracted from a token.
SRP_HD bool in_scope(const srp_modulate_spans_args& a, int64_t i, bool inside) {
  if (a.scope == SRP_SCOPE_MASK) return a.mask[i] != 0;
  return a.scope == SRP_SCOPE_ALL || inside;
}

SRP_HD bool row_valid(const srp_modulate_rows_args& a, double entropy, int64_t length) {
  if (length == 0 && a.empty_isolate) return false;
  return a.non_finite == SRP_NONFINITE_PROPAGATE || is_finite(entropy);
}

// A row that is not valid, yet makes the mean of its group NaN.
SRP_HD bool row_poisons(const srp_modulate_rows_args& a, double entropy) {
  return a.non_finite == SRP_NONFINITE_GROUP && !is_finite(entropy);
}

struct GroupEntropy {
  double mean, deviation;  // mu, sigma
  bool one;  // every row has ratio 1
};

SRP_HD GroupEntropy entropy_statistics(const srp_modulate_rows_args& a, int64_t count, double mean, double squares) {
  if (count == 1 && a.singleton_one) return {mean, 1, true};
  if (count == 1 && a.singleton_zero_mean) return {0, 1, false};
  const double variance = count > 1 ? squares / static_cast<double>(count - 1) : 0.0;
  // Not fmax, which would drop a NaN variance.
  const double floored = variance < a.variance_floor ? a.variance_floor : variance;
  return {mean, sqrt(floored), a.zero_one && mean == 0};
}

SRP_HD double clamp(double x, double low, double high) {
  const double raised = x < low ? low : x;  // NaN passes both comparisons
  return raised > high ? high : raised;
}

SRP_HD double row_ratio(const srp_modulate_rows_args& a, const GroupEntropy& group, double entropy, bool valid) {
  if (!valid || group.one) return 1;
  double ratio;
  if (a.form == SRP_WEIGHT_RATIO) {
    ratio = group.mean / (entropy + a.epsilon);
  } else {
    const double spread = group.deviation < a.epsilon ? a.epsilon : group.deviation;
    ratio = 1 + a.beta * clamp((group.mean - entropy) / spread, -a.z_clip, a.z_clip);
  }
  return a.non_finite == SRP_NONFINITE_PROPAGATE || is_finite(ratio) ? ratio : 1;
}

SRP_HD double row_weight(const srp_modulate_rows_args& a, int64_t b, double ratio) {
  const bool positive = !a.positive || a.positive[b];
  return clamp(ratio, positive ? a.low_positive : a.low_negative, positive ? a.high_positive : a.high_negative);
}

inline srp_status check(const srp_modulate_steps_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_count("S", a->S));
  SRP_TRY(check_finite("k", a->k));
  SRP_TRY(check_finite("k_future", a->k_future));
  SRP_TRY(check_finite("epsilon", a->epsilon));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, INFINITY));
  SRP_TRY(check_enum("finite", a->finite, 1));
  return check_pointer("entropies", a->entropies, a->S);
}

inline srp_status check(const srp_modulate_spans_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_count("S", a->S));
  SRP_TRY(check_finite("zeta", a->zeta));
  SRP_TRY(check_enum("scope", a->scope, SRP_SCOPE_SEGMENTS));
  SRP_TRY(check_pointer("advantages", a->advantages, a->n));
  SRP_TRY(check_pointer("modulated", a->modulated, a->n));
  SRP_TRY(check_pointer("mean", a->mean, 1));
  SRP_TRY(check_pointer("mask", a->mask, a->scope == SRP_SCOPE_MASK ? a->n : 0));
  SRP_TRY(check_pointer("spans", a->spans, a->S));
  SRP_TRY(check_pointer("scales", a->scales, a->S));
  return check_pointer("clarities", a->clarities, a->S);
}

inline srp_status check_bounds(const char* name, double low, double high) {
  if (low == low && high == high) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "the bounds of %s rows are %g and %g, expected numbers", name, low, high);
}

inline srp_status check(const srp_modulate_rows_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (a->B > INT32_MAX) return fail(SRP_BAD_SHAPE, "B is %lld, group offsets are int32", static_cast<long long>(a->B));
  SRP_TRY(check_group_count(a->B, a->G));
  SRP_TRY(check_enum("form", a->form, SRP_WEIGHT_ZSCORE));
  SRP_TRY(check_enum("non_finite", a->non_finite, SRP_NONFINITE_GROUP));
  SRP_TRY(check_finite("epsilon", a->epsilon));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, INFINITY));
  SRP_TRY(check_finite("beta", a->beta));
  SRP_TRY(check_range("z_clip", a->z_clip, 0, INFINITY));
  SRP_TRY(check_range("variance_floor", a->variance_floor, 0, INFINITY));
  SRP_TRY(check_bounds("positive", a->low_positive, a->high_positive));
  SRP_TRY(check_bounds("negative", a->low_negative, a->high_negative));
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("group_offsets", a->group_offsets, 1);
}

}  // namespace srp

#endif
