// Losses of rows with their KL terms and gradients (contract: surprisal/loss.h): the sums of a row, what its tokens cost once its
// form is known, and gradients that go through it. An exponential is computed only where a figure, a KL estimate or the token's own
// ratio needs one; logarithms of factors come from the C library, lane by lane.
namespace srp::cpu::SRP_LEVEL {

// Which log ratio a form uses.
enum RowKind { kOfRow, kGeometric, kGamma };

SRP_INLINE RowKind row_kind(int32_t form) {
  return form == SRP_ROW_GEOMETRIC ? kGeometric : form == SRP_ROW_GAMMA ? kGamma : kOfRow;
}

// GeometricForm.
struct GeometricLanes {
  F64 log_ratio;
  Mask moves, clipped;
};

template <class P>
SRP_INLINE GeometricLanes geometric_lanes(F64 x, F64 advantage, const P& p) {
  const F64 low = (-Lanes(p.clip_low)).x, high = Lanes(p.clip_high).x;
  const Mask gains = more(advantage, F64{}), loses = less(advantage, F64{});
  const Mask known = both(equal(x, x), equal(advantage, advantage));
  const Mask above = both(gains, more(x, high)), below = both(loses, less(x, low)), clipped = either(above, below);
  F64 value = pick(either(gains, loses), x, F64{});
  value = pick(above, high, pick(below, low, value));
  return {pick(known, value, x + advantage), both(both(known, either(gains, loses)), !clipped), clipped};
}

// Sums

struct LossSumLanes {
  F64 log_ratio[2], log_factor, advantage;
  I64 kept, terms;
};

static __attribute__((noinline)) void log_by_library(double* x) {
  for (int64_t lane = 0; lane < kHalf; ++lane) x[lane] = log(x[lane]);
}

// Logarithms of factors of tokens, 0 where there is none.
template <class F>
SRP_INLINE F64 log_factors(const LossTokens<F>& row, Mask wanted, int64_t i) {
  double x[kHalf];
  store(x, pick(wanted, load_wide(row.factor + i), splat(1.0)));
  log_by_library(x);
  return load(x);
}

template <RowKind kKind, class F>
SRP_INLINE void add_row_sums(const LossRow<F>& row, double log_row_factor, int64_t half, int64_t i,
                             LossSumLanes* sums) {
  const LossTokens<F>& tokens = row.tokens;
  const LossParameters& p = tokens.parameters;
  LossInputs in = loss_inputs(tokens, i);
  const Lanes x = in.point.log_ratio;
  count(&sums->kept, in.kept);
  count(&sums->terms, in.term);
  if (kKind == kGeometric) {
    F64 held;
    if (tokens.bounds) {
      const LaneParameters own = lane_parameters(tokens, i, &in);
      held = geometric_lanes(x.x, in.advantage, own).log_ratio;
    } else {
      held = geometric_lanes(x.x, in.advantage, p).log_ratio;
    }
    sums->log_ratio[half] += pick(in.term, held, F64{});
    sums->advantage += pick(in.term, in.advantage, F64{});
    sums->log_factor += tokens.factor ? log_factors(tokens, in.term, i) : pick(in.term, splat(log_row_factor), F64{});
  } else if (kKind == kGamma) {
    sums->log_ratio[half] += pick(in.kept, clamp(x, Lanes(p.log_low), Lanes(p.log_high)).x, F64{});
    if (tokens.factor) {
      const Lanes factor =
          clamp(Lanes(log_factors(tokens, in.kept, i)), Lanes(GammaForm::low()), Lanes(GammaForm::high()));
      sums->log_factor += factor.x;
    }
  } else {
    sums->log_ratio[half] += row.old_log_probs_per_row ? in.point.log_prob.x : x.x;
  }
}

template <RowKind kKind, class F>
static LossSums loss_sums_of(const LossRow<F>& given, int64_t begin, int64_t end) {
  LossRow<F> row = given;  // what no store can reach stays in registers
  CutLosses<F> cut;
  const double log_row_factor = kKind == kGeometric ? log(row.tokens.row_factor) : 0;
  LossSumLanes lanes = {};
  for (int64_t i = begin;; i = 0, end = kLanes) {
    for (; i + kLanes <= end; i += kLanes) {
      if (none_kept(row.tokens, i)) continue;
      each_half([&](int64_t k) { add_row_sums<kKind>(row, log_row_factor, k, i + k * kHalf, &lanes); });
    }
    if (i == end) break;
    row.tokens = cut.tokens(row.tokens, i, end - i);
  }
  LossSums sums;
  sums.log_ratio = sum(lanes.log_ratio[0] + lanes.log_ratio[1]);
  sums.log_factor = sum(lanes.log_factor);
  sums.advantage = sum(lanes.advantage);
  sums.kept = sum(lanes.kept);
  sums.terms = sum(lanes.terms);
  return sums;
}

template <class F>
static LossSums loss_sums(const LossRow<F>& row, int64_t begin, int64_t end) {
  const RowKind kind = row_kind(row.tokens.form);
  if (kind == kGeometric) return loss_sums_of<kGeometric>(row, begin, end);
  return kind == kGamma ? loss_sums_of<kGamma>(row, begin, end) : loss_sums_of<kOfRow>(row, begin, end);
}

// Values

struct RowLanes {
  FigureLanes figures;
  F64 slope, weight;
};

SRP_INLINE Mask all_or_none(bool all) { return all ? !Mask{} : Mask{}; }

// What is the same for every token of a row.
struct RowConstants {
  ClampedRatio<Lanes> ratio;
  LossTerm<Lanes> term;  // where the advantage is the row's
  BandMasks band;  // of kOfRow
  bool plain;  // plain_loss() of the ratio
  bool weighs;  // losses of tokens have factors
  bool exponentials;  // whether tokens need one
};

template <RowKind kKind, class F>
SRP_INLINE RowConstants row_constants(const LossRow<F>& row) {
  const LossTokens<F>& tokens = row.tokens;
  const LossParameters& p = tokens.parameters;
  const srp::ClampedRatio<double>& ratio = row.form.ratio;
  const bool clips = tokens.form == SRP_ROW_CLIP || tokens.form == SRP_ROW_CLIP_LOCAL;
  RowConstants all = {};
  all.ratio = {Lanes(ratio.log_ratio), Lanes(ratio.ratio), all_or_none(ratio.held)};
  all.band = ratio_band(all.ratio.ratio.x, p);
  if (clips) {
    all.term = ClipForm::of(all.ratio, Lanes(tokens.row_advantage), p);
  } else {
    all.term.clipped = all_or_none(row.form.clipped);
    all.term.limited = all_or_none(row.form.limited);
  }
  all.plain = is_plain(p) && !ratio.held && fabs(ratio.log_ratio) <= kExpWideLimit;
  all.weighs = clips && (tokens.factor || tokens.row_factor != 1);
  all.exponentials = kKind == kOfRow ? row.tokens.all_figures && !row.old_log_probs_per_row
                                     : row.tokens.all_figures || tokens.kl.times_ratio;
  return all;
}

template <class F>
SRP_INLINE KlTerm<Lanes> kl_of_row(const LossRow<F>& row, const LossInputs& in, int64_t i) {
  const KlTerm<Lanes> kl = kl_estimate(row.tokens, in, i);
  if (!row.tokens.kl.times_ratio) return kl;
  const bool moves = row.tokens.form == SRP_ROW_CLIP_LOCAL && !row.form.ratio.held;
  return times_ratio(kl, Lanes(row.form.ratio.ratio), all_or_none(moves));
}

// A token's loss without its factor, and the weight that goes into the row's figure.
struct TokenTerm {
  Lanes loss, slope, weight;
  Mask clipped, limited;
};

// P: as in half_of().
template <RowKind kKind, bool kBounds, class F, class P>
SRP_INLINE TokenTerm token_term(const LossRow<F>& row, const RowConstants& all, const LossInputs& in, const P& p) {
  TokenTerm out = {};
  if (kKind == kGeometric) {
    const GeometricLanes t = geometric_lanes(in.point.log_ratio.x, in.advantage, p);
    const double slope = row.form.slope;
    out.slope = select(either(t.moves, all_or_none(slope != slope)), Lanes(slope), Lanes(0));
    out.clipped = t.clipped;
  } else if (kKind == kGamma) {
    const Lanes advantage = in.advantage;
    out.weight = select(advantage >= Lanes(0), Lanes(row.form.positive), Lanes(row.form.negative));
    out.slope = -scaled(advantage, out.weight);
    out.loss = scaled(out.slope, in.point.log_prob);
    out.slope = select(out.loss == out.loss, out.slope, out.loss);
  } else {
    const Lanes advantage = in.advantage;
    const LossTerm<Lanes> t = kBounds                 ? ClipForm::of(all.ratio, advantage, p)
                              : !row.tokens.advantage ? all.term
                              : all.plain ? plain_loss(all.ratio.ratio.x, advantage.x, row.tokens.parameters)
                                          : ClipForm::of(all.ratio, advantage, p);
    out = {t.loss, t.slope, Lanes(0), t.clipped, t.limited};
  }
  return out;
}

template <RowKind kKind, bool kBounds, class F, class P>
SRP_INLINE LossHalf half_of(const LossRow<F>& row, const RowConstants& all, int64_t i, const LossInputs& in, const P& p,
                            RowLanes* sums) {
  const LossTokens<F>& tokens = row.tokens;
  const F64 x = in.point.log_ratio.x;
  Exponentials e = {};
  if (all.exponentials) e = exponentials<F>(x);
  TokenTerm t = token_term<kKind, kBounds>(row, all, in, p);
  if (kKind == kOfRow && all.weighs) {
    const F64 factor = tokens.factor ? pick(in.term, load_wide(tokens.factor + i), F64{}) : splat(tokens.row_factor);
    t.loss = scaled(Lanes(factor), t.loss);
    t.slope = scaled(Lanes(factor), t.slope);
  }
  LossHalf out = {};
  out.loss = pick(in.term, t.loss.x, F64{}) + F64{};
  const Lanes slope = select(in.term, t.slope, Lanes(0));
  out.clipped = both(in.kept, t.clipped);
  Lanes kl_slope(0);
  if (tokens.reference) {
    const KlTerm<Lanes> kl = kKind == kOfRow ? kl_of_row(row, in, i) : kl_of(tokens, in, e.exp, i);
    out.kl = pick(in.kept, kl.value.x, F64{}) + F64{};
    kl_slope = kl.slope;
  }
  if (tokens.grad) {
    const Lanes grad = scaled(Lanes(tokens.policy), slope) + scaled(Lanes(tokens.kl_scale), kl_slope);
    out.grad = pick(in.kept, grad.x, F64{}) + F64{};
  }

  sums->figures.loss += out.loss;
  sums->figures.kl += out.kl;
  if (kKind == kOfRow) sums->slope += slope.x;
  if (kKind == kGamma) sums->weight += pick(in.term, t.weight.x, F64{});
  count(&sums->figures.clipped, out.clipped);
  count(&sums->figures.limited, both(in.kept, t.limited));
  if (!row.tokens.all_figures) return out;
  const BandMasks band = kKind == kGeometric ? log_band(x, p)
                         : kKind == kGamma   ? ratio_band(e.exp, p)
                         : kBounds           ? ratio_band(all.ratio.ratio.x, p)
                                             : all.band;
  add_band(&sums->figures, band, in.kept, in.advantage);
  if (!row.old_log_probs_per_row) add_log_ratios(&sums->figures, x, e, tokens.parameters.log_clamp);
  return out;
}

// As bounded_half().
template <RowKind kKind, class F>
static __attribute__((noinline)) LossHalf bounded_row_half(const LossRow<F>& row, const RowConstants& all, int64_t i,
                                                           RowLanes* sums) {
  LossInputs in = loss_inputs(row.tokens, i);
  const LaneParameters p = lane_parameters(row.tokens, i, &in);
  return half_of<kKind, true>(row, all, i, in, p, sums);
}

template <RowKind kKind, bool kBounds, class F>
SRP_INLINE LossHalf row_half(const LossRow<F>& row, const RowConstants& all, int64_t i, RowLanes* sums) {
  if constexpr (kBounds) return bounded_row_half<kKind>(row, all, i, sums);
  return half_of<kKind, false>(row, all, i, loss_inputs(row.tokens, i), row.tokens.parameters, sums);
}

}  // namespace srp::cpu::SRP_LEVEL

#include "loss_rows_plain.h"

namespace srp::cpu::SRP_LEVEL {

template <RowKind kKind, bool kBounds, class F>
static double loss_values_of(const LossRow<F>& given, int64_t begin, int64_t end) {
  LossRow<F> row = given;
  CutLosses<F> cut;
  const RowConstants constants = row_constants<kKind>(row);
  RowLanes lanes;
  clear(&lanes.figures, row.tokens.all_figures);
  lanes.slope = lanes.weight = F64{};
  if (kKind == kOfRow && !kBounds && is_plain(row, constants))
    begin = plain_row_values(row, constants, begin, end, &lanes);
  for (int64_t i = begin;; i = 0, end = kLanes) {
    for (; i + kLanes <= end; i += kLanes) {
      if (none_kept(row.tokens, i)) {
        put_losses(row.tokens, i, LossHalf{}, LossHalf{});
        continue;
      }
      if constexpr (kKind == kOfRow && !kBounds) {  // the shortest: a loop would take a third of its time
        const LossHalf low = row_half<kKind, false>(row, constants, i, &lanes);
        const LossHalf high = row_half<kKind, false>(row, constants, i + kHalf, &lanes);
        put_losses(row.tokens, i, low, high);
      } else {
        LossHalf halves[2];
        each_half([&](int64_t k) { halves[k] = row_half<kKind, kBounds>(row, constants, i + k * kHalf, &lanes); });
        put_losses(row.tokens, i, halves[0], halves[1]);
      }
    }
    if (i == end) break;
    row.tokens = cut.tokens(row.tokens, i, end - i);
  }
  cut.put(given.tokens);
  store_lanes(row.tokens.figures, lanes.figures, row.tokens.all_figures, row.tokens.parameters.log_clamp);
  row.tokens.figures[SRP_FIGURE_ROW_RATIO] = sum(lanes.weight);
  return sum(lanes.slope);
}

template <class F>
static double loss_values(const LossRow<F>& row, int64_t begin, int64_t end) {
  const RowKind kind = row_kind(row.tokens.form);
  if (kind == kGamma) return loss_values_of<kGamma, false>(row, begin, end);
  if (kind == kGeometric)
    return row.tokens.bounds ? loss_values_of<kGeometric, true>(row, begin, end)
                             : loss_values_of<kGeometric, false>(row, begin, end);
  return row.tokens.bounds ? loss_values_of<kOfRow, true>(row, begin, end)
                           : loss_values_of<kOfRow, false>(row, begin, end);
}

// Gradients that go through the row

template <class F>
SRP_INLINE LossHalf gradient_half(const LossRow<F>& row, double through, int64_t i) {
  const LossInputs in = loss_inputs(row.tokens, i);
  const Lanes grad = Lanes(through) + scaled(Lanes(row.tokens.kl_scale), kl_of_row(row, in, i).slope);
  LossHalf out = {};
  out.grad = pick(in.kept, grad.x, F64{}) + F64{};
  return out;
}

// Of rows with a KL term; spread() is enough for the others.
template <class F>
static void loss_gradients(const LossRow<F>& given, int64_t begin, int64_t end, double through) {
  LossRow<F> row = given;
  row.tokens.loss = row.tokens.kl_values = nullptr;  // they have been stored
  row.tokens.clipped = nullptr;
  const LossTokens<F> whole = row.tokens;
  CutLosses<F> cut;
  for (int64_t i = begin;; i = 0, end = kLanes) {
    for (; i + kLanes <= end; i += kLanes) {
      F64 grads[2];
      each_half([&](int64_t k) { grads[k] = gradient_half(row, through, i + k * kHalf).grad; });
      put_both(row.tokens.grad, i, grads[0], grads[1]);
    }
    if (i == end) break;
    row.tokens = cut.tokens(row.tokens, i, end - i);
  }
  cut.put(whole);
}

template <class F>
constexpr LossRowKernels<F> loss_row_kernels() {
  return {loss_sums<F>, loss_values<F>, loss_gradients<F>};
}

}  // namespace srp::cpu::SRP_LEVEL
