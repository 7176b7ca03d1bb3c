// exp in float64, within 2 ulp.
//
// x = k ln2 / kExpSteps + r, so that exp(x) = 2^(k / kExpSteps) exp(r), and a polynomial makes exp(r) - 1 of r. Adding kMagic
// leaves k in the last bits of the sum. Beyond +-kExpWideLimit (and for NaN) a lane goes through the C library, which handles
// overflow and underflow; no lane depends on its neighbours. Until then k of such a lane is arbitrary, so exponents are added as
// unsigned numbers.
namespace srp::cpu::SRP_LEVEL {

constexpr double kExpMagic = 6755399441055744.0;  // 1.5 * 2^52
constexpr double kExpWideLimit = 700;

#if defined(SRP_LEVEL_AVX512)

constexpr double kExpSteps = 16;
constexpr double kLn2High = 0.04332169877307024, kLn2Low = 1.1926343307941173e-11;  // of ln2 / 16; high * k is exact
// 2^(j/16) for j in 0..15, less j in the place where `k << 48` adds it again. Of a k that is kOctaves too large.
template <uint64_t kOctaves = 0>
SRP_INLINE F64 power_of_two(I64 k) {
  const U64 low = U64{0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
                      0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429} -
                  (kOctaves << 52);
  const U64 high = U64{0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
                       0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da} -
                   (kOctaves << 52);
  return (F64)((U64)_mm512_permutex2var_epi64((__m512i)low, (__m512i)k, (__m512i)high) + ((U64)k << 48));
}
// exp(r) - 1 over r in [-ln2 / 32, ln2 / 32], relative error 1.3e-15, of exp(r) 2.8e-17
SRP_INLINE F64 exp_rest(F64 r) {
  F64 p = fma(splat(0.0013889034377693012), r, splat(0.008333449724528355));
  p = fma(p, r, splat(0.041666666664959766));
  p = fma(p, r, splat(0.16666666665301144));
  p = fma(p, r, splat(0.5));
  return fma(r * r, p, r);
}

#else

constexpr double kExpSteps = 1;
constexpr double kLn2High = 0.6931471803691238, kLn2Low = 1.9082149292705877e-10;
template <uint64_t kOctaves = 0>
SRP_INLINE F64 power_of_two(I64 k) {
  return (F64)(((U64)k << 52) + ((1023 - kOctaves) << 52));
}
// exp(r) - 1 over r in [-ln2 / 2, ln2 / 2], relative error 4.1e-17. In pairs: what follows would wait longer for a
// chain of ten terms.
SRP_INLINE F64 exp_rest(F64 r) {
  const F64 r2 = r * r;
  const F64 ninth = fma(splat(2.510038549551032e-08), r, splat(2.7620088445409746e-07));
  const F64 seventh = fma(splat(2.7557268459997064e-06), r, splat(2.4801521295954376e-05));
  const F64 fifth = fma(splat(0.00019841269863053618), r, splat(0.0013888888917213717));
  const F64 third = fma(splat(0.008333333333330062), r, splat(0.04166666666662413));
  const F64 first = fma(splat(0.16666666666666669), r, splat(0.5000000000000001));
  const F64 high = fma(ninth, r2, seventh), middle = fma(fifth, r2, third);
  return fma(r2, fma(fma(high, r2 * r2, middle), r2, first), r);
}

#endif

struct ExpWide {
  F64 power, rest;  // exp = power + power * rest
};

struct ReducedExponent {
  I64 k;
  F64 r;
};

// Of |x| <= kExpWideLimit.
SRP_INLINE ReducedExponent reduced_exponent(F64 x) {
  const F64 z = fma(x, splat(kExpSteps / 0.6931471805599453), splat(kExpMagic));
  const F64 k = z - splat(kExpMagic);
  return {(I64)z, fma(k, splat(-kLn2Low), fma(k, splat(-kLn2High), x))};
}

SRP_INLINE ExpWide exp_parts(F64 x) {
  const ReducedExponent e = reduced_exponent(x);
  return {power_of_two(e.k), exp_rest(e.r)};
}

// Whether many |x| are at most a limit.
struct Reach {
#if defined(SRP_LEVEL_AVX512)
  I64 most = {};  // of |x|: the order of their bits is that of the numbers, and NaN is above them
#else
  I64 within = ~I64{};
#endif
};
SRP_INLINE void extend(Reach* reach, F64 x, [[maybe_unused]] F64 limit) {
#if defined(SRP_LEVEL_AVX512)
  reach->most = (I64)_mm512_max_epi64((__m512i)reach->most, (__m512i)absolute(x));
#else
  reach->within &= absolute(x) <= limit;
#endif
}
SRP_INLINE bool is_within(const Reach& reach, [[maybe_unused]] F64 limit) {
#if defined(SRP_LEVEL_AVX512)
  return !any(not_at_most((F64)reach.most, limit));
#else
  return !any((I32)~reach.within);
#endif
}

SRP_INLINE bool beyond_exp(F64 x) { return any(!at_most(absolute(x), splat(kExpWideLimit))); }

// Computes the lanes beyond the limit again, by the C library.
static __attribute__((noinline)) void exp_by_library(const double* x, double* out) {
  for (int64_t lane = 0; lane < kHalf; ++lane)
    if (!(fabs(x[lane]) <= kExpWideLimit)) out[lane] = exp(x[lane]);
}

SRP_INLINE F64 replaced(F64 x, F64 y) {
  double from[kHalf], to[kHalf];
  store(from, x);
  store(to, y);
  exp_by_library(from, to);
  return load(to);
}

SRP_INLINE F64 exp_wide(F64 x) {
  const ExpWide e = exp_parts(x);
  const F64 y = fma(e.power, e.rest, e.power);
  return __builtin_expect(beyond_exp(x), 0) ? replaced(x, y) : y;
}

}  // namespace srp::cpu::SRP_LEVEL
