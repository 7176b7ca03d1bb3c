// One span of modulated advantages (contract: surprisal/modulate.h). A token's result depends on nothing but itself, so what
// is left at the end is done one by one, with the same three roundings.
namespace srp::cpu::SRP_LEVEL {

template <class F>
static void modulate_span(const SpanMap<F>& a, int64_t begin, int64_t end) {
  const F64 scale = splat(a.scale), bonus = splat(a.bonus), shift = splat(a.shift);
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    F64 y[2];
    for (int64_t k = 0; k < 2; ++k) {
      const F64 modulated = load_wide(a.values + i + k * kHalf) * scale + bonus, shifted = modulated - shift;
      y[k] = a.mask ? (load_mask(a.mask + i + k * kHalf) ? shifted : modulated) : shifted;
    }
    put_wide<false>(a.out + i, y[0], y[1]);
  }
  for (; i < end; ++i) {
    const double y = static_cast<double>(a.values[i]) * a.scale + a.bonus;
    a.out[i] = static_cast<F>(!a.mask || a.mask[i] ? y - a.shift : y);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
