// Levels avx512 and avx512bf16: the bodies of native/cpu/simd compiled for them. The second has what AVX512_BF16 adds.
#include "level.h"

#if SRP_HAS_LEVELS && defined(__x86_64__)
#include <immintrin.h>

#define SRP_LEVEL avx512
#define SRP_LEVEL_NAME "avx512"
#define SRP_LEVEL_AVX512
#define SRP_LANES 16
// Whether the assembler knows AVX512_BF16.
#if defined(__clang__) || __GNUC__ >= 10
#define SRP_LEVEL_HAS_BF16 1
#define SRP_LEVEL_NAME_WITH_BF16 "avx512bf16"
#endif

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 finds its own _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"  // and _mm512_undefined_pd
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2")
#endif

#include "simd/kernels.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace srp::cpu {
const Kernels* const kAvx512 = &avx512::kKernels;
#if SRP_LEVEL_HAS_BF16
const Kernels* const kAvx512Bf16 = &avx512::kKernelsWithBf16;
#else
const Kernels* const kAvx512Bf16 = nullptr;
#endif

}  // namespace srp::cpu
#endif
