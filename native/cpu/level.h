// Instruction-set levels of the CPU backend: which this build has, which this machine runs, which one is used.
//
//   portable   one element at a time in float64: the reference, and the only level for an unknown compiler or processor
//   baseline   16-byte vectors, which every x86-64 has      avx2, avx512, avx512bf16   x86-64      neon   AArch64
//   simd128    WebAssembly
//
// The best level is chosen once, at the first call; SURPRISAL_CPU names another. Results repeat bit for bit on one level.
#ifndef SURPRISAL_CPU_LEVEL_H
#define SURPRISAL_CPU_LEVEL_H

#include "kernels.h"

// -DSRP_HAS_LEVELS=0 builds the level "portable" alone.
#ifndef SRP_HAS_LEVELS
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__) || defined(__wasm_simd128__))
#define SRP_HAS_LEVELS 1
#else
#define SRP_HAS_LEVELS 0
#endif
#endif

namespace srp::cpu {

#if SRP_HAS_LEVELS
#if defined(__wasm__)
extern const Kernels* const kSimd128;
#else
extern const Kernels* const kBaseline;
#endif
#if defined(__x86_64__)
extern const Kernels* const kAvx2;
extern const Kernels* const kAvx512;
extern const Kernels* const kAvx512Bf16;  // NULL where the compiler is too old for it
#elif defined(__aarch64__)
extern const Kernels* const kNeon;
#endif
#endif

// The kernels in use; NULL on the level "portable".
const Kernels* kernels();

// Name of the level in use. Empty if SURPRISAL_CPU names a level that does not run here; `problem` then has the message.
const char* level_name();
const char* level_problem();

}  // namespace srp::cpu

#endif
