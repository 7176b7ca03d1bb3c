/* Log ratios of a new and an old policy, per token, per sequence or per group of sequences.
 *
 *   log       `log_ratios` and `ratios`, their exponentials, of the tokens (TOKEN), or of rows (SEQUENCE) or groups of rows (GROUP): mean
 *             (MEAN: the ratio is the geometric mean of the tokens') or sum (SUM) over the kept tokens
 * formulas  docs/ops/ratio.md; x below is the log ratio
 *
 * empty      a row or group without kept tokens has log ratio 0 and ratio 1; a masked token has log ratio 0 and ratio 0
 * nan        spreads to its token, row or group, nowhere else
 * precision  differences and sums in float64 in a fixed order, rounded once: float32 outputs are within
 *            1e-7 * (1 + |x|) of the log ratio, relatively of the ratio
 * memory     outputs may not overlap inputs; rows and groups as in backend.h (groups index rows) */
#ifndef SURPRISAL_RATIO_H
#define SURPRISAL_RATIO_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum { SRP_LEVEL_TOKEN = 0, SRP_LEVEL_SEQUENCE = 1, SRP_LEVEL_GROUP = 2 } srp_ratio_level;
typedef enum { SRP_REDUCE_MEAN = 0, SRP_REDUCE_SUM = 1 } srp_ratio_reduction;

typedef struct {
  uint32_t size;
  int32_t dtype;                         /* SRP_F32 or SRP_F64: of log_probs, old_log_probs, log_ratios, ratios */
  const void *log_probs, *old_log_probs; /* [n] */
  const uint8_t* mask;                   /* [n] or NULL */
  const int32_t* offsets;                /* [B + 1] or NULL = padded */
  const int32_t* members;                /* [B] or NULL = identity; GROUP only */
  const int32_t* group_offsets;          /* [G + 1] or NULL; GROUP only */
  int64_t n, B, T, G;
  int32_t level;  /* srp_ratio_level */
  int32_t reduce; /* srp_ratio_reduction; not read at TOKEN level */
  void *log_ratios,
      *ratios; /* [level == SRP_LEVEL_TOKEN ? n : level == SRP_LEVEL_SEQUENCE ? B : G] or NULL, not both */
} srp_ratio_log_args;

#endif
