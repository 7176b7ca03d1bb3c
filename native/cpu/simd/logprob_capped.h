// The sums of a row of logits with a softcap (contract: surprisal/logprob.h) in float64 and in two passes: the maximum, then the
// others, those in front of it and those behind it.
namespace srp::cpu::SRP_LEVEL {

struct CappedSums {
  F64 rest, weighted, squares;
};

SRP_INLINE void add_capped(const WideMap& map, F64 top, F64 x, CappedSums* sums) {
  const F64 gap = gap_of<true>(map, x, top), e = exp_flushed(gap);
  sums->rest += e;
  sums->weighted += e == F64{} ? F64{} : e * gap;  // a masked id's gap is -infinity
  sums->squares += e * e;
}

template <class T>
SRP_INLINE void add_capped_range(const WideMap& map, F64 top, const T* x, int64_t count, CappedSums* sums) {
  T last[kPair];
  for (int64_t i = 0; i < count; i += kPair) {
    const T* at = x + i;
    if (__builtin_expect(i + kPair > count, 0)) {
      for (int64_t k = 0; k < kPair; ++k) last[k] = i + k < count ? x[i + k] : minus_infinity(x);
      at = last;
    }
    const Pair pair = load_pair(at);
    const F32 registers[2] = {pair.a, pair.b};
    each_half([&](int64_t k) {
      add_capped(map, top, widen_low(registers[k]), sums);
      add_capped(map, top, widen_high(registers[k]), sums);
    });
  }
}

template <class T>
static bool sum_capped_row(const T* x, int64_t V, const LogitMap& map, RowSums* out) {
  const int64_t whole = V / kPair * kPair;
  float max = block_max(x, whole);
  if (max != max) return false;
  int64_t first = -1;  // of the maximum, where it lies behind `whole`
  for (int64_t i = whole; i < V; ++i) {
    const float value = to_float(x[i]);
    if (value <= max) continue;
    if (!(value < INFINITY)) return false;
    max = value;
    first = i;
  }
  if (max == -INFINITY) {
    *out = no_sums(max);
    return true;
  }
  if (!(max < INFINITY)) return false;
  if (first < 0) first = find(x, max);
  const WideMap wide = wide_map(map);
  const F64 top = top_of<true>(wide, splat(static_cast<double>(max)));
  CappedSums sums = {};
  each_half([&](int64_t behind) {
    add_capped_range(wide, top, behind ? x + first + 1 : x, behind ? V - first - 1 : first, &sums);
  });
  *out = {max, sum(sums.rest), sum(sums.weighted), sum(sums.squares)};
  return true;
}

}  // namespace srp::cpu::SRP_LEVEL
