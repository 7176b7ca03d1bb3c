// Statistics of two policies' log-probs and their bounds (contract: surprisal/correction.h). Registers count from the begin of a
// row or chunk, so that results depend neither on where an array lies nor on padding behind the row.
namespace srp::cpu::SRP_LEVEL {

// exp(d) - 1 - d. Within 1 of 0, where the two numbers of size d would cancel, d^2 P(d) with P of degree 13, relative error 3.1e-17;
// in pairs, because a chain of 14 terms would be waited for.
SRP_INLINE F64 exponential_beyond_line(F64 d) {
  const F64 d2 = d * d, d4 = d2 * d2;
  const F64 twelfth = fma(splat(7.746178593018827e-13), d, splat(1.1639194124150522e-11));
  const F64 tenth = fma(splat(1.6057679623801638e-10), d, splat(2.0874435575864273e-09));
  const F64 eighth = fma(splat(2.5052117695907823e-08), d, splat(2.755733506893373e-07));
  const F64 sixth = fma(splat(2.7557319191381816e-06), d, splat(2.4801587246096818e-05));
  const F64 fourth = fma(splat(0.00019841269841324198), d, splat(0.0013888888888981404));
  const F64 second = fma(splat(0.008333333333333299), d, splat(0.04166666666666609));
  const F64 first = fma(splat(0.16666666666666666), d, splat(0.5));
  const F64 high = fma(twelfth, d4, fma(tenth, d2, eighth)),
            low = fma(fma(sixth, d2, fourth), d4, fma(second, d2, first));
  const F64 series = fma(high, d4 * d4, low) * d2;
  const Mask near = less(absolute(d), splat(1.0));
  return any(!near) ? pick(near, series, exponentials<double>(d).less_one - d) : series;
}

// |exp(a) - exp(b)| from the larger of the two.
SRP_INLINE F64 probability_distance(F64 a, F64 b) {
  const F64 top = pick(more(b, a), b, a), apart = absolute(a - b);
  const F64 distance = exponentials<double>(top).exp * -exponentials<double>(-apart).less_one;
  const F64 known = pick(unequal(b, b), b, distance);
  return pick(equal(a, b), F64{}, known);  // both may be -infinity
}

// Of two log-probs, where their difference is not enough.
SRP_INLINE F64 statistic_of_both(int32_t statistic, F64 log_prob, F64 old_log_prob) {
  switch (statistic) {
    case SRP_STATISTIC_DISTANCE:
      return probability_distance(log_prob, old_log_prob);
    case SRP_STATISTIC_CURRENT:
      return exponentials<double>(log_prob).exp;
    case SRP_STATISTIC_OLD:
      return exponentials<double>(old_log_prob).exp;
    default:  // the argument check refuses any other statistic
      return exponentials<double>(log_prob).exp + exponentials<double>(old_log_prob).exp;
  }
}

// Tokens go through their stages a tile at a time, in loops of their own: one over all of it has more constants and sums than there
// are registers.
constexpr int64_t kMismatchTile = 16 * kLanes;
constexpr int64_t kMismatchAhead =
    2 * kMismatchTile;  // elements: so far ahead what is read and written is brought nearer

template <class F>
SRP_INLINE F64 kept_log_prob(const F* log_probs, const uint8_t* mask, int64_t i) {
  const F64 x = load_wide(log_probs + i);
  return mask ? pick(mask_of(mask + i), x, F64{}) : x;
}

SRP_INLINE bool is_of_both(int32_t statistic) {
  return statistic != SRP_STATISTIC_K1 && statistic != SRP_STATISTIC_K2 && statistic != SRP_STATISTIC_K3 &&
         statistic != SRP_STATISTIC_RATIO;
}

template <class F>
SRP_INLINE void statistics_of_both(const MismatchRow<F>& row, int64_t i, int64_t count, double* out, F64* differences) {
  for (int64_t k = 0; k < count; k += kHalf) {
    const F64 x = kept_log_prob(row.log_probs, row.mask, i + k), y = kept_log_prob(row.old_log_probs, row.mask, i + k);
    differences[k / kHalf % 2] += x - y;
    store(out + k, statistic_of_both(row.statistic, x, y));
  }
}

// The differences, clamped, and their sums before that.
template <class F>
static __attribute__((noinline)) void put_differences(const MismatchRow<F>& row, int64_t i, int64_t count, double* out,
                                                      F64* sums) {
  const F *log_probs = row.log_probs + i, *old_log_probs = row.old_log_probs + i;
  const uint8_t* const mask = row.mask ? row.mask + i : nullptr;
  const bool clamps = row.log_clamp != static_cast<double>(INFINITY);
  const F64 low = splat(-row.log_clamp), high = splat(row.log_clamp);
  F64 first = sums[0], second = sums[1];
  const auto difference = [&](int64_t k, F64* sum) {
    F64 d = load_wide(log_probs + k) - load_wide(old_log_probs + k);
    if (mask) d = pick(mask_of(mask + k), d, F64{});
    *sum += d;
    store(out + k, clamps ? smaller(high, larger(low, d)) : d);
  };
  for (int64_t k = 0; k < count; k += kLanes) {
    prefetch(log_probs + k + kMismatchAhead);
    prefetch(old_log_probs + k + kMismatchAhead);
    difference(k, &first);
    difference(k + kHalf, &second);
  }
  sums[0] = first;
  sums[1] = second;
}

// `map` is a lambda that may capture: one that cannot has a form for plain calls as well, outside of the level's target.
template <class Map>
SRP_INLINE void map_tile(double* x, int64_t count, const Map& map) {
  for (int64_t k = 0; k < count; k += kHalf) store(x + k, map(load(x + k)));
}

// Statistics of the tokens [i, i + count), a multiple of kLanes, into `out`; under the mask the log-probs count as 0. Adds up the
// differences.
template <class F>
static __attribute__((noinline)) void put_statistics(const MismatchRow<F>& row, int64_t i, int64_t count, double* out,
                                                     F64* differences) {
  const int32_t statistic = row.statistic;
  if (is_of_both(statistic)) return statistics_of_both(row, i, count, out, differences);
  put_differences(row, i, count, out, differences);
  switch (statistic) {
    case SRP_STATISTIC_K1:
      return map_tile(out, count, [&](F64 x) { return F64{} - x; });
    case SRP_STATISTIC_K2:
      return map_tile(out, count, [&](F64 x) { return x * x * splat(0.5); });
    case SRP_STATISTIC_K3:
      return map_tile(out, count, [&](F64 x) { return exponential_beyond_line(x); });
    default:
      return map_tile(out, count, [&](F64 x) { return exp_wide(x); });
  }
}

// Measures

struct MismatchLanes {
  F64 sum, bounded, low, high;
  I64 above, below;
};

struct MismatchSums {
  MismatchLanes lanes[2] = {};
  F64 differences[2] = {};
  int64_t kept = 0;
};

// Whether one of the bounds can hold a number.
template <class F>
SRP_INLINE bool has_bounds(const MismatchRow<F>& row) {
  return row.low > -static_cast<double>(INFINITY) || row.high < static_cast<double>(INFINITY);
}

// One half of the registers of a tile: kHalf tokens from each of kLanes.
template <bool kBounds, class F>
static __attribute__((noinline)) void measure_halves(const MismatchRow<F>& row, const uint8_t* mask,
                                                     const double* statistic, int64_t count, MismatchLanes* lanes) {
  const F64 low = splat(row.low), high = splat(row.high);
  // Each of its own: a copy of the struct would stay in memory.
  F64 sum = lanes->sum, least = lanes->low, most = lanes->high, bounded = lanes->bounded;
  I64 above = lanes->above, below = lanes->below;
  for (int64_t k = 0; k < count; k += kLanes) {
    const Mask kept = mask ? mask_of(mask + k) : !Mask{};
    const F64 x = load(statistic + k);
    sum += pick(kept, x, F64{});
    least = pick(kept, smaller(x, least), least);
    most = pick(kept, larger(x, most), most);
    if (!kBounds) continue;
    bounded += pick(kept, smaller(high, larger(low, x)), F64{});
    SRP_LEVEL::count(&above, both(kept, !at_most(x, high)));
    SRP_LEVEL::count(&below, both(kept, less(x, low)));
  }
  *lanes = {sum, bounded, least, most, above, below};
}

// [begin, begin + count) of `row`, count a multiple of kLanes; keeps the statistics in `values` where a tile has a kept token.
template <class F>
SRP_INLINE void measure_registers(const MismatchRow<F>& row, bool bounds, int64_t begin, int64_t count, double* values,
                                  MismatchSums* sums) {
  for (int64_t i = 0; i < count; i += kMismatchTile) {
    const int64_t size = count - i < kMismatchTile ? count - i : kMismatchTile;
    const uint8_t* const mask = row.mask ? row.mask + begin + i : nullptr;
    prefetch_mask(mask, size);
    if (mask && none_kept_of(mask, size)) continue;
    double* const x = values + i;
    put_statistics(row, begin + i, size, x, sums->differences);
    sums->kept += mask ? bytes_set(mask, size) : size;
    each_half([&](int64_t h) {
      const int64_t first = h * kHalf;
      const uint8_t* const mask_of_half = mask ? mask + first : nullptr;
      if (bounds)
        measure_halves<true>(row, mask_of_half, x + first, size, &sums->lanes[h]);
      else
        measure_halves<false>(row, mask_of_half, x + first, size, &sums->lanes[h]);
    });
  }
}

// Deviations of a register's values from two means.
struct DeviationLanes {
  F64 sum, squares;
};

SRP_INLINE void add_deviation(Mask kept, F64 x, F64 mean, DeviationLanes* to) {
  const F64 d = pick(kept, x - mean, F64{});
  to->sum += d;
  to->squares = fma(d, d, to->squares);
}

SRP_INLINE ChunkDeviations deviations_of(const DeviationLanes lanes[2]) {
  ChunkDeviations d;
  d.sum = sum(lanes[0].sum + lanes[1].sum);
  d.squares = sum(lanes[0].squares + lanes[1].squares);
  return d;
}

// At most kChunk tokens. Returns false, and no sums, if a sum is not finite.
template <class F>
static bool measure_chunk(const MismatchRow<F>& row, int64_t begin, int64_t end, MismatchChunk* out) {
  alignas(64) double values[kChunk];
  MismatchSums sums;
  MismatchLanes* const lanes = sums.lanes;
  const F64 infinity = splat(static_cast<double>(INFINITY));
  for (int64_t k = 0; k < 2; ++k) {
    lanes[k].low = infinity;
    lanes[k].high = -infinity;
  }
  const bool bounds = has_bounds(row);
  const int64_t count_of = end - begin, whole = count_of / kLanes * kLanes;
  const CutTokens<F> cut(row.log_probs + begin + whole, row.old_log_probs + begin + whole,
                         row.mask ? row.mask + begin + whole : nullptr, count_of - whole);
  measure_registers(row, bounds, begin, whole, values, &sums);
  if (whole < count_of) {
    MismatchRow<F> tokens = row;
    tokens.log_probs = cut.log_probs;
    tokens.old_log_probs = cut.old_log_probs;
    tokens.mask = cut.mask;
    measure_registers(tokens, bounds, 0, kLanes, values + whole, &sums);
  }

  ChunkSums x, bounded;
  x.sum = sum(lanes[0].sum + lanes[1].sum);
  bounded.sum = sum(lanes[0].bounded + lanes[1].bounded);
  if (!(x.sum - x.sum == 0) || !(bounded.sum - bounded.sum == 0)) return false;
  for (int64_t k = 0; k < 2; ++k)
    for (int64_t lane = 0; lane < kHalf; ++lane) {
      x.low = lanes[k].low[lane] < x.low ? lanes[k].low[lane] : x.low;
      x.high = lanes[k].high[lane] > x.high ? lanes[k].high[lane] : x.high;
    }
  x.count = bounded.count = sums.kept;
  bounded.low = x.low < row.low ? row.low : x.low > row.high ? row.high : x.low;
  bounded.high = x.high < row.low ? row.low : x.high > row.high ? row.high : x.high;

  DeviationLanes of_x[2] = {}, of_bounded[2] = {};
  if (x.count > 0) {
    const F64 mean = splat(x.mean()), bounded_mean = splat(bounded.mean());
    const F64 low = splat(row.low), high = splat(row.high);
    for (int64_t i = 0; i < count_of; i += kLanes) {
      const uint8_t* const mask = i < whole ? (row.mask ? row.mask + begin + i : nullptr) : cut.mask;
      if (mask && none_set(mask)) continue;
      for (int64_t k = 0; k < 2; ++k) {
        const Mask kept = mask ? mask_of(mask + k * kHalf) : !Mask{};
        const F64 x = load(values + i + k * kHalf);
        add_deviation(kept, x, mean, &of_x[k]);
        if (bounds) add_deviation(kept, smaller(high, larger(low, x)), bounded_mean, &of_bounded[k]);
      }
    }
  }
  out->x = chunk_moments(x, deviations_of(of_x));
  out->bounded = bounds ? chunk_moments(bounded, deviations_of(of_bounded)) : out->x;
  out->difference = sum(sums.differences[0] + sums.differences[1]);
  out->above = static_cast<int32_t>(sum(lanes[0].above + lanes[1].above));
  out->below = static_cast<int32_t>(sum(lanes[0].below + lanes[1].below));
  return true;
}

// Bounds

// kHalf tokens of statistic x: their weights, and whether they stay.
struct BoundHalf {
  F64 weight;
  Mask stays;
};

struct Bounds {
  F64 low, high, factor, masked;
  bool clamps, silent;  // silent: a factor of 0, whose tokens have no weight and do not stay
};

SRP_INLINE BoundHalf bound_half(const Bounds& b, F64 x, Mask kept) {
  const F64 bounded =
      b.clamps ? smaller(b.high, larger(b.low, x)) : pick(either(less(x, b.low), more(x, b.high)), F64{}, x);
  const F64 weight = b.silent ? pick(equal(bounded, bounded), F64{}, bounded) : b.factor * bounded;
  const Mask inside = both(at_least(x, b.low), at_most(x, b.high));
  return {pick(kept, weight, b.masked), b.silent ? Mask{} : both(kept, inside)};
}

template <class F>
SRP_INLINE void put_bounded(const BoundRow<F>& a, int64_t i, F64 low, F64 high, Mask low_stays, Mask high_stays) {
  put_two(a.weights, i, low, high);
  if (a.kept) store_flags(a.kept + i, low_stays, high_stays);
}

// Of a tile at i. Returns how many tokens are kept.
template <class F>
static __attribute__((noinline)) int64_t bound_tile(const BoundRow<F>& given, int64_t i, int64_t count,
                                                    const double* statistic) {
  const BoundRow<F> a = given;  // what no store can reach stays in registers
  const Bounds b = {splat(a.row.low), splat(a.row.high), splat(a.factor), splat(a.masked), a.clamps, a.factor == 0};
  I64 total = {};
  for (int64_t k = 0; k < count; k += kLanes) {
    if (a.weights) prefetch(a.weights + i + k + kMismatchAhead);
    const uint8_t* const mask = a.row.mask ? a.row.mask + i + k : nullptr;
    const Mask kept_low = mask ? mask_of(mask) : !Mask{}, kept_high = mask ? mask_of(mask + kHalf) : !Mask{};
    const BoundHalf low = bound_half(b, load(statistic + k), kept_low);
    const BoundHalf high = bound_half(b, load(statistic + k + kHalf), kept_high);
    put_bounded(a, i + k, low.weight, high.weight, low.stays, high.stays);
    SRP_LEVEL::count(&total, low.stays);
    SRP_LEVEL::count(&total, high.stays);
  }
  return sum(total);
}

// Whole registers of [begin, end). Returns how many tokens are kept.
template <class F>
static __attribute__((noinline)) int64_t bound_registers(const BoundRow<F>& a, int64_t begin, int64_t end) {
  alignas(64) double statistic[kMismatchTile];
  F64 differences[2] = {};
  int64_t total = 0;
  for (int64_t i = begin; i < end; i += kMismatchTile) {
    const int64_t size = end - i < kMismatchTile ? end - i : kMismatchTile;
    prefetch_mask(a.row.mask ? a.row.mask + i : nullptr, size);
    if (a.row.mask && none_kept_of(a.row.mask + i, size)) {
      const F64 masked = splat(a.masked);
      for (int64_t k = 0; k < size; k += kLanes) put_bounded(a, i + k, masked, masked, Mask{}, Mask{});
      continue;
    }
    put_statistics(a.row, i, size, statistic, differences);
    total += bound_tile(a, i, size, statistic);
  }
  return total;
}

template <class F>
static int32_t bound_row(const BoundRow<F>& given, int64_t begin, int64_t end) {
  const int64_t whole = begin + (end - begin) / kLanes * kLanes;
  int64_t total = bound_registers(given, begin, whole);
  if (whole == end) return static_cast<int32_t>(total);
  BoundRow<F> last = given;
  F weights[kLanes];
  uint8_t kept[kLanes];
  const CutTokens<F> cut(given.row.log_probs + whole, given.row.old_log_probs + whole,
                         given.row.mask ? given.row.mask + whole : nullptr, end - whole);
  last.row.log_probs = cut.log_probs;
  last.row.old_log_probs = cut.old_log_probs;
  last.row.mask = cut.mask;
  last.weights = given.weights ? weights : nullptr;
  last.kept = given.kept ? kept : nullptr;
  total += bound_registers(last, 0, kLanes);
  if (given.weights) copy_out(given.weights + whole, weights, end - whole);
  if (given.kept) copy_out(given.kept + whole, kept, end - whole);
  return static_cast<int32_t>(total);
}

template <class F>
constexpr CorrectionKernels<F> correction_kernels() {
  return {measure_chunk<F>, bound_row<F>};
}

}  // namespace srp::cpu::SRP_LEVEL
