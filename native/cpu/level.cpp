#include "level.h"

#include <stdio.h>
#include <stdlib.h>

namespace srp::cpu {
namespace {

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
      {"avx512", kAvx512,
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
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
