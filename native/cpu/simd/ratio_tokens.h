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

// Two stores in the cache: to join halves that were narrowed takes longer than another store.
template <bool kPastCache, class F>
SRP_INLINE void put_halves(F* out, int64_t i, Lanes low, Lanes high) {
  if (!out) return;
  if (kPastCache) return put_wide<true>(out + i, low.x, high.x);
  store_wide(out + i, low.x);
  store_wide(out + i + kHalf, high.x);
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
  put_halves<kPastCache>(row.log_ratio, i, x[0], x[1]);
  if (!row.ratio) return;
  for (int k = 0; k < 2; ++k) {
    const Lanes ratio = exponential(x[k]);
    x[k] = kMasked ? select(kept[k], ratio, Lanes(0)) : ratio;
  }
  put_halves<kPastCache>(row.ratio, i, x[0], x[1]);
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

// kHalf tokens of a row.
struct ClipHalf {
  Lanes ratio, clipped_ratio, term, grad;
  Mask clipped;
};

// A lane's part of the row's figures; `kept` only of rows with a mask.
struct LaneFigures {
  F64 terms, ratios, largest;
  I64 clipped, limited, kept;

  inline __attribute__((always_inline)) LaneFigures()
      : terms{}, ratios{}, largest(splat(-static_cast<double>(INFINITY))), clipped{}, limited{}, kept{} {}

  // A masked ratio is 0, and is larger than what a row without tokens reports: clip_row() puts that right.
  inline __attribute__((always_inline)) void add(const ClipHalf& t) {
    terms += t.term.x;
    ratios += t.ratio.x;
    largest = larger(t.ratio.x, largest);
    count(&clipped, t.clipped);
  }
};

template <bool kMasked, class F>
SRP_INLINE F64 advantage_of(const ClipTokens<F>& row, F64 of_row, Mask kept, int64_t i) {
  const F64 advantage = row.advantage ? load_wide(row.advantage + i) : of_row;
  return kMasked ? pick(kept, advantage, F64{}) : advantage;
}

template <bool kPastCache, class F>
SRP_INLINE void put_clipped(const ClipTokens<F>& row, int64_t i, const ClipHalf& low, const ClipHalf& high) {
  put_halves<kPastCache>(row.ratio, i, low.ratio, high.ratio);
  put_halves<kPastCache>(row.clipped_ratio, i, low.clipped_ratio, high.clipped_ratio);
  put_halves<kPastCache>(row.term, i, low.term, high.term);
  put_halves<kPastCache>(row.grad, i, low.grad, high.grad);
  if (row.clipped) store_flags(row.clipped + i, low.clipped, high.clipped);
}

// Rows of every kind

template <bool kMasked, class F>
SRP_INLINE ClipHalf clip_half(const ClipTokens<F>& row, int64_t i, LaneFigures* figures) {
  const Mask kept = kMasked ? mask_of(row.mask + i) : Mask{};
  const F64 x = log_ratio<kMasked>(row.current, row.old, kept, i);
  const F64 advantage = advantage_of<kMasked>(row, splat(row.row_advantage), kept, i);
  const LossTerm<Lanes> t = ClipForm::at(Lanes(x), Lanes(advantage), row.parameters);
  ClipHalf out = {t.ratio, t.clipped_ratio, Lanes(0) - t.loss, Lanes(0) - scaled(Lanes(row.weight), t.slope),
                  t.clipped};
  count(&figures->limited, kMasked ? both(kept, t.limited) : t.limited);
  if (kMasked) {
    out.ratio = select(kept, out.ratio, Lanes(0));
    out.clipped_ratio = select(kept, out.clipped_ratio, Lanes(0));
    out.term = select(kept, out.term, Lanes(0));
    out.grad = select(kept, out.grad, Lanes(0));
    out.clipped = both(kept, out.clipped);
    count(&figures->kept, kept);
  }
  figures->add(out);
  return out;
}

// From token i on, a register at a time. Answers where it stopped, less than a register before the end.
template <bool kPastCache, bool kMasked, class F>
SRP_INLINE int64_t clip_any(const ClipTokens<F>& given, int64_t i, int64_t end, LaneFigures figures[2]) {
  const ClipTokens<F> row = given;  // what no store can reach stays in registers
  for (; i + kLanes <= end; i += kLanes) {
    const ClipHalf low = clip_half<kMasked>(row, i, &figures[0]);
    const ClipHalf high = clip_half<kMasked>(row, i + kHalf, &figures[1]);
    put_clipped<kPastCache>(row, i, low, high);
  }
  return i;
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
  clip_any<false, true>(copy, 0, kLanes, figures);
  if (row.ratio) copy_out(row.ratio + i, ratio, count);
  if (row.clipped_ratio) copy_out(row.clipped_ratio + i, clipped_ratio, count);
  if (row.term) copy_out(row.term + i, term, count);
  if (row.grad) copy_out(row.grad + i, grad, count);
  if (row.clipped) copy_out(row.clipped + i, clipped, count);
}

// Plain rows: neither dual clip nor cap nor clamps, and a weight that multiplies. What most rows are.

template <class F>
SRP_INLINE bool is_plain(const ClipTokens<F>& row) {
  const LossParameters& p = row.parameters;
  const double off = INFINITY;
  return p.dual_clip == off && p.ratio_cap == off && p.log_low == -off && p.log_high == off && row.weight != 0 &&
         row.weight - row.weight == 0;
}

struct PlainRow {
  F64 low, high, weight, advantage;
};

// ClipForm of tokens whose ratios are neither 0 nor infinite: the same bits from a third of the operations. The comparisons
// that NaN needs are left to the selects: where an advantage is NaN, so are both branches. Under the mask x and the advantage
// are 0, and so is all that has the advantage for a factor.
template <bool kMasked>
SRP_INLINE ClipHalf plain_half(const PlainRow& row, F64 x, F64 advantage, Mask kept, LaneFigures* figures) {
  const ExpWide e = exp_parts(x);
  const F64 ratio = fma(e.power, e.rest, e.power);
  const F64 banded = smaller(row.high, larger(row.low, ratio));
  const F64 free = advantage * ratio, held = advantage * banded;
  const Mask clipped = less(held, free);
  const F64 term = smaller(held, free) + F64{};
  const F64 grad = pick(clipped, F64{}, row.weight * free) + F64{};
  if (kMasked) count(&figures->kept, kept);
  const ClipHalf out = {kMasked ? pick(kept, ratio, F64{}) : ratio, kMasked ? pick(kept, banded, F64{}) : banded, term,
                        grad, clipped};
  figures->add(out);
  return out;
}

// As clip_any, but stops at a ratio that may be 0 or infinite.
template <bool kPastCache, bool kMasked, class F>
SRP_INLINE int64_t clip_plain(const ClipTokens<F>& given, int64_t i, int64_t end, LaneFigures figures[2]) {
  const ClipTokens<F> row = given;
  const PlainRow plain = {splat(1 - row.parameters.clip_low), splat(1 + row.parameters.clip_high), splat(row.weight),
                          splat(row.row_advantage)};
  for (; i + kLanes <= end; i += kLanes) {
    const int64_t j = i + kHalf;
    const Mask kept_low = kMasked ? mask_of(row.mask + i) : Mask{},
               kept_high = kMasked ? mask_of(row.mask + j) : Mask{};
    const F64 x_low = log_ratio<kMasked>(row.current, row.old, kept_low, i);
    const F64 x_high = log_ratio<kMasked>(row.current, row.old, kept_high, j);
    const F64 limit = splat(kExpWideLimit);
    if (__builtin_expect(any(not_at_most(absolute(x_low), limit), not_at_most(absolute(x_high), limit)), 0)) break;
    const F64 a_low = advantage_of<kMasked>(row, plain.advantage, kept_low, i);
    const ClipHalf low = plain_half<kMasked>(plain, x_low, a_low, kept_low, &figures[0]);
    const F64 a_high = advantage_of<kMasked>(row, plain.advantage, kept_high, j);
    const ClipHalf high = plain_half<kMasked>(plain, x_high, a_high, kept_high, &figures[1]);
    put_clipped<kPastCache>(row, i, low, high);
  }
  return i;
}

template <bool kPastCache, bool kMasked, bool kPlain, class F>
static RowFigures clip_row(const ClipTokens<F>& row, int64_t begin, int64_t end) {
  LaneFigures halves[2];
  int64_t i = begin;
  if (kPlain) {
    while ((i = clip_plain<kPastCache, kMasked>(row, i, end, halves)) + kLanes <= end)
      i = clip_any<kPastCache, kMasked>(row, i, i + kLanes, halves);
  } else {
    i = clip_any<kPastCache, kMasked>(row, i, end, halves);
  }
  int64_t kept = kMasked ? 0 : i - begin;
  if (i < end) {
    LaneFigures in_memory[2] = {halves[0], halves[1]};
    clip_cut(row, i, end - i, in_memory);
    halves[0] = in_memory[0];
    halves[1] = in_memory[1];
  }

  const LaneFigures &low = halves[0], &high = halves[1];
  RowFigures sums;
  sums.term_sum = sum(low.terms + high.terms);
  sums.ratio_sum = sum(low.ratios + high.ratios);
  const F64 largest = larger(low.largest, high.largest);
  for (int64_t lane = 0; lane < kHalf; ++lane)
    sums.ratio_max = largest[lane] > sums.ratio_max ? largest[lane] : sums.ratio_max;
  kept += sum(low.kept + high.kept);
  // Ratios are never negative: a sum that is NaN has met one, and the largest of no ratio is not 0.
  if (sums.ratio_sum != sums.ratio_sum) sums.ratio_max = sums.ratio_sum;
  if (kept == 0) sums.ratio_max = -INFINITY;
  sums.terms = static_cast<int32_t>(kept);
  sums.clipped = static_cast<int32_t>(sum(low.clipped + high.clipped));
  sums.limited = static_cast<int32_t>(sum(low.limited + high.limited));
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
