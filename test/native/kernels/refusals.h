// Bad arguments that many ops have in common.
#pragma once
#include <climits>
#include <cmath>
#include <initializer_list>

#include "runner.h"

namespace srp::test {

// No args at all, the struct of an older caller (refused) and of a newer one (served).
template <class Args>
void expect_struct_checks(Runner& run, const Call<Args>& good) {
  run.refused("args is NULL", good.without_args(), SRP_BAD_ARGUMENT);
  for (const uint32_t size : {0u, 4u, static_cast<uint32_t>(sizeof(Args)) - 1})
    run.refused("size is short", good.with([size](Args& a) { a.size = size; }), SRP_UNSUPPORTED);
  run.agree(good.with([](Args& a) { a.size = sizeof(Args) + 8; }));
}

// Takes a template argument as it is elsewhere deduced: a list of enumerators, too, is one of field values.
template <class T>
struct Deduced {
  using Elsewhere = T;
};

template <class Args, class Value>
void refuse_values(Runner& run, const Call<Args>& good, const char* name, Value Args::* field,
                   std::initializer_list<typename Deduced<Value>::Elsewhere> values, srp_status status) {
  for (const Value value : values) run.refused(name, good.with([=](Args& a) { a.*field = value; }), status);
}

// Everything beside 0..last.
template <class Args>
void refuse_enumerators(Runner& run, const Call<Args>& good, const char* name, int32_t Args::* field, int32_t last) {
  refuse_values(run, good, name, field, {-1, last + 1, INT32_MAX, INT32_MIN}, SRP_BAD_ARGUMENT);
}

// All dtypes that are neither float32 nor float64.
template <class Args>
void refuse_dtypes(Runner& run, const Call<Args>& good) {
  refuse_values(run, good, "dtype", &Args::dtype, {0, -1, SRP_F16, SRP_BF16, SRP_I32, SRP_U8, SRP_I64, INT32_MAX},
                SRP_BAD_DTYPE);
}

template <class Args, class... Sizes>
void refuse_negative(Runner& run, const Call<Args>& good, Sizes Args::*... sizes) {
  (refuse_values(run, good, "a size is negative", sizes, {int64_t{-1}, INT64_MIN}, SRP_BAD_SHAPE), ...);
}

template <class Args, class... Pointers>
void refuse_null(Runner& run, const Call<Args>& good, Pointers Args::*... pointers) {
  (run.refused("a needed pointer is NULL", good.with([=](Args& a) { a.*pointers = nullptr; }), SRP_BAD_ARGUMENT), ...);
}

// Numbers of groups for which offsets of int32 make no sense, and no offsets.
template <class Args>
void refuse_groups(Runner& run, const Call<Args>& good, const int32_t* Args::* offsets) {
  refuse_negative(run, good, &Args::G);
  refuse_null(run, good, offsets);
  refuse_values(run, good, "there is no group", &Args::G, {0}, SRP_BAD_SHAPE);
  refuse_values(run, good, "there are too many groups", &Args::G, {INT32_MAX, INT64_MAX}, SRP_BAD_SHAPE);
}

// Offsets of `count` rows or groups, three or more and none empty, that point outside.
template <class Args>
void mislead_offsets(Runner& run, const Call<Args>& good, const char* name, int64_t count, int64_t n,
                     AtSync device = AtSync::kReported) {
  const double past = static_cast<double>(n) + 1;
  const auto spoil = [&](const char* why, int64_t i, double value) {
    run.misled(why, good.with_element(name, i, value), SRP_OUT_OF_RANGE, device);
  };
  spoil("offsets go down", 1, past - 1);
  spoil("offsets go past the end", count, past);
  spoil("offsets go far past the end", count, INT32_MAX);
  spoil("an offset in the middle is past the end", count / 2, past);
  spoil("offsets begin below 0", 0, -1);
  spoil("an offset is far below 0", count / 2, INT32_MIN);
  // Each row by itself is sound, so only who sees all offsets can tell.
  run.misled("offsets do not begin with 0", good.with_element(name, 0, 1), SRP_OUT_OF_RANGE, AtSync::kReportedOrNot);
  run.misled("offsets do not reach the end", good.with_element(name, count, past - 2), SRP_OUT_OF_RANGE,
             AtSync::kReportedOrNot);
}

// Sizes of rows that cannot be, and offsets that point outside. `rows` are packed, and as mislead_offsets wants them.
template <class Args>
void refuse_rows(Runner& run, const Call<Args>& good, const Rows& rows, AtSync device = AtSync::kReported) {
  refuse_negative(run, good, &Args::n, &Args::B, &Args::T);
  run.refused("n is not B * T", good.with([](Args& a) { a.offsets = nullptr; }), SRP_BAD_SHAPE);
  run.refused("B * T overflows", good.with([](Args& a) {
    a.offsets = nullptr;
    a.B = a.T = int64_t{1} << 32;
  }),
              SRP_BAD_SHAPE);
  run.refused("there is no row for the tokens", good.with([](Args& a) { a.B = 0; }), SRP_BAD_SHAPE);
  run.refused("packed tokens beyond int32", good.with([](Args& a) { a.n = int64_t{1} << 31; }), SRP_BAD_SHAPE);
  mislead_offsets(run, good, "offsets", rows.B, rows.n, device);
}

// One index of an array that must lie in [0, limit).
template <class Args>
void mislead_indices(Runner& run, const Call<Args>& good, const char* name, int64_t i, int64_t limit) {
  for (const double value : {-1.0, static_cast<double>(limit), 1e6, double{INT32_MAX}, double{INT32_MIN}})
    run.misled("an index is out of range", good.with_element(name, i, value));
}

}  // namespace srp::test
