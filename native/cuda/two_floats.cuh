// Numbers of about 48 bits: the sum of two float32, of which the first is the float32 next to it. They take float64's place for single
// tokens and ids where a multiprocessor begins a float64 operation in 16 cycles only, float32 in a quarter of one: sums of rows stay
// float64. A sum takes 11 operations of float32, a product 7, an exponential about 90.
//
// Errors, relative to the larger operand of a sum and to the result elsewhere, as long as numbers are tame(): sum, product and
// exponential 2^-46. Others overflow, or lose the second float below 2^-126: who uses pairs asks ahead, and has float64 for the rest.
#pragma once
#include "common.cuh"
#include "shared/number.h"

namespace srp::cuda {

// Whether code is compiled for such a GPU, and takes pairs: on data-centre cards nothing is left of what stands behind it.
#if defined(__CUDA_ARCH__)
constexpr bool kSlowFloat64 = __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && __CUDA_ARCH__ != 1000;
#else
constexpr bool kSlowFloat64 = false;
#endif
__device__ __forceinline__ bool slow_float64() {
#if defined(SRP_EMULATED)
  return emulation::slow_float64();
#else
  return kSlowFloat64;
#endif
}

// In a namespace of its own, so that its functions hide none of float64's of the same name.
namespace two_floats {

struct TwoFloats {
  float hi, lo;

  TwoFloats() = default;
  __device__ __forceinline__ constexpr TwoFloats(float high, float low) : hi(high), lo(low) {}
  __device__ __forceinline__ constexpr explicit TwoFloats(int x) : hi(static_cast<float>(x)), lo(0) {}
  __device__ __forceinline__ constexpr explicit TwoFloats(float x) : hi(x), lo(0) {}
  SRP_HD explicit TwoFloats(double x) : hi(static_cast<float>(x)) {
    lo = fabsf(hi) < INFINITY ? static_cast<float>(x - static_cast<double>(hi)) : 0.0f;
  }
  __device__ __forceinline__ double wide() const { return static_cast<double>(hi) + static_cast<double>(lo); }

  // Of a sum that is not rounded to a pair yet, |high| >= |low|.
  static __device__ __forceinline__ TwoFloats joined(float high, float low) {
    const float sum = high + low;
    return {sum, low - (sum - high)};
  }
  static __device__ __forceinline__ TwoFloats joined(float high, float low, float lower) {
    const float sum = high + low;
    return {sum, (low - (sum - high)) + lower};
  }
  // A product whose second float is not joined with the first yet.
  __device__ __forceinline__ TwoFloats times(TwoFloats b) const {
    const TwoFloats p = product(hi, b.hi);
    return {p.hi, fmaf(hi, b.lo, fmaf(lo, b.hi, p.lo))};
  }
  // Of any two, without an error.
  static __device__ __forceinline__ TwoFloats sum(float a, float b) {
    const float sum = a + b, of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
  }
  static __device__ __forceinline__ TwoFloats product(float a, float b) {
    const float high = rounded_product(a, b);
    return {high, fmaf(a, b, -high)};
  }
  // A compiler that fused it with the next sum would break what follows from how it is rounded.
  static __device__ __forceinline__ float rounded_product(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
  }
};

// A sum of pairs that loses nothing of them which a float64 would keep.
struct ThreeFloats {
  float hi = 0, middle = 0, lo = 0;

  __device__ __forceinline__ ThreeFloats& operator+=(TwoFloats x) {
    const TwoFloats s = TwoFloats::sum(hi, x.hi), t = TwoFloats::sum(middle, s.lo), u = TwoFloats::sum(t.hi, x.lo);
    hi = s.hi;
    middle = u.hi;
    lo += t.lo + u.lo;
    return *this;
  }
  __device__ __forceinline__ double wide() const {
    return static_cast<double>(hi) + (static_cast<double>(middle) + static_cast<double>(lo));
  }
};

__device__ __forceinline__ TwoFloats operator-(TwoFloats a) { return {-a.hi, -a.lo}; }
__device__ __forceinline__ TwoFloats operator+(TwoFloats a, TwoFloats b) {
  const TwoFloats s = TwoFloats::sum(a.hi, b.hi);
  return TwoFloats::joined(s.hi, s.lo + (a.lo + b.lo));
}
__device__ __forceinline__ TwoFloats operator-(TwoFloats a, TwoFloats b) { return a + -b; }
__device__ __forceinline__ TwoFloats operator*(TwoFloats a, TwoFloats b) {
  const TwoFloats p = a.times(b);
  return TwoFloats::joined(p.hi, p.lo);
}
__device__ __forceinline__ TwoFloats operator/(TwoFloats a, TwoFloats b) {
  const float quotient = a.hi / b.hi;
  const TwoFloats p = TwoFloats::product(quotient, b.hi);
  const float rest = (a.hi - p.hi) - p.lo + fmaf(-quotient, b.lo, a.lo);
  return TwoFloats::joined(quotient, rest / b.hi);
}
__device__ __forceinline__ TwoFloats& operator+=(TwoFloats& a, TwoFloats b) { return a = a + b; }

__device__ __forceinline__ bool operator<(TwoFloats a, TwoFloats b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}
__device__ __forceinline__ bool operator>(TwoFloats a, TwoFloats b) { return b < a; }
__device__ __forceinline__ bool operator==(TwoFloats a, TwoFloats b) { return a.hi == b.hi && a.lo == b.lo; }
__device__ __forceinline__ bool operator!=(TwoFloats a, TwoFloats b) { return !(a == b); }
__device__ __forceinline__ bool operator<=(TwoFloats a, TwoFloats b) { return a < b || a == b; }
__device__ __forceinline__ bool operator>=(TwoFloats a, TwoFloats b) { return b <= a; }

__device__ __forceinline__ TwoFloats least(TwoFloats a, TwoFloats b) { return a <= b ? a : b; }
__device__ __forceinline__ TwoFloats greatest(TwoFloats a, TwoFloats b) { return a >= b ? a : b; }
__device__ __forceinline__ TwoFloats magnitude(TwoFloats x) { return x.hi < 0 ? -x : x; }
__device__ __forceinline__ TwoFloats without_sign_of_zero(TwoFloats x) { return {x.hi + 0.0f, x.lo}; }
__device__ __forceinline__ void put(float* p, TwoFloats x) { *p = x.hi; }

// What rounds to the value of T that is nearest to x, as in greatest.cuh.
__device__ __forceinline__ float rounds_to(TwoFloats x, float) { return x.hi; }
template <class T>
__device__ __forceinline__ float rounds_to(TwoFloats x, T) {
  const uint32_t bits = float_bits(x.hi), beyond = (bits ^ float_bits(x.lo)) >> 31;
  return x.lo == 0 ? x.hi : bits_float((bits - beyond) | 1u);
}

// exp(x) = 2^n exp(r), |r| <= ln 2 / 2.
struct ReducedExponent {
  int n;
  TwoFloats r;

  __device__ __forceinline__ explicit ReducedExponent(TwoFloats x) {
    constexpr float kRound = 12582912.0f;  // 1.5 · 2^23: of a sum with it, the low bits are the nearest integer
    const float bound = fmaxf(x.hi, -110.0f);
    const float shifted = fmaf(bound, 1.44269504f, kRound), whole = shifted - kRound;
    n = static_cast<int>(float_bits(shifted)) - static_cast<int>(float_bits(kRound));
    // ln 2 in three parts, the first of 12 bits.
    const TwoFloats part = TwoFloats::product(-whole, 3.1946183e-05f);
    const TwoFloats most = TwoFloats::sum(fmaf(-whole, 0.693115234375f, bound), bound == x.hi ? x.lo : 0.0f);
    const TwoFloats s = TwoFloats::sum(most.hi, part.hi);
    r = TwoFloats::joined(s.hi, s.lo + (most.lo + fmaf(-whole, 1.646595e-12f, part.lo)));
  }

  // c + r p, a step of Horner's rule, |c| > |r p|.
  __device__ __forceinline__ TwoFloats step(TwoFloats c, TwoFloats p) const {
    const TwoFloats product = r.times(p);
    return TwoFloats::joined(c.hi, product.hi, product.lo + c.lo);
  }

  // (exp(r) - 1 - r) / r², the sum of r^k / (k + 2)!, up to k = 10.
  __device__ __forceinline__ TwoFloats beyond_line() const {
    float few = 2.0876757e-9f;
    few = fmaf(few, r.hi, 2.5052108e-8f);
    few = fmaf(few, r.hi, 2.755732e-7f);
    few = fmaf(few, r.hi, 2.7557319e-6f);
    few = fmaf(few, r.hi, 2.4801588e-5f);
    TwoFloats p = step({0.0001984127f, -2.7255969e-12f}, {few, 0});
    p = step({0.0013888889f, -3.3631094e-11f}, p);
    p = step({0.008333334f, -4.346172e-10f}, p);
    p = step({0.041666668f, -1.2417635e-9f}, p);
    p = step({0.16666667f, -4.967054e-9f}, p);
    p = step({0.5f, 0}, p);
    return TwoFloats::joined(p.hi, p.lo);
  }
  __device__ __forceinline__ TwoFloats less_one() const {  // exp(r) - 1
    const TwoFloats p = step({1.0f, 0}, beyond_line());
    return r * TwoFloats::joined(p.hi, p.lo);
  }
  __device__ __forceinline__ TwoFloats scaled(TwoFloats x) const {  // 2^n x
    const float power = n < -126 ? 0.0f : bits_float(static_cast<uint32_t>(n + 127) << 23);
    return {x.hi * power, x.lo * power};
  }
};

__device__ __forceinline__ TwoFloats one_and(TwoFloats small) {
  const TwoFloats s = TwoFloats::joined(1.0f, small.hi);
  return TwoFloats::joined(s.hi, s.lo + small.lo);
}

// Of numbers of at most 88; below -87 it is 0.
__device__ __forceinline__ TwoFloats exponential(TwoFloats x) {
  const ReducedExponent e(x);
  return e.scaled(one_and(e.less_one()));
}
__device__ __forceinline__ TwoFloats exponential_less_one(TwoFloats x) {
  const ReducedExponent e(x);
  const TwoFloats m = e.less_one();
  return e.n == 0 ? m : e.scaled(one_and(m)) - TwoFloats(1);
}
// exp(x) - 1 - x, which those two numbers would lose where x is small.
__device__ __forceinline__ TwoFloats exponential_beyond_line(TwoFloats x) {
  const ReducedExponent e(x);
  const TwoFloats small = e.r * e.r * e.beyond_line();
  return e.n == 0 ? small : e.scaled(one_and(e.r + small)) - TwoFloats(1) - x;
}

// x as float64, by integers: a conversion takes as long as an operation of float64. Below 2^-126 it is 0.
__device__ __forceinline__ double widened(float x) {
  const uint32_t bits = float_bits(x), size = bits & 0x7fffffffu;
  const uint64_t wide = size < 0x00800000u ? 0 : (uint64_t{size} << 29) + (uint64_t{1023 - 127} << 52);
  const uint64_t all = wide | uint64_t{bits & 0x80000000u} << 32;
  double y;
  memcpy(&y, &all, sizeof y);
  return y;
}
// Moves a sum of a few numbers, which is finite, into that of many.
__device__ __forceinline__ void give(double& sum, TwoFloats& x) {
  sum += widened(x.hi);
  sum += widened(x.lo);
  x = TwoFloats(0);
}

}  // namespace two_floats
using two_floats::ThreeFloats;
using two_floats::TwoFloats;

// A number that pairs may hold, and one that an exponential may be taken of: what comes of a few of them neither overflows nor
// loses its second float.
__device__ __forceinline__ bool tame(float x) { return fabsf(x) <= 0x1p40f && (fabsf(x) >= 0x1p-40f || x == 0); }
SRP_HD bool tame(double x) { return fabs(x) <= 0x1p40 && (fabs(x) >= 0x1p-40 || x == 0); }
// A bound, which is infinite where it is off.
SRP_HD bool tame_bound(double x) { return tame(x) || fabs(x) == static_cast<double>(INFINITY); }
__device__ __forceinline__ bool tame_exponent(float x) { return fabsf(x) <= 40.0f; }

}  // namespace srp::cuda
