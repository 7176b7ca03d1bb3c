// Loss forms, one text for a scalar, a SIMD vector and a CUDA thread: the number type N is a template argument, a comparison
// gives N's mask type, and branches are select(mask, a, b).
//
// A form of tokens maps a point (log ratio, log-prob, mark) and an advantage to
//   loss     the value to minimise; an objective is its negative
//   slope    d loss / d current log-prob
//   ratio, clipped_ratio   what is reported
//   clipped  the clipped term is strictly larger, so that the ratio's own gradient is cut off
//   limited  the bound behind the clipping (the dual clip's) is strictly smaller still, and took over
// A form of rows is what loss_row (loss_steps.h) asks about a row's log ratio.
//
// To add a form of tokens: an enumerator here, a struct with `at` and a line in loss_term() of loss_form_texts.h. Parameters a
// form does not name are not read.
#ifndef SURPRISAL_LOSS_FORMS_H
#define SURPRISAL_LOSS_FORMS_H

#ifdef __cplusplus
#include "surprisal/number.h"
#endif

/* A = advantage, l = loss, g = d l / d current, x = log ratio (clamped where log_clamp says so), r = exp(x). */
typedef enum {
  SRP_LOSS_CLIP = 1, /* max(-A r, -A clip(r)), with dual clip, ratio cap and clamped log ratio */
  SRP_LOSS_LINEAR, /* -A current; g = -A */
  SRP_LOSS_WEIGHTED, /* -w A current, w = clip(min(r, ratio_cap)) constant; g = -w A; clipped where w differs from r */
  SRP_LOSS_SIGMOID, /* -A f, f = 4/t sigmoid(t (r - 1)), t = temperature_positive for A > 0, else _negative */
  SRP_LOSS_MARKED, /* -A r, and on marked tokens + coefficient |x|, g + coefficient sign(x) */
  SRP_LOSS_BOUNDED, /* -A c, c = min(current, old + ln(1 + clip_high)) for A > 0, else max(current, old + ln(1 - clip_low)) */
  SRP_LOSS_SQUARED /* 0.5 max((v - R)^2, (clip(v, old - clip_low, old + clip_high) - R)^2), v = current, R = advantage;
                        g = v - R where the first is at least the second */
} srp_loss_form;

/* s = log ratio of the row. */
typedef enum {
  SRP_ROW_CLIP = 1, /* SRP_LOSS_CLIP of s for every term; THROUGH, EACH */
  SRP_ROW_CLIP_ONCE, /* SRP_LOSS_CLIP of s; THROUGH, ONCE; advantage [B] */
  SRP_ROW_CLIP_LOCAL, /* SRP_LOSS_CLIP of s, but a token's gradient is its own: g = -A exp(s) where not clipped; EACH */
  SRP_ROW_GEOMETRIC, /* n = min(x, clip_high) for A > 0, max(x, -clip_low) for A < 0, 0 for A = 0, over terms; R = exp(sum of
                          (n + ln factor) / d); -mean(A) R, gradient to terms that are not clipped; ONCE. d by count_epsilon;
                          mean(A) = sum of A over terms / d, or A[b]. clip widths are in log space */
  SRP_ROW_GAMMA, /* ln w = clip(sum of clamped x + sum of clip(ln factor, ln 1e-8, 20), ln 1e-8, 20), k and l by the sign of A
                          (positive: A >= 0), p = exp(l + k ln w - l w), 0 where infinite; -p A current, g = -p A; EACH.
                          factor [B]: its logarithm once */
  SRP_ROW_SQUARED /* d = coefficient s - A; d^2; THROUGH, ONCE; advantage [B] */
} srp_row_form;

/* d = current - reference. */
typedef enum {
  SRP_KL_K1 = 1, /* d */
  SRP_KL_ABS, /* |d| */
  SRP_KL_K2, /* d^2 / 2 */
  SRP_KL_K3 /* exp(-d) - 1 + d, as expm1(-d) + d */
} srp_kl_form;

#ifdef __cplusplus
namespace srp {

struct LossParameters {
  double clip_low, clip_high;  // the ratio is clipped to [1 - clip_low, 1 + clip_high]. infinity = off
  double dual_clip;  // c > 1: for A < 0 the loss is at most -A c. infinity = off
  double ratio_cap;  // the unclipped term uses min(r, cap), no gradient above it. infinity = off
  double log_low, log_high;  // the log ratio is clamped to [log_low, log_high], no gradient outside. infinity = off
  double bound_low = -INFINITY, bound_high = INFINITY;  // ln(1 - clip_low), ln(1 + clip_high)
  double temperature_positive = 1, temperature_negative = 1;
  double coefficient = 0;
};

struct KlParameters {
  int32_t form, slope_form;  // srp_kl_form
  double log_clamp, value_clamp;  // of d and of the value. infinity = off
};

SRP_HD double exponential(double x) { return exp(x); }
SRP_HD double exponential_less_one(double x) { return expm1(x); }
SRP_HD double magnitude(double x) { return fabs(x); }
SRP_HD bool both(bool a, bool b) { return a && b; }

#include "surprisal/loss_form_texts.h"

// Forms of a row. Clipping of the row's ratio is ClipForm.

// A token of the geometric mean: its log ratio within the band on the side where the advantage pushes.
struct GeometricForm {
  struct Term {
    double log_ratio;
    bool moves, clipped;
  };

  static SRP_HD Term at(double x, double advantage, const LossParameters& p) {
    if (x != x || advantage != advantage) return {x + advantage, false, false};
    if (advantage > 0) return x > p.clip_high ? Term{p.clip_high, false, true} : Term{x, true, false};
    if (advantage < 0) return x < -p.clip_low ? Term{-p.clip_low, false, true} : Term{x, true, false};
    return {0, false, false};
  }
};

// The density of a gamma distribution in the row's weight, 1 at weight 1: it rewards staying near.
struct GammaForm {
  static SRP_HD double low() { return -18.420680743952367; }  // ln 1e-8
  static SRP_HD double high() { return 20; }

  static SRP_HD double weight(double log_weight, double shape, double rate) {
    const double weight = exponential(rate + shape * log_weight - rate * exponential(log_weight));
    return isinf(weight) ? 0 : weight;
  }
};

}  // namespace srp
#endif

#endif
