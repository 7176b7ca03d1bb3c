// Mean, spread and normalised items of a group (surprisal/group.h), for every native backend. A backend walks a group twice (Tally, then
// Deviations) and hands the outcome to GroupStatistics; each backend has its own order of addition.
#ifndef SURPRISAL_SHARED_GROUP_STATISTICS_H
#define SURPRISAL_SHARED_GROUP_STATISTICS_H

#include "shared/number.h"
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

}  // namespace srp

#endif
