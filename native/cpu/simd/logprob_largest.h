// The largest of many logits, and where it lies.
namespace srp::cpu::SRP_LEVEL {

// A pair, and the largest so far of its lanes.
template <class T>
SRP_INLINE Pair note_pair(const T* x, F32* high) {
  const Pair pair = load_pair(x);
  high[0] = max(pair.a, high[0]);
  high[1] = max(pair.b, high[1]);
  return pair;
}

// The largest of them, NaN where one is NaN.
template <class T>
SRP_INLINE float block_max(const T* x, int64_t n) {
  F32 high[2] = {splat(-INFINITY), splat(-INFINITY)}, total[2] = {};
  for (int64_t i = 0; i < n; i += kPair) {
    const Pair pair = note_pair(x + i, high);
    total[0] += pair.a;
    total[1] += pair.b;
  }
  const F32 all = total[0] + total[1];
  // Infinities of both signs have a total of NaN as well.
  for (int64_t i = any(all != all) ? 0 : n; i < n; ++i)
    if (to_float(x[i]) != to_float(x[i])) return NAN;
  return largest(max(high[0], high[1]));
}

// Index of the first element equal to `value`, which is there.
template <class T>
SRP_INLINE int64_t find(const T* x, float value) {
  int64_t i = 0;
  for (;; i += kPair) {
    const Pair pair = load_pair(x + i);
    if (any((pair.a == splat(value)) | (pair.b == splat(value)))) break;
  }
  while (to_float(x[i]) != value) ++i;
  return i;
}

}  // namespace srp::cpu::SRP_LEVEL
