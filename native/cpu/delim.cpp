// Spans between delimiters (contract: surprisal/delim.h), one row after the other from its first token to its last, a few
// registers of tokens at a time where the level has them.
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include <memory>

#include "level.h"
#include "shared/delim.h"

namespace srp::cpu {
namespace {

// A delimiter and the ids that its alternatives begin with, built once per call: a few ids are compared one by one, many ids
// go through a filter.
struct Pattern {
  explicit Pattern(const Delimiter& d) : delimiter(d) {
    for (int64_t k = 0; k < d.count; ++k) {
      const int32_t id = d.ids[d.offsets[k]];
      const uint32_t bit = first_id_bit(id);
      first_ids[bit / 32] |= 1u << (bit % 32);
      bool known = false;
      for (int64_t j = 0; j < few && few <= kMostFound; ++j) known = known || few_ids[j] == id;
      if (known || few > kMostFound) continue;
      if (few < kMostFound) few_ids[few] = id;
      ++few;
    }
  }

  // The first position in [from, to) that may begin a match; kStrange if a token before it is no int32.
  template <class Id>
  int64_t candidate(const Id* row, int64_t from, int64_t to) const {
    const Kernels* const level = kernels();
    if (level && few > 0 && few <= kMostFound) return level->tokens.of<Id>().find(row, from, to, few_ids, few);
    for (; from < to; ++from) {
      if (!is_int32(row[from])) return kStrange;
      if (may_begin(first_ids, row[from])) return from;
    }
    return to;
  }

  const Delimiter delimiter;
  uint32_t first_ids[kFirstIdWords] = {};
  int32_t few_ids[kMostFound] = {};
  int64_t few = 0;  // different first ids, kMostFound + 1 for more
};

// A walk reads every token of a row except those inside a match, so it finds every token that is no int32. It then sets `strange`,
// and the rest of the walk has no meaning.
template <class Id>
class TokenFinder {
 public:
  TokenFinder(const Pattern& pattern, const Id* row, int64_t length, bool* strange)
      : pattern_(pattern), row_(row), length_(length), strange_(strange) {}

  int64_t first(int64_t from, int64_t to) const {
    for (; from < to; ++from) {
      from = pattern_.candidate(row_, from, to);
      if (from == kStrange) {
        *strange_ = true;
        return to;
      }
      if (from < to && match(from).alternative >= 0) return from;
    }
    return to;
  }
  Match match(int64_t position) const { return match_at(pattern_.delimiter, row_, length_, position); }

 private:
  const Pattern& pattern_;
  const Id* row_;
  const int64_t length_;
  bool* const strange_;
};

// Counts every span, and writes as many as the list has room for.
struct SpanWriter {
  const srp_delim_spans_args& a;
  int64_t row;
  int64_t count;

  void operator()(int64_t begin, int64_t finish, int32_t start_alternative, int32_t end_alternative) {
    const int64_t s = count++;
    if (s >= a.capacity) return;
    a.spans[3 * s] = static_cast<int32_t>(row);
    a.spans[3 * s + 1] = static_cast<int32_t>(begin);
    a.spans[3 * s + 2] = static_cast<int32_t>(finish);
    if (!a.alternatives) return;
    a.alternatives[2 * s] = start_alternative;
    a.alternatives[2 * s + 1] = end_alternative;
  }
};

srp_status check_lengths(const srp_delim_spans_args& a) {
  for (int64_t b = 0; a.lengths && b < a.B; ++b)
    if (!token_range(a, b).valid)
      return fail(SRP_OUT_OF_RANGE, "lengths[%lld] is %d, expected 0..%lld", static_cast<long long>(b), a.lengths[b],
                  static_cast<long long>(a.T));
  return SRP_OK;
}

template <class Args>
srp_status check_spans(const Args& a) {
  SRP_TRY(check_offsets("offsets", a.offsets, a.B, a.n));
  for (int64_t s = 0; s < a.S; ++s)
    if (!span_range(a.spans, a.offsets, a.n, a.B, a.T, s).valid)
      return fail(SRP_OUT_OF_RANGE, "span %lld is (row %d, %d, %d), outside its row", static_cast<long long>(s),
                  a.spans[3 * s], a.spans[3 * s + 1], a.spans[3 * s + 2]);
  return SRP_OK;
}

template <class F>
void means(const srp_delim_means_args& a) {
  const F* const values = static_cast<const F*>(a.values);
  for (int64_t s = 0; s < a.S; ++s) {
    const Range span = span_range(a.spans, a.offsets, a.n, a.B, a.T, s);
    double sum = 0;
    for (int64_t i = span.begin; i < span.end; ++i) sum += load(values, i);
    a.means[s] = sum / static_cast<double>(span.end - span.begin);  // an empty span: 0 / 0 = NaN
  }
}

// Counts the n-grams of a row. A table holds where each was first seen; a slot is -1 or a position in the row.
void ngrams_of_row(const srp_delim_ngrams_args& a, int64_t b, int32_t* table) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  const int64_t slots = 2 * (row.end - row.begin);
  for (int64_t s = 0; s < slots; ++s) table[s] = -1;
  int32_t total = 0, distinct = 0;
  for (int64_t i = row.begin; i < row.end; ++i) {
    if (!ngram_at(a, row, i)) continue;
    ++total;
    int64_t slot = ngram_slot(a, i, slots);
    while (table[slot] >= 0 && !same_ngram(a, row.begin + table[slot], i)) slot = slot + 1 < slots ? slot + 1 : 0;
    if (table[slot] >= 0) continue;
    table[slot] = static_cast<int32_t>(i - row.begin);
    ++distinct;
  }
  a.counts[2 * b] = total;
  a.counts[2 * b + 1] = distinct;
}

// The error for a row in which a walk found a token that is no int32.
srp_status refuse_token(const int64_t* tokens, Range range) {
  int64_t i = range.begin;
  while (i < range.end && is_int32(tokens[i])) ++i;
  return fail(SRP_OUT_OF_RANGE, "tokens[%lld] is %lld, expected an int32", static_cast<long long>(i),
              static_cast<long long>(tokens[i]));
}
srp_status refuse_token(const int32_t*, Range) { return SRP_OK; }

template <class Id>
srp_status spans(const srp_delim_spans_args& a) {
  const Id* const tokens = static_cast<const Id*>(a.tokens);
  const Pattern head_pattern(head_of(a)), start_pattern(start_of(a)), end_pattern(end_of(a));
  SpanWriter writer = {a, 0, 0};
  for (int64_t b = 0; b < a.B; ++b) {
    writer.row = b;
    const Range range = token_range(a, b);
    const Id* const row = tokens + range.begin;
    const int64_t length = range.end - range.begin;
    bool strange = false;
    TokenFinder<Id> head(head_pattern, row, length, &strange), start(start_pattern, row, length, &strange),
        end(end_pattern, row, length, &strange);
    RowWalk<TokenFinder<Id>, SpanWriter> walk(a, length, start, end, writer);
    if (a.head_count > 0) walk.head(head);
    if (!strange) walk.spans();
    if (strange) return refuse_token(tokens, range);
  }
  *a.count = writer.count;
  return SRP_OK;
}

}  // namespace

srp_status delim_spans(srp_queue*, const srp_delim_spans_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_lengths(*a));
  SRP_TRY(check_alternatives("start", start_of(*a)));
  SRP_TRY(check_alternatives("end", end_of(*a)));
  SRP_TRY(check_alternatives("head", head_of(*a)));
  return a->dtype == SRP_I64 ? spans<int64_t>(*a) : spans<int32_t>(*a);
}

srp_status delim_means(srp_queue*, const srp_delim_means_args* given) {
  SRP_TRY(check(given));
  srp_delim_means_args a = *given;
  SRP_TRY(keep_found(&a));
  SRP_TRY(check_spans(a));
  for (int64_t s = a.S; s < given->S; ++s) a.means[s] = 0;
  if (a.dtype == SRP_F64)
    means<double>(a);
  else
    means<float>(a);
  return SRP_OK;
}

srp_status delim_ngrams(srp_queue*, const srp_delim_ngrams_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  int64_t longest = 1;
  for (int64_t b = 0; b < a->B; ++b) {
    const Range row = row_range(a->offsets, a->T, a->n, b);
    if (row.end - row.begin > longest) longest = row.end - row.begin;
  }
  const std::unique_ptr<int32_t[]> table(new (std::nothrow) int32_t[static_cast<size_t>(2 * longest)]);
  if (!table) return fail(SRP_OUT_OF_MEMORY, "out of memory: a row of %lld tokens", static_cast<long long>(longest));
  for (int64_t b = 0; b < a->B; ++b) ngrams_of_row(*a, b, table.get());
  return SRP_OK;
}

srp_status delim_mask(srp_queue*, const srp_delim_mask_args* given) {
  SRP_TRY(check(given));
  srp_delim_mask_args a = *given;
  SRP_TRY(keep_found(&a));
  SRP_TRY(check_spans(a));
  if (a.n == 0) return SRP_OK;
  // For each token, how far the spans that begin there reach. The running maximum covers nested spans in one pass.
  const std::unique_ptr<int64_t, void (*)(void*)> reach(
      static_cast<int64_t*>(calloc(static_cast<size_t>(a.n), sizeof(int64_t))), free);
  if (!reach) return fail(SRP_OUT_OF_MEMORY, "out of memory: %lld tokens", static_cast<long long>(a.n));
  for (int64_t s = 0; s < a.S; ++s) {
    const Range span = span_range(a.spans, a.offsets, a.n, a.B, a.T, s);
    if (span.begin < span.end && reach.get()[span.begin] < span.end) reach.get()[span.begin] = span.end;
  }
  int64_t covered = 0;  // a span ends with its row, so the flat array needs no row by row
  for (int64_t i = 0; i < a.n; ++i) {
    if (reach.get()[i] > covered) covered = reach.get()[i];
    a.mask[i] = i < covered;
  }
  return SRP_OK;
}

}  // namespace srp::cpu
