// Two vectors of logits at a time, from any of the three storage types.
//
// bfloat16 is split into its even and its odd elements, which costs one operation a vector instead of two; sums over a row do not
// depend on the order of the elements in a pair.
namespace srp::cpu::SRP_LEVEL {

constexpr int64_t kPair = 2 * kLanes;  // elements

struct Pair {
  F32 a, b;
};

SRP_INLINE Pair load_pair(const float* p) { return {load(p), load(p + kLanes)}; }
SRP_INLINE Pair load_pair(const Half* p) { return {load(p), load(p + kLanes)}; }
SRP_INLINE Pair load_pair(const BFloat16* p) {
  const U32 bits = load_bits(p);
  return {(F32)(bits << 16), (F32)(bits & 0xffff0000u)};
}

// Where element `i` of a pair lies: vector 0 or 1, and its lane.
struct Place {
  int64_t vector, lane;
};
template <class T>
SRP_INLINE Place place(const T*, int64_t i) {
  return {i / kLanes, i % kLanes};
}
SRP_INLINE Place place(const BFloat16*, int64_t i) { return {i % 2, i / 2}; }
// And back.
template <class T>
SRP_INLINE int64_t element(const T*, Place at) {
  return at.vector * kLanes + at.lane;
}
SRP_INLINE int64_t element(const BFloat16*, Place at) { return at.lane * 2 + at.vector; }

// The upper half of the bits, rounded to the nearest, ties to even; NaN stays NaN.
SRP_INLINE U32 rounded_bfloat16(F32 x) {
  const U32 bits = (U32)x, rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return x == x ? rounded : bits | 0x400000u;
}

// How a pair becomes bfloat16, of a NaN whose lower half is not all ones, which one out of arithmetic with bfloat16 never is.
struct InIntegers {
  SRP_INLINE U32 packed(Pair x) {
    const U32 a = (U32)x.a, b = (U32)x.b;
    return ((a + 0x7fffu + ((a >> 16) & 1u)) >> 16) | ((b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u);
  }
};

#if SRP_LEVEL_HAS_BF16
// By an instruction, which takes numbers below 2^-126 for 0.
struct AtOnce {
  SRP_INLINE U32 packed(Pair x) {
    U32 apart;  // the even elements, then the odd ones
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(apart) : "v"(x.a), "v"(x.b));
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return (U32)_mm512_permutexvar_epi16(order, (__m512i)apart);
  }
};
#endif

template <class Rounding>
SRP_INLINE void store_pair(float* p, Pair x) {
  store(p, x.a);
  store(p + kLanes, x.b);
}
template <class Rounding>
SRP_INLINE void store_pair(Half* p, Pair x) {
  store(p, x.a);
  store(p + kLanes, x.b);
}
template <class Rounding>
SRP_INLINE void store_pair(BFloat16* p, Pair x) {
  store_bits(p, Rounding::packed(x));
}

// Past the cache: p lies on a multiple of the register's size.
template <class Rounding>
SRP_INLINE void stream_pair(float* p, Pair x) {
  stream(p, x.a);
  stream(p + kLanes, x.b);
}
template <class Rounding>
SRP_INLINE void stream_pair(Half* p, Pair x) {
  store_pair<Rounding>(p, x);
}  // half a register at a time cannot go past the cache
template <class Rounding>
SRP_INLINE void stream_pair(BFloat16* p, Pair x) {
  stream(p, (F32)Rounding::packed(x));
}

SRP_INLINE float minus_infinity(const float*) { return -INFINITY; }
SRP_INLINE Half minus_infinity(const Half*) { return {0xfc00}; }
SRP_INLINE BFloat16 minus_infinity(const BFloat16*) { return {0xff80}; }

}  // namespace srp::cpu::SRP_LEVEL
