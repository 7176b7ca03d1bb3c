// Entropy modulation (contract: surprisal/modulate.h). Operations follow the order of the formulas there.
#include <math.h>

#include <initializer_list>
#include <memory>
#include <new>

#include "backend.h"
#include "level.h"
#include "pool.h"
#include "shared/modulate.h"

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

// Returns NaN if either is NaN, unlike fmin and fmax.
double lower(double a, double b) { return (a != a || a <= b) ? a : b; }
double upper(double a, double b) { return (a != a || a >= b) ? a : b; }

void weigh_steps(const srp_modulate_steps_args& a) {
  double low = a.entropies[0], high = a.entropies[0];
  for (int64_t s = 1; s < a.S; ++s) {
    low = lower(low, a.entropies[s]);
    high = upper(high, a.entropies[s]);
  }
  double sum = 0;
  for (int64_t s = 0; s < a.S; ++s) sum += step_weights(a, low, high, s).calibrated;
  const double mean = sum / static_cast<double>(a.S);
  for (int64_t s = 0; s < a.S; ++s) {
    const StepWeights weights = step_weights(a, low, high, s);
    if (a.entropy_norms) a.entropy_norms[s] = weights.norm;
    if (a.scales) a.scales[s] = weights.calibrated / (mean + a.epsilon);
    if (a.clarities) a.clarities[s] = weights.clarity;
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

int64_t longest_row(const srp_modulate_spans_args& a) {
  int64_t most = 0;
  for (int64_t b = 0; b < a.B; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    most = row.end - row.begin > most ? row.end - row.begin : most;
  }
  return most;
}

// The spans [first, last) of one row, and whether each begins only after all before it have ended.
struct RowSpans {
  int64_t first, last;
  bool apart;
};

RowSpans spans_from(const srp_modulate_spans_args& a, int64_t first) {
  const int64_t row = span_at(a.spans, first).row;
  RowSpans spans = {first, first, true};
  for (int64_t finish = 0; spans.last < a.S && span_at(a.spans, spans.last).row == row; ++spans.last) {
    const Span span = span_at(a.spans, spans.last);
    spans.apart = spans.apart && span.begin >= finish;
    finish = span.finish;
  }
  return spans;
}

// The tokens of a row in float64 while overlapping spans are applied, so that a token in several spans is rounded once.
struct RowBuffer {
  Buffer<double> modulated;
  Buffer<bool> inside;
};

template <class F>
void compound(const srp_modulate_spans_args& a, Range row, const RowSpans& spans, const RowBuffer& to) {
  const F* const advantages = static_cast<const F*>(a.advantages) + row.begin;
  for (int64_t t = 0; t < row.end - row.begin; ++t) {
    to.modulated[t] = load(advantages, t);
    to.inside[t] = false;
  }
  for (int64_t s = spans.first; s < spans.last; ++s) {
    const Span span = span_at(a.spans, s);
    const double bonus = span_bonus(a, s);
    for (int64_t t = span.begin; t < span.finish; ++t) {
      to.modulated[t] = to.modulated[t] * a.scales[s] + bonus;
      to.inside[t] = true;
    }
  }
}

// The mean over spans of the modulated advantage at each span's first token.
template <class F>
double mean_of_heads(const srp_modulate_spans_args& a, const RowBuffer& buffer) {
  double sum = 0;
  RowSpans spans;
  for (int64_t first = 0; first < a.S; first = spans.last) {
    spans = spans_from(a, first);
    const Range row = row_range(a.offsets, a.T, a.n, span_at(a.spans, first).row);
    if (!spans.apart) compound<F>(a, row, spans, buffer);
    for (int64_t s = first; s < spans.last; ++s) {
      const int64_t begin = span_at(a.spans, s).begin;
      const double head = load(static_cast<const F*>(a.advantages), row.begin + begin);
      sum += spans.apart ? head * a.scales[s] + span_bonus(a, s) : buffer.modulated[begin];
    }
  }
  return a.S > 0 ? sum / static_cast<double>(a.S) : 0;
}

// Modulates tokens [begin, end), all of which lie in the same single span or in none.
template <class F>
void modulate_part(const srp_modulate_spans_args& a, int64_t begin, int64_t end, SpanMap<F> map, bool inside) {
  const bool shifts = a.scope == SRP_SCOPE_ALL || a.scope == SRP_SCOPE_MASK || inside;
  if (!shifts) map.shift = 0;
  map.mask = a.scope == SRP_SCOPE_MASK && map.shift != 0 ? a.mask : nullptr;
  if (const Kernels* const level = kernels()) return level->floats.of<F>().modulate(map, begin, end);
  for (int64_t i = begin; i < end; ++i) {
    const double y = load(map.values, i) * map.scale + map.bonus;
    store(map.out, i, !map.mask || map.mask[i] ? y - map.shift : y);
  }
}

template <class F>
void modulate_row(const srp_modulate_spans_args& a, Range row, const RowSpans& spans, double mean,
                  const RowBuffer& buffer) {
  if (!spans.apart) {
    compound<F>(a, row, spans, buffer);
    for (int64_t i = row.begin, t = 0; i < row.end; ++i, ++t)
      store(static_cast<F*>(a.modulated), i,
            in_scope(a, i, buffer.inside[t]) ? buffer.modulated[t] - mean : buffer.modulated[t]);
    return;
  }
  const SpanMap<F> plain = {static_cast<const F*>(a.advantages),
                            nullptr,
                            static_cast<F*>(a.modulated),
                            1,
                            -0.0,
                            mean};  // x + -0 is x, for -0 too
  int64_t at = row.begin;
  for (int64_t s = spans.first; s < spans.last; ++s) {
    const Span span = span_at(a.spans, s);
    modulate_part<F>(a, at, row.begin + span.begin, plain, false);
    SpanMap<F> map = plain;
    map.scale = a.scales[s];
    map.bonus = span_bonus(a, s);
    at = row.begin + span.finish;
    modulate_part<F>(a, row.begin + span.begin, at, map, true);
  }
  modulate_part<F>(a, at, row.end, plain, false);
}

// The first span at or behind row b.
int64_t first_span(const srp_modulate_spans_args& a, int64_t b) {
  int64_t low = 0, high = a.S;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (span_at(a.spans, middle).row < b)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class F>
void modulate_rows_of(const srp_modulate_spans_args& a, double mean, const RowBuffer& buffer, int64_t first,
                      int64_t last) {
  int64_t s = first_span(a, first);
  for (int64_t b = first; b < last; ++b) {
    const bool any = s < a.S && span_at(a.spans, s).row == b;
    const RowSpans spans = any ? spans_from(a, s) : RowSpans{s, s, true};
    modulate_row<F>(a, row_range(a.offsets, a.T, a.n, b), spans, mean, buffer);
    s = spans.last;
  }
}

bool all_apart(const srp_modulate_spans_args& a) {
  for (int64_t s = 0; s < a.S;) {
    const RowSpans spans = spans_from(a, s);
    if (!spans.apart) return false;
    s = spans.last;
  }
  return true;
}

template <class F>
srp_status modulate(const srp_modulate_spans_args& a) {
  const bool apart = all_apart(a);
  RowBuffer buffer;
  if (!apart) {
    const int64_t most = longest_row(a);
    buffer = {allocate<double>(most), allocate<bool>(most)};
    if (!buffer.modulated || !buffer.inside) return no_memory("modulate_spans");
  }
  const double mean = mean_of_heads<F>(a, buffer);
  *a.mean = mean;
  // Rows with spans that compound share the buffer.
  if (!apart || a.B == 0) {
    modulate_rows_of<F>(a, mean, buffer, 0, a.B);
    return SRP_OK;
  }
  return parallel_rows(a.B, 3 * int64_t{sizeof(F)} * (a.n / a.B + 1),
                       [&](int64_t begin, int64_t end) { modulate_rows_of<F>(a, mean, buffer, begin, end); });
}

struct RowEntropy {
  double mean;
  int64_t length;
  bool valid;
};

template <class F>
LogSum sum_of_row(const srp_modulate_rows_args& a, Range range) {
  const F* const entropy = static_cast<const F*>(a.values);
  if (const Kernels* const level = kernels())
    return level->floats.of<F>().reduce.sum(entropy, a.mask, range.begin, range.end);
  LogSum row = {0, 0};
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (a.mask && !a.mask[i]) continue;
    row.sum += load(entropy, i);
    row.kept += 1;
  }
  return row;
}

template <class F>
srp_status measure_rows(const srp_modulate_rows_args& a, RowEntropy* rows) {
  return parallel_rows_of(a.B, a.n, int64_t{sizeof(F) + 1}, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const LogSum row = sum_of_row<F>(a, row_range(a.offsets, a.T, a.n, b));
      const double mean = row.kept > 0 ? (a.negate ? -row.sum : row.sum) / static_cast<double>(row.kept) : 0;
      rows[b] = {mean, row.kept, row_valid(a, mean, row.kept)};
    }
  });
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
      if (a.sequence_entropies) a.sequence_entropies[b] = rows[b].mean;
      if (a.group_mean_entropies) a.group_mean_entropies[b] = group.mean;
      if (a.entropy_ratios) a.entropy_ratios[b] = ratio;
      if (a.weights) a.weights[b] = row_weight(a, b, ratio);
      if (a.lengths) a.lengths[b] = static_cast<int32_t>(rows[b].length);
      if (a.valid) a.valid[b] = rows[b].valid;
    }
  }
}

}  // namespace

srp_status modulate_steps(srp_queue*, const srp_modulate_steps_args* given) {
  SRP_TRY(check(given));
  srp_modulate_steps_args a = *given;
  SRP_TRY(keep_found(&a));
  for (int64_t s = 0; a.finite && s < a.S; ++s)
    if (!is_finite(a.entropies[s]))
      return fail(SRP_NOT_FINITE, "entropy[%lld] is %g, expected a finite number", static_cast<long long>(s),
                  a.entropies[s]);
  for (double* const out : {a.entropy_norms, a.scales, a.clarities})
    for (int64_t s = a.S; out && s < given->S; ++s) out[s] = 0;
  if (a.S > 0) weigh_steps(a);
  return SRP_OK;
}

srp_status modulate_spans(srp_queue*, const srp_modulate_spans_args* given) {
  SRP_TRY(check(given));
  srp_modulate_spans_args a = *given;
  SRP_TRY(keep_found(&a));
  SRP_TRY(check_offsets("offsets", a.offsets, a.B, a.n));
  SRP_TRY(check_spans(a));
  return a.dtype == SRP_F64 ? modulate<double>(a) : modulate<float>(a);
}

srp_status modulate_rows(srp_queue*, const srp_modulate_rows_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_offsets("group_offsets", a->group_offsets, a->G, a->B));
  SRP_TRY(check_indices("members", a->members, a->B, a->B));
  const Buffer<RowEntropy> rows = allocate<RowEntropy>(a->B);
  if (!rows) return no_memory("modulate_rows");
  SRP_TRY(a->dtype == SRP_F64 ? measure_rows<double>(*a, rows.get()) : measure_rows<float>(*a, rows.get()));
  weigh_rows(*a, rows.get());
  return SRP_OK;
}

}  // namespace srp::cpu
