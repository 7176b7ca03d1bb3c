// What CPU and CUDA share of loss_row: the sums of a row, what its form computes from them, and the values of its tokens. A row is
// add_row_sums() for every token; row_form(); row_value() for every token; store_row(); row_grad() for every token.
#ifndef SURPRISAL_SHARED_LOSS_ROWS_H
#define SURPRISAL_SHARED_LOSS_ROWS_H

#include "shared/loss.h"

namespace srp {

SRP_HD bool counts_once(int32_t form) {
  return form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_GEOMETRIC || form == SRP_ROW_SQUARED;
}

// A row's one term, and none of its tokens.
SRP_HD bool is_whole(int32_t form) { return form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED; }

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

// Bounds are those of token o.
template <class F>
SRP_HD void add_row_sums(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& p, LossSums* sums) {
  if (!is_kept(a, i)) return;
  const bool term = is_term(a, i);
  const LossPoint<double> point = point_of<F>(a, i);
  sums->kept += 1;
  sums->terms += term ? 1 : 0;
  switch (a.form) {
    case SRP_ROW_GEOMETRIC: {
      if (!term) return;
      LossParameters own = p;
      const double advantage = bounded_advantage<F>(a, b, i, o, &own);
      sums->log_ratio += GeometricForm::at(point.log_ratio, advantage, own).log_ratio;
      sums->advantage += advantage;
      if (a.factors) sums->log_factor += log(factor_of<F>(a, b, i));
      return;
    }
    case SRP_ROW_GAMMA:
      sums->log_ratio += clamp(point.log_ratio, p.log_low, p.log_high);
      if (a.factors_per_token) sums->log_factor += log_gamma_factor(factor_of<F>(a, b, i));
      return;
    default:
      sums->log_ratio += a.old_log_probs_per_row ? point.log_prob : point.log_ratio;
  }
}

// What a form computes from the row's sums; it is the same for all tokens of the row.
struct RowForm {
  ClampedRatio<double> ratio;  // of s; not of GEOMETRIC and GAMMA
  double log_ratio;  // s
  double divisor;  // d s / d log_probs[u] = 1 / divisor; GEOMETRIC: d
  double loss, slope;  // ONCE: of the row, factor included; slope to s, GEOMETRIC: of a term that moves
  double reported;  // the row's ratio or weight
  double positive, negative;  // GAMMA: weights by the sign of the advantage
  bool clipped, limited;  // CLIP_ONCE
};

SRP_HD RowForm no_row_form() { return {{0, 1, false}, 0, 1, 0, 0, 1, 1, 1, false, false}; }

template <class F>
SRP_HD double row_advantage(const LossArgs& a, int64_t b) {
  return a.advantages_per_token ? 0.0 : load(static_cast<const F*>(a.advantages), b);
}

template <class F>
SRP_HD RowForm geometric_row(const LossArgs& a, int64_t b, const LossSums& sums) {
  RowForm row = no_row_form();
  const double terms = static_cast<double>(sums.terms);
  row.divisor = a.parameters.count_epsilon > 0 ? terms + a.parameters.count_epsilon : (sums.terms > 0 ? terms : 1.0);
  row.log_ratio = (sums.log_ratio + sums.log_factor) / row.divisor;
  row.reported = exponential(row.log_ratio);
  row.loss = -scaled(a.advantages_per_token ? sums.advantage / row.divisor : row_advantage<F>(a, b), row.reported);
  row.slope = row.loss / row.divisor;
  return row;
}

template <class F>
SRP_HD RowForm gamma_row(const LossArgs& a, int64_t b, const LossSums& sums) {
  RowForm row = no_row_form();
  const double factor =
      a.factors && !a.factors_per_token ? log_gamma_factor(load(static_cast<const F*>(a.factors), b)) : sums.log_factor;
  row.log_ratio =
      clamp(sums.log_ratio + clamp(factor, GammaForm::low(), GammaForm::high()), GammaForm::low(), GammaForm::high());
  row.positive = GammaForm::weight(row.log_ratio, a.parameters.shape_positive, a.parameters.rate_positive);
  row.negative = GammaForm::weight(row.log_ratio, a.parameters.shape_negative, a.parameters.rate_negative);
  row.reported = row_advantage<F>(a, b) >= 0 ? row.positive : row.negative;
  return row;
}

// The one term of SRP_ROW_CLIP_ONCE.
template <class F>
SRP_HD void clip_row(const LossArgs& a, int64_t b, const LossParameters& all, RowForm* row) {
  LossParameters p = all;
  const double advantage = bounded_advantage<F>(a, b, b, 0, &p);
  const double factor = a.factors ? load(static_cast<const F*>(a.factors), b) : 1.0;
  const LossTerm<double> t = ClipForm::of(row->ratio, advantage, p);
  row->loss = scaled(factor, t.loss);
  row->slope = scaled(factor, t.slope);
  row->clipped = t.clipped;
  row->limited = t.limited;
}

struct PlainExponential {
  SRP_HD double operator()(double x) const { return exponential(x); }
};

// Of forms of s.
template <class F, class Exponential = PlainExponential>
SRP_HD RowForm mean_row(const LossArgs& a, int64_t b, const LossParameters& p, const LossSums& sums,
                        const Exponential& ratio_of = {}) {
  RowForm row = no_row_form();
  row.divisor = divisor(sums.kept, a.reduce);
  row.log_ratio = (sums.log_ratio - (a.old_log_probs_per_row ? load(static_cast<const F*>(a.old_log_probs), b) : 0.0)) /
                  row.divisor;
  const double held = clamp(row.log_ratio, p.log_low, p.log_high);
  row.ratio = {held, ratio_of(held), !(row.log_ratio >= p.log_low && row.log_ratio <= p.log_high)};
  row.reported = row.ratio.ratio;
  if (a.form == SRP_ROW_CLIP_ONCE) {
    clip_row<F>(a, b, p, &row);
  } else if (a.form == SRP_ROW_SQUARED) {
    const double factor = a.factors ? load(static_cast<const F*>(a.factors), b) : 1.0;
    const double distance = a.parameters.coefficient * row.log_ratio - row_advantage<F>(a, b);
    row.loss = scaled(factor, distance * distance);
    row.slope = scaled(factor, 2 * a.parameters.coefficient * distance);
  }
  return row;
}

template <class F, class Exponential = PlainExponential>
SRP_HD RowForm row_form(const LossArgs& a, int64_t b, const LossParameters& p, const LossSums& sums,
                        const Exponential& ratio_of = {}) {
  if (a.form == SRP_ROW_GEOMETRIC) return geometric_row<F>(a, b, sums);
  if (a.form == SRP_ROW_GAMMA) return gamma_row<F>(a, b, sums);
  return mean_row<F>(a, b, p, sums, ratio_of);
}

// Token i of a row, its part of EACH forms: loss and slope with factor, 0 where it is no term. The bounds of token o come into `own`.
struct RowToken {
  double advantage, log_ratio, log_prob, loss, slope, weight;
  bool term, clipped, limited;
};

template <class F>
SRP_HD RowToken row_token(const LossArgs& a, int64_t b, int64_t i, int64_t o, const RowForm& row, LossParameters* own) {
  const LossPoint<double> point = point_of<F>(a, i);
  RowToken token = {bounded_advantage<F>(a, b, i, o, own),
                    point.log_ratio,
                    point.log_prob,
                    0,
                    0,
                    0,
                    is_term(a, i),
                    row.clipped,
                    row.limited};
  const LossParameters& p = *own;
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
        token.loss = scaled(token.slope, token.log_prob);
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
  if (!sums_its_own(a.form)) return token_kl<F>(a, i, token.log_prob, row.ratio, !goes_through(a.form), a.kl);
  return token_kl<F>(a, i, token.log_prob, own_ratio(a, token.log_ratio, p), true, a.kl);
}

// Everything of token i but its gradient; outputs are elements o. `slope` adds up what goes through the row.
template <class F, class Counts>
SRP_HD void row_value(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& all, const RowForm& row,
                      FiguresWith<Counts>* figures, double* slope) {
  void* const losses = counts_once(a.form) ? nullptr : a.losses;
  if (!is_kept(a, i)) {
    store_real<F>(losses, o, 0.0);
    store_real<F>(a.kl_values, o, 0.0);
    if (!is_whole(a.form)) store_flag(a.clipped, o, false);
    return;
  }
  LossParameters p = all;
  const RowToken token = row_token<F>(a, b, i, o, row, &p);
  const KlTerm<double> kl = row_kl<F>(a, i, p, row, token);
  store_real<F>(losses, o, token.loss);
  store_real<F>(a.kl_values, o, kl.value);
  if (!is_whole(a.form)) store_flag(a.clipped, o, token.clipped);
  *slope += token.slope;
  figures->at[SRP_FIGURE_LOSS] += token.loss;
  figures->at[SRP_FIGURE_KL] += kl.value;
  figures->at[SRP_FIGURE_ROW_RATIO] += token.term ? token.weight : 0.0;
  figures->add_flags(token.term, token.clipped, token.limited);
  if (!wants_all(a)) return;
  if (a.form == SRP_ROW_GEOMETRIC)
    figures->add_band(token.log_ratio, -p.clip_low, p.clip_high, token.advantage);
  else
    figures->add_ratio(a.form == SRP_ROW_GAMMA ? exponential(token.log_ratio) : row.ratio.ratio, token.advantage, p);
  if (!a.old_log_probs_per_row) figures->add_log_ratio(token.log_ratio, a.parameters.log_clamp);
}

// The gradient that every kept token of the row gets alike.
SRP_HD double row_through(const LossArgs& a, int64_t b, const RowForm& row, const LossFigures& figures, double slope) {
  if (!goes_through(a.form)) return 0;
  const RowScale scale = row_scale(a, b);
  const double kl = a.kl.times_ratio && !row.ratio.held ? scaled(scale.kl, figures.at[SRP_FIGURE_KL]) : 0.0;
  return (scaled(scale.policy, counts_once(a.form) ? row.slope : slope) + kl) / row.divisor;
}

// Whether the row needs values of its tokens beyond its sums.
SRP_HD bool wants_values(const LossArgs& a) {
  return !is_whole(a.form) || wants_all(a) || a.kl_values || (a.reference_log_probs && (a.figures || a.kl.times_ratio));
}

// What is known of the row's figures before its tokens are looked at.
SRP_HD void add_counts(const LossSums& sums, LossFigures* figures) {
  figures->at[SRP_FIGURE_KEPT] = static_cast<double>(sums.kept);
  figures->at[SRP_FIGURE_TERMS] = static_cast<double>(sums.terms);
}

template <class F>
SRP_HD void store_row(const LossArgs& a, int64_t b, const RowForm& row, LossFigures* figures) {
  if (counts_once(a.form)) {
    figures->at[SRP_FIGURE_LOSS] = row.loss;
    store_real<F>(a.losses, b, row.loss);
  }
  const double kept = figures->at[SRP_FIGURE_KEPT], terms = figures->at[SRP_FIGURE_TERMS];
  if (is_whole(a.form)) {
    const double counts = kept > 0 ? kept : 1.0;
    figures->at[SRP_FIGURE_CLIPPED] = row.clipped ? counts : 0.0;
    figures->at[SRP_FIGURE_LIMITED] = row.limited ? counts : 0.0;
    store_flag(a.clipped, b, row.clipped);
  }
  const bool mixed = a.form == SRP_ROW_GAMMA && a.advantages_per_token;
  const double reported = !mixed ? row.reported : terms > 0 ? figures->at[SRP_FIGURE_ROW_RATIO] / terms : 1.0;
  figures->at[SRP_FIGURE_ROW_RATIO] = reported;
  figures->at[SRP_FIGURE_RATIO] = kept > 0 ? kept * reported : 0.0;
  store_real<F>(a.ratios, b, reported);
  if (a.old_log_probs_per_row && wants_all(a)) figures->add_log_ratio(row.log_ratio, a.parameters.log_clamp);
  store_figures(a, b, *figures);
}

template <class F>
SRP_HD void row_grad(const LossArgs& a, int64_t b, int64_t i, int64_t o, const LossParameters& all,
                     const RowScale& scale, const RowForm& row, double through) {
  if (!is_kept(a, i)) {
    store_real<F>(a.grad_log_probs, o, 0.0);
    return;
  }
  LossParameters p = all;
  const RowToken token = row_token<F>(a, b, i, o, row, &p);
  const double local = goes_through(a.form) ? 0.0 : scaled(scale.policy, token.slope);
  store_real<F>(a.grad_log_probs, o, through + local + scaled(scale.kl, row_kl<F>(a, i, p, row, token).slope));
}

// s of a group is a sum of differences, and only the tokens' terms are needed besides.
inline srp_status check_loss_groups(const LossArgs* a) {
  if (!a->group_offsets) return check_no_groups(a);
  if (a->form != SRP_ROW_CLIP_ONCE) return check_no_groups(a);
  SRP_TRY(check_group_count(a->B, a->G));
  SRP_TRY(check_enum("old_log_probs_per_row", a->old_log_probs_per_row, 0));
  SRP_TRY(check_pointer("old_log_probs", a->old_log_probs, a->n));
  if (a->reference_log_probs || a->kl_values)
    return fail(SRP_BAD_ARGUMENT, "reference_log_probs or kl_values is given, but groups have no KL term");
  if (a->figure_count == SRP_LOSS_SUMS) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "figure_count is %d, expected %d with groups", a->figure_count, SRP_LOSS_SUMS);
}

inline srp_status check_loss_row(const srp_loss_row_args* a) {
  SRP_TRY(check_loss(a, SRP_ROW_CLIP, SRP_ROW_FORMS - 1));
  SRP_TRY(check_pointer("log_probs", a->log_probs, a->n));
  SRP_TRY(check_enum("old_log_probs_per_row", a->old_log_probs_per_row, sums_its_own(a->form) ? 0 : 1));
  if (a->old_log_probs_per_row) SRP_TRY(check_pointer("old_log_probs", a->old_log_probs, a->B));
  SRP_TRY(check_loss_groups(a));
  if (!is_whole(a->form)) return SRP_OK;
  SRP_TRY(check_enum("advantages_per_token", a->advantages_per_token, 0));
  SRP_TRY(check_enum("factors_per_token", a->factors_per_token, 0));
  if (a->term_mask) return fail(SRP_BAD_ARGUMENT, "term_mask is given, but the form has no terms of tokens");
  return SRP_OK;
}

}  // namespace srp

#endif
