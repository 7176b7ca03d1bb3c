// SSE2, which every x86-64 has, and elsewhere the compiler's own 16-byte vectors: 4 lanes, no fused multiply-add.
namespace srp::cpu::SRP_LEVEL {

constexpr int kTileRows = 4;  // of a product (product.h): three registers each, and the registers of their operands

SRP_INLINE F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }  // two roundings
SRP_INLINE F64 fma(F64 a, F64 b, F64 c) { return a * b + c; }
SRP_INLINE F64 square_root(F64 x) { return F64{sqrt(x[0]), sqrt(x[1])}; }
SRP_INLINE bool any(I32 mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }

SRP_INLINE F64 widen_low(F32 x) { return F64{x[0], x[1]}; }
SRP_INLINE F64 widen_high(F32 x) { return F64{x[2], x[3]}; }
SRP_INLINE F32 narrow(F64 low, F64 high) {
  return F32{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
             static_cast<float>(high[1])};
}

SRP_INLINE F64 load_wide(const float* p) { return F64{p[0], p[1]}; }
// Every bit of lane i where p[i] is not 0.
SRP_INLINE I64 load_mask(const uint8_t* p) { return I64{p[0], p[1]} != 0; }
SRP_INLINE I32 load_bytes(const uint8_t* p) { return I32{p[0], p[1], p[2], p[3]}; }
// The low half of each lane.
SRP_INLINE I32 narrow_bits(I64 low, I64 high) {
  return I32{static_cast<int32_t>(low[0]), static_cast<int32_t>(low[1]), static_cast<int32_t>(high[0]),
             static_cast<int32_t>(high[1])};
}
// Of lanes that are 0 ... 255.
SRP_INLINE void store_bytes(uint8_t* p, I32 x) {
  for (int64_t lane = 0; lane < kLanes; ++lane) p[lane] = static_cast<uint8_t>(x[lane]);
}
// Lane i of the result is lane i + kBy of x, and lanes of `behind` where x ends.
template <int kBy>
SRP_INLINE F64 shift_lanes(F64 x, F64 behind) {
  return F64{x[1], behind[0]};
}

// equal_lanes: bit i where lane i of the two is equal.
#if defined(__SSE2__)
SRP_INLINE uint32_t equal_lanes(I32 a, I32 b) { return static_cast<uint32_t>(_mm_movemask_ps((__m128)(a == b))); }
SRP_INLINE uint32_t equal_lanes(I64 a, I64 b) { return static_cast<uint32_t>(_mm_movemask_pd((__m128d)(a == b))); }
SRP_INLINE F32 max(F32 a, F32 b) { return _mm_max_ps(a, b); }  // b where either is NaN
SRP_INLINE I32 rounded(F32 x) { return (I32)_mm_cvtps_epi32(x); }  // to the nearest integer, ties to even
constexpr bool kStreams = true;
SRP_INLINE void stream(void* p, F32 x) { _mm_stream_ps(static_cast<float*>(p), x); }
SRP_INLINE void finish_streams() { _mm_sfence(); }
#else
SRP_INLINE uint32_t equal_lanes(I32 a, I32 b) {
  const U32 bits = (U32)(a == b) & U32{1, 2, 4, 8};
  return bits[0] | bits[1] | bits[2] | bits[3];
}
SRP_INLINE uint32_t equal_lanes(I64 a, I64 b) { return (a[0] == b[0] ? 1u : 0u) | (a[1] == b[1] ? 2u : 0u); }
SRP_INLINE F32 max(F32 a, F32 b) { return a > b ? a : b; }
constexpr bool kStreams = false;
SRP_INLINE void stream(void* p, F32 x) { store(static_cast<float*>(p), x); }
SRP_INLINE void finish_streams() {}
#endif
SRP_INLINE void stream16(void* p, F32 x) { stream(p, x); }
SRP_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }
SRP_INLINE void prefetch_further(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace srp::cpu::SRP_LEVEL

#include "exp2_whole.h"
#include "half_lanes.h"
#include "two_lanes.h"
