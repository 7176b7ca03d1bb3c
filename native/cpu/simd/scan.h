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
template <bool kValues, bool kSome, bool kCuts, class F>
SRP_INLINE void scan_lanes(const ScanRows<F>& row, const ScanConstants& c, const TokenLambdas<F>* lambdas, int64_t i,
                           const uint8_t* inside, F64* d, F64* advantages, F64* returns) {
  F64 r = load_wide(row.reward + i), v = kValues ? load_wide(row.value + i) : F64{};
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
  Maps m = {lambda * g, kValues ? fma(lambda, gap, v) : gap, I64{}};
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
  if (kValues) {
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

// kLanes tokens from i on, whose results go to `advantages` and `returns`, each of which may be NULL.
template <bool kValues, bool kSome, class F>
static __attribute__((noinline)) void scan_register(const ScanRows<F>& row, const ScanConstants& c,
                                                    const TokenLambdas<F>* lambdas, int64_t i, const uint8_t* inside,
                                                    F64* d, F* advantages, F* returns) {
  F64 a[2] = {}, r[2] = {};
  const bool upper = !kSome || inside[kHalf] != 0;
  if (!kSome && row.mask && row.mask_mode != SRP_MASK_STEPS && none_kept(row.mask + i)) {
    if (row.mask_mode == SRP_MASK_CUT) *d = F64{};
  } else if (row.mask && row.mask_mode == SRP_MASK_CUT) {
    if (upper)
      scan_lanes<kValues, kSome, true>(row, c, lambdas, i + kHalf, kSome ? inside + kHalf : nullptr, d, &a[1], &r[1]);
    scan_lanes<kValues, kSome, true>(row, c, lambdas, i, inside, d, &a[0], &r[0]);
  } else {
    if (upper)
      scan_lanes<kValues, kSome, false>(row, c, lambdas, i + kHalf, kSome ? inside + kHalf : nullptr, d, &a[1], &r[1]);
    scan_lanes<kValues, kSome, false>(row, c, lambdas, i, inside, d, &a[0], &r[0]);
  }
  if (advantages) put_wide<false>(advantages, a[0], a[1]);
  if (returns) put_wide<false>(returns, r[0], r[1]);
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

// The first tokens of a row, fewer than a register, with the identity behind them. What else lies there in the arrays is left
// out; where they end before a register does, all goes through copies.
template <bool kValues, class F>
static __attribute__((noinline)) void scan_some(const ScanRows<F>& rows, const ScanConstants& c,
                                                TokenLambdas<F>* lambdas, int64_t begin, int64_t count, F64* d,
                                                F* advantages, F* returns) {
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
    if (kValues) copy.value = copied(rows.value, inputs[1]);
    copy.discount = copied(rows.discount, inputs[2]);
    if (rows.mask) copy.mask = static_cast<const uint8_t*>(memcpy(mask, rows.mask + begin, static_cast<size_t>(count)));
    if (lambdas) lambdas->shift = begin;
    begin = 0;
  }
  scan_register<kValues, true>(copy, c, lambdas, begin, inside, d, results[0], results[1]);
  if (lambdas) lambdas->shift = 0;
  if (advantages) memcpy(advantages, results[0], bytes);
  if (returns) memcpy(returns, results[1], bytes);
}

// For `count` tokens that end ahead of token `end`, no more than a register.
template <class F>
SRP_INLINE void put_zeros(Drain<F>* drain, int64_t end, int64_t count) {
  if (!drain->out) return;
  make_room(drain, end);
  F* const to = place_of(drain, end - count);
  if (count == kLanes) {
    put_wide<false>(to, F64{}, F64{});
  } else {
    store_some(to, F64{}, count);
    store_some(to + kHalf, F64{}, count - kHalf);
  }
  leave_some(&drain->leaving);
}

// Puts zeros for the tokens [begin, end), a register at a time, and brings what lies ahead of them nearer as scans do.
template <bool kValues, class F>
SRP_INLINE void skip_tokens(const ScanRows<F>& rows, int64_t begin, int64_t end, Drain<F>* advantages,
                            Drain<F>* returns) {
  int64_t i = end;
  while (i > begin) {
    prefetch(rows.reward + i - kScanAhead);
    if (kValues) prefetch(rows.value + i - kScanAhead);
    const int64_t count = i - begin < kLanes ? i - begin : kLanes;
    put_zeros(advantages, i, count);
    put_zeros(returns, i, count);
    i -= count;
  }
}

// Tokens [begin, end) of a row, from the last one on; `behind`: d of the token behind them. Registers count from there: results depend
// neither on where an array lies nor on padding behind the row's last kept token.
template <bool kValues, bool kTokenLambdas, class F>
SRP_INLINE void scan_row(const ScanRows<F>& rows, const ScanConstants& c, int64_t begin, int64_t end, double behind,
                         Drain<F>* advantages, Drain<F>* returns) {
  F64 d = splat(behind);
  TokenLambdas<F> of_tokens = {rows, begin, end, 0};
  TokenLambdas<F>* const lambdas = kTokenLambdas ? &of_tokens : nullptr;
  const bool plain = !lambdas && !rows.discount;
  int64_t i = end;
  while (i > begin) {
    make_room(advantages, i);
    make_room(returns, i);
    const int64_t lowest = advantages->base > returns->base ? advantages->base : returns->base;
    const int64_t low = lowest > begin ? lowest : begin;
    // Of its own, so that the compiler knows that no store changes it.
    F *to_advantages = place_of(advantages, i), *to_returns = place_of(returns, i);
    Leaving<F> leaving[2] = {advantages->leaving, returns->leaving};
    while (i - low >= kLanes) {
      if (plain) scan_plain_run<kValues>(rows, c, &i, low, &d, &to_advantages, &to_returns, leaving);
      if (i - low < kLanes) break;
      prefetch(rows.reward + i - kScanAhead);
      if (kValues) prefetch(rows.value + i - kScanAhead);
      prefetch_place(leaving[0], to_advantages, kScanAhead);
      prefetch_place(leaving[1], to_returns, kScanAhead);
      if (to_advantages) to_advantages -= kLanes;
      if (to_returns) to_returns -= kLanes;
      scan_register<kValues, false>(rows, c, lambdas, i - kLanes, nullptr, &d, to_advantages, to_returns);
      leave_some(&leaving[0]);
      leave_some(&leaving[1]);
      i -= kLanes;
    }
    advantages->leaving = leaving[0];
    returns->leaving = leaving[1];
    const int64_t rest = i - begin;
    if (rest == 0 || rest >= kLanes || low > begin) continue;
    if (plain && (!rows.mask || all_kept(rows.mask + begin, rest))) {
      if (rest > kHalf)
        scan_plain_first<kValues, 2>(rows, c, i, rest, &d, to_advantages, to_returns);
      else
        scan_plain_first<kValues, 1>(rows, c, i, rest, &d, to_advantages, to_returns);
    } else {
      scan_some<kValues>(rows, c, lambdas, begin, rest, &d, to_advantages ? to_advantages - rest : nullptr,
                         to_returns ? to_returns - rest : nullptr);
    }
    i = begin;
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
    double behind = rows.bootstrap ? rows.bootstrap[b] : 0.0;
    int64_t kept = row_end;
    if (rows.mask && (rows.mask_mode != SRP_MASK_STEPS || behind == 0)) {
      kept = kept_end(rows.mask, row_begin, row_end);
      if (kept < row_end) {
        skip_tokens<kValues>(rows, kept, row_end, &advantages, &returns);
        if (rows.mask_mode == SRP_MASK_CUT) behind = 0;
      }
    }
    if (kValues && rows.lambdas_per_token) {
      scan_row<kValues, true>(rows, c, row_begin, kept, behind, &advantages, &returns);
    } else {
      // Without tokens there may be no values, whatever the lambdas are of.
      if (rows.lambdas && !rows.lambdas_per_token) c = scan_constants(rows.gamma, rows.lambdas[b], rows.mask_mode);
      scan_row<kValues, false>(rows, c, row_begin, kept, behind, &advantages, &returns);
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
