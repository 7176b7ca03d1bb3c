// Generalized advantages and discounted returns along a row (contract: surprisal/scan.h), from its end to its begin.
//
// With d = V + lambda A of the step behind, a token is an affine map of d alone:
//
//   A_t = (r_t - v_t) + g_t d,   d_t = a_t d + b_t,   a_t = lambda g_t,  b_t = v_t + lambda (r_t - v_t)
//   masked: SKIP a 1, b 0     STEPS r = v = 0     CUT a 0, b 0
//
// Maps compose, so a register of tokens is scanned in log2(lanes) steps, and only one multiply-add a register waits for the
// register behind. Everything in float64: a float32 map is off by 4e-4 after a million steps of gamma = lambda = 1.
// Returns are the same with v = 0 and lambda = 1, and are d itself. Where tokens have a lambda each, the one in a_t and b_t is that
// of the step before t: it weighs A_t.
namespace srp::cpu::SRP_LEVEL {

constexpr int64_t kScanAhead = 1024;  // elements

// What a mask keeps of a register of tokens.
SRP_INLINE void kept_tokens(const uint8_t* mask, bool* all, bool* none) {
  using Word = std::conditional_t<(kLanes < 8), uint32_t, uint64_t>;
  constexpr Word kOnes = static_cast<Word>(0x0101010101010101u), kTops = kOnes << 7;
  Word words[kLanes / int64_t{sizeof(Word)}], unlike = 0, zeros = 0, any = 0;
  memcpy(words, mask, sizeof words);
  for (const Word word : words) unlike |= word ^ kOnes;
  *all = true;
  *none = false;
  if (unlike == 0) return;  // the usual case first
  for (const Word word : words) {
    zeros |= (word - kOnes) & ~word & kTops;  // not 0 where a byte is 0
    any |= word;
  }
  *all = zeros == 0;
  *none = any == 0;
}

// How many of kHalf tokens are kept, where none behind a masked one is; else -1.
SRP_INLINE int64_t kept_first(const uint8_t* mask) {
  using Word = std::conditional_t<(kHalf > 4), uint64_t, std::conditional_t<(kHalf > 2), uint32_t, uint16_t>>;
  constexpr Word kOnes = static_cast<Word>(0x0101010101010101u), kTops = static_cast<Word>(kOnes << 7);
  Word word;
  memcpy(&word, mask, sizeof word);
  const Word zeros = static_cast<Word>(static_cast<Word>(word - kOnes) & ~word & kTops);  // its lowest one is exact
  if (zeros == 0) return kHalf;
  const int64_t count = __builtin_ctzll(zeros) / 8;
  return word >> (8 * count) == 0 ? count : -1;
}

SRP_INLINE bool all_ones(const uint8_t* mask) {
  uint8_t ones[kLanes];
  memset(ones, 1, sizeof ones);
  return memcmp(mask, ones, sizeof ones) == 0;
}

// The tokens [begin, end) of a row whose tokens have a lambda each; `shift` leads from a token's place in a copy to that in `rows`.
template <class F>
struct TokenLambdas {
  const ScanRows<F>& rows;
  int64_t begin, end, shift;
};

// Of the steps before tokens i ... i + kHalf - 1. The first step of a row has none; one behind skipped tokens has it ahead of them.
template <class F>
SRP_INLINE F64 lambdas_before(const TokenLambdas<F>& of, int64_t i) {
  const ScanRows<F>& rows = of.rows;
  const uint8_t* const mask = rows.mask;
  const int64_t first = i + of.shift;
  bool beside = first > of.begin && first + kHalf <= of.end;
  for (int64_t k = 0; mask && beside && k < kHalf; ++k) beside = mask[first - 1 + k] != 0;
  if (beside) return load_wide(rows.lambdas + first - 1);
  F64 found = {};
  for (int64_t k = 0; k < kHalf && first + k < of.end; ++k) {
    int64_t t = first + k - 1;
    if (mask && rows.mask_mode == SRP_MASK_SKIP && mask[t + 1])
      while (t >= of.begin && !mask[t]) --t;
    if (t >= of.begin) found[k] = mask && !mask[t] ? rows.lambda : static_cast<double>(rows.lambdas[t]);
  }
  return found;
}

// Tokens i ... i + kHalf - 1, or of them those that `inside` marks, a byte each. `d` is that of the token behind them, then of
// token i. `lambdas` is NULL where tokens have none of their own.
template <bool kSome, bool kCuts, class F>
SRP_INLINE void scan_lanes(const ScanRows<F>& row, const ScanConstants& c, const TokenLambdas<F>* lambdas, int64_t i,
                           const uint8_t* inside, F64* d, F64* advantages, F64* returns) {
  F64 r = load_wide(row.reward + i), v = row.value ? load_wide(row.value + i) : F64{};
  F64 g = c.gamma;
  if (row.discount) {
    g = load_wide(row.discount + i);
    g = g + (g - g);  // as finite_or_nan()
  }
  I64 kept = {};
  if (row.mask) {
    kept = load_mask(row.mask + i);
    r = kept ? r : F64{};
    v = kept ? v : F64{};
    g = kept ? g : c.gamma;
  }
  const F64 gap = r - v, lambda = lambdas ? lambdas_before(*lambdas, i) : c.lambda;
  Maps m = {lambda * g, fma(lambda, gap, v), I64{}};
  if (row.mask && row.mask_mode != SRP_MASK_STEPS) m.a = kept ? m.a : c.masked_a;  // and b is 0
  if (kSome) {
    const I64 there = load_mask(inside);
    m = {there ? m.a : splat(1.0), there ? m.b : F64{}, I64{}};
    if (kCuts) m.cut = there & ~kept;
  } else if (kCuts) {
    m.cut = ~kept;
  }
  m = compose<kCuts>(m);
  const F64 own = applied(m, *d, kCuts);
  if (row.value) {
    *advantages = fma(g, shift_lanes<1>(own, *d), gap);
    *returns = *advantages + v;
  } else {
    *returns = own;
  }
  if (row.mask && row.mask_mode != SRP_MASK_STEPS) {
    *advantages = kept ? *advantages : F64{};
    *returns = kept ? *returns : F64{};
  }
  *d = splat(own[0]);
}

// The same of tokens that are all kept and have the discount gamma: what is known of their maps need not be computed. The
// same operations otherwise, and so the same bits. `a`: of the composed maps; where there are no tokens r and v are 0.
template <bool kValues>
SRP_INLINE void scan_plain(F64 r, F64 v, const ScanConstants& c, F64 a, F64* d, F64* advantages, F64* returns) {
  const F64 gap = r - v;
  F64 b = fma(c.lambda, gap, v);
  b = fma(c.a[0], shift_lanes<1>(b, F64{}), b);
  if constexpr (kHalf > 2) b = fma(c.a[1], shift_lanes<2>(b, F64{}), b);
  if constexpr (kHalf > 4) b = fma(c.a[2], shift_lanes<4>(b, F64{}), b);
  const F64 own = fma(a, *d, b);
  if (kValues) {
    *advantages = fma(c.gamma, shift_lanes<1>(own, *d), gap);
    *returns = *advantages + v;
  } else {
    *returns = own;
  }
  *d = fma(splat(a[0]), *d, splat(b[0]));
}

template <class F>
SRP_INLINE void scan_plain_lanes(const ScanRows<F>& row, const ScanConstants& c, int64_t i, F64* d, F64* advantages,
                                 F64* returns) {
  if (row.value)
    scan_plain<true>(load_wide(row.reward + i), load_wide(row.value + i), c, c.a[3], d, advantages, returns);
  else
    scan_plain<false>(load_wide(row.reward + i), F64{}, c, c.a[3], d, advantages, returns);
}

// Tokens i ... i + count - 1, the last ones of a row.
template <class F>
SRP_INLINE void scan_plain_some(const ScanRows<F>& row, const ScanConstants& c, F64 a, int64_t i, int64_t count, F64* d,
                                F* advantages, F* returns) {
  F64 of_advantages = {}, of_returns = {};
  if (row.value)
    scan_plain<true>(load_some(row.reward + i, count), load_some(row.value + i, count), c, a, d, &of_advantages,
                     &of_returns);
  else
    scan_plain<false>(load_some(row.reward + i, count), F64{}, c, a, d, &of_advantages, &of_returns);
  if (advantages) store_some(advantages, of_advantages, count);
  if (returns) store_some(returns, of_returns, count);
}

// How many of the tokens [begin, end) are kept, where none behind a masked one is; else -1.
SRP_INLINE int64_t kept_first(const uint8_t* mask, int64_t begin, int64_t end) {
  int64_t i = mask ? begin : end;
  while (i < end && mask[i]) ++i;
  const int64_t count = i - begin;
  while (i < end && !mask[i]) ++i;
  return i == end ? count : -1;
}

// Fewer than kLanes tokens from i on, all of them kept and with the discount gamma.
template <class F>
SRP_INLINE void scan_plain_last(const ScanRows<F>& row, ScanConstants* c, int64_t i, int64_t count, F64* d,
                                F* advantages, F* returns) {
  const auto from = [](F* out) { return out ? out + kHalf : nullptr; };
  if (count > kHalf) {
    const int64_t rest = count - kHalf;
    scan_plain_some(row, *c, composed_some(c, rest), i + kHalf, rest, d, from(advantages), from(returns));
  }
  const int64_t first = count > kHalf ? kHalf : count;
  scan_plain_some(row, *c, composed_some(c, first), i, first, d, advantages, returns);
}

// kHalf tokens from i on, of which the first `count` are kept and have the discount gamma, and the others are skipped.
template <class F>
SRP_INLINE void scan_first_lanes(const ScanRows<F>& row, ScanConstants* c, int64_t i, int64_t count, F64* d,
                                 F64* advantages, F64* returns) {
  if (count == 0) return;
  const F64 a = composed_some(c, count), r = load_some(row.reward + i, count);
  if (row.value)
    scan_plain<true>(r, load_some(row.value + i, count), *c, a, d, advantages, returns);
  else
    scan_plain<false>(r, F64{}, *c, a, d, advantages, returns);
  const I64 kept = load_mask(row.mask + i);
  *advantages = kept ? *advantages : F64{};
  *returns = kept ? *returns : F64{};
}

// kLanes tokens from i on, whose results go to `advantages` and `returns`, each of which may be NULL.
template <bool kSome, class F>
SRP_INLINE void scan_register(const ScanRows<F>& row, ScanConstants& c, const TokenLambdas<F>* lambdas, int64_t i,
                              const uint8_t* inside, F64* d, F* advantages, F* returns) {
  F64 a[2] = {}, r[2] = {};
  bool all = true, none = false;
  const bool first_alone =
      kHalf > 2 && !kSome && row.mask && row.mask_mode == SRP_MASK_SKIP && !row.discount && !lambdas;
  const bool upper = !kSome || inside[kHalf] != 0;
  if (row.mask) kept_tokens(row.mask + i, &all, &none);
  if (!kSome && none && row.mask_mode != SRP_MASK_STEPS) {
    if (row.mask_mode == SRP_MASK_CUT) *d = F64{};
  } else if (!kSome && all && !row.discount && !lambdas) {
    scan_plain_lanes(row, c, i + kHalf, d, &a[1], &r[1]);
    scan_plain_lanes(row, c, i, d, &a[0], &r[0]);
  } else if (first_alone) {
    for (int64_t half = 1; half >= 0; --half) {
      const int64_t at = i + half * kHalf, count = kept_first(row.mask + at);
      if (count >= 0)
        scan_first_lanes(row, &c, at, count, d, &a[half], &r[half]);
      else
        scan_lanes<false, false>(row, c, lambdas, at, nullptr, d, &a[half], &r[half]);
    }
  } else if (row.mask && row.mask_mode == SRP_MASK_CUT) {
    if (upper) scan_lanes<kSome, true>(row, c, lambdas, i + kHalf, kSome ? inside + kHalf : nullptr, d, &a[1], &r[1]);
    scan_lanes<kSome, true>(row, c, lambdas, i, inside, d, &a[0], &r[0]);
  } else {
    if (upper) scan_lanes<kSome, false>(row, c, lambdas, i + kHalf, kSome ? inside + kHalf : nullptr, d, &a[1], &r[1]);
    scan_lanes<kSome, false>(row, c, lambdas, i, inside, d, &a[0], &r[0]);
  }
  if (advantages) put_wide<false>(advantages, a[0], a[1]);
  if (returns) put_wide<false>(returns, r[0], r[1]);
}

// Registers from the one below i on, until one has tokens that are not kept, or down to `low`. Of tokens without discounts of their
// own.
template <class F>
SRP_INLINE void scan_plain_run(const ScanRows<F>& rows, const ScanConstants& given, int64_t* at, int64_t low,
                               F64* carried, F** to_advantages, F** to_returns, Leaving<F>* leaving) {
  const ScanConstants c = given;
  const ScanRows<F> row = rows;
  F64 d = *carried;
  F *advantages = *to_advantages, *returns = *to_returns;
  int64_t i = *at;
  for (; i > low; i -= kLanes) {
    if (row.mask && !all_ones(row.mask + i - kLanes)) break;
    prefetch(row.reward + i - kScanAhead);
    if (row.value) prefetch(row.value + i - kScanAhead);
    F64 a[2] = {}, r[2] = {};
    scan_plain_lanes(row, c, i - kHalf, &d, &a[1], &r[1]);
    scan_plain_lanes(row, c, i - kLanes, &d, &a[0], &r[0]);
    if (advantages) put_wide<false>(advantages -= kLanes, a[0], a[1]);
    if (returns) put_wide<false>(returns -= kLanes, r[0], r[1]);
    leave_some(&leaving[0]);
    leave_some(&leaving[1]);
  }
  *at = i;
  *carried = d;
  *to_advantages = advantages;
  *to_returns = returns;
}

// As many ones as lanes, and as many zeros behind them.
struct InsideFlags {
  uint8_t flags[2 * kLanes];
};
constexpr InsideFlags inside_flags() {
  InsideFlags inside = {};
  for (int64_t i = 0; i < kLanes; ++i) inside.flags[i] = 1;
  return inside;
}

// Fewer elements than a register has lanes, in two moves of a fixed size that overlap.
template <int64_t kMost, class F>
SRP_INLINE void move_some(F* to, const F* from, int64_t count) {
  if (count >= kMost) {
    memcpy(to, from, kMost * sizeof(F));
    memcpy(to + count - kMost, from + count - kMost, kMost * sizeof(F));
  } else if constexpr (kMost > 1) {
    move_some<kMost / 2>(to, from, count);
  }
}

// The last tokens of a row, fewer than a register, with the identity behind them. What else lies there in the arrays is left
// out; where they end before a register does, all goes through copies.
template <class F>
static __attribute__((noinline)) void scan_some(const ScanRows<F>& rows, ScanConstants& c, TokenLambdas<F>* lambdas,
                                                int64_t begin, int64_t count, F64* d, F* advantages, F* returns) {
  const size_t bytes = sizeof(F) * static_cast<size_t>(count);
  static constexpr InsideFlags kFlags = inside_flags();
  const uint8_t* const inside = kFlags.flags + kLanes - count;
  F results[2][kLanes];
  F inputs[3][kLanes];
  uint8_t mask[kLanes];
  ScanRows<F> copy = rows;
  if (begin + kLanes > rows.n) {
    memset(inputs, 0, sizeof inputs);
    memset(mask, 0, sizeof mask);
    const auto copied = [&](const F* from, F* to) -> const F* {
      return from ? static_cast<const F*>(memcpy(to, from + begin, bytes)) : nullptr;
    };
    copy.reward = copied(rows.reward, inputs[0]);
    copy.value = copied(rows.value, inputs[1]);
    copy.discount = copied(rows.discount, inputs[2]);
    if (rows.mask) copy.mask = static_cast<const uint8_t*>(memcpy(mask, rows.mask + begin, static_cast<size_t>(count)));
    if (lambdas) lambdas->shift = begin;
    begin = 0;
  }
  scan_register<true>(copy, c, lambdas, begin, inside, d, results[0], results[1]);
  if (lambdas) lambdas->shift = 0;
  if (advantages) move_some<kLanes / 2>(advantages, results[0], count);
  if (returns) move_some<kLanes / 2>(returns, results[1], count);
}

// Tokens [begin, end) of a row, from the last one on. Registers count from the row's begin: results depend neither on where
// an array lies nor on padding behind the row.
template <bool kTokenLambdas, class F>
SRP_INLINE void scan_row(const ScanRows<F>& rows, ScanConstants& c, int64_t begin, int64_t end, double bootstrap,
                         Drain<F>* advantages, Drain<F>* returns) {
  F64 d = splat(bootstrap);
  TokenLambdas<F> of_tokens = {rows, begin, end, 0};
  TokenLambdas<F>* const lambdas = kTokenLambdas ? &of_tokens : nullptr;
  int64_t i = begin + (end - begin) / kLanes * kLanes;
  if (i < end) {
    make_room(advantages, end);
    make_room(returns, end);
    F *const to_advantages = place_of(advantages, i), *const to_returns = place_of(returns, i);
    const int64_t kept = lambdas || rows.discount ? -1 : kept_first(rows.mask, i, end);
    if (kept == end - i || (kHalf > 2 && kept >= 0 && rows.mask_mode == SRP_MASK_SKIP)) {
      if (kept > 0) scan_plain_last(rows, &c, i, kept, &d, to_advantages, to_returns);
      for (int64_t k = kept; to_advantages && k < end - i; ++k) to_advantages[k] = 0;
      for (int64_t k = kept; to_returns && k < end - i; ++k) to_returns[k] = 0;
    } else {
      scan_some(rows, c, lambdas, i, end - i, &d, to_advantages, to_returns);
    }
  }
  while (i > begin) {
    make_room(advantages, i);
    make_room(returns, i);
    const int64_t lowest = advantages->base > returns->base ? advantages->base : returns->base;
    const int64_t low = lowest > begin ? i - (i - lowest) / kLanes * kLanes : begin;
    // Of its own, so that the compiler knows that no store changes it.
    F *to_advantages = place_of(advantages, i), *to_returns = place_of(returns, i);
    Leaving<F> leaving[2] = {advantages->leaving, returns->leaving};
    while (i > low) {
      if (!lambdas && !rows.discount) scan_plain_run(rows, c, &i, low, &d, &to_advantages, &to_returns, leaving);
      if (i == low) break;
      prefetch(rows.reward + i - kScanAhead);
      if (rows.value) prefetch(rows.value + i - kScanAhead);
      if (to_advantages) to_advantages -= kLanes;
      if (to_returns) to_returns -= kLanes;
      scan_register<false>(rows, c, lambdas, i - kLanes, nullptr, &d, to_advantages, to_returns);
      leave_some(&leaving[0]);
      leave_some(&leaving[1]);
      i -= kLanes;
    }
    advantages->leaving = leaving[0];
    returns->leaving = leaving[1];
  }
}

template <bool kValues, class F>
SRP_INLINE void scan_all(const ScanRows<F>& given, int64_t begin, int64_t end, bool past_cache) {
  ScanRows<F> rows = given;
  if (!kValues) {
    rows.value = nullptr;
    rows.advantages = nullptr;
  }
  const auto begin_of = [&](int64_t b) { return rows.offsets ? rows.offsets[b] : b * rows.T; };
  ScanConstants c = scan_constants(rows.gamma, rows.lambda, rows.mask_mode);
  Drain<F> advantages, returns;
  int64_t row_end = begin_of(end);
  open_drain(&advantages, rows.advantages, row_end, past_cache);
  open_drain(&returns, rows.returns, row_end, past_cache);
  for (int64_t b = end - 1; b >= begin; --b) {
    const int64_t row_begin = begin_of(b);
    const double bootstrap = rows.bootstrap ? rows.bootstrap[b] : 0.0;
    if (kValues && rows.lambdas_per_token) {
      scan_row<true>(rows, c, row_begin, row_end, bootstrap, &advantages, &returns);
    } else {
      // Without tokens there may be no values, whatever the lambdas are of.
      if (rows.lambdas && !rows.lambdas_per_token) c = scan_constants(rows.gamma, rows.lambdas[b], rows.mask_mode);
      scan_row<false>(rows, c, row_begin, row_end, bootstrap, &advantages, &returns);
    }
    row_end = row_begin;
  }
  close_drain(&advantages, row_end);
  close_drain(&returns, row_end);
  if (past_cache) finish_streams();
}

// Rows [begin, end), from the last one on: what they read and write goes through memory in one direction.
template <class F>
static void scan_rows(const ScanRows<F>& rows, int64_t begin, int64_t end, bool past_cache) {
  if (rows.value)
    scan_all<true>(rows, begin, end, kStreams && past_cache);
  else
    scan_all<false>(rows, begin, end, kStreams && past_cache);
}

}  // namespace srp::cpu::SRP_LEVEL
