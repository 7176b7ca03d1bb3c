#include "cache.h"

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace srp::cpu {

static int64_t last_level_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (size > 0) return size;
#endif
  return int64_t{32} << 20;
}

bool leaves_cache(int64_t bytes) {
  constexpr int64_t kShare = int64_t{8} << 20;
  static const int64_t half = last_level_bytes() / 2;
  return bytes > (half < kShare ? half : kShare);
}

}  // namespace srp::cpu
