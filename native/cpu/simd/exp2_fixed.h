// Terms e = 2^(x rate + kExp2Offset) of a sum over a row, for levels that have neither a fused multiply-add nor a look-up by lane.
//
// t = x rate 2^23 as an integer is a fixed-point number: its upper bits are the whole powers of two, the lower ones those of an
// m in [1, 2), and a polynomial of degree 5 makes 2^(m - 1) of it, with the offset in its coefficients. Fewer steps than in
// exp2.h, which keeps the fraction as a float32. Relative error 8.6e-8 of the polynomial, 2.2e-7 with float32's roundings,
// 7.0e-8 in the square mean; 1.5e-9 in the mean, so that the log-probs of a row do not all lean to one side. At m = 1 it is 1, to the bit: t = kFixedLow gives exactly 0.
namespace srp::cpu::SRP_LEVEL {

constexpr float kFixedOne = 8388608;  // 2^23
constexpr float kFixedLow = (-127 - kExp2Offset) * kFixedOne;

struct TermMap {
  float rate, low;
  double unit;  // t of a raw logit

  static TermMap of(float rate) { return {rate * kFixedOne, kFixedLow, static_cast<double>(rate) * kFixedOne}; }
};

struct Term {
  F32 t, e;
};

struct BegunTerm {
  F32 t;
};

SRP_INLINE BegunTerm begin_term(const TermMap& map, F32 x) { return {max(splat(map.low), x * splat(map.rate))}; }

// Where t is NaN, e is some finite number.
SRP_INLINE Term end_term(const TermMap&, const BegunTerm& begun) {
  const I32 fixed = rounded(begun.t);
  const F32 m = (F32)((fixed & 0x7fffff) | 0x3f800000);
  F32 p = fma(splat(1957.5291748046875f), m, splat(-332.5673828125f));
  p = fma(p, m, splat(40266.140625f));
  p = fma(p, m, splat(113451.8359375f));
  p = fma(p, m, splat(370662.4375f));
  p = fma(p, m, splat(522570.625f));
  static_assert(kExp2Offset == 20, "the coefficients hold it");
  // Unsigned, since a NaN t gives arbitrary bits.
  return {begun.t, (F32)((U32)p + ((U32)fixed & 0xff800000u))};
}

}  // namespace srp::cpu::SRP_LEVEL
