// AArch64 Advanced SIMD: 4 lanes.
namespace srp::cpu::SRP_LEVEL {

SRP_INLINE F32 fma(F32 a, F32 b, F32 c) { return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
SRP_INLINE F64 fma(F64 a, F64 b, F64 c) { return (F64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
SRP_INLINE F32 max(F32 a, F32 b) { return a > b ? a : b; }  // b where either is NaN; vmaxq would spread the NaN
SRP_INLINE bool any(I32 mask) { return vmaxvq_u32((uint32x4_t)mask) != 0; }

SRP_INLINE F64 widen_low(F32 x) { return (F64)vcvt_f64_f32(vget_low_f32((float32x4_t)x)); }
SRP_INLINE F64 widen_high(F32 x) { return (F64)vcvt_high_f64_f32((float32x4_t)x); }
SRP_INLINE F32 narrow(F64 low, F64 high) {
  return (F32)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)low), (float64x2_t)high);
}

SRP_INLINE void stream(void* p, F32 x) { store(static_cast<float*>(p), x); }
SRP_INLINE void finish_streams() {}
SRP_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace srp::cpu::SRP_LEVEL

#include "exp2_whole.h"
#include "half_lanes.h"
