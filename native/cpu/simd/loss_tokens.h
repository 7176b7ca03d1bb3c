// Losses of tokens with their KL terms and gradients (contract: surprisal/loss.h).
namespace srp::cpu::SRP_LEVEL {

// A lane's part of the row's figures.
struct LossLanes {
  FigureLanes figures;
  F64 largest;
};

// The first halves of the registers add up apart from the second ones.
struct LossHalves {
  LossLanes at[2];
};

SRP_INLINE LossHalves no_losses() {
  LossHalves none = {};
  none.at[0].largest = none.at[1].largest = splat(-static_cast<double>(INFINITY));
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

// With bounds of tokens.
SRP_INLINE LossTerm<Lanes> clip_loss(F64 x, F64 e, F64 advantage, const LaneParameters& p) {
  const Lanes low(p.log_low), high(p.log_high), clamped = clamp(Lanes(x), low, high);
  const Mask moves = both(Lanes(x) >= low, Lanes(x) <= high);
  const F64 ratio = any(!moves) ? exponentials(clamped.x).exp : e;
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
  if (clips || row.all_figures || row.kl.times_ratio) e = exponentials(in.point.log_ratio.x);
  LossTerm<Lanes> t;
  if (clips) {
    t = clip_loss(in.point.log_ratio.x, e.exp, in.advantage, p);
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

// Whole registers of tokens, from i while there are any. Returns where the others begin. Not inlined, since it is long:
// a token takes many times what memory needs for it, so its results go through the caches at every size.
template <bool kBounds, class F>
static __attribute__((noinline)) int64_t registers_of(const LossTokens<F>& given, int64_t i, int64_t end,
                                                      LossHalves* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  const bool sums_up = row.figures != nullptr;
  LossHalves sums = *all;
  for (; i + kLanes <= end; i += kLanes) {
    if (none_kept(row, i)) {
      put_losses(row, i, LossHalf{}, LossHalf{});
      continue;
    }
    LossHalf halves[2];
    each_half([&](int64_t k) { halves[k] = loss_half<kBounds>(row, sums_up, i + k * kHalf, &sums.at[k]); });
    put_losses(row, i, halves[0], halves[1]);
  }
  *all = sums;
  return i;
}

template <class F>
SRP_INLINE int64_t loss_registers(const LossTokens<F>& row, int64_t i, int64_t end, LossHalves* all) {
  return row.bounds ? registers_of<true>(row, i, end, all) : registers_of<false>(row, i, end, all);
}

// The last tokens of a row, fewer than a register.
template <class F>
static __attribute__((noinline)) void loss_cut(const LossTokens<F>& row, int64_t begin, int64_t count,
                                               LossHalves* sums) {
  CutLosses<F> cut;
  loss_registers(cut.tokens(row, begin, count), 0, kLanes, sums);
  cut.put(row);
}

// Plain rows, which most are: the clipped surrogate with neither cap nor clamps, factors or KL term, and a weight that multiplies.

template <class F>
SRP_INLINE bool is_plain(const LossTokens<F>& row) {
  const LossParameters& p = row.parameters;
  const double off = INFINITY;
  return row.form == SRP_LOSS_CLIP && is_plain(p) && p.log_low == -off && p.log_high == off && row.old_log_probs &&
         !row.bounds && !row.term_mask && !row.factor && row.row_factor == 1 && !row.reference && !row.kl_values &&
         row.policy != 0 && row.policy - row.policy == 0;
}

struct PlainRow {
  F64 low, high, weight, advantage;
};

// What a plain row adds up of LossLanes where not all figures are wanted.
struct PlainLanes {
  F64 loss, ratio, largest;
  I64 clipped, kept;
};

SRP_INLINE PlainLanes plain_lanes(const LossLanes& all) {
  const FigureLanes& figures = all.figures;
  return {figures.loss, figures.ratio, all.largest, figures.clipped, figures.kept};
}

SRP_INLINE void put_plain_lanes(const PlainLanes& sums, LossLanes* all) {
  FigureLanes* const figures = &all->figures;
  figures->loss = sums.loss;
  figures->ratio = sums.ratio;
  figures->clipped = sums.clipped;
  figures->kept = figures->terms = sums.kept;
  all->largest = sums.largest;
}

template <bool kMasked, class F>
SRP_INLINE F64 plain_log_ratio(const LossTokens<F>& row, Mask kept, int64_t i) {
  const F64 x = load_wide(row.log_probs + i) - load_wide(row.old_log_probs + i);
  return kMasked ? pick(kept, x, F64{}) : x;
}

// plain_loss() with its gradient. The comparisons that NaN needs are left to the selects: where an advantage is NaN, so are both
// branches. Under the mask x and the advantage are 0, and so is all that has the advantage for a factor.
template <bool kMasked, bool kAll, class F>
SRP_INLINE LossHalf plain_half(const LossTokens<F>& row, const PlainRow& plain, F64 x, Mask kept, int64_t i,
                               PlainLanes* sums, FigureLanes* others) {
  F64 advantage = row.advantage ? load_wide(row.advantage + i) : plain.advantage;
  if (kMasked) advantage = pick(kept, advantage, F64{});
  const Exponentials e = exponentials_within(x);
  const F64 banded = smaller(plain.high, larger(plain.low, e.exp));
  const F64 free = advantage * e.exp, held = advantage * banded;
  LossHalf out;
  out.kl = F64{};
  out.clipped = less(held, free);
  out.loss = F64{} - smaller(held, free);
  out.grad = F64{} - pick(out.clipped, F64{}, plain.weight * free);
  out.ratio = kMasked ? pick(kept, e.exp, F64{}) : e.exp;
  sums->loss += out.loss;
  sums->ratio += out.ratio;
  sums->largest = larger(out.ratio, sums->largest);
  count(&sums->clipped, out.clipped);
  if (kMasked) count(&sums->kept, kept);
  if (!kAll) return out;
  const Mask below = less(e.exp, plain.low), above = more(e.exp, plain.high);
  add_log_ratios(others, x, e, row.parameters.log_clamp);
  add_band(others, {below, above}, kMasked ? kept : !Mask{}, advantage);
  return out;
}

// As loss_registers, but stops at a ratio that may be 0 or infinite.
template <bool kMasked, bool kAll, class F>
SRP_INLINE int64_t plain_registers(const LossTokens<F>& given, int64_t i, int64_t end, bool past_cache,
                                   LossHalves* all) {
  const LossTokens<F> row = given;
  const PlainRow plain = {splat(1 - row.parameters.clip_low), splat(1 + row.parameters.clip_high), splat(row.policy),
                          splat(row.row_advantage)};
  const int64_t begin = i;
  PlainLanes low_sums = plain_lanes(all->at[0]), high_sums = plain_lanes(all->at[1]);
  FigureLanes low_others = {}, high_others = {};
  if (kAll) {
    low_others = all->at[0].figures;
    high_others = all->at[1].figures;
  }
  for (; i + kLanes <= end; i += kLanes) {
    const int64_t j = i + kHalf;
    const Mask kept_low = kMasked ? mask_of(row.mask + i) : Mask{},
               kept_high = kMasked ? mask_of(row.mask + j) : Mask{};
    const F64 x_low = plain_log_ratio<kMasked>(row, kept_low, i);
    const F64 x_high = plain_log_ratio<kMasked>(row, kept_high, j);
    const F64 limit = splat(kExpWideLimit);
    if (__builtin_expect(any(not_at_most(absolute(x_low), limit), not_at_most(absolute(x_high), limit)), 0)) break;
    const LossHalf low = plain_half<kMasked, kAll>(row, plain, x_low, kept_low, i, &low_sums, &low_others);
    const LossHalf high = plain_half<kMasked, kAll>(row, plain, x_high, kept_high, j, &high_sums, &high_others);
    put_halves(row.loss, i, low.loss, high.loss, past_cache);
    put_halves(row.ratio, i, low.ratio, high.ratio, past_cache);
    put_halves(row.grad, i, low.grad, high.grad, past_cache);
    if (row.clipped) store_flags(row.clipped + i, low.clipped, high.clipped);
  }
  if (!kMasked) low_sums.kept[0] += i - begin;
  if (kAll) {
    all->at[0].figures = low_others;
    all->at[1].figures = high_others;
  }
  put_plain_lanes(low_sums, &all->at[0]);
  put_plain_lanes(high_sums, &all->at[1]);
  return i;
}

template <bool kMasked, bool kAll, class F>
static int64_t plain_row(const LossTokens<F>& row, int64_t i, int64_t end, bool past_cache, LossHalves* all) {
  while ((i = plain_registers<kMasked, kAll>(row, i, end, past_cache, all)) + kLanes <= end)
    i = loss_registers(row, i, i + kLanes, all);
  return i;
}

template <bool kMasked, class F>
SRP_INLINE int64_t plain_row_of(const LossTokens<F>& row, int64_t begin, int64_t end, bool past_cache,
                                LossHalves* all) {
  return row.all_figures ? plain_row<kMasked, true>(row, begin, end, past_cache, all)
                         : plain_row<kMasked, false>(row, begin, end, past_cache, all);
}

template <class F>
SRP_INLINE int64_t plain_row_of(const LossTokens<F>& row, int64_t begin, int64_t end, bool past_cache,
                                LossHalves* all) {
  const F* const outputs[] = {row.loss, row.ratio, row.grad};
  uintptr_t places = 0;
  for (const F* const out : outputs) places |= reinterpret_cast<uintptr_t>(out ? out + begin : nullptr);
  const bool streams = kStreams && past_cache && places % 16 == 0;
  const int64_t i =
      row.mask ? plain_row_of<true>(row, begin, end, streams, all) : plain_row_of<false>(row, begin, end, streams, all);
  if (streams) finish_streams();
  return i;
}

// The largest ratio of a row's lanes.
SRP_INLINE double largest_of(F64 lanes) {
  double largest = -static_cast<double>(INFINITY);
  for (int64_t lane = 0; lane < kHalf; ++lane) largest = lanes[lane] > largest ? lanes[lane] : largest;
  return largest;
}

// Figures come in as token_figures() has them.
template <class F>
static void loss_tokens(const LossTokens<F>& row, int64_t begin, int64_t end, bool past_cache) {
  LossHalves all = no_losses();
  const bool plain = is_plain(row);
  const int64_t rest = plain ? plain_row_of(row, begin, end, past_cache, &all) : loss_registers(row, begin, end, &all);
  if (rest < end) loss_cut(row, rest, end - rest, &all);
  double* const figures = row.figures;
  if (!figures) return;
  store_lanes(figures, joined(all.at[0].figures, all.at[1].figures, row.all_figures), plain, row.all_figures,
              row.parameters.log_clamp);
  figures[SRP_FIGURE_ROW_RATIO] = largest_of(larger(all.at[0].largest, all.at[1].largest));
  // Ratios are never negative, so a NaN sum means that one of them was NaN. The largest of no ratios is not 0.
  const double ratios = figures[SRP_FIGURE_RATIO], infinity = INFINITY;
  if (ratios != ratios) figures[SRP_FIGURE_ROW_RATIO] = ratios;
  if (figures[SRP_FIGURE_KEPT] == 0) figures[SRP_FIGURE_ROW_RATIO] = -infinity;
}

}  // namespace srp::cpu::SRP_LEVEL
