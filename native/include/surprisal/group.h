/* Statistics per group of items (rewards of the rollouts of one prompt), and rows spread over their tokens.
 *
 *   normalize   `normalized`: items centred and scaled by their group, times gain; `means`, `stds` and `counts` of the groups
 *   softmax     `weights`: softmax of the items of a group at a temperature, mixed with uniform weights so that none is below the floor;
 *               `log_sum_exps` and `soft_means` of the groups
 *   tilt        `weights`: proportional to a power of the values times a power of the exponentials of log_factors, times counts
 *   entropy     `entropies` of the numbers of a group as they are, or with normalize divided by their sum; `evennesses`: that over the
 *               logarithm of the count
 *   top2        `best` and `second`: the largest item and the largest of the rest; `best_values`, `second_values`
 *   columns     `baselines`: weighted mean over the rows of a group at one position from the row's begin; `centred`: the values less it
 *   weigh       `weights`: a power of the absolute value, or one constant for the largest of a group, one for the smallest and one for
 *               the rest; the floor is added
 *   broadcast   `tokens`: the number of the row times its factor at the row's kept tokens
 *   place       `placed`: tokens plus scaled values, and at the last kept token of a row its number, clipped
 * formulas  docs/ops/group.md
 *
 * center      MEAN: the group's mean. LEAVE_ONE_OUT: the mean of the others. NONE: 0. RUNNER_UP: the second largest number for the
 *             largest, the number itself for every other (also for equal largest ones): only a sole winner stands out
 * scale       STD: divided by std + epsilon. NONE: not divided. OTHERS: divided by the std of the other items + epsilon, and not divided
 *             where that is 0 or there are not more than ddof others. MEAN: divided by mean + epsilon where the mean is above 0,
 *             else 0. SIGNED_MEAN: divided by mean + epsilon
 * centers     of each item what was subtracted; spreads: what divided it, without epsilon, 1 with NONE. Both NaN in a group without
 *             numbers or of weight 0. Of SRP_SINGLETON_ZERO the number and 0, of the other singletons 0 and 1
 * weights     of normalize: an item counts that often, and count below is the sum of the weights. Weight 0: the item is in no
 *             statistic; a group of weight 0 has mean and std NaN and outputs 0. They are finite: one that is not makes
 *             the statistics of its group NaN
 * temperature 0: the limit, where the items equal to the largest have equal weights; log_sum_exps and soft_means are NULL then
 * soft_means  a group of equal numbers has that number, exactly
 * counts      of tilt: those below 1 count as 1
 * entropy     0 ln 0 = 0. A group of one has evenness 0
 * top2        ties go to the smaller item index
 * columns     over the rows with a kept token there. Equal numbers and a positive sum of weights: the baseline is the number, whatever
 *             epsilon is, so that centred is 0 exactly. A group of one row has baseline 0; so has, with zero_tail, a column that one
 *             row alone reaches (its last kept token is there or behind); so has a column whose divisor is 0. Under the mask 0
 * weigh       of equal numbers all are the largest. NaN where the item is NaN
 * broadcast   0 under the mask
 * variance    about the mean of the group, whatever the center, with divisor count - ddof, not below variance_floor;
 *             NaN where count <= ddof (but see constant and singleton). Scaled by a NaN std every output is NaN, also that of a
 *             centred 0
 * copy        center NONE with scale NONE copies the values; constant and singleton do not apply
 * constant    a group with max == min, finite, and more than one number has centred values of exactly 0 and std
 *             sqrt(variance_floor), also where count <= ddof (the rounded mean of equal numbers need not equal them; dividing
 *             that residue by a tiny std would invent advantages of order 1). With center NONE: the number / (std + epsilon)
 * singleton   SRP_SINGLETON_ZERO: 0.  SRP_SINGLETON_RAW: centre 0 and std 1; with OTHERS, MEAN and
 *             SIGNED_MEAN the number itself. The reported mean is the number, the reported std 0.
 *             SRP_SINGLETON_STANDARD: as RAW, and so reported: mean 0 and std 1, also of an empty group
 * nan         SRP_NAN_PROPAGATE: a NaN makes its whole group NaN.  SRP_NAN_ABSTAIN: left out of the statistics, its own
 *             output 0; a group with one number left counts as a singleton; with none: mean and std NaN, outputs 0
 *             softmax propagates; top2: SRP_NOT_FINITE. Where there is no item its index is -1, its value NaN
 * infinities  follow IEEE arithmetic: a group with one has an infinite or NaN mean and a NaN std
 * softmax     of -infinity is 0; a group of -infinity only is NaN, and so is a group with +infinity. tilt: the same of its
 *             exponents; log_factors are not read where coefficient is 0; a NaN count makes its group NaN
 * precision   float64; deviations from the mean, corrected, or of float32 from any number of the group: an output's error is 2 ulp of
 *             its dtype plus count * 2^-53 of the group's largest deviation, whatever the offset of the group. The sum of squares of the others
 *             is that of the group less the item's share: below (count + 8) 2^-52 of the group's it counts as 0. Squares are formed in float64: deviations of 1e-150 … 1e150
 *             tilt: (1 + |z| / temperature) times a few 2^-53 of the weight, z the exponent on the page; entropy: count * 2^-53 of 1 + it
 *             Items are added in a fixed order that depends on the group's size alone, and on the backend
 * memory      outputs may not overlap inputs; groups as in backend.h, n <= 2^31 - 1; empty groups: mean, std NaN, count 0,
 *             best -1, entropy 0. broadcast, place: rows as in backend.h, what lies under the mask is not read
 * place       tokens, values, row: NULL = 0; with scale 0 values are not read. Under the mask 0, or with transform_masked
 *             what a kept token gets (then it is read). The number of a row without a kept token is not used. A NaN in
 *             row passes the clip. One rounding, of the sum in float64 */
#ifndef SURPRISAL_GROUP_H
#define SURPRISAL_GROUP_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum {
  SRP_CENTER_NONE = 0,
  SRP_CENTER_MEAN = 1,
  SRP_CENTER_LEAVE_ONE_OUT = 2,
  SRP_CENTER_RUNNER_UP = 3
} srp_group_center;
typedef enum { SRP_WEIGH_POWER = 0, SRP_WEIGH_EXTREMES = 1 } srp_weigh_form;
typedef enum {
  SRP_SCALE_NONE = 0,
  SRP_SCALE_STD = 1,
  SRP_SCALE_OTHERS = 2,
  SRP_SCALE_MEAN = 3,
  SRP_SCALE_SIGNED_MEAN = 4
} srp_group_scale;
typedef enum { SRP_SINGLETON_ZERO = 0, SRP_SINGLETON_RAW = 1, SRP_SINGLETON_STANDARD = 2 } srp_group_singleton;
typedef enum { SRP_NAN_PROPAGATE = 0, SRP_NAN_ABSTAIN = 1 } srp_nan_policy;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of every float array here */
  const void* values;     /* [n] */
  const int32_t* members; /* [n] or NULL = identity */
  const int32_t* offsets; /* [G + 1] */
  int64_t n, G;
  double ddof;             /* >= 0 */
  double epsilon;          /* >= 0, added to the std */
  double variance_floor;   /* >= 0 */
  int32_t center;          /* srp_group_center */
  int32_t scale;           /* srp_group_scale */
  int32_t singleton;       /* srp_group_singleton */
  int32_t nan_policy;      /* srp_nan_policy */
  void* normalized;        /* [n] or NULL */
  void *means, *stds;      /* [G] or NULL */
  int32_t* counts;         /* [G] or NULL: items that entered the statistics (all of them under SRP_NAN_PROPAGATE) */
  const void* weights;     /* [n] or NULL = 1; >= 0 */
  double gain;             /* >= 0; 1 = as it is */
  void *centers, *spreads; /* [n] or NULL: of each item, see above */
} srp_group_normalize_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values, weights, log_sum_exps, soft_means */
  const void* values;     /* [n] */
  const int32_t* members; /* [n] or NULL = identity */
  const int32_t* offsets; /* [G + 1] */
  int64_t n, G;
  double temperature;              /* >= 0 */
  void* weights;                   /* [n] or NULL */
  void *log_sum_exps, *soft_means; /* [G] or NULL; of an empty group -infinity and NaN */
  double floor;                    /* >= 0, of the weights; not of log_sum_exps and soft_means */
} srp_group_softmax_args;

typedef struct {
  uint32_t size;
  int32_t dtype;           /* SRP_F32 or SRP_F64: of values, log_factors, counts, weights */
  const void* values;      /* [n] */
  const void* log_factors; /* [n] or NULL = 0: l */
  const void* counts;      /* [n] or NULL = 1 */
  const int32_t* members;  /* [n] or NULL = identity */
  const int32_t* offsets;  /* [G + 1] */
  int64_t n, G;
  double temperature; /* >= 0 */
  double coefficient; /* >= 0 */
  double least;       /* >= 0 */
  void* weights;      /* [n] */
} srp_group_tilt_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values, entropies, evennesses */
  const void* values;     /* [n] */
  const int32_t* members; /* [n] or NULL = identity */
  const int32_t* offsets; /* [G + 1] */
  int64_t n, G;
  int32_t normalize;            /* 0 or 1 */
  double least;                 /* >= 0 */
  void *entropies, *evennesses; /* [G] or NULL, not both */
} srp_group_entropy_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values, best_values, second_values */
  const void* values;     /* [n] */
  const int32_t* members; /* [n] or NULL = identity */
  const int32_t* offsets; /* [G + 1] */
  int64_t n, G;
  int32_t *best, *second;            /* [G]: item indices, -1 where there is none */
  void *best_values, *second_values; /* [G] or NULL */
} srp_group_top2_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                /* SRP_F32 or SRP_F64: of values, weights, baselines, centred */
  const void *values, *weights; /* [n] */
  const uint8_t* mask;          /* [n] or NULL */
  const int32_t* offsets;       /* [B + 1] or NULL = padded */
  const int32_t* members;       /* [B] or NULL = identity: rows */
  const int32_t* group_offsets; /* [G + 1] */
  int64_t n, B, T, G;
  double epsilon;            /* >= 0 */
  int32_t zero_tail;         /* 0 or 1 */
  void *baselines, *centred; /* [n] or NULL, not both */
} srp_group_columns_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values, weights */
  const void* values;     /* [n] */
  const int32_t* members; /* [n] or NULL = identity */
  const int32_t* offsets; /* [G + 1] */
  int64_t n, G;
  int32_t form;                          /* srp_weigh_form */
  double power;                          /* >= 0 */
  double at_max, at_min, between, floor; /* finite */
  void* weights;                         /* [n] */
} srp_group_weigh_args;

typedef struct {
  uint32_t size;
  int32_t dtype;           /* SRP_F32 or SRP_F64: of row, row_factors, tokens */
  const void* row;         /* [B] */
  const void* row_factors; /* [B] or NULL = 1 */
  const uint8_t* mask;     /* [n] or NULL */
  const int32_t* offsets;  /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  void* tokens; /* [n] */
} srp_group_broadcast_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of row, tokens, values, placed */
  const void* row;        /* [B] or NULL = 0 */
  const void* tokens;     /* [n] or NULL = 0 */
  const void* values;     /* [n] or NULL = 0 */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double scale;     /* finite */
  double low, high; /* of row; -infinity, infinity = no clip */
  int32_t transform_masked;
  void* placed; /* [n] */
} srp_group_place_args;

#endif
