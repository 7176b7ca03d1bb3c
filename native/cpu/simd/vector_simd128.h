// WebAssembly's 16-byte vectors: 4 lanes, no fused multiply-add. Rounds as the level baseline does on x86-64.
namespace srp::cpu::SRP_LEVEL {

constexpr int kTileRows = 4;  // of a product (product.h): three registers each, and what it takes to feed them

SRP_INLINE F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }  // two roundings
SRP_INLINE F64 fma(F64 a, F64 b, F64 c) { return a * b + c; }
SRP_INLINE F64 square_root(F64 x) { return (F64)wasm_f64x2_sqrt((v128_t)x); }
SRP_INLINE F32 max(F32 a, F32 b) { return (F32)wasm_f32x4_pmax((v128_t)b, (v128_t)a); }  // b where either is NaN
SRP_INLINE bool any(I32 mask) { return wasm_v128_any_true((v128_t)mask); }
// Bit i: lane i of the two is equal.
SRP_INLINE uint32_t equal_lanes(I32 a, I32 b) { return wasm_i32x4_bitmask((v128_t)(a == b)); }
SRP_INLINE uint32_t equal_lanes(I64 a, I64 b) { return wasm_i64x2_bitmask((v128_t)(a == b)); }

// To the nearest integer, ties to even. NaN gives 0.
SRP_INLINE I32 rounded(F32 x) { return (I32)wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest((v128_t)x)); }
SRP_INLINE F64 widen_low(F32 x) { return (F64)wasm_f64x2_promote_low_f32x4((v128_t)x); }
SRP_INLINE F64 widen_high(F32 x) {
  return (F64)wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle((v128_t)x, (v128_t)x, 1, 1));
}
SRP_INLINE F32 narrow(F64 low, F64 high) {
  return (F32)wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero((v128_t)low), wasm_f32x4_demote_f64x2_zero((v128_t)high),
                                 0, 2);
}

SRP_INLINE F64 load_wide(const float* p) { return (F64)wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(p)); }
// Every bit of lane i where p[i] is not 0.
SRP_INLINE I64 load_mask(const uint8_t* p) { return I64{p[0], p[1]} != 0; }
SRP_INLINE I32 load_bytes(const uint8_t* p) {
  return (I32)wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p)));
}
// The low half of each lane.
SRP_INLINE I32 narrow_bits(I64 low, I64 high) { return (I32)wasm_i32x4_shuffle((v128_t)low, (v128_t)high, 0, 2, 4, 6); }
// Of lanes that are 0 ... 255.
SRP_INLINE void store_bytes(uint8_t* p, I32 x) {
  const v128_t pairs = wasm_u16x8_narrow_i32x4((v128_t)x, (v128_t)x);
  wasm_v128_store32_lane(p, wasm_u8x16_narrow_i16x8(pairs, pairs), 0);
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
SRP_INLINE void prefetch(const void*) {}
SRP_INLINE void prefetch_further(const void*) {}

}  // namespace srp::cpu::SRP_LEVEL

#include "exp2_whole.h"
#include "half_lanes.h"
#include "two_lanes.h"
