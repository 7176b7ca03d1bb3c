// Device functions that the host's <math.h> does not have. The fast forms (__expf, __logf) are exact here: the emulation
// checks logic, and how far the hardware's approximations stray is measured on hardware.
#pragma once
#include <math.h>

#include <cstdint>
#include <cstring>

inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}  // the builtin is undefined for 0
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }

namespace srp::emulation {
template <class To, class From>
To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits out as in");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace srp::emulation

inline unsigned __float_as_uint(float x) { return srp::emulation::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return srp::emulation::bit_cast<float>(x); }
inline int __float_as_int(float x) { return srp::emulation::bit_cast<int>(x); }
inline float __int_as_float(int x) { return srp::emulation::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return srp::emulation::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return srp::emulation::bit_cast<double>(x); }

template <class T>
T __ldg(const T* address) {
  return *address;
}

// Loads and stores with cache hints, which mean nothing here.
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, T value) {
  *address = value;
}

// CUDA's global min and max. Those of floats are fmin and fmax: if one is NaN, the result is the other.
#define SRP_MIN_MAX(T)                             \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
SRP_MIN_MAX(int)
SRP_MIN_MAX(unsigned)
SRP_MIN_MAX(long)
SRP_MIN_MAX(unsigned long)
SRP_MIN_MAX(long long)
SRP_MIN_MAX(unsigned long long)
#undef SRP_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
