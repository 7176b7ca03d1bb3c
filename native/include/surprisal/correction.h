/* How far two policies' log-probs of the same tokens are apart, and what is done about it: bounded weights and masks.
 *
 *   x[t], the statistic, of d = log_probs[t] - old_log_probs[t] clamped to [-log_clamp, log_clamp]:
 *             K1        -d                     log(old / new)
 *             K2        d^2 / 2
 *             K3        exp(d) - 1 - d         >= 0, without cancelling at small d
 *             RATIO     exp(d)
 *             and of p = exp(log_probs[t]), q = exp(old_log_probs[t]), where log_clamp is not read:
 *             DISTANCE  |p - q|                from the difference of the logs, so that close ones do not cancel
 *             CURRENT   p
 *             OLD       q
 *             TOTAL     p + q
 *
 *   measure   of the kept tokens of row b
 *             moments[b]      of x: count, sum, mean, M2, min, max as in reduce.h, for srp_reduce_merge
 *             bounded[b]      of min(max(x, low), high), likewise
 *             differences[b]  sum of log_probs - old_log_probs, not clamped
 *             above[b], below[b]  how many have x > high, x < low
 *
 *   bound     f[b] = row_factors[b], 1 without
 *             weights[t]      f[b] * min(max(x, low), high)  for SRP_OUTSIDE_CLAMP
 *                             f[b] * x inside [low, high], else 0  for SRP_OUTSIDE_ZERO;  masked_weight under the mask
 *             kept[t]         1 where the mask is, low <= x <= high and f[b] is not 0, else 0
 *             kept_counts[b]  how many
 *
 * empty       rows without kept tokens: the moments of nothing, differences 0, counts 0
 * zero        a row factor of exactly 0 silences an infinity (0 * inf is 0 here), not a NaN
 * nan         x is NaN: counts as above, is not kept, and its weight is NaN; so are its row's moments. No other row's
 * order       as reduce.h: host backends cut a row into chunks of 4096 positions, and merge one after the other; device
 *             backends take a row at once, in a fixed order that depends on its length alone. Masked positions add nothing, to the bit
 * precision   float64 throughout. x relatively within 4 ulp of float64, also K3 near d = 0 and DISTANCE of close numbers; means
 *             and M2 of it as reduce.h states; weights rounded once
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
