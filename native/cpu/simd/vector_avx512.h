// AVX-512 F, BW, DQ, VL: 16 lanes.
namespace srp::cpu::SRP_LEVEL {

constexpr int kTileRows = 8;  // of a product (product.h): three registers each, and the registers of their operands

SRP_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
SRP_INLINE F64 fma(F64 a, F64 b, F64 c) { return _mm512_fmadd_pd(a, b, c); }
SRP_INLINE F64 square_root(F64 x) { return _mm512_sqrt_pd(x); }
SRP_INLINE F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }  // b where either is NaN
SRP_INLINE float largest(F32 x) { return _mm512_reduce_max_ps(x); }
SRP_INLINE bool any(I32 mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }
// Bit i: lane i of the two is equal.
SRP_INLINE uint32_t equal_lanes(I32 a, I32 b) { return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b); }
SRP_INLINE uint32_t equal_lanes(I64 a, I64 b) { return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b); }

SRP_INLINE F64 widen_low(F32 x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
SRP_INLINE F64 widen_high(F32 x) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
SRP_INLINE F32 narrow(F64 low, F64 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

SRP_INLINE F32 load(const Half* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
SRP_INLINE void store(Half* p, F32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

SRP_INLINE F64 load_wide(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
SRP_INLINE void store_wide(float* p, F64 x) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(x)); }

// The first or last `count` lanes, all of them or none where that is beyond (wide.h).
SRP_INLINE __mmask8 first_lanes(int64_t count) {
  return static_cast<__mmask8>(count >= 8 ? 0xff : count <= 0 ? 0 : (1 << count) - 1);
}
SRP_INLINE __mmask8 last_lanes(int64_t count) { return static_cast<__mmask8>(~first_lanes(8 - count)); }
SRP_INLINE F64 load_lanes(const float* p, __mmask8 lanes) { return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, p)); }
SRP_INLINE F64 load_lanes(const double* p, __mmask8 lanes) { return _mm512_maskz_loadu_pd(lanes, p); }
SRP_INLINE void store_lanes(float* p, F64 x, __mmask8 lanes) { _mm256_mask_storeu_ps(p, lanes, _mm512_cvtpd_ps(x)); }
SRP_INLINE void store_lanes(double* p, F64 x, __mmask8 lanes) { _mm512_mask_storeu_pd(p, lanes, x); }

// Lane i of x[j] becomes lane j of x[i].
SRP_INLINE void transpose(F64* x) {
  F64 pairs[2][4], halves[2][4];
  for (int64_t j = 0; j < 4; ++j) {
    pairs[0][j] = _mm512_unpacklo_pd(x[2 * j], x[2 * j + 1]);
    pairs[1][j] = _mm512_unpackhi_pd(x[2 * j], x[2 * j + 1]);
  }
  for (int64_t odd = 0; odd < 2; ++odd) {
    halves[odd][0] = _mm512_shuffle_f64x2(pairs[odd][0], pairs[odd][1], 0x44);
    halves[odd][1] = _mm512_shuffle_f64x2(pairs[odd][2], pairs[odd][3], 0x44);
    halves[odd][2] = _mm512_shuffle_f64x2(pairs[odd][0], pairs[odd][1], 0xee);
    halves[odd][3] = _mm512_shuffle_f64x2(pairs[odd][2], pairs[odd][3], 0xee);
    for (int64_t k = 0; k < 2; ++k) {
      x[4 * k + odd] = _mm512_shuffle_f64x2(halves[odd][2 * k], halves[odd][2 * k + 1], 0x88);
      x[4 * k + 2 + odd] = _mm512_shuffle_f64x2(halves[odd][2 * k], halves[odd][2 * k + 1], 0xdd);
    }
  }
}
// Lane i: the lanes of x[i], added by halves.
SRP_INLINE F64 sum_each(const F64* x) {
  F64 four[4], two[2];  // lanes that are left of a row, several rows in a register
  for (int64_t j = 0; j < 4; ++j) {
    const F64 a = x[j / 2 * 4 + j % 2], b = x[j / 2 * 4 + j % 2 + 2];
    four[j] = _mm512_shuffle_f64x2(a, b, 0x44) + _mm512_shuffle_f64x2(a, b, 0xee);
  }
  for (int64_t odd = 0; odd < 2; ++odd)
    two[odd] =
        _mm512_shuffle_f64x2(four[odd], four[odd + 2], 0x88) + _mm512_shuffle_f64x2(four[odd], four[odd + 2], 0xdd);
  return _mm512_unpacklo_pd(two[0], two[1]) + _mm512_unpackhi_pd(two[0], two[1]);
}
// Every bit of lane i where p[i] is not 0.
SRP_INLINE I64 load_mask(const uint8_t* p) {
  return (I64)_mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))) != 0;
}
SRP_INLINE I32 load_bytes(const uint8_t* p) {
  return (I32)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
// Of lanes that are 0 ... 255.
SRP_INLINE void store_bytes(uint8_t* p, I32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8((__m512i)x));
}
// Lane i of the result is lane i + kBy of x, and lanes of `behind` where x ends.
template <int kBy>
SRP_INLINE F64 shift_lanes(F64 x, F64 behind) {
  return (F64)_mm512_alignr_epi64((__m512i)behind, (__m512i)x, kBy);
}

// Past the cache: p lies on a multiple of the register's size.
constexpr bool kStreams = true;
SRP_INLINE void stream(void* p, F32 x) { _mm512_stream_ps(static_cast<float*>(p), x); }
// The same where p lies on a multiple of 16 only.
SRP_INLINE void stream16(void* p, F32 x) {
  float* const to = static_cast<float*>(p);
  _mm_stream_ps(to, _mm512_castps512_ps128(x));
  _mm_stream_ps(to + 4, _mm512_extractf32x4_ps(x, 1));
  _mm_stream_ps(to + 8, _mm512_extractf32x4_ps(x, 2));
  _mm_stream_ps(to + 12, _mm512_extractf32x4_ps(x, 3));
}
SRP_INLINE void finish_streams() { _mm_sfence(); }
SRP_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
SRP_INLINE void prefetch_further(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }

// 2^(j/32) for j in 0..31, less j in the place where `k << 18` adds it again.
struct Exp2Table {
  I32 low = splat(kExp2Offset << 23) + (I32)_mm512_setr_epi32(0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f,
                                                              0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
                                                              0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043,
                                                              0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6);
  I32 high = splat(kExp2Offset << 23) + (I32)_mm512_setr_epi32(0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d,
                                                               0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
                                                               0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907,
                                                               0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3);
};
constexpr float kExp2Steps = 32;
SRP_INLINE F32 exp2_step(const Exp2Table& table, I32 k) {
  const __m512i step = _mm512_permutex2var_epi32((__m512i)table.low, (__m512i)k, (__m512i)table.high);
  return (F32)((U32)step + ((U32)k << 18));
}
// (2^f - 1) / f over f in [-1/64, 1/64], relative error of 2^f 5.3e-8 at most and 5e-11 in the mean, so that the log-probs of all rows do
// not lean to one side
SRP_INLINE F32 exp2_rise(F32 f) { return fma(splat(0.2402299f), f, splat(0.6931574f)); }

}  // namespace srp::cpu::SRP_LEVEL
