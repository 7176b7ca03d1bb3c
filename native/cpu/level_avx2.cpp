// Level avx2: the bodies of native/cpu/simd compiled for it.
#include "level.h"

#if SRP_HAS_LEVELS && defined(__x86_64__)
#include <immintrin.h>

#define SRP_LEVEL avx2
#define SRP_LEVEL_NAME "avx2"
#define SRP_LEVEL_AVX2
#define SRP_LANES 8

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2")
#endif

#include "simd/kernels.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace srp::cpu {
const Kernels* const kAvx2 = &avx2::kKernels;
}
#endif
