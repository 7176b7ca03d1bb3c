// kLanes logits of any type as float64 in their order, and float64 rounded once to any type.
namespace srp::cpu::SRP_LEVEL {

struct WidePair {
  F64 low, high;
};

typedef uint16_t U16 __attribute__((vector_size(2 * SRP_LANES)));
typedef uint16_t U16Memory __attribute__((vector_size(2 * SRP_LANES), aligned(1), may_alias));

SRP_INLINE F32 load(const BFloat16* p) {
  return (F32)(__builtin_convertvector(*reinterpret_cast<const U16Memory*>(p), U32) << 16);
}

template <class T>
SRP_INLINE WidePair load_wide_pair(const T* p) {
  const F32 x = load(p);
  return {widen_low(x), widen_high(x)};
}
SRP_INLINE WidePair load_wide_pair(const double* p) { return {load(p), load(p + kHalf)}; }

// x cut to the bits that a float32 holds, the last one set where anything was cut off: the next rounding sees all of x.
SRP_INLINE F64 rounded_to_odd(F64 x) {
  constexpr int64_t kCut = (int64_t{1} << 29) - 1;
  const I64 bits = (I64)x, odd = (bits & kCut) != 0;
  return x == x ? (F64)((bits & ~kCut) | (odd & (kCut + 1))) : x;
}

SRP_INLINE void store_rounded(double* p, WidePair x) {
  store(p, x.low);
  store(p + kHalf, x.high);
}
SRP_INLINE void store_rounded(float* p, WidePair x) { store(p, narrow(x.low, x.high)); }
SRP_INLINE void store_rounded(Half* p, WidePair x) { store(p, narrow(rounded_to_odd(x.low), rounded_to_odd(x.high))); }
SRP_INLINE void store_rounded(BFloat16* p, WidePair x) {
  const U32 bits = rounded_bfloat16(narrow(rounded_to_odd(x.low), rounded_to_odd(x.high)));
  *reinterpret_cast<U16Memory*>(p) = __builtin_convertvector(bits >> 16, U16);
}

SRP_INLINE double minus_infinity(const double*) { return -INFINITY; }

}  // namespace srp::cpu::SRP_LEVEL
