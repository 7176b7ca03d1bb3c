// What a block has of its cluster, by the names of native/cuda/ptx.cuh.
#pragma once
#include "machine.h"

#define SRP_CLUSTERS 1

namespace srp {

inline unsigned cluster_rank() { return emulation::cluster_rank(); }

inline void cluster_sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulation::cluster_barrier({file, line});
}

template <class T>
void store_to_block(T* place, unsigned rank, const T& value, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  static_assert(sizeof(T) % sizeof(uint64_t) == 0 && std::is_trivially_copyable_v<T>, "words of 8 bytes");
  uint64_t words[sizeof(T) / sizeof(uint64_t)];
  memcpy(words, &value, sizeof value);
  for (size_t w = 0; w < sizeof(T) / sizeof(uint64_t); ++w)
    emulation::store_to_block(rank, reinterpret_cast<uint64_t*>(place) + w, words[w], {file, line});
}

}  // namespace srp
