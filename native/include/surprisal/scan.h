/* Scans along token rows. Right to left: generalized advantage estimation, discounted returns, V-trace, tail sums.
 * Left to right: prefix sums, weights by what is left of a sum.
 *
 *   gae       `advantages` and `returns` by generalized advantage estimation, right to left
 *             lambdas of gae and vtrace: one per row or token in place of lambda; one outside [0, 1] is taken as it is. That of a
 *             token weighs what comes after it
 *   returns   `returns`: discounted sums of the rewards, right to left
 *   vtrace    `targets` and `advantages` of V-trace, with capped importance weights, right to left; `accumulated`: targets less values.
 *             The weight corrects the whole temporal difference (SRP_DELTA_CORRECTED), or the reward alone (SRP_DELTA_REWARD)
 *   tail      `tails`: sums of what is left of the row, discounted by the steps before it in the row; with normalize means of it
 *   prefix    `sums` of the terms up to a token, with exclusive those before it; `terms`: the values, or without values the squared norms
 *             of the gradients of weight * log_prob with respect to the logits, sum_squares being the sum of squared probabilities
 *   shares    `weights` that fall from 1 + gain to 1 with the share of the row's sum of absolute values that lies before the token;
 *             `products`: the values times these
 * formulas  docs/ops/scan.md
 *
 * discount  gammas[t] where the array is given (gamma * (1 - done)), else gamma. Finite: an infinite one counts as NaN
 * bootstrap value, target and return behind the last step of the row; the carry of advantages is 0 there
 * tail      normalize: 0 where the divisor is 0. A step counts 1 in it, under the mask masked_weight. The powers common to both sums
 *           cancel before they can underflow
 * masked    SRP_MASK_SKIP   not a step: nothing decays, the chain runs on; outputs 0
 *           SRP_MASK_STEPS  a step with reward and value 0 and importance weight 1; outputs as computed (they can be
 *                           non-zero left of a kept token)
 *           SRP_MASK_CUT    the carry becomes 0 there (values, returns and accumulators); outputs 0
 *             tail knows SKIP and STEPS (value 0); prefix and shares skip, and are 0 under the mask
 *           What lies under the mask is never read, in any mode (gammas and lambdas included: gamma and lambda stand in in STEPS).
 *           transform_masked of gae and returns: SKIP and CUT write there what a scan has at that token instead of 0, and read
 *           it for that output alone: SKIP  advantages: the carry, returns: the carry and the value (of the op returns: the carry)
 *           CUT  as at a kept token, before the carry becomes 0
 * shapes    rows as in backend.h; per-token arrays [n]; bootstrap [B]
 * edges     n or B 0: nothing written, SRP_OK. NaN spreads to earlier steps of its row, to no other row
 * precision carried in float64, rounded once: error <= 1e-7 * (1 + max|x|) for T <= 32768 with float32 outputs
 * memory    outputs may not overlap inputs */
#ifndef SURPRISAL_SCAN_H
#define SURPRISAL_SCAN_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum { SRP_MASK_SKIP = 0, SRP_MASK_STEPS = 1, SRP_MASK_CUT = 2 } srp_mask_mode;
typedef enum { SRP_DELTA_CORRECTED = 0, SRP_DELTA_REWARD = 1 } srp_delta_form;

typedef struct {
  uint32_t size;                /* sizeof this struct: how a newer caller and an older library agree */
  int32_t dtype;                /* SRP_F32 or SRP_F64: of every float array here */
  const void *rewards, *values; /* [n] */
  const void* gammas;           /* [n] or NULL = gamma everywhere */
  const uint8_t* mask;          /* [n] or NULL = all kept */
  const void* bootstrap;        /* [B] or NULL = 0 */
  const int32_t* offsets;       /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double gamma, lambda;
  int32_t mask_mode;          /* srp_mask_mode */
  void *advantages, *returns; /* [n] or NULL, not both */
  int32_t transform_masked;   /* 0 or 1; STEPS does it anyway */
  const void* lambdas;        /* [lambdas_per_token ? n : B] or NULL = lambda everywhere */
  int32_t lambdas_per_token;  /* 0 or 1 */
} srp_scan_gae_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of every float array here */
  const void* rewards;    /* [n] */
  const void* gammas;     /* [n] or NULL = gamma everywhere */
  const uint8_t* mask;    /* [n] or NULL = all kept */
  const void* bootstrap;  /* [B] or NULL = 0 */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double gamma;
  int32_t mask_mode; /* srp_mask_mode */
  void* returns;     /* [n] */
  int32_t transform_masked;
} srp_scan_returns_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                /* SRP_F32 or SRP_F64: of every float array here */
  const void *rewards, *values; /* [n] */
  const void* weights;          /* [n] importance weights pi/mu, not logarithms */
  const void* gammas;           /* [n] or NULL = gamma everywhere */
  const uint8_t* mask;          /* [n] or NULL = all kept */
  const void* bootstrap;        /* [B] or NULL = 0 */
  const int32_t* offsets;       /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double gamma, lambda;
  double rho_bar, c_bar, pg_rho_bar; /* caps >= 0, infinity allowed */
  int32_t mask_mode;                 /* srp_mask_mode */
  void *targets, *advantages;        /* [n] or NULL, as accumulated; not all three */
  int32_t delta;                     /* srp_delta_form */
  void* accumulated;                 /* [n] or NULL */
  const void* lambdas;               /* [lambdas_per_token ? n : B] or NULL = lambda everywhere */
  int32_t lambdas_per_token;         /* 0 or 1 */
} srp_scan_vtrace_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values, tails */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL = all kept */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double gamma;         /* in [0, 1] */
  int32_t mask_mode;    /* SRP_MASK_SKIP or SRP_MASK_STEPS */
  int32_t normalize;    /* 0 or 1 */
  double masked_weight; /* >= 0; read where normalize is 1 and mask_mode is SRP_MASK_STEPS */
  void* tails;          /* [n] */
} srp_scan_tail_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                       /* SRP_F32 or SRP_F64: of every float array here */
  const void* values;                  /* [n] or NULL: the terms come from the next three */
  const void *log_probs, *sum_squares; /* [n] or NULL with values */
  const void* weights;                 /* [n] or NULL = 1 */
  const uint8_t* mask;                 /* [n] or NULL = all kept */
  const int32_t* offsets;              /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int32_t exclusive;  /* 0 or 1 */
  void *terms, *sums; /* [n] or NULL, not both */
} srp_scan_prefix_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values, weights, products */
  const void* values;     /* [n] */
  const uint8_t* mask;    /* [n] or NULL = all kept */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  double gain;              /* >= 0 */
  double epsilon;           /* > 0 */
  void *weights, *products; /* [n] or NULL, not both */
} srp_scan_shares_args;

#endif
