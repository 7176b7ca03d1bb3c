// The gradient of a row of logits, a pure stream (contract: surprisal/logprob.h): for the columns that are no target
//
//   t = x_j - M,  dL/dx_j = 2^(rate t) (a + b t),  rate = log2(e) scale / temperature
//
// with the row's exp(-log1p_sum) in a and b. t + mean gap is formed in the coefficients' units, never log p + H, whose parts
// cancel in a flat row. With a softcap by the formula, in float64.
namespace srp::cpu::SRP_LEVEL {

struct GradientMap {
  F32 max, low, rate;
  F32 a, b;
  Exp2Table table;
};

SRP_INLINE F32 gradient(const GradientMap& map, F32 x) {
  const F32 t = max(map.low, x - map.max);
  const F32 e = exp2_product(map.table, t, map.rate);
  return fma(e, fma(map.b, t, map.a), F32{});  // + 0: a masked logit's gradient is 0, never -0
}

struct CappedGradientMap {
  WideMap wide;
  F64 top, log1p_sum, mean_gap, sum, of_entropy;
};

SRP_INLINE F64 gradient(const CappedGradientMap& map, F64 x) {
  const F64 gap = gap_of<true>(map.wide, x, map.top), p = exp_flushed(gap - map.log1p_sum);
  const F64 dz = p * (F64{} - map.sum - map.of_entropy * (gap + map.mean_gap));
  return p == F64{} ? F64{} : dz * derivative_of<true>(map.wide, x);
}
// By a call: with four of them in every loop it would be long.
static __attribute__((noinline)) F32 gradient(const CappedGradientMap& map, F32 x) {
  return narrow(gradient(map, widen_low(x)), gradient(map, widen_high(x)));
}

template <class Map, class T>
SRP_INLINE Pair gradient_pair(const Map& map, const T* x) {
  const Pair pair = load_pair(x);
  return {gradient(map, pair.a), gradient(map, pair.b)};
}

// Fewer elements than a pair, through memory of a pair's size.
template <class Rounding, class Map, class T>
SRP_INLINE void gradient_some(const Map& map, const T* x, T* grad, int64_t count) {
  T buffer[kPair];
  for (int64_t i = 0; i < kPair; ++i) buffer[i] = i < count ? x[i] : minus_infinity(x);
  store_pair<Rounding>(buffer, gradient_pair(map, buffer));
  memcpy(grad, buffer, sizeof(T) * static_cast<size_t>(count));
}

// From column i on, as far as whole rounds go: the first column that is left.
template <bool kPastCache, class Rounding, class Map, class T>
SRP_INLINE int64_t gradient_stream(const Map& map, const T* x, T* grad, int64_t i, int64_t V) {
  for (; i + 2 * kPair <= V; i += 2 * kPair) {
    for (int64_t byte = 0; byte < 2 * kPair * int64_t{sizeof(T)}; byte += 64)
      prefetch_further(reinterpret_cast<const char*>(x + i) + kPrefetchBytes + byte);
    const Pair first = gradient_pair(map, x + i), second = gradient_pair(map, x + i + kPair);
    if (kPastCache) {
      stream_pair<Rounding>(grad + i, first);
      stream_pair<Rounding>(grad + i + kPair, second);
    } else {
      store_pair<Rounding>(grad + i, first);
      store_pair<Rounding>(grad + i + kPair, second);
    }
  }
  return i;
}

template <class Rounding, class Map, class T>
SRP_INLINE void gradient_columns_of(const Map& map, const T* x, T* grad, int64_t V, bool past_cache) {
  int64_t i = 0;
  if (kStreams && past_cache) {
    constexpr int64_t kRegister = kLanes * 4;
    const int64_t off = static_cast<int64_t>(reinterpret_cast<uintptr_t>(grad) % kRegister);
    i = off == 0 ? 0 : (kRegister - off) / int64_t{sizeof(T)};
    if (i > V) i = V;
    for (int64_t done = 0; done < i; done += kPair)
      gradient_some<Rounding>(map, x + done, grad + done, i - done < kPair ? i - done : kPair);
    i = gradient_stream<true, Rounding>(map, x, grad, i, V);
    finish_streams();
  }
  i = gradient_stream<false, Rounding>(map, x, grad, i, V);
  for (; i < V; i += kPair) gradient_some<Rounding>(map, x + i, grad + i, V - i < kPair ? V - i : kPair);
}

// grad may be x. `past_cache`: grad is not read again soon and lies elsewhere than x.
template <class Rounding, class T>
static void gradient_row(const T* x, T* grad, int64_t V, const LogprobGradient& given, bool past_cache) {
  LogprobGradient g = given;
  if (g.log1p_sum != g.log1p_sum) g.log1p_sum = NAN;  // a caller's may have other bits, which packed() does not take
  if (g.map.capped()) {
    const WideMap wide = wide_map(g.map);
    const F64 top = top_of<true>(wide, splat(static_cast<double>(g.max_logit)));
    const CappedGradientMap map = {
        wide, top, splat(g.log1p_sum), splat(g.mean_gap), splat(g.sum), splat(g.entropy_grad)};
    return gradient_columns_of<Rounding>(map, x, grad, V, past_cache);
  }
  const double slope = g.map.slope;
  const float rate = static_cast<float>(slope * kLog2E);
  const double scale = slope * ::exp(-g.log1p_sum) / (int64_t{1} << kExp2Offset);
  const GradientMap map = {splat(g.max_logit),
                           splat(kExp2Low / rate),
                           splat(rate),
                           splat(static_cast<float>((0 - g.sum - g.entropy_grad * g.mean_gap) * scale)),
                           splat(static_cast<float>((0 - g.entropy_grad * slope) * scale)),
                           {}};
  gradient_columns_of<Rounding>(map, x, grad, V, past_cache);
}

}  // namespace srp::cpu::SRP_LEVEL
