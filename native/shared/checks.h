// Argument checks that every native backend makes before it writes, and the text of the last failure.
// Each library has its own thread-local text: symbols are hidden, so an inline variable is one per library.
#ifndef SURPRISAL_SHARED_CHECKS_H
#define SURPRISAL_SHARED_CHECKS_H

#include <float.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "shared/rows.h"
#include "surprisal/dtype.h"
#include "surprisal/status.h"

#define SRP_TRY(expression)                                \
  do {                                                     \
    const srp_status srp_try_status_ = (expression);       \
    if (srp_try_status_ != SRP_OK) return srp_try_status_; \
  } while (0)

namespace srp {

inline thread_local char failure_text[512] = "";

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
inline srp_status fail(srp_status status, const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(failure_text, sizeof failure_text, format, values);
  va_end(values);
  return status;
}

// A library that knows a shorter struct accepts a longer one from a newer caller, never the other way round.
template <class Args>
srp_status check_size(const Args* args) {
  if (!args) return fail(SRP_BAD_ARGUMENT, "args is NULL");
  if (args->size < sizeof(Args))
    return fail(SRP_UNSUPPORTED, "args struct has %u bytes, expected %zu: rebuild the caller", args->size,
                sizeof(Args));
  return SRP_OK;
}

inline srp_status check_float(int32_t dtype) {
  if (dtype == SRP_F32 || dtype == SRP_F64) return SRP_OK;
  return fail(SRP_BAD_DTYPE, "dtype is %d, expected float32 (%d) or float64 (%d)", dtype, SRP_F32, SRP_F64);
}

inline srp_status check_any_float(int32_t dtype) {
  if (dtype == SRP_F32 || dtype == SRP_F16 || dtype == SRP_BF16 || dtype == SRP_F64) return SRP_OK;
  return fail(SRP_BAD_DTYPE, "dtype is %d, expected float32 (%d), float16 (%d), bfloat16 (%d) or float64 (%d)", dtype,
              SRP_F32, SRP_F16, SRP_BF16, SRP_F64);
}

// A number of items of at most 64 bytes: no more than have places in memory, so that sizes computed of it do not overflow.
inline srp_status check_count(const char* name, int64_t value) {
  if (value >= 0 && value <= INT64_MAX / 64) return SRP_OK;
  return fail(SRP_BAD_SHAPE, "%s is %lld, expected 0 or more, and what fits in memory", name,
              static_cast<long long>(value));
}

// On the CPU: reduces a list to the spans that there are.
template <class Args>
srp_status keep_found(Args* args) {
  if (args->count && *args->count > args->S)
    return fail(SRP_BAD_SHAPE, "found %lld spans, and there is room for %lld", static_cast<long long>(*args->count),
                static_cast<long long>(args->S));
  args->S = live_spans(args->count, args->S);
  return SRP_OK;
}

// `count` elements will be read or written through the pointer; an empty array may be NULL.
inline srp_status check_pointer(const char* name, const void* pointer, int64_t count) {
  if (pointer || count == 0) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is NULL, expected %lld elements", name, static_cast<long long>(count));
}

inline srp_status check_enum(const char* name, int32_t value, int32_t last) {
  if (value >= 0 && value <= last) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %d, expected 0..%d", name, value, last);
}

// Both bounds inclusive; NaN fails.
inline srp_status check_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %g, expected %g..%g", name, value, low, high);
}

inline srp_status check_finite(const char* name, double value) {
  if (value >= -DBL_MAX && value <= DBL_MAX) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s is %g, expected a finite number", name, value);
}

// Sizes of rows (surprisal/backend.h) as far as they are known without reading offsets.
inline srp_status check_rows(const int32_t* offsets, int64_t n, int64_t B, int64_t T) {
  SRP_TRY(check_count("n", n));
  SRP_TRY(check_count("B", B));
  SRP_TRY(check_count("T", T));
  if (n > INT32_MAX && offsets)
    return fail(SRP_BAD_SHAPE, "n is %lld, packed rows have int32 offsets", static_cast<long long>(n));
  if (n > 0 && B == 0) return fail(SRP_BAD_SHAPE, "n is %lld, but there is no row", static_cast<long long>(n));
  // No memory bounds the number of rows that have no tokens: a look at each could last for ever.
  if (n == 0 && B > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "B is %lld, expected at most %d rows without tokens", static_cast<long long>(B),
                INT32_MAX);
  // Division instead of B * T, which may overflow.
  if (!offsets && (B == 0 || T == 0 ? n != 0 : n % B != 0 || n / B != T))
    return fail(SRP_BAD_SHAPE, "n is %lld, expected B * T = %lld * %lld", static_cast<long long>(n),
                static_cast<long long>(B), static_cast<long long>(T));
  return SRP_OK;
}

// Offsets in host memory: from 0 to n, never descending.
inline srp_status check_offsets(const char* name, const int32_t* offsets, int64_t count, int64_t n) {
  if (!offsets) return SRP_OK;
  if (offsets[0] != 0) return fail(SRP_OUT_OF_RANGE, "%s[0] is %d, expected 0", name, offsets[0]);
  int32_t down = 0;  // counted without a branch; a second pass finds the place
  for (int64_t i = 0; i < count; ++i) down |= offsets[i + 1] < offsets[i];
  for (int64_t i = 0; down && i < count; ++i)
    if (offsets[i + 1] < offsets[i])
      return fail(SRP_OUT_OF_RANGE, "%s[%lld] is %d, below its predecessor %d", name, static_cast<long long>(i + 1),
                  offsets[i + 1], offsets[i]);
  if (offsets[count] != n)
    return fail(SRP_OUT_OF_RANGE, "%s ends at %d, expected %lld", name, offsets[count], static_cast<long long>(n));
  return SRP_OK;
}

// Sizes of groups (surprisal/backend.h) of `items`, the offsets' own length included: int32 offsets cannot number 2^31 groups.
inline srp_status check_group_count(int64_t items, int64_t G) {
  SRP_TRY(check_count("G", G));
  if (G >= INT32_MAX)
    return fail(SRP_BAD_SHAPE, "G is %lld, expected less than %d", static_cast<long long>(G), INT32_MAX);
  if (G == 0 && items > 0)
    return fail(SRP_BAD_SHAPE, "there are %lld items, but no group", static_cast<long long>(items));
  return SRP_OK;
}

// Indices in host memory: each in [0, limit).
inline srp_status check_indices(const char* name, const int32_t* indices, int64_t count, int64_t limit) {
  if (!indices) return SRP_OK;
  for (int64_t i = 0; i < count; ++i)
    if (indices[i] < 0 || indices[i] >= limit)
      return fail(SRP_OUT_OF_RANGE, "%s[%lld] is %d, expected 0..%lld", name, static_cast<long long>(i), indices[i],
                  static_cast<long long>(limit - 1));
  return SRP_OK;
}

}  // namespace srp

#endif
