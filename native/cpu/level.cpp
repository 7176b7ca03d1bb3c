#include "level.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace srp::cpu {
namespace {

#if SRP_HAS_LEVELS && defined(__x86_64__)
bool runs_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma");
}

// AVX512_BF16. Not every compiler has a name for it.
bool has_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 5 & 1) != 0;
}
#endif

struct Candidate {
  const char* name;
  const Kernels* kernels;
  bool runs;
};

struct Choice {
  const char* name = "";
  const Kernels* kernels = nullptr;
  char problem[200] = "";
};

Choice choose() {
  const Candidate candidates[] = {
  // best first
#if SRP_HAS_LEVELS && defined(__x86_64__)
      {"avx512bf16", kAvx512Bf16, kAvx512Bf16 && runs_avx512() && has_bf16()},
      {"avx512", kAvx512, runs_avx512()},
      {"avx2", kAvx2,
       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")},
#endif
#if SRP_HAS_LEVELS && defined(__aarch64__)
      {"neon", kNeon, true},
#endif
#if SRP_HAS_LEVELS && defined(__wasm__)
      {"simd128", kSimd128, true},
#elif SRP_HAS_LEVELS
      {"baseline", kBaseline, true},
#endif
      {"portable", nullptr, true},
  };
  const char* const wanted = getenv("SURPRISAL_CPU");
  Choice choice;
  for (const Candidate& candidate : candidates) {
    if (!candidate.runs || (wanted && *wanted && strcmp(wanted, candidate.name) != 0)) continue;
    choice.name = candidate.name;
    choice.kernels = candidate.kernels;
    return choice;
  }
  int used = snprintf(choice.problem, sizeof choice.problem, "SURPRISAL_CPU is \"%.40s\", this machine and build have",
                      wanted);
  for (const Candidate& candidate : candidates)
    if (candidate.runs && used > 0 && static_cast<size_t>(used) < sizeof choice.problem)
      used += snprintf(choice.problem + used, sizeof choice.problem - static_cast<size_t>(used), " %s", candidate.name);
  return choice;
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

}  // namespace

const Kernels* kernels() { return choice().kernels; }
const char* level_name() { return choice().name; }
const char* level_problem() { return choice().problem; }

}  // namespace srp::cpu
