// Terms e = 2^(x rate + kExp2Offset) of a sum over a row, and t = x, as far as it counts.
namespace srp::cpu::SRP_LEVEL {

struct TermMap {
  float rate, low;
  double unit;  // t of a raw logit
  Exp2Table table;

  static TermMap of(float rate) { return {rate, kExp2Low / rate, 1, {}}; }
};

struct Term {
  F32 t, e;
};

SRP_INLINE Term term_of(const TermMap& map, F32 x) {
  const F32 t = max(splat(map.low), x);  // NaN stays
  return {t, exp2_product(map.table, t, splat(map.rate))};
}

}  // namespace srp::cpu::SRP_LEVEL
