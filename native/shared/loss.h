// What CPU and CUDA share of surprisal/loss.h: one token's loss, KL term and gradient, the figures of a row, and the checks of the arguments.
// Each backend has its own loops over tokens, and may keep their inputs elsewhere (o is the index of an output): loss_token is
// token_loss() for every token of a row, then store_figures(). The sums of a row, and what its form makes of them: loss_rows.h.
#ifndef SURPRISAL_SHARED_LOSS_H
#define SURPRISAL_SHARED_LOSS_H

#include <float.h>

#include "shared/ratio.h"
#include "surprisal/loss.h"

namespace srp {

using LossArgs = srp_loss_token_args;

SRP_HD double log_bound_low(double clip_low) { return log1p(clip_low < 1 ? -clip_low : -1.0); }

SRP_HD LossParameters loss_parameters(const srp_loss_parameters& p) {
  const double log_high = p.max_log_ratio < p.log_clamp ? p.max_log_ratio : p.log_clamp;
  return {p, -p.log_clamp, log_high, log_bound_low(p.clip_low), log1p(p.clip_high)};
}

// Bounds of rows and tokens.

SRP_HD bool has_bounds(const LossArgs& a) { return a.clip_lows || a.clip_highs || a.ratio_caps; }

SRP_HD bool has_token_bounds(const LossArgs& a) {
  return a.clip_lows_per_token || a.clip_highs_per_token || a.ratio_caps_per_token;
}

SRP_HD bool reads_widths(int32_t form) {
  return form == SRP_LOSS_CLIP || form == SRP_LOSS_WEIGHTED || form == SRP_LOSS_BOUNDED || form == SRP_LOSS_SQUARED ||
         (form >= SRP_ROW_CLIP && form <= SRP_ROW_GEOMETRIC);
}

SRP_HD bool reads_cap(int32_t form) {
  return reads_widths(form) && form != SRP_LOSS_BOUNDED && form != SRP_LOSS_SQUARED && form != SRP_ROW_GEOMETRIC;
}

template <class F>
SRP_HD void read_bound(const void* bounds, bool per_token, bool tokens, int64_t b, int64_t i, double* to) {
  if (bounds && (tokens || !per_token)) *to = load(static_cast<const F*>(bounds), per_token ? i : b);
}

// Puts the bounds of row b into `p`, with `tokens` those of token i, too. False where one is out of its range.
template <class F>
SRP_HD bool read_bounds(const LossArgs& a, int64_t b, int64_t i, bool tokens, LossParameters* p) {
  read_bound<F>(a.clip_lows, a.clip_lows_per_token, tokens, b, i, &p->clip_low);
  read_bound<F>(a.clip_highs, a.clip_highs_per_token, tokens, b, i, &p->clip_high);
  read_bound<F>(a.ratio_caps, a.ratio_caps_per_token, tokens, b, i, &p->ratio_cap);
  if (a.form == SRP_LOSS_BOUNDED) {
    p->bound_low = log_bound_low(p->clip_low);
    p->bound_high = log1p(p->clip_high);
  }
  return p->clip_low >= 0 && p->clip_high >= 0 && p->ratio_cap > 0;
}

// The weights of a row's sums in the total.
template <class N>
struct RowScaleOf {
  N policy, kl;
};
using RowScale = RowScaleOf<double>;

SRP_HD RowScale row_scale(const LossArgs& a, int64_t b) {
  const double policy = a.row_weights ? finite_or_nan(a.row_weights[b]) : 1.0;
  return {policy, scaled(a.kl_row_weights ? finite_or_nan(a.kl_row_weights[b]) : policy, a.kl.coefficient)};
}

SRP_HD bool is_term(const LossArgs& a, int64_t i) { return !a.term_mask || a.term_mask[i]; }

template <class F, class N = double>
SRP_HD N advantage_of(const LossArgs& a, int64_t b, int64_t i) {
  return number_at<N>(static_cast<const F*>(a.advantages), a.advantages_per_token ? i : b);
}

// The same once the bounds of token o of the batch stand in `p`.
template <class F>
SRP_HD double bounded_advantage(const LossArgs& a, int64_t b, int64_t i, int64_t o, LossParameters* p) {
  return has_bounds(a) && !read_bounds<F>(a, b, o, true, p) ? NAN : advantage_of<F>(a, b, i);
}

template <class F, class N = double>
SRP_HD N factor_of(const LossArgs& a, int64_t b, int64_t i) {
  return a.factors ? number_at<N>(static_cast<const F*>(a.factors), a.factors_per_token ? i : b) : N(1);
}

template <class F, class N>
SRP_HD LossPoint<N> point_at(const LossArgs& a, int64_t i, N log_prob) {
  const bool of_tokens = a.old_log_probs && !a.old_log_probs_per_row;
  const N old_log_prob = of_tokens ? number_at<N>(static_cast<const F*>(a.old_log_probs), i) : log_prob;
  // Without old_log_probs the log ratio is 0, but NaN where log_prob is: inf - inf must not make another NaN.
  const N log_ratio = of_tokens ? log_prob - old_log_prob : (log_prob != log_prob ? log_prob : N(0));
  return {log_ratio, log_prob, old_log_prob, a.marks && a.marks[i]};
}

template <class F, class N = double>
SRP_HD LossPoint<N> point_of(const LossArgs& a, int64_t i) {
  return point_at<F>(a, i, number_at<N>(static_cast<const F*>(a.log_probs), i));
}

// What is cut off is +0, never -0.
template <class F, class N>
SRP_HD void store_real(void* out, int64_t i, N x) {
  if (out) store(static_cast<F*>(out), i, without_sign_of_zero(x));
}

SRP_HD void store_flag(uint8_t* out, int64_t i, bool flag) {
  if (out) out[i] = flag ? 1 : 0;
}

// KL

// The estimate, times the ratio where times_ratio says so: that of the token or the row. `local` ratios carry their gradient
// to the token alone.
template <class F, class N, class Kl>
SRP_HD KlTerm<N> token_kl(const LossArgs& a, int64_t i, N log_prob, const ClampedRatio<N>& ratio, bool local,
                          const Kl& parameters) {
  if (!a.reference_log_probs) return {N(0), N(0)};
  const N reference = number_at<N>(static_cast<const F*>(a.reference_log_probs), i);
  const KlTerm<N> kl = KlForm::at(log_prob - reference, parameters);
  return a.kl.times_ratio ? times_ratio(kl, ratio.ratio, local && !ratio.held) : kl;
}

// The token's ratio, where only the KL term asks for it.
template <class N, class P>
SRP_HD ClampedRatio<N> own_ratio(const LossArgs& a, N log_ratio, const P& p) {
  return a.kl.times_ratio ? ClampedRatio<N>::of(log_ratio, p) : ClampedRatio<N>{log_ratio, N(1), false};
}

// Figures

// What a row's tokens add up. How many tokens there are of a kind, `Counts` keeps: among the figures (CountsInPlace) or apart.
template <class Counts, class N = double>
struct FiguresWith {
  N at[SRP_LOSS_FIGURES];
  Counts counts;

  SRP_HD FiguresWith() {
    for (int k = 0; k < SRP_LOSS_FIGURES; ++k) at[k] = N(0);
  }

  SRP_HD void count(int figure, bool says) { counts.add(at, figure, says); }

  SRP_HD void add_log_ratio(N x, N log_clamp) {
    const N e = exponential_less_one(x);
    at[SRP_FIGURE_LOG_RATIO] += x;
    at[SRP_FIGURE_CLAMPED_LOG_RATIO] += clamp(x, -log_clamp, log_clamp);
    at[SRP_FIGURE_ABSOLUTE_LOG_RATIO] += magnitude(x);
    at[SRP_FIGURE_SQUARED_LOG_RATIO] += x * x;
    at[SRP_FIGURE_RATIO_K3] += e == N(INFINITY) ? e : beyond_line(e, x);
  }

  // `value` of a kept token against a band.
  SRP_HD void add_band(N value, N low, N high, N advantage) {
    const bool outside = value < low || value > high;
    count(SRP_FIGURE_BELOW, value < low && advantage < N(0));
    count(SRP_FIGURE_ABOVE, value > high && advantage > N(0));
    count(SRP_FIGURE_OUTSIDE, outside);
    count(SRP_FIGURE_OUTSIDE_POSITIVE, outside && advantage > N(0));
    count(SRP_FIGURE_OUTSIDE_NEGATIVE, outside && advantage < N(0));
  }

  template <class P>
  SRP_HD void add_ratio(N ratio, N advantage, const P& p) {
    const N cap(p.ratio_cap);
    add_band(ratio > cap ? cap : ratio, N(1) - N(p.clip_low), N(1) + N(p.clip_high), advantage);
  }

  SRP_HD void add_flags(bool term, bool clipped, bool limited) {
    count(SRP_FIGURE_KEPT, true);
    count(SRP_FIGURE_TERMS, term);
    count(SRP_FIGURE_CLIPPED, clipped);
    count(SRP_FIGURE_LIMITED, limited);
  }
};

struct CountsInPlace {
  SRP_HD void add(double* at, int figure, bool says) { at[figure] += says ? 1 : 0; }
};
using LossFigures = FiguresWith<CountsInPlace>;

// Whether figures beyond the sums are wanted.
SRP_HD bool wants_all(const LossArgs& a) { return a.figures && a.figure_count > SRP_LOSS_SUMS; }

// NaN wins over every number.
template <class N>
SRP_HD N larger(N a, N b) {
  return a != a || a >= b ? a : b;
}

// figure_count is SRP_LOSS_SUMS or SRP_LOSS_FIGURES. 0 added: no figure is -0.
SRP_HD void store_figures(const LossArgs& a, int64_t b, const LossFigures& row) {
  if (!a.figures) return;
  const RowScale scale = row_scale(a, b);
  double* const to = a.figures + b * a.figure_count;
  to[SRP_FIGURE_TOTAL] = scaled(scale.policy, row.at[SRP_FIGURE_LOSS]) + scaled(scale.kl, row.at[SRP_FIGURE_KL]) + 0.0;
  for (int k = SRP_FIGURE_TOTAL + 1; k < SRP_LOSS_SUMS; ++k) to[k] = row.at[k] + 0.0;
  if (!wants_all(a)) return;
  for (int k = SRP_LOSS_SUMS; k < SRP_LOSS_FIGURES; ++k) to[k] = row.at[k] + 0.0;
}

// loss_token

SRP_HD LossFigures token_figures() {
  LossFigures row;
  row.at[SRP_FIGURE_ROW_RATIO] = -INFINITY;
  return row;
}

// What a kept token costs: loss and slope with factor, 0 where it is no term.
template <class N>
struct TokenCost {
  LossTerm<N> form;
  KlTerm<N> kl;
  N loss, slope;
  bool term;

  SRP_HD N grad(const RowScaleOf<N>& scale) const { return scaled(scale.policy, slope) + scaled(scale.kl, kl.slope); }
};

template <class F, class N, class P, class Kl>
SRP_HD TokenCost<N> token_cost(const LossArgs& a, int64_t b, int64_t i, const P& p, const Kl& kl,
                               const LossPoint<N>& point, N advantage) {
  const LossTerm<N> t = loss_term(a.form, point, advantage, p);
  const bool term = is_term(a, i);
  const N factor = term ? factor_of<F, N>(a, b, i) : N(0);
  return {t, token_kl<F>(a, i, point.log_prob, own_ratio(a, point.log_ratio, p), true, kl),
          term ? scaled(factor, t.loss) : N(0), term ? scaled(factor, t.slope) : N(0), term};
}

// A token that the mask leaves out: its outputs are elements o.
template <class F>
SRP_HD void token_without_loss(const LossArgs& a, int64_t o) {
  store_real<F>(a.losses, o, 0.0);
  store_real<F>(a.ratios, o, 0.0);
  store_real<F>(a.kl_values, o, 0.0);
  store_flag(a.clipped, o, false);
  store_real<F>(a.grad_log_probs, o, 0.0);
}

// Token i of row b, which is kept: its outputs, which are elements o, and its part of the row's figures.
template <class F, class N, class P, class Kl, class Counts>
SRP_HD void kept_token_loss(const LossArgs& a, int64_t b, int64_t i, int64_t o, const P& p, const Kl& kl, N advantage,
                            const RowScaleOf<N>& scale, FiguresWith<Counts, N>* row) {
  const LossPoint<N> point = point_of<F, N>(a, i);
  const TokenCost<N> cost = token_cost<F>(a, b, i, p, kl, point, advantage);
  store_real<F>(a.losses, o, cost.loss);
  store_real<F>(a.ratios, o, cost.form.ratio);
  store_real<F>(a.kl_values, o, cost.kl.value);
  store_flag(a.clipped, o, cost.form.clipped);
  store_real<F>(a.grad_log_probs, o, cost.grad(scale));
  if (!a.figures) return;
  row->at[SRP_FIGURE_LOSS] += cost.loss;
  row->at[SRP_FIGURE_KL] += cost.kl.value;
  row->at[SRP_FIGURE_ROW_RATIO] = larger(row->at[SRP_FIGURE_ROW_RATIO], cost.form.ratio);
  row->at[SRP_FIGURE_RATIO] += cost.form.ratio;
  row->add_flags(cost.term, cost.form.clipped, cost.form.limited);
  if (!wants_all(a)) return;
  row->add_ratio(cost.form.ratio, advantage, p);
  row->add_log_ratio(point.log_ratio, N(p.log_clamp));
}

// Token i of row b, kept or not. Its bounds are elements o, too.
template <class F, class Counts>
SRP_HD void token_loss(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& all,
                       const RowScale& scale, FiguresWith<Counts>* row) {
  if (!is_kept(a, i)) return token_without_loss<F>(a, o);
  LossParameters p = all;
  const double advantage = bounded_advantage<F>(a, b, i, o, &p);
  kept_token_loss<F>(a, b, i, o, p, a.kl, advantage, scale, row);
}

// Checks

// Open at the lower end; NaN fails.
inline srp_status check_above(const char* name, double value, double low) {
  if (value > low) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %g, expected more than %g", name, value, low);
}

inline srp_status check_first(const char* name, int32_t value, int32_t first, int32_t last) {
  if (value >= first && value <= last) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %d, expected %d..%d", name, value, first, last);
}

inline srp_status check_parameters(const srp_loss_parameters& p) {
  SRP_TRY(check_range("clip_low", p.clip_low, 0, INFINITY));
  SRP_TRY(check_range("clip_high", p.clip_high, 0, INFINITY));
  SRP_TRY(check_above("dual_clip", p.dual_clip, 1));
  SRP_TRY(check_above("ratio_cap", p.ratio_cap, 0));
  SRP_TRY(check_above("log_clamp", p.log_clamp, 0));
  SRP_TRY(check_range("max_log_ratio", p.max_log_ratio, 0, INFINITY));
  SRP_TRY(check_above("temperature_positive", p.temperature_positive, 0));
  SRP_TRY(check_above("temperature_negative", p.temperature_negative, 0));
  SRP_TRY(check_finite("coefficient", p.coefficient));
  SRP_TRY(check_finite("shape_positive", p.shape_positive));
  SRP_TRY(check_finite("rate_positive", p.rate_positive));
  SRP_TRY(check_finite("shape_negative", p.shape_negative));
  SRP_TRY(check_finite("rate_negative", p.rate_negative));
  return check_range("count_epsilon", p.count_epsilon, 0, DBL_MAX);
}

// `given`: whether there is a reference; `may_be`: whether one is allowed.
inline srp_status check_kl(const srp_kl_parameters& kl, bool given, bool may_be) {
  SRP_TRY(check_first("kl.kind", kl.kind, given ? 1 : 0, may_be ? SRP_KL_K3 : 0));
  SRP_TRY(check_first("kl.gradient_kind", kl.gradient_kind, given ? 1 : 0, may_be ? SRP_KL_K3 : 0));
  SRP_TRY(check_enum("kl.times_ratio", kl.times_ratio, may_be ? 1 : 0));
  SRP_TRY(check_finite("kl.coefficient", kl.coefficient));
  SRP_TRY(check_above("kl.log_clamp", kl.log_clamp, 0));
  return check_above("kl.value_clamp", kl.value_clamp, 0);
}

inline srp_status check_bounds(const LossArgs* a) {
  const int32_t most = a->form == SRP_ROW_CLIP_ONCE ? 0 : 1;
  SRP_TRY(check_enum("clip_lows_per_token", a->clip_lows_per_token, a->clip_lows || a->n == 0 ? most : 0));
  SRP_TRY(check_enum("clip_highs_per_token", a->clip_highs_per_token, a->clip_highs || a->n == 0 ? most : 0));
  SRP_TRY(check_enum("ratio_caps_per_token", a->ratio_caps_per_token, a->ratio_caps || a->n == 0 ? most : 0));
  if ((a->clip_lows || a->clip_highs) && !reads_widths(a->form))
    return fail(SRP_BAD_ARGUMENT, "clip_lows or clip_highs is given, but form %d reads no clip widths", a->form);
  if (!a->ratio_caps || reads_cap(a->form)) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "ratio_caps is given, but form %d reads no cap", a->form);
}

inline srp_status check_loss(const LossArgs* a, int32_t first_form, int32_t last_form) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_first("form", a->form, first_form, last_form));
  SRP_TRY(check_enum("advantages_per_token", a->advantages_per_token, 1));
  SRP_TRY(check_enum("factors_per_token", a->factors_per_token, a->factors || a->n == 0 ? 1 : 0));
  SRP_TRY(check_enum("reduce", a->reduce, SRP_REDUCE_SUM));
  if (a->figure_count != SRP_LOSS_SUMS && a->figure_count != SRP_LOSS_FIGURES)
    return fail(SRP_BAD_ARGUMENT, "figure_count is %d, expected %d or %d", a->figure_count, SRP_LOSS_SUMS,
                SRP_LOSS_FIGURES);
  SRP_TRY(check_parameters(a->parameters));
  SRP_TRY(check_bounds(a));
  SRP_TRY(check_kl(a->kl, a->reference_log_probs, a->reference_log_probs || a->n == 0));  // an empty array may be NULL
  return check_pointer("advantages", a->advantages, a->advantages_per_token ? a->n : a->B);
}

inline srp_status check_no_groups(const LossArgs* a) {
  if (!a->group_offsets && !a->members) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "group_offsets and members belong to SRP_ROW_CLIP_ONCE of loss_row");
}

inline srp_status check_loss_token(const srp_loss_token_args* a) {
  SRP_TRY(check_loss(a, SRP_LOSS_CLIP, SRP_LOSS_FORMS - 1));
  SRP_TRY(check_no_groups(a));
  SRP_TRY(check_pointer("log_probs", a->log_probs, a->n));
  return check_enum("old_log_probs_per_row", a->old_log_probs_per_row, 0);
}

}  // namespace srp

#endif
