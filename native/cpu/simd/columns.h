// Baselines of columns (contract: surprisal/group.h): what the rows of a group have in a tile of columns, a row at a time, so that memory is
// read along rows. Whole registers; each function returns how many columns it did, and the caller does the rest.
namespace srp::cpu::SRP_LEVEL {

template <bool kMasked>
SRP_INLINE Mask kept_columns(const uint8_t* mask, int64_t t) {
  return kMasked ? mask_of(mask + t) : Mask{};
}

template <bool kMasked, class F>
SRP_INLINE void add_row(const F* values, const F* weights, const uint8_t* mask, int64_t ahead, int64_t count,
                        ColumnTile* tile) {
  const F64 one = splat(1.0), two = splat(2.0);
  for (int64_t t = 0; t < count; t += kHalf) {
    prefetch(values + t + ahead);
    prefetch(weights + t + ahead);
    const Mask kept = kept_columns<kMasked>(mask, t);
    const F64 x = load_wide(values + t), w = load_wide(weights + t), state = load(tile->state + t);
    F64 first = pick(equal(state, F64{}), x, load(tile->first + t));
    F64 product = w * x, weight = w, next = pick(unequal(x, first), two, larger(state, one));
    if (kMasked) {
      first = pick(kept, first, load(tile->first + t));
      product = pick(kept, product, F64{});
      weight = pick(kept, weight, F64{});
      next = pick(kept, next, state);
    }
    store(tile->first + t, first);
    store(tile->state + t, next);
    store(tile->sum + t, load(tile->sum + t) + product);
    store(tile->weight + t, load(tile->weight + t) + weight);
  }
}

template <class F>
static int64_t add_columns(const F* values, const F* weights, const uint8_t* mask, int64_t ahead, int64_t count,
                           ColumnTile* tile) {
  const int64_t whole = count - count % kHalf;
  if (mask)
    add_row<true>(values, weights, mask, ahead, whole, tile);
  else
    add_row<false>(values, weights, mask, ahead, whole, tile);
  return whole;
}

static int64_t settle_columns(ColumnTile* tile, double epsilon, int64_t count) {
  const int64_t whole = count - count % kHalf;
  for (int64_t t = 0; t < whole; t += kHalf) {
    const F64 weight = load(tile->weight + t), divisor = weight + splat(epsilon);
    const F64 mean = pick(equal(divisor, F64{}), F64{}, load(tile->sum + t) / divisor);
    const Mask constant = both(less(load(tile->state + t), splat(2.0)), more(weight, F64{}));
    store(tile->baseline + t, pick(constant, load(tile->first + t), mean));
  }
  return whole;
}

template <bool kMasked, class F>
SRP_INLINE void write_row(const F* values, const uint8_t* mask, const double* baseline, int64_t ahead, int64_t count,
                          F* baselines, F* centred) {
  for (int64_t t = 0; t < count; t += kHalf) {
    if (baselines) prefetch(baselines + t + ahead);
    if (centred) prefetch(centred + t + ahead);
    const Mask kept = kept_columns<kMasked>(mask, t);
    const F64 level = load(baseline + t);
    if (baselines) store_wide(baselines + t, kMasked ? pick(kept, level, F64{}) : level);
    if (!centred) continue;
    const F64 rest = load_wide(values + t) - level;
    store_wide(centred + t, kMasked ? pick(kept, rest, F64{}) : rest);
  }
}

template <class F>
static int64_t write_columns(const F* values, const uint8_t* mask, const double* baseline, int64_t ahead, int64_t count,
                             F* baselines, F* centred) {
  const int64_t whole = count - count % kHalf;
  if (mask)
    write_row<true>(values, mask, baseline, ahead, whole, baselines, centred);
  else
    write_row<false>(values, mask, baseline, ahead, whole, baselines, centred);
  return whole;
}

template <class F>
constexpr ColumnKernels<F> column_kernels() {
  return {add_columns<F>, settle_columns, write_columns<F>};
}

}  // namespace srp::cpu::SRP_LEVEL
