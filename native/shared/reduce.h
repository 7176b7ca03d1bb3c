// Arithmetic of reduce.h that every native backend shares, and the checks of its arguments. A backend walks a chunk twice
// (ChunkSums, then ChunkDeviations), makes Moments of it and merges those; each backend has its own loops.
#ifndef SURPRISAL_SHARED_REDUCE_H
#define SURPRISAL_SHARED_REDUCE_H

#include <float.h>

#include "shared/checks.h"
#include "shared/rows.h"
#include "surprisal/reduce.h"

namespace srp {

// Positions of a chunk. Part of the contract: it decides where float64 sums are cut.
constexpr int64_t kChunk = 4096;

// NaN wins over every number.
SRP_HD double least(double a, double b) { return (a != a || a <= b) ? a : b; }
SRP_HD double greatest(double a, double b) { return (a != a || a >= b) ? a : b; }

struct Moments {
  double count = 0, sum = 0, mean = 0, m2 = 0, low = INFINITY, high = -INFINITY;
};

SRP_HD Moments load_moments(const double* partials, int64_t i) {
  const double* const p = partials + i * SRP_MOMENTS;
  if (p[SRP_MOMENT_COUNT] == 0) return Moments{};
  Moments m;
  m.count = p[SRP_MOMENT_COUNT];
  m.sum = p[SRP_MOMENT_SUM];
  m.mean = p[SRP_MOMENT_MEAN];
  m.m2 = p[SRP_MOMENT_M2];
  m.low = p[SRP_MOMENT_MIN];
  m.high = p[SRP_MOMENT_MAX];
  return m;
}

SRP_HD void store_moments(double* partials, int64_t i, const Moments& m) {
  double* const p = partials + i * SRP_MOMENTS;
  p[SRP_MOMENT_COUNT] = m.count;
  p[SRP_MOMENT_SUM] = m.sum;
  p[SRP_MOMENT_MEAN] = m.mean;
  p[SRP_MOMENT_M2] = m.m2;
  p[SRP_MOMENT_MIN] = m.low;
  p[SRP_MOMENT_MAX] = m.high;
}

// Both sides as one (Chan, Golub and LeVeque 1979, equations 2.1). An empty side leaves the other as it is, to the bit.
SRP_HD Moments merged(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  Moments m;
  m.count = a.count + b.count;
  m.sum = a.sum + b.sum;
  m.low = least(a.low, b.low);
  m.high = greatest(a.high, b.high);
  const double distance = b.mean - a.mean;
  // With an infinite mean the distance is infinite or NaN; only the sum still has the right sign.
  m.mean = isfinite(distance) ? a.mean + distance * (b.count / m.count) : m.sum / m.count;
  m.m2 = a.m2 + b.m2 + distance * distance * (a.count * (b.count / m.count));
  return m;
}

// First walk over the kept numbers of a chunk. N: double, or a type with its own arithmetic, least() and greatest().
template <class N>
struct ChunkSumsOf {
  N sum{0}, low{INFINITY}, high{-INFINITY};
  int64_t count = 0;

  SRP_HD void add(N x) {
    sum += x;
    low = least(low, x);
    high = greatest(high, x);
    ++count;
  }
  SRP_HD bool constant() const { return low == high && isfinite(low); }
  // Equal numbers have themselves as mean; the rounded quotient need not be.
  SRP_HD N mean() const { return constant() ? low : sum / static_cast<N>(count); }
};
using ChunkSums = ChunkSumsOf<double>;

// Second walk: deviations from the rounded mean. Their sum is what the rounding of the mean left behind.
template <class N>
struct ChunkDeviationsOf {
  N sum{0}, squares{0};

  SRP_HD void add(N x, N mean) {
    const N d = x - mean;
    sum += d;
    squares += d * d;
  }
};
using ChunkDeviations = ChunkDeviationsOf<double>;

SRP_HD Moments chunk_moments(const ChunkSums& sums, const ChunkDeviations& deviations) {
  if (sums.count == 0) return Moments{};
  Moments m;
  m.count = static_cast<double>(sums.count);
  m.sum = sums.sum;
  m.mean = sums.mean();
  m.low = sums.low;
  m.high = sums.high;
  if (sums.constant()) return m;
  const double residue = deviations.sum / m.count;
  m.m2 = deviations.squares;
  if (!isfinite(residue)) return m;  // an infinite or NaN value: m2 is NaN already, the mean is the quotient
  m.mean += residue;
  m.m2 = greatest(m.m2 - m.count * residue * residue, 0);
  return m;
}

// Whether position i enters the moments.
template <class F>
SRP_HD bool enters(const srp_reduce_moments_args& a, int64_t i) {
  if (a.mask && !a.mask[i]) return false;
  return a.nan_policy != SRP_NAN_ABSTAIN || !isnan(load(static_cast<const F*>(a.values), i));
}

// The map of one unit.
class Whitening {
 public:
  SRP_HD Whitening(const srp_reduce_whiten_args& a, const Moments& m)
      : center_(0), back_(0), divisor_(1), abstain_(a.nan_policy == SRP_NAN_ABSTAIN) {
    const double mean = m.low == m.high && isfinite(m.low) ? m.low : m.mean;
    const double share = m.count > 0 ? m.count / (m.count + a.count_epsilon) : 1;
    const double shrunk = mean * share;
    if (a.center == SRP_CENTER_MEAN) center_ = shrunk;
    if (a.keep_mean) back_ = center_;
    if (a.scale != SRP_SCALE_STD) return;
    const double shift = share == 1 ? 0 : mean - shrunk;
    const double squares = m.m2 + m.count * shift * shift;
    const double variance = m.count > a.ddof ? squares / (m.count - a.ddof) * share : 0;
    divisor_ = sqrt(greatest(variance, a.variance_floor) + a.variance_epsilon) + a.epsilon;
  }

  SRP_HD double operator()(double x) const {
    if (abstain_ && isnan(x)) return 0;
    const double centred = x - center_;
    return (centred == 0 ? 0 : centred / divisor_) + back_;
  }

  SRP_HD double center() const { return center_; }
  SRP_HD double back() const { return back_; }
  SRP_HD double divisor() const { return divisor_; }

 private:
  double center_, back_, divisor_;
  bool abstain_;
};

// Clamps one number and counts it.
template <class F>
struct Clamped {
  const srp_reduce_clamp_args& a;
  int32_t kept = 0, outside = 0;

  // Returns the clamped number; with `counts`, which kept tokens have, it is counted.
  SRP_HD double take(double x, bool counts) {
    const bool below = x<a.low, above = x> a.high;
    if (counts) ++kept;
    if (counts && (below || above)) ++outside;
    // The upper bound comes last, so that it wins if low > high.
    const double raised = below ? a.low : x;
    return raised > a.high ? a.high : raised;
  }

  SRP_HD void step(int64_t i) {
    F* const out = static_cast<F*>(a.clamped);
    const bool counts = !a.mask || a.mask[i];
    if (!counts && !a.transform_masked) {
      if (out) store(out, i, 0.0);
      return;
    }
    const double y = take(load(static_cast<const F*>(a.values), i), counts);
    if (out) store(out, i, y);
  }
};

constexpr double kTiny = 1e-8;

SRP_HD double clip(double x, double low, double high) {
  const double raised = x < low ? low : x;
  return raised > high ? high : raised;
}

// What a token adds to the logarithm of its row's weight: its value, where it is kept, and its factor, where there are some.
SRP_HD double gamma_value(const srp_reduce_gamma_args& a, double x) { return clip(x, -a.bound, a.bound); }
SRP_HD double gamma_factor(const srp_reduce_gamma_args& a, double factor) {
  return clip(log(factor), log(kTiny), a.bound);
}

template <class F>
SRP_HD double gamma_term(const srp_reduce_gamma_args& a, int64_t i) {
  const bool kept = !a.mask || a.mask[i];
  const double term = kept ? gamma_value(a, load(static_cast<const F*>(a.log_ratios), i)) : 0;
  if (!a.factors || !(kept || a.all_factors)) return term;
  return term + gamma_factor(a, load(static_cast<const F*>(a.factors), i));
}

template <class F>
SRP_HD void store_gamma(const srp_reduce_gamma_args& a, int64_t b, double sum) {
  const double sign = load(static_cast<const F*>(a.signs), b);
  const bool positive = sign >= 0;
  const double shape = positive ? a.shape_positive : a.shape_negative;
  const double rate = positive ? a.rate_positive : a.rate_negative;
  const double l = clip(sum, log(kTiny), a.bound);
  const double weight = exp(rate + shape * l - rate * exp(l));
  if (a.weights) store(static_cast<F*>(a.weights), b, isnan(sign) ? sign : isfinite(weight) ? weight : 0.0);
  if (a.log_weights) store(static_cast<F*>(a.log_weights), b, l);
}

// Where a map writes.
SRP_HD void* mapped_of(const srp_reduce_whiten_args& a) { return a.whitened; }
SRP_HD void* mapped_of(const srp_reduce_affine_args& a) { return a.mapped; }

// The unit of row b; -1 where the group's number points outside.
SRP_HD int64_t unit_of(const srp_reduce_whiten_args& a, int64_t b) {
  if (a.over == SRP_OVER_ROW) return b;
  if (a.over == SRP_OVER_ALL) return 0;
  return a.group_ids[b] >= 0 && a.group_ids[b] < a.units ? a.group_ids[b] : -1;
}

inline srp_status check(const srp_reduce_moments_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_enum("nan_policy", a->nan_policy, SRP_NAN_ABSTAIN));
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("partials", a->partials, a->B);
}

inline srp_status check(const srp_reduce_merge_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_count("B", a->B));
  SRP_TRY(check_count("G", a->G));
  if (!a->offsets && a->G != 1)
    return fail(SRP_BAD_SHAPE, "G is %lld, expected 1 without offsets", static_cast<long long>(a->G));
  if (a->offsets && a->B > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "B is %lld, groups have int32 offsets", static_cast<long long>(a->B));
  if (a->offsets) SRP_TRY(check_group_count(a->B, a->G));
  SRP_TRY(check_pointer("partials", a->partials, a->B));
  return check_pointer("merged", a->merged, a->G);
}

inline srp_status check(const srp_reduce_whiten_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_count("units", a->units));
  SRP_TRY(check_enum("over", a->over, SRP_OVER_ALL));
  if (a->over != SRP_OVER_GROUP && a->units != (a->over == SRP_OVER_ROW ? a->B : 1))
    return fail(SRP_BAD_SHAPE, "units is %lld, expected one a row, or 1 for all", static_cast<long long>(a->units));
  SRP_TRY(check_enum("center", a->center, SRP_CENTER_MEAN));
  SRP_TRY(check_enum("scale", a->scale, SRP_SCALE_STD));
  SRP_TRY(check_enum("keep_mean", a->keep_mean, 1));
  SRP_TRY(check_enum("nan_policy", a->nan_policy, SRP_NAN_ABSTAIN));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  SRP_TRY(check_range("ddof", a->ddof, 0, DBL_MAX));
  SRP_TRY(check_range("count_epsilon", a->count_epsilon, 0, DBL_MAX));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, DBL_MAX));
  SRP_TRY(check_range("variance_epsilon", a->variance_epsilon, 0, DBL_MAX));
  SRP_TRY(check_range("variance_floor", a->variance_floor, 0, DBL_MAX));
  SRP_TRY(check_pointer("group_ids", a->group_ids, a->over == SRP_OVER_GROUP ? a->B : 0));
  SRP_TRY(check_pointer("moments", a->moments, a->units));
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("whitened", a->whitened, a->n);
}

inline srp_status check(const srp_reduce_clamp_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_range("low", a->low, -INFINITY, INFINITY));
  SRP_TRY(check_range("high", a->high, -INFINITY, INFINITY));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  SRP_TRY(check_pointer("values", a->values, a->n));
  if (a->counts) return SRP_OK;
  return check_pointer("clamped and counts", a->clamped, a->n);
}

inline srp_status check(const srp_reduce_gamma_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_enum("all_factors", a->all_factors, 1));
  SRP_TRY(check_range("bound", a->bound, 0, DBL_MAX));
  SRP_TRY(check_range("shape_positive", a->shape_positive, 0, DBL_MAX));
  SRP_TRY(check_range("rate_positive", a->rate_positive, 0, DBL_MAX));
  SRP_TRY(check_range("shape_negative", a->shape_negative, 0, DBL_MAX));
  SRP_TRY(check_range("rate_negative", a->rate_negative, 0, DBL_MAX));
  SRP_TRY(check_pointer("log_ratios", a->log_ratios, a->n));
  SRP_TRY(check_pointer("signs", a->signs, a->B));
  return check_pointer("weights and log_weights", a->weights ? a->weights : a->log_weights, a->B);
}

inline srp_status check(const srp_reduce_counts_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  return check_pointer("counts", a->counts, a->B);
}

inline srp_status check(const srp_reduce_affine_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  if (a->divisor <= 0) return fail(SRP_BAD_ARGUMENT, "divisor is %g, expected more than 0, or NaN", a->divisor);
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("mapped", a->mapped, a->n);
}

}  // namespace srp

#endif
