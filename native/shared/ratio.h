// What CPU and CUDA share of surprisal/ratio.h: one token's difference, one unit's log ratio, and the checks of the arguments.
// Each backend has its own loops over tokens.
#ifndef SURPRISAL_SHARED_RATIO_H
#define SURPRISAL_SHARED_RATIO_H

#include "shared/checks.h"
#include "shared/loss_forms.h"
#include "shared/rows.h"
#include "surprisal/ratio.h"

namespace srp {

// Sum of log-prob differences over kept tokens: of a row, or of the rows of a group.
struct LogSum {
  double sum;
  int64_t kept;
};

template <class Args>
SRP_HD bool is_kept(const Args& a, int64_t i) {
  return !a.mask || a.mask[i];
}

template <class F, class Args>
SRP_HD double difference(const Args& a, int64_t i) {
  return load(static_cast<const F*>(a.log_probs), i) - load(static_cast<const F*>(a.old_log_probs), i);
}

// What the sum is divided by, in the log ratio and in the gradient.
SRP_HD double divisor(int64_t kept, int32_t reduce) {
  return reduce == SRP_REDUCE_SUM || kept == 0 ? 1.0 : static_cast<double>(kept);
}

// A unit without tokens has sum 0, hence log ratio 0 and ratio 1.
SRP_HD double log_ratio_of(LogSum unit, int32_t reduce) { return unit.sum / divisor(unit.kept, reduce); }

template <class F>
SRP_HD void store_log_ratio(const srp_ratio_log_args& a, int64_t unit, double x, double ratio) {
  if (a.log_ratios) store(static_cast<F*>(a.log_ratios), unit, x);
  if (a.ratios) store(static_cast<F*>(a.ratios), unit, ratio);
}
template <class F>
SRP_HD void store_log_ratio(const srp_ratio_log_args& a, int64_t unit, double x) {
  store_log_ratio<F>(a, unit, x, exponential(x));
}

template <class F>
SRP_HD void store_masked_log_ratio(const srp_ratio_log_args& a, int64_t i) {
  if (a.log_ratios) store(static_cast<F*>(a.log_ratios), i, 0);
  if (a.ratios) store(static_cast<F*>(a.ratios), i, 0);
}

inline srp_status check_levels(int32_t level, int32_t reduce, const int32_t* members, const int32_t* group_offsets,
                               int64_t B, int64_t G) {
  SRP_TRY(check_enum("level", level, SRP_LEVEL_GROUP));
  SRP_TRY(check_enum("reduce", reduce, SRP_REDUCE_SUM));
  if (level == SRP_LEVEL_GROUP) {
    SRP_TRY(check_group_count(B, G));
    return check_pointer("group_offsets", group_offsets, G + 1);
  }
  if (members || group_offsets) return fail(SRP_BAD_ARGUMENT, "members and group_offsets belong to the group level");
  return SRP_OK;
}

inline srp_status check(const srp_ratio_log_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_levels(a->level, a->reduce, a->members, a->group_offsets, a->B, a->G));
  SRP_TRY(check_pointer("log_probs", a->log_probs, a->n));
  SRP_TRY(check_pointer("old_log_probs", a->old_log_probs, a->n));
  return check_pointer("log_ratios and ratios", a->log_ratios ? a->log_ratios : a->ratios, a->n);
}

}  // namespace srp

#endif
