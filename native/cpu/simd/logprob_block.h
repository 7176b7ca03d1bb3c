// The sums of a block of a row of logits (logprob_sums.h) in float32: a lane has so few terms that float64 takes over in time.
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
constexpr int64_t kPrefetchBytes = 10240;

constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

struct LogprobBlock {
  F32 s[kAccumulators], w[kAccumulators], q[kAccumulators];
  F32 high[2];  // raw logits: the largest of each lane of a pair
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
SRP_INLINE void prefetch_step(const T* x) {
  for (int64_t byte = 0; byte < kStep * int64_t{sizeof(T)}; byte += 64)
    prefetch(reinterpret_cast<const char*>(x) + kPrefetchBytes + byte);
}

// n is a multiple of kStep. Where a logit is NaN or infinite, so are the sums.
template <bool kSquares, class T>
SRP_INLINE LogprobBlock sum_block(const LogprobMap& map, const T* x, int64_t n) {
  LogprobBlock block;
  clear(&block);
  block.high[0] = block.high[1] = splat(-INFINITY);
  int64_t i = 0;
  const auto add = [&](const BegunTerm& begun, int64_t k) {
    add_term<kSquares>(map, begun, &block.s[k], &block.w[k], &block.q[k]);
  };
  if (kBeginsAhead<T>) {
    BegunTerm first, second;
    const auto begin = [&](const T* at) {
      const Pair pair = note_pair(at, block.high);
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
      const Pair pair = note_pair(x + i + k * kLanes, block.high);
      add(begin_term(map, pair.a), k);
      add(begin_term(map, pair.b), k + 1);
    }
  }
  return block;
}

// The largest logit of a block; -infinity where all others are NaN.
template <class T>
SRP_INLINE float block_largest(const T* x, int64_t n) {
  F32 high[kAccumulators];
  for (int64_t k = 0; k < kAccumulators; ++k) high[k] = splat(-INFINITY);
  for (int64_t i = 0; i < n; i += kStep)
    for (int64_t k = 0; k < kAccumulators; k += 2) note_pair(x + i + k * kLanes, high + k);
  return largest(max(max(high[0], high[1]), max(high[kAccumulators - 2], high[kAccumulators - 1])));
}

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

}  // namespace srp::cpu::SRP_LEVEL
