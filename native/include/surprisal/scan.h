/* Scans along token rows. Right to left: generalized advantage estimation, discounted returns, V-trace, tail sums.
 * Left to right: prefix sums, weights by what is left of a sum.
 *
 *   gae       delta[t] = rewards[t] + g[t] * V(next) - values[t]
 *             advantages[t] = delta[t] + g[t] * lambda * advantages(next);  returns[t] = advantages[t] + values[t]
 *   returns   returns[t] = rewards[t] + g[t] * returns(next)
 *   vtrace    delta[t] = min(rho_bar, w[t]) * (rewards[t] + g[t] * V(next) - values[t])
 *             acc[t] = delta[t] + g[t] * lambda * min(c_bar, w[t]) * acc(next);  targets[t] = values[t] + acc[t]
 *             advantages[t] = min(pg_rho_bar, w[t]) * (rewards[t] + g[t] * targets(next) - values[t])
 *             (Espeholt et al. 2018, equation 1 and the policy gradient below it)
 *             SRP_DELTA_REWARD: delta[t] = min(rho_bar, w[t]) * rewards[t] + g[t] * V(next) - values[t]
 *             accumulated[t] = acc[t]
 *   tail      tails[t] = sum over steps i >= t of gamma^p(i) x[i], p(i) = steps before i in the row
 *             normalize: divided by the sum over i >= t of gamma^p(i) m(i), m = 1 kept, masked_weight under the mask; 0 where
 *             that sum is 0. The powers common to both cancel before they can underflow
 *   prefix    sums[t] = sum over kept i <= t of term[i]; exclusive: i < t
 *             term[i] = values[i], or where values is NULL (1 - 2 exp(log_probs[i]) + sum_squares[i]) weights[i]^2: the squared
 *             norm of the gradient of weight * log_prob with respect to the logits, sum_squares being the sum of p^2
 *   shares    weights[t] = 1 + gain (1 - s[t] / max(s, epsilon)), where s[t] = sum over kept i < t of |x[i]|, s over all kept
 *             i of the row;  products[t] = weights[t] x[t]
 *
 * g[t]      gammas[t] where the array is given (gamma * (1 - done)), else gamma. Finite: an infinite one counts as NaN
 * next      the step behind t; behind the last one V = targets = returns = bootstrap[b], advantages = acc = 0
 * masked    SRP_MASK_SKIP   not a step: nothing decays, the chain runs on; outputs 0
 *           SRP_MASK_STEPS  a step with reward, value 0 and w 1; outputs as computed (they can be non-zero left of a kept token)
 *           SRP_MASK_CUT    the carry becomes 0 there (values, returns and accumulators); outputs 0
 *             tail knows SKIP and STEPS (x 0); prefix and shares skip, and are 0 under the mask
 *           What lies under the mask is never read, in any mode (gammas included: gamma stands in for it in STEPS).
 *           transform_masked of gae and returns: SKIP and CUT write there what a scan has at that token instead of 0, and read
 *           it for that output alone: SKIP  advantages: the carry, returns: the carry + values[t] (of the op returns: the carry)
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
