// Level neon: the bodies of native/cpu/simd for AArch64.
#include "level.h"

#if SRP_HAS_LEVELS && defined(__aarch64__)
#include <arm_neon.h>

#define SRP_LEVEL neon
#define SRP_LEVEL_NAME "neon"
#define SRP_LEVEL_NEON
#define SRP_LANES 4

#include "simd/kernels.h"

namespace srp::cpu {
const Kernels* const kNeon = &neon::kKernels;
}
#endif
