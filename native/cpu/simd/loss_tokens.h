// Losses of tokens with their KL terms and gradients (contract: surprisal/loss.h).
namespace srp::cpu::SRP_LEVEL {

// A lane's part of the row's figures.
struct LossLanes {
  FigureLanes figures;
  F64 largest;
};

SRP_INLINE LossLanes no_losses() {
  LossLanes none = {};
  none.largest = splat(-static_cast<double>(INFINITY));
  return none;
}

// The clipped surrogate, from the exp that the figures need as well.
SRP_INLINE LossTerm<Lanes> clip_loss(F64 x, F64 e, F64 advantage, const LossParameters& p) {
  const F64 low = splat(p.log_low), high = splat(p.log_high);
  if (__builtin_expect(!any(!both(at_least(x, low), at_most(x, high))), 1)) {
    if (is_plain(p) && !beyond_exp(x)) return plain_loss(e, advantage, p);
    return ClipForm::of(ClampedRatio<Lanes>{x, e, Mask{}}, Lanes(advantage), p);
  }
  const Lanes clamped = clamp(Lanes(x), Lanes(low), Lanes(high));
  const ClampedRatio<Lanes> held = {clamped, exponentials(clamped.x).exp, !both(at_least(x, low), at_most(x, high))};
  return ClipForm::of(held, Lanes(advantage), p);
}

// The other forms, by a call: seven of them in every loop would be long.
static __attribute__((noinline)) void other_loss(int32_t form, const LossPoint<Lanes>& point, const F64& advantage,
                                                 const LossParameters& p, LossTerm<Lanes>* out) {
  *out = loss_term(form, point, Lanes(advantage), p);
}

template <class F>
SRP_INLINE void add_losses(const LossTokens<F>& row, const LossInputs& in, const LossTerm<Lanes>& t,
                           const Exponentials& e, const LossHalf& out, LossLanes* sums) {
  FigureLanes* const figures = &sums->figures;
  figures->loss += out.loss;
  figures->kl += out.kl;
  add_log_ratios(figures, in.point.log_ratio.x, e, in.kept, row.log_clamp);
  const F64 ratio = pick(in.kept, t.ratio.x, splat(-static_cast<double>(INFINITY)));
  sums->largest = pick(more(ratio, sums->largest), ratio, sums->largest);
  count(&figures->kept, in.kept);
  count(&figures->terms, in.term);
  count(&figures->clipped, out.clipped);
  count(&figures->limited, both(in.kept, t.limited));
  add_band(figures, ratio_band(t.ratio.x, row.parameters), in.kept, in.advantage);
}

template <class F>
SRP_INLINE LossHalf loss_half(const LossTokens<F>& row, bool sums_up, int64_t i, LossLanes* sums) {
  const LossInputs in = loss_inputs(row, i);
  const bool clips = row.form == SRP_LOSS_CLIP;
  Exponentials e = {};
  if (clips || sums_up || row.kl_ratio) e = exponentials(in.point.log_ratio.x);
  LossTerm<Lanes> t;
  if (clips) {
    t = clip_loss(in.point.log_ratio.x, e.exp, in.advantage, row.parameters);
  } else {
    // Copies: what a call is handed lies in memory, and what a store might reach is read again after it.
    const LossPoint<Lanes> point = in.point;
    const F64 advantage = in.advantage;
    const LossParameters parameters = row.parameters;
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
  if (sums_up) add_losses(row, in, t, e, out, sums);
  return out;
}

// Whole registers of tokens, from i while there are any. Answers where the others begin. One text in the code, since it is long:
// a token takes many times what memory needs for it, so its results go through the caches at every size.
template <class F>
static __attribute__((noinline)) int64_t loss_registers(const LossTokens<F>& given, int64_t i, int64_t end,
                                                        LossLanes* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  const bool sums_up = row.figures != nullptr;
  LossLanes sums = *all;
  for (; i + kLanes <= end; i += kLanes) {
    if (none_kept(row, i)) {
      put_losses(row, i, LossHalf{}, LossHalf{});
      continue;
    }
    const LossHalf low = loss_half(row, sums_up, i, &sums), high = loss_half(row, sums_up, i + kHalf, &sums);
    put_losses(row, i, low, high);
  }
  *all = sums;
  return i;
}

// The last tokens of a row, fewer than a register.
template <class F>
static __attribute__((noinline)) void loss_cut(const LossTokens<F>& row, int64_t begin, int64_t count,
                                               LossLanes* sums) {
  CutLosses<F> cut;
  loss_registers(cut.tokens(row, begin, count), 0, kLanes, sums);
  cut.put(row);
}

template <class F>
static void loss_tokens(const LossTokens<F>& row, int64_t begin, int64_t end) {
  LossLanes all = no_losses();
  const int64_t rest = loss_registers(row, begin, end, &all);
  if (rest < end) loss_cut(row, rest, end - rest, &all);
  if (!row.figures) return;
  store_lanes(row.figures, all.figures, row.log_clamp);
  // exp is never negative: a sum of it that is NaN has met one, and so has every form's ratio.
  const double ratios = row.figures[SRP_FIGURE_RATIO];
  double largest = ratios == ratios ? -static_cast<double>(INFINITY) : ratios;
  for (int64_t lane = 0; lane < kHalf; ++lane) largest = all.largest[lane] > largest ? all.largest[lane] : largest;
  row.figures[SRP_FIGURE_ROW_RATIO] = largest;
}

}  // namespace srp::cpu::SRP_LEVEL
