// Masks of kHalf doubles: what a comparison returns, and what a selection takes. Comparisons with NaN are false, but for
// `unequal`.
namespace srp::cpu::SRP_LEVEL {

#if defined(SRP_LEVEL_AVX512)

// One bit a lane.
struct Mask {
  __mmask8 bits;
};
SRP_INLINE F64 pick(Mask mask, F64 a, F64 b) { return _mm512_mask_blend_pd(mask.bits, b, a); }
SRP_INLINE bool any(Mask mask) { return mask.bits != 0; }
SRP_INLINE bool any(Mask a, Mask b) { return !_kortestz_mask8_u8(a.bits, b.bits); }
SRP_INLINE Mask both(Mask a, Mask b) { return {_kand_mask8(a.bits, b.bits)}; }
SRP_INLINE Mask either(Mask a, Mask b) { return {_kor_mask8(a.bits, b.bits)}; }
SRP_INLINE Mask operator!(Mask a) { return {_knot_mask8(a.bits)}; }
SRP_INLINE Mask mask_of(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {static_cast<__mmask8>(_mm_test_epi8_mask(bytes, bytes))};
}
// 1 more where the mask is set.
SRP_INLINE void count(I64* totals, Mask mask) {
  *totals = (I64)_mm512_mask_add_epi64((__m512i)*totals, mask.bits, (__m512i)*totals, _mm512_set1_epi64(1));
}
// A byte a lane, 1 where the mask is set.
SRP_INLINE void store_flags(uint8_t* p, Mask low, Mask high) {
  const __mmask16 bits = _mm512_kunpackb(high.bits, low.bits);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_maskz_mov_epi8(bits, _mm_set1_epi8(1)));
}
// The number of bytes that are not 0.
SRP_INLINE int64_t bytes_set(const uint8_t* p, int64_t count) {
  int64_t total = 0;
  for (int64_t k = 0; k < count; k += 64) {
    const uint64_t some = count - k < 64 ? (uint64_t{1} << (count - k)) - 1 : ~uint64_t{0};
    const __m512i bytes = _mm512_maskz_loadu_epi8(some, p + k);
    total += __builtin_popcountll(_mm512_test_epi8_mask(bytes, bytes));
  }
  return total;
}
SRP_INLINE F64 larger(F64 a, F64 b) { return _mm512_max_pd(a, b); }  // b where either is NaN
SRP_INLINE F64 smaller(F64 a, F64 b) { return _mm512_min_pd(a, b); }  // b where either is NaN
SRP_INLINE Mask less(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)}; }
SRP_INLINE Mask at_most(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)}; }
SRP_INLINE Mask not_at_most(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_NLE_UQ)}; }  // true for NaN
SRP_INLINE Mask more(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_GT_OQ)}; }
SRP_INLINE Mask at_least(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_GE_OQ)}; }
SRP_INLINE Mask equal(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)}; }
SRP_INLINE Mask unequal(F64 a, F64 b) { return {_mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ)}; }

#else

// All bits of a lane.
struct Mask {
  I64 bits;
};
SRP_INLINE F64 pick(Mask mask, F64 a, F64 b) { return mask.bits ? a : b; }
SRP_INLINE bool any(Mask mask) { return any((I32)mask.bits); }
SRP_INLINE bool any(Mask a, Mask b) { return any((I32)(a.bits | b.bits)); }
SRP_INLINE Mask both(Mask a, Mask b) { return {a.bits & b.bits}; }
SRP_INLINE Mask either(Mask a, Mask b) { return {a.bits | b.bits}; }
SRP_INLINE Mask operator!(Mask a) { return {~a.bits}; }
SRP_INLINE Mask mask_of(const uint8_t* p) { return {load_mask(p)}; }
SRP_INLINE void count(I64* totals, Mask mask) { *totals -= mask.bits; }
SRP_INLINE void store_flags(uint8_t* p, Mask low, Mask high) { store_bytes(p, narrow_bits(low.bits, high.bits) & 1); }

typedef uint8_t U8 __attribute__((vector_size(4 * SRP_LANES)));
typedef uint8_t U8Memory __attribute__((vector_size(4 * SRP_LANES), aligned(1), may_alias));

SRP_INLINE int64_t sum_of_bytes(U8 bytes) {
  const uint64_t even = 0x00ff00ff00ff00ff;
  const U64 pairs = ((U64)bytes & even) + ((U64)bytes >> 8 & even);
  int64_t total = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) total += static_cast<int64_t>(pairs[lane] * 0x0001000100010001 >> 48);
  return total;
}

SRP_INLINE int64_t bytes_set(const uint8_t* p, int64_t count) {
  constexpr int64_t kBytes = 4 * SRP_LANES, kMost = 255;  // what a lane can count
  int64_t total = 0, i = 0;
  while (i + kBytes <= count) {
    U8 counts = {};
    for (int64_t k = 0; k < kMost && i + kBytes <= count; ++k, i += kBytes)
      counts -= (U8)(*reinterpret_cast<const U8Memory*>(p + i) != 0);
    total += sum_of_bytes(counts);
  }
  for (; i < count; ++i) total += p[i] != 0;
  return total;
}
SRP_INLINE F64 larger(F64 a, F64 b) { return a > b ? a : b; }  // b where either is NaN
SRP_INLINE F64 smaller(F64 a, F64 b) { return a < b ? a : b; }  // b where either is NaN
SRP_INLINE Mask less(F64 a, F64 b) { return {a < b}; }
SRP_INLINE Mask at_most(F64 a, F64 b) { return {a <= b}; }
SRP_INLINE Mask not_at_most(F64 a, F64 b) { return {~(a <= b)}; }  // true for NaN
SRP_INLINE Mask more(F64 a, F64 b) { return {a > b}; }
SRP_INLINE Mask at_least(F64 a, F64 b) { return {a >= b}; }
SRP_INLINE Mask equal(F64 a, F64 b) { return {a == b}; }
SRP_INLINE Mask unequal(F64 a, F64 b) { return {a != b}; }

#endif

// Whether none of kLanes bytes is set.
SRP_INLINE bool none_set(const uint8_t* p) {
  using Word = std::conditional_t<kLanes >= 8, uint64_t, uint32_t>;
  Word all = 0;
  for (int64_t k = 0; k < kLanes; k += int64_t{sizeof(Word)}) {
    Word word;
    memcpy(&word, p + k, sizeof word);
    all |= word;
  }
  return all == 0;
}
// Brings nearer what a mask says of tokens behind these `count`. A branch on it waits for a line in 64 tokens, which comes too late by itself.
constexpr int64_t kMaskAhead = 1024;
SRP_INLINE void prefetch_mask(const uint8_t* mask, int64_t count) {
  if (!mask) return;
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(mask) + kMaskAhead;  // an integer: the mask may end before it
  for (int64_t k = 0; k < count; k += 64) prefetch(reinterpret_cast<const void*>(ahead + static_cast<uintptr_t>(k)));
}
// The same of `count` bytes, a multiple of kLanes.
SRP_INLINE bool none_kept_of(const uint8_t* mask, int64_t count) {
  int64_t k = 0;
  while (k < count && none_set(mask + k)) k += kLanes;
  return k == count;
}

SRP_INLINE F64 absolute(F64 x) { return (F64)((I64)x & INT64_MAX); }

}  // namespace srp::cpu::SRP_LEVEL
