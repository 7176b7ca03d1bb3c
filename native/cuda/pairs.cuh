// Two 16-bit floats in a word, as 16-byte loads bring them, and the fast power of two. Each has an instruction of its own from
// sm_80 on; the other text serves older architectures and the emulation.
#pragma once
#include "cuda.cuh"
#include "shared/number.h"

namespace srp::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SRP_PAIR_INSTRUCTIONS 1
#else
#define SRP_PAIR_INSTRUCTIONS 0
#endif

// 2^x within 2 units of the last place, 0 where the result is below 2^-126. NaN stays, -infinity gives 0.
__device__ __forceinline__ float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return x < -126.0f ? 0.0f : exp2f(x);
#endif
}

__device__ __forceinline__ float low_of(uint32_t pair, BFloat16) { return bits_float(pair << 16); }
__device__ __forceinline__ float high_of(uint32_t pair, BFloat16) { return bits_float(pair & 0xffff0000u); }

__device__ __forceinline__ float widened(uint16_t bits) {
#if defined(__CUDA_ARCH__)
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
#else
  return to_float(Half{bits});
#endif
}
__device__ __forceinline__ float low_of(uint32_t pair, Half) { return widened(static_cast<uint16_t>(pair)); }
__device__ __forceinline__ float high_of(uint32_t pair, Half) { return widened(static_cast<uint16_t>(pair >> 16)); }

__device__ __forceinline__ uint32_t pair_of(BFloat16 low, BFloat16 high) {
  return low.bits | static_cast<uint32_t>(high.bits) << 16;
}
__device__ __forceinline__ uint32_t pair_of(Half low, Half high) {
  return low.bits | static_cast<uint32_t>(high.bits) << 16;
}

// The nearest values, ties to even.
__device__ __forceinline__ uint32_t rounded_pair(float low, float high, BFloat16) {
#if SRP_PAIR_INSTRUCTIONS
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return pair_of(to_bfloat16(low), to_bfloat16(high));
#endif
}
__device__ __forceinline__ uint32_t rounded_pair(float low, float high, Half) {
#if SRP_PAIR_INSTRUCTIONS
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return pair_of(to_half(low), to_half(high));
#endif
}

// Of both halves. A NaN loses against a number, as in fmaxf.
__device__ __forceinline__ uint32_t greater_pair(uint32_t a, uint32_t b, BFloat16 kind) {
#if SRP_PAIR_INSTRUCTIONS
  uint32_t pair;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  return rounded_pair(fmaxf(low_of(a, kind), low_of(b, kind)), fmaxf(high_of(a, kind), high_of(b, kind)), kind);
#endif
}
__device__ __forceinline__ uint32_t greater_pair(uint32_t a, uint32_t b, Half kind) {
#if SRP_PAIR_INSTRUCTIONS
  uint32_t pair;
  asm("max.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  return rounded_pair(fmaxf(low_of(a, kind), low_of(b, kind)), fmaxf(high_of(a, kind), high_of(b, kind)), kind);
#endif
}
__device__ __forceinline__ uint32_t smaller_pair(uint32_t a, uint32_t b, BFloat16 kind) {
#if SRP_PAIR_INSTRUCTIONS
  uint32_t pair;
  asm("min.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  return rounded_pair(fminf(low_of(a, kind), low_of(b, kind)), fminf(high_of(a, kind), high_of(b, kind)), kind);
#endif
}
__device__ __forceinline__ uint32_t smaller_pair(uint32_t a, uint32_t b, Half kind) {
#if SRP_PAIR_INSTRUCTIONS
  uint32_t pair;
  asm("min.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  return rounded_pair(fminf(low_of(a, kind), low_of(b, kind)), fminf(high_of(a, kind), high_of(b, kind)), kind);
#endif
}

// All bits of the halves in which two pairs are equal numbers, none of the others.
template <class T>
__device__ __forceinline__ uint32_t equal_halves(uint32_t a, uint32_t b, T kind) {
  return (low_of(a, kind) == low_of(b, kind) ? 0xffffu : 0u) |
         (high_of(a, kind) == high_of(b, kind) ? 0xffff0000u : 0u);
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ uint32_t equal_halves(uint32_t a, uint32_t b, BFloat16) {
  uint32_t mask;
  asm("set.eq.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
}
#endif
#if SRP_PAIR_INSTRUCTIONS
__device__ __forceinline__ uint32_t equal_halves(uint32_t a, uint32_t b, Half) {
  uint32_t mask;
  asm("set.eq.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
}
#endif

#undef SRP_PAIR_INSTRUCTIONS

}  // namespace srp::cuda
