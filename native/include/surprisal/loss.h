/* Losses over rows of tokens, with their gradients: what each kept token costs and how that changes with its log-prob.
 *
 *   x[t]      current[t] - old[t] over kept tokens; 0 where old is NULL ("old is current": the ratio is 1, its gradient not 0)
 *   (l, g)    the form's loss and its derivative to current[t] (loss_forms.h), l *= factor, g *= factor
 *   v[t]      KL estimate of d[t] = current[t] - reference[t] (kl_form), where reference is given
 *   total     sum over b of  row_weight[b] * (sum over terms of row b of l)
 *                          + kl_weight[b] * kl_coefficient * (sum over kept tokens of row b of v)
 *   grad[t]   d total / d current[t]
 *
 *   loss_token  one pass: the form sees one token at a time
 *   loss_row    sums of the row first, then the pass: s[b] = sum of x over the row / divisor (mean or sum, `reduce`), and the
 *               form sees s. THROUGH forms send the gradient through the row: d s / d current[u] = 1 / divisor of every kept u.
 *               A form whose value is one number a row counts it once (ONCE), else once for every term (EACH)
 *               A row without kept tokens has divisor 1
 *   loss_logits  loss_token between the logits and their gradient (below)
 *
 * kept      mask[t] != 0. Masked tokens are not read: every [n] output is 0 there
 * terms     kept tokens with term_mask[t] != 0: those that enter the policy loss. KL and figures see all kept tokens.
 *           SRP_ROW_CLIP_ONCE and SRP_ROW_SQUARED have none: term_mask is NULL there, and advantage and factor are [B]
 * marks     tokens that a form treats apart (SRP_LOSS_MARKED); read by no other form
 * factor    constant for the gradient: [n], [B] or NULL = 1. SRP_ROW_GAMMA and SRP_ROW_GEOMETRIC take its logarithm into the row's
 *           sum instead of multiplying
 * KL        clamps of d and v (kl_log_clamp, kl_value_clamp); where a clamp is active the derivative is 0. kl_slope_form names the estimator that gives the
 *           derivative (straight-through: the value of one, the gradient of another, which no clamp of the value stops).
 *           kl_ratio 1: v is multiplied by a ratio before any cap, log_clamp and max_log_ratio applied, which carries gradient
 *           too: exp(s) through the row in THROUGH forms, exp(s) with the token's own gradient in SRP_ROW_CLIP_LOCAL, the
 *           token's own ratio elsewhere
 * zero      an advantage, factor or weight of exactly 0 silences an infinity (0 * inf is 0 here), not a NaN
 * empty     a row without kept tokens: s = 0, ratio 1; ONCE forms still count its value (row_weight 0 leaves it out)
 * nan       spreads to its row (loss_token: to its token and the row's figures), nowhere else. A form does not spread what it
 *           does not read: old, say, in SRP_LOSS_LINEAR. Where l or v is NaN, its derivative is
 * figures   [B, SRP_LOSS_FIGURES] float64, column by srp_loss_figure: partial sums of the row, in a fixed order that depends on the
 *           positions in the row and, on device backends, its length alone: one after the other, or in lanes that count from where
 *           it begins. Batch figures are their sums in row order. A band is [1 - clip_low, 1 + clip_high] for min(ratio, ratio_cap), the row's ratio in
 *           THROUGH forms and SRP_ROW_CLIP_LOCAL, the token's elsewhere; SRP_ROW_GEOMETRIC: [-clip_low, clip_high] for x
 * precision everything in float64, rounded once on store
 * memory    outputs may not overlap inputs or one another; rows as in rows.h */
#ifndef SURPRISAL_LOSS_H
#define SURPRISAL_LOSS_H

#include "surprisal/dtype.h"
#include "surprisal/loss_forms.h"
#include "surprisal/ratio.h"  /* srp_reduce */
#include "surprisal/status.h"

typedef enum {
  SRP_FIGURE_TOTAL = 0,        /* the row's part of the total, weights and KL included */
  SRP_FIGURE_LOSS,             /* sum of l over terms (ONCE forms: l), factor included, row_weight not */
  SRP_FIGURE_KL,               /* sum of v over kept tokens, without coefficient and weight */
  SRP_FIGURE_KEPT,             /* kept tokens */
  SRP_FIGURE_TERMS,            /* terms */
  SRP_FIGURE_CLIPPED,          /* kept tokens whose form says clipped */
  SRP_FIGURE_LIMITED,          /* kept tokens whose form says limited (the dual clip) */
  SRP_FIGURE_BELOW,            /* kept tokens below the band with A < 0 */
  SRP_FIGURE_ABOVE,            /* kept tokens above the band with A > 0 */
  SRP_FIGURE_OUTSIDE,          /* kept tokens outside of the band, whatever A */
  SRP_FIGURE_LOG_RATIO,        /* sum of x over kept tokens */
  SRP_FIGURE_LOG_RATIO_CLAMPED,/* sum of x clamped to [-log_clamp, log_clamp] */
  SRP_FIGURE_LOG_RATIO_ABS,    /* sum of |x| */
  SRP_FIGURE_LOG_RATIO_SQUARED,/* sum of x^2 */
  SRP_FIGURE_RATIO,            /* sum of exp(x) over kept tokens */
  SRP_FIGURE_RATIO_K3,         /* sum of exp(x) - 1 - x */
  SRP_FIGURE_ROW_RATIO, /* loss_row: exp(s) after clamps, R (GEOMETRIC), p (GAMMA; the mean over terms where advantages
                                  are per token, 1 without a term). loss_token: largest ratio, -infinity if none */
  SRP_FIGURE_OUTSIDE_POSITIVE, /* kept tokens outside of the band with A > 0 */
  SRP_FIGURE_OUTSIDE_NEGATIVE, /* kept tokens outside of the band with A < 0 */
  SRP_LOSS_FIGURES
} srp_loss_figure;

typedef struct {
  uint32_t size;
  int32_t dtype; /* SRP_F32 or SRP_F64: of every float array that is not double below */
  const void* current; /* [n] log-probs of the policy (or values): what the gradient is for */
  const void* old; /* [n] or [B] (old_per_row) or NULL */
  const void* advantage; /* [n] or [B]: advantages (or returns) */
  const void* factor; /* [n] or [B] or NULL = 1 */
  const void* reference; /* [n] or NULL = no KL */
  const double* row_weight; /* [B] or NULL = 1 */
  const double* kl_weight; /* [B] or NULL = row_weight */
  const uint8_t* mask; /* [n] or NULL */
  const uint8_t* term_mask; /* [n] or NULL = every kept token */
  const uint8_t* marks; /* [n] or NULL = none */
  const int32_t* offsets; /* [B+1] or NULL = padded */
  int64_t n, B, T;
  int32_t form; /* srp_loss_form in loss_token, srp_row_form in loss_row */
  int32_t
      old_per_row; /* 1: CLIP* and SQUARED of loss_row; s = (sum of current - old[b]) / divisor, and x is not defined:
                                  figures of x count s, once a row */
  int32_t advantage_per_token, factor_per_token;
  int32_t reduce; /* srp_reduce: how s is made; loss_row only */
  int32_t kl_form, kl_slope_form; /* srp_kl_form; 0 where reference is NULL */
  int32_t kl_ratio;
  double clip_low, clip_high; /* >= 0, infinity = off */
  double dual_clip; /* > 1, infinity = off */
  double ratio_cap; /* > 0, infinity = off */
  double
      log_clamp; /* > 0, infinity = off: on x in forms of tokens with r, on s in forms of rows with exp(s), on every x of
                                  the sum in SRP_ROW_GAMMA; no gradient outside. LINEAR, BOUNDED, SQUARED, GEOMETRIC do not read it */
  double max_log_ratio; /* >= 0, infinity = off: the upper end alone, likewise */
  double temperature_positive, temperature_negative; /* > 0: SRP_LOSS_SIGMOID */
  double coefficient; /* SRP_LOSS_MARKED: of |x| on marked tokens; SRP_ROW_SQUARED: of s */
  double shape_positive, rate_positive, shape_negative,
      rate_negative; /* SRP_ROW_GAMMA: k and lambda by the sign of A */
  double
      count_epsilon; /* >= 0: SRP_ROW_GEOMETRIC divides by (terms + epsilon) where it is > 0, else by max(terms, 1) */
  double kl_coefficient;
  double kl_log_clamp; /* > 0, infinity = off: on d */
  double kl_value_clamp; /* > 0, infinity = off: on v */
  void* loss; /* [n] l with factor, 0 where no term; loss_row ONCE: [B]. Or NULL */
  void* ratio; /* [n], loss_row: [B]; or NULL */
  void* kl; /* [n] v; or NULL */
  uint8_t* clipped; /* [n] or NULL */
  void* grad; /* [n] or NULL */
  double* figures; /* [B, SRP_LOSS_FIGURES] or NULL */
} srp_loss_token_args;

typedef srp_loss_token_args srp_loss_row_args;

/* From the logits of each token to their gradient, a row of V logits at a time while it is near: logprob.h, loss_token and
 * logprob.h's backward in one.
 *
 *   current[i]      logprob of targets[i], as logprob.h has it, rounded to float32
 *   (l, g), v[i]    as loss_token has them for current[i]
 *   total     sum over i of  weight[i] l + kl_weight[i] kl_coefficient v[i] + entropy_weight[i] entropy[i]
 *   grad      d total / d logits: logprob.h's backward of grad_logprob[i] = d total / d current[i], rounded to float32, and
 *             grad_entropy[i] = entropy_weight[i], rounded to float32
 *
 * So the results are, to the bit, those of logprob_forward, loss_token and logprob_backward on one backend. What the tokens
 * cost (l, ratios, v, figures of rows) is loss_token's on logprob: 4 bytes a token.
 *
 * tokens    row i of the logits is token i, wherever its row of tokens ends: everything is [N], and float64 but for ids and
 *           flags, since a row of logits dwarfs it. Rows of tokens, and what they weigh, are the caller's
 * forms     srp_loss_form: those that see one token at a time. A form of rows needs the log-probs of its row first: forward,
 *           loss_row, backward
 * keep      [N] or NULL: a token with keep 0 is not read, nor is anything else of it; its outputs are 0, its gradient row too
 * -inf, NaN as in the three ops: a row without a finite logit has gradient 0, one with NaN or +inf NaN
 * device    a target out of range raises the queue's flag; the token's outputs are unspecified
 * precision that of the three ops: a slope moves with the float32 log-prob, whose error is 1e-6 |logprob|, so that the gradient is
 *           within 2e-6 (1 + |logprob|) of the row's largest term, before its rounding
 * memory    grad may be the same memory as logits (in place); no other overlap. A CPU call needs nothing beside its arguments,
 *           nor does a CUDA call */
typedef struct {
  uint32_t size;
  int32_t dtype; /* of logits and grad: SRP_F32, SRP_F16 or SRP_BF16 */
  const void* logits; /* [N, stride] */
  const int32_t* targets; /* [N]: 0 <= id < V */
  const uint8_t* keep; /* [N] or NULL */
  const double* old; /* [N] or NULL = current */
  const double* advantage; /* [N] */
  const double* factor; /* [N] or NULL = 1 */
  const double* reference; /* [N] or NULL = no KL */
  const double* weight; /* [N] or NULL = 1 */
  const double* kl_weight; /* [N] or NULL = weight */
  const double* entropy_weight; /* [N] or NULL = 0; a bonus is negative */
  const uint8_t* term_mask; /* [N] or NULL = every kept token */
  const uint8_t* marks; /* [N] or NULL = none */
  int64_t N, V, stride;
  double temperature, scale, softcap; /* logprob.h */
  int32_t form; /* srp_loss_form */
  int32_t kl_form, kl_slope_form, kl_ratio;
  double clip_low, clip_high, dual_clip, ratio_cap, log_clamp, max_log_ratio;
  double temperature_positive, temperature_negative, coefficient;
  double kl_coefficient, kl_log_clamp, kl_value_clamp;
  float* logprob; /* [N] or NULL; the others too */
  float *entropy, *lse;
  float *max_logit, *log1p_sum;
  float* mean_gap;
  float* sum_sq;
  void* grad; /* [N, stride] */
} srp_loss_logits_args;

#endif
