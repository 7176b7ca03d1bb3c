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
};

template <int kBy>
SRP_INLINE Maps compose_lanes(Maps m) {
  const F64 a = shift_lanes<kBy>(m.a, splat(1.0)), b = shift_lanes<kBy>(m.b, F64{});
  return {m.a * a, fma(m.a, b, m.b)};
}

SRP_INLINE Maps compose(Maps m) {
  m = compose_lanes<1>(m);
  if constexpr (kHalf > 2) m = compose_lanes<2>(m);
  if constexpr (kHalf > 4) m = compose_lanes<4>(m);
  return m;
}

constexpr int64_t kScanAhead = 1024;  // elements

struct ScanConstants {
  F64 gamma, lambda;
  F64 masked_a;
};

// Tokens i ... i + kHalf - 1, or of them those that `inside` marks. `d` is that of the token behind them, then of token i.
template <bool kSome, class F>
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
  Maps m = {c.lambda * g, fma(c.lambda, gap, v)};
  if (row.mask && row.mask_mode != SRP_MASK_STEPS) m.a = kept ? m.a : c.masked_a;  // and b is 0
  if (kSome) {
    const I64 there = load_mask(inside + i);
    m = {there ? m.a : splat(1.0), there ? m.b : F64{}};
  }
  m = compose(m);
  const F64 own = fma(m.a, *d, m.b), next = shift_lanes<1>(own, *d);
  *advantages = fma(g, next, gap);
  *returns = *advantages + v;
  if (row.mask && row.mask_mode != SRP_MASK_STEPS) {
    *advantages = kept ? *advantages : F64{};
    *returns = kept ? *returns : F64{};
  }
  *d = splat(own[0]);
}

// kLanes tokens from i on.
template <bool kPastCache, bool kSome, class F>
SRP_INLINE void scan_register(const ScanRow<F>& row, const ScanConstants& c, int64_t i, const uint8_t* inside, F64* d) {
  F64 advantages[2], returns[2];
  scan_lanes<kSome>(row, c, i + kHalf, inside, d, &advantages[1], &returns[1]);
  scan_lanes<kSome>(row, c, i, inside, d, &advantages[0], &returns[0]);
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
  const ScanConstants c = {splat(row.gamma), splat(row.lambda), splat(row.mask_mode == SRP_MASK_SKIP ? 1.0 : 0.0)};
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
