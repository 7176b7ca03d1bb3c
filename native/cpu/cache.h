// When an output goes past the cache: writing it there would first read what is to be overwritten, and drive out what the
// caller still needs.
#ifndef SURPRISAL_CPU_CACHE_H
#define SURPRISAL_CPU_CACHE_H

#include <stdint.h>

namespace srp::cpu {

// Whether an output of this many bytes, which lies elsewhere than its inputs, is too large to be found in the cache later:
// half of the last-level cache, but no more than 8 MiB: a larger cache is shared by many cores, and the rest is for others.
bool leaves_cache(int64_t bytes);

}  // namespace srp::cpu

#endif
