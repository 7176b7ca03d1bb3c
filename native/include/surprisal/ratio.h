/* Log ratios of a new and an old policy, per token, per sequence or per group of sequences, and the clipped objective.
 *
 *   log       d[t] = current[t] - old[t] over kept tokens
 *             TOKEN     x[t] = d[t]
 *             SEQUENCE  x[b] = sum of d over row b / kept tokens of row b  (MEAN; exp of it is the geometric mean ratio)
 *                       or the sum itself                                  (SUM)
 *             GROUP     the same over all rows of a group
 *             log_ratio = x, ratio = exp(x). A unit (row or group) without kept tokens has x = 0 and ratio 1; a masked
 *             token has log ratio 0 and ratio 0
 *
 *   clip      (loss, slope) = loss_form(x, advantage) of loss_forms.h, where x is clamped to
 *             [-log_clamp, min(log_clamp, max_log_ratio)]; outside of it (boundary excluded) the slope is 0
 *             term = -loss, to be maximised: min(r A, clip(r) A) for SRP_LOSS_CLIP
 *             TOKEN     one term a kept token; objective[b] = row_weight[b] * sum over t of term[t]
 *             SEQUENCE  one term a row (also a row without tokens: ratio 1); objective[b] = row_weight[b] * term[b]
 *             GROUP     one term a row, with the ratio of its group
 *             grad[t] = d (sum of objectives) / d current[t]:
 *               TOKEN     -row_weight[b] * slope[t]
 *               SEQUENCE  -row_weight[b] * slope[b] / kept[b]
 *               GROUP     -(sum over rows b' of the group of row_weight[b'] * slope[b']) / kept[g]
 *             with SUM the division by kept is left out. Masked tokens have gradient 0
 *
 * advantage  TOKEN level takes [n] (advantage_per_token 1) or [B]; the other levels take [B]
 * ratio      [n], [B] or [G] by level, likewise clipped_ratio: of the clamped x; clipped_ratio of a masked token is 0
 * term       [n] at TOKEN level (0 under the mask), else [B];  clipped: the same shape, 1 where the clipped branch won
 * per row    objective [B], ratio_sum [B], ratio_max [B] (over the row's terms; -infinity without one), all float64;
 *            terms, clipped_count and limited_count (on the dual clip's limit) [B] int32.
 *            They are partial sums: batch figures are their sums in row order
 * zero       an advantage or a row_weight of exactly 0 silences an infinity (0 * inf is 0 here), not a NaN
 * nan        spreads to its unit (and the group's gradient), nowhere else
 * precision  differences and sums in float64 in a fixed order, rounded once: float32 outputs are within
 *            1e-7 * (1 + |x|) of the log ratio, relatively of the ratio
 * memory     outputs may not overlap inputs; rows and groups as in rows.h (groups index rows) */
#ifndef SURPRISAL_RATIO_H
#define SURPRISAL_RATIO_H

#include "surprisal/dtype.h"
#include "surprisal/loss_forms.h"
#include "surprisal/status.h"

typedef enum { SRP_LEVEL_TOKEN = 0, SRP_LEVEL_SEQUENCE = 1, SRP_LEVEL_GROUP = 2 } srp_level;
typedef enum { SRP_REDUCE_MEAN = 0, SRP_REDUCE_SUM = 1 } srp_reduce;

typedef struct {
  uint32_t size;
  int32_t dtype;                    /* of current, old, log_ratio, ratio: SRP_F32 or SRP_F64 */
  const void *current, *old;        /* [n] */
  const uint8_t* mask;              /* [n] or NULL */
  const int32_t* offsets;           /* [B+1] or NULL = padded */
  const int32_t* members;           /* [B] or NULL = identity; GROUP only */
  const int32_t* group_offsets;     /* [G+1]; GROUP only, else NULL */
  int64_t n, B, T, G;
  int32_t level, reduce;            /* reduce is not read at TOKEN level */
  void *log_ratio, *ratio;          /* [n], [B] or [G], each may be NULL, not both */
} srp_ratio_log_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                    /* of current, old, advantage, ratio, clipped_ratio, term, grad */
  const void *current, *old;        /* [n] */
  const void* advantage;            /* [n] or [B] */
  const double* row_weight;         /* [B] or NULL = 1 */
  const uint8_t* mask;
  const int32_t* offsets;
  const int32_t* members;
  const int32_t* group_offsets;
  int64_t n, B, T, G;
  int32_t level, reduce, advantage_per_token, form;
  double clip_low, clip_high;       /* >= 0, infinity = off */
  double dual_clip;                 /* > 1, infinity = off */
  double ratio_cap;                 /* > 0, infinity = off */
  double log_clamp;                 /* > 0, infinity = off */
  double max_log_ratio;             /* >= 0, infinity = off */
  void *ratio, *clipped_ratio;      /* by level, or NULL */
  void* term;                       /* or NULL */
  uint8_t* clipped;                 /* or NULL */
  void* grad;                       /* [n] or NULL */
  double *objective, *ratio_sum, *ratio_max;      /* [B] or NULL */
  int32_t *terms, *clipped_count, *limited_count; /* [B] or NULL */
} srp_ratio_clip_args;

#endif
