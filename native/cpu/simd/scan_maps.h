// The maps that scan.h composes, and what is known of them ahead of a row.
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

}  // namespace srp::cpu::SRP_LEVEL
