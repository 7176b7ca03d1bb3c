#include "sizes.h"

#include <stdlib.h>
#include <string.h>

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace srp::cpu {
namespace {

// Neither a multiple of a register's bytes nor of its tokens: pieces begin at odd places.
constexpr Sizes kTiny = {64, 200, 64, true, 20, 24, 0};

int64_t last_level_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (size > 0) return size;
#endif
  return int64_t{32} << 20;
}

bool is_amd() {
#if defined(__GNUC__) && defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

Sizes choose() {
  const char* const wanted = getenv("SURPRISAL_CPU_SIZES");
  if (wanted && strcmp(wanted, "tiny") == 0) return kTiny;
  constexpr int64_t kShare = int64_t{8} << 20;
  const int64_t half = last_level_bytes() / 2;
  return {int64_t{1} << 20, int64_t{1} << 18, half < kShare ? half : kShare, !is_amd(), 4096, int64_t{1} << 16, 8192};
}

}  // namespace

const Sizes& sizes() {
  static const Sizes chosen = choose();
  return chosen;
}

}  // namespace srp::cpu
