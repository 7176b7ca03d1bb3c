// Barriers and warp intrinsics by their CUDA names. The default arguments record the caller's file and line, which the
// machine's reports name. __activemask() is left out on purpose: its result depends on how the hardware schedules.
#pragma once
#include "machine.h"

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  srp::emulation::block_barrier({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  srp::emulation::warp_call({srp::emulation::WarpOp::sync, mask, 0, 0, warpSize, {file, line}});
}

unsigned __activemask() = delete;

namespace srp::emulation {

// Shuffles move up to eight bytes as bits: double, int64_t and small structs travel unchanged.
template <class T>
T shuffle(WarpOp op, unsigned mask, T value, int operand, int width, Site site) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes");
  static_assert(std::is_trivially_copyable<T>::value, "a shuffle moves plain bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = warp_call({op, mask, bits, operand, width, site});
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned ballot(unsigned mask, bool predicate, Site site) {
  return static_cast<unsigned>(warp_call({WarpOp::ballot, mask, predicate, 0, warpSize, site}));
}

inline unsigned reduce(WarpOp op, unsigned mask, unsigned value, Site site) {
  return static_cast<unsigned>(warp_call({op, mask, value, 0, warpSize, site}));
}

// Flipping the sign bit makes unsigned order agree with signed order.
inline int reduce_signed(WarpOp op, unsigned mask, int value, Site site) {
  constexpr unsigned kSign = 0x80000000u;
  return static_cast<int>(reduce(op, mask, static_cast<unsigned>(value) ^ kSign, site) ^ kSign);
}

}  // namespace srp::emulation

#define SRP_SHUFFLE(name, op, Operand)                                                                        \
  template <class T>                                                                                          \
  T name(unsigned mask, T value, Operand operand, int width = warpSize, const char* file = __builtin_FILE(),  \
         int line = __builtin_LINE()) {                                                                       \
    return srp::emulation::shuffle(srp::emulation::WarpOp::op, mask, value, static_cast<int>(operand), width, \
                                   {file, line});                                                             \
  }
SRP_SHUFFLE(__shfl_sync, shfl, int)
SRP_SHUFFLE(__shfl_up_sync, shfl_up, unsigned)
SRP_SHUFFLE(__shfl_down_sync, shfl_down, unsigned)
SRP_SHUFFLE(__shfl_xor_sync, shfl_xor, int)
#undef SRP_SHUFFLE

inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  return srp::emulation::ballot(mask, predicate != 0, {file, line});
}

inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return srp::emulation::ballot(mask, predicate != 0, {file, line}) != 0;
}

inline int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return srp::emulation::ballot(mask, predicate == 0, {file, line}) == 0;
}

#define SRP_REDUCE(name, op)                                                               \
  inline unsigned name(unsigned mask, unsigned value, const char* file = __builtin_FILE(), \
                       int line = __builtin_LINE()) {                                      \
    return srp::emulation::reduce(srp::emulation::WarpOp::op, mask, value, {file, line});  \
  }
SRP_REDUCE(__reduce_add_sync, reduce_add)
SRP_REDUCE(__reduce_min_sync, reduce_min)
SRP_REDUCE(__reduce_max_sync, reduce_max)
SRP_REDUCE(__reduce_and_sync, reduce_and)
SRP_REDUCE(__reduce_or_sync, reduce_or)
SRP_REDUCE(__reduce_xor_sync, reduce_xor)
#undef SRP_REDUCE

inline int __reduce_add_sync(unsigned mask, int value, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  return static_cast<int>(
      srp::emulation::reduce(srp::emulation::WarpOp::reduce_add, mask, static_cast<unsigned>(value), {file, line}));
}
inline int __reduce_min_sync(unsigned mask, int value, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  return srp::emulation::reduce_signed(srp::emulation::WarpOp::reduce_min, mask, value, {file, line});
}
inline int __reduce_max_sync(unsigned mask, int value, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  return srp::emulation::reduce_signed(srp::emulation::WarpOp::reduce_max, mask, value, {file, line});
}
