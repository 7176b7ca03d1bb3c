// Spans between delimiters, their means and their mask (surprisal/delim.h). Both backends give the same integers, and
// means summed in token order.
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using SpansArgs = srp_delim_spans_args;
using MeansArgs = srp_delim_means_args;
using MaskArgs = srp_delim_mask_args;
using NgramsArgs = srp_delim_ngrams_args;

constexpr int64_t kAlphabet = 4;  // few token ids, so that delimiters are everywhere

struct Alternatives {
  std::vector<int32_t> ids, offsets;
  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t size() const { return static_cast<int64_t>(ids.size()); }
};

struct Delimiters {
  Alternatives start, end, head;
};

Alternatives alternatives(Random& random, int64_t count, int64_t longest) {
  Alternatives result = {{}, {0}};
  for (int64_t k = 0; k < count; ++k) {
    for (const int32_t id : random.integers(random.integer(1, longest), 0, kAlphabet - 1)) result.ids.push_back(id);
    result.offsets.push_back(static_cast<int32_t>(result.ids.size()));
  }
  return result;
}

// `starts` alternatives of the start delimiter, a few of the others, with or without a head.
Delimiters delimiters(Random& random, int64_t starts) {
  return {alternatives(random, starts, 3), alternatives(random, random.integer(1, 3), 2),
          alternatives(random, random.integer(0, 2), 3)};
}

Call<SpansArgs> spans(Random& random, const Rows& rows, const Delimiters& d, int32_t dtype = SRP_I32) {
  Call<SpansArgs> call(&srp_backend::delim_spans);
  SpansArgs& a = call.args;
  call.rows(rows);
  a.dtype = dtype;
  const std::vector<int32_t> tokens = random.integers(rows.n, 0, kAlphabet - 1);
  call.in("tokens", &SpansArgs::tokens, dtype == SRP_I64 ? wide_ints(tokens) : ints(tokens));
  if (!rows.packed && random.chance(0.5))
    call.in("lengths", &SpansArgs::lengths, ints(random.integers(rows.B, 0, rows.T)));
  a.start_count = d.start.count();
  a.start_size = d.start.size();
  call.in("start_ids", &SpansArgs::start_ids, ints(d.start.ids));
  call.in("start_offsets", &SpansArgs::start_offsets, ints(d.start.offsets));
  a.end_count = d.end.count();
  a.end_size = d.end.size();
  call.in("end_ids", &SpansArgs::end_ids, ints(d.end.ids));
  call.in("end_offsets", &SpansArgs::end_offsets, ints(d.end.offsets));
  if (d.head.count() > 0) {
    a.head_count = d.head.count();
    a.head_size = d.head.size();
    call.in("head_ids", &SpansArgs::head_ids, ints(d.head.ids));
    call.in("head_offsets", &SpansArgs::head_offsets, ints(d.head.offsets));
  }
  // Room for none, for a few, for all there can be: one a token, one for a row that starts open, one for its head.
  a.capacity = random.one_of({int64_t{0}, int64_t{5}, rows.n + 2 * rows.B + 3});
  call.out("spans", &SpansArgs::spans, SRP_I32, 3 * a.capacity, Tolerance::exact());
  if (random.chance(0.7))
    call.out("alternatives", &SpansArgs::alternatives, SRP_I32, 2 * a.capacity, Tolerance::exact());
  call.out("count", &SpansArgs::count, SRP_I64, 1, Tolerance::exact());
  return call;
}

// The same with one token in a thousand left, the others begin no delimiter.
Call<SpansArgs> sparse(Random& random, Call<SpansArgs> call) {
  const size_t at = call.index_of("tokens");
  std::vector<int32_t> tokens = random.integers(call.args.n, 0, kAlphabet - 1);
  for (int32_t& token : tokens)
    if (!random.chance(0.001)) token = kAlphabet;
  call.arrays[at].data = ints(tokens);
  return call;
}

// Spans anywhere in the rows, in any order, overlapping, some empty. The first ones visit each row.
std::vector<int32_t> any_spans(Random& random, const Rows& rows, int64_t count) {
  std::vector<int32_t> spans;
  for (int64_t s = 0; s < count && rows.B > 0; ++s) {
    const int64_t b = s < rows.B ? s : random.integer(0, rows.B - 1);
    const int64_t length = rows.offsets[b + 1] - rows.offsets[b], begin = random.integer(0, length);
    for (const int64_t x : {b, begin, random.integer(begin, length)}) spans.push_back(static_cast<int32_t>(x));
  }
  return spans;
}

Call<MeansArgs> means(Random& random, int32_t dtype, const Rows& rows, int64_t count) {
  Call<MeansArgs> call(&srp_backend::delim_means);
  const std::vector<int32_t> spans = any_spans(random, rows, count);
  call.args.dtype = dtype;
  call.args.S = static_cast<int64_t>(spans.size()) / 3;
  call.rows(rows);
  call.in("values", &MeansArgs::values, reals(dtype, random.reals(rows.n, -1, 1)));
  call.in("spans", &MeansArgs::spans, ints(spans));
  call.out("means", &MeansArgs::means, SRP_F64, call.args.S, Tolerance::exact());
  return call;
}

Call<MaskArgs> mask(Random& random, const Rows& rows, int64_t count) {
  Call<MaskArgs> call(&srp_backend::delim_mask);
  const std::vector<int32_t> spans = any_spans(random, rows, count);
  call.args.S = static_cast<int64_t>(spans.size()) / 3;
  call.rows(rows);
  call.in("spans", &MaskArgs::spans, ints(spans));
  call.out("mask", &MaskArgs::mask, SRP_U8, rows.n, Tolerance::exact());
  return call;
}

Call<NgramsArgs> ngrams(Random& random, const Rows& rows, int64_t length) {
  Call<NgramsArgs> call(&srp_backend::delim_ngrams);
  const int64_t ids = random.one_of({int64_t{1}, int64_t{3}, int64_t{50}});
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < rows.n; ++i) tokens.push_back(static_cast<int32_t>(random.integer(0, ids)) - 1);
  call.args.length = length;
  call.rows(rows);
  call.in("tokens", &NgramsArgs::tokens, ints(tokens));
  if (random.chance(0.5)) call.in("mask", &NgramsArgs::mask, flags(random.flags(rows.n, 0.8)));
  call.out("counts", &NgramsArgs::counts, SRP_I32, rows.B * 2, Tolerance::exact());
  return call;
}

// No span, one, a few, and more than a block of 128 threads takes.
constexpr int64_t kSpanCounts[] = {0, 1, 9, 300};

void refuse_spans(Runner& run, Random& random) {
  using A = SpansArgs;
  const Rows rows = packed({3, 40, 2, 35});
  const Alternatives two = {{0, 1, 2, 3}, {0, 2, 4}};
  Call<A> good = spans(random, rows, {two, two, two});
  good.args.unterminated_keep = good.args.starts_open = 1;

  expect_struct_checks(run, good);
  refuse_enumerators(run, good, "overlapping", &A::overlapping, 1);
  refuse_enumerators(run, good, "include_end", &A::include_end, SRP_END_NONE);
  refuse_enumerators(run, good, "unterminated_keep", &A::unterminated_keep, 1);
  refuse_enumerators(run, good, "starts_open", &A::starts_open, 1);
  refuse_negative(run, good, &A::n, &A::B, &A::T, &A::capacity, &A::start_count, &A::end_count, &A::head_count,
                  &A::start_size, &A::end_size, &A::head_size);
  refuse_values(run, good, "start_count", &A::start_count, {0, INT32_MAX, INT64_MAX}, SRP_BAD_SHAPE);
  refuse_values(run, good, "end_count", &A::end_count, {0, INT32_MAX, INT64_MAX}, SRP_BAD_SHAPE);
  refuse_values(run, good, "head_size", &A::head_size, {0, 1}, SRP_BAD_SHAPE);
  refuse_null(run, good, &A::tokens, &A::count, &A::start_ids, &A::start_offsets, &A::end_ids, &A::end_offsets,
              &A::head_ids, &A::head_offsets);
  run.refused("spans is NULL", good.with([](A& a) {
    a.spans = nullptr;
    a.capacity = 1;
  }),
              SRP_BAD_ARGUMENT);
  run.refused("lengths of packed rows", good.with([](A& a) { a.lengths = a.start_ids; }), SRP_BAD_ARGUMENT);
  refuse_values(run, good, "dtype", &A::dtype, {0, -1, SRP_F32, SRP_U8, SRP_F64, INT32_MAX}, SRP_BAD_DTYPE);
  run.refused("rows of more tokens than int32", good.with([](A& a) {
    a.offsets = nullptr;
    a.B = 1;
    a.n = a.T = int64_t{1} << 31;
  }),
              SRP_BAD_SHAPE);
  mislead_offsets(run, good, "offsets", rows.B, rows.n);

  for (const char* name : {"start_offsets", "end_offsets", "head_offsets"}) {
    for (const double value : {-1.0, 1.0, 9.0, double{INT32_MIN}, double{INT32_MAX}})
      run.misled("alternatives do not begin with 0", good.with_element(name, 0, value));
    for (const double value : {-1.0, 9.0, double{INT32_MIN}, double{INT32_MAX}})
      run.misled("an alternative is outside", good.with_element(name, 1, value));
    for (const double value : {-1.0, 1.0, 3.0, 9.0, double{INT32_MIN}, double{INT32_MAX}})
      run.misled("alternatives do not reach the end", good.with_element(name, 2, value));
    run.misled("an alternative is empty", good.with_element(name, 1, 0), SRP_BAD_SHAPE);
  }
  for (int64_t A::* size : {&A::start_size, &A::end_size, &A::head_size})
    for (const int64_t value : {int64_t{3}, int64_t{5}, INT64_MAX})
      run.misled("a delimiter has another size", good.with([=](A& a) { a.*size = value; }));
  run.agree(good);

  // A token that is no int32, with room for no span: those found before it may have been written.
  Call<A> wide = spans(random, rows, {two, two, two}, SRP_I64);
  wide.args.capacity = 0;
  run.agree(wide);
  for (const int64_t i : {int64_t{0}, int64_t{44}, rows.n - 1})
    for (const double value : {2147483648.0, -2147483649.0, 9e15, -9e15})
      run.misled("a token is no int32", wide.with_element("tokens", i, value));

  Call<A> lengths = spans(random, padded(5, 7), {two, two, two});
  lengths.in("spoilt lengths", &A::lengths, ints({0, 7, 3, 4, 5}));
  run.agree(lengths);
  for (const double value : {-1.0, 8.0, double{INT32_MIN}, double{INT32_MAX}})
    run.misled("a length is out of range", lengths.with_element("spoilt lengths", 2, value));
}

// Of means and mask. Every row has a span.
template <class Args>
void refuse_span_users(Runner& run, const Call<Args>& good, const Rows& rows) {
  expect_struct_checks(run, good);
  refuse_negative(run, good, &Args::n, &Args::B, &Args::T, &Args::S);
  refuse_null(run, good, &Args::spans);
  run.refused("there is no row for the tokens", good.with([](Args& a) { a.B = 0; }), SRP_BAD_SHAPE);
  mislead_offsets(run, good, "offsets", rows.B, rows.n);
  for (const int64_t s : {int64_t{0}, good.args.S - 1}) {
    for (const double row : {-1.0, static_cast<double>(rows.B), double{INT32_MIN}, double{INT32_MAX}})
      run.misled("a span is in no row", good.with_element("spans", 3 * s, row));
    for (const double begin : {-1.0, 6.0, double{INT32_MIN}, double{INT32_MAX}})
      run.misled("a span begins outside", good.with_element("spans", 3 * s + 1, begin));
    for (const double finish : {-1.0, 6.0, double{INT32_MIN}, double{INT32_MAX}})
      run.misled("a span ends outside", good.with_element("spans", 3 * s + 2, finish));
  }
  run.agree(good);
}

}  // namespace

void delim_agrees(Runner& run) {
  Random random(7);
  run.begin("delim_spans", "agrees");
  for (const Rows& rows : row_shapes())
    for (int32_t choice = 0; choice < 2 * 3 * 2 * 2; ++choice) {
      const int32_t dtype = random.chance(0.5) ? SRP_I64 : SRP_I32;
      Call<SpansArgs> call = spans(random, rows, delimiters(random, random.integer(1, 3)), dtype);
      call.args.overlapping = choice % 2;
      call.args.include_end = choice / 2 % 3;
      call.args.unterminated_keep = choice / 6 % 2;
      call.args.starts_open = choice / 12;
      run.agree(call);
    }
  // More alternatives than a block has threads; more blocks of rows than a warp looks back at a time.
  run.agree(spans(random, packed({3, 0, 70, 0, 1}), delimiters(random, 300)));
  run.agree(spans(random, padded(600, 5), delimiters(random, 1)));
  // Rows of several registers.
  for (const int32_t dtype : {SRP_I32, SRP_I64})
    run.agree(spans(random, packed({200, 129, 64, 65}), delimiters(random, 1), dtype));
  // Rows of several tiles of 1024 tokens, with marks everywhere and with hardly any; one of more tiles than a group has.
  for (int32_t choice = 0; choice < 3 * 2 * 2; ++choice) {
    Call<SpansArgs> call =
        spans(random, packed({3 * 4096 + 57, 0, 10, 8192}), delimiters(random, random.integer(1, 3)));
    call.args.overlapping = 0;
    call.args.include_end = choice % 3;
    call.args.unterminated_keep = choice / 3 % 2;
    call.args.starts_open = choice / 6;
    run.agree(call);
    if (choice < 4) run.agree(sparse(random, call));
  }
  Call<SpansArgs> grouped = spans(random, packed({257 * 1024 + 57}), delimiters(random, 1));
  grouped.args.overlapping = 0;
  run.want_next();
  run.agree(sparse(random, grouped));

  run.begin("delim_means", "agrees");
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const Rows& rows : row_shapes())
      for (const int64_t count : kSpanCounts) run.agree(means(random, dtype, rows, count));
  run.begin("delim_mask", "agrees");
  for (const Rows& rows : row_shapes())
    for (const int64_t count : kSpanCounts) run.agree(mask(random, rows, count));

  run.begin("delim_ngrams", "agrees");
  for (const Rows& rows : row_shapes())
    for (const int64_t length : {int64_t{1}, int64_t{2}, int64_t{5}, INT64_MAX})
      run.agree(ngrams(random, rows, length));
}

void delim_refuses(Runner& run) {
  Random random(8);
  const Rows rows = packed({3, 4, 2, 5});
  run.begin("delim_spans", "refuses");
  refuse_spans(run, random);

  run.begin("delim_means", "refuses");
  const Call<MeansArgs> average = means(random, SRP_F64, rows, 9);
  refuse_span_users(run, average, rows);
  refuse_dtypes(run, average);
  refuse_null(run, average, &MeansArgs::values, &MeansArgs::means);

  run.begin("delim_mask", "refuses");
  const Call<MaskArgs> cover = mask(random, rows, 9);
  refuse_span_users(run, cover, rows);
  refuse_null(run, cover, &MaskArgs::mask);

  run.begin("delim_ngrams", "refuses");
  const Call<NgramsArgs> good = ngrams(random, rows, 2);
  expect_struct_checks(run, good);
  refuse_negative(run, good, &NgramsArgs::n, &NgramsArgs::B, &NgramsArgs::T);
  refuse_values(run, good, "length", &NgramsArgs::length, {0, -1}, SRP_BAD_ARGUMENT);
  refuse_null(run, good, &NgramsArgs::tokens, &NgramsArgs::counts);
  mislead_offsets(run, good, "offsets", rows.B, rows.n);
  run.agree(good);
}

SRP_FAMILY(delim);

}  // namespace srp::test
