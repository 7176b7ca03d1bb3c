// Level simd128: the bodies of native/cpu/simd for WebAssembly.
#include "level.h"

#if SRP_HAS_LEVELS && defined(__wasm_simd128__)
#include <wasm_simd128.h>

#define SRP_LEVEL simd128
#define SRP_LEVEL_NAME "simd128"
#define SRP_LEVEL_SIMD128
#define SRP_LANES 4

#include "simd/kernels.h"

namespace srp::cpu {
const Kernels* const kSimd128 = &simd128::kKernels;
}
#endif
