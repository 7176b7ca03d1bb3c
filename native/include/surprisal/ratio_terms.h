// What CPU and CUDA share of ratio.h: one token's difference, one unit's log ratio and term, a row's figures, and the
// checks of the arguments. Who walks which tokens is the backend's business.
#ifndef SURPRISAL_RATIO_TERMS_H
#define SURPRISAL_RATIO_TERMS_H

#include "surprisal/checks.h"
#include "surprisal/ratio.h"
#include "surprisal/rows.h"

namespace srp {

// Sum of log-prob differences over kept tokens: of a row, or of the rows of a group.
struct LogSum {
  double sum;
  int64_t kept;
};

template <class Args>
SRP_HD bool is_kept(const Args& a, int64_t i) {
  return !a.mask || a.mask[i];
}

template <class F, class Args>
SRP_HD double difference(const Args& a, int64_t i) {
  return load(static_cast<const F*>(a.current), i) - load(static_cast<const F*>(a.old), i);
}

// What the sum is divided by, in the log ratio and in the gradient.
SRP_HD double divisor(int64_t kept, int32_t reduce) {
  return reduce == SRP_REDUCE_SUM || kept == 0 ? 1.0 : static_cast<double>(kept);
}

// A unit without tokens has sum 0, hence log ratio 0 and ratio 1.
SRP_HD double log_ratio_of(LogSum unit, int32_t reduce) { return unit.sum / divisor(unit.kept, reduce); }

template <class F>
SRP_HD void store_log_ratio(const srp_ratio_log_args& a, int64_t unit, double x, double ratio) {
  if (a.log_ratio) store(static_cast<F*>(a.log_ratio), unit, x);
  if (a.ratio) store(static_cast<F*>(a.ratio), unit, ratio);
}
template <class F>
SRP_HD void store_log_ratio(const srp_ratio_log_args& a, int64_t unit, double x) {
  store_log_ratio<F>(a, unit, x, exponential(x));
}

template <class F>
SRP_HD void store_masked_log_ratio(const srp_ratio_log_args& a, int64_t i) {
  if (a.log_ratio) store(static_cast<F*>(a.log_ratio), i, 0);
  if (a.ratio) store(static_cast<F*>(a.ratio), i, 0);
}

SRP_HD LossParameters clip_parameters(const srp_ratio_clip_args& a) {
  const double log_high = a.max_log_ratio < a.log_clamp ? a.max_log_ratio : a.log_clamp;
  return LossParameters{a.clip_low, a.clip_high, a.dual_clip, a.ratio_cap, -a.log_clamp, log_high};
}

SRP_HD ClampedRatio<double> unit_ratio(const srp_ratio_clip_args& a, double x) {
  return ClampedRatio<double>::of(x, clip_parameters(a));
}

SRP_HD LossTerm<double> term_of(const srp_ratio_clip_args& a, const ClampedRatio<double>& x, double advantage) {
  return ClipForm::of(x, advantage, clip_parameters(a));
}

SRP_HD double row_weight(const srp_ratio_clip_args& a, int64_t b) { return a.row_weight ? a.row_weight[b] : 1.0; }

// 0 - x, not -x: what is cut off is +0, never -0.
SRP_HD double negated(double x) { return 0.0 - x; }

// Ratios of a unit: a token, a row or a group.
template <class F>
SRP_HD void store_ratios(const srp_ratio_clip_args& a, int64_t unit, double ratio, double clipped_ratio) {
  if (a.ratio) store(static_cast<F*>(a.ratio), unit, ratio);
  if (a.clipped_ratio) store(static_cast<F*>(a.clipped_ratio), unit, clipped_ratio);
}

// The term of a token, or of a row at the other levels.
template <class F>
SRP_HD void store_term(const srp_ratio_clip_args& a, int64_t i, double term, bool clipped) {
  if (a.term) store(static_cast<F*>(a.term), i, term);
  if (a.clipped) a.clipped[i] = clipped ? 1 : 0;
}

template <class F>
SRP_HD void store_grad(const srp_ratio_clip_args& a, int64_t i, double grad) {
  if (a.grad) store(static_cast<F*>(a.grad), i, grad);
}

// Partial sums over the terms of a row.
struct RowFigures {
  double term_sum, ratio_sum, ratio_max;
  int32_t terms, clipped, limited;

  SRP_HD RowFigures() : term_sum(0), ratio_sum(0), ratio_max(-INFINITY), terms(0), clipped(0), limited(0) {}

  SRP_HD void add(const LossTerm<double>& t) {
    term_sum += negated(t.loss);
    ratio_sum += t.ratio;
    if (t.ratio > ratio_max || t.ratio != t.ratio) ratio_max = t.ratio;  // a NaN stays: nothing is larger
    terms += 1;
    clipped += t.clipped ? 1 : 0;
    limited += t.limited ? 1 : 0;
  }
};

SRP_HD void store_figures(const srp_ratio_clip_args& a, int64_t b, const RowFigures& row) {
  if (a.objective) a.objective[b] = scaled(row_weight(a, b), row.term_sum);
  if (a.ratio_sum) a.ratio_sum[b] = row.ratio_sum;
  if (a.ratio_max) a.ratio_max[b] = row.ratio_max;
  if (a.terms) a.terms[b] = row.terms;
  if (a.clipped_count) a.clipped_count[b] = row.clipped;
  if (a.limited_count) a.limited_count[b] = row.limited;
}

// SEQUENCE and GROUP: the one term of row b.
template <class F>
SRP_HD LossTerm<double> term_of_row(const srp_ratio_clip_args& a, int64_t b, const ClampedRatio<double>& x) {
  return term_of(a, x, load(static_cast<const F*>(a.advantage), b));
}

template <class F>
SRP_HD void store_row_term(const srp_ratio_clip_args& a, int64_t b, const LossTerm<double>& t) {
  RowFigures figures;
  figures.add(t);
  store_term<F>(a, b, negated(t.loss), t.clipped);
  store_figures(a, b, figures);
}

// d (sum of objectives) / d (log ratio of the unit), negated.
SRP_HD double row_slope(const srp_ratio_clip_args& a, int64_t b, const LossTerm<double>& t) {
  return scaled(row_weight(a, b), t.slope);
}

// The term of row b, stored. Returns its slope.
template <class F>
SRP_HD double row_term(const srp_ratio_clip_args& a, int64_t b, const ClampedRatio<double>& x, LossTerm<double>* out) {
  *out = term_of_row<F>(a, b, x);
  store_row_term<F>(a, b, *out);
  return row_slope(a, b, *out);
}

// TOKEN: what a token reads, so that it can be read ahead.
struct TokenInputs {
  double difference, advantage;
  bool kept;
};

// The term of token i of a row, added to the row's figures.
template <class F>
SRP_HD void token_term(const srp_ratio_clip_args& a, int64_t i, const TokenInputs& token, double weight,
                       RowFigures* row) {
  if (!token.kept) {
    store_ratios<F>(a, i, 0, 0);
    store_term<F>(a, i, 0, false);
    store_grad<F>(a, i, 0);
    return;
  }
  const LossTerm<double> t = term_of(a, unit_ratio(a, token.difference), token.advantage);
  row->add(t);
  store_ratios<F>(a, i, t.ratio, t.clipped_ratio);
  store_term<F>(a, i, negated(t.loss), t.clipped);
  store_grad<F>(a, i, negated(scaled(weight, t.slope)));
}

template <class F>
SRP_HD void token_term(const srp_ratio_clip_args& a, int64_t b, int64_t i, RowFigures* row) {
  const bool kept = is_kept(a, i);
  const TokenInputs token = {kept ? difference<F>(a, i) : 0,
                             kept ? load(static_cast<const F*>(a.advantage), a.advantage_per_token ? i : b) : 0, kept};
  token_term<F>(a, i, token, row_weight(a, b), row);
}

inline srp_status check_levels(int32_t level, int32_t reduce, const int32_t* members, const int32_t* group_offsets,
                               int64_t B, int64_t G) {
  SRP_TRY(check_enum("level", level, SRP_LEVEL_GROUP));
  SRP_TRY(check_enum("reduce", reduce, SRP_REDUCE_SUM));
  if (level == SRP_LEVEL_GROUP) {
    SRP_TRY(check_group_count(B, G));
    return check_pointer("group_offsets", group_offsets, G + 1);
  }
  if (members || group_offsets) return fail(SRP_BAD_ARGUMENT, "members and group_offsets belong to the group level");
  return SRP_OK;
}

// Open at the lower end; NaN fails.
inline srp_status check_above(const char* name, double value, double low) {
  if (value > low) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %g, expected more than %g", name, value, low);
}

inline srp_status check(const srp_ratio_log_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_levels(a->level, a->reduce, a->members, a->group_offsets, a->B, a->G));
  SRP_TRY(check_pointer("current", a->current, a->n));
  SRP_TRY(check_pointer("old", a->old, a->n));
  return check_pointer("log_ratio and ratio", a->log_ratio ? a->log_ratio : a->ratio, a->n);
}

inline srp_status check(const srp_ratio_clip_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (!a->offsets && a->T > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "T is %lld, terms of a row are counted in int32", static_cast<long long>(a->T));
  SRP_TRY(check_levels(a->level, a->reduce, a->members, a->group_offsets, a->B, a->G));
  if (a->form != SRP_LOSS_CLIP) return fail(SRP_BAD_ARGUMENT, "form is %d, expected %d", a->form, SRP_LOSS_CLIP);
  SRP_TRY(check_enum("advantage_per_token", a->advantage_per_token, a->level == SRP_LEVEL_TOKEN ? 1 : 0));
  SRP_TRY(check_range("clip_low", a->clip_low, 0, INFINITY));
  SRP_TRY(check_range("clip_high", a->clip_high, 0, INFINITY));
  SRP_TRY(check_above("dual_clip", a->dual_clip, 1));
  SRP_TRY(check_above("ratio_cap", a->ratio_cap, 0));
  SRP_TRY(check_above("log_clamp", a->log_clamp, 0));
  SRP_TRY(check_range("max_log_ratio", a->max_log_ratio, 0, INFINITY));
  SRP_TRY(check_pointer("current", a->current, a->n));
  SRP_TRY(check_pointer("old", a->old, a->n));
  return check_pointer("advantage", a->advantage, a->advantage_per_token ? a->n : a->B);
}

}  // namespace srp

#endif
