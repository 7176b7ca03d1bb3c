// Sizes of arrays from which the kernels take the ways of large ones. Results do not depend on them.
//
// SURPRISAL_CPU_SIZES=tiny makes them so small that a few hundred numbers take the ways of hundreds of millions: for tests.
#ifndef SURPRISAL_CPU_SIZES_H
#define SURPRISAL_CPU_SIZES_H

#include <stdint.h>

namespace srp::cpu {

struct Sizes {
  // Below this many bytes a call stays on its thread: reading them takes 50 microseconds, about as long as waking another thread
  // (bench/parallel.ts). What computes more than it reads counts as many bytes as could be read in its time.
  int64_t parallel_bytes;
  // Of a piece: large enough to make handing it out cheap, small enough to divide a call.
  int64_t piece_bytes;
  // An output above this is not found in the cache later: half of the last-level cache, but no more than 8 MiB, since many
  // cores share a larger cache.
  int64_t cached_bytes;
  // Whether stores past the cache pay where they go to several arrays by turns. Where not (AMD), they take half as long again (Zen 4)
  // or twice as long (Zen 3) as stores through the cache.
  bool streams_by_turns;
  // Tokens in a piece of what does not depend on rows.
  int64_t piece_tokens;
  // Values in a piece of a long row that is searched by several threads.
  int64_t piece_values;
  // What a row has to have at least to be written past the cache: its end waits for such stores, as long as it takes to read this much.
  int64_t streamed_bytes;
};

const Sizes& sizes();

// Whether an output of this many bytes, which lies elsewhere than its inputs, is written past the cache: writing through it
// would first read the lines that are to be overwritten, and evict what the caller still needs.
inline bool leaves_cache(int64_t bytes) { return bytes > sizes().cached_bytes; }

// The same where an output is written row by row, of which one has so many bytes.
inline bool rows_leave_cache(int64_t bytes, int64_t row_bytes) {
  return leaves_cache(bytes) && row_bytes >= sizes().streamed_bytes;
}

// The same for kernels that fill lines of several outputs by turns.
inline bool leaves_cache_by_turns(int64_t bytes) { return sizes().streams_by_turns && leaves_cache(bytes); }

}  // namespace srp::cpu

#endif
