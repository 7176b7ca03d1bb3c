// The gradient of a row of logits, a pure stream (contract: surprisal/logprob.h): for the columns that are no target
//
//   t = x_j - M,  dL/dx_j = 2^(rate t) (a + b t),  rate = log2(e) scale / temperature
//
// with the row's exp(-log1p_sum) in a and b. t + mean gap is formed in the coefficients' units, never log p + H, whose parts
// cancel in a flat row. With a softcap by the formula, in float64.
namespace srp::cpu::SRP_LEVEL {

// Without an entropy's gradient b is 0.
template <bool kEntropy>
struct GradientMap {
  F32 max, low, rate;
  F32 a, b;
  Exp2Table table;
};

struct BegunGradient {
  F32 t;
  BegunExp2 power;
};

template <bool kEntropy>
SRP_INLINE BegunGradient begin_gradient(const GradientMap<kEntropy>& map, F32 x) {
  const F32 t = max(map.low, x - map.max);
  return {t, begin_exp2(t, map.rate)};
}

template <bool kEntropy>
SRP_INLINE F32 end_gradient(const GradientMap<kEntropy>& map, const BegunGradient& begun) {
  const F32 e = end_exp2(map.table, begun.power), slope = kEntropy ? fma(map.b, begun.t, map.a) : map.a;
  return fma(e, slope, F32{});  // + 0: a masked logit's gradient is 0, never -0
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
SRP_INLINE F32 begin_gradient(const CappedGradientMap&, F32 x) { return x; }
// By a call: with four of them in every loop it would be long.
static __attribute__((noinline)) F32 end_gradient(const CappedGradientMap& map, F32 x) {
  return narrow(gradient(map, widen_low(x)), gradient(map, widen_high(x)));
}

template <class Map, class T>
SRP_INLINE Pair gradient_pair(const Map& map, const T* x) {
  const Pair pair = load_pair(x);
  return {end_gradient(map, begin_gradient(map, pair.a)), end_gradient(map, begin_gradient(map, pair.b))};
}

template <class Map>
struct BegunPair {
  decltype(begin_gradient(std::declval<const Map&>(), F32{})) a, b;
};

template <class Map, class T>
SRP_INLINE BegunPair<Map> begin_pair(const Map& map, const T* x) {
  const Pair pair = load_pair(x);
  return {begin_gradient(map, pair.a), begin_gradient(map, pair.b)};
}

// Fewer elements than a pair, through memory of a pair's size.
template <class Rounding, class Map, class T>
SRP_INLINE void gradient_some(const Map& map, const T* x, T* grad, int64_t count) {
  T buffer[kPair];
  for (int64_t i = 0; i < kPair; ++i) buffer[i] = i < count ? x[i] : minus_infinity(x);
  store_pair<Rounding>(buffer, gradient_pair(map, buffer));
  memcpy(grad, buffer, sizeof(T) * static_cast<size_t>(count));
}

template <bool kPastCache, class Rounding, class T>
SRP_INLINE void put_pair(T* grad, Pair values) {
  if (kPastCache)
    stream_pair<Rounding>(grad, values);
  else
    store_pair<Rounding>(grad, values);
}

constexpr int64_t kRound = 2 * kPair;

template <class T>
SRP_INLINE void prefetch_round(const T* x) {
  for (int64_t byte = 0; byte < kRound * int64_t{sizeof(T)}; byte += 64)
    prefetch_further(reinterpret_cast<const char*>(x) + kPrefetchBytes + byte);
}

// From column i on, as far as whole rounds go: the first column that is left.
template <bool kPastCache, class Rounding, class Map, class T>
SRP_INLINE int64_t gradient_stream(const Map& map, const T* x, T* grad, int64_t i, int64_t V) {
  if constexpr (kBeginsAhead<T>) {
    if (i + kRound > V) return i;
    BegunPair<Map> ahead = begin_pair(map, x + i);
    const auto put = [&](int64_t at, bool last) {
      const BegunPair<Map> begun = ahead;
      if (!last) ahead = begin_pair(map, x + at + kPair);
      put_pair<kPastCache, Rounding>(grad + at, {end_gradient(map, begun.a), end_gradient(map, begun.b)});
    };
    for (; i + kRound <= V; i += kRound) {
      prefetch_round(x + i);
      put(i, false);
      put(i + kPair, i + 2 * kRound > V);
    }
    return i;
  }
  for (; i + kRound <= V; i += kRound) {
    prefetch_round(x + i);
    const Pair first = gradient_pair(map, x + i), second = gradient_pair(map, x + i + kPair);
    put_pair<kPastCache, Rounding>(grad + i, first);
    put_pair<kPastCache, Rounding>(grad + i + kPair, second);
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
  const F32 top = splat(g.max_logit), low = splat(kExp2Low / rate),
            a = splat(static_cast<float>((0 - g.sum - g.entropy_grad * g.mean_gap) * scale)),
            b = splat(static_cast<float>((0 - g.entropy_grad * slope) * scale));
  if (kBeginsAhead<T> && g.entropy_grad == 0)
    return gradient_columns_of<Rounding>(GradientMap<false>{top, low, splat(rate), a, b, {}}, x, grad, V, past_cache);
  gradient_columns_of<Rounding>(GradientMap<true>{top, low, splat(rate), a, b, {}}, x, grad, V, past_cache);
}

}  // namespace srp::cpu::SRP_LEVEL
