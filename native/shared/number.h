// Number types that one text of arithmetic shares between the CPU, CUDA and emulated backends.
//
//   load<double>(p, i)   element i of p as a wider number (half types are bit patterns)
//   number_at<N>(p, i)   the same as an N, which is made of a float or a double
//   store(p, i, x)       the nearest representable value, ties to even, NaN kept
//   select(c, a, b)      c ? a : b, spelled as a function so that a vector type can overload it
#ifndef SURPRISAL_SHARED_NUMBER_H
#define SURPRISAL_SHARED_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define SRP_HD __host__ __device__ __forceinline__
#else
#define SRP_HD inline
#endif

namespace srp {

// For numbers that must be finite but are not checked: an infinity counts as NaN, since formulas that agree for finite numbers, such
// as g (a + b) and g a + g b, differ for it.
SRP_HD double finite_or_nan(double x) { return x + (x - x); }

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

SRP_HD uint32_t float_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

SRP_HD float bits_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

SRP_HD float to_float(BFloat16 x) { return bits_float(static_cast<uint32_t>(x.bits) << 16); }

SRP_HD float to_float(Half x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return bits_float(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));  // inf, NaN
  if (magnitude >= 0x400u) return bits_float(sign | ((magnitude << 13) + 0x38000000u));  // rebias 15 → 127
  const float tiny = static_cast<float>(magnitude) * 5.9604644775390625e-8f;  // subnormal: × 2^-24
  return sign ? -tiny : tiny;
}

SRP_HD float to_float(float x) { return x; }
SRP_HD double to_float(double x) { return x; }

SRP_HD BFloat16 to_bfloat16(float x) {
  const uint32_t u = float_bits(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((u >> 16) | 0x40u)};  // NaN stays NaN, quiet
  return {static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

SRP_HD Half to_half(float x) {
  const uint32_t u = float_bits(x);
  const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // from 65520 on: rounds to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is subnormal: adding 2^-1 puts the rounding at bit 2^-24 of the sum, ties to even.
    const uint32_t rounded = float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000u;
    return {static_cast<uint16_t>(sign | rounded)};
  }
  const uint32_t rebased = magnitude - 0x38000000u;
  return {static_cast<uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13))};
}

SRP_HD void put(float* p, double x) { *p = static_cast<float>(x); }
SRP_HD void put(double* p, double x) { *p = x; }

// Rounds float64 to float32 "to odd": the extra precision survives as a sticky last bit, so that the second
// rounding (to 16 bits) gives the nearest value of the float64 itself.
SRP_HD float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || nearest != nearest || isinf(nearest)) return nearest;
  uint32_t u = float_bits(nearest);
  if (fabs(static_cast<double>(nearest)) > fabs(x)) --u;  // back to truncation
  return bits_float(u | 1u);
}
SRP_HD void put(BFloat16* p, double x) { *p = to_bfloat16(round_to_odd(x)); }
SRP_HD void put(Half* p, double x) { *p = to_half(round_to_odd(x)); }

template <class T>
SRP_HD double load(const T* p, int64_t i) {
  return static_cast<double>(to_float(p[i]));
}

template <class N, class T>
SRP_HD N number_at(const T* p, int64_t i) {
  return N(to_float(p[i]));
}

template <class T, class N>
SRP_HD void store(T* p, int64_t i, N x) {
  put(p + i, x);
}

SRP_HD double without_sign_of_zero(double x) { return x + 0.0; }

template <class T>
SRP_HD T select(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace srp

#endif
