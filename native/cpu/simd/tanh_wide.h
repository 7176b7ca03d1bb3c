// tanh of kHalf float64 at once, and exp of numbers <= 0, which tanh and the softmax of a linear head use.
namespace srp::cpu::SRP_LEVEL {

// As exp_wide, but without the C library: exactly 0 below -708, where exp is below 4e-308; from 709 on the result is
// that of 709. NaN stays NaN.
SRP_INLINE F64 exp_flushed(F64 x) {
  const I64 none = x < splat(-708.0);
  const ExpWide e = exp_parts(none ? F64{} : x > splat(709.0) ? splat(709.0) : x);
  return none ? F64{} : fma(e.power, e.rest, e.power);
}

// tanh(u) of a finite u within 3e-15 and 1 - tanh(u)^2 within a few units in the last place, both relative: near 0
// exp(-2 u) - 1 is `rest`, which keeps the digits.
struct Tanh {
  F64 value, slope;
};
SRP_INLINE Tanh tanh_wide(F64 u) {
  const F64 size = u < F64{} ? -u : u, one = splat(1.0), x = splat(-2.0) * size;
  const I64 none = x < splat(-708.0);
  const ExpWide parts = exp_parts(none ? F64{} : x);
  const F64 e = none ? F64{} : fma(parts.power, parts.rest, parts.power);
  const F64 below_one = (~none & (parts.power == one)) ? -parts.rest : one - e;
  const F64 sum = one + e, t = below_one / sum;
  return {u < F64{} ? -t : t, splat(4.0) * e / (sum * sum)};
}

}  // namespace srp::cpu::SRP_LEVEL
