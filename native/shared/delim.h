// Matching delimiters, walking a row from span to span (contract: delim.h), and the checks of the arguments.
//
// The walk is the same text for every native backend. What differs is how the next match is found: a backend brings a
// Finder, one token at a time on the CPU, a warp at a time in CUDA:
//
//   int64_t first(int64_t from, int64_t to)   smallest position in [from, to) where the delimiter matches, `to` without any
//   Match match(int64_t position)             which alternative matches there
#ifndef SURPRISAL_SHARED_DELIM_H
#define SURPRISAL_SHARED_DELIM_H

#include "shared/checks.h"
#include "shared/rows.h"
#include "surprisal/delim.h"

// A walk calls its Finder, which under nvcc is device code only.
#if defined(__CUDACC__)
#define SRP_WALK __device__ __forceinline__
#else
#define SRP_WALK inline
#endif

namespace srp {

struct Delimiter {
  const int32_t *ids, *offsets;
  int64_t count, size;
};

SRP_HD Delimiter start_of(const srp_delim_spans_args& a) {
  return {a.start_ids, a.start_offsets, a.start_count, a.start_size};
}
SRP_HD Delimiter end_of(const srp_delim_spans_args& a) { return {a.end_ids, a.end_offsets, a.end_count, a.end_size}; }
SRP_HD Delimiter head_of(const srp_delim_spans_args& a) {
  return {a.head_ids, a.head_offsets, a.head_count, a.head_size};
}

struct Match {
  int32_t alternative;  // -1: none matches
  int64_t length;
};

// The longest alternative that matches at `position` of a row with `length` tokens; of equal ones the first listed.
// An alternative that is empty or outside its array (a CUDA backend can't refuse it up front) never matches.
template <class Id>
SRP_HD Match match_at(const Delimiter& d, const Id* row, int64_t length, int64_t position) {
  Match best = {-1, 0};
  for (int64_t k = 0; k < d.count; ++k) {
    const Range alternative = row_range(d.offsets, 0, d.size, k);
    const int64_t ids = alternative.end - alternative.begin;
    if (ids <= best.length || ids > length - position) continue;
    int64_t same = 0;
    while (same < ids && row[position + same] == d.ids[alternative.begin + same]) ++same;
    if (same == ids) best = {static_cast<int32_t>(k), ids};
  }
  return best;
}

// Which ids may begin an alternative: a bit per hash value. A string has hundreds of alternatives when all that a tokenizer
// can merge it with is listed; one look here rules out most tokens, however many alternatives there are.
constexpr int kFirstIdWords = 128;

SRP_HD uint32_t first_id_bit(int32_t id) { return (static_cast<uint32_t>(id) * 0x9e3779b1u) >> 20; }  // 0..4095

SRP_HD bool is_int32(int64_t id) { return id == static_cast<int32_t>(id); }

// The table is indexed by the low half of an int64 id; a match compares all of it.
SRP_HD bool may_begin(const uint32_t* first_ids, int64_t id) {
  const uint32_t bit = first_id_bit(static_cast<int32_t>(id));
  return first_ids[bit / 32] >> (bit % 32) & 1u;
}

// The tokens of row b that may match; not valid when its offsets or its length point outside.
SRP_HD Range token_range(const srp_delim_spans_args& a, int64_t b) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (a.offsets || !a.lengths) return row;
  if (a.lengths[b] < 0 || a.lengths[b] > a.T) return {0, 0, false};
  return {row.begin, row.begin + a.lengths[b], true};
}

// Emit: void operator()(int64_t begin, int64_t finish, int32_t start_alternative, int32_t end_alternative)
template <class Finder, class Emit>
class RowWalk {
 public:
  SRP_WALK RowWalk(const srp_delim_spans_args& args, int64_t length, Finder& start, Finder& end, Emit& emit)
      : a(args), length_(length), start_(start), end_(end), emit_(emit) {}

  SRP_WALK void head(Finder& finder) {
    const int64_t p = finder.first(0, length_);
    if (p == length_) return;
    const Match match = finder.match(p);
    emit_(0, p + match.length, SRP_HEAD_SPAN, match.alternative);
  }

  SRP_WALK void spans() {
    int64_t i = 0;
    if (a.starts_open) {
      const int64_t resume = open(0, SRP_ROW_STARTS_OPEN);
      if (!a.overlapping) i = resume;
    }
    while ((i = start_.first(i, length_)) < length_) {
      const Match match = start_.match(i);
      const int64_t resume = open(i + match.length, match.alternative);
      i = a.overlapping ? i + 1 : resume;
    }
  }

 private:
  // Emits the span whose content begins at b. Returns where a scan without overlap continues.
  SRP_WALK int64_t open(int64_t b, int32_t start_alternative) {
    const int64_t j = next_end(b);
    if (j == length_) {
      if (a.unterminated_keep && b < length_) emit_(b, length_, start_alternative, SRP_UNTERMINATED);
      return length_;
    }
    const Match match = end_.match(j);
    const int64_t included = a.include_end == SRP_END_ALL ? match.length : a.include_end == SRP_END_FIRST ? 1 : 0;
    if (j + included > b) emit_(b, j + included, start_alternative, match.alternative);
    return j + match.length;
  }

  // First end at or behind b. The last result is kept with its position: many starts share one far end, and
  // searching it anew for each would be quadratic. A short start behind a long one can ask for a smaller b than before;
  // then only the few tokens between the two are searched.
  SRP_WALK int64_t next_end(int64_t b) {
    if (b > at_) {
      from_ = b;
      at_ = end_.first(b, length_);
    } else if (b < from_) {
      const int64_t earlier = end_.first(b, from_);
      if (earlier < from_) return earlier;
    }
    return at_;
  }

  const srp_delim_spans_args& a;
  const int64_t length_;
  Finder &start_, &end_;
  Emit& emit_;
  int64_t from_ = 0, at_ = -1;  // at_ is the first end at or behind from_; -1: not searched yet
};

// Elements of span s in the flat array; not valid when it points outside. Its row must be a valid one.
SRP_HD Range span_range(const int32_t* spans, const int32_t* offsets, int64_t n, int64_t B, int64_t T, int64_t s) {
  const int64_t b = spans[3 * s], begin = spans[3 * s + 1], finish = spans[3 * s + 2];
  if (b < 0 || b >= B) return {0, 0, false};
  const Range row = row_range(offsets, T, n, b);
  if (!row.valid || begin < 0 || finish < begin || finish > row.end - row.begin) return {0, 0, false};
  return {row.begin + begin, row.begin + finish, true};
}

inline srp_status check_delimiter(const char* name, const Delimiter& d, int64_t least) {
  if (d.count < least || d.count >= INT32_MAX)
    return fail(SRP_BAD_SHAPE, "%s has %lld alternatives, expected %lld or more", name, static_cast<long long>(d.count),
                static_cast<long long>(least));
  if (d.size < d.count)
    return fail(SRP_BAD_SHAPE, "%s has %lld ids in %lld alternatives, and none may be empty", name,
                static_cast<long long>(d.size), static_cast<long long>(d.count));
  SRP_TRY(check_pointer(name, d.ids, d.size));
  return check_pointer(name, d.offsets, d.count);
}

// Alternatives in host memory: packed without gaps, none empty.
inline srp_status check_alternatives(const char* name, const Delimiter& d) {
  if (d.count == 0) return SRP_OK;
  SRP_TRY(check_offsets(name, d.offsets, d.count, d.size));
  for (int64_t k = 0; k < d.count; ++k)
    if (d.offsets[k + 1] == d.offsets[k])
      return fail(SRP_BAD_SHAPE, "%s: alternative %lld is empty", name, static_cast<long long>(k));
  return SRP_OK;
}

inline srp_status check_span_rows(const int32_t* offsets, int64_t n, int64_t B, int64_t T) {
  SRP_TRY(check_rows(offsets, n, B, T));
  if (B <= INT32_MAX && (offsets || T <= INT32_MAX)) return SRP_OK;
  return fail(SRP_BAD_SHAPE, "B is %lld and T is %lld, both must be below 2^31", static_cast<long long>(B),
              static_cast<long long>(T));
}

inline srp_status check(const srp_delim_spans_args* a) {
  SRP_TRY(check_size(a));
  if (a->dtype != SRP_I32 && a->dtype != SRP_I64)
    return fail(SRP_BAD_DTYPE, "dtype is %d, expected int32 (%d) or int64 (%d)", a->dtype, SRP_I32, SRP_I64);
  SRP_TRY(check_span_rows(a->offsets, a->n, a->B, a->T));
  if (a->offsets && a->lengths) return fail(SRP_BAD_ARGUMENT, "lengths belong to padded rows, offsets to packed ones");
  SRP_TRY(check_delimiter("start", start_of(*a), 1));
  SRP_TRY(check_delimiter("end", end_of(*a), 1));
  SRP_TRY(check_delimiter("head", head_of(*a), 0));
  SRP_TRY(check_enum("overlapping", a->overlapping, 1));
  SRP_TRY(check_enum("include_end", a->include_end, SRP_END_NONE));
  SRP_TRY(check_enum("unterminated_keep", a->unterminated_keep, 1));
  SRP_TRY(check_enum("starts_open", a->starts_open, 1));
  SRP_TRY(check_pointer("tokens", a->tokens, a->n));
  SRP_TRY(check_count("capacity", a->capacity));
  SRP_TRY(check_pointer("spans", a->spans, a->capacity));
  return check_pointer("count", a->count, 1);
}

inline srp_status check(const srp_delim_means_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_span_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_count("S", a->S));
  SRP_TRY(check_pointer("values", a->values, a->n));
  SRP_TRY(check_pointer("spans", a->spans, a->S));
  return check_pointer("means", a->means, a->S);
}

// Whether an n-gram begins at token i of a row.
SRP_HD bool ngram_at(const srp_delim_ngrams_args& a, Range row, int64_t i) {
  if (a.length > row.end - i) return false;
  for (int64_t k = 0; a.mask && k < a.length; ++k)
    if (!a.mask[i + k]) return false;
  return true;
}

SRP_HD bool same_ngram(const srp_delim_ngrams_args& a, int64_t i, int64_t j) {
  for (int64_t k = 0; k < a.length; ++k)
    if (a.tokens[i + k] != a.tokens[j + k]) return false;
  return true;
}

// The slot of a table of `slots` where the search for the n-gram at i begins. It affects speed, not the result.
SRP_HD int64_t ngram_slot(const srp_delim_ngrams_args& a, int64_t i, int64_t slots) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (int64_t k = 0; k < a.length; ++k) {
    hash ^= static_cast<uint32_t>(a.tokens[i + k]);
    hash *= 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
  }
  return static_cast<int64_t>(hash % static_cast<uint64_t>(slots));
}

inline srp_status check(const srp_delim_ngrams_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_span_rows(a->offsets, a->n, a->B, a->T));
  if (a->length < 1)
    return fail(SRP_BAD_ARGUMENT, "length is %lld, expected 1 or more", static_cast<long long>(a->length));
  SRP_TRY(check_pointer("tokens", a->tokens, a->n));
  return check_pointer("counts", a->counts, a->B);
}

inline srp_status check(const srp_delim_mask_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_span_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_count("S", a->S));
  SRP_TRY(check_pointer("spans", a->spans, a->S));
  return check_pointer("mask", a->mask, a->n);
}

}  // namespace srp

#endif
