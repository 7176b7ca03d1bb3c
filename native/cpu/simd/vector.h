// Vectors of one instruction-set level: the types and the two dozen operations that the kernel bodies are written in.
//
// A level is one translation unit (native/cpu/level_*.cpp). It defines SRP_LEVEL (its namespace) and SRP_LANES (float32
// lanes of a register), opens a target region and includes this folder; so every body is compiled once for each level, and
// nothing of a level can be linked into another (all of it lives in the level's own namespace or is forced inline).
//
//   F32  SRP_LANES floats        F64  half as many doubles       I32, U32  as F32
//   + - * / & | ^ << >> == < ?:  are the compiler's own on these types
//   fma max exp2 ...             below and in the level's own header
//   prefetch_further             into the second cache alone: loops that write too, or look at what they read for a moment only, do not wait
//                                for places in the first one
//   kStreams                     in the level's own header: whether stores can go past the caches; where not, loops need no form for it
//
// SRP_FIXED_TERMS: 16 registers of 4 lanes without a fused multiply-add, for which exp2_fixed.h is the faster way.
#include <stdint.h>
#include <string.h>

#include "shared/number.h"

#if defined(SRP_LEVEL_SIMD128) || (SRP_LANES == 4 && defined(__SSE2__))
#define SRP_FIXED_TERMS 1
#else
#define SRP_FIXED_TERMS 0
#endif

#define SRP_INLINE static inline __attribute__((always_inline))

namespace srp::cpu::SRP_LEVEL {

constexpr int64_t kLanes = SRP_LANES;
constexpr int64_t kHalf = kLanes / 2;  // lanes of F64
constexpr int32_t kExp2Offset = 20;  // exp2.h

typedef float F32 __attribute__((vector_size(4 * SRP_LANES)));
typedef double F64 __attribute__((vector_size(4 * SRP_LANES)));
typedef int32_t I32 __attribute__((vector_size(4 * SRP_LANES)));
typedef uint32_t U32 __attribute__((vector_size(4 * SRP_LANES)));
typedef int64_t I64 __attribute__((vector_size(4 * SRP_LANES)));
typedef uint64_t U64 __attribute__((vector_size(4 * SRP_LANES)));

// The same in memory of any alignment and of any other type.
typedef float F32Memory __attribute__((vector_size(4 * SRP_LANES), aligned(1), may_alias));
typedef double F64Memory __attribute__((vector_size(4 * SRP_LANES), aligned(1), may_alias));
typedef int32_t I32Memory __attribute__((vector_size(4 * SRP_LANES), aligned(1), may_alias));
typedef int64_t I64Memory __attribute__((vector_size(4 * SRP_LANES), aligned(1), may_alias));
typedef uint32_t U32Memory __attribute__((vector_size(4 * SRP_LANES), aligned(1), may_alias));

SRP_INLINE F32 load(const float* p) { return *reinterpret_cast<const F32Memory*>(p); }
SRP_INLINE F64 load(const double* p) { return *reinterpret_cast<const F64Memory*>(p); }
SRP_INLINE I32 load(const int32_t* p) { return *reinterpret_cast<const I32Memory*>(p); }
SRP_INLINE I64 load(const int64_t* p) { return *reinterpret_cast<const I64Memory*>(p); }
SRP_INLINE U32 load_bits(const void* p) { return *static_cast<const U32Memory*>(p); }
// kHalf of them.
typedef int32_t I32HalfMemory __attribute__((vector_size(2 * SRP_LANES), aligned(1), may_alias));
SRP_INLINE I64 load_widened(const int32_t* p) {
  return __builtin_convertvector(*reinterpret_cast<const I32HalfMemory*>(p), I64);
}
typedef int32_t I32Half __attribute__((vector_size(2 * SRP_LANES)));
SRP_INLINE void store_narrowed(int32_t* p, I64 x) {
  *reinterpret_cast<I32HalfMemory*>(p) = __builtin_convertvector(x, I32Half);
}
SRP_INLINE void store(float* p, F32 x) { *reinterpret_cast<F32Memory*>(p) = x; }
SRP_INLINE void store(double* p, F64 x) { *reinterpret_cast<F64Memory*>(p) = x; }
SRP_INLINE void store(int32_t* p, I32 x) { *reinterpret_cast<I32Memory*>(p) = x; }
SRP_INLINE void store_bits(void* p, U32 x) { *static_cast<U32Memory*>(p) = x; }

// x - 0 is x for every x, -0 among them, so the compiler is left with the broadcast.
SRP_INLINE F32 splat(float x) { return x - F32{}; }
SRP_INLINE F64 splat(double x) { return x - F64{}; }
SRP_INLINE I32 splat(int32_t x) { return x - I32{}; }
SRP_INLINE I64 splat(int64_t x) { return x - I64{}; }
SRP_INLINE U32 splat(uint32_t x) { return x - U32{}; }

// In the order of the lanes, so that a sum is the same whatever the compiler makes of the loop.
SRP_INLINE double sum(F64 x) {
  double total = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) total += x[lane];
  return total;
}

SRP_INLINE int64_t sum(I64 x) {
  int64_t total = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) total += x[lane];
  return total;
}

}  // namespace srp::cpu::SRP_LEVEL

#if defined(SRP_LEVEL_AVX512)
#include "vector_avx512.h"
#elif defined(SRP_LEVEL_AVX2)
#include "vector_avx2.h"
#elif defined(SRP_LEVEL_NEON)
#include "vector_neon.h"
#elif defined(SRP_LEVEL_SIMD128)
#include "vector_simd128.h"
#else
#include "vector_baseline.h"
#endif

namespace srp::cpu::SRP_LEVEL {

// Bit i: lane i of x is equal to the value.
SRP_INLINE uint32_t lanes_equal(F32 x, float value) { return equal_lanes((I32)(x == splat(value)), splat(-1)); }

#if !defined(SRP_LEVEL_AVX512)
SRP_INLINE float largest(F32 x) {
  float best = x[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) best = x[lane] > best ? x[lane] : best;
  return best;
}
#endif

}  // namespace srp::cpu::SRP_LEVEL

#include "exp2.h"
#if SRP_FIXED_TERMS
#include "exp2_fixed.h"
#else
#include "exp2_terms.h"
#endif
#include "wide.h"
