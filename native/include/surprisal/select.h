/* Masks of the tokens that rank highest: above a quantile, or the k largest; of values, or of covariances.
 *
 * A unit is a row (SRP_OVER_ROW) or everything (SRP_OVER_ALL); candidates are its kept tokens.
 *
 *   quantile  `selected`: kept values at or above the quantile of their unit; `thresholds`: that quantile, interpolated linearly between
 *             neighbours in rank (numpy's and torch's default)
 *   top       `selected`: the k largest candidates of the unit; `counts`: how many
 *   covariance  `selected`: by the covariance of advantages and log-probs over the kept tokens of the whole batch, the candidates inside
 *             a range without its bounds (RANGE), or the k with the largest (TOP); `counts`: how many
 * formulas  docs/ops/select.md
 *
 * k         a share of the unit's candidates, rounded down, but not below `least`; or `k` itself where share is NaN; at most all
 * ties      quantile: every value that equals the threshold. top: the smaller index first
 * candidates  of covariance: kept tokens with excluded[t] = 0; the excluded ones are part of the means. The mean of equal finite
 *           values is that value times kept / (kept + count_epsilon), so it is the value itself without epsilon
 * masked    not read, never selected
 * nan       covariance: a NaN or an infinity among the kept values has no mean: SRP_NOT_FINITE. top: a NaN candidate has no rank:
 *           SRP_NOT_FINITE, but in a unit of which 0 are selected, since no rank is looked for there
 *           quantile: a NaN candidate makes the threshold NaN and selects nothing
 * infinity  between neighbours in rank of which one is infinite that one is the threshold; between -infinity and +infinity NaN
 * -0, 0     equal; a threshold of 0 is +0
 * empty     a unit without candidates: threshold NaN, nothing selected
 * precision ranks are exact; a threshold at a whole rank is the candidate itself, between two ranks never above the upper one. It
 *           is computed in float64, each operation rounded by itself: the same bits, and so the same selection, on every backend.
 *           A covariance likewise: two differences and their product in float64, from sums whose order is part of the contract:
 *           256 lanes a row, lane l adds positions l, l + 256, ... of it; lanes add up by halves of 32, then the eight of them
 *           in order; the rows' sums in the same way, lane l adding rows l, l + 256, ... So padding behind a row changes no bit
 * sizes     a unit has at most 2^31 - 1 positions, kept or not
 * memory    outputs may not overlap inputs, but `selected` of covariance may be the memory of `excluded`; rows as in backend.h.
 *           No covariance is stored: a rank costs passes over the inputs. Device backends keep 7 numbers a row. The CPU backend
 *           lists the candidates near the rank of quantile and top, a few in a hundred; what is selected does not depend on it */
#ifndef SURPRISAL_SELECT_H
#define SURPRISAL_SELECT_H

#include "surprisal/dtype.h"
#include "surprisal/reduce.h"
#include "surprisal/status.h"

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int32_t over;       /* SRP_OVER_ROW or SRP_OVER_ALL */
  double q;           /* 0..1 */
  double* thresholds; /* [over == SRP_OVER_ALL ? 1 : B] or NULL, not both */
  uint8_t* selected;  /* [n] or NULL */
} srp_select_quantile_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int32_t over;      /* SRP_OVER_ROW or SRP_OVER_ALL */
  double share;      /* 0..1, or NaN: use k */
  int64_t k, least;  /* >= 0 */
  uint8_t* selected; /* [n] */
  int32_t* counts;   /* [over == SRP_OVER_ALL ? 1 : B] or NULL: how many were selected */
} srp_select_top_args;

typedef enum { SRP_COVARIANCE_RANGE = 0, SRP_COVARIANCE_TOP = 1 } srp_covariance_mode;

typedef struct {
  uint32_t size;
  int32_t dtype;           /* SRP_F32 or SRP_F64: of advantages and log_probs */
  const void* advantages;  /* [advantages_per_token ? n : B] */
  const void* log_probs;   /* [n] log-probs */
  const uint8_t* mask;     /* [n] or NULL */
  const uint8_t* excluded; /* [n] or NULL = none */
  const int32_t* offsets;  /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int32_t advantages_per_token;
  int32_t mode;         /* srp_covariance_mode */
  double count_epsilon; /* >= 0 */
  double low, high;     /* RANGE: not NaN; low >= high selects nothing */
  double share;         /* TOP: 0..1, or NaN: use k */
  int64_t k, least;     /* TOP: >= 0 */
  uint8_t* selected;    /* [n], may be the memory of excluded */
  int32_t* counts;      /* [1] or NULL: how many were selected */
} srp_select_covariance_args;

#endif
