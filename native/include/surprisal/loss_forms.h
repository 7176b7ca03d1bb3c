// Per-token loss forms, one text for a scalar, a SIMD vector and a CUDA thread: the number type N is a template argument,
// a comparison gives N's mask type, and branches are select(mask, a, b).
//
// A form maps (log ratio, advantage) to
//   loss     the value to minimise; an objective is its negative
//   slope    d loss / d log ratio, which is d loss / d current log-prob, since the log ratio is current - old
//   ratio, clipped_ratio   what is reported
//   clipped  the clipped term is strictly larger, so that the ratio's own gradient is cut off
//   limited  the bound behind the clipping (the dual clip's) is strictly smaller still, and took over
//
// To add a form: an enumerator, a struct with `at`, a line in loss_term(). Parameters a form does not name are not read.
// A number type brings, beside arithmetic and comparisons: N(double), select() of number.h, exponential(), both(), !mask.
#ifndef SURPRISAL_LOSS_FORMS_H
#define SURPRISAL_LOSS_FORMS_H

#ifdef __cplusplus
#include "surprisal/number.h"
#endif

/* A = advantage, l = loss, g = d l / d current, x = log ratio (clamped where log_clamp says so), r = exp(x). */
typedef enum {
  SRP_LOSS_CLIP = 1, /* max(-A r, -A clip(r)), with dual clip, ratio cap and clamped log ratio */
  SRP_LOSS_LINEAR,   /* -A current; g = -A */
  SRP_LOSS_WEIGHTED, /* -w A current, w = clip(min(r, ratio_cap)) constant; g = -w A; clipped where w differs from r */
  SRP_LOSS_SIGMOID,  /* -A f, f = 4/t sigmoid(t (r - 1)), t = temperature_positive for A > 0, else _negative */
  SRP_LOSS_MARKED,   /* -A r, and on marked tokens + coefficient |x|, g + coefficient sign(x) */
  SRP_LOSS_BOUNDED,  /* -A c, c = min(current, old + ln(1 + clip_high)) for A > 0, else max(current, old + ln(1 - clip_low)) */
  SRP_LOSS_SQUARED   /* 0.5 max((v - R)^2, (clip(v, old +- clip) - R)^2), v = current, R = advantage; g = v - R where the first wins */
} srp_loss_form;

/* s = log ratio of the row. */
typedef enum {
  SRP_ROW_CLIP = 1,    /* SRP_LOSS_CLIP of s for every term; THROUGH, EACH */
  SRP_ROW_CLIP_ONCE,   /* SRP_LOSS_CLIP of s; THROUGH, ONCE; advantage [B] */
  SRP_ROW_CLIP_LOCAL,  /* SRP_LOSS_CLIP of s, but a token's gradient is its own: g = -A exp(s) where not clipped; EACH */
  SRP_ROW_GEOMETRIC,   /* n = min(x, clip_high) for A > 0, max(x, -clip_low) for A < 0, 0 for A = 0, over terms; R = exp(sum of
                          (n + ln factor) / d); -mean(A) R, gradient to terms that are not clipped; ONCE. d by count_epsilon;
                          mean(A) = sum of A over terms / d, or A[b]. clip widths are in log space */
  SRP_ROW_GAMMA,       /* ln w = clip(sum of clamped x + sum of clip(ln factor, ln 1e-8, 20), ln 1e-8, 20), k and l by the sign of A,
                          p = exp(l + k ln w - l w), 0 where not finite; -p A current, g = -p A; EACH. factor [B]: its logarithm once */
  SRP_ROW_SQUARED      /* d = coefficient s - A; d^2; THROUGH, ONCE; advantage [B] */
} srp_row_form;

/* d = current - reference. */
typedef enum {
  SRP_KL_K1 = 1, /* d */
  SRP_KL_ABS,    /* |d| */
  SRP_KL_K2,     /* d^2 / 2 */
  SRP_KL_K3      /* exp(-d) - 1 + d, as expm1(-d) + d */
} srp_kl_form;

#ifdef __cplusplus
namespace srp {

struct LossParameters {
  double clip_low, clip_high;  // the ratio is clipped to [1 - clip_low, 1 + clip_high]. infinity = off
  double dual_clip;  // c > 1: for A < 0 the loss is at most -A c. infinity = off
  double ratio_cap;  // the unclipped term uses min(r, cap), no gradient above it. infinity = off
  double log_low, log_high;  // the log ratio is clamped to [log_low, log_high], no gradient outside. infinity = off
};

template <class N>
struct LossTerm {
  N loss, slope, ratio, clipped_ratio;
  decltype(N() < N()) clipped, limited;
};

SRP_HD double exponential(double x) { return exp(x); }
SRP_HD bool both(bool a, bool b) { return a && b; }

// Comparisons with NaN are false, so a NaN passes through both selects.
template <class N>
SRP_HD N clamp(N x, N low, N high) {
  return select(x < low, low, select(x > high, high, x));
}

// factor * x, where a factor of 0 silences an infinity (0 * inf) but not a NaN.
template <class N>
SRP_HD N scaled(N factor, N x) {
  return select(both(factor == N(0), x == x), N(0), factor * x);
}

// Clipped surrogate (Schulman et al. 2017, equation 7; the dual clip is Ye et al. 2020's). Ties go to the unclipped
// branch: inside the band both agree and carry the same derivative.
struct ClipForm {
  template <class N>
  static SRP_HD LossTerm<N> at(N log_ratio, N advantage, const LossParameters& p) {
    const N clamped = clamp(log_ratio, N(p.log_low), N(p.log_high));
    const N ratio = exponential(clamped);
    const N banded = clamp(ratio, N(1 - p.clip_low), N(1 + p.clip_high));
    const auto above_cap = ratio > N(p.ratio_cap);
    const N free_loss = -scaled(advantage, select(above_cap, N(p.ratio_cap), ratio));
    const N banded_loss = -scaled(advantage, banded);
    const auto free_wins = free_loss >= banded_loss;
    const N surrogate = select(free_wins, free_loss, banded_loss);
    const N limit = -scaled(advantage, N(p.dual_clip));
    const auto limited = both(advantage<N(0), surrogate> limit);
    const auto sloped = both(both(free_wins, !limited), both(clamped == log_ratio, !above_cap));
    // A NaN is neither ahead nor behind: it must be carried over by hand. (0 * inf can make one branch NaN alone.)
    const N sum = free_loss + banded_loss;
    const auto defined = both(free_loss == free_loss, banded_loss == banded_loss);
    const N loss = select(limited, limit, surrogate);
    const N slope = select(sloped, -scaled(advantage, ratio), N(0));
    return {select(defined, loss, sum), select(defined, slope, sum), ratio, banded, banded_loss > free_loss, limited};
  }
};

template <class N>
SRP_HD LossTerm<N> loss_term(int form, N log_ratio, N advantage, const LossParameters& p) {
  switch (form) {
    case SRP_LOSS_CLIP:
    default:  // the argument check admits known forms only
      return ClipForm::at(log_ratio, advantage, p);
  }
}

}  // namespace srp
#endif

#endif
