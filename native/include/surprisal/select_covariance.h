// Arithmetic of select_covariance (contract: surprisal/select.h) that every native backend shares, and its argument checks.
#ifndef SURPRISAL_SELECT_COVARIANCE_H
#define SURPRISAL_SELECT_COVARIANCE_H

#include "surprisal/reduce_steps.h"
#include "surprisal/select_keys.h"

namespace srp {

// Lanes that share a row's sums, or those of the rows. Part of the contract: they decide the order of additions.
constexpr int kSumLanes = 256;

// Of the kept tokens. What is added where nothing is kept is +0, which changes no bit of another sum.
struct PairSums {
  ChunkSums advantage, current;

  SRP_HD void add(double a, double c) {
    advantage.add(a);
    current.add(c);
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
  merge(into.current, other.current);
}

struct PairMeans {
  double advantage, current;
};

SRP_HD double mean_of(const ChunkSums& sums, double count_epsilon) {
  const double count = static_cast<double>(sums.count), divisor = count + count_epsilon;
  return sums.constant() ? product(sums.low, count / divisor) : sums.sum / divisor;
}

SRP_HD PairMeans means_of(const PairSums& sums, double count_epsilon) {
  return {mean_of(sums.advantage, count_epsilon), mean_of(sums.current, count_epsilon)};
}

// Tokens of the batch, and what their covariances are as soon as the means are known. F is their type in memory.
template <class F>
struct Pairs {
  const srp_select_covariance_args& a;

  SRP_HD bool kept(int64_t i) const { return !a.mask || a.mask[i]; }
  SRP_HD bool candidate(int64_t i) const { return kept(i) && !(a.excluded && a.excluded[i]); }
  // Of token i in row b.
  SRP_HD double advantage(int64_t b, int64_t i) const {
    return load(static_cast<const F*>(a.advantage), a.advantage_per_token ? i : b);
  }
  SRP_HD double current(int64_t i) const { return load(static_cast<const F*>(a.current), i); }
  SRP_HD double covariance(const PairMeans& means, int64_t b, int64_t i) const {
    return product(advantage(b, i) - means.advantage, current(i) - means.current);
  }
  SRP_HD bool in_range(double covariance) const { return covariance > a.low && covariance < a.high; }
};

inline srp_status check(const srp_select_covariance_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (a->n > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "n is %lld, expected at most 2147483647", static_cast<long long>(a->n));
  SRP_TRY(check_enum("advantage_per_token", a->advantage_per_token, 1));
  SRP_TRY(check_enum("mode", a->mode, SRP_COVARIANCE_TOP));
  SRP_TRY(check_range("count_epsilon", a->count_epsilon, 0, DBL_MAX));
  if (a->mode == SRP_COVARIANCE_RANGE) {
    SRP_TRY(check_range("low", a->low, -INFINITY, INFINITY));
    SRP_TRY(check_range("high", a->high, -INFINITY, INFINITY));
  } else {
    SRP_TRY(check_top(a));
  }
  SRP_TRY(check_pointer("advantage", a->advantage, a->advantage_per_token ? a->n : a->B));
  SRP_TRY(check_pointer("current", a->current, a->n));
  return check_pointer("selected", a->selected, a->n);
}

}  // namespace srp

#endif
