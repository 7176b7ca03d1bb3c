// ln(1 + y) in float64, within 2 ulp.
//
// 1 + y = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); what 1 + y lost in rounding comes in as a part of itself. With
// s = f / (2 + f) and z = s^2, ln(1 + f) = f - s (f - z P(z)).
namespace srp::cpu::SRP_LEVEL {

// -1 <= y <= 1e15; -1 gives the logarithm of some tiny number, below -36.
SRP_INLINE F64 log_one_plus(F64 y) {
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd, kOne = int64_t{1} << 52, kBias = 1024;
  constexpr double kMagic52 = 4503599627370496.0;  // 2^52
  const F64 one = splat(1.0), sum = one + y, m = sum > splat(1e-300) ? sum : splat(1e-300);
  // kBias more than k, so that it is positive and shifts like an unsigned number.
  const I64 k = (I64)((U64)((I64)m - splat(kRootHalf) + splat(kBias * kOne)) >> 52);
  const F64 power = (F64)(k | splat((int64_t)0x4330000000000000)) - splat(kMagic52 + static_cast<double>(kBias));
  const F64 reduced = (F64)((I64)m - ((k - splat(kBias)) << 52)) - one;
  const I64 near = k == splat(kBias);
  const F64 f = near ? y : reduced, lost = near ? F64{} : (y - (m - one)) / m;
  const F64 s = f / (splat(2.0) + f), z = s * s;
  F64 p = fma(splat(0.14616576421644387), z, splat(0.15331711346672997));
  p = fma(p, z, splat(0.18182889433757515));
  p = fma(p, z, splat(0.22222211130560726));
  p = fma(p, z, splat(0.28571428626001427));
  p = fma(p, z, splat(0.3999999999989945));
  p = fma(p, z, splat(0.666666666666667));
  const F64 rest = f - (s * (f - z * p) - (lost + power * splat(1.9082149292705877e-10)));
  return fma(power, splat(0.6931471803691238), rest);
}

}  // namespace srp::cpu::SRP_LEVEL
