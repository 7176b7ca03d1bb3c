// exp(x) and exp(x) - 1 of one x, for arrays of F. exp(x) - 1 keeps its digits near 0, where power is 1 and `rest` is the result:
// relatively within 4e-16 where |x| < ln2 / 32, within 1e-15 elsewhere. exp(x) is as accurate as that of exp_wide.h, but not the same
// bits.
//
// For arrays of float32 a level may take x for one that is 2^-53 of itself away, far less than numbers of float32 are known to, and
// the polynomial of exp_wide.h: exp(x) is within (2 + |x|) 2^-53, and exp(x) - 1 within |x| 2^-53 and 1e-14, near 0 within 2e-15.
namespace srp::cpu::SRP_LEVEL {

#if defined(SRP_LEVEL_AVX512)

// With what the entry of power_of_two lost in rounding, as a part of itself.
SRP_INLINE F64 with_lost_of_power(F64 rest, I64 k) {
  const F64 low = {0.0,
                   8.189317638195515e-17,
                   -2.7939114859515733e-17,
                   7.826573258636076e-17,
                   3.3484623336251524e-17,
                   3.750854201303127e-17,
                   1.9572585293112036e-17,
                   5.68648095791174e-17};
  const F64 high = {-6.835808657661922e-17, -2.3591094770850053e-17, 5.1548301170786783e-17, 1.5341410053603723e-17,
                    4.875160526227062e-17,  1.685487290628973e-17,   1.790126907604513e-17,  -5.545065618639427e-17};
  return rest + _mm512_permutex2var_pd(low, (__m512i)k, high);
}

// exp(r) - 1 over r in [-ln2 / 32, ln2 / 32], relative error 2.1e-18
SRP_INLINE F64 finer_rest(F64 r) {
  F64 p = fma(splat(0.00019841463826261545), r, splat(0.001388906347556763));
  p = fma(p, r, splat(0.008333333332991954));
  p = fma(p, r, splat(0.04166666666359425));
  p = fma(p, r, splat(0.16666666666666669));
  p = fma(p, r, splat(0.5));
  return fma(r * r, p, r);
}

#else

SRP_INLINE F64 with_lost_of_power(F64 rest, I64) { return rest; }
SRP_INLINE F64 finer_rest(F64 r) { return exp_rest(r); }

#endif

struct Exponentials {
  F64 exp, less_one;
};

static __attribute__((noinline)) void exponentials_by_library(const double* x, double* exp_out, double* less_one_out) {
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    if (fabs(x[lane]) <= kExpWideLimit) continue;
    exp_out[lane] = exp(x[lane]);
    less_one_out[lane] = expm1(x[lane]);
  }
}

// Of |x| <= kExpWideLimit.
template <class F>
SRP_INLINE Exponentials exponentials_within(F64 x) {
#if defined(SRP_LEVEL_AVX512)
  if (std::is_same_v<F, float>) {
    const F64 z = fma(x, splat(kExpSteps / 0.6931471805599453), splat(kExpMagic));
    const F64 power = power_of_two((I64)z);
    const F64 rest = exp_rest(fma(z - splat(kExpMagic), splat(-0.6931471805599453 / kExpSteps), x));
    return {fma(power, rest, power), fma(power, rest, power - splat(1.0))};
  }
#endif
  const ReducedExponent reduced = reduced_exponent(x);
  const F64 power = power_of_two(reduced.k), rest = finer_rest(reduced.r);
  return {fma(power, rest, power), fma(power, with_lost_of_power(rest, reduced.k), power - splat(1.0))};
}

template <class F>
SRP_INLINE Exponentials exponentials(F64 x) {
  const Exponentials y = exponentials_within<F>(x);
  if (__builtin_expect(!beyond_exp(x), 1)) return y;
  double from[kHalf], exp_to[kHalf], less_one_to[kHalf];
  store(from, x);
  store(exp_to, y.exp);
  store(less_one_to, y.less_one);
  exponentials_by_library(from, exp_to, less_one_to);
  return {load(exp_to), load(less_one_to)};
}

template <class F>
static double exponential_of_one(double x) {
  return exponentials<F>(splat(x)).exp[0];
}

}  // namespace srp::cpu::SRP_LEVEL
