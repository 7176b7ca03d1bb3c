// What the select ops share between backends: integer keys in the order of their values, ranks, and argument checks.
#ifndef SURPRISAL_SHARED_SELECT_H
#define SURPRISAL_SHARED_SELECT_H

#include "shared/checks.h"
#include "shared/reduce.h"
#include "shared/rows.h"
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

// A product that is rounded by itself. A compiler that fused it with the next addition would move a threshold by its last bit.
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
  const void* const output = a->thresholds ? static_cast<const void*>(a->thresholds) : a->selected;
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

// select_covariance

// Lanes that share a row's sums, or those of the rows. Part of the contract: they decide the order of additions.
constexpr int kSumLanes = 256;

// Of the kept tokens. What is added where nothing is kept is +0, which changes no bit of another sum.
struct PairSums {
  ChunkSums advantage, log_prob;

  SRP_HD void add(double a, double c) {
    advantage.add(a);
    log_prob.add(c);
  }
  SRP_HD int64_t kept() const { return advantage.count; }
};

SRP_HD void merge(ChunkSums& into, const ChunkSums& other) {
  into.sum += other.sum;
  into.low = least(into.low, other.low);
  into.high = greatest(into.high, other.high);
  into.count += other.count;
}

SRP_HD void merge(PairSums& into, const PairSums& other) {
  merge(into.advantage, other.advantage);
  merge(into.log_prob, other.log_prob);
}

struct PairMeans {
  double advantage, log_prob;
};

SRP_HD double mean_of(const ChunkSums& sums, double count_epsilon) {
  const double count = static_cast<double>(sums.count), divisor = count + count_epsilon;
  return sums.constant() ? product(sums.low, count / divisor) : sums.sum / divisor;
}

// Whether all kept numbers are finite. Sums alone would not tell: finite numbers may overflow.
SRP_HD bool all_finite(const ChunkSums& sums) {
  return sums.count == 0 || (sums.low > -INFINITY && sums.high < INFINITY && sums.sum == sums.sum);
}
SRP_HD bool all_finite(const PairSums& sums) { return all_finite(sums.advantage) && all_finite(sums.log_prob); }

SRP_HD PairMeans means_of(const PairSums& sums, double count_epsilon) {
  return {mean_of(sums.advantage, count_epsilon), mean_of(sums.log_prob, count_epsilon)};
}

// Tokens of the batch, and what their covariances are as soon as the means are known. F is their type in memory.
template <class F>
struct Pairs {
  const srp_select_covariance_args& a;

  SRP_HD bool kept(int64_t i) const { return !a.mask || a.mask[i]; }
  SRP_HD bool candidate(int64_t i) const { return kept(i) && !(a.excluded && a.excluded[i]); }
  // Of token i in row b.
  SRP_HD double advantage(int64_t b, int64_t i) const {
    return load(static_cast<const F*>(a.advantages), a.advantages_per_token ? i : b);
  }
  SRP_HD double log_prob(int64_t i) const { return load(static_cast<const F*>(a.log_probs), i); }
  SRP_HD double covariance(const PairMeans& means, int64_t b, int64_t i) const {
    return product(advantage(b, i) - means.advantage, log_prob(i) - means.log_prob);
  }
  SRP_HD bool in_range(double covariance) const { return covariance > a.low && covariance < a.high; }
};

inline srp_status check(const srp_select_covariance_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (a->n > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "n is %lld, expected at most 2147483647", static_cast<long long>(a->n));
  SRP_TRY(check_enum("advantages_per_token", a->advantages_per_token, 1));
  SRP_TRY(check_enum("mode", a->mode, SRP_COVARIANCE_TOP));
  SRP_TRY(check_range("count_epsilon", a->count_epsilon, 0, DBL_MAX));
  if (a->mode == SRP_COVARIANCE_RANGE) {
    SRP_TRY(check_range("low", a->low, -INFINITY, INFINITY));
    SRP_TRY(check_range("high", a->high, -INFINITY, INFINITY));
  } else {
    SRP_TRY(check_top(a));
  }
  SRP_TRY(check_pointer("advantages", a->advantages, a->advantages_per_token ? a->n : a->B));
  SRP_TRY(check_pointer("log_probs", a->log_probs, a->n));
  return check_pointer("selected", a->selected, a->n);
}

}  // namespace srp

#endif
