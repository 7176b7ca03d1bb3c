/* Moments of kept tokens per row, their merge, and what is done with them: whitening and affine maps.
 *
 *   moments   `partials`: count, sum, mean, M2 (sum of squared deviations from the mean), smallest and largest of the kept values of a
 *             row, float64
 *   merge     `merged`: partials of the rows of a group to one. Merging is what a caller does with the partials of other workers too
 *   whiten    `whitened`: values centred and scaled by the moments of their unit: the row itself, its group, or everything (over)
 *   affine    `mapped`: values less the row's center, times the row's scale, over a divisor
 *   counts    `counts`: kept tokens of a row; all of them without a mask. Whole numbers, exact
 *   clamp     `clamped`: values held to bounds; `counts`: kept tokens of a row, and those of them outside, as SRP_CLAMPED_* says
 *   gamma     `weights`: a gamma density, without its scale, in the ratio of a row: 1 at ratio 1; `log_weights`: the logarithm of that
 *             ratio, from clipped sums of log_ratios and of the logarithms of factors over the row's kept tokens
 * formulas  docs/ops/reduce.md
 *
 * whiten      SRP_CENTER_NONE subtracts nothing, SRP_SCALE_NONE divides by nothing; keep_mean adds the center again. The variance is 0
 *             where count <= ddof. A value equal to the center gives exactly 0 (the center with keep_mean), whatever it is divided by
 * clamp       the upper bound where the lower one is above it. NaN stays NaN, and is not outside
 * gamma       all_factors: factors over all positions of the row, not the kept ones alone. Where signs[b] >= 0 shape and rate are
 *             those of a positive row, else those of a negative one. A weight that is not finite is 0, but NaN where signs[b] is NaN
 * constant    min == max, finite: mean is that value and M2 is 0, exactly; so with count_epsilon 0 whitening such a unit
 *             gives exact zeros
 * empty       count 0, sum 0, mean 0, M2 0, min +infinity, max -infinity: the identity of merge. A partial with count 0 counts
 *             as this one, whatever its other numbers are
 * masked      not read; whiten, affine and clamp write 0 there, or, with transform_masked, what a kept value gets (then it is read)
 * nan         SRP_NAN_PROPAGATE: NaN in sum, mean, M2, min and max of its row. SRP_NAN_ABSTAIN: as if masked, and whiten
 *             writes 0 there
 * infinities  follow IEEE arithmetic: the mean is infinite or NaN, M2 is NaN
 * order       a row is cut into chunks of 4096 positions from its begin; a chunk takes two passes (sum, then deviations from
 *             the mean), and chunks merge in order, one after the other. Within a chunk the portable host backends add in
 *             position order; the others have as many lanes as a register holds float32 numbers, position p of the chunk adds
 *             to lane p modulo lanes, the upper half of the lanes adds to the lower and that adds up in order. Device backends
 *             have 256 lanes and a fixed tree. Masked positions and empty partials add nothing, to the bit: so neither
 *             threads, nor other rows, nor padding behind a row, nor where an array lies changes a result on one backend
 * precision   float64 throughout. Up to 60 000 numbers, with c = min(count, 4096): the mean within 1 ulp of itself and c 2^-53
 *             of the largest deviation, M2 relatively within (8 + c + |mean| / std) 2^-53, since a chunk adds up to c numbers
 *             in order and a partial holds a rounded mean. Measured: a tenth of it for ascending numbers; device backends
 *             stay near c = 1. Deviations of 1e-150 ... 1e150. Outputs of whiten and affine are rounded once: 2 ulp of the
 *             output dtype beyond that; whiten may multiply by the inverse of its divisor where they are float32
 * memory      whitened, mapped and clamped may be the memory of values; no other overlap; rows and groups as in backend.h
 *             (groups index rows) */
#ifndef SURPRISAL_REDUCE_H
#define SURPRISAL_REDUCE_H

#include "surprisal/dtype.h"
#include "surprisal/group.h"
#include "surprisal/status.h"

/* Fields of a partial, in their order. */
typedef enum {
  SRP_MOMENT_COUNT = 0,
  SRP_MOMENT_SUM,
  SRP_MOMENT_MEAN,
  SRP_MOMENT_M2,
  SRP_MOMENT_MIN,
  SRP_MOMENT_MAX,
  SRP_MOMENTS
} srp_moment;

typedef enum { SRP_OVER_ROW = 0, SRP_OVER_GROUP = 1, SRP_OVER_ALL = 2 } srp_reduce_scope;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int32_t nan_policy; /* srp_nan_policy */
  double* partials;   /* [B, SRP_MOMENTS] */
} srp_reduce_moments_args;

typedef struct {
  uint32_t size;
  const double* partials; /* [B, SRP_MOMENTS] */
  const int32_t* members; /* [B] or NULL = identity */
  const int32_t* offsets; /* [G + 1] or NULL with G 1: all partials are one group */
  int64_t B, G;
  double* merged; /* [G, SRP_MOMENTS] */
} srp_reduce_merge_args;

typedef struct {
  uint32_t size;
  int32_t dtype;            /* SRP_F32 or SRP_F64: of values and whitened */
  const void* values;       /* [n] */
  const uint8_t* mask;      /* [n] or NULL */
  const int32_t* offsets;   /* [B + 1] or NULL = padded */
  const int32_t* group_ids; /* [B] or NULL: group of each row, 0..units-1; read for SRP_OVER_GROUP only */
  const double* moments;    /* [units, SRP_MOMENTS]: units is B for SRP_OVER_ROW, 1 for SRP_OVER_ALL */
  int64_t n, B, T, units;
  int32_t over;                                                          /* srp_reduce_scope */
  int32_t center;                                                        /* SRP_CENTER_NONE or SRP_CENTER_MEAN */
  int32_t scale;                                                         /* srp_group_scale */
  double ddof, count_epsilon, epsilon, variance_epsilon, variance_floor; /* each >= 0 */
  int32_t keep_mean, nan_policy, transform_masked;
  void* whitened; /* [n], may be the memory of values */
} srp_reduce_whiten_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values and mapped */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  const double* center;   /* [B] or NULL = 0 */
  const double* scale;    /* [B] or NULL = 1 */
  int64_t n, B, T;
  int32_t transform_masked;
  void* mapped;   /* [n], may be the memory of values */
  double divisor; /* > 0 or NaN; 1 = none, to the bit */
} srp_reduce_affine_args;

/* Fields of the counts of clamp, in their order. */
typedef enum { SRP_CLAMPED_KEPT = 0, SRP_CLAMPED_OUTSIDE, SRP_CLAMPED_COUNTS } srp_clamped_count;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values and clamped */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double low, high; /* -infinity, infinity = no bound; not NaN */
  int32_t transform_masked;
  void* clamped;   /* [n] or NULL, may be the memory of values */
  int32_t* counts; /* [B, SRP_CLAMPED_COUNTS] or NULL; not both */
} srp_reduce_clamp_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of log_ratios, factors, signs, weights, log_weights */
  const void* log_ratios; /* [n] */
  const void* factors;    /* [n] or NULL = 1 */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  const void* signs;      /* [B] */
  int64_t n, B, T;
  double bound;                                                        /* >= 0 */
  double shape_positive, rate_positive, shape_negative, rate_negative; /* >= 0 */
  void *weights, *log_weights;                                         /* [B] or NULL, not both */
  int32_t all_factors;                                                 /* 0 or 1 */
} srp_reduce_gamma_args;

typedef struct {
  uint32_t size;
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double* counts; /* [B] */
} srp_reduce_counts_args;

#endif
