/* Statistics per group of items (rewards of the rollouts of one prompt), and rows spread over their tokens.
 *
 *   normalize   center  MEAN           c = mean
 *                       LEAVE_ONE_OUT  c_i = (sum - x_i) / (count - 1)
 *                       NONE           c = 0
 *               scale   STD            y_i = (x_i - c_i) / (std + epsilon),  std = sqrt(max(M2 / (count - ddof), variance_floor))
 *                       NONE           y_i = x_i - c_i
 *   softmax     w_i = exp((x_i - max) / temperature) / sum_j exp((x_j - max) / temperature)
 *   top2        best = largest value, second = largest of the rest; ties to the smaller item index
 *   broadcast   out[t] = row[b] * factor[b] for kept tokens t of row b, 0 under the mask
 *
 * variance    about the mean of the group, whatever the center: M2 / (count - ddof), not below variance_floor;
 *             NaN where count <= ddof (but see singleton)
 * copy        center NONE with scale NONE copies the values; constant and singleton do not apply
 * constant    a group with max == min, finite, and more than one number has centred values of exactly 0 and std
 *             sqrt(variance_floor) (the rounded mean of equal numbers need not equal them; dividing that residue by a tiny
 *             std would invent advantages of order 1). With center NONE: x / (std + epsilon)
 * singleton   SRP_SINGLETON_ZERO: 0.  SRP_SINGLETON_RAW: centre 0 and std 1, i.e. x / (1 + epsilon) or x
 *             The reported mean is x, the reported std 0.
 * nan         SRP_NAN_PROPAGATE: a NaN makes its whole group NaN.  SRP_NAN_ABSTAIN: left out of the statistics, its own
 *             output 0; a group with one number left counts as a singleton; with none: mean and std NaN, outputs 0
 *             softmax propagates; top2 never picks a NaN (index -1, value NaN where there is none)
 * infinities  follow IEEE arithmetic: a group with one has an infinite or NaN mean and a NaN std
 * softmax     of -infinity is 0; a group of -infinity only is NaN, and so is a group with +infinity
 * precision   float64, corrected two-pass: y's error is 2 ulp of the output dtype plus count * 2^-53 of the group's largest
 *             deviation, whatever the offset of the group. Squares are formed in float64: deviations of 1e-150 … 1e150
 *             Host backends add in item order, device backends in a fixed order that depends on n and G only
 * memory      outputs may not overlap inputs; groups as in rows.h, n <= 2^31 - 1; empty groups: mean, std NaN, count 0,
 *             best -1. broadcast: rows as in rows.h, what lies under the mask is not read */
#ifndef SURPRISAL_GROUP_H
#define SURPRISAL_GROUP_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum { SRP_CENTER_NONE = 0, SRP_CENTER_MEAN = 1, SRP_CENTER_LEAVE_ONE_OUT = 2 } srp_center;
typedef enum { SRP_SCALE_NONE = 0, SRP_SCALE_STD = 1 } srp_scale;
typedef enum { SRP_SINGLETON_ZERO = 0, SRP_SINGLETON_RAW = 1 } srp_singleton;
typedef enum { SRP_NAN_PROPAGATE = 0, SRP_NAN_ABSTAIN = 1 } srp_nan_policy;

typedef struct {
  uint32_t size;
  int32_t dtype;           /* of values, normalized, mean, std: SRP_F32 or SRP_F64 */
  const void* values;      /* [n] */
  const int32_t* members;  /* [n] or NULL = identity */
  const int32_t* offsets;  /* [G+1] */
  int64_t n, G;
  double ddof;             /* >= 0 */
  double epsilon;          /* >= 0, added to the std */
  double variance_floor;   /* >= 0 */
  int32_t center, scale, singleton, nan_policy;
  void* normalized;        /* [n] or NULL */
  void *mean, *std;        /* [G] or NULL */
  int32_t* count;          /* [G] or NULL: items that entered the statistics (all of them under SRP_NAN_PROPAGATE) */
} srp_group_normalize_args;

typedef struct {
  uint32_t size;
  int32_t dtype;
  const void* values;
  const int32_t* members;
  const int32_t* offsets;
  int64_t n, G;
  double temperature;      /* > 0 */
  void* weights;           /* [n] */
} srp_group_softmax_args;

typedef struct {
  uint32_t size;
  int32_t dtype;
  const void* values;
  const int32_t* members;
  const int32_t* offsets;
  int64_t n, G;
  int32_t *best, *second;              /* [G] item indices, -1 where there is none */
  void *best_value, *second_value;     /* [G] or NULL */
} srp_group_top2_args;

typedef struct {
  uint32_t size;
  int32_t dtype;           /* of row, factor, out */
  const void* row;         /* [B] */
  const void* factor;      /* [B] or NULL = 1 */
  const uint8_t* mask;     /* [n] or NULL */
  const int32_t* offsets;  /* [B+1] or NULL = padded */
  int64_t n, B, T;
  void* out;               /* [n] */
} srp_group_broadcast_args;

#endif
