// Integer atomics. There are none on floating-point numbers: the order of the additions would decide the sum, and every
// result of this project repeats bit for bit. Relaxed, as on the device; __threadfence() orders.
#pragma once
#include "machine.h"

#define SRP_ATOMICS(T)                                                                                       \
  inline T atomicAdd(T* address, T value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }   \
  inline T atomicOr(T* address, T value) { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); }     \
  inline T atomicExch(T* address, T value) { return __atomic_exchange_n(address, value, __ATOMIC_RELAXED); } \
  inline T atomicCAS(T* address, T expected, T desired) {                                                    \
    __atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);     \
    return expected; /* what was found there, stored or not */                                               \
  }                                                                                                          \
  inline T atomicMin(T* address, T value) {                                                                  \
    T found = __atomic_load_n(address, __ATOMIC_RELAXED);                                                    \
    while (value < found &&                                                                                  \
           !__atomic_compare_exchange_n(address, &found, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));  \
    return found;                                                                                            \
  }                                                                                                          \
  inline T atomicMax(T* address, T value) {                                                                  \
    T found = __atomic_load_n(address, __ATOMIC_RELAXED);                                                    \
    while (value > found &&                                                                                  \
           !__atomic_compare_exchange_n(address, &found, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));  \
    return found;                                                                                            \
  }
SRP_ATOMICS(int)
SRP_ATOMICS(unsigned)
SRP_ATOMICS(unsigned long long)
#undef SRP_ATOMICS

// Deleted, so that a float sum does not quietly convert to an integer one.
float atomicAdd(float*, float) = delete;
double atomicAdd(double*, double) = delete;

inline void __threadfence() { srp::emulation::memory_fence(); }
inline void __threadfence_block() { srp::emulation::memory_fence(); }

namespace srp {

inline void raise_flag(uint32_t* flag) {
  emulation::memory_fence();
  __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
}

inline void await_flag(const uint32_t* flag) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) continue;
  emulation::memory_fence();
}

}  // namespace srp
