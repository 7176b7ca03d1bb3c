// The map from logits to z (shared/logprob.h) of kHalf float64 at once.
namespace srp::cpu::SRP_LEVEL {

struct WideMap {
  F64 slope, rate, height;
};
SRP_INLINE WideMap wide_map(const LogitMap& map) { return {splat(map.slope), splat(map.rate), splat(map.height)}; }

// The value of a maximum from which gaps are taken.
template <bool kCapped>
SRP_INLINE F64 top_of(const WideMap& map, F64 max) {
  return kCapped ? tanh_wide(map.rate * max).value : max;
}

// z(x) - z(max)
template <bool kCapped>
SRP_INLINE F64 gap_of(const WideMap& map, F64 x, F64 top) {
  if (!kCapped) return (x - top) * map.slope;
  const F64 low = splat(static_cast<double>(-INFINITY));
  return x == low ? low : map.height * (tanh_wide(map.rate * x).value - top);
}

// dz/dx
template <bool kCapped>
SRP_INLINE F64 derivative_of(const WideMap& map, F64 x) {
  return kCapped ? map.slope * tanh_wide(map.rate * x).slope : map.slope;
}

}  // namespace srp::cpu::SRP_LEVEL
