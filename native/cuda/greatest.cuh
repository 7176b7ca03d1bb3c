// The greatest of vectors of logits where a NaN wins over every number, as Max of common.cuh has it; and rounding from float64.
#pragma once
#include "vector.cuh"

namespace srp::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SRP_NAN_INSTRUCTIONS 1
#else
#define SRP_NAN_INSTRUCTIONS 0
#endif

__device__ __forceinline__ uint32_t greater_or_nan(uint32_t a, uint32_t b, float) {
  return float_bits(Max{}(bits_float(a), bits_float(b)));
}
__device__ __forceinline__ uint32_t greater_or_nan(uint32_t a, uint32_t b, BFloat16 kind) {
#if SRP_NAN_INSTRUCTIONS
  uint32_t pair;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  return rounded_pair(Max{}(low_of(a, kind), low_of(b, kind)), Max{}(high_of(a, kind), high_of(b, kind)), kind);
#endif
}
__device__ __forceinline__ uint32_t greater_or_nan(uint32_t a, uint32_t b, Half kind) {
#if SRP_NAN_INSTRUCTIONS
  uint32_t pair;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  return rounded_pair(Max{}(low_of(a, kind), low_of(b, kind)), Max{}(high_of(a, kind), high_of(b, kind)), kind);
#endif
}

template <class T>
__device__ __forceinline__ Vector<T> greater_or_nan(const Vector<T>& a, const Vector<T>& b) {
  Vector<T> v;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) v.words[i] = greater_or_nan(a.words[i], b.words[i], T{});
  return v;
}
template <class T>
__device__ __forceinline__ float greatest_or_nan(const Vector<T>& v) {
  float most = element(v, 0);
  SRP_UNROLL
  for (int i = 1; i < Vector<T>::kCount; ++i) most = Max{}(most, element(v, i));
  return most;
}

// What rounds to the value of T that is nearest to x: for float the nearest itself, else towards zero with the lost bits in the last one
// (round_to_odd of shared/number.h; below 2^-126 some of them may be missing).
__device__ __forceinline__ float rounds_to(double x, float) { return static_cast<float>(x); }
template <class T>
__device__ __forceinline__ float rounds_to(double x, T) {
#if defined(__CUDA_ARCH__)
  const uint32_t lost = static_cast<uint32_t>(__double2loint(x)) & 0x1fffffffu;
  const uint32_t bits = float_bits(__double2float_rz(x));
  return bits_float(lost ? bits | 1u : bits);
#else
  return round_to_odd(x);
#endif
}

#undef SRP_NAN_INSTRUCTIONS

}  // namespace srp::cuda
