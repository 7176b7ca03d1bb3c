// The sums of a row of logits in one pass (contract: surprisal/logprob.h):
//
//   t = x - M,  e = 2^(rate t),  rate = log2(e) scale / temperature,  S = sum e,  W = sum e t,  Q = sum e^2
//   (e in units of 2^-kExp2Offset until the end)
//
// A block at a time, float32 within a block, float64 across blocks. M is not known before the end,
// so t is taken against a reference that follows the blocks' maxima: a logit of the row, so that t is exact near it, and
// within 2 bits of M at the end, because the last digits of a larger |t| would leak 1e-6 into the sums. A block that rises
// further is done again against its own maximum. The maximum must be in no sum: the block that holds it is kept apart, and
// the one lane that it fell into is summed again without it.
namespace srp::cpu::SRP_LEVEL {

// Totals against a reference that lies `rise` higher in raw logits. A term of before is `factor` of what it was.
SRP_INLINE void raise(LogprobTotals* totals, double rise, double factor) {
  totals->w = (totals->w - splat(rise) * totals->s) * splat(factor);
  totals->s *= splat(factor);
  totals->q *= splat(factor * factor);
}

// Takes the maximum, which is in this block, out of its sums: the lane that it fell into is summed again without it, in float64 at the
// end. `term` is the maximum's. Nothing branches by where it lies.
template <bool kSquares, class T>
SRP_INLINE void leave_out(const LogprobMap& map, const T* x, int64_t n, float value, double term, LogprobBlock* block,
                          LogprobTotals* totals) {
  const uint32_t first = lanes_equal(block->high[0], value), second = lanes_equal(block->high[1], value);
  const Place where = {first == 0, __builtin_ctz(first == 0 ? second : first)};
  // What fell into this lane of pairs: into `kColumns` registers of sums.
  constexpr int64_t kColumns = kAccumulators / 2;
  float columns[kColumns][kTerms];
  const T* from = x + element(x, where);
  int64_t count = 0;
  for (; count < n / kStep; ++count)
    for (int64_t c = 0; c < kColumns; ++c, from += kPair) columns[c][count] = to_float(*from);
  for (; count % kLanes != 0; ++count)
    for (int64_t c = 0; c < kColumns; ++c) columns[c][count] = -INFINITY;
  uint32_t found = 0;
  for (int64_t i = 0; i < count; i += kLanes) found |= lanes_equal(load(columns[0] + i), value);
  const int64_t column = found == 0 && kColumns == 2, k = column * 2 + where.vector;
  block->s[k][where.lane] = block->w[k][where.lane] = block->q[k][where.lane] = 0;
  F32 s = {}, w = {}, q = {};
  double equal = -1;  // how many more there are
  for (int64_t i = 0; i < count; i += kLanes) {
    const F32 logits = load(columns[column] + i);
    equal += __builtin_popcount(lanes_equal(logits, value));
    const F32 others = logits == splat(value) ? splat(-INFINITY) : logits;
    add_term<kSquares>(map, begin_term(map, others), &s, &w, &q);
  }
  totals->s += widen_low(s) + widen_high(s);
  totals->w += (widen_low(w) + widen_high(w)) / splat(map.terms.unit);
  totals->q += widen_low(q) + widen_high(q);
  totals->s[0] += equal * term;
  totals->w[0] += equal * term * (static_cast<double>(value) - map.reference);
  totals->q[0] += equal * term * term;
}

// float32 rounded the rate by a part `error` of it. To first order sum e grows by error rate ln 2 sum e t. sum e t^2 is not at
// hand; W^2 / S is it for a single competitor, the one case where it counts.
SRP_INLINE void repair(double rate, double error, double* s, double* w) {
  if (!(*s > 0)) return;
  const double grown = error * rate * kLn2, mean = *w / *s;
  *s += grown * *w;
  *w += grown * *w * mean;
}

template <bool kSquares, class T>
static bool sum_row(const T* x, int64_t V, double slope, RowSums* out) {
  const double exact_rate = slope * kLog2E;
  const float rate = static_cast<float>(exact_rate);
  LogprobMap map = {TermMap::of(rate), 0, 0};
  LogprobTotals totals = {};
  LogprobBlock blocks[2];
  int64_t best = 0;  // the one of the maximum, in none of the totals
  clear(&blocks[best]);
  float max_logit = -INFINITY;
  const T* best_at = nullptr;  // NULL: nothing finite so far
  int64_t best_count = 0;
  T rest[kStep];  // the last elements, filled up with -infinity

  for (int64_t begin = 0; begin < V;) {
    const T* at = x + begin;
    int64_t n = (V - begin < kBlock ? V - begin : kBlock) / kStep * kStep;
    begin += n;
    if (n == 0) {
      for (; n < kStep; ++n) rest[n] = begin + n < V ? at[n] : minus_infinity(at);
      begin = V;
      at = rest;
    }
    if (!best_at) {
      const float most = block_largest(at, n);
      map.refer_to(most > -INFINITY ? most : block_max(at, n), rate);
      if (map.reference == -INFINITY) continue;
    }
    LogprobBlock* const block = &blocks[1 - best];
    *block = sum_block<kSquares>(map, at, n);
    float most = largest(max(block->high[0], block->high[1]));
    if (most > map.limit) {
      fold(map, blocks[best], &totals);
      clear(&blocks[best]);
      max_logit = -INFINITY;
      const double rise = static_cast<double>(most) - map.reference;
      raise(&totals, rise, ::exp2(-rise * rate));
      map.refer_to(most, rate);
      *block = sum_block<kSquares>(map, at, n);
    }
    const bool higher = !best_at || most > max_logit;
    best = higher ? 1 - best : best;
    max_logit = higher ? most : max_logit;
    best_at = higher ? at : best_at;
    best_count = higher ? n : best_count;
    fold(map, blocks[1 - best], &totals);
  }
  if (!best_at) {
    *out = no_sums(-INFINITY);
    return true;
  }
  if (!(max_logit > -INFINITY && max_logit < INFINITY)) return false;
  const double rise = static_cast<double>(max_logit) - map.reference, factor = ::exp2(-rise * rate);
  const double unit = 1.0 / (int64_t{1} << kExp2Offset);
  leave_out<kSquares>(map, best_at, best_count, max_logit, 1 / (unit * factor), &blocks[best], &totals);
  fold(map, blocks[best], &totals);
  raise(&totals, rise, factor);
  double s = sum(totals.s) * unit, w = sum(totals.w) * unit;
  repair(rate, exact_rate / rate - 1, &s, &w);
  *out = {max_logit, s, w * slope, sum(totals.q) * (unit * unit)};
  return s < INFINITY && w > -INFINITY && w < INFINITY;  // and not NaN
}

}  // namespace srp::cpu::SRP_LEVEL
