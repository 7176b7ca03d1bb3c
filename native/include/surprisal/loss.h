/* Losses over rows of tokens, with their gradients: what each kept token costs and how that changes with its log-prob.
 *
 *   loss_token  `losses`, `ratios`, `kl_values`, `clipped` and `grad_log_probs` of the tokens, `figures` of the rows: one pass, the form
 *               (srp_loss_form) sees one token at a time
 *   loss_row    the same of forms (srp_row_form) that see the log ratio s of the row: sums of the row first, then the pass. Where
 *               the gradient goes through s (THROUGH), every kept token gets an equal share of it. Where the loss is one number a
 *               row it counts once (ONCE), else once for every term
 *   loss_logits  loss_token between the logits and their gradient (below)
 * formulas    docs/ops/loss.md; x the log ratio, d the log-prob less the reference's, l the loss, v the KL estimate of a token, s of a row
 *
 * total     weighted by row_weights the losses, times factor, and by kl_row_weights and kl.coefficient the KL estimates;
 *           grad_log_probs is its derivative
 * x         of kept tokens; 0 where old_log_probs is NULL (the old policy is the current one: the ratio is 1, its gradient not 0)
 * v         where the reference is given
 * s         mean or sum of x over the row (`reduce`); 0 without kept tokens. SRP_ROW_CLIP_ONCE takes groups of rows (group_offsets,
 *           members): s is then of all kept tokens of the row's group, and the gradient of a token that of all rows of the group.
 *           old_log_probs is [n] then, there is no KL, and figures are SRP_LOSS_SUMS
 * kept      mask[t] != 0. Masked tokens are not read: every [n] output is 0 there
 * terms     kept tokens with term_mask[t] != 0: those that enter the policy loss. KL and figures see all kept tokens.
 *           SRP_ROW_CLIP_ONCE and SRP_ROW_SQUARED have none: term_mask is NULL, advantages and factors are [B]
 * marks     tokens that a form treats apart (SRP_LOSS_MARKED); read by no other form
 * factors   constant for the gradient: [n], [B] or NULL = 1. SRP_ROW_GAMMA and SRP_ROW_GEOMETRIC add their logarithms
 *           to the row's sum instead of multiplying
 * bounds    clip widths and ratio cap of rows or tokens take the place of those in `parameters`, in the figures' band, too: of
 *           forms that read them, widths of CLIP, WEIGHTED, BOUNDED, SQUARED, SRP_ROW_CLIP, CLIP_ONCE, CLIP_LOCAL and GEOMETRIC,
 *           caps of CLIP, WEIGHTED, SRP_ROW_CLIP, CLIP_ONCE and CLIP_LOCAL; of rows only in SRP_ROW_CLIP_ONCE. Outside of their
 *           range (below 0, a cap of 0, NaN) they make the advantage of their tokens NaN
 * KL        d and v are clamped (log_clamp, value_clamp); where a clamp is active the derivative is 0. gradient_kind
 *           names the estimator of the derivative; another one than kind does not see the clamps. times_ratio 1: v is
 *           multiplied by a ratio, after log_clamp and max_log_ratio and before any cap, which carries gradient too:
 *           the row's through the row in THROUGH forms, the row's with the token's own gradient in SRP_ROW_CLIP_LOCAL, the
 *           token's own elsewhere
 * zero      an advantage, factor or weight of exactly 0 silences an infinity (0 * inf is 0 here), not a NaN
 * weights   of rows are finite: an infinite one counts as NaN
 * empty     a row without kept tokens: s = 0, ratio 1; ONCE forms still count its value (a weight of 0 leaves it out)
 * nan       spreads to its row (loss_token: to its token and the row's figures), nowhere else. What a form does not
 *           read makes nothing NaN (old_log_probs of SRP_LOSS_LINEAR). Where l or v is NaN, so is its derivative
 * clipped   tokens whose gradient the clipping cut off; for SRP_ROW_CLIP_ONCE and SRP_ROW_SQUARED, rows
 * figures   [B, figure_count] float64, column by srp_loss_figure, the first SRP_LOSS_SUMS of them or all: sums of the
 *           row, in a fixed order that depends on the positions in the row and, on device backends, on its length
 *           alone: one after the other, or in lanes that count from where it begins. Batch figures are their sums in
 *           row order. The band is that of the clip widths, for the capped ratio: the row's in THROUGH forms and
 *           SRP_ROW_CLIP_LOCAL, the token's elsewhere; SRP_ROW_GEOMETRIC: for x
 * precision everything in float64, rounded once on store; what single tokens of loss_token have in float32 without bounds, a device
 *           whose float64 is slow computes within 1e-12 of that
 * memory    outputs may not overlap inputs or one another; rows as in backend.h */
#ifndef SURPRISAL_LOSS_H
#define SURPRISAL_LOSS_H

#include "surprisal/dtype.h"
#include "surprisal/ratio.h" /* srp_ratio_reduction */
#include "surprisal/status.h"

/* A = advantage, g = d loss / d log_prob, x = log ratio (clamped where log_clamp says so), r = exp(x). */
typedef enum {
  SRP_LOSS_CLIP = 1, /* max(-A min(r, ratio_cap), -A clip(r, 1 - clip_low, 1 + clip_high)), for A < 0 at most
      -A dual_clip; g = -A r where the first is at least the second and nothing holds r, else 0;
      needs clip_low, clip_high; takes dual_clip */
  SRP_LOSS_LINEAR,   /* -A log_prob; g = -A */
  SRP_LOSS_WEIGHTED, /* -w A log_prob, w = clip(min(r, ratio_cap), 1 - clip_low, 1 + clip_high) a constant; g = -w A;
      clipped where w differs from r */
  SRP_LOSS_SIGMOID,  /* -A (4/t) sigmoid(z), z = t (r - 1), t = temperature_positive for A > 0, else
      temperature_negative; g = -4 A sigmoid(z) (1 - sigmoid(z)) r; needs temperature_positive, temperature_negative */
  SRP_LOSS_MARKED,   /* -A r, on marked tokens + coefficient |x|; g = -A r, on marked tokens + coefficient sign(x);
      needs coefficient, marks */
  SRP_LOSS_BOUNDED,  /* -A min(log_prob, old_log_prob + ln(1 + clip_high)) for A > 0, else -A max(log_prob,
      old_log_prob + ln(1 - clip_low)); g = -A within the bound, else 0; needs clip_low, clip_high */
  SRP_LOSS_SQUARED,  /* 0.5 max((v - R)^2, (clip(v, u - clip_low, u + clip_high) - R)^2) of values v = log_prob,
      old values u = old_log_prob and returns R = A; g = v - R where the first is at least the second, else 0 */
  SRP_LOSS_FORMS
} srp_loss_form;

/* s = log ratio of the row, S = exp(s); the clipped loss is that of SRP_LOSS_CLIP. The numbers go on where those of
 * srp_loss_form end: a form says which it is. */
typedef enum {
  SRP_ROW_CLIP = SRP_LOSS_FORMS, /* the clipped loss at r = S for every term; g = through s, to every kept token;
      needs clip_low, clip_high; takes dual_clip */
  SRP_ROW_CLIP_ONCE,  /* the clipped loss at r = S once a row; g = through s, to every kept token; needs clip_low,
      clip_high; takes dual_clip */
  SRP_ROW_CLIP_LOCAL, /* the clipped loss at r = S for every term; g = -A S to the term's own token, where not clipped;
      needs clip_low, clip_high; takes dual_clip */
  SRP_ROW_GEOMETRIC, /* -mean(A) R once a row, R = exp(sum over terms of (n + ln factor) / d), n = min(x, clip_high) for
      A > 0, max(x, -clip_low) for A < 0, 0 for A = 0, d = terms (at least 1), or terms + count_epsilon where that is
      > 0, mean(A) = sum of A over terms / d, or A[b]. The clip widths are in log space; g = -mean(A) R / d to terms
      that are not clipped; needs clip_low, clip_high; takes count_epsilon */
  SRP_ROW_GAMMA,     /* -p A log_prob for every term, p = exp(l + k ln w - l w) a constant, 0 where infinite, ln w =
      clip(sum of clamped x + sum of clip(ln factor, ln 1e-8, 20), ln 1e-8, 20), k = shape_positive and l = rate_positive
      for A >= 0, else shape_negative and rate_negative. The logarithm of a factor [B] counts once; g = -p A;
      needs shape_positive, rate_positive, shape_negative, rate_negative */
  SRP_ROW_SQUARED,   /* (coefficient s - A)^2 once a row; g = through s, to every kept token; needs coefficient */
  SRP_ROW_FORMS
} srp_row_form;

/* d = log_prob - reference_log_prob. */
typedef enum {
  SRP_KL_K1 = 1, /* d */
  SRP_KL_ABS,    /* |d| */
  SRP_KL_K2,     /* d^2 / 2 */
  SRP_KL_K3      /* exp(-d) - 1 + d, as expm1(-d) + d */
} srp_kl_kind;

typedef enum {
  SRP_FIGURE_TOTAL = 0, /* the row's part of the total, weights and KL included */
  SRP_FIGURE_LOSS,      /* sum of l over terms (ONCE forms: l), factor included, row_weight not */
  SRP_FIGURE_KL,        /* sum of v over kept tokens, without coefficient and weight */
  SRP_FIGURE_KEPT,      /* kept tokens */
  SRP_FIGURE_TERMS,     /* terms */
  SRP_FIGURE_CLIPPED,   /* kept tokens whose form says clipped; of a row that is, without kept tokens, 1 */
  SRP_FIGURE_LIMITED,   /* kept tokens whose form says limited (the dual clip); likewise */
  SRP_FIGURE_ROW_RATIO, /* loss_row: exp(s) after clamps, R (GEOMETRIC), p (GAMMA; the mean over terms where advantages
                                  are per token, 1 without a term). loss_token: largest ratio, -infinity if none */
  SRP_FIGURE_RATIO,     /* sum over kept tokens of their `ratios`, or of their row's */
  SRP_LOSS_SUMS,        /* the number of those above, which come with the loss; the others cost more */
  SRP_FIGURE_BELOW = SRP_LOSS_SUMS, /* kept tokens below the band with A < 0 */
  SRP_FIGURE_ABOVE,                 /* kept tokens above the band with A > 0 */
  SRP_FIGURE_OUTSIDE,               /* kept tokens outside of the band, whatever A */
  SRP_FIGURE_OUTSIDE_POSITIVE,      /* kept tokens outside of the band with A > 0 */
  SRP_FIGURE_OUTSIDE_NEGATIVE,      /* kept tokens outside of the band with A < 0 */
  SRP_FIGURE_LOG_RATIO,             /* sum of x over kept tokens */
  SRP_FIGURE_CLAMPED_LOG_RATIO,     /* sum of x clamped to [-log_clamp, log_clamp] */
  SRP_FIGURE_ABSOLUTE_LOG_RATIO,    /* sum of |x| */
  SRP_FIGURE_SQUARED_LOG_RATIO,     /* sum of x^2 */
  SRP_FIGURE_RATIO_K3,              /* sum of exp(x) - 1 - x */
  SRP_LOSS_FIGURES
} srp_loss_figure;

/* Numbers of the forms. */
typedef struct {
  double clip_low, clip_high; /* >= 0, infinity = off */
  double dual_clip;           /* > 1, infinity = off */
  double ratio_cap;           /* > 0, infinity = off */
  double log_clamp;     /* > 0, infinity = off: on x in forms of tokens with r, on s in forms of rows with exp(s), on
                                 every x of the sum in SRP_ROW_GAMMA; no gradient outside. LINEAR, BOUNDED, SQUARED and
                                 GEOMETRIC do not read it */
  double max_log_ratio; /* >= 0, infinity = off: the upper end alone, likewise */
  double temperature_positive, temperature_negative; /* > 0, 1 where not read: for A > 0 and for the others */
  double coefficient;                                /* of |x| on marked tokens; of s */
  double shape_positive, rate_positive;              /* k and l where A >= 0 */
  double shape_negative, rate_negative;              /* k and l where A < 0 */
  double count_epsilon;                              /* >= 0, 0 = off: added to the number of terms */
} srp_loss_parameters;

/* Numbers of the KL term. */
typedef struct {
  int32_t kind, gradient_kind; /* srp_kl_kind; 0 where reference is NULL */
  int32_t times_ratio;
  double coefficient;
  double log_clamp;   /* > 0, infinity = off: on d */
  double value_clamp; /* > 0, infinity = off: on v */
} srp_kl_parameters;

typedef struct {
  uint32_t size;
  int32_t dtype;                   /* SRP_F32 or SRP_F64: of every float array that is not double below */
  const void* log_probs;           /* [n] log-probs of the policy (or values): what the gradient is for */
  const void* old_log_probs;       /* [old_log_probs_per_row ? B : n] or NULL */
  const void* advantages;          /* [advantages_per_token ? n : B]: advantages (or returns) */
  const void* factors;             /* [factors_per_token ? n : B] or NULL = 1 */
  const void* clip_lows;           /* [clip_lows_per_token ? n : B] or NULL = parameters.clip_low */
  const void* clip_highs;          /* [clip_highs_per_token ? n : B] or NULL = parameters.clip_high */
  const void* ratio_caps;          /* [ratio_caps_per_token ? n : B] or NULL = parameters.ratio_cap */
  const void* reference_log_probs; /* [n] or NULL = no KL */
  const double* row_weights;       /* [B] or NULL = 1 */
  const double* kl_row_weights;    /* [B] or NULL = row_weights */
  const uint8_t* mask;             /* [n] or NULL */
  const uint8_t* term_mask;        /* [n] or NULL = every kept token */
  const uint8_t* marks;            /* [n] or NULL = none: 1 = a marked token */
  const int32_t* offsets;          /* [B + 1] or NULL = padded */
  const int32_t* members;          /* [B] or NULL = identity; with group_offsets only */
  const int32_t* group_offsets;    /* [G + 1] or NULL = a row is on its own */
  int64_t n, B, T, G;
  int32_t form;                  /* srp_loss_form in loss_token, srp_row_form in loss_row */
  int32_t old_log_probs_per_row; /* 1: CLIP* and SQUARED of loss_row: s = (sum of log_probs - old_log_probs[b]) /
                                    divisor, x is undefined and figures of x count s, once a row */
  int32_t advantages_per_token, factors_per_token;
  int32_t clip_lows_per_token, clip_highs_per_token, ratio_caps_per_token;
  int32_t reduce;       /* srp_ratio_reduction: how s is made; loss_row only */
  int32_t figure_count; /* SRP_LOSS_SUMS or SRP_LOSS_FIGURES */
  srp_loss_parameters parameters;
  srp_kl_parameters kl;
  void*
      losses; /* [form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_GEOMETRIC || form == SRP_ROW_SQUARED ? B : n] or NULL */
  void* ratios;         /* [form >= SRP_ROW_CLIP ? B : n] or NULL */
  void* kl_values;      /* [n] or NULL: v */
  uint8_t* clipped;     /* [form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED ? B : n] or NULL */
  void* grad_log_probs; /* [n] or NULL */
  double* figures;      /* [B, figure_count] or NULL */
} srp_loss_token_args;

typedef srp_loss_token_args srp_loss_row_args;

/* From the logits of each token to their gradient, a row of V logits at a time while it is near: logprob.h, loss_token
 * and logprob.h's backward in one.
 *
 *   log_probs[i]    log-prob of targets[i], as logprob.h has it, rounded to float32
 *   (l, g), v[i]    as loss_token has them for log_probs[i]
 *   total     sum over i of  weights[i] l + kl_weights[i] kl.coefficient v[i] + entropy_weights[i] entropies[i]
 *   grad_logits  d total / d logits: logprob.h's backward of grad_log_probs[i] = d total / d log_probs[i] and
 *             grad_entropies[i] = entropy_weights[i], both rounded to float32
 *
 * So the results are, to the bit, those of logprob_forward, loss_token and logprob_backward on one backend. l, ratios,
 * v and figures of rows come from loss_token on log_probs, at 4 bytes a token.
 *
 * tokens    row i of the logits is token i, wherever its row of tokens ends: everything is [N], and float64 but for ids
 *           and flags, since a row of logits is so much larger. The caller knows the rows of tokens, and gives their
 *           weights for each token
 * forms     srp_loss_form: those that see one token at a time. A form of rows needs the log-probs of its row first:
 *           forward, loss_row, backward
 * mask      [N] or NULL: a token with mask 0 is not read, nor is anything else of it; its outputs are 0, its gradient
 *           row too
 * -inf, NaN as in the three ops: a row without a finite logit has gradient 0, one with NaN or +inf NaN
 * device    a target out of range raises the queue's flag; the token's outputs are unspecified
 * precision that of the three ops: a slope moves with the float32 log-prob, whose error is 1e-6 |logprob|, so that the
 *           gradient is within 2e-6 (1 + |logprob|) of the row's largest term, before its rounding
 * memory    grad_logits may be the same memory as logits (in place); no other overlap. Neither the CPU nor CUDA needs
 *           memory beside the arguments */
typedef struct {
  uint32_t size;
  int32_t dtype;                     /* SRP_F32, SRP_F16 or SRP_BF16: of logits and grad_logits */
  const void* logits;                /* [N, stride] */
  const int32_t* targets;            /* [N]: 0 <= id < V */
  const uint8_t* mask;               /* [N] or NULL */
  const double* old_log_probs;       /* [N] or NULL = log_probs */
  const double* advantages;          /* [N] */
  const double* factors;             /* [N] or NULL = 1 */
  const double* clip_lows;           /* [N] or NULL = parameters.clip_low */
  const double* clip_highs;          /* [N] or NULL = parameters.clip_high */
  const double* ratio_caps;          /* [N] or NULL = parameters.ratio_cap */
  const double* reference_log_probs; /* [N] or NULL = no KL */
  const double* weights;             /* [N] or NULL = 1 */
  const double* kl_weights;          /* [N] or NULL = weights */
  const double* entropy_weights;     /* [N] or NULL = 0; a bonus is negative */
  const uint8_t* term_mask;          /* [N] or NULL = every kept token */
  const uint8_t* marks;              /* [N] or NULL = none: 1 = a marked token */
  int64_t N;                         /* independent rows */
  int64_t V, stride;
  double temperature, scale, softcap; /* logprob.h */
  int32_t form;                       /* srp_loss_form */
  srp_loss_parameters parameters;
  srp_kl_parameters kl;
  float* log_probs;                /* [N] or NULL */
  float *entropies, *log_sum_exps; /* [N] or NULL */
  float *max_logits, *log1p_sums;  /* [N] or NULL */
  float* mean_gaps;                /* [N] or NULL */
  float* sum_squares;              /* [N] or NULL */
  void* grad_logits;               /* [N, stride], may be the memory of logits */
} srp_loss_logits_args;

#endif
