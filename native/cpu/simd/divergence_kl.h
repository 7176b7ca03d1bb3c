// KL divergences over a whole vocabulary and their gradients, of rows that are not close (contract: surprisal/divergence.h), each in
// one walk with at most two exponentials an id:
//
//   KL(T || S) = sum e_T (t - s) / Z_T - ln Z_T + ln Z_S,  grad = factor (e_S / Z_S - e_T / Z_T)
//   KL(S || T) the same with the sides exchanged,          grad = factor e_S / Z_S (ln S - ln T - KL)
//
// with s, t = (x - max) / temperature, e = exp, Z = sum e. What is added up is no larger than D + 12, so that D is known to 1e-15: close
// rows, of which more digits are promised, go by the terms of divergence.h. The maxima are those of the ids so far; where one rises, the
// sums are taken against the new one.
namespace srp::cpu::SRP_LEVEL {

constexpr double kLeastExponent = -708;  // exp of less is taken for that of this
constexpr int64_t kSummedApart = 64 * kLanes;  // ids; sums of so many, then sums of these, lose fewer digits

struct ExponentMap {
  F64 max, rate;
};
// Without a finite logit the maximum may be any number.
SRP_INLINE ExponentMap exponent_map(const DivergenceSide& side) {
  return {splat(side.max > -INFINITY ? side.max : 0), splat(1 / side.temperature)};
}
SRP_INLINE F64 exponent_of(const ExponentMap& map, F64 x) { return (x - map.max) * map.rate; }

SRP_INLINE F64 exp_within(F64 x) {
  const ExpWide e = exp_parts(x);
  return fma(e.power, e.rest, e.power);
}

// Of an exponent of at most 0: exactly 0 below the least one, whatever exp_within() makes of it.
SRP_INLINE F64 probability_of(F64 exponent) {
  return pick(at_least(exponent, splat(kLeastExponent)), exp_within(exponent), F64{});
}

struct KlLanes {
  F64 student = {}, teacher = {}, apart = {};
};

// Returns the lanes in which the student's exponent is below the least one and the teacher's is not.
SRP_INLINE I64 add_kl(F64 s, F64 t, KlLanes* sums) {
  const F64 least = splat(kLeastExponent);
  const I64 lost = (s < least) & (t >= least);
  s = larger(s, least);
  t = larger(t, least);
  const F64 e = exp_within(t);
  sums->student += exp_within(s);
  sums->teacher += e;
  sums->apart = fma(e, t - s, sums->apart);
  return lost;
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

// Returns false where a row has no finite logit, or a NaN or +infinity, where an id has a probability of the teacher alone, and where
// exponents are beyond float64.
template <class T>
static bool kl_sums(const DivergenceRow<T>& given, KlSums* out) {
  DivergenceSide student_side = given.student_side, teacher_side = given.teacher_side;
  student_side.max = teacher_side.max = -INFINITY;
  KlLanes totals;
  I64 lost = {};
  for (int64_t begin = 0; begin < given.V; begin += kSummedApart) {
    DivergenceRow<T> row = given;
    row.student += begin;
    row.teacher += begin;
    row.V = given.V - begin < kSummedApart ? given.V - begin : kSummedApart;
    const double s_max = max_logit(row.student, row.V), t_max = max_logit(row.teacher, row.V);
    if (!(s_max < INFINITY && t_max < INFINITY)) return false;
    if (s_max > student_side.max || t_max > teacher_side.max) {
      const double student_max = s_max > student_side.max ? s_max : student_side.max;
      const double teacher_max = t_max > teacher_side.max ? t_max : teacher_side.max;
      if (!raise(&totals, student_side, teacher_side, student_max, teacher_max)) return false;
      student_side.max = student_max;
      teacher_side.max = teacher_max;
    }
    const ExponentMap student = exponent_map(student_side), teacher = exponent_map(teacher_side);
    KlLanes at[2];
    each_outcome(row, [&](WidePair s, WidePair t, int64_t) {
      lost |= add_kl(exponent_of(student, s.low), exponent_of(teacher, t.low), &at[0]);
      lost |= add_kl(exponent_of(student, s.high), exponent_of(teacher, t.high), &at[1]);
    });
    totals.student += at[0].student + at[1].student;
    totals.teacher += at[0].teacher + at[1].teacher;
    totals.apart += at[0].apart + at[1].apart;
  }
  *out = {student_side.max, teacher_side.max, sum(totals.student), sum(totals.teacher), sum(totals.apart)};
  return student_side.max > -INFINITY && teacher_side.max > -INFINITY && !any((I32)lost);
}

template <class T>
static void forward_gradient(const DivergenceRow<T>& row, double student_factor, double teacher_factor, T* grad) {
  const ExponentMap student = exponent_map(row.student_side), teacher = exponent_map(row.teacher_side);
  const F64 of_student = splat(student_factor), of_teacher = splat(teacher_factor);
  write_gradient(row, grad, [&](F64 s, F64 t) {
    const F64 of_t = of_teacher * probability_of(exponent_of(teacher, t));
    return fma(of_student, probability_of(exponent_of(student, s)), F64{} - of_t);
  });
}

template <class T>
static void reverse_gradient(const DivergenceRow<T>& row, double student_factor, double apart, T* grad) {
  const ExponentMap student = exponent_map(row.student_side), teacher = exponent_map(row.teacher_side);
  // Of ids that are masked on both sides a difference that is a number, times 0.
  const F64 factor = splat(student_factor), mean = splat(apart), least = splat(-1e300);
  write_gradient(row, grad, [&](F64 s, F64 t) {
    const F64 own = exponent_of(student, s), other = exponent_of(teacher, t);
    return factor * probability_of(own) * (larger(own, least) - larger(other, least) - mean) + F64{};
  });
}

template <class T>
constexpr DivergenceKernels<T> divergence_kernels() {
  return {softmax_row<T>,    kl_sums<T>,          forward_gradient<T>, reverse_gradient<T>,
          sum_divergence<T>, write_divergence<T>, find_above<T>};
}

}  // namespace srp::cpu::SRP_LEVEL
