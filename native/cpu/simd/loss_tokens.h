// Losses of tokens with their KL terms and gradients (contract: surprisal/loss.h).
namespace srp::cpu::SRP_LEVEL {

// A lane's part of the row's figures.
struct LossLanes {
  FigureLanes figures;
  F64 largest;
};

SRP_INLINE void clear(LossLanes* sums, bool all_figures) {
  clear(&sums->figures, all_figures);
  sums->largest = splat(-static_cast<double>(INFINITY));
}

// The clipped surrogate, from the exp that the figures need as well.
template <class F>
SRP_INLINE LossTerm<Lanes> clip_loss(F64 x, F64 e, F64 advantage, const LossParameters& p) {
  const F64 low = splat(p.log_low), high = splat(p.log_high);
  if (__builtin_expect(!any(!both(at_least(x, low), at_most(x, high))), 1)) {
    if (is_plain(p) && !beyond_exp(x)) return plain_loss(e, advantage, p);
    return ClipForm::of(ClampedRatio<Lanes>{x, e, Mask{}}, Lanes(advantage), p);
  }
  const Lanes clamped = clamp(Lanes(x), Lanes(low), Lanes(high));
  const ClampedRatio<Lanes> held = {clamped, exponentials<F>(clamped.x).exp, !both(at_least(x, low), at_most(x, high))};
  return ClipForm::of(held, Lanes(advantage), p);
}

// With bounds of tokens.
template <class F>
SRP_INLINE LossTerm<Lanes> clip_loss(F64 x, F64 e, F64 advantage, const LaneParameters& p) {
  const Lanes low(p.log_low), high(p.log_high), clamped = clamp(Lanes(x), low, high);
  const Mask moves = both(Lanes(x) >= low, Lanes(x) <= high);
  const F64 ratio = any(!moves) ? exponentials<F>(clamped.x).exp : e;
  return ClipForm::of(ClampedRatio<Lanes>{clamped, ratio, !moves}, Lanes(advantage), p);
}

// The other forms, by a call: seven of them in every loop would be long.
static __attribute__((noinline)) void other_loss(int32_t form, const LossPoint<Lanes>& point, const F64& advantage,
                                                 const LaneParameters& p, LossTerm<Lanes>* out) {
  *out = loss_term(form, point, Lanes(advantage), p);
}

template <class F, class P>
SRP_INLINE void add_losses(const LossTokens<F>& row, const LossInputs& in, const LossTerm<Lanes>& t,
                           const Exponentials& e, const LossHalf& out, const P& p, LossLanes* sums) {
  FigureLanes* const figures = &sums->figures;
  figures->loss += out.loss;
  figures->kl += out.kl;
  figures->ratio += out.ratio;
  const F64 ratio = pick(in.kept, t.ratio.x, splat(-static_cast<double>(INFINITY)));
  sums->largest = pick(more(ratio, sums->largest), ratio, sums->largest);
  count(&figures->kept, in.kept);
  count(&figures->terms, in.term);
  count(&figures->clipped, out.clipped);
  count(&figures->limited, both(in.kept, t.limited));
  if (!row.all_figures) return;
  add_log_ratios(figures, in.point.log_ratio.x, e, row.parameters.log_clamp);
  add_band(figures, ratio_band(t.ratio.x, p), in.kept, in.advantage);
}

// Of inputs, with the parameters P of the row or of these tokens.
template <class F, class P>
SRP_INLINE LossHalf half_of(const LossTokens<F>& row, bool sums_up, int64_t i, const LossInputs& in, const P& p,
                            LossLanes* sums) {
  const bool clips = row.form == SRP_LOSS_CLIP;
  Exponentials e = {};
  if (clips || row.all_figures || row.kl.times_ratio) e = exponentials<F>(in.point.log_ratio.x);
  LossTerm<Lanes> t;
  if (clips) {
    t = clip_loss<F>(in.point.log_ratio.x, e.exp, in.advantage, p);
  } else {
    // These are copies: the compiler would read anything that a store might overwrite again after it.
    const LossPoint<Lanes> point = in.point;
    const F64 advantage = in.advantage;
    const LaneParameters parameters = in_lanes(p);
    LossTerm<Lanes> other;
    other_loss(row.form, point, advantage, parameters, &other);
    t = other;
  }

  Lanes loss = t.loss, slope = t.slope;
  if (row.factor || row.row_factor != 1) {
    const F64 factor = row.factor ? pick(in.term, load_wide(row.factor + i), F64{}) : splat(row.row_factor);
    loss = scaled(Lanes(factor), loss);
    slope = scaled(Lanes(factor), slope);
  }
  LossHalf out;
  out.loss = pick(in.term, loss.x, F64{}) + F64{};
  slope = select(in.term, slope, Lanes(0));
  out.kl = F64{};
  Lanes kl_slope(0);
  if (row.reference) {
    const KlTerm<Lanes> kl = kl_of(row, in, e.exp, i);
    out.kl = pick(in.kept, kl.value.x, F64{}) + F64{};
    kl_slope = kl.slope;
  }
  const Lanes grad = scaled(Lanes(row.policy), slope) + scaled(Lanes(row.kl_scale), kl_slope);
  out.grad = pick(in.kept, grad.x, F64{}) + F64{};
  out.ratio = pick(in.kept, t.ratio.x, F64{}) + F64{};
  out.clipped = both(in.kept, t.clipped);
  if (sums_up) add_losses(row, in, t, e, out, p, sums);
  return out;
}

// With bounds of tokens. Not inlined twice a register: it is rare, and as long as the loop.
template <class F>
static __attribute__((noinline)) LossHalf bounded_half(const LossTokens<F>& row, bool sums_up, int64_t i,
                                                       LossLanes* sums) {
  LossInputs in = loss_inputs(row, i);
  const LaneParameters p = lane_parameters(row, i, &in);
  return half_of(row, sums_up, i, in, p, sums);
}

template <bool kBounds, class F>
SRP_INLINE LossHalf loss_half(const LossTokens<F>& row, bool sums_up, int64_t i, LossLanes* sums) {
  if constexpr (kBounds) return bounded_half(row, sums_up, i, sums);
  return half_of(row, sums_up, i, loss_inputs(row, i), row.parameters, sums);
}

// The whole registers of a tile. Not inlined, since it is long: a token takes many times what memory needs for it, so its results go
// through the caches at every size.
template <bool kBounds, class F>
static __attribute__((noinline)) void registers_of(const LossTokens<F>& given, int64_t i, int64_t end, LossLanes* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  const bool sums_up = row.figures != nullptr;
  LossLanes sums[2];  // the first halves of the registers add up apart from the second ones
  for (LossLanes& half : sums) clear(&half, row.all_figures);
  for (; i + kLanes <= end; i += kLanes) {
    if (none_kept(row, i)) {
      put_losses(row, i, LossHalf{}, LossHalf{});
      continue;
    }
    LossHalf halves[2];
    each_half([&](int64_t k) { halves[k] = loss_half<kBounds>(row, sums_up, i + k * kHalf, &sums[k]); });
    put_losses(row, i, halves[0], halves[1]);
  }
  add(sums[1].figures, row.all_figures, &sums[0].figures);
  add(sums[0].figures, row.all_figures, &all->figures);
  all->largest = larger(larger(sums[0].largest, sums[1].largest), all->largest);
}

// A tile's sums are added to the row's once, whether its tokens are plain (loss_plain.h) or not.
constexpr int64_t kLossTile = 16 * kLanes;  // tokens

template <class F>
SRP_INLINE void loss_registers(const LossTokens<F>& row, int64_t i, int64_t end, LossLanes* all) {
  if (row.bounds)
    registers_of<true>(row, i, end, all);
  else
    registers_of<false>(row, i, end, all);
}

// The last tokens of a row, fewer than a register.
template <class F>
static __attribute__((noinline)) void loss_cut(const LossTokens<F>& row, int64_t begin, int64_t count,
                                               LossLanes* sums) {
  CutLosses<F> cut;
  loss_registers(cut.tokens(row, begin, count), 0, kLanes, sums);
  cut.put(row);
}

}  // namespace srp::cpu::SRP_LEVEL

#include "loss_plain.h"

#include "loss_kl_plain.h"

#include "loss_staged.h"

namespace srp::cpu::SRP_LEVEL {

// The largest of lanes that are not NaN.
SRP_INLINE double largest_of(F64 lanes) {
  if constexpr (kHalf > 4) lanes = larger(lanes, shift_lanes<4>(lanes, lanes));
  if constexpr (kHalf > 2) lanes = larger(lanes, shift_lanes<2>(lanes, lanes));
  return larger(lanes, shift_lanes<1>(lanes, lanes))[0];
}

// Figures come in as token_figures() has them.
template <class F>
static void loss_tokens(const LossTokens<F>& row, int64_t begin, int64_t end) {
  LossLanes all;
  clear(&all, row.all_figures);
  if (is_plain(row)) {
    plain_tokens(row, begin, end, &all);
  } else if (is_kl_alone(row)) {
    kl_tokens(row, begin, end, &all);
  } else if (is_staged(row)) {
    staged_tokens(row, begin, end, &all);
  } else {
    const int64_t rest = end - (end - begin) % kLanes;
    for (int64_t i = begin; i < rest; i += kLossTile)
      loss_registers(row, i, rest - i < kLossTile ? rest : i + kLossTile, &all);
    if (rest < end) loss_cut(row, rest, end - rest, &all);
  }
  double* const figures = row.figures;
  if (!figures) return;
  store_lanes(figures, all.figures, row.all_figures, row.parameters.log_clamp);
  figures[SRP_FIGURE_ROW_RATIO] = largest_of(all.largest);
  // Ratios are never negative, so a NaN sum means that one of them was NaN. The largest of no ratios is not 0.
  const double ratios = figures[SRP_FIGURE_RATIO], infinity = INFINITY;
  if (ratios != ratios) figures[SRP_FIGURE_ROW_RATIO] = ratios;
  if (figures[SRP_FIGURE_KEPT] == 0) figures[SRP_FIGURE_ROW_RATIO] = -infinity;
}

}  // namespace srp::cpu::SRP_LEVEL
