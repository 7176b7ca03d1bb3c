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

// As many accumulators as hide the latency of an addition; two where a level has only 16 short registers. Blocks are longer where what
// ends one takes as long as several of its registers.
#if SRP_FIXED_TERMS
constexpr int64_t kAccumulators = 2;
constexpr int64_t kTerms = 32;
#elif defined(SRP_LEVEL_AVX512)
constexpr int64_t kAccumulators = 4;
constexpr int64_t kTerms = 32;
#else
constexpr int64_t kAccumulators = 4;
constexpr int64_t kTerms = 16;
#endif
// Whether the terms of the next registers begin before those at hand end: a core looks ahead no further than four terms, which wait for their
// own steps. Not of float32, whose terms wait for memory: they are the slower for it.
#if defined(SRP_LEVEL_AVX512)
template <class T>
constexpr bool kBeginsAhead = sizeof(T) == 2;
#else
template <class T>
constexpr bool kBeginsAhead = false;
#endif
constexpr int64_t kStep = kAccumulators * kLanes;  // elements of one round of the loop
constexpr int64_t kBlock = kTerms * kStep;  // a lane adds so many terms at most before float64 takes over
constexpr float kTolerance = 2;  // bits that a block may rise above the reference
constexpr int64_t kPrefetchBytes = 6144;

constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

struct LogprobBlock {
  F32 s[kAccumulators], w[kAccumulators], q[kAccumulators];
  F32 high;  // raw logits: the largest of each lane
};

// One by one: of a loop, or of `= {}`, compilers make a memset, and that a string instruction, which costs as much as ten terms.
SRP_INLINE void clear(F32* sums) {
  sums[0] = F32{};
  sums[1] = F32{};
  if (kAccumulators == 2) return;
  sums[kAccumulators - 2] = F32{};
  sums[kAccumulators - 1] = F32{};
}

SRP_INLINE void clear(LogprobBlock* block) {
  clear(block->s);
  clear(block->w);
  clear(block->q);
}

struct LogprobTotals {
  F64 s, w, q;
};

struct LogprobMap {
  TermMap terms;
  float reference;  // raw logit
  float limit;  // of a block's logits against this reference

  void refer_to(float logit, float rate) {
    reference = logit;
    limit = logit + kTolerance / rate;
  }
};

SRP_INLINE BegunTerm begin_term(const LogprobMap& map, F32 x) {
  return begin_term(map.terms, x - splat(map.reference));
}

template <bool kSquares>
SRP_INLINE void add_term(const LogprobMap& map, const BegunTerm& begun, F32* s, F32* w, F32* q) {
  const auto [t, e] = end_term(map.terms, begun);
  *s += e;
  *w = fma(e, t, *w);
  if (kSquares) *q = fma(e, e, *q);
}

template <class T>
SRP_INLINE Pair load_pair(const T* x, F32* high) {
  const Pair pair = load_pair(x);
  high[0] = max(pair.a, high[0]);
  high[1] = max(pair.b, high[1]);
  return pair;
}

template <class T>
SRP_INLINE void prefetch_step(const T* x) {
  for (int64_t byte = 0; byte < kStep * int64_t{sizeof(T)}; byte += 64)
    prefetch(reinterpret_cast<const char*>(x) + kPrefetchBytes + byte);
}

// n is a multiple of kStep. Where a logit is NaN or infinite, so are the sums.
template <bool kSquares, class T>
SRP_INLINE LogprobBlock sum_block(const LogprobMap& map, const T* x, int64_t n) {
  LogprobBlock block;
  clear(&block);
  F32 high[2] = {splat(-INFINITY), splat(-INFINITY)};
  int64_t i = 0;
  const auto add = [&](const BegunTerm& begun, int64_t k) {
    add_term<kSquares>(map, begun, &block.s[k], &block.w[k], &block.q[k]);
  };
  if (kBeginsAhead<T>) {
    BegunTerm first, second;
    const auto begin = [&](const T* at) {
      const Pair pair = load_pair(at, high);
      first = begin_term(map, pair.a);
      second = begin_term(map, pair.b);
    };
    const auto step = [&](bool last) {
      for (int64_t k = 0; k < kAccumulators; k += 2) {
        const BegunTerm a = first, b = second;
        if (!last || k + 2 < kAccumulators) begin(x + i + (k + 2) * kLanes);
        add(a, k);
        add(b, k + 1);
      }
    };
    for (begin(x); i < n - kStep; i += kStep) {
      prefetch_step(x + i);
      step(false);
    }
    step(true);
  }
  for (; !kBeginsAhead<T> && i < n; i += kStep) {
    prefetch_step(x + i);
    for (int64_t k = 0; k < kAccumulators; k += 2) {
      const Pair pair = load_pair(x + i + k * kLanes, high);
      add(begin_term(map, pair.a), k);
      add(begin_term(map, pair.b), k + 1);
    }
  }
  block.high = max(high[0], high[1]);
  return block;
}

SRP_INLINE bool any_above(F32 x, float value) { return any((I32)(x > splat(value))); }

SRP_INLINE F64 folded(const F32* a) {
  const F32 low = a[0] + a[1];
  const F64 first = widen_low(low) + widen_high(low);
  if (kAccumulators == 2) return first;
  const F32 high = a[kAccumulators - 2] + a[kAccumulators - 1];
  return first + (widen_low(high) + widen_high(high));
}

SRP_INLINE void fold(const LogprobMap& map, const LogprobBlock& block, LogprobTotals* totals) {
  totals->s += folded(block.s);
  totals->w += folded(block.w) / splat(map.terms.unit);
  totals->q += folded(block.q);
}

// Totals against a reference that lies `rise` higher in raw logits.
SRP_INLINE void raise(LogprobTotals* totals, double rise, double rate) {
  const double factor = ::exp2(-rise * rate);
  totals->w = (totals->w - splat(rise) * totals->s) * splat(factor);
  totals->s *= splat(factor);
  totals->q *= splat(factor * factor);
}

// The largest logit of a block; -infinity where all others are NaN.
template <class T>
SRP_INLINE float block_largest(const T* x, int64_t n) {
  F32 high[2] = {splat(-INFINITY), splat(-INFINITY)};
  for (int64_t i = 0; i < n; i += kPair) load_pair(x + i, high);
  return largest(max(high[0], high[1]));
}

// The same, NaN where one is NaN.
template <class T>
SRP_INLINE float block_max(const T* x, int64_t n) {
  F32 high[2] = {splat(-INFINITY), splat(-INFINITY)}, total[2] = {};
  for (int64_t i = 0; i < n; i += kPair) {
    const Pair pair = load_pair(x + i, high);
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

// The same of `value`, the largest of a block.
template <class T>
SRP_INLINE int64_t find_largest(const T* x, float value) {
  for (int64_t i = 0;; i += kStep) {
    F32 high[2] = {splat(-INFINITY), splat(-INFINITY)};
    for (int64_t k = 0; k < kStep; k += kPair) load_pair(x + i + k, high);
    if (any(max(high[0], high[1]) == splat(value))) return i + find(x + i, value);
  }
}

// Takes element `at` out of a block's sums: its lane is summed again without it, in float64 at the end.
template <bool kSquares, class T>
SRP_INLINE void leave_out(const LogprobMap& map, const T* x, int64_t n, int64_t at, LogprobBlock* block,
                          LogprobTotals* totals) {
  float column[kBlock / kStep + kLanes];
  int64_t count = 0;
  for (int64_t i = at % kStep; i < n; i += kStep)
    if (i != at) column[count++] = to_float(x[i]);
  for (; count % kLanes != 0; ++count) column[count] = -INFINITY;
  F32 s = {}, w = {}, q = {};
  for (int64_t i = 0; i < count; i += kLanes) add_term<kSquares>(map, begin_term(map, load(column + i)), &s, &w, &q);
  totals->s += widen_low(s) + widen_high(s);
  totals->w += (widen_low(w) + widen_high(w)) / splat(map.terms.unit);
  totals->q += widen_low(q) + widen_high(q);
  const Place where = place(x, at % kPair);
  const int64_t k = at % kStep / kPair * 2 + where.vector;
  block->s[k][where.lane] = block->w[k][where.lane] = block->q[k][where.lane] = 0;
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
  LogprobBlock best = {};  // the block of the maximum, in none of the totals
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
    LogprobBlock block = sum_block<kSquares>(map, at, n);
    if (any_above(block.high, map.limit)) {
      fold(map, best, &totals);
      clear(&best);
      best_at = nullptr;
      const float max = largest(block.high);
      raise(&totals, static_cast<double>(max) - map.reference, rate);
      map.refer_to(max, rate);
      block = sum_block<kSquares>(map, at, n);
    }
    if (!best_at || any_above(block.high, max_logit)) {
      fold(map, best, &totals);
      best = block;
      max_logit = largest(block.high);
      best_at = at;
      best_count = n;
    } else {
      fold(map, block, &totals);
    }
  }
  if (!best_at) {
    *out = no_sums(-INFINITY);
    return true;
  }
  if (!(max_logit > -INFINITY && max_logit < INFINITY)) return false;
  leave_out<kSquares>(map, best_at, best_count, find_largest(best_at, max_logit), &best, &totals);
  fold(map, best, &totals);
  raise(&totals, static_cast<double>(max_logit) - map.reference, rate);
  const double unit = 1.0 / (int64_t{1} << kExp2Offset);
  double s = sum(totals.s) * unit, w = sum(totals.w) * unit;
  repair(rate, exact_rate / rate - 1, &s, &w);
  *out = {max_logit, s, w * slope, sum(totals.q) * (unit * unit)};
  return s < INFINITY && w > -INFINITY && w < INFINITY;  // and not NaN
}

}  // namespace srp::cpu::SRP_LEVEL
