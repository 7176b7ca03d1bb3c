// Divergence of two rows of logits and its gradient (contract: surprisal/divergence.h) over a whole vocabulary, float64 in every
// lane: the maximum of a row and the sum of the others, the terms, the gradient. Rows of finite numbers and -infinity.
namespace srp::cpu::SRP_LEVEL {

// exp(x) and exp(x) - 1 of x <= 0, exactly 0 and -1 below -708.
SRP_INLINE Exponentials exponentials_flushed(F64 x) {
  const I64 none = x < splat(-708.0);
  const Exponentials e = exponentials_within<double>(x);  // whatever it makes of those
  return {none ? F64{} : e.exp, none ? splat(-1.0) : e.less_one};
}

// visit(logits) for each kLanes of [begin, end); behind the end a copy filled up with -infinity.
template <class T, class Visit>
SRP_INLINE void each_logits(const T* x, int64_t begin, int64_t end, const Visit& visit) {
  T last[kLanes];
  for (int64_t i = begin; i < end; i += kLanes) {
    const T* at = x + i;
    if (__builtin_expect(i + kLanes > end, 0)) {
      for (int64_t k = 0; k < kLanes; ++k) last[k] = i + k < end ? x[i + k] : minus_infinity(x);
      at = last;
    }
    visit(load_wide_pair(at));
  }
}

// visit(student, teacher, i) for each kLanes ids of a vocabulary, in the same way.
template <class T, class Visit>
SRP_INLINE void each_outcome(const DivergenceRow<T>& row, const Visit& visit) {
  T last[2][kLanes];
  for (int64_t i = 0; i < row.V; i += kLanes) {
    const T *student = row.student + i, *teacher = row.teacher + i;
    if (__builtin_expect(i + kLanes > row.V, 0)) {
      for (int64_t k = 0; k < kLanes; ++k) {
        last[0][k] = i + k < row.V ? student[k] : minus_infinity(student);
        last[1][k] = i + k < row.V ? teacher[k] : minus_infinity(teacher);
      }
      student = last[0];
      teacher = last[1];
    }
    visit(load_wide_pair(student), load_wide_pair(teacher), i);
  }
}

// The largest logit, and NaN where one is.
template <class T>
static double max_logit(const T* x, int64_t V) {
  const int64_t whole = V / kPair * kPair;
  float max = whole > 0 ? block_max(x, whole) : -INFINITY;
  for (int64_t i = whole; i < V && max == max; ++i) {
    const float value = to_float(x[i]);
    max = value <= max ? max : value;
  }
  return max;
}
static double max_logit(const double* x, int64_t V) {
  F64 high = splat(-static_cast<double>(INFINITY)), odd = {};
  each_logits(x, 0, V, [&](WidePair pair) {
    high = larger(pair.low, larger(pair.high, high));
    odd = pair.low == pair.low ? odd : pair.low;
    odd = pair.high == pair.high ? odd : pair.high;
  });
  double max = -INFINITY;
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    if (odd[lane] != odd[lane]) return odd[lane];
    max = high[lane] > max ? high[lane] : max;
  }
  return max;
}

// Whether one of the kPair logits at p is equal to the value, which is one of such logits.
template <class T>
SRP_INLINE bool pair_has(const T* p, double value) {
  const Pair pair = load_pair(p);
  const F32 wanted = splat(static_cast<float>(value));
  return any((pair.a == wanted) | (pair.b == wanted));
}
SRP_INLINE bool pair_has(const double* p, double value) {
  const F64 wanted = splat(value);
  const I64 low = (load(p) == wanted) | (load(p + kHalf) == wanted);
  return any((I32)(low | (load(p + kLanes) == wanted) | (load(p + kLanes + kHalf) == wanted)));
}

template <class T>
static void softmax_row(const T* x, int64_t V, double temperature, Softmax* out) {
  *out = {max_logit(x, V), -1, 0, temperature};
  if (!(out->max > -INFINITY && out->max < INFINITY)) return;
  int64_t first = 0;
  while (first + kPair <= V && !pair_has(x + first, out->max)) first += kPair;
  while (static_cast<double>(to_float(x[first])) != out->max) ++first;
  out->first = first;
  const F64 max = splat(out->max), rate = splat(1 / temperature);
  F64 sums[2] = {};
  const auto add = [&](WidePair pair) {
    const Exponentials low = exponentials_flushed((pair.low - max) * rate);
    const Exponentials high = exponentials_flushed((pair.high - max) * rate);
    sums[0] += low.exp;
    sums[1] += high.exp;
  };
  each_half([&](int64_t behind) { each_logits(x, behind ? first + 1 : 0, behind ? V : first, add); });
  out->rest = sum(sums[0] + sums[1]);
}

// Logits to log-probs.
struct LogProbMap {
  F64 max, rate, log_sum;
};
SRP_INLINE LogProbMap log_prob_map(const DivergenceSide& side) {
  return {splat(side.max), splat(1 / side.temperature), splat(side.log_sum)};
}
SRP_INLINE F64 log_prob_of(const LogProbMap& map, F64 x) { return (x - map.max) * map.rate - map.log_sum; }

// Of two log-probs: the larger probability, how far apart they are, and which is which.
struct Outcome {
  F64 larger, apart;
  Exponentials e;  // of -apart
  I64 student;  // has the larger one
};

SRP_INLINE Outcome outcome_of(F64 student, F64 teacher) {
  const F64 low = splat(-static_cast<double>(INFINITY));
  const I64 above = student >= teacher;
  const F64 top = above ? student : teacher, bottom = above ? teacher : student;
  const F64 apart = top == low ? F64{} : top - bottom;
  return {exponentials_flushed(top).exp, apart, exponentials_flushed(-apart), above};
}

struct LaneTerm {
  F64 value, slope;
};

// What an outcome adds to the divergence, and h of the header. P ln(P/Q) - P + Q from the larger of both; nothing is read of a
// distance at which the smaller probability is 0, but by KL(larger || smaller).
template <int kKind>
SRP_INLINE LaneTerm lane_term(const Outcome& o, double beta) {
  const F64 less = o.e.less_one, L = o.larger;
  const F64 near = o.apart < splat(800.0) ? o.apart : splat(800.0);
  const F64 smaller = L * o.e.exp;
  if (kKind < 2) {
    // kKind 0: KL(teacher || student), 1: KL(student || teacher)
    const F64 down = L == F64{} ? F64{} : L * (o.apart + less), up = L * (-near * o.e.exp - less);
    const I64 first = kKind == 1 ? o.student : ~o.student;
    if (kKind == 0) return {first ? down : up, o.student ? -(L * less) : L * less};
    const F64 with = L == F64{} ? F64{} : L * o.apart, against = -(smaller * near);
    return {first ? down : up, o.student ? with : against};
  }
  const F64 one = splat(1.0), own = splat(1 - beta), other = splat(beta);
  const F64 w = o.student ? other : own, v = one - w, shift = w * less;
  const F64 log = -log_one_plus(shift), log_smaller = log - near;
  const F64 value = L * (v * (log + shift) + w * (log_smaller * o.e.exp - v * less));
  return {value, own * (o.student ? L * log : smaller * log_smaller)};
}

template <int kKind, class T>
SRP_INLINE void sum_divergence_of(const DivergenceRow<T>& row, LaneTerm sums[2]) {
  const LogProbMap student = log_prob_map(row.student_side), teacher = log_prob_map(row.teacher_side);
  each_outcome(row, [&](WidePair s, WidePair t, int64_t) {
    const LaneTerm a = lane_term<kKind>(outcome_of(log_prob_of(student, s.low), log_prob_of(teacher, t.low)), row.beta);
    const LaneTerm b =
        lane_term<kKind>(outcome_of(log_prob_of(student, s.high), log_prob_of(teacher, t.high)), row.beta);
    sums[0].value += a.value;
    sums[0].slope += a.slope;
    sums[1].value += b.value;
    sums[1].slope += b.slope;
  });
}

template <class T>
static void sum_divergence(const DivergenceRow<T>& row, double* value, double* slope) {
  LaneTerm sums[2] = {};
  if (row.beta == 0)
    sum_divergence_of<0>(row, sums);
  else if (row.beta == 1)
    sum_divergence_of<1>(row, sums);
  else
    sum_divergence_of<2>(row, sums);
  *value = sum(sums[0].value + sums[1].value);
  *slope = sum(sums[0].slope + sums[1].slope);
}

template <int kKind>
SRP_INLINE F64 lane_gradient(const Outcome& o, double beta, F64 factor, F64 slope) {
  const F64 student = o.student ? o.larger : o.larger * o.e.exp;
  const LaneTerm term = lane_term<kKind>(o, beta);
  return factor * (term.slope - student * slope) + F64{};  // +0 of a masked id
}

// gradient(student, teacher) of each id's logits.
template <class T, class Gradient>
SRP_INLINE void write_gradient(const DivergenceRow<T>& row, T* grad, const Gradient& gradient) {
  each_outcome(row, [&](WidePair s, WidePair t, int64_t i) {
    const WidePair out = {gradient(s.low, t.low), gradient(s.high, t.high)};
    if (__builtin_expect(i + kLanes <= row.V, 1)) return store_rounded(grad + i, out);
    T last[kLanes];
    store_rounded(last, out);
    for (int64_t k = 0; i + k < row.V; ++k) grad[i + k] = last[k];
  });
}

template <int kKind, class T>
SRP_INLINE void write_divergence_of(const DivergenceRow<T>& row, double factor_of_row, double slope_of_row, T* grad) {
  const LogProbMap student = log_prob_map(row.student_side), teacher = log_prob_map(row.teacher_side);
  const F64 factor = splat(factor_of_row), slope = splat(slope_of_row);
  write_gradient(row, grad, [&](F64 s, F64 t) {
    const Outcome outcome = outcome_of(log_prob_of(student, s), log_prob_of(teacher, t));
    return lane_gradient<kKind>(outcome, row.beta, factor, slope);
  });
}

template <class T>
static void write_divergence(const DivergenceRow<T>& row, double factor, double slope, T* grad) {
  if (row.beta == 0) return write_divergence_of<0>(row, factor, slope, grad);
  if (row.beta == 1) return write_divergence_of<1>(row, factor, slope, grad);
  write_divergence_of<2>(row, factor, slope, grad);
}

// Whether one of the pair is above the value, or NaN.
template <class T>
SRP_INLINE bool pair_above(const T* p, double value) {
  const Pair pair = load_pair(p);
  const F32 level = splat(static_cast<float>(value));  // it is one of such logits
  return any(~((pair.a <= level) & (pair.b <= level)));
}
SRP_INLINE bool pair_above(const double* p, double value) {
  const F64 level = splat(value);
  const I64 low = (load(p) <= level) & (load(p + kHalf) <= level);
  return any((I32) ~(low & (load(p + kLanes) <= level) & (load(p + kLanes + kHalf) <= level)));
}

template <class T>
static int64_t find_above(const T* x, int64_t from, int64_t to, double value) {
  int64_t i = from;
  while (i + kPair <= to && !pair_above(x + i, value)) i += kPair;
  return i;
}

}  // namespace srp::cpu::SRP_LEVEL
