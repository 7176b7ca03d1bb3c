// A ratio for every token (contract: surprisal/ratio.h): log ratios, and the clipped objective with its gradient. Registers count
// from the row's begin, so that results depend neither on where an array lies nor on padding behind the row.
namespace srp::cpu::SRP_LEVEL {

template <class T>
SRP_INLINE void copy_out(T* to, const T* from, int64_t count) {
  if (to) memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
}

// What the last tokens of a row become, fewer than a register: copies, masked behind the end.
template <class F>
struct CutTokens {
  F current[kLanes] = {}, old[kLanes] = {};
  uint8_t mask[kLanes] = {};

  CutTokens(const F* current_from, const F* old_from, const uint8_t* mask_from, int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      mask[t] = mask_from ? mask_from[t] : 1;
      if (!mask[t]) continue;
      current[t] = current_from[t];
      old[t] = old_from[t];
    }
  }
};

// Masked tokens have log ratio 0.
template <bool kMasked, class F>
SRP_INLINE F64 log_ratio(const F* current, const F* old, Mask kept, int64_t i) {
  const F64 d = load_wide(current + i) - load_wide(old + i);
  return kMasked ? pick(kept, d, F64{}) : d;
}

template <bool kPastCache, class F>
SRP_INLINE void put_if(F* out, int64_t i, const Lanes x[2]) {
  if (out) put_wide<kPastCache>(out + i, x[0].x, x[1].x);
}

// Log ratios

template <bool kPastCache, bool kMasked, class F>
SRP_INLINE void log_register(const LogTokens<F>& row, int64_t i) {
  Lanes x[2];
  Mask kept[2] = {};
  for (int k = 0; k < 2; ++k) {
    const int64_t at = i + k * kHalf;
    if (kMasked) kept[k] = mask_of(row.mask + at);
    x[k] = log_ratio<kMasked>(row.current, row.old, kept[k], at);
  }
  put_if<kPastCache>(row.log_ratio, i, x);
  if (!row.ratio) return;
  for (int k = 0; k < 2; ++k) {
    const Lanes ratio = exponential(x[k]);
    x[k] = kMasked ? select(kept[k], ratio, Lanes(0)) : ratio;
  }
  put_if<kPastCache>(row.ratio, i, x);
}

template <bool kPastCache, bool kMasked, class F>
SRP_INLINE void log_tokens_to(const LogTokens<F>& row, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) log_register<kPastCache, kMasked>(row, i);
  if (i == end) return;
  const int64_t count = end - i;
  const CutTokens<F> cut(row.current + i, row.old + i, row.mask ? row.mask + i : nullptr, count);
  F logs[kLanes], ratios[kLanes];
  const LogTokens<F> copy = {cut.current, cut.old, cut.mask, row.log_ratio ? logs : nullptr,
                             row.ratio ? ratios : nullptr};
  log_register<false, true>(copy, 0);
  if (row.log_ratio) copy_out(row.log_ratio + i, logs, count);
  if (row.ratio) copy_out(row.ratio + i, ratios, count);
}

template <class F>
static void log_tokens(const LogTokens<F>& row, int64_t begin, int64_t end, bool past_cache) {
  const uintptr_t places = reinterpret_cast<uintptr_t>(row.log_ratio ? row.log_ratio + begin : nullptr) |
                           reinterpret_cast<uintptr_t>(row.ratio ? row.ratio + begin : nullptr);
  if (past_cache && places % 16 == 0) {
    row.mask ? log_tokens_to<true, true>(row, begin, end) : log_tokens_to<true, false>(row, begin, end);
    finish_streams();
  } else {
    row.mask ? log_tokens_to<false, true>(row, begin, end) : log_tokens_to<false, false>(row, begin, end);
  }
}

// The clipped objective

// A lane's part of the row's figures; `kept` only of rows with a mask.
struct LaneFigures {
  F64 terms, ratios, largest;
  I64 clipped, limited, kept;

  inline __attribute__((always_inline)) LaneFigures()
      : terms{}, ratios{}, largest(splat(-static_cast<double>(INFINITY))), clipped{}, limited{}, kept{} {}
};

// kHalf tokens of a row.
struct ClipHalf {
  Lanes ratio, clipped_ratio, term, grad;
  Mask clipped;
};

// Neither dual clip nor cap nor clamps, and a weight that multiplies: what most rows are.
template <class F>
SRP_INLINE bool is_plain(const ClipTokens<F>& row) {
  const LossParameters& p = row.parameters;
  const double off = INFINITY;
  return p.dual_clip == off && p.ratio_cap == off && p.log_low == -off && p.log_high == off && row.weight != 0 &&
         row.weight - row.weight == 0;
}

// ClipForm of a plain row's tokens whose ratios are neither 0 nor infinite: the same bits from a third of the operations. The
// comparisons that NaN needs are left to the selects: where an advantage is NaN, so are both branches.
SRP_INLINE ClipHalf plain_clip(F64 ratio, F64 advantage, F64 low, F64 high, F64 weight) {
  F64 banded = pick(less(ratio, low), low, ratio);
  banded = pick(more(ratio, high), high, banded);
  const F64 free = advantage * ratio, held = advantage * banded;
  const Mask clipped = less(held, free);
  const F64 term = pick(clipped, held, free) + F64{};
  const F64 grad = pick(clipped, F64{}, weight * free) + F64{};
  return {ratio, banded, term, grad, clipped};
}

template <bool kMasked, bool kPlain, class F>
SRP_INLINE ClipHalf clip_half(const ClipTokens<F>& row, int64_t i, LaneFigures* figures) {
  const Mask kept = kMasked ? mask_of(row.mask + i) : Mask{};
  const F64 x = log_ratio<kMasked>(row.current, row.old, kept, i);
  F64 advantage = splat(row.row_advantage);
  if (row.advantage) {
    advantage = load_wide(row.advantage + i);
    if (kMasked) advantage = pick(kept, advantage, F64{});
  }
  ClipHalf out;
  if (kPlain && __builtin_expect(!beyond_exp(x), 1)) {
    const ExpWide e = exp_parts(x);
    const LossParameters& p = row.parameters;
    out = plain_clip(fma(e.power, e.rest, e.power), advantage, splat(1 - p.clip_low), splat(1 + p.clip_high),
                     splat(row.weight));
  } else {
    const LossTerm<Lanes> t = ClipForm::at(Lanes(x), Lanes(advantage), row.parameters);
    out = {t.ratio, t.clipped_ratio, Lanes(0) - t.loss, Lanes(0) - scaled(Lanes(row.weight), t.slope), t.clipped};
    count(&figures->limited, kMasked ? both(kept, t.limited) : t.limited);
  }
  if (kMasked) {
    out.ratio = select(kept, out.ratio, Lanes(0));
    out.clipped_ratio = select(kept, out.clipped_ratio, Lanes(0));
    out.term = select(kept, out.term, Lanes(0));
    out.grad = select(kept, out.grad, Lanes(0));
    out.clipped = both(kept, out.clipped);
    count(&figures->kept, kept);
  }
  // A masked ratio is 0, and is larger than what a row without tokens reports: clip_row() puts that right.
  figures->terms += out.term.x;
  figures->ratios += out.ratio.x;
  figures->largest = pick(more(out.ratio.x, figures->largest), out.ratio.x, figures->largest);
  count(&figures->clipped, out.clipped);
  return out;
}

template <bool kPastCache, class F>
SRP_INLINE void put_halves(F* out, int64_t i, Lanes low, Lanes high) {
  if (out) put_wide<kPastCache>(out + i, low.x, high.x);
}

template <bool kPastCache, bool kMasked, bool kPlain, class F>
SRP_INLINE void clip_register(const ClipTokens<F>& row, int64_t i, LaneFigures* low_figures,
                              LaneFigures* high_figures) {
  const ClipHalf low = clip_half<kMasked, kPlain>(row, i, low_figures);
  const ClipHalf high = clip_half<kMasked, kPlain>(row, i + kHalf, high_figures);
  put_halves<kPastCache>(row.ratio, i, low.ratio, high.ratio);
  put_halves<kPastCache>(row.clipped_ratio, i, low.clipped_ratio, high.clipped_ratio);
  put_halves<kPastCache>(row.term, i, low.term, high.term);
  put_halves<kPastCache>(row.grad, i, low.grad, high.grad);
  if (row.clipped) store_flags(row.clipped + i, low.clipped, high.clipped);
}

// The last tokens of a row, fewer than a register.
template <class F>
static __attribute__((noinline)) void clip_cut(const ClipTokens<F>& row, int64_t i, int64_t count,
                                               LaneFigures figures[2]) {
  const CutTokens<F> cut(row.current + i, row.old + i, row.mask ? row.mask + i : nullptr, count);
  F advantage[kLanes] = {}, ratio[kLanes], clipped_ratio[kLanes], term[kLanes], grad[kLanes];
  uint8_t clipped[kLanes];
  if (row.advantage)
    for (int64_t t = 0; t < count; ++t) advantage[t] = cut.mask[t] ? row.advantage[i + t] : F(0);
  ClipTokens<F> copy = row;
  copy.current = cut.current;
  copy.old = cut.old;
  copy.mask = cut.mask;
  copy.advantage = row.advantage ? advantage : nullptr;
  copy.ratio = ratio;
  copy.clipped_ratio = clipped_ratio;
  copy.term = term;
  copy.grad = grad;
  copy.clipped = clipped;
  clip_register<false, true, false>(copy, 0, &figures[0], &figures[1]);
  if (row.ratio) copy_out(row.ratio + i, ratio, count);
  if (row.clipped_ratio) copy_out(row.clipped_ratio + i, clipped_ratio, count);
  if (row.term) copy_out(row.term + i, term, count);
  if (row.grad) copy_out(row.grad + i, grad, count);
  if (row.clipped) copy_out(row.clipped + i, clipped, count);
}

template <bool kPastCache, bool kMasked, bool kPlain, class F>
static RowFigures clip_row(const ClipTokens<F>& given, int64_t begin, int64_t end) {
  LaneFigures both_halves[2];
  int64_t i = begin;
  {
    const ClipTokens<F> row = given;  // what no store can reach stays in registers
    LaneFigures low, high;
    for (; i + kLanes <= end; i += kLanes) clip_register<kPastCache, kMasked, kPlain>(row, i, &low, &high);
    both_halves[0] = low;
    both_halves[1] = high;
  }
  int64_t kept = kMasked ? 0 : i - begin, clipped = 0, limited = 0;
  if (i < end) clip_cut(given, i, end - i, both_halves);

  RowFigures sums;
  sums.term_sum = sum(both_halves[0].terms + both_halves[1].terms);
  sums.ratio_sum = sum(both_halves[0].ratios + both_halves[1].ratios);
  const LaneFigures &low = both_halves[0], &high = both_halves[1];
  const F64 largest = pick(more(low.largest, high.largest), low.largest, high.largest);
  const I64 lanes_kept = low.kept + high.kept, lanes_clipped = low.clipped + high.clipped;
  const I64 lanes_limited = low.limited + high.limited;
  double ratio_max = sums.ratio_max;
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    ratio_max = largest[lane] > ratio_max ? largest[lane] : ratio_max;
    kept += lanes_kept[lane];
    clipped += lanes_clipped[lane];
    limited += lanes_limited[lane];
  }
  sums.ratio_max = ratio_max;
  // Ratios are never negative: a sum that is NaN has met one, and the largest of no ratio is not 0.
  if (sums.ratio_sum != sums.ratio_sum) sums.ratio_max = sums.ratio_sum;
  if (kept == 0) sums.ratio_max = -INFINITY;
  sums.terms = static_cast<int32_t>(kept);
  sums.clipped = static_cast<int32_t>(clipped);
  sums.limited = static_cast<int32_t>(limited);
  return sums;
}

template <bool kPastCache, class F>
SRP_INLINE RowFigures clip_row_of_kind(const ClipTokens<F>& row, int64_t begin, int64_t end) {
  if (is_plain(row))
    return row.mask ? clip_row<kPastCache, true, true>(row, begin, end)
                    : clip_row<kPastCache, false, true>(row, begin, end);
  return row.mask ? clip_row<kPastCache, true, false>(row, begin, end)
                  : clip_row<kPastCache, false, false>(row, begin, end);
}

template <class F>
static RowFigures clip_tokens(const ClipTokens<F>& row, int64_t begin, int64_t end, bool past_cache) {
  const F* const outputs[] = {row.ratio, row.clipped_ratio, row.term, row.grad};
  uintptr_t places = 0;
  for (const F* const out : outputs) places |= reinterpret_cast<uintptr_t>(out ? out + begin : nullptr);
  if (!past_cache || places % 16 != 0) return clip_row_of_kind<false>(row, begin, end);
  const RowFigures sums = clip_row_of_kind<true>(row, begin, end);
  finish_streams();
  return sums;
}

}  // namespace srp::cpu::SRP_LEVEL
