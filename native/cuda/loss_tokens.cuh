// The inputs of a lane's tokens, read ahead: the numbers of several tokens are loaded before the first is used. The compiler cannot
// do that by itself, since a store follows every token in the code of the losses (shared/loss.h). They wait in shared memory,
// where only the lane that loaded them reads them.
#pragma once
#include "row_strips.cuh"
#include "shared/loss.h"

namespace srp::cuda {

template <class F>
class LossTokens {
 public:
  static constexpr int kAhead = sizeof(F) == 4 ? 4 : 2;  // tokens of a lane: 16 bytes of an array
  static constexpr int kTokens = kAhead * kWarp;
  static constexpr int kNumbers = 5, kFlags = 3;  // arrays
  static constexpr int kWarpBytes = kTokens * (kNumbers * static_cast<int>(sizeof(F)) + kFlags);
  static constexpr int kBlockBytes = kRowWarps * kWarpBytes;

  // `memory`: of the block.
  __device__ LossTokens(const LossArgs& whole, unsigned char* memory)
      : whole_(whole), memory_(memory + threadIdx.x / kWarp * kWarpBytes) {}

  // visit(args, i, o) for the lane's tokens of the strip [begin, end): element i of the inputs of args is token o.
  template <class Visit>
  __device__ __forceinline__ void each(int64_t begin, int64_t end, const Visit& visit) const {
    for (int64_t first = begin; first < end; first += kTokens) {
      LossArgs few = whole_;
      read(few, first, end);
      SRP_KEEP_ROLLED  // the visit is long: side by side the tokens' numbers would not fit the registers
          for (int k = 0; k < kAhead; ++k) {
        const int i = k * kWarp + static_cast<int>(threadIdx.x % kWarp);
        if (first + i < end) visit(few, i, first + i);
      }
    }
  }

 private:
  __device__ __forceinline__ void read(LossArgs& few, int64_t first, int64_t end) const {
    const void* const arrays[kNumbers] = {few.log_probs, few.old_log_probs_per_row ? nullptr : few.old_log_probs,
                                          few.advantages_per_token ? few.advantages : nullptr,
                                          few.factors_per_token ? few.factors : nullptr, few.reference_log_probs};
    const uint8_t* const masks[kFlags] = {few.mask, few.term_mask, few.marks};
    F numbers[kNumbers][kAhead];
    uint8_t flags[kFlags][kAhead];
    SRP_UNROLL
    for (int a = 0; a < kFlags; ++a) fetch(flags[a], masks[a], first, end);
    SRP_UNROLL
    for (int a = 0; a < kNumbers; ++a) fetch(numbers[a], static_cast<const F*>(arrays[a]), first, end);

    F* const real = reinterpret_cast<F*>(memory_);
    uint8_t* const byte = memory_ + kNumbers * kTokens * static_cast<int>(sizeof(F));
    SRP_UNROLL
    for (int a = 0; a < kNumbers; ++a)
      if (arrays[a]) keep(real + a * kTokens, numbers[a]);
    SRP_UNROLL
    for (int a = 0; a < kFlags; ++a)
      if (masks[a]) keep(byte + a * kTokens, flags[a]);
    few.log_probs = real;
    if (arrays[1]) few.old_log_probs = real + kTokens;
    if (arrays[2]) few.advantages = real + 2 * kTokens;
    if (arrays[3]) few.factors = real + 3 * kTokens;
    if (few.reference_log_probs) few.reference_log_probs = real + 4 * kTokens;
    if (few.mask) few.mask = byte;
    if (few.term_mask) few.term_mask = byte + kTokens;
    if (few.marks) few.marks = byte + 2 * kTokens;
  }

  template <class T>
  static __device__ __forceinline__ void fetch(T (&to)[kAhead], const T* from, int64_t first, int64_t end) {
    SRP_UNROLL
    for (int k = 0; k < kAhead; ++k) to[k] = T{0};
    if (!from) return;
    SRP_UNROLL
    for (int k = 0; k < kAhead; ++k) {
      const int64_t i = lane_token(first, k);
      if (i < end) to[k] = from[i];
    }
  }

  template <class T>
  static __device__ __forceinline__ void keep(T* to, const T (&from)[kAhead]) {
    SRP_UNROLL
    for (int k = 0; k < kAhead; ++k) to[k * kWarp + threadIdx.x % kWarp] = from[k];
  }

  const LossArgs& whole_;
  unsigned char* const memory_;
};

}  // namespace srp::cuda
