#include "surprisal/cpu.h"

// Without a branch: a compiler makes vectors of that.
int32_t srp_cpu_spacing(const int32_t* offsets, int64_t count) {
  const uint32_t first = count > 0 ? static_cast<uint32_t>(offsets[1]) : 0;
  uint32_t uneven = 0;
  int32_t down = 0;
  for (int64_t i = 0; i < count; ++i) {
    uneven |= (static_cast<uint32_t>(offsets[i + 1]) - static_cast<uint32_t>(offsets[i])) ^ first;
    down |= offsets[i + 1] < offsets[i];
  }
  if (down) return SRP_DOWN;
  return uneven ? SRP_UNEVEN : static_cast<int32_t>(first);
}
