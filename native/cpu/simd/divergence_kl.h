// KL divergences over a whole vocabulary and their gradients, of rows that are not close (contract: surprisal/divergence.h), each in
// one walk with at most two exponentials an id:
//
//   KL(T || S) = sum e_T (t - s) / Z_T - ln Z_T + ln Z_S,  grad = factor (e_S / Z_S - e_T / Z_T)
//   KL(S || T) the same with the sides exchanged,          grad = factor e_S / Z_S (ln S - ln T - KL)
//
// with s, t = (x - max) / temperature, e = exp, Z = sum e. What is added up is no larger than D + 19, so that D is known to 2e-15: close
// rows, of which more digits are promised, go by the terms of divergence.h. A maximum is that of the first ids; where others lie far
// above it, it is raised, and the sums are taken against the new one.
namespace srp::cpu::SRP_LEVEL {

constexpr double kLeastExponent = -708;  // exp of less is taken for that of this
constexpr double kMostNear = 1e3;  // a lane's sum; of ids further above the maximum it would lose digits
constexpr int kTries = 8;  // of a row whose ids are often not near; masked ids are not
constexpr int64_t kSummedApart = 64 * kLanes;  // ids; sums of so many, then sums of these, lose fewer digits

struct ExponentMap {
  F64 max, rate;
};
// Without a finite logit the maximum may be any number.
SRP_INLINE ExponentMap exponent_map(const DivergenceSide& side) {
  return {splat(side.max > -INFINITY ? side.max : 0), splat(1 / side.temperature)};
}
// Whether a loop has to multiply; levels whose code has to be small have no loop without.
SRP_INLINE bool is_scaled(const DivergenceSide& side) { return SRP_FIXED_TERMS || side.temperature != 1; }
template <bool kScaled = true>
SRP_INLINE F64 exponent_of(const ExponentMap& map, F64 x) {
  const F64 above = x - map.max;
  return kScaled ? above * map.rate : above;
}

// x - k ln2 / kExpSteps, of a k in these units. One constant is as a temperature that is 2^-54 of itself away: 1 / temperature is
// rounded by more. Without a fused multiply-add the product is rounded as well.
SRP_INLINE F64 reduced(F64 x, F64 k, double unit) {
  if (SRP_FIXED_TERMS) return fma(k, splat(-kLn2Low / unit), fma(k, splat(-kLn2High / unit), x));
  return fma(k, splat(-0.6931471805599453 / (kExpSteps * unit)), x);
}

// Of kLeastExponent to 709. A z whose exponent of 2 is within float64 is one of the first numbers from 2 on, all of whose other bits
// are those of 2, so that `seen` tells at the end whether all were, for less than comparing each of them.
constexpr uint64_t kOctavesBelow = 1023, kOctaves = 2048;
SRP_INLINE F64 exp_within(F64 x, I64* seen = nullptr) {
  constexpr double kUnit = 0x1p-51, kFirst = 2 + kOctavesBelow * kExpSteps * kUnit;
  const F64 z = fma(x, splat(kExpSteps * kUnit / 0.6931471805599453), splat(kFirst));
  if (seen) *seen |= (I64)z;
  const F64 power = power_of_two<kOctavesBelow>((I64)z);
  return fma(power, exp_rest(reduced(x, z - splat(kFirst), kUnit)), power);
}
SRP_INLINE bool all_within(I64 seen) {
  constexpr int64_t kSteps = static_cast<int64_t>(kOctaves * kExpSteps);
  return !any((I32)((seen & -kSteps) != (int64_t{1} << 62)));
}

// Exactly 0 below the least one, whatever exp_within() makes of it.
SRP_INLINE F64 probability_of(F64 exponent) {
  return pick(at_least(exponent, splat(kLeastExponent)), exp_within(exponent), F64{});
}

struct KlLanes {
  F64 student = {}, teacher = {}, apart = {};
};

// Sets the sign of the lanes in which the student's exponent is below the least one and the teacher's is not.
SRP_INLINE void add_kl(F64 s, F64 t, KlLanes* sums, I64* lost) {
  const F64 least = splat(kLeastExponent);
  *lost |= (I64)(s - least) & ~(I64)(t - least);
  s = larger(s, least);
  t = larger(t, least);
  const F64 e = exp_within(t);
  sums->student += exp_within(s);
  sums->teacher += e;
  sums->apart = fma(e, t - s, sums->apart);
}

SRP_INLINE void add_near(F64 s, F64 t, KlLanes* sums, I64* seen) {
  const F64 e = exp_within(t, seen);
  sums->student += exp_within(s, seen);
  sums->teacher += e;
  sums->apart = fma(e, t - s, sums->apart);
}

SRP_INLINE void add(KlLanes* sums, const KlLanes& more) {
  sums->student += more.student;
  sums->teacher += more.teacher;
  sums->apart += more.apart;
}

// Returns false, and sums of no use, where an id is not near: an exponent is less than the least one or much more than 0, or NaN.
template <bool kScaled, class T>
static bool sum_near(const DivergenceRow<T>& row, KlLanes* sums) {
  const ExponentMap student = exponent_map(row.student_side), teacher = exponent_map(row.teacher_side);
  KlLanes low, high;
  I64 seen = {};
  each_outcome(row, [&](WidePair s, WidePair t, int64_t) {
    add_near(exponent_of<kScaled>(student, s.low), exponent_of<kScaled>(teacher, t.low), &low, &seen);
    add_near(exponent_of<kScaled>(student, s.high), exponent_of<kScaled>(teacher, t.high), &high, &seen);
  });
  add(&low, high);
  *sums = low;
  const F64 most = splat(kMostNear);
  return all_within(seen) && !any((I32) ~((low.student <= most) & (low.teacher <= most)));
}

// The exponent of a side's maximum against one that may lie higher.
SRP_INLINE double exponent_below(const DivergenceSide& side, double max) {
  return side.max == max ? 0 : (side.max - max) / side.temperature;
}

// Sums against maxima that lie higher: -infinity before there was a finite logit. Returns false where exponents are beyond float64.
SRP_INLINE bool raise(KlLanes* sums, const DivergenceSide& student, const DivergenceSide& teacher, double student_max,
                      double teacher_max) {
  const double s = exponent_below(student, student_max), t = exponent_below(teacher, teacher_max);
  const bool students = s > -INFINITY, teachers = t > -INFINITY;
  if ((student.max > -INFINITY && !students) || (teacher.max > -INFINITY && !teachers)) return false;
  const F64 both = (sums->apart + splat(t - s) * sums->teacher) * splat(::exp(t));
  sums->apart = students && teachers ? both : F64{};  // nothing yet where one of them has no probability
  sums->student *= splat(::exp(s));
  sums->teacher *= splat(::exp(t));
  return true;
}

// Of any ids, after raising the maxima to theirs. Returns false as raise() does, and where a row has a NaN or +infinity.
template <class T>
SRP_INLINE bool sum_any(DivergenceRow<T>* row, KlLanes* totals, KlLanes* sums, I64* lost) {
  DivergenceSide &student_side = row->student_side, &teacher_side = row->teacher_side;
  const double s_max = max_logit(row->student, row->V), t_max = max_logit(row->teacher, row->V);
  if (!(s_max < INFINITY && t_max < INFINITY)) return false;
  if (s_max > student_side.max || t_max > teacher_side.max) {
    const double student_max = s_max > student_side.max ? s_max : student_side.max;
    const double teacher_max = t_max > teacher_side.max ? t_max : teacher_side.max;
    if (!raise(totals, student_side, teacher_side, student_max, teacher_max)) return false;
    student_side.max = student_max;
    teacher_side.max = teacher_max;
  }
  const ExponentMap student = exponent_map(student_side), teacher = exponent_map(teacher_side);
  KlLanes low, high;
  each_outcome(*row, [&](WidePair s, WidePair t, int64_t) {
    add_kl(exponent_of(student, s.low), exponent_of(teacher, t.low), &low, lost);
    add_kl(exponent_of(student, s.high), exponent_of(teacher, t.high), &high, lost);
  });
  add(&low, high);
  *sums = low;
  return true;
}

// Returns false where a row has no finite logit, or a NaN or +infinity, where an id has a probability of the teacher alone, and where
// exponents are beyond float64.
template <class T>
static bool kl_sums(const DivergenceRow<T>& given, KlSums* out) {
  DivergenceRow<T> row = given;
  row.student_side.max = row.teacher_side.max = -INFINITY;
  const double &student_max = row.student_side.max, &teacher_max = row.teacher_side.max;
  const bool scaled = is_scaled(row.student_side);
  KlLanes totals;
  I64 lost = {};
  int tries = kTries;
  for (int64_t begin = 0; begin < given.V; begin += kSummedApart) {
    row.student = given.student + begin;
    row.teacher = given.teacher + begin;
    row.V = given.V - begin < kSummedApart ? given.V - begin : kSummedApart;
    KlLanes sums;
    const bool tried = tries > 0 && student_max > -INFINITY && teacher_max > -INFINITY;
    if (!(tried && (scaled ? sum_near<true>(row, &sums) : sum_near<false>(row, &sums)))) {
      tries -= tried;
      if (!sum_any(&row, &totals, &sums, &lost)) return false;
    }
    add(&totals, sums);
  }
  *out = {student_max, teacher_max, sum(totals.student), sum(totals.teacher), sum(totals.apart)};
  return student_max > -INFINITY && teacher_max > -INFINITY && !any((I32)(lost < I64{}));
}

template <bool kScaled, class T>
static void forward_gradient_of(const DivergenceRow<T>& row, double student_factor, double teacher_factor, T* grad) {
  const ExponentMap student = exponent_map(row.student_side), teacher = exponent_map(row.teacher_side);
  const F64 of_student = splat(student_factor), of_teacher = splat(teacher_factor);
  // Two products, each rounded: exactly 0 where both rows have the same.
  write_gradient(row, grad, [&](F64 s, F64 t) {
    const F64 of_s = of_student * probability_of(exponent_of<kScaled>(student, s));
    return of_s - of_teacher * probability_of(exponent_of<kScaled>(teacher, t));
  });
}

template <class T>
static void forward_gradient(const DivergenceRow<T>& row, double student_factor, double teacher_factor, T* grad) {
  if (is_scaled(row.student_side)) return forward_gradient_of<true>(row, student_factor, teacher_factor, grad);
  forward_gradient_of<false>(row, student_factor, teacher_factor, grad);
}

template <bool kScaled, class T>
static void reverse_gradient_of(const DivergenceRow<T>& row, double student_factor, double apart, T* grad) {
  const ExponentMap student = exponent_map(row.student_side), teacher = exponent_map(row.teacher_side);
  // Of ids that are masked on both sides a difference that is a number, times 0.
  const F64 factor = splat(student_factor), mean = splat(apart), least = splat(-1e300);
  write_gradient(row, grad, [&](F64 s, F64 t) {
    const F64 own = exponent_of<kScaled>(student, s), other = exponent_of<kScaled>(teacher, t);
    return factor * probability_of(own) * (larger(own, least) - larger(other, least) - mean) + F64{};
  });
}

template <class T>
static void reverse_gradient(const DivergenceRow<T>& row, double student_factor, double apart, T* grad) {
  if (is_scaled(row.student_side)) return reverse_gradient_of<true>(row, student_factor, apart, grad);
  reverse_gradient_of<false>(row, student_factor, apart, grad);
}

template <class T>
constexpr DivergenceKernels<T> divergence_kernels() {
  return {softmax_row<T>,    kl_sums<T>,          forward_gradient<T>, reverse_gradient<T>,
          sum_divergence<T>, write_divergence<T>, find_above<T>};
}

}  // namespace srp::cpu::SRP_LEVEL
