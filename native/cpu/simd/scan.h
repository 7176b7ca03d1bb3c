// Generalized advantages and discounted returns along a row (contract: surprisal/scan.h), from its end to its begin.
//
// With d = V + lambda A of the step behind, a token is an affine map of d alone:
//
//   A_t = (r_t - v_t) + g_t d,   d_t = a_t d + b_t,   a_t = lambda g_t,  b_t = v_t + lambda (r_t - v_t)
//   masked: SKIP a 1, b 0     STEPS r = v = 0     CUT a 0, b 0
//
// Maps compose, so a register of tokens is scanned in log2(lanes) steps, and only one multiply-add a register waits for the
// register behind. Everything in float64: a float32 map is off by 4e-4 after a million steps of gamma = lambda = 1.
// Returns are the same with v = 0 and lambda = 1.
namespace srp::cpu::SRP_LEVEL {

// The maps of kHalf tokens: first each its own, then each with all maps behind it in the register.
struct Maps {
  F64 a, b;
  I64 cut;  // where a token cuts the row: b alone, since 0 times a NaN from behind is a NaN
};

SRP_INLINE F64 applied(const Maps& m, F64 d, bool cuts) {
  const F64 own = fma(m.a, d, m.b);
  return cuts ? (m.cut ? m.b : own) : own;
}

template <int kBy, bool kCuts>
SRP_INLINE Maps compose_lanes(Maps m) {
  const F64 a = shift_lanes<kBy>(m.a, splat(1.0)), b = shift_lanes<kBy>(m.b, F64{});
  const I64 cut = kCuts ? m.cut | (I64)shift_lanes<kBy>((F64)m.cut, F64{}) : m.cut;
  return {m.a * a, applied(m, b, kCuts), cut};
}

template <bool kCuts>
SRP_INLINE Maps compose(Maps m) {
  m = compose_lanes<1, kCuts>(m);
  if constexpr (kHalf > 2) m = compose_lanes<2, kCuts>(m);
  if constexpr (kHalf > 4) m = compose_lanes<4, kCuts>(m);
  return m;
}

constexpr int64_t kScanAhead = 1024;  // elements

struct ScanConstants {
  F64 gamma, lambda;
  F64 masked_a;
  F64 a[4];  // of tokens that all have the discount gamma: a token's own, then after each step of compose()
};

SRP_INLINE ScanConstants scan_constants(double gamma, double lambda, int32_t mask_mode) {
  ScanConstants c = {splat(gamma), splat(lambda), splat(mask_mode == SRP_MASK_SKIP ? 1.0 : 0.0), {}};
  Maps m = {c.lambda * c.gamma, F64{}, I64{}};
  c.a[0] = m.a;
  m = compose_lanes<1, false>(m);
  c.a[1] = m.a;
  if constexpr (kHalf > 2) m = compose_lanes<2, false>(m);
  c.a[2] = m.a;
  if constexpr (kHalf > 4) m = compose_lanes<4, false>(m);
  c.a[3] = m.a;
  return c;
}

// What a mask keeps of a register of tokens.
template <class Word>
SRP_INLINE void kept_words(const uint8_t* mask, bool* all, bool* none) {
  constexpr Word kOnes = static_cast<Word>(0x0101010101010101u), kTops = kOnes << 7;
  Word zeros = 0, any = 0;
  for (int64_t i = 0; i < kLanes; i += int64_t{sizeof(Word)}) {
    Word word;
    memcpy(&word, mask + i, sizeof word);
    zeros |= (word - kOnes) & ~word & kTops;  // not 0 where a byte is 0
    any |= word;
  }
  *all = zeros == 0;
  *none = any == 0;
}
SRP_INLINE void kept_tokens(const uint8_t* mask, bool* all, bool* none) {
  if constexpr (kLanes >= 8)
    kept_words<uint64_t>(mask, all, none);
  else
    kept_words<uint32_t>(mask, all, none);
}

// Tokens i ... i + kHalf - 1, or of them those that `inside` marks. `d` is that of the token behind them, then of token i.
template <bool kSome, bool kCuts, class F>
SRP_INLINE void scan_lanes(const ScanRow<F>& row, const ScanConstants& c, int64_t i, const uint8_t* inside, F64* d,
                           F64* advantages, F64* returns) {
  F64 r = load_wide(row.reward + i), v = row.value ? load_wide(row.value + i) : F64{};
  F64 g = row.discount ? load_wide(row.discount + i) : c.gamma;
  I64 kept = {};
  if (row.mask) {
    kept = load_mask(row.mask + i);
    r = kept ? r : F64{};
    v = kept ? v : F64{};
    g = kept ? g : c.gamma;
  }
  const F64 gap = r - v;
  Maps m = {c.lambda * g, fma(c.lambda, gap, v), I64{}};
  if (row.mask && row.mask_mode != SRP_MASK_STEPS) m.a = kept ? m.a : c.masked_a;  // and b is 0
  if (kSome) {
    const I64 there = load_mask(inside + i);
    m = {there ? m.a : splat(1.0), there ? m.b : F64{}, I64{}};
    if (kCuts) m.cut = there & ~kept;
  } else if (kCuts) {
    m.cut = ~kept;
  }
  m = compose<kCuts>(m);
  const F64 own = applied(m, *d, kCuts), next = shift_lanes<1>(own, *d);
  *advantages = fma(g, next, gap);
  *returns = *advantages + v;
  if (row.mask && row.mask_mode != SRP_MASK_STEPS) {
    *advantages = kept ? *advantages : F64{};
    *returns = kept ? *returns : F64{};
  }
  *d = splat(own[0]);
}

// The same of tokens that are all kept and have the discount gamma: what is known of their maps need not be computed. The
// same operations otherwise, and so the same bits.
template <class F>
SRP_INLINE void scan_plain_lanes(const ScanRow<F>& row, const ScanConstants& c, int64_t i, F64* d, F64* advantages,
                                 F64* returns) {
  const F64 r = load_wide(row.reward + i), v = row.value ? load_wide(row.value + i) : F64{};
  const F64 gap = r - v;
  F64 b = fma(c.lambda, gap, v);
  b = fma(c.a[0], shift_lanes<1>(b, F64{}), b);
  if constexpr (kHalf > 2) b = fma(c.a[1], shift_lanes<2>(b, F64{}), b);
  if constexpr (kHalf > 4) b = fma(c.a[2], shift_lanes<4>(b, F64{}), b);
  const F64 own = fma(c.a[3], *d, b), next = shift_lanes<1>(own, *d);
  *advantages = fma(c.gamma, next, gap);
  *returns = *advantages + v;
  *d = fma(splat(c.a[3][0]), *d, splat(b[0]));
}

// kLanes tokens from i on.
template <bool kPastCache, bool kSome, class F>
SRP_INLINE void scan_register(const ScanRow<F>& row, const ScanConstants& c, int64_t i, const uint8_t* inside, F64* d) {
  F64 advantages[2] = {}, returns[2] = {};
  bool all = true, none = false;
  if (row.mask) kept_tokens(row.mask + i, &all, &none);
  if (!kSome && none && row.mask_mode != SRP_MASK_STEPS) {
    if (row.mask_mode == SRP_MASK_CUT) *d = F64{};
  } else if (!kSome && all && !row.discount) {
    scan_plain_lanes(row, c, i + kHalf, d, &advantages[1], &returns[1]);
    scan_plain_lanes(row, c, i, d, &advantages[0], &returns[0]);
  } else if (row.mask && row.mask_mode == SRP_MASK_CUT) {
    scan_lanes<kSome, true>(row, c, i + kHalf, inside, d, &advantages[1], &returns[1]);
    scan_lanes<kSome, true>(row, c, i, inside, d, &advantages[0], &returns[0]);
  } else {
    scan_lanes<kSome, false>(row, c, i + kHalf, inside, d, &advantages[1], &returns[1]);
    scan_lanes<kSome, false>(row, c, i, inside, d, &advantages[0], &returns[0]);
  }
  if (row.advantages) put_wide<kPastCache>(row.advantages + i, advantages[0], advantages[1]);
  if (row.returns) put_wide<kPastCache>(row.returns + i, returns[0], returns[1]);
}

// The last tokens of a row, fewer than a register: through copies, with the identity behind them.
template <class F>
SRP_INLINE void scan_some(const ScanRow<F>& row, const ScanConstants& c, int64_t begin, int64_t count, F64* d) {
  F reward[kLanes] = {}, value[kLanes] = {}, discount[kLanes] = {}, advantages[kLanes], returns[kLanes];
  uint8_t mask[kLanes] = {}, inside[kLanes] = {};
  for (int64_t t = 0; t < count; ++t) {
    inside[t] = 1;
    mask[t] = row.mask ? row.mask[begin + t] : 1;
    if (!mask[t]) continue;
    reward[t] = row.reward[begin + t];
    if (row.value) value[t] = row.value[begin + t];
    if (row.discount) discount[t] = row.discount[begin + t];
  }
  ScanRow<F> copy = row;
  copy.reward = reward;
  if (row.value) copy.value = value;
  if (row.discount) copy.discount = discount;
  if (row.mask) copy.mask = mask;
  if (row.advantages) copy.advantages = advantages;
  if (row.returns) copy.returns = returns;
  scan_register<false, true>(copy, c, 0, inside, d);
  const size_t bytes = sizeof(F) * static_cast<size_t>(count);
  if (row.advantages) memcpy(row.advantages + begin, advantages, bytes);
  if (row.returns) memcpy(row.returns + begin, returns, bytes);
}

template <bool kPastCache, class F>
SRP_INLINE void scan_row_to(const ScanRow<F>& row, int64_t begin, int64_t end) {
  const ScanConstants c = scan_constants(row.gamma, row.lambda, row.mask_mode);
  // Registers count from the row's begin: results depend neither on where an array lies nor on padding behind the row.
  F64 d = splat(row.bootstrap);
  int64_t i = begin + (end - begin) / kLanes * kLanes;
  if (i < end) scan_some(row, c, i, end - i, &d);
  for (; i > begin; i -= kLanes) {
    prefetch(row.reward + i - kScanAhead);
    if (row.value) prefetch(row.value + i - kScanAhead);
    scan_register<kPastCache, false>(row, c, i - kLanes, nullptr, &d);
  }
}

template <class F>
static void scan_row(const ScanRow<F>& row, int64_t begin, int64_t end, bool past_cache) {
  const bool aligned = (reinterpret_cast<uintptr_t>(row.advantages ? row.advantages + begin : nullptr) |
                        reinterpret_cast<uintptr_t>(row.returns ? row.returns + begin : nullptr)) %
                           16 ==
                       0;
  if (past_cache && aligned) {
    scan_row_to<true>(row, begin, end);
    finish_streams();
  } else {
    scan_row_to<false>(row, begin, end);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
