// What the select ops share between backends: integer keys in the order of their values, ranks, and argument checks.
#ifndef SURPRISAL_SELECT_KEYS_H
#define SURPRISAL_SELECT_KEYS_H

#include "surprisal/checks.h"
#include "surprisal/rows.h"
#include "surprisal/select.h"

namespace srp {

SRP_HD uint64_t double_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

SRP_HD double bits_double(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

// Keys compare as the values do: NaN, which is 0, below everything, and -0 with 0. A negative number's bits are flipped,
// so that a larger magnitude is smaller; a positive one's get the sign bit.
SRP_HD uint32_t order_key(float x) {
  if (x != x) return 0;
  const uint32_t u = float_bits(x == 0 ? 0.0f : x);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}

SRP_HD uint64_t order_key(double x) {
  if (x != x) return 0;
  const uint64_t u = double_bits(x == 0 ? 0.0 : x);
  return u & 0x8000000000000000u ? ~u : u | 0x8000000000000000u;
}

// The value of a key that is not NaN's.
SRP_HD double key_value(uint32_t key) { return bits_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }
SRP_HD double key_value(uint64_t key) {
  return bits_double(key & 0x8000000000000000u ? key & 0x7fffffffffffffffu : ~key);
}

// A rank is found digit by digit, the highest first: a histogram of the next digit over the keys that share the digits
// found so far says which one the rank falls into.
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

template <class Key>
SRP_HD int digit(Key key, int shift) {
  return static_cast<int>((key >> shift) & (kDigits - 1));
}

// Whether the digits above the one at `shift` are those of `found`.
template <class Key>
SRP_HD bool shares_digits(Key key, Key found, int shift) {
  const int above = shift + kDigitBits;
  return above >= static_cast<int>(8 * sizeof(Key)) || (key ^ found) >> above == 0;
}

// The key at a rank, counted from the smallest, how many keys are below it and how many are equal to it.
template <class Key>
struct RankedKey {
  Key key;
  int64_t below, equal;
};

SRP_HD bool candidate(const uint8_t* mask, int64_t i) { return !mask || mask[i]; }

// A product rounded by itself. A compiler that fused it with the next addition would move a threshold by its last bit.
SRP_HD double product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

struct QuantileRank {
  int64_t lower;
  double fraction;  // of the way to the next rank
};

SRP_HD QuantileRank quantile_rank(double q, int64_t count) {
  const double rank = product(q, static_cast<double>(count - 1));
  const double lower = floor(rank);
  return {static_cast<int64_t>(lower), rank - lower};
}

// At most high: a fraction below 1 takes at least half a unit of the last place off the difference, rounded up as that may be.
SRP_HD double interpolate(double low, double high, double fraction) {
  if (fraction == 0) return low;
  const double difference = high - low;
  if (!isfinite(difference)) return product(1 - fraction, low) + product(fraction, high);
  return low + product(fraction, difference);
}

// How many of `count` candidates the k largest are.
template <class Args>
SRP_HD int64_t top_count(const Args& a, int64_t count) {
  if (isnan(a.share)) return a.k < count ? a.k : count;
  const int64_t share = static_cast<int64_t>(floor(a.share * static_cast<double>(count)));
  const int64_t wanted = share > a.least ? share : a.least;
  return wanted < count ? wanted : count;
}

template <class Args>
SRP_HD int64_t unit_count(const Args& a) {
  return a.over == SRP_OVER_ALL ? 1 : a.B;
}

template <class Args>
SRP_HD Range unit_range(const Args& a, int64_t unit) {
  return a.over == SRP_OVER_ALL ? Range{0, a.n, true} : row_range(a.offsets, a.T, a.n, unit);
}

template <class Args>
srp_status check_units(const Args* a) {
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (a->over != SRP_OVER_ROW && a->over != SRP_OVER_ALL)
    return fail(SRP_BAD_ARGUMENT, "over is %d, expected %d (row) or %d (all)", a->over, SRP_OVER_ROW, SRP_OVER_ALL);
  const int64_t longest = a->over == SRP_OVER_ALL || a->offsets ? a->n : a->T;
  if (longest > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "a unit has %lld positions, expected at most 2147483647",
                static_cast<long long>(longest));
  return check_pointer("values", a->values, a->n);
}

inline srp_status check(const srp_select_quantile_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_units(a));
  SRP_TRY(check_range("q", a->q, 0, 1));
  const void* const output = a->threshold ? static_cast<const void*>(a->threshold) : a->selected;
  return check_pointer("threshold and selected", output, a->n);
}

template <class Args>
srp_status check_top(const Args* a) {
  if (!isnan(a->share)) SRP_TRY(check_range("share", a->share, 0, 1));
  SRP_TRY(check_count("k", a->k));
  return check_count("least", a->least);
}

inline srp_status check(const srp_select_top_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_units(a));
  SRP_TRY(check_top(a));
  return check_pointer("selected", a->selected, a->n);
}

}  // namespace srp

#endif
