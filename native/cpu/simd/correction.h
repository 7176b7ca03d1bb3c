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
  return any(!near) ? pick(near, series, exponentials(d).less_one - d) : series;
}

// |exp(a) - exp(b)| from the larger of the two.
SRP_INLINE F64 probability_distance(F64 a, F64 b) {
  const F64 top = pick(more(b, a), b, a), apart = absolute(a - b);
  const F64 distance = exponentials(top).exp * -exponentials(-apart).less_one;
  const F64 known = pick(unequal(b, b), b, distance);
  return pick(equal(a, b), F64{}, known);  // both may be -infinity
}

SRP_INLINE F64 statistic_lanes(int32_t statistic, double log_clamp, F64 log_prob, F64 old_log_prob) {
  const Lanes clamped = clamp(Lanes(log_prob - old_log_prob), Lanes(-log_clamp), Lanes(log_clamp));
  const F64 d = clamped.x;
  switch (statistic) {
    case SRP_STATISTIC_K1:
      return F64{} - d;
    case SRP_STATISTIC_K2:
      return d * d * splat(0.5);
    case SRP_STATISTIC_K3:
      return exponential_beyond_line(d);
    case SRP_STATISTIC_RATIO:
      return exponentials(d).exp;
    case SRP_STATISTIC_DISTANCE:
      return probability_distance(log_prob, old_log_prob);
    case SRP_STATISTIC_CURRENT:
      return exponentials(log_prob).exp;
    case SRP_STATISTIC_OLD:
      return exponentials(old_log_prob).exp;
    default:  // the argument check refuses any other statistic
      return exponentials(log_prob).exp + exponentials(old_log_prob).exp;
  }
}

// kHalf tokens; under the mask the log-probs count as 0.
struct MismatchHalf {
  F64 x, difference;
  Mask kept;
};

template <class F>
SRP_INLINE MismatchHalf mismatch_half(const MismatchRow<F>& row, int64_t i) {
  const Mask kept = row.mask ? mask_of(row.mask + i) : !Mask{};
  const F64 log_prob = pick(kept, load_wide(row.log_probs + i), F64{});
  const F64 old_log_prob = pick(kept, load_wide(row.old_log_probs + i), F64{});
  return {statistic_lanes(row.statistic, row.log_clamp, log_prob, old_log_prob), log_prob - old_log_prob, kept};
}

// Measures

struct MismatchLanes {
  F64 sum, bounded, difference, low, high;
  I64 kept, above, below;
};

// Whether one of the bounds can hold a number.
template <class F>
SRP_INLINE bool has_bounds(const MismatchRow<F>& row) {
  return row.low > -static_cast<double>(INFINITY) || row.high < static_cast<double>(INFINITY);
}

template <class F>
SRP_INLINE void measure_register(const MismatchRow<F>& row, bool bounds, int64_t i, double* values,
                                 MismatchLanes* lanes) {
  const F64 low = splat(row.low), high = splat(row.high);
  for (int64_t k = 0; k < 2; ++k) {
    MismatchLanes& s = lanes[k];
    const MismatchHalf half = mismatch_half(row, i + k * kHalf);
    const F64 x = pick(half.kept, half.x, F64{});
    store(values + k * kHalf, x);
    s.sum += x;
    s.difference += half.difference;
    s.low = pick(both(half.kept, less(x, s.low)), x, s.low);
    s.high = pick(both(half.kept, more(x, s.high)), x, s.high);
    count(&s.kept, half.kept);
    if (!bounds) continue;
    s.bounded += pick(half.kept, clamp(Lanes(x), Lanes(low), Lanes(high)).x, F64{});
    count(&s.above, both(half.kept, !at_most(x, high)));
    count(&s.below, both(half.kept, less(x, low)));
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
  double values[kChunk];
  MismatchLanes lanes[2] = {};
  const F64 infinity = splat(static_cast<double>(INFINITY));
  for (int64_t k = 0; k < 2; ++k) {
    lanes[k].low = infinity;
    lanes[k].high = -infinity;
  }
  const bool bounds = has_bounds(row);
  const int64_t count_of = end - begin, whole = count_of / kLanes * kLanes;
  const CutTokens<F> cut(row.log_probs + begin + whole, row.old_log_probs + begin + whole,
                         row.mask ? row.mask + begin + whole : nullptr, count_of - whole);
  MismatchRow<F> tokens = row;
  for (int64_t i = 0, at = begin; i < count_of; i += kLanes, at += kLanes) {
    if (i == whole) {
      tokens.log_probs = cut.log_probs;
      tokens.old_log_probs = cut.old_log_probs;
      tokens.mask = cut.mask;
      at = 0;
    }
    if (!tokens.mask || !none_set(tokens.mask + at)) measure_register(tokens, bounds, at, values + i, lanes);
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
  x.count = bounded.count = sum(lanes[0].kept + lanes[1].kept);
  bounded.low = x.low < row.low ? row.low : x.low > row.high ? row.high : x.low;
  bounded.high = x.high < row.low ? row.low : x.high > row.high ? row.high : x.high;

  DeviationLanes of_x[2] = {}, of_bounded[2] = {};
  if (x.count > 0) {
    const F64 mean = splat(x.mean()), bounded_mean = splat(bounded.mean());
    const Lanes low(row.low), high(row.high);
    for (int64_t i = 0; i < count_of; i += kLanes) {
      const uint8_t* const mask = i < whole ? (row.mask ? row.mask + begin + i : nullptr) : cut.mask;
      if (mask && none_set(mask)) continue;
      for (int64_t k = 0; k < 2; ++k) {
        const Mask kept = mask ? mask_of(mask + k * kHalf) : !Mask{};
        const Lanes v(load(values + i + k * kHalf));
        add_deviation(kept, v.x, mean, &of_x[k]);
        if (bounds) add_deviation(kept, clamp(v, low, high).x, bounded_mean, &of_bounded[k]);
      }
    }
  }
  out->x = chunk_moments(x, deviations_of(of_x));
  out->bounded = bounds ? chunk_moments(bounded, deviations_of(of_bounded)) : out->x;
  out->difference = sum(lanes[0].difference + lanes[1].difference);
  out->above = static_cast<int32_t>(sum(lanes[0].above + lanes[1].above));
  out->below = static_cast<int32_t>(sum(lanes[0].below + lanes[1].below));
  return true;
}

// Bounds

template <class F>
SRP_INLINE void put_bounded(const BoundRow<F>& a, int64_t i, bool past_cache, const F64* weights, const Mask* stay) {
  if (a.weights) put_wide(a.weights + i, weights[0], weights[1], past_cache);
  if (a.kept) store_flags(a.kept + i, stay[0], stay[1]);
}

// Whole registers of [begin, end). Returns how many tokens are kept.
template <class F>
static __attribute__((noinline)) int64_t bound_registers(const BoundRow<F>& given, int64_t begin, int64_t end,
                                                         bool past_cache) {
  const BoundRow<F> a = given;  // what no store can reach stays in registers
  const F64 low = splat(a.row.low), high = splat(a.row.high), factor = splat(a.factor), masked = splat(a.masked);
  const F64 infinite = splat(static_cast<double>(INFINITY));
  I64 total = {};
  for (int64_t i = begin; i + kLanes <= end; i += kLanes) {
    F64 weights[2] = {masked, masked};
    Mask stay[2] = {};
    if (!a.row.mask || !none_set(a.row.mask + i))
      each_half([&](int64_t k) {
        const MismatchHalf half = mismatch_half(a.row, i + k * kHalf);
        const Mask inside = both(at_least(half.x, low), at_most(half.x, high));
        F64 bounded = half.x;
        if (any(!inside)) {
          const Mask outside = either(less(half.x, low), more(half.x, high));
          bounded = a.clamps ? clamp(Lanes(half.x), Lanes(low), Lanes(high)).x : pick(outside, F64{}, half.x);
        }
        F64 weight = factor * bounded;
        if (a.factor == 0 || any(!less(absolute(bounded), infinite))) weight = scaled(Lanes(factor), Lanes(bounded)).x;
        weights[k] = pick(half.kept, weight, masked);
        if (a.factor == 0) return;
        stay[k] = both(half.kept, inside);
        count(&total, stay[k]);
      });
    put_bounded(a, i, past_cache, weights, stay);
  }
  return sum(total);
}

template <class F>
static int32_t bound_row(const BoundRow<F>& given, int64_t begin, int64_t end, bool past_cache) {
  const bool streams = kStreams && past_cache && given.weights && on_sixteen(given.weights + begin);
  const int64_t whole = begin + (end - begin) / kLanes * kLanes;
  int64_t total = bound_registers(given, begin, whole, streams);
  if (streams) finish_streams();
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
  total += bound_registers(last, 0, kLanes, false);
  if (given.weights) copy_out(given.weights + whole, weights, end - whole);
  if (given.kept) copy_out(given.kept + whole, kept, end - whole);
  return static_cast<int32_t>(total);
}

template <class F>
constexpr CorrectionKernels<F> correction_kernels() {
  return {measure_chunk<F>, bound_row<F>};
}

}  // namespace srp::cpu::SRP_LEVEL
