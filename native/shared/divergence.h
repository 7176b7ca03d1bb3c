// What one outcome adds to a divergence and to its gradient (divergence.h), for every native backend, and the finish of a row.
// Each backend forms the sums in its own way.
#ifndef SURPRISAL_SHARED_DIVERGENCE_H
#define SURPRISAL_SHARED_DIVERGENCE_H

#include "shared/checks.h"
#include "shared/number.h"
#include "surprisal/divergence.h"

namespace srp {

// Logits of a row, all or those of a support.
template <class T>
struct LogitRow {
  const T* logits;
  const int32_t* ids;  // NULL = 0, 1, 2 …
  int64_t count;

  SRP_HD int64_t id(int64_t i) const { return ids ? ids[i] : i; }
  SRP_HD double operator[](int64_t i) const { return load(logits, id(i)); }
};

// The softmax of a row by its maximum and the sum of the others, so that a probability near 1 keeps its distance from 1.
struct Softmax {
  double max;  // NaN or +infinity: the row has one; -infinity: it has no finite logit
  int64_t first;  // id of the maximum, the smallest of equals
  double rest;  // sum of exp((x - max) / temperature) over all but `first`
  double temperature;

  SRP_HD bool finite() const { return max > -INFINITY && max < INFINITY; }
  SRP_HD double log_sum() const { return log1p(rest); }
  // log_sum is a parameter: callers compute it once a row.
  SRP_HD double log_prob(double x, double log_sum) const { return (x - max) / temperature - log_sum; }
};

// P ln(P / Q) - P + Q >= 0, with d = ln(P / Q): summed over two distributions it is KL(P || Q), and nothing cancels.
SRP_HD double excess(double P, double Q, double d) {
  if (P == 0) return Q;
  return d >= 0 ? P * (d + expm1(-d)) : Q * (d * exp(d) - expm1(d));
}

struct Term {
  double value;
  double slope;  // h of divergence.h
};

SRP_HD Term divergence_term(double beta, double log_student, double log_teacher) {
  if (log_student == -INFINITY && log_teacher == -INFINITY) return {0, 0};
  const double S = exp(log_student), T = exp(log_teacher), d = log_student - log_teacher;
  if (beta == 0) return {excess(T, S, -d), d >= 0 ? 0 - S * expm1(-d) : T * expm1(d)};
  if (beta == 1) return {excess(S, T, d), S == 0 ? 0 : S * d};
  // u = ln(T / M), v = ln(S / M), from the larger of both.
  double u, v;
  if (d >= 0) {
    v = 0 - log1p(beta * expm1(-d));
    u = v - d;
  } else {
    u = 0 - log1p((1 - beta) * expm1(d));
    v = u + d;
  }
  const double M = (1 - beta) * S + beta * T;
  return {beta * excess(T, M, u) + (1 - beta) * excess(S, M, v), S == 0 ? 0 : (1 - beta) * S * v};
}

// What remains outside the terms of a support. `inside` does not count a maximum that the support has.
struct Side {
  double inside;
  bool has_first;

  SRP_HD void add(const Softmax& row, int64_t id, double log_prob) {
    if (id == row.first)
      has_first = true;
    else
      inside += exp(log_prob);
  }
  SRP_HD double outside(const Softmax& row) const { return (has_first ? row.rest / (1 + row.rest) : 1) - inside; }
};

struct RowEnd {
  double value;
  double slope;  // sum of h
  double pool;  // h / S of the pool

  SRP_HD double inside_gradient(double log_student, double log_teacher, double beta) const {
    if (isfinite(slope)) return divergence_term(beta, log_student, log_teacher).slope - exp(log_student) * slope;
    return exp(log_student) > 0 ? NAN : 0;
  }
  SRP_HD double pool_gradient(double log_student) const {
    const double S = exp(log_student);
    if (isfinite(slope)) return S * (pool - slope);
    return S > 0 ? NAN : 0;
  }
};

// `sum` is over the support. A pool at its floor leaves the probabilities with a sum that is not 1: the -P + Q of the
// terms is taken back then, and h / S of a student's pool is that of a constant.
SRP_HD RowEnd add_pool(const srp_divergence_rows_args& a, const Term& sum, double student_outside,
                       double teacher_outside) {
  const double least = 0 - expm1(0 - a.tail_floor);
  const double S = student_outside < least ? least : student_outside;
  const double T = teacher_outside < least ? least : teacher_outside;
  const Term term = divergence_term(a.beta, log(S), log(T));
  const double surplus = (S - student_outside) - (T - teacher_outside);  // sum of S - sum of T
  const double sign = a.beta == 0 ? 1 : a.beta == 1 ? -1 : 0;
  const double pool = student_outside < least ? sign : term.slope / S;
  return {sum.value + term.value - sign * surplus, sum.slope + pool * student_outside, pool};
}

// Rows whose result does not depend on their numbers.
enum class RowKind { kPlain, kEmpty, kNaN };

SRP_HD RowKind row_kind(const Softmax& student, const Softmax& teacher) {
  const bool bad = !(student.max < INFINITY) || !(teacher.max < INFINITY);
  if (bad) return RowKind::kNaN;
  return student.finite() && teacher.finite() ? RowKind::kPlain : RowKind::kEmpty;
}

SRP_HD bool row_kept(const uint8_t* mask, int64_t n) { return !mask || mask[n]; }

inline srp_status check_logit_rows(int32_t dtype, int64_t N, int64_t V, int64_t K) {
  SRP_TRY(check_any_float(dtype));
  SRP_TRY(check_count("N", N));
  SRP_TRY(check_count("V", V));
  SRP_TRY(check_count("K", K));
  if (V > INT32_MAX) return fail(SRP_BAD_SHAPE, "V is %lld, ids are int32", static_cast<long long>(V));
  if (K > V)
    return fail(SRP_BAD_SHAPE, "K is %lld, expected at most V = %lld", static_cast<long long>(K),
                static_cast<long long>(V));
  return SRP_OK;
}

inline srp_status check_stride(const char* name, int64_t stride, int64_t V, int64_t N) {
  SRP_TRY(check_count(name, stride));
  if (stride < V)
    return fail(SRP_BAD_SHAPE, "%s is %lld, expected V = %lld or more", name, static_cast<long long>(stride),
                static_cast<long long>(V));
  if (N > 0 && stride > INT64_MAX / 8 / N) return fail(SRP_BAD_SHAPE, "N * %s does not fit in memory", name);
  return SRP_OK;
}

inline srp_status check(const srp_divergence_rows_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_logit_rows(a->dtype, a->N, a->V, a->K));
  SRP_TRY(check_stride("student_stride", a->student_stride, a->V, a->N));
  SRP_TRY(check_stride("teacher_stride", a->teacher_stride, a->V, a->N));
  SRP_TRY(check_range("beta", a->beta, 0, 1));
  SRP_TRY(check_range("temperature", a->temperature, 1e-30, 1e30));
  SRP_TRY(check_enum("outside", a->outside, SRP_OUTSIDE_POOLED));
  if (a->outside == SRP_OUTSIDE_POOLED) SRP_TRY(check_range("tail_floor", a->tail_floor, 1e-12, 0.5));
  if (a->support ? a->K == 0 && a->N > 0 : a->K > 0 || a->outside != SRP_OUTSIDE_DROPPED)
    return fail(SRP_BAD_ARGUMENT, "a support needs ids and K > 0, no support neither K nor a pool");
  if (a->support && a->grad_student && a->grad_student == a->student && a->N > 0)
    return fail(SRP_BAD_ARGUMENT, "grad is student, expected memory of its own with a support");
  SRP_TRY(check_pointer("student", a->student, a->student_stride == 0 ? 0 : a->N));
  SRP_TRY(check_pointer("teacher", a->teacher, a->teacher_stride == 0 ? 0 : a->N));
  const void* const output = a->divergences ? static_cast<const void*>(a->divergences) : a->grad_student;
  return check_pointer("divergence and grad", output, a->N);
}

inline srp_status check(const srp_divergence_top_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_logit_rows(a->dtype, a->N, a->V, a->K));
  SRP_TRY(check_stride("stride", a->stride, a->V, a->N));
  SRP_TRY(check_pointer("logits", a->logits, a->stride == 0 ? 0 : a->N));
  return check_pointer("ids", a->ids, a->K == 0 ? 0 : a->N);
}

}  // namespace srp

#endif
