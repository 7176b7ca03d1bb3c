/* How far two policies' log-probs of the same tokens are apart, and what is done about it: bounded weights and masks.
 *
 *   measure   `moments` and `bounded`: moments a row (fields as in reduce.h, for srp_reduce_merge) of the statistic of its kept tokens,
 *             and of the statistic held to its bounds; `differences`: sum of log_probs - old_log_probs, not clamped; `above` and
 *             `below`: how many tokens have a statistic above the upper bound, below the lower one
 *   bound     `weights`: the statistic held to its bounds, times the row's factor; `kept`: 1 where the mask is, the statistic is
 *             within its bounds or on one, and the row's factor is not 0, else 0; `kept_counts`: how many a row
 * formulas  docs/ops/correction.md
 *
 * statistic   K1, K2, K3 (three estimators of a KL divergence) and RATIO (new to old): of the difference of the log-probs, which
 *             log_clamp bounds on both sides. DISTANCE, CURRENT, OLD, TOTAL (of the two probabilities: the absolute difference,
 *             either of them, the sum): log_clamp is not read. K3 is >= 0, without cancelling at small differences; DISTANCE comes
 *             from the difference of the logs, so that close ones do not cancel
 * outside     what a token outside of the bounds weighs: the bound (SRP_OUTSIDE_CLAMP), or 0 (SRP_OUTSIDE_ZERO). Under the mask:
 *             masked_weight
 * empty       rows without kept tokens: the moments of nothing, differences 0, counts 0
 * zero        a row factor of exactly 0 silences an infinity (0 * inf is 0 here), not a NaN
 * nan         a statistic of NaN: counts as above, is not kept, and its weight is NaN; so are its row's moments. No other row's
 * order       as reduce.h: host backends cut a row into chunks of 4096 positions, and merge one after the other; device
 *             backends take a row at once, in a fixed order that depends on its length alone. Masked positions add nothing, to the bit
 * precision   float64 throughout. The statistic relatively within 4 ulp of float64, also K3 and DISTANCE of close numbers; means
 *             and M2 of it as reduce.h states; weights rounded once. Of float32 log-probs a device whose float64 is slow computes
 *             the statistic relatively within 1e-12 of that, and M2 relatively within 1e-12 (1 + |mean| / std)
 * memory      `kept` may be the memory of `mask`; no other overlap; rows as in backend.h */
#ifndef SURPRISAL_CORRECTION_H
#define SURPRISAL_CORRECTION_H

#include "surprisal/dtype.h"
#include "surprisal/reduce.h"
#include "surprisal/status.h"

typedef enum {
  SRP_STATISTIC_K1 = 0,
  SRP_STATISTIC_K2 = 1,
  SRP_STATISTIC_K3 = 2,
  SRP_STATISTIC_RATIO = 3,
  SRP_STATISTIC_DISTANCE = 4,
  SRP_STATISTIC_CURRENT = 5,
  SRP_STATISTIC_OLD = 6,
  SRP_STATISTIC_TOTAL = 7
} srp_mismatch_statistic;

typedef enum { SRP_OUTSIDE_CLAMP = 0, SRP_OUTSIDE_ZERO = 1 } srp_outside_rule;

typedef struct {
  uint32_t size;
  int32_t dtype;                         /* SRP_F32 or SRP_F64: of log_probs, old_log_probs */
  const void *log_probs, *old_log_probs; /* [n] */
  const uint8_t* mask;                   /* [n] or NULL */
  const int32_t* offsets;                /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int32_t statistic;         /* srp_mismatch_statistic */
  double log_clamp;          /* > 0, infinity = off */
  double low, high;          /* low <= high, infinities = off */
  double *moments, *bounded; /* [B, SRP_MOMENTS] or NULL */
  double* differences;       /* [B] or NULL */
  int32_t *above, *below;    /* [B] or NULL */
} srp_correction_measure_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                         /* SRP_F32 or SRP_F64: of log_probs, old_log_probs, weights */
  const void *log_probs, *old_log_probs; /* [n] */
  const uint8_t* mask;                   /* [n] or NULL */
  const int32_t* offsets;                /* [B + 1] or NULL = padded */
  const double* row_factors;             /* [B] or NULL = 1 */
  int64_t n, B, T;
  int32_t statistic; /* srp_mismatch_statistic */
  int32_t outside;   /* srp_outside_rule */
  double log_clamp, low, high;
  double masked_weight; /* the weight under the mask */
  void* weights;        /* [n] or NULL */
  uint8_t* kept;        /* [n] or NULL, may be the memory of mask */
  int32_t* kept_counts; /* [B] or NULL */
} srp_correction_bound_args;

#endif
