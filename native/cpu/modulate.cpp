// Entropy modulation (contract: surprisal/modulate.h), each formula in the order of its text.
#include <math.h>

#include <memory>
#include <new>

#include "backend.h"
#include "surprisal/modulate_weights.h"

namespace srp::cpu {
namespace {

template <class T>
using Buffer = std::unique_ptr<T[]>;

// No exceptions here: nullptr when there is no memory.
template <class T>
Buffer<T> allocate(int64_t count) {
  return Buffer<T>(new (std::nothrow) T[static_cast<size_t>(count)]());
}

srp_status no_memory(const char* op) { return fail(SRP_OUT_OF_MEMORY, "%s: out of memory", op); }

// NaN wins: fmin and fmax would drop it.
double lower(double a, double b) { return (a != a || a <= b) ? a : b; }
double upper(double a, double b) { return (a != a || a >= b) ? a : b; }

void weigh_steps(const srp_modulate_steps_args& a) {
  double low = a.entropy[0], high = a.entropy[0];
  for (int64_t s = 1; s < a.S; ++s) {
    low = lower(low, a.entropy[s]);
    high = upper(high, a.entropy[s]);
  }
  double sum = 0;
  for (int64_t s = 0; s < a.S; ++s) sum += step_weights(a, low, high, s).calibrated;
  const double mean = sum / static_cast<double>(a.S);
  for (int64_t s = 0; s < a.S; ++s) {
    const StepWeights weights = step_weights(a, low, high, s);
    if (a.entropy_norm) a.entropy_norm[s] = weights.norm;
    if (a.scale) a.scale[s] = weights.calibrated / (mean + a.epsilon);
    if (a.clarity) a.clarity[s] = weights.clarity;
  }
}

srp_status check_spans(const srp_modulate_spans_args& a) {
  int64_t previous = 0;
  for (int64_t s = 0; s < a.S; ++s) {
    const Span span = span_at(a.spans, s);
    const long long at = s, row = span.row, begin = span.begin, finish = span.finish;
    if (span.row < 0 || span.row >= a.B)
      return fail(SRP_OUT_OF_RANGE, "spans[%lld] has row %lld, expected 0..%lld", at, row,
                  static_cast<long long>(a.B - 1));
    if (span.row < previous)
      return fail(SRP_OUT_OF_RANGE, "spans[%lld] has row %lld behind row %lld: sort spans by row", at, row,
                  static_cast<long long>(previous));
    const Range range = row_range(a.offsets, a.T, a.n, span.row);
    const int64_t length = range.end - range.begin;
    if (span.begin < 0 || span.finish <= span.begin || span.finish > length)
      return fail(SRP_OUT_OF_RANGE,
                  "spans[%lld] is [%lld, %lld), expected a range of 1 or more tokens in a row of %lld", at, begin,
                  finish, static_cast<long long>(length));
    previous = span.row;
  }
  return SRP_OK;
}

template <class F>
srp_status modulate(const srp_modulate_spans_args& a) {
  const F* const advantages = static_cast<const F*>(a.advantages);
  F* const out = static_cast<F*>(a.out);
  // float64 between the spans, so that a token in several of them is rounded once.
  const Buffer<double> modulated = allocate<double>(a.n);
  const Buffer<bool> inside = allocate<bool>(a.n);
  if (!modulated || !inside) return no_memory("modulate_spans");
  for (int64_t i = 0; i < a.n; ++i) modulated[i] = load(advantages, i);
  for (int64_t s = 0; s < a.S; ++s) {
    const Span span = span_at(a.spans, s);
    const int64_t first = row_range(a.offsets, a.T, a.n, span.row).begin;
    const double bonus = span_bonus(a, s);
    for (int64_t i = first + span.begin; i < first + span.finish; ++i) {
      modulated[i] = modulated[i] * a.scale[s] + bonus;
      inside[i] = true;
    }
  }
  double sum = 0;
  for (int64_t s = 0; s < a.S; ++s) {
    const Span span = span_at(a.spans, s);
    sum += modulated[row_range(a.offsets, a.T, a.n, span.row).begin + span.begin];
  }
  const double mean = a.S > 0 ? sum / static_cast<double>(a.S) : 0;
  for (int64_t i = 0; i < a.n; ++i)
    store(out, i, a.S > 0 && in_scope(a, i, inside[i]) ? modulated[i] - mean : modulated[i]);
  *a.mean = mean;
  return SRP_OK;
}

struct RowEntropy {
  double mean;
  int64_t length;
  bool valid;
};

template <class F>
void measure_rows(const srp_modulate_rows_args& a, RowEntropy* rows) {
  const F* const entropy = static_cast<const F*>(a.entropy);
  for (int64_t b = 0; b < a.B; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    double sum = 0;
    int64_t length = 0;
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (a.mask && !a.mask[i]) continue;
      sum += load(entropy, i);
      ++length;
    }
    const double mean = length > 0 ? (a.negate ? -sum : sum) / static_cast<double>(length) : 0;
    rows[b] = {mean, length, row_valid(a, mean, length)};
  }
}

GroupEntropy measure_group(const srp_modulate_rows_args& a, const RowEntropy* rows, int64_t begin, int64_t end) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    const RowEntropy& row = rows[member(a.members, i)];
    if (row_poisons(a, row.mean)) sum = NAN;
    if (!row.valid) continue;
    sum += row.mean;
    ++count;
  }
  const double mean = count > 0 ? sum / static_cast<double>(count) : NAN;
  double squares = 0;
  for (int64_t i = begin; i < end; ++i) {
    const RowEntropy& row = rows[member(a.members, i)];
    if (row.valid) squares += (row.mean - mean) * (row.mean - mean);
  }
  return entropy_statistics(a, count, mean, squares);
}

void weigh_rows(const srp_modulate_rows_args& a, const RowEntropy* rows) {
  for (int64_t g = 0; g < a.G; ++g) {
    const int64_t begin = a.group_offsets[g], end = a.group_offsets[g + 1];
    const GroupEntropy group = measure_group(a, rows, begin, end);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = member(a.members, i);
      const double ratio = row_ratio(a, group, rows[b].mean, rows[b].valid);
      if (a.sequence_entropy) a.sequence_entropy[b] = rows[b].mean;
      if (a.group_mean) a.group_mean[b] = group.mean;
      if (a.ratio) a.ratio[b] = ratio;
      if (a.weight) a.weight[b] = row_weight(a, b, ratio);
      if (a.length) a.length[b] = static_cast<int32_t>(rows[b].length);
      if (a.valid) a.valid[b] = rows[b].valid;
    }
  }
}

}  // namespace

srp_status modulate_steps(srp_queue*, const srp_modulate_steps_args* a) {
  SRP_TRY(check(a));
  if (a->S > 0) weigh_steps(*a);
  return SRP_OK;
}

srp_status modulate_spans(srp_queue*, const srp_modulate_spans_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_spans(*a));
  return a->dtype == SRP_F64 ? modulate<double>(*a) : modulate<float>(*a);
}

srp_status modulate_rows(srp_queue*, const srp_modulate_rows_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_offsets("group_offsets", a->group_offsets, a->G, a->B));
  SRP_TRY(check_indices("members", a->members, a->B, a->B));
  const Buffer<RowEntropy> rows = allocate<RowEntropy>(a->B);
  if (!rows) return no_memory("modulate_rows");
  if (a->dtype == SRP_F64)
    measure_rows<double>(*a, rows.get());
  else
    measure_rows<float>(*a, rows.get());
  weigh_rows(*a, rows.get());
  return SRP_OK;
}

}  // namespace srp::cpu
