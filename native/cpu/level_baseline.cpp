// Level baseline: the bodies of native/cpu/simd in 16-byte vectors, with nothing beyond what the compiler's default target has.
#include "level.h"

#if SRP_HAS_LEVELS && !defined(__wasm__)
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SRP_LEVEL baseline
#define SRP_LEVEL_NAME "baseline"
#define SRP_LANES 4

#include "simd/kernels.h"

namespace srp::cpu {
const Kernels* const kBaseline = &baseline::kKernels;
}
#endif
