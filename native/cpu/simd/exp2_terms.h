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

struct BegunTerm {
  F32 t;
  BegunExp2 power;
};

SRP_INLINE BegunTerm begin_term(const TermMap& map, F32 x) {
  const F32 t = max(splat(map.low), x);  // NaN stays
  return {t, begin_exp2(t, splat(map.rate))};
}

SRP_INLINE Term end_term(const TermMap& map, const BegunTerm& begun) {
  return {begun.t, end_exp2(map.table, begun.power)};
}

}  // namespace srp::cpu::SRP_LEVEL
