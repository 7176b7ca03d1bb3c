// Losses of tokens with their KL terms and gradients (contract: surprisal/loss.h). Registers count from the row's begin, so that
// results depend neither on where an array lies nor on padding behind the row; no lane depends on its neighbours.
namespace srp::cpu::SRP_LEVEL {

// A lane's part of the row's figures.
struct LossLanes {
  F64 loss, kl, log_ratio, clamped, absolute, squared, ratio, k3, largest;
  I64 kept, terms, clipped, limited, below, above, outside, positive, negative;
};

SRP_INLINE LossLanes no_losses() {
  LossLanes none = {};
  none.largest = splat(-static_cast<double>(INFINITY));
  return none;
}

// kHalf tokens of a row, 0 under the mask.
struct LossHalf {
  F64 loss, ratio, kl, grad;
  Mask clipped;
};

// The inputs of kHalf tokens, 0 under the mask.
struct LossInputs {
  LossPoint<Lanes> point;
  F64 advantage;
  Mask kept, term;
};

template <class F>
SRP_INLINE LossInputs loss_inputs(const LossTokens<F>& row, int64_t i) {
  LossInputs in;
  in.kept = row.mask ? mask_of(row.mask + i) : !Mask{};
  in.term = row.term_mask ? both(in.kept, mask_of(row.term_mask + i)) : in.kept;
  const F64 current = pick(in.kept, load_wide(row.current + i), F64{});
  F64 old = current, log_ratio;
  if (row.old) {
    old = pick(in.kept, load_wide(row.old + i), F64{});
    log_ratio = current - old;
  } else {
    log_ratio = pick(equal(current, current), F64{}, current);
  }
  in.point = {log_ratio, current, old, row.marks ? mask_of(row.marks + i) : Mask{}};
  in.advantage = row.advantage ? pick(in.kept, load_wide(row.advantage + i), F64{}) : splat(row.row_advantage);
  return in;
}

// Neither dual clip nor cap.
SRP_INLINE bool is_plain(const LossParameters& p) {
  const double off = INFINITY;
  return p.dual_clip == off && p.ratio_cap == off;
}

// ClipForm without dual clip and cap, of ratios that are neither 0 nor infinite nor NaN: the same bits from a third of the
// operations.
SRP_INLINE LossTerm<Lanes> plain_loss(F64 ratio, F64 advantage, const LossParameters& p) {
  const F64 low = splat(1 - p.clip_low), high = splat(1 + p.clip_high);
  F64 banded = pick(less(ratio, low), low, ratio);
  banded = pick(more(ratio, high), high, banded);
  const F64 free = advantage * ratio, held = advantage * banded;
  const Mask clipped = less(held, free);
  return {-pick(clipped, held, free), pick(clipped, F64{}, -free), ratio, banded, clipped, Mask{}};
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
SRP_INLINE KlTerm<Lanes> kl_of(const LossTokens<F>& row, const LossInputs& in, F64 e, int64_t i) {
  const F64 reference = pick(in.kept, load_wide(row.reference + i), F64{});
  const KlTerm<Lanes> kl = KlForm::at(in.point.current - Lanes(reference), row.kl_parameters);
  if (!row.kl_ratio) return kl;
  const F64 x = in.point.log_ratio.x, low = splat(row.parameters.log_low), high = splat(row.parameters.log_high);
  const Mask moves = both(at_least(x, low), at_most(x, high));
  if (!any(!moves)) return times_ratio(kl, Lanes(e), moves);
  return times_ratio(kl, Lanes(exponentials(clamp(Lanes(x), Lanes(low), Lanes(high)).x).exp), moves);
}

template <class F>
SRP_INLINE void add_losses(const LossTokens<F>& row, const LossInputs& in, const LossTerm<Lanes>& t,
                           const Exponentials& e, const LossHalf& out, LossLanes* sums) {
  const LossParameters& p = row.parameters;
  const double infinity = INFINITY;
  const F64 x = in.point.log_ratio.x;
  sums->loss += out.loss;
  sums->kl += out.kl;
  sums->log_ratio += x;
  if (row.log_clamp < infinity) {
    const Lanes clamped = clamp(in.point.log_ratio, Lanes(-row.log_clamp), Lanes(row.log_clamp));
    sums->clamped += clamped.x;
  }
  sums->absolute += absolute(x);
  sums->squared += x * x;
  sums->ratio += pick(in.kept, e.exp, F64{});
  sums->k3 += pick(equal(e.less_one, splat(infinity)), e.less_one, e.less_one - x);
  const F64 ratio = pick(in.kept, t.ratio.x, splat(-infinity));
  sums->largest = pick(more(ratio, sums->largest), ratio, sums->largest);
  count(&sums->kept, in.kept);
  count(&sums->terms, in.term);
  count(&sums->clipped, out.clipped);
  count(&sums->limited, both(in.kept, t.limited));
  const F64 cap = splat(p.ratio_cap), banded = pick(more(t.ratio.x, cap), cap, t.ratio.x);
  const Mask below = both(in.kept, less(banded, splat(1 - p.clip_low)));
  const Mask above = both(in.kept, more(banded, splat(1 + p.clip_high))), outside = either(below, above);
  const Mask gains = more(in.advantage, F64{}), loses = less(in.advantage, F64{});
  count(&sums->below, both(below, loses));
  count(&sums->above, both(above, gains));
  count(&sums->outside, outside);
  count(&sums->positive, both(outside, gains));
  count(&sums->negative, both(outside, loses));
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

template <class F>
SRP_INLINE void put_both(F* out, int64_t i, F64 low, F64 high) {
  if (out) put_wide<false>(out + i, low, high);
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
    const LossHalf low = loss_half(row, sums_up, i, &sums), high = loss_half(row, sums_up, i + kHalf, &sums);
    put_both(row.loss, i, low.loss, high.loss);
    put_both(row.ratio, i, low.ratio, high.ratio);
    put_both(row.kl, i, low.kl, high.kl);
    put_both(row.grad, i, low.grad, high.grad);
    if (row.clipped) store_flags(row.clipped + i, low.clipped, high.clipped);
  }
  *all = sums;
  return i;
}

// Copies of the last tokens of a row, fewer than a register, masked behind the end.
template <class F>
static __attribute__((noinline)) void loss_cut(const LossTokens<F>& row, int64_t begin, int64_t count,
                                               LossLanes* sums) {
  const F* const from[] = {row.current, row.old, row.reference, row.advantage, row.factor};
  F values[5][kLanes] = {}, results[4][kLanes];
  uint8_t kept[kLanes] = {}, terms[kLanes] = {}, marks[kLanes] = {}, clipped[kLanes];
  for (int64_t t = 0; t < count; ++t) {
    const int64_t i = begin + t;
    if (row.mask && !row.mask[i]) continue;
    kept[t] = 1;
    terms[t] = !row.term_mask || row.term_mask[i];
    marks[t] = row.marks && row.marks[i];
    for (int64_t k = 0; k < 5; ++k)
      if (from[k]) values[k][t] = from[k][i];
  }
  LossTokens<F> copy = row;
  copy.current = values[0];
  copy.old = row.old ? values[1] : nullptr;
  copy.reference = row.reference ? values[2] : nullptr;
  copy.advantage = row.advantage ? values[3] : nullptr;
  copy.factor = row.factor ? values[4] : nullptr;
  copy.mask = kept;
  copy.term_mask = terms;
  copy.marks = marks;
  copy.loss = results[0];
  copy.ratio = results[1];
  copy.kl = results[2];
  copy.grad = results[3];
  copy.clipped = clipped;
  loss_registers(copy, 0, kLanes, sums);
  F* const to[] = {row.loss, row.ratio, row.kl, row.grad};
  for (int64_t k = 0; k < 4; ++k)
    if (to[k]) copy_out(to[k] + begin, results[k], count);
  if (row.clipped) copy_out(row.clipped + begin, clipped, count);
}

SRP_INLINE int64_t total_count(I64 counts) {
  int64_t total = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) total += counts[lane];
  return total;
}

template <class F>
SRP_INLINE void store_lanes(const LossTokens<F>& row, const LossLanes& lanes) {
  const double infinity = INFINITY;
  double* const at = row.figures;
  at[SRP_FIGURE_LOSS] = sum(lanes.loss);
  at[SRP_FIGURE_KL] = sum(lanes.kl);
  at[SRP_FIGURE_LOG_RATIO] = sum(lanes.log_ratio);
  at[SRP_FIGURE_LOG_RATIO_CLAMPED] = row.log_clamp < infinity ? sum(lanes.clamped) : at[SRP_FIGURE_LOG_RATIO];
  at[SRP_FIGURE_LOG_RATIO_ABS] = sum(lanes.absolute);
  at[SRP_FIGURE_LOG_RATIO_SQUARED] = sum(lanes.squared);
  at[SRP_FIGURE_RATIO] = sum(lanes.ratio);
  at[SRP_FIGURE_RATIO_K3] = sum(lanes.k3);
  // exp is never negative: a sum of it that is NaN has met one, and so has every form's ratio.
  double largest = at[SRP_FIGURE_RATIO] == at[SRP_FIGURE_RATIO] ? -infinity : at[SRP_FIGURE_RATIO];
  for (int64_t lane = 0; lane < kHalf; ++lane) largest = lanes.largest[lane] > largest ? lanes.largest[lane] : largest;
  at[SRP_FIGURE_ROW_RATIO] = largest;
  at[SRP_FIGURE_KEPT] = static_cast<double>(total_count(lanes.kept));
  at[SRP_FIGURE_TERMS] = static_cast<double>(total_count(lanes.terms));
  at[SRP_FIGURE_CLIPPED] = static_cast<double>(total_count(lanes.clipped));
  at[SRP_FIGURE_LIMITED] = static_cast<double>(total_count(lanes.limited));
  at[SRP_FIGURE_BELOW] = static_cast<double>(total_count(lanes.below));
  at[SRP_FIGURE_ABOVE] = static_cast<double>(total_count(lanes.above));
  at[SRP_FIGURE_OUTSIDE] = static_cast<double>(total_count(lanes.outside));
  at[SRP_FIGURE_OUTSIDE_POSITIVE] = static_cast<double>(total_count(lanes.positive));
  at[SRP_FIGURE_OUTSIDE_NEGATIVE] = static_cast<double>(total_count(lanes.negative));
}

template <class F>
static void loss_tokens(const LossTokens<F>& row, int64_t begin, int64_t end) {
  LossLanes all = no_losses();
  const int64_t rest = loss_registers(row, begin, end, &all);
  if (rest < end) loss_cut(row, rest, end - rest, &all);
  if (row.figures) store_lanes(row, all);
}

}  // namespace srp::cpu::SRP_LEVEL
