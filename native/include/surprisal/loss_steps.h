// What CPU and CUDA share of loss.h: one token's loss, KL term and gradient, what a row adds up, what its form makes of the
// sums, and the checks of the arguments. Who walks which tokens is the backend's business (and where their inputs lie: an output's index is o):
//
//   loss_token  token_loss() for every token of a row, then store_figures()
//   loss_row    add_row_sums() for every token; row_form(); row_value() for every token; store_row(); row_grad() for every token
#ifndef SURPRISAL_LOSS_STEPS_H
#define SURPRISAL_LOSS_STEPS_H

#include <float.h>

#include "surprisal/loss.h"
#include "surprisal/ratio_terms.h"

namespace srp {

using LossArgs = srp_loss_token_args;

SRP_HD LossParameters loss_parameters(const LossArgs& a) {
  const double log_high = a.max_log_ratio < a.log_clamp ? a.max_log_ratio : a.log_clamp;
  LossParameters p{a.clip_low, a.clip_high, a.dual_clip, a.ratio_cap, -a.log_clamp, log_high};
  p.bound_low = log1p(a.clip_low < 1 ? -a.clip_low : -1.0);
  p.bound_high = log1p(a.clip_high);
  p.temperature_positive = a.temperature_positive;
  p.temperature_negative = a.temperature_negative;
  p.coefficient = a.coefficient;
  return p;
}

// What a row's sums count for in the total.
struct RowScale {
  double policy, kl;
};

SRP_HD RowScale row_scale(const LossArgs& a, int64_t b) {
  const double policy = a.row_weight ? a.row_weight[b] : 1.0;
  return {policy, scaled(a.kl_weight ? a.kl_weight[b] : policy, a.kl_coefficient)};
}

SRP_HD bool is_term(const LossArgs& a, int64_t i) { return !a.term_mask || a.term_mask[i]; }

template <class F>
SRP_HD double advantage_of(const LossArgs& a, int64_t b, int64_t i) {
  return load(static_cast<const F*>(a.advantage), a.advantage_per_token ? i : b);
}

template <class F>
SRP_HD double factor_of(const LossArgs& a, int64_t b, int64_t i) {
  return a.factor ? load(static_cast<const F*>(a.factor), a.factor_per_token ? i : b) : 1.0;
}

template <class F>
SRP_HD LossPoint<double> point_at(const LossArgs& a, int64_t i, double current) {
  const double old = a.old && !a.old_per_row ? load(static_cast<const F*>(a.old), i) : current;
  // Without old the log ratio is 0 by definition, but a current NaN stays one: inf - inf must not make another.
  const double log_ratio = a.old && !a.old_per_row ? current - old : (current != current ? current : 0.0);
  return {log_ratio, current, old, a.marks && a.marks[i]};
}

template <class F>
SRP_HD LossPoint<double> point_of(const LossArgs& a, int64_t i) {
  return point_at<F>(a, i, load(static_cast<const F*>(a.current), i));
}

// 0 added: what is cut off is +0, never -0.
template <class F>
SRP_HD void store_real(void* out, int64_t i, double x) {
  if (out) store(static_cast<F*>(out), i, x + 0.0);
}

SRP_HD void store_flag(uint8_t* out, int64_t i, bool flag) {
  if (out) out[i] = flag ? 1 : 0;
}

// KL

SRP_HD KlParameters kl_parameters(const LossArgs& a) {
  return {a.kl_form, a.kl_slope_form, a.kl_log_clamp, a.kl_value_clamp};
}

// The estimate, times the ratio where kl_ratio says so: that of the token or the row. `local` ratios carry their gradient
// to the token alone.
template <class F>
SRP_HD KlTerm<double> token_kl(const LossArgs& a, int64_t i, double current, const ClampedRatio<double>& ratio,
                               bool local) {
  if (!a.reference) return {0, 0};
  const KlTerm<double> kl = KlForm::at(current - load(static_cast<const F*>(a.reference), i), kl_parameters(a));
  return a.kl_ratio ? times_ratio(kl, ratio.ratio, local && !ratio.held) : kl;
}

// The token's ratio, where only the KL term asks for it.
SRP_HD ClampedRatio<double> own_ratio(const LossArgs& a, double log_ratio, const LossParameters& p) {
  return a.kl_ratio ? ClampedRatio<double>::of(log_ratio, p) : ClampedRatio<double>{log_ratio, 1, false};
}

// Figures

// What a row's tokens add up. How many tokens there are of a kind, `Counts` keeps: among the figures (CountsInPlace) or apart.
template <class Counts>
struct FiguresWith {
  double at[SRP_LOSS_FIGURES];
  Counts counts;

  SRP_HD FiguresWith() {
    for (int k = 0; k < SRP_LOSS_FIGURES; ++k) at[k] = 0;
  }

  SRP_HD void count(int figure, bool says) { counts.add(at, figure, says); }

  SRP_HD void add_log_ratio(double x, double log_clamp) {
    const double e = expm1(x);
    at[SRP_FIGURE_LOG_RATIO] += x;
    at[SRP_FIGURE_LOG_RATIO_CLAMPED] += clamp(x, -log_clamp, log_clamp);
    at[SRP_FIGURE_LOG_RATIO_ABS] += fabs(x);
    at[SRP_FIGURE_LOG_RATIO_SQUARED] += x * x;
    at[SRP_FIGURE_RATIO] += e + 1;
    at[SRP_FIGURE_RATIO_K3] += e == INFINITY ? e : e - x;
  }

  // `value` of a kept token against a band.
  SRP_HD void add_band(double value, double low, double high, double advantage) {
    const bool outside = value < low || value > high;
    count(SRP_FIGURE_BELOW, value < low && advantage < 0);
    count(SRP_FIGURE_ABOVE, value > high && advantage > 0);
    count(SRP_FIGURE_OUTSIDE, outside);
    count(SRP_FIGURE_OUTSIDE_POSITIVE, outside && advantage > 0);
    count(SRP_FIGURE_OUTSIDE_NEGATIVE, outside && advantage < 0);
  }

  SRP_HD void add_ratio(double ratio, double advantage, const LossParameters& p) {
    add_band(ratio > p.ratio_cap ? p.ratio_cap : ratio, 1 - p.clip_low, 1 + p.clip_high, advantage);
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

// NaN wins.
SRP_HD double larger(double a, double b) { return a != a || a >= b ? a : b; }

SRP_HD void store_figures(const LossArgs& a, int64_t b, LossFigures row) {
  if (!a.figures) return;
  const RowScale scale = row_scale(a, b);
  row.at[SRP_FIGURE_TOTAL] = scaled(scale.policy, row.at[SRP_FIGURE_LOSS]) + scaled(scale.kl, row.at[SRP_FIGURE_KL]);
  for (int k = 0; k < SRP_LOSS_FIGURES; ++k) a.figures[b * SRP_LOSS_FIGURES + k] = row.at[k] + 0.0;
}

// loss_token

SRP_HD LossFigures token_figures() {
  LossFigures row;
  row.at[SRP_FIGURE_ROW_RATIO] = -INFINITY;
  return row;
}

// What a kept token costs: loss and slope with factor, 0 where it is no term.
struct TokenCost {
  LossTerm<double> form;
  KlTerm<double> kl;
  double loss, slope;
  bool term;

  SRP_HD double grad(const RowScale& scale) const { return scaled(scale.policy, slope) + scaled(scale.kl, kl.slope); }
};

template <class F>
SRP_HD TokenCost token_cost(const LossArgs& a, int64_t b, int64_t i, const LossParameters& p,
                            const LossPoint<double>& point, double advantage) {
  const LossTerm<double> t = loss_term(a.form, point, advantage, p);
  const bool term = is_term(a, i);
  const double factor = term ? factor_of<F>(a, b, i) : 0.0;
  return {t, token_kl<F>(a, i, point.current, own_ratio(a, point.log_ratio, p), true),
          term ? scaled(factor, t.loss) : 0.0, term ? scaled(factor, t.slope) : 0.0, term};
}

// Token i of row b: its outputs, which are elements o, and its part of the row's figures.
template <class F, class Counts>
SRP_HD void token_loss(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& p,
                       const RowScale& scale, FiguresWith<Counts>* row) {
  if (!is_kept(a, i)) {
    store_real<F>(a.loss, o, 0);
    store_real<F>(a.ratio, o, 0);
    store_real<F>(a.kl, o, 0);
    store_flag(a.clipped, o, false);
    store_real<F>(a.grad, o, 0);
    return;
  }
  const double advantage = advantage_of<F>(a, b, i);
  const LossPoint<double> point = point_of<F>(a, i);
  const TokenCost cost = token_cost<F>(a, b, i, p, point, advantage);
  store_real<F>(a.loss, o, cost.loss);
  store_real<F>(a.ratio, o, cost.form.ratio);
  store_real<F>(a.kl, o, cost.kl.value);
  store_flag(a.clipped, o, cost.form.clipped);
  store_real<F>(a.grad, o, cost.grad(scale));
  if (!a.figures) return;
  row->at[SRP_FIGURE_LOSS] += cost.loss;
  row->at[SRP_FIGURE_KL] += cost.kl.value;
  row->at[SRP_FIGURE_ROW_RATIO] = larger(row->at[SRP_FIGURE_ROW_RATIO], cost.form.ratio);
  row->add_flags(cost.term, cost.form.clipped, cost.form.limited);
  row->add_ratio(cost.form.ratio, advantage, p);
  row->add_log_ratio(point.log_ratio, a.log_clamp);
}

// loss_row

SRP_HD bool counts_once(int32_t form) {
  return form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_GEOMETRIC || form == SRP_ROW_SQUARED;
}

SRP_HD bool goes_through(int32_t form) {
  return form == SRP_ROW_CLIP || form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED;
}

// Forms of a sum over terms or of clamped log ratios; the others take the mean or sum over kept tokens.
SRP_HD bool sums_its_own(int32_t form) { return form == SRP_ROW_GEOMETRIC || form == SRP_ROW_GAMMA; }

struct LossSums {
  double log_ratio, log_factor, advantage;
  int64_t kept, terms;

  SRP_HD LossSums() : log_ratio(0), log_factor(0), advantage(0), kept(0), terms(0) {}
};

SRP_HD double log_gamma_factor(double factor) { return clamp(log(factor), GammaForm::low(), GammaForm::high()); }

template <class F>
SRP_HD void add_row_sums(const LossArgs& a, int64_t b, int64_t i, const LossParameters& p, LossSums* sums) {
  if (!is_kept(a, i)) return;
  const bool term = is_term(a, i);
  const LossPoint<double> point = point_of<F>(a, i);
  sums->kept += 1;
  sums->terms += term ? 1 : 0;
  switch (a.form) {
    case SRP_ROW_GEOMETRIC: {
      if (!term) return;
      const double advantage = advantage_of<F>(a, b, i);
      sums->log_ratio += GeometricForm::at(point.log_ratio, advantage, p).log_ratio;
      sums->advantage += advantage;
      if (a.factor) sums->log_factor += log(factor_of<F>(a, b, i));
      return;
    }
    case SRP_ROW_GAMMA:
      sums->log_ratio += clamp(point.log_ratio, p.log_low, p.log_high);
      if (a.factor_per_token) sums->log_factor += log_gamma_factor(factor_of<F>(a, b, i));
      return;
    default:
      sums->log_ratio += a.old_per_row ? point.current : point.log_ratio;
  }
}

// What a form makes of the row's sums: the same for all its tokens.
struct RowForm {
  ClampedRatio<double> ratio;  // of s; not of GEOMETRIC and GAMMA
  double log_ratio;  // s
  double divisor;  // d s / d current[u] = 1 / divisor; GEOMETRIC: d
  double loss, slope;  // ONCE: of the row, factor included; slope to s, GEOMETRIC: of a term that moves
  double reported;  // the row's ratio or weight
  double positive, negative;  // GAMMA: weights by the sign of the advantage
  bool clipped, limited;  // CLIP_ONCE
};

template <class F>
SRP_HD RowForm row_form(const LossArgs& a, int64_t b, const LossParameters& p, const LossSums& sums) {
  RowForm row = {{0, 1, false}, 0, 1, 0, 0, 1, 1, 1, false, false};
  const double advantage = a.advantage_per_token ? 0.0 : load(static_cast<const F*>(a.advantage), b);
  if (a.form == SRP_ROW_GEOMETRIC) {
    const double terms = static_cast<double>(sums.terms);
    row.divisor = a.count_epsilon > 0 ? terms + a.count_epsilon : (sums.terms > 0 ? terms : 1.0);
    row.log_ratio = (sums.log_ratio + sums.log_factor) / row.divisor;
    row.reported = exponential(row.log_ratio);
    row.loss = -scaled(a.advantage_per_token ? sums.advantage / row.divisor : advantage, row.reported);
    row.slope = row.loss / row.divisor;
    return row;
  }
  if (a.form == SRP_ROW_GAMMA) {
    const double factor =
        a.factor && !a.factor_per_token ? log_gamma_factor(load(static_cast<const F*>(a.factor), b)) : sums.log_factor;
    row.log_ratio =
        clamp(sums.log_ratio + clamp(factor, GammaForm::low(), GammaForm::high()), GammaForm::low(), GammaForm::high());
    row.positive = GammaForm::weight(row.log_ratio, a.shape_positive, a.rate_positive);
    row.negative = GammaForm::weight(row.log_ratio, a.shape_negative, a.rate_negative);
    row.reported = advantage >= 0 ? row.positive : row.negative;
    return row;
  }
  row.divisor = divisor(sums.kept, a.reduce);
  row.log_ratio = (sums.log_ratio - (a.old_per_row ? load(static_cast<const F*>(a.old), b) : 0.0)) / row.divisor;
  row.ratio = ClampedRatio<double>::of(row.log_ratio, p);
  row.reported = row.ratio.ratio;
  if (!counts_once(a.form)) return row;
  const double factor = a.factor ? load(static_cast<const F*>(a.factor), b) : 1.0;
  if (a.form == SRP_ROW_CLIP_ONCE) {
    const LossTerm<double> t = ClipForm::of(row.ratio, advantage, p);
    row.loss = scaled(factor, t.loss);
    row.slope = scaled(factor, t.slope);
    row.clipped = t.clipped;
    row.limited = t.limited;
  } else {
    const double distance = a.coefficient * row.log_ratio - advantage;
    row.loss = scaled(factor, distance * distance);
    row.slope = scaled(factor, 2 * a.coefficient * distance);
  }
  return row;
}

// Token i of a row, its part of EACH forms: loss and slope with factor, 0 where it is no term.
struct RowToken {
  double advantage, log_ratio, current, loss, slope, weight;
  bool term, clipped, limited;
};

template <class F>
SRP_HD RowToken row_token(const LossArgs& a, int64_t b, int64_t i, const LossParameters& p, const RowForm& row) {
  const LossPoint<double> point = point_of<F>(a, i);
  RowToken token = {
      advantage_of<F>(a, b, i), point.log_ratio, point.current, 0, 0, 0, is_term(a, i), row.clipped, row.limited};
  switch (a.form) {
    case SRP_ROW_GEOMETRIC: {
      const GeometricForm::Term t = GeometricForm::at(token.log_ratio, token.advantage, p);
      token.clipped = t.clipped;
      if (token.term && (t.moves || row.slope != row.slope)) token.slope = row.slope;
      return token;
    }
    case SRP_ROW_GAMMA:
      token.weight = token.advantage >= 0 ? row.positive : row.negative;
      if (token.term) {
        token.slope = -scaled(token.advantage, token.weight);
        token.loss = scaled(token.slope, token.current);
        if (token.loss != token.loss) token.slope = token.loss;
      }
      return token;
    case SRP_ROW_CLIP:
    case SRP_ROW_CLIP_LOCAL: {
      const LossTerm<double> t = ClipForm::of(row.ratio, token.advantage, p);
      token.clipped = t.clipped;
      token.limited = t.limited;
      if (token.term) {
        const double factor = factor_of<F>(a, b, i);
        token.loss = scaled(factor, t.loss);
        token.slope = scaled(factor, t.slope);
      }
      return token;
    }
    default:
      return token;
  }
}

template <class F>
SRP_HD KlTerm<double> row_kl(const LossArgs& a, int64_t i, const LossParameters& p, const RowForm& row,
                             const RowToken& token) {
  if (!sums_its_own(a.form)) return token_kl<F>(a, i, token.current, row.ratio, !goes_through(a.form));
  return token_kl<F>(a, i, token.current, own_ratio(a, token.log_ratio, p), true);
}

// Everything of token i but its gradient; outputs are elements o. `slope` adds up what goes through the row.
template <class F, class Counts>
SRP_HD void row_value(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& p, const RowForm& row,
                      FiguresWith<Counts>* figures, double* slope) {
  void* const losses = counts_once(a.form) ? nullptr : a.loss;
  if (!is_kept(a, i)) {
    store_real<F>(losses, o, 0);
    store_real<F>(a.kl, o, 0);
    store_flag(a.clipped, o, false);
    return;
  }
  const RowToken token = row_token<F>(a, b, i, p, row);
  const KlTerm<double> kl = row_kl<F>(a, i, p, row, token);
  store_real<F>(losses, o, token.loss);
  store_real<F>(a.kl, o, kl.value);
  store_flag(a.clipped, o, token.clipped);
  *slope += token.slope;
  figures->at[SRP_FIGURE_LOSS] += token.loss;
  figures->at[SRP_FIGURE_KL] += kl.value;
  figures->at[SRP_FIGURE_ROW_RATIO] += token.term ? token.weight : 0.0;
  figures->add_flags(token.term, token.clipped, token.limited);
  if (!a.figures) return;
  if (a.form == SRP_ROW_GEOMETRIC)
    figures->add_band(token.log_ratio, -p.clip_low, p.clip_high, token.advantage);
  else
    figures->add_ratio(a.form == SRP_ROW_GAMMA ? exponential(token.log_ratio) : row.ratio.ratio, token.advantage, p);
  if (!a.old_per_row) figures->add_log_ratio(token.log_ratio, a.log_clamp);
}

// The gradient that every kept token of the row gets alike.
SRP_HD double row_through(const LossArgs& a, int64_t b, const RowForm& row, const LossFigures& figures, double slope) {
  if (!goes_through(a.form)) return 0;
  const RowScale scale = row_scale(a, b);
  const double kl = a.kl_ratio && !row.ratio.held ? scaled(scale.kl, figures.at[SRP_FIGURE_KL]) : 0.0;
  return (scaled(scale.policy, counts_once(a.form) ? row.slope : slope) + kl) / row.divisor;
}

// Whether the tokens of the row have anything to say beyond its sums.
SRP_HD bool wants_values(const LossArgs& a) {
  return !counts_once(a.form) || !goes_through(a.form) || a.figures || a.kl || a.clipped || a.kl_ratio;
}

template <class F>
SRP_HD void store_row(const LossArgs& a, int64_t b, const RowForm& row, LossFigures figures) {
  if (counts_once(a.form)) {
    figures.at[SRP_FIGURE_LOSS] = row.loss;
    store_real<F>(a.loss, b, row.loss);
  }
  const double terms = figures.at[SRP_FIGURE_TERMS];
  const bool mixed = a.form == SRP_ROW_GAMMA && a.advantage_per_token;
  const double reported = !mixed ? row.reported : terms > 0 ? figures.at[SRP_FIGURE_ROW_RATIO] / terms : 1.0;
  figures.at[SRP_FIGURE_ROW_RATIO] = reported;
  store_real<F>(a.ratio, b, reported);
  if (a.old_per_row) figures.add_log_ratio(row.log_ratio, a.log_clamp);
  store_figures(a, b, figures);
}

template <class F>
SRP_HD void row_grad(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& p, const RowScale& scale,
                     const RowForm& row, double through) {
  if (!is_kept(a, i)) {
    store_real<F>(a.grad, o, 0);
    return;
  }
  const RowToken token = row_token<F>(a, b, i, p, row);
  const double local = goes_through(a.form) ? 0.0 : scaled(scale.policy, token.slope);
  store_real<F>(a.grad, o, through + local + scaled(scale.kl, row_kl<F>(a, i, p, row, token).slope));
}

// Checks

inline srp_status check_first(const char* name, int32_t value, int32_t first, int32_t last) {
  if (value >= first && value <= last) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %d, expected %d..%d", name, value, first, last);
}

inline srp_status check_loss_values(const LossArgs* a) {
  SRP_TRY(check_range("clip_low", a->clip_low, 0, INFINITY));
  SRP_TRY(check_range("clip_high", a->clip_high, 0, INFINITY));
  SRP_TRY(check_above("dual_clip", a->dual_clip, 1));
  SRP_TRY(check_above("ratio_cap", a->ratio_cap, 0));
  SRP_TRY(check_above("log_clamp", a->log_clamp, 0));
  SRP_TRY(check_range("max_log_ratio", a->max_log_ratio, 0, INFINITY));
  SRP_TRY(check_above("temperature_positive", a->temperature_positive, 0));
  SRP_TRY(check_above("temperature_negative", a->temperature_negative, 0));
  SRP_TRY(check_finite("coefficient", a->coefficient));
  SRP_TRY(check_finite("shape_positive", a->shape_positive));
  SRP_TRY(check_finite("rate_positive", a->rate_positive));
  SRP_TRY(check_finite("shape_negative", a->shape_negative));
  SRP_TRY(check_finite("rate_negative", a->rate_negative));
  SRP_TRY(check_range("count_epsilon", a->count_epsilon, 0, DBL_MAX));
  SRP_TRY(check_finite("kl_coefficient", a->kl_coefficient));
  SRP_TRY(check_above("kl_log_clamp", a->kl_log_clamp, 0));
  return check_above("kl_value_clamp", a->kl_value_clamp, 0);
}

inline srp_status check_loss(const LossArgs* a, int32_t last_form) {
  SRP_TRY(check_size(a));
  const bool reference = a->reference || a->n == 0;  // an empty array may be NULL
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_first("form", a->form, 1, last_form));
  SRP_TRY(check_enum("advantage_per_token", a->advantage_per_token, 1));
  SRP_TRY(check_enum("factor_per_token", a->factor_per_token, a->factor || a->n == 0 ? 1 : 0));
  SRP_TRY(check_enum("reduce", a->reduce, SRP_REDUCE_SUM));
  SRP_TRY(check_first("kl_form", a->kl_form, a->reference ? 1 : 0, reference ? SRP_KL_K3 : 0));
  SRP_TRY(check_first("kl_slope_form", a->kl_slope_form, a->reference ? 1 : 0, reference ? SRP_KL_K3 : 0));
  SRP_TRY(check_enum("kl_ratio", a->kl_ratio, reference ? 1 : 0));
  SRP_TRY(check_loss_values(a));
  return check_pointer("advantage", a->advantage, a->advantage_per_token ? a->n : a->B);
}

inline srp_status check_loss_token(const srp_loss_token_args* a) {
  SRP_TRY(check_loss(a, SRP_LOSS_SQUARED));
  SRP_TRY(check_pointer("current", a->current, a->n));
  return check_enum("old_per_row", a->old_per_row, 0);
}

inline srp_status check_loss_row(const srp_loss_row_args* a) {
  SRP_TRY(check_loss(a, SRP_ROW_SQUARED));
  SRP_TRY(check_pointer("current", a->current, a->n));
  SRP_TRY(check_enum("old_per_row", a->old_per_row, sums_its_own(a->form) ? 0 : 1));
  if (a->old_per_row) SRP_TRY(check_pointer("old", a->old, a->B));
  if (a->form != SRP_ROW_CLIP_ONCE && a->form != SRP_ROW_SQUARED) return SRP_OK;
  SRP_TRY(check_enum("advantage_per_token", a->advantage_per_token, 0));
  SRP_TRY(check_enum("factor_per_token", a->factor_per_token, 0));
  if (a->term_mask) return fail(SRP_BAD_ARGUMENT, "term_mask is given, but the form has no terms of tokens");
  return SRP_OK;
}

}  // namespace srp

#endif
