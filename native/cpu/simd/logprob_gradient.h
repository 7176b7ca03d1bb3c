// The gradient of a row of logits, a pure stream (contract: surprisal/logprob.h): for the columns that are no target
//
//   t = x_j - M,  dL/dx_j = 2^(rate t) (a + b t),  rate = log2(e) scale / temperature
//
// with the row's exp(-log1p_sum) in a and b. t + mean gap is formed in the coefficients' units, never log p + H, whose parts
// cancel in a flat row.
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

template <class T>
SRP_INLINE Pair gradient_pair(const GradientMap& map, const T* x) {
  const Pair pair = load_pair(x);
  return {gradient(map, pair.a), gradient(map, pair.b)};
}

// Fewer elements than a pair, through memory of a pair's size.
template <class T>
SRP_INLINE void gradient_some(const GradientMap& map, const T* x, T* grad, int64_t count) {
  T buffer[kPair];
  for (int64_t i = 0; i < kPair; ++i) buffer[i] = i < count ? x[i] : minus_infinity(x);
  store_pair(buffer, gradient_pair(map, buffer));
  memcpy(grad, buffer, sizeof(T) * static_cast<size_t>(count));
}

// From column i on, as far as whole rounds go: the first column that is left.
template <bool kPastCache, class T>
SRP_INLINE int64_t gradient_stream(const GradientMap& map, const T* x, T* grad, int64_t i, int64_t V) {
  for (; i + 2 * kPair <= V; i += 2 * kPair) {
    for (int64_t byte = 0; byte < 2 * kPair * int64_t{sizeof(T)}; byte += 64)
      prefetch(reinterpret_cast<const char*>(x + i) + kPrefetchBytes + byte);
    const Pair first = gradient_pair(map, x + i), second = gradient_pair(map, x + i + kPair);
    if (kPastCache) {
      stream_pair(grad + i, first);
      stream_pair(grad + i + kPair, second);
    } else {
      store_pair(grad + i, first);
      store_pair(grad + i + kPair, second);
    }
  }
  return i;
}

// grad may be x. `past_cache`: grad is not read again soon and lies elsewhere than x.
template <class T>
static void gradient_row(const T* x, T* grad, int64_t V, const LogprobGradient& g, bool past_cache) {
  const float rate = static_cast<float>(g.slope * kLog2E);
  const double scale = g.slope * ::exp(-g.log1p_sum) / (int64_t{1} << kExp2Offset);
  const GradientMap map = {splat(g.max_logit),
                           splat(kExp2Low / rate),
                           splat(rate),
                           splat(static_cast<float>((0 - g.sum - g.entropy_grad * g.mean_gap) * scale)),
                           splat(static_cast<float>((0 - g.entropy_grad * g.slope) * scale)),
                           {}};
  int64_t i = 0;
  if (past_cache) {
    constexpr int64_t kRegister = kLanes * 4;
    const int64_t off = static_cast<int64_t>(reinterpret_cast<uintptr_t>(grad) % kRegister);
    i = off == 0 ? 0 : (kRegister - off) / int64_t{sizeof(T)};
    if (i > V) i = V;
    for (int64_t done = 0; done < i; done += kPair)
      gradient_some(map, x + done, grad + done, i - done < kPair ? i - done : kPair);
    i = gradient_stream<true>(map, x, grad, i, V);
    finish_streams();
  }
  i = gradient_stream<false>(map, x, grad, i, V);
  for (; i < V; i += kPair) gradient_some(map, x + i, grad + i, V - i < kPair ? V - i : kPair);
}

}  // namespace srp::cpu::SRP_LEVEL
