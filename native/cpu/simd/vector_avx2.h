// AVX2, FMA, F16C: 8 lanes.
namespace srp::cpu::SRP_LEVEL {

constexpr int kTileRows = 4;  // of a product (product.h): three registers each, and the registers of their operands

SRP_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
SRP_INLINE F64 fma(F64 a, F64 b, F64 c) { return _mm256_fmadd_pd(a, b, c); }
SRP_INLINE F64 square_root(F64 x) { return _mm256_sqrt_pd(x); }
SRP_INLINE F32 max(F32 a, F32 b) { return _mm256_max_ps(a, b); }  // b where either is NaN
SRP_INLINE bool any(I32 mask) { return _mm256_movemask_ps((__m256)mask) != 0; }
// Bit i: lane i of the two is equal.
SRP_INLINE uint32_t equal_lanes(I32 a, I32 b) { return static_cast<uint32_t>(_mm256_movemask_ps((__m256)(a == b))); }
SRP_INLINE uint32_t equal_lanes(I64 a, I64 b) { return static_cast<uint32_t>(_mm256_movemask_pd((__m256d)(a == b))); }

SRP_INLINE F64 widen_low(F32 x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
SRP_INLINE F64 widen_high(F32 x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
SRP_INLINE F32 narrow(F64 low, F64 high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
}

SRP_INLINE F32 load(const Half* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
SRP_INLINE void store(Half* p, F32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

SRP_INLINE F64 load_wide(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
SRP_INLINE void store_wide(float* p, F64 x) { _mm_storeu_ps(p, _mm256_cvtpd_ps(x)); }

// The first or last `count` lanes, all of them or none where that is beyond (wide.h).
SRP_INLINE __m128i first_lanes(int64_t count) {
  const int32_t most = static_cast<int32_t>(count > 4 ? 4 : count < 0 ? 0 : count);
  return _mm_cmpgt_epi32(_mm_set1_epi32(most), _mm_setr_epi32(0, 1, 2, 3));
}
SRP_INLINE __m128i last_lanes(int64_t count) { return _mm_xor_si128(first_lanes(4 - count), _mm_set1_epi32(-1)); }
SRP_INLINE F64 load_lanes(const float* p, __m128i lanes) { return _mm256_cvtps_pd(_mm_maskload_ps(p, lanes)); }
SRP_INLINE F64 load_lanes(const double* p, __m128i lanes) {
  return _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(lanes));
}
SRP_INLINE void store_lanes(float* p, F64 x, __m128i lanes) { _mm_maskstore_ps(p, lanes, _mm256_cvtpd_ps(x)); }
SRP_INLINE void store_lanes(double* p, F64 x, __m128i lanes) {
  _mm256_maskstore_pd(p, _mm256_cvtepi32_epi64(lanes), x);
}

// Lane i of x[j] becomes lane j of x[i].
SRP_INLINE void transpose(F64* x) {
  const F64 a = _mm256_unpacklo_pd(x[0], x[1]), b = _mm256_unpackhi_pd(x[0], x[1]);
  const F64 c = _mm256_unpacklo_pd(x[2], x[3]), d = _mm256_unpackhi_pd(x[2], x[3]);
  x[0] = _mm256_permute2f128_pd(a, c, 0x20);
  x[1] = _mm256_permute2f128_pd(b, d, 0x20);
  x[2] = _mm256_permute2f128_pd(a, c, 0x31);
  x[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
// Lane i: the lanes of x[i], added by halves.
SRP_INLINE F64 sum_each(const F64* x) {
  const F64 even = _mm256_permute2f128_pd(x[0], x[2], 0x20) + _mm256_permute2f128_pd(x[0], x[2], 0x31);
  const F64 odd = _mm256_permute2f128_pd(x[1], x[3], 0x20) + _mm256_permute2f128_pd(x[1], x[3], 0x31);
  return _mm256_unpacklo_pd(even, odd) + _mm256_unpackhi_pd(even, odd);
}
// Every bit of lane i where p[i] is not 0.
SRP_INLINE I64 load_mask(const uint8_t* p) {
  int32_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  return (I64)_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(bytes)) != 0;
}
SRP_INLINE I32 load_bytes(const uint8_t* p) {
  return (I32)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
// The low half of each lane.
SRP_INLINE I32 narrow_bits(I64 low, I64 high) {
  const __m256 halves = _mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);
  return (I32)_mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}
// Of lanes that are 0 ... 255.
SRP_INLINE void store_bytes(uint8_t* p, I32 x) {
  const __m128i pairs = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(pairs, pairs));
}
// Lane i of the result is lane i + kBy of x, and lanes of `behind` where x ends.
template <int kBy>
SRP_INLINE F64 shift_lanes(F64 x, F64 behind) {
  const F64 middle = _mm256_permute2f128_pd(x, behind, 0x21);
  return kBy == 2 ? middle : (F64)_mm256_shuffle_pd(x, middle, 5);
}

// Past the cache: p lies on a multiple of the register's size.
constexpr bool kStreams = true;
SRP_INLINE void stream(void* p, F32 x) { _mm256_stream_ps(static_cast<float*>(p), x); }
// The same where p lies on a multiple of 16 only.
SRP_INLINE void stream16(void* p, F32 x) {
  float* const to = static_cast<float*>(p);
  _mm_stream_ps(to, _mm256_castps256_ps128(x));
  _mm_stream_ps(to + 4, _mm256_extractf128_ps(x, 1));
}
SRP_INLINE void finish_streams() { _mm_sfence(); }
SRP_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
SRP_INLINE void prefetch_further(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }

// 2^(j/8) for j in 0..7, less j in the place where `k << 20` adds it again.
struct Exp2Table {
  I32 entries = splat(kExp2Offset << 23) + (I32)_mm256_setr_epi32(0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7,
                                                                  0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7);
};
constexpr float kExp2Steps = 8;
SRP_INLINE F32 exp2_step(const Exp2Table& table, I32 k) {
  return (F32)((U32)_mm256_permutevar8x32_epi32((__m256i)table.entries, (__m256i)k) + ((U32)k << 20));
}
// (2^f - 1) / f over f in [-1/16, 1/16], relative error of 2^f 5.9e-8 at the ends, less than 1.3e-8 elsewhere, and 0 in the mean: with the
// 2.5e-8 of the least largest error, the mean is 1.1e-8, and the log-probs of all rows lean to one side by it
SRP_INLINE F32 exp2_rise(F32 f) { return fma(fma(splat(0.055496223f), f, splat(0.24024905f)), f, splat(0.6931472f)); }

}  // namespace srp::cpu::SRP_LEVEL
