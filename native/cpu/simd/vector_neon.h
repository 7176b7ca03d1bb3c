// AArch64 Advanced SIMD: 4 lanes.
namespace srp::cpu::SRP_LEVEL {

constexpr int kTileRows = 8;  // of a product (product.h): three registers each, and the registers of their operands

SRP_INLINE F32 fma(F32 a, F32 b, F32 c) { return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
SRP_INLINE F64 fma(F64 a, F64 b, F64 c) { return (F64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
SRP_INLINE F64 square_root(F64 x) { return (F64)vsqrtq_f64((float64x2_t)x); }
SRP_INLINE F32 max(F32 a, F32 b) { return a > b ? a : b; }  // b where either is NaN; vmaxq would spread the NaN
SRP_INLINE bool any(I32 mask) { return vmaxvq_u32((uint32x4_t)mask) != 0; }
// Bit i: lane i of the two is equal.
SRP_INLINE uint32_t equal_lanes(I32 a, I32 b) { return vaddvq_u32((uint32x4_t)((U32)(a == b) & U32{1, 2, 4, 8})); }
SRP_INLINE uint32_t equal_lanes(I64 a, I64 b) { return (a[0] == b[0] ? 1u : 0u) | (a[1] == b[1] ? 2u : 0u); }

SRP_INLINE F64 widen_low(F32 x) { return (F64)vcvt_f64_f32(vget_low_f32((float32x4_t)x)); }
SRP_INLINE F64 widen_high(F32 x) { return (F64)vcvt_high_f64_f32((float32x4_t)x); }
SRP_INLINE F32 narrow(F64 low, F64 high) {
  return (F32)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)low), (float64x2_t)high);
}

SRP_INLINE F64 load_wide(const float* p) { return F64{p[0], p[1]}; }
// Every bit of lane i where p[i] is not 0.
SRP_INLINE I64 load_mask(const uint8_t* p) { return I64{p[0], p[1]} != 0; }
SRP_INLINE I32 load_bytes(const uint8_t* p) { return I32{p[0], p[1], p[2], p[3]}; }
// The low half of each lane.
SRP_INLINE I32 narrow_bits(I64 low, I64 high) { return (I32)vuzp1q_s32((int32x4_t)low, (int32x4_t)high); }
// Of lanes that are 0 ... 255.
SRP_INLINE void store_bytes(uint8_t* p, I32 x) {
  for (int64_t lane = 0; lane < kLanes; ++lane) p[lane] = static_cast<uint8_t>(x[lane]);
}
// Lane i of the result is lane i + kBy of x, and lanes of `behind` where x ends.
template <int kBy>
SRP_INLINE F64 shift_lanes(F64 x, F64 behind) {
  return F64{x[1], behind[0]};
}

constexpr bool kStreams = false;
SRP_INLINE void stream(void* p, F32 x) { store(static_cast<float*>(p), x); }
SRP_INLINE void finish_streams() {}
SRP_INLINE void stream16(void* p, F32 x) { stream(p, x); }
SRP_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }
SRP_INLINE void prefetch_further(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace srp::cpu::SRP_LEVEL

#include "exp2_whole.h"
#include "half_lanes.h"
#include "two_lanes.h"
