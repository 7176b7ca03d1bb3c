// Arithmetic of group.h that every native backend shares, and the checks of its arguments. A backend walks a group twice
// (Tally, then Deviations) and hands the outcome to GroupStatistics; in which order it adds is the backend's business.
#ifndef SURPRISAL_GROUP_STEPS_H
#define SURPRISAL_GROUP_STEPS_H

#include <float.h>

#include "surprisal/checks.h"
#include "surprisal/group.h"
#include "surprisal/rows.h"

namespace srp {

// First walk: what the numbers of a group are like. NaN is only counted, by its absence from `numbers`.
struct Tally {
  double sum = 0;
  double low = INFINITY, high = -INFINITY;
  int64_t numbers = 0;

  SRP_HD void add(double x) {
    if (isnan(x)) return;
    sum += x;
    if (x < low) low = x;
    if (x > high) high = x;
    ++numbers;
  }
};

// Second walk: deviations from the rounded mean. Their sum is what the rounding of the mean left behind.
struct Deviations {
  double sum = 0, squares = 0;

  SRP_HD void add(double x, double mean) {
    if (isnan(x)) return;
    const double d = x - mean;
    sum += d;
    squares += d * d;
  }
};

class GroupStatistics {
 public:
  // `items` counts all of the group, `tally` its numbers.
  SRP_HD GroupStatistics(const srp_group_normalize_args& a, const Tally& tally, int64_t items)
      : center_(a.center),
        scale_(a.scale),
        singleton_(a.singleton),
        abstain_(a.nan_policy == SRP_NAN_ABSTAIN),
        epsilon_(a.epsilon),
        mean_(NAN),
        residue_(0),
        std_(NAN),
        stretch_(1),
        count_(abstain_ ? tally.numbers : items) {
    if (tally.numbers == 0 || tally.numbers < count_) {
      kind_ = kVoid;
    } else if (count_ == 1) {
      kind_ = kSingle;
      mean_ = tally.low;
      std_ = 0;
    } else if (tally.low == tally.high && !isinf(tally.low)) {
      kind_ = kConstant;
      mean_ = tally.low;
      std_ = sqrt(a.variance_floor);
    } else {
      kind_ = kSpread;
      mean_ = tally.sum / static_cast<double>(count_);
    }
  }

  // Only a spread-out group needs the second walk.
  SRP_HD bool wants_deviations() const { return kind_ == kSpread; }

  SRP_HD void finish(const srp_group_normalize_args& a, const Deviations& d) {
    const double n = static_cast<double>(count_);
    // An infinite item has an infinite mean, and the deviations say nothing about its rounding.
    if (!isnan(d.sum) && !isinf(d.sum)) residue_ = d.sum / n;
    double variance = n > a.ddof ? (d.squares - n * residue_ * residue_) / (n - a.ddof) : NAN;
    if (variance < a.variance_floor) variance = a.variance_floor;  // NaN stays
    std_ = sqrt(variance);
    // x - (sum - x) / (n - 1) = (x - mean) n / (n - 1), without the cancellation in sum - x.
    if (a.center == SRP_CENTER_LEAVE_ONE_OUT) stretch_ = n / (n - 1);
  }

  SRP_HD double mean() const { return mean_ + residue_; }
  SRP_HD double std() const { return std_; }
  SRP_HD int32_t count() const { return static_cast<int32_t>(count_); }

  SRP_HD double normalized(double x) const {
    if (isnan(x)) return abstain_ ? 0 : NAN;
    if (kind_ == kVoid) return NAN;
    const bool scaled = scale_ == SRP_SCALE_STD;
    if (center_ == SRP_CENTER_NONE && !scaled) return x;
    if (kind_ == kSingle) return singleton_ == SRP_SINGLETON_ZERO ? 0 : scaled ? x / (1 + epsilon_) : x;
    if (center_ == SRP_CENTER_NONE) return x / (std_ + epsilon_);
    if (kind_ == kConstant) return 0;
    const double centred = ((x - mean_) - residue_) * stretch_;
    return scaled ? centred / (std_ + epsilon_) : centred;
  }

 private:
  // kVoid: no number at all, or a NaN that propagates.
  enum Kind { kVoid, kSingle, kConstant, kSpread };

  int32_t center_, scale_, singleton_;
  bool abstain_;
  Kind kind_;
  double epsilon_, mean_, residue_, std_, stretch_;
  int64_t count_;
};

inline srp_status check_groups(int32_t dtype, const void* values, const int32_t* offsets, int64_t n, int64_t G) {
  SRP_TRY(check_float(dtype));
  SRP_TRY(check_count("n", n));
  if (n > INT32_MAX) return fail(SRP_BAD_SHAPE, "n is %lld, groups have int32 offsets", static_cast<long long>(n));
  SRP_TRY(check_group_count(n, G));
  SRP_TRY(check_pointer("offsets", offsets, G == 0 ? 0 : G + 1));
  return check_pointer("values", values, n);
}

inline srp_status check(const srp_group_normalize_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("ddof", a->ddof, 0, DBL_MAX));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, DBL_MAX));
  SRP_TRY(check_range("variance_floor", a->variance_floor, 0, DBL_MAX));
  SRP_TRY(check_enum("center", a->center, SRP_CENTER_LEAVE_ONE_OUT));
  SRP_TRY(check_enum("scale", a->scale, SRP_SCALE_STD));
  SRP_TRY(check_enum("singleton", a->singleton, SRP_SINGLETON_RAW));
  return check_enum("nan_policy", a->nan_policy, SRP_NAN_ABSTAIN);
}

inline srp_status check(const srp_group_softmax_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("temperature", a->temperature, 0, DBL_MAX));
  if (a->temperature == 0) return fail(SRP_BAD_ARGUMENT, "temperature is 0, expected more");
  return check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_top2_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_pointer("best", a->best, a->G));
  return check_pointer("second", a->second, a->G);
}

inline srp_status check(const srp_group_broadcast_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_pointer("row", a->row, a->B));
  return check_pointer("out", a->out, a->n);
}

}  // namespace srp

#endif
