// When an output goes past the cache: writing it there would first read what is to be overwritten, and drive out what the
// caller still needs.
#ifndef SURPRISAL_CPU_CACHE_H
#define SURPRISAL_CPU_CACHE_H

#include <stdint.h>

namespace srp::cpu {

// Whether an output of this many bytes, which lies elsewhere than its inputs, is too large to be found in the cache later:
// half of the last-level cache, 16 MiB where the system does not say how large that is.
bool leaves_cache(int64_t bytes);

}  // namespace srp::cpu

#endif
