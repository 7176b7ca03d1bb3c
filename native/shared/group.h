// Arithmetic of group.h that every native backend shares, and the checks of its arguments. A backend walks a group twice
// (Tally, then Deviations) and hands the outcome to GroupStatistics; each backend has its own order of addition.
#ifndef SURPRISAL_SHARED_GROUP_H
#define SURPRISAL_SHARED_GROUP_H

#include <float.h>

#include "shared/checks.h"
#include "shared/rows.h"
#include "surprisal/group.h"

namespace srp {

// First walk: sums and extremes of a group. A NaN is only missing from `numbers`; an item of weight 0 counts as a number, whatever
// its value.
template <class Sum>
struct TallyOf {
  Sum sum = {}, weight = {};
  double low = INFINITY, high = -INFINITY;
  int64_t numbers = 0;

  SRP_HD void add(double x, double w) {
    if (w != 0) {
      if (isnan(x)) return;
      sum += w * x;
      weight += w;
      if (x < low) low = x;
      if (x > high) high = x;
    }
    ++numbers;
  }
};
using Tally = TallyOf<double>;

// Second walk: deviations from the rounded mean, or from any number near by, and the largest number below the largest. The mean of
// the deviations is what the pivot lacks of the mean.
template <class Sum>
struct DeviationsOf {
  Sum sum = {}, squares = {};
  double second = -INFINITY;  // largest number below the largest
  int64_t winners = 0;  // items that are the largest

  SRP_HD void add(double x, double w, double pivot, double high) {
    if (w == 0 || isnan(x)) return;
    const double d = x - pivot;
    sum += w * d;
    squares += w * (d * d);
    if (x == high)
      ++winners;
    else if (x > second)
      second = x;
  }
};
using Deviations = DeviationsOf<double>;

template <class F>
SRP_HD double item_weight(const void* weights, int64_t i) {
  return weights ? load(static_cast<const F*>(weights), i) : 1;
}

// What `normalized` makes of the items of a group, of weight 1: one number of all, or five operations.
struct GroupLine {
  // Whether a group has one, whatever its items are.
  static SRP_HD bool knows(const srp_group_normalize_args& a) {
    return a.center != SRP_CENTER_RUNNER_UP && (a.scale == SRP_SCALE_STD || a.scale == SRP_SCALE_NONE);
  }

  bool constant, abstain;
  double shift, residue, slope, factor, gain;  // of a constant: the shift

  template <class F>
  SRP_HD F of(F x) const {
    const double y = ((static_cast<double>(x) - shift) - residue) * slope * factor;
    const F made = static_cast<F>(gain * (constant ? shift : y));
    return abstain && isnan(x) ? F(0) : made;
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
        ddof_(a.ddof),
        floor_(a.variance_floor),
        gain_(a.gain),
        mean_(NAN),
        residue_(0),
        std_(NAN),
        inverse_(NAN),
        weight_(tally.weight),
        high_(tally.high),
        lead_(0),
        squares_(0),
        count_(abstain_ ? tally.numbers : items) {
    if (tally.numbers == 0 || tally.numbers < count_) {
      kind_ = kVoid;
      if (count_ == 0 && singleton_ == SRP_SINGLETON_STANDARD) {
        mean_ = 0;
        std_ = 1;
      }
    } else if (weight_ == 0) {
      kind_ = kWeightless;
    } else if (count_ == 1) {
      kind_ = kSingle;
      mean_ = singleton_ == SRP_SINGLETON_STANDARD ? 0 : tally.low;
      std_ = singleton_ == SRP_SINGLETON_STANDARD ? 1 : 0;
    } else if (tally.low == tally.high && !isinf(tally.low)) {
      kind_ = kConstant;
      mean_ = tally.low;
      std_ = sqrt(a.variance_floor);
      inverse_ = 1 / (std_ + epsilon_);
    } else {
      kind_ = kSpread;
      mean_ = tally.sum / weight_;
    }
  }

  // Ahead of the second walk: it measures from this number instead of the rounded mean. Not where the mean is infinite.
  SRP_HD void measure_from(double pivot) {
    if (mean_ - mean_ == 0) mean_ = pivot;
  }

  // Only a spread-out group needs the second walk.
  SRP_HD bool wants_deviations() const { return kind_ == kSpread; }

  SRP_HD void finish(const srp_group_normalize_args& a, const Deviations& d) {
    const double n = weight_;
    // An infinite item has an infinite mean, and the deviations do not measure its rounding error.
    if (!isnan(d.sum) && !isinf(d.sum)) residue_ = d.sum / n;
    squares_ = d.squares - n * residue_ * residue_;
    double variance = n > a.ddof ? squares_ / (n - a.ddof) : NAN;
    if (variance < a.variance_floor) variance = a.variance_floor;  // NaN stays
    std_ = sqrt(variance);
    inverse_ = 1 / (std_ + epsilon_);
    if (d.winners == 1) lead_ = high_ - d.second;
  }

  SRP_HD double high() const { return high_; }

  SRP_HD double mean() const { return mean_ + residue_; }
  SRP_HD double std() const { return std_; }
  SRP_HD int32_t count() const { return static_cast<int32_t>(count_); }

  SRP_HD double normalized(double x, double w) const { return gain_ * transformed(x, w); }

  // Of items of weight 1.
  SRP_HD GroupLine line() const {
    const bool centred = center_ != SRP_CENTER_NONE, copies = !centred && scale_ == SRP_SCALE_NONE;
    GroupLine l = {false, abstain_, 0, 0, 1, 1, gain_};
    const bool single = kind_ == kSingle && !copies;
    if (kind_ == kVoid || single || (kind_ == kConstant && centred)) {
      l.constant = true;
      l.shift = kind_ == kVoid ? NAN : single && singleton_ != SRP_SINGLETON_ZERO ? high_ : 0;
      if (single && scale_ == SRP_SCALE_STD) l.shift /= 1 + epsilon_;
      return l;
    }
    if (centred) {
      l.shift = mean_;
      l.residue = residue_;
    }
    if (center_ == SRP_CENTER_LEAVE_ONE_OUT) l.slope = weight_ / (weight_ - 1);
    if (scale_ == SRP_SCALE_STD) {
      constexpr double kUp = 0x1p600;  // where the std and epsilon are so small that their inverse is no number
      const bool small = isinf(inverse_);
      if (small) l.slope *= kUp;
      l.factor = small ? 1 / ((std_ + epsilon_) * kUp) : inverse_;
    }
    return l;
  }

  SRP_HD double center(double x, double w) const {
    if (isnan(x) || kind_ == kVoid || kind_ == kWeightless) return NAN;
    if (center_ == SRP_CENTER_NONE || (kind_ == kSingle && singleton_ != SRP_SINGLETON_ZERO)) return 0;
    return kind_ == kSpread && center_ != SRP_CENTER_MEAN ? x - centred_of(x, w) : mean();
  }

  SRP_HD double spread(double x, double w) const {
    if (isnan(x) || kind_ == kVoid || kind_ == kWeightless) return NAN;
    if (scale_ == SRP_SCALE_NONE) return 1;
    if (kind_ == kSingle) return singleton_ == SRP_SINGLETON_ZERO ? 0 : 1;
    return scale_ == SRP_SCALE_STD ? std_ : scale_ == SRP_SCALE_OTHERS ? std_of_others(x, w) : mean();
  }

 private:
  // kVoid: no number at all, or a NaN that propagates.
  enum Kind { kVoid, kWeightless, kSingle, kConstant, kSpread };

  SRP_HD double transformed(double x, double w) const {
    if (isnan(x)) return abstain_ ? 0 : NAN;
    if (kind_ == kVoid) return NAN;
    if (kind_ == kWeightless) return 0;
    if (center_ == SRP_CENTER_NONE && scale_ == SRP_SCALE_NONE) return x;
    if (kind_ == kSingle)
      return singleton_ == SRP_SINGLETON_ZERO ? 0 : scale_ == SRP_SCALE_STD ? x / (1 + epsilon_) : x;
    if (center_ == SRP_CENTER_NONE) return scaled(x, x, w);
    if (kind_ == kConstant) return 0;
    return scaled(centred_of(x, w), x, w);
  }

  // The centred number y of item x.
  SRP_HD double scaled(double y, double x, double w) const {
    if (scale_ == SRP_SCALE_NONE) return y;
    if (scale_ == SRP_SCALE_STD) return over_std(y);
    if (scale_ == SRP_SCALE_OTHERS) {
      const double others = std_of_others(x, w);
      return others == 0 ? y : y / (others + epsilon_);
    }
    return scale_ == SRP_SCALE_MEAN && mean() <= 0 ? 0 : y / (mean() + epsilon_);
  }

  SRP_HD double std_of_others(double x, double w) const {
    const double rest = weight_ - w;
    double variance = 0;
    if (kind_ == kSpread && rest > ddof_) {
      const double d = (x - mean_) - residue_;
      const double squares = w == 0 ? squares_ : squares_ - w * (d * d) * (weight_ / rest);
      const double lost = static_cast<double>(count_ + 8) * 0x1p-52 * squares_;
      variance = squares <= lost ? 0 : squares / (rest - ddof_);
    }
    return sqrt(variance < floor_ ? floor_ : variance);
  }

  // One division for the group; where its quotient is no number, each item's may still be one.
  SRP_HD double over_std(double x) const { return isinf(inverse_) ? x / (std_ + epsilon_) : x * inverse_; }

  // Leaving one out: x - (sum - w x) / (W - w) = (x - mean) W / (W - w), without the cancellation in sum - w x.
  SRP_HD double centred_of(double x, double w) const {
    if (center_ == SRP_CENTER_RUNNER_UP) return x == high_ && w != 0 ? lead_ : 0;
    const double centred = (x - mean_) - residue_;
    return center_ == SRP_CENTER_LEAVE_ONE_OUT ? centred * (weight_ / (weight_ - w)) : centred;
  }

  int32_t center_, scale_, singleton_;
  bool abstain_;
  Kind kind_;
  double epsilon_, ddof_, floor_, gain_, mean_, residue_, std_, inverse_, weight_, high_;
  double lead_;  // of a sole winner over the second
  double squares_;  // M2
  int64_t count_;
};

// One token of `place`, before the number of its row.
template <class F>
SRP_HD double place_token(const srp_group_place_args& a, int64_t i) {
  if (a.mask && !a.mask[i] && !a.transform_masked) return 0;
  const double token = a.tokens ? load(static_cast<const F*>(a.tokens), i) : 0;
  return a.values && a.scale != 0 ? token + a.scale * load(static_cast<const F*>(a.values), i) : token;
}

// The number that `place` adds to the last kept token of row b. NaN stays.
template <class F>
SRP_HD double place_row(const srp_group_place_args& a, int64_t b) {
  double x = a.row ? load(static_cast<const F*>(a.row), b) : 0;
  if (x < a.low) x = a.low;
  if (x > a.high) x = a.high;
  return x;
}

// Softmax: the sum is of its terms. An infinite largest number can't be shifted by.
SRP_HD double softmax_shift(double largest) { return isinf(largest) ? 0 : largest; }
// At temperature 0 each of the largest numbers has 1; a number above the shift is infinite, and so is its term.
SRP_HD double softmax_term(double x, double shift, double temperature) {
  if (temperature > 0) return exp((x - shift) / temperature);
  return isnan(x) ? NAN : x > shift ? INFINITY : x == shift ? 1 : 0;
}
SRP_HD double log_sum_exp(double shift, double sum, double temperature) { return shift / temperature + log(sum); }
SRP_HD double soft_mean(double shift, double sum, double temperature, int64_t count) {
  return shift + temperature * log(sum / static_cast<double>(count));
}
// A group with +infinity has no weights: its sum is infinite.
SRP_HD double softmax_weight(double term, double sum) { return isinf(sum) ? NAN : term / sum; }
// Mixed with the uniform weights. In this form a group of one and uniform weights stay what they are, exactly.
SRP_HD double with_floor(double weight, double floor, int64_t count) {
  const double n = static_cast<double>(count), uniform = 1 / n;
  return weight + (floor < uniform ? floor : uniform) * (1 - n * weight);
}

// Not fmax, which would drop a NaN.
SRP_HD double at_least(double x, double least) { return x < least ? least : x; }

// The exponent of item i, before the temperature.
template <class F>
SRP_HD double tilt_exponent(const srp_group_tilt_args& a, int64_t i) {
  const double z = log(at_least(load(static_cast<const F*>(a.values), i), a.least));
  return a.log_factors && a.coefficient != 0 ? z + a.coefficient * load(static_cast<const F*>(a.log_factors), i) : z;
}
template <class F>
SRP_HD double tilt_count(const srp_group_tilt_args& a, int64_t i) {
  return a.counts ? at_least(load(static_cast<const F*>(a.counts), i), 1) : 1;
}
// What item i adds to the sum of its group.
template <class F>
SRP_HD double tilt_term(const srp_group_tilt_args& a, double shift, int64_t i) {
  return softmax_term(tilt_exponent<F>(a, i), shift, a.temperature) * tilt_count<F>(a, i);
}

// x ln x in an entropy, with another x inside the logarithm.
SRP_HD double entropy_term(double x, double inside) { return x == 0 ? 0 : -(x * log(inside)); }
// Of item i; `sum` is of the numbers that are at least `least`.
template <class F>
SRP_HD double entropy_term(const srp_group_entropy_args& a, double sum, int64_t i) {
  const double x = load(static_cast<const F*>(a.values), i);
  const double raised = at_least(x, a.least);
  return a.normalize ? entropy_term(raised / sum, raised / sum) : entropy_term(x, raised);
}
SRP_HD double evenness(double entropy, int64_t count) {
  if (count < 2) return isnan(entropy) ? NAN : 0;
  return entropy / log(static_cast<double>(count));
}

// Tokens of a row up to its last kept one.
SRP_HD int64_t kept_length(const uint8_t* mask, Range row) {
  int64_t end = row.end;
  while (mask && end > row.begin && !mask[end - 1]) --end;
  return end - row.begin;
}

// One column of a group: adds up the rows that have a kept token there.
struct Column {
  double sum = 0, weight = 0, first = 0;
  bool empty = true, constant = true;

  SRP_HD void add(double x, double w) {
    if (empty) first = x;
    empty = false;
    constant = constant && x == first;
    sum += w * x;
    weight += w;
  }
  // alone: one row of the group reaches the column, or none.
  SRP_HD double baseline(const srp_group_columns_args& a, int64_t rows, bool alone) const {
    if (rows == 1 || (a.zero_tail && alone)) return 0;
    if (constant && weight > 0) return first;
    const double divisor = weight + a.epsilon;
    return divisor == 0 ? 0 : sum / divisor;
  }
};

SRP_HD double weigh(const srp_group_weigh_args& a, double x, double low, double high) {
  if (isnan(x)) return NAN;
  if (a.form == SRP_WEIGH_POWER) return pow(fabs(x), a.power) + a.floor;
  return (x == high ? a.at_max : x == low ? a.at_min : a.between) + a.floor;
}

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
  SRP_TRY(check_range("gain", a->gain, 0, DBL_MAX));
  SRP_TRY(check_enum("center", a->center, SRP_CENTER_RUNNER_UP));
  SRP_TRY(check_enum("scale", a->scale, SRP_SCALE_SIGNED_MEAN));
  SRP_TRY(check_enum("singleton", a->singleton, SRP_SINGLETON_STANDARD));
  return check_enum("nan_policy", a->nan_policy, SRP_NAN_ABSTAIN);
}

inline srp_status check(const srp_group_softmax_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("temperature", a->temperature, 0, DBL_MAX));
  SRP_TRY(check_range("floor", a->floor, 0, DBL_MAX));
  if (a->temperature == 0 && (a->log_sum_exps || a->soft_means))
    return fail(SRP_BAD_ARGUMENT, "temperature is 0, expected more where log_sum_exps or soft_means are asked for");
  return a->log_sum_exps || a->soft_means ? SRP_OK : check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_tilt_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_range("temperature", a->temperature, 0, DBL_MAX));
  SRP_TRY(check_range("coefficient", a->coefficient, 0, DBL_MAX));
  SRP_TRY(check_range("least", a->least, 0, DBL_MAX));
  return check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_entropy_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_enum("normalize", a->normalize, 1));
  SRP_TRY(check_range("least", a->least, 0, DBL_MAX));
  return check_pointer("entropies and evennesses", a->entropies ? a->entropies : a->evennesses, a->G);
}

inline srp_status check(const srp_group_top2_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_pointer("best", a->best, a->G));
  return check_pointer("second", a->second, a->G);
}

inline srp_status check(const srp_group_columns_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  if (a->B > INT32_MAX)
    return fail(SRP_BAD_SHAPE, "B is %lld, groups have int32 offsets", static_cast<long long>(a->B));
  SRP_TRY(check_group_count(a->B, a->G));
  SRP_TRY(check_range("epsilon", a->epsilon, 0, DBL_MAX));
  SRP_TRY(check_enum("zero_tail", a->zero_tail, 1));
  SRP_TRY(check_pointer("group_offsets", a->group_offsets, a->G == 0 ? 0 : a->G + 1));
  SRP_TRY(check_pointer("values", a->values, a->n));
  SRP_TRY(check_pointer("weights", a->weights, a->n));
  return check_pointer("baselines and centred", a->baselines ? a->baselines : a->centred, a->n);
}

inline srp_status check(const srp_group_weigh_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_groups(a->dtype, a->values, a->offsets, a->n, a->G));
  SRP_TRY(check_enum("form", a->form, SRP_WEIGH_EXTREMES));
  SRP_TRY(check_range("power", a->power, 0, DBL_MAX));
  SRP_TRY(check_range("at_max", a->at_max, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("at_min", a->at_min, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("between", a->between, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("floor", a->floor, -DBL_MAX, DBL_MAX));
  return check_pointer("weights", a->weights, a->n);
}

inline srp_status check(const srp_group_broadcast_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_pointer("row", a->row, a->B));
  return check_pointer("tokens", a->tokens, a->n);
}

inline srp_status check(const srp_group_place_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_range("scale", a->scale, -DBL_MAX, DBL_MAX));
  SRP_TRY(check_range("low", a->low, -INFINITY, INFINITY));
  SRP_TRY(check_range("high", a->high, -INFINITY, INFINITY));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  return check_pointer("placed", a->placed, a->n);
}

}  // namespace srp

#endif
