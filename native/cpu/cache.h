// When an output is written past the cache: writing through the cache would first read the lines that are to be overwritten,
// and evict what the caller still needs.
#ifndef SURPRISAL_CPU_CACHE_H
#define SURPRISAL_CPU_CACHE_H

#include <stdint.h>

namespace srp::cpu {

// Whether an output of this many bytes, which lies elsewhere than its inputs, is too large to be found in the cache later:
// half of the last-level cache, but no more than 8 MiB, since many cores share a larger cache.
bool leaves_cache(int64_t bytes);

}  // namespace srp::cpu

#endif
