// Arithmetic of group.h that every native backend shares, and the checks of its arguments.
#ifndef SURPRISAL_SHARED_GROUP_H
#define SURPRISAL_SHARED_GROUP_H

#include <float.h>

#include "shared/checks.h"
#include "shared/group_statistics.h"
#include "shared/rows.h"
#include "surprisal/group.h"

namespace srp {

// One token of `place`, before the number of its row.
template <class F>
SRP_HD double place_token(const srp_group_place_args& a, int64_t i) {
  if (a.mask && !a.mask[i] && !a.transform_masked) return 0;
  const double token = a.tokens ? load(static_cast<const F*>(a.tokens), i) : 0;
  return a.values && a.scale != 0 ? token + a.scale * load(static_cast<const F*>(a.values), i) : token;
}

// The number that `place` adds to the last kept token of row b. NaN stays.
template <class F>
SRP_HD double place_row(const srp_group_place_args& a, int64_t b) {
  double x = a.row ? load(static_cast<const F*>(a.row), b) : 0;
  if (x < a.low) x = a.low;
  if (x > a.high) x = a.high;
  return x;
}

// Softmax: the sum is of its terms. An infinite largest number can't be shifted by.
SRP_HD double softmax_shift(double largest) { return isinf(largest) ? 0 : largest; }
// At temperature 0 each of the largest numbers has 1; a number above the shift is infinite, and so is its term.
SRP_HD double softmax_term(double x, double shift, double temperature) {
  if (temperature > 0) return exp((x - shift) / temperature);
  return isnan(x) ? NAN : x > shift ? INFINITY : x == shift ? 1 : 0;
}
SRP_HD double log_sum_exp(double shift, double sum, double temperature) { return shift / temperature + log(sum); }
SRP_HD double soft_mean(double shift, double sum, double temperature, int64_t count) {
  return shift + temperature * log(sum / static_cast<double>(count));
}
// A group with +infinity has no weights: its sum is infinite.
SRP_HD double softmax_weight(double term, double sum) { return isinf(sum) ? NAN : term / sum; }
// Mixed with the uniform weights. In this form a group of one and uniform weights stay what they are, exactly.
SRP_HD double with_floor(double weight, double floor, int64_t count) {
  const double n = static_cast<double>(count), uniform = 1 / n;
  return weight + (floor < uniform ? floor : uniform) * (1 - n * weight);
}

// Not fmax, which would drop a NaN.
SRP_HD double at_least(double x, double least) { return x < least ? least : x; }

// The exponent of item i, before the temperature.
template <class F>
SRP_HD double tilt_exponent(const srp_group_tilt_args& a, int64_t i) {
  const double z = log(at_least(load(static_cast<const F*>(a.values), i), a.least));
  return a.log_factors && a.coefficient != 0 ? z + a.coefficient * load(static_cast<const F*>(a.log_factors), i) : z;
}
template <class F>
SRP_HD double tilt_count(const srp_group_tilt_args& a, int64_t i) {
  return a.counts ? at_least(load(static_cast<const F*>(a.counts), i), 1) : 1;
}
// What item i adds to the sum of its group.
template <class F>
SRP_HD double tilt_term(const srp_group_tilt_args& a, double shift, int64_t i) {
  return softmax_term(tilt_exponent<F>(a, i), shift, a.temperature) * tilt_count<F>(a, i);
}

// x ln x in an entropy, with another x inside the logarithm.
SRP_HD double entropy_term(double x, double inside) { return x == 0 ? 0 : -(x * log(inside)); }
// Of item i; `sum` is of the numbers that are at least `least`.
template <class F>
SRP_HD double entropy_term(const srp_group_entropy_args& a, double sum, int64_t i) {
  const double x = load(static_cast<const F*>(a.values), i);
  const double raised = at_least(x, a.least);
  return a.normalize ? entropy_term(raised / sum, raised / sum) : entropy_term(x, raised);
}
SRP_HD double evenness(double entropy, int64_t count) {
  if (count < 2) return isnan(entropy) ? NAN : 0;
  return entropy / log(static_cast<double>(count));
}

// Tokens of a row up to its last kept one.
SRP_HD int64_t kept_length(const uint8_t* mask, Range row) {
  int64_t end = row.end;
  while (mask && end > row.begin && !mask[end - 1]) --end;
  return end - row.begin;
}

// One column of a group: adds up the rows that have a kept token there.
struct Column {
  double sum = 0, weight = 0, first = 0;
  bool empty = true, constant = true;

  SRP_HD void add(double x, double w) {
    if (empty) first = x;
    empty = false;
    constant = constant && x == first;
    sum += w * x;
    weight += w;
  }
  // alone: one row of the group reaches the column, or none.
  SRP_HD double baseline(const srp_group_columns_args& a, int64_t rows, bool alone) const {
    if (rows == 1 || (a.zero_tail && alone)) return 0;
    if (constant && weight > 0) return first;
    const double divisor = weight + a.epsilon;
    return divisor == 0 ? 0 : sum / divisor;
  }
};

SRP_HD double weigh(const srp_group_weigh_args& a, double x, double low, double high) {
  if (isnan(x)) return NAN;
  if (a.form == SRP_WEIGH_POWER) return pow(fabs(x), a.power) + a.floor;
  return (x == high ? a.at_max : x == low ? a.at_min : a.between) + a.floor;
}

inline srp_status check_groups(int32_t dtype, const void* values, const int32_t* offsets, int64_t n, int64_t G) {
  SRP_TRY(check_float(dtype));
  SRP_TRY(check_count("n", n));
  if (n > INT32_MAX) return fail(SRP_BAD_SHAPE, "n is %lld, groups have int32 offsets", static_cast<long long>(n));
  SRP_TRY(check_group_count(n, G));
  SRP_TRY(check_pointer("offsets", offsets, G == 0 ? 0 : G + 1));
  return check_pointer("values", values, n);
}

inline srp_status check(const srp_group_normalize_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("ddof", a->ddof, 0, DBL_MAX));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, DBL_MAX));
  SRP_TRY(check_range("variance_floor", a->variance_floor, 0, DBL_MAX));
  SRP_TRY(check_range("gain", a->gain, 0, DBL_MAX));
  SRP_TRY(check_enum("center", a->center, SRP_CENTER_RUNNER_UP));
  SRP_TRY(check_enum("scale", a->scale, SRP_SCALE_SIGNED_MEAN));
  SRP_TRY(check_enum("singleton", a->singleton, SRP_SINGLETON_STANDARD));
  return check_enum("nan_policy", a->nan_policy, SRP_NAN_ABSTAIN);
}

inline srp_status check(const srp_group_softmax_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("temperature", a->temperature, 0, DBL_MAX));
  SRP_TRY(check_range("floor", a->floor, 0, DBL_MAX));
  if (a->temperature == 0 && (a->log_sum_exps || a->soft_means))
    return fail(SRP_BAD_ARGUMENT, "temperature is 0, expected more where log_sum_exps or soft_means are asked for");
  return a->log_sum_exps || a->soft_means ? SRP_OK : check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_tilt_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("temperature", a->temperature, 0, DBL_MAX));
  SRP_TRY(check_range("coefficient", a->coefficient, 0, DBL_MAX));
  SRP_TRY(check_range("least", a->least, 0, DBL_MAX));
  return check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_entropy_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_enum("normalize", a->normalize, 1));
  SRP_TRY(check_range("least", a->least, 0, DBL_MAX));
  return check_pointer("entropies and evennesses", a->entropies ? a->entropies : a->evennesses, a->G);
}

inline srp_status check(const srp_group_top2_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_pointer("best", a->best, a->G));
  return check_pointer("second", a->second, a->G);
}

inline srp_status check(const srp_group_columns_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (a->B > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "B is %lld, groups have int32 offsets", static_cast<long long>(a->B));
  SRP_TRY(check_group_count(a->B, a->G));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, DBL_MAX));
  SRP_TRY(check_enum("zero_tail", a->zero_tail, 1));
  SRP_TRY(check_pointer("group_offsets", a->group_offsets, a->G == 0 ? 0 : a->G + 1));
  SRP_TRY(check_pointer("values", a->values, a->n));
  SRP_TRY(check_pointer("weights", a->weights, a->n));
  return check_pointer("baselines and centred", a->baselines ? a->baselines : a->centred, a->n);
}

inline srp_status check(const srp_group_weigh_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_enum("form", a->form, SRP_WEIGH_EXTREMES));
  SRP_TRY(check_range("power", a->power, 0, DBL_MAX));
  SRP_TRY(check_range("at_max", a->at_max, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("at_min", a->at_min, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("between", a->between, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("floor", a->floor, -DBL_MAX, DBL_MAX));
  return check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_broadcast_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_pointer("row", a->row, a->B));
  return check_pointer("tokens", a->tokens, a->n);
}

inline srp_status check(const srp_group_place_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_range("scale", a->scale, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("low", a->low, -INFINITY, INFINITY));
  SRP_TRY(check_range("high", a->high, -INFINITY, INFINITY));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  return check_pointer("placed", a->placed, a->n);
}

}  // namespace srp

#endif
