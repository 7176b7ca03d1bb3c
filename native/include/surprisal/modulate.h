/* Entropy modulation of advantages: weights per step, their application over spans, and weights per sequence.
 *
 *   steps     `entropy_norms`: entropies of all steps, brought to [0, 1] by the smallest and the largest; `scales`: self-calibrating, of
 *             mean 1; `clarities`: future clarity (arXiv 2509.09265)
 *   spans     `modulated`: advantages over the tokens of each span times the scale of its step, plus the clarity of the next one, less
 *             their mean; `mean`: that mean, of the advantages at the begins of the spans
 *   rows      `weights` of sequences by their mean entropy relative to their group; `sequence_entropies`, `group_mean_entropies`,
 *             `entropy_ratios` (before the bounds), `lengths` (kept tokens), `valid`
 * formulas  docs/ops/modulate.md; H below is the entropy of a step or the mean entropy of a row
 *
 * steps     equal entropies with epsilon 0: norms 0. One NaN in H makes every output NaN; infinities follow IEEE arithmetic: one of
 *           them makes every scale NaN
 * spans     are taken in the given order; a clarity is added only if the next span belongs to the same row; the mean is read when all
 *           spans are done. S == 0: the input unchanged, mean 0. Overlapping spans compound. Spans must be sorted by row and not empty
 * scope     where the mean is subtracted: ALL elements, MASK (kept tokens), SEGMENTS (tokens inside any span). Elements outside the scope
 *           and outside all spans keep their value. `modulated` may be the memory of `advantages`
 * rows      H is 0 without kept tokens; negate 1: of -values, so that log-probs of sampled tokens can be given as they are
 * valid     a row with kept tokens (or any, with empty_isolate 0) and a finite H (or any, with non_finite PROPAGATE). The mean of a
 *           group is over its valid rows, NaN without any. A row that is not valid has ratio 1
 * form      RATIO: group mean to H. ZSCORE: 1 plus beta times the clamped z-score of H, whose variance is 0 for one row and at least
 *           variance_floor
 * bounds    those of the row's sign (positive[b] != 0 or not). A lower bound above the upper one: the upper one wins
 * singleton_one 1: a group with one valid row has ratio 1. singleton_zero_mean 1: such a group has mean 0, the reported one too,
 *           and deviation 1. zero_one 1: a group whose mean of H is 0 has ratio 1
 * non_finite  PROPAGATE: a NaN or infinite H enters the mean of its group as it is
 *           ISOLATE: it does not, and a non-finite ratio becomes 1
 *           GROUP: the mean of its group becomes NaN, and a non-finite ratio becomes 1
 * count     how many of the S steps or spans there are, as delim_spans counted them; outputs per step behind them are 0. More
 *           than S: SRP_BAD_SHAPE, from a device at the next sync()
 * precision float64 throughout, outputs float64 but for `modulated`, which is rounded once to its dtype; sums in a fixed order
 * memory    outputs may not overlap inputs, save `modulated` as said; rows and groups as in backend.h (groups index rows) */
#ifndef SURPRISAL_MODULATE_H
#define SURPRISAL_MODULATE_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum { SRP_SCOPE_ALL = 0, SRP_SCOPE_MASK = 1, SRP_SCOPE_SEGMENTS = 2 } srp_scope;
typedef enum { SRP_WEIGHT_RATIO = 0, SRP_WEIGHT_ZSCORE = 1 } srp_weight_form;
typedef enum { SRP_NONFINITE_PROPAGATE = 0, SRP_NONFINITE_ISOLATE = 1, SRP_NONFINITE_GROUP = 2 } srp_non_finite_rows;

typedef struct {
  uint32_t size;
  const double* entropies; /* [S] nats */
  int64_t S;
  double k, k_future, epsilon;                /* k, k_future finite; epsilon >= 0 */
  double *entropy_norms, *scales, *clarities; /* [S] or NULL */
  const int64_t* count;                       /* [1] or NULL = S: how many of the steps there are */
  int32_t finite;                             /* 1: a NaN or infinite H is SRP_NOT_FINITE */
} srp_modulate_steps_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                    /* SRP_F32 or SRP_F64: of advantages, modulated */
  const void* advantages;           /* [n] */
  const uint8_t* mask;              /* [n] or NULL; needed by SRP_SCOPE_MASK only */
  const int32_t* offsets;           /* [B + 1] or NULL = padded */
  const int32_t* spans;             /* [S, 3]: row, begin, finish */
  const double *scales, *clarities; /* [S] */
  int64_t n, B, T, S;
  double zeta;
  int32_t scope;        /* srp_scope */
  void* modulated;      /* [n], may be the memory of advantages */
  double* mean;         /* [1] */
  const int64_t* count; /* [1] or NULL = S: how many of the spans there are */
} srp_modulate_spans_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                /* SRP_F32 or SRP_F64: of values */
  const void* values;           /* [n] per-token entropy or negative log-likelihood, nats */
  const uint8_t* mask;          /* [n] or NULL */
  const uint8_t* positive;      /* [B] or NULL = all positive */
  const int32_t* offsets;       /* [B + 1] or NULL = padded */
  const int32_t* members;       /* [B] or NULL = identity */
  const int32_t* group_offsets; /* [G + 1] */
  int64_t n, B, T, G;
  int32_t form;   /* srp_weight_form */
  int32_t negate; /* 1: values are log-probs */
  double epsilon, beta, z_clip, variance_floor;
  double low_positive, high_positive, low_negative, high_negative;
  int32_t empty_isolate;
  int32_t non_finite; /* srp_non_finite_rows */
  int32_t singleton_one, singleton_zero_mean, zero_one;
  double *sequence_entropies, *group_mean_entropies, *entropy_ratios, *weights; /* [B] or NULL */
  int32_t* lengths;                                                             /* [B] or NULL */
  uint8_t* valid;                                                               /* [B] or NULL */
} srp_modulate_rows_args;

#endif
