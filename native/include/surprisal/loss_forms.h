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
// To add a form of tokens: an enumerator, a struct with `at`, a line in loss_term(). Parameters a form does not name are not
// read. A number type brings, beside arithmetic and comparisons: N(double), select() of number.h, exponential(),
// magnitude(), both(), !mask.
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

template <class N>
using MaskOf = decltype(N() < N());

template <class N>
struct LossPoint {
  N log_ratio, current, old;  // old = current where there is none
  MaskOf<N> marked;
};

template <class N>
struct LossTerm {
  N loss, slope, ratio, clipped_ratio;
  MaskOf<N> clipped, limited;
};

SRP_HD double exponential(double x) { return exp(x); }
SRP_HD double magnitude(double x) { return fabs(x); }
SRP_HD bool both(bool a, bool b) { return a && b; }

// Comparisons with NaN are false, so a NaN passes through both selects.
template <class N>
SRP_HD N clamp(N x, N low, N high) {
  return select(x < low, low, select(x > high, high, x));
}

template <class N>
SRP_HD N sign(N x) {
  return select(x > N(0), N(1), select(x < N(0), N(-1), x));  // NaN stays
}

// factor * x, where a factor of 0 silences an infinity (0 * inf) but not a NaN.
template <class N>
SRP_HD N scaled(N factor, N x) {
  return select(both(factor == N(0), x == x), N(0), factor * x);
}

// The clamped log ratio, its exp, and whether the clamp holds it, so that it does not move with the log-prob.
template <class N>
struct ClampedRatio {
  N log_ratio, ratio;
  MaskOf<N> held;
};

template <class N>
SRP_HD ClampedRatio<N> clamped_ratio(N log_ratio, const LossParameters& p) {
  const N low(p.log_low), high(p.log_high), clamped = clamp(log_ratio, low, high);
  return {clamped, exponential(clamped), !both(log_ratio >= low, log_ratio <= high)};
}

// Clipped surrogate (Schulman et al. 2017, equation 7; the dual clip is Ye et al. 2020's). Ties go to the unclipped
// branch: inside the band both agree and carry the same derivative.
struct ClipForm {
  template <class N>
  static SRP_HD LossTerm<N> at(N log_ratio, N advantage, const LossParameters& p) {
    return of(clamped_ratio(log_ratio, p), advantage, p);
  }

  // A row has one ratio for many advantages.
  template <class N>
  static SRP_HD LossTerm<N> of(const ClampedRatio<N>& x, N advantage, const LossParameters& p) {
    const N ratio = x.ratio;
    const N banded = clamp(ratio, N(1 - p.clip_low), N(1 + p.clip_high));
    const auto above_cap = ratio > N(p.ratio_cap);
    const N free_loss = -scaled(advantage, select(above_cap, N(p.ratio_cap), ratio));
    const N banded_loss = -scaled(advantage, banded);
    const auto free_wins = free_loss >= banded_loss;
    const N surrogate = select(free_wins, free_loss, banded_loss);
    const N limit = -scaled(advantage, N(p.dual_clip));
    const auto limited = both(advantage<N(0), surrogate> limit);
    // A cap inside of the band hands a negative advantage's term to the banded branch, which moves there.
    const auto moves = select(free_wins, !above_cap, banded == ratio);
    const auto sloped = both(both(moves, !limited), !x.held);
    // A NaN is neither ahead nor behind: it must be carried over by hand. (0 * inf can make one branch NaN alone.)
    const N sum = free_loss + banded_loss;
    const auto defined = both(free_loss == free_loss, banded_loss == banded_loss);
    const N loss = select(limited, limit, surrogate);
    const N slope = select(sloped, -scaled(advantage, ratio), N(0));
    return {select(defined, loss, sum), select(defined, slope, sum), ratio, banded, banded_loss > free_loss, limited};
  }
};

// The policy gradient (Williams 1992): the log-prob itself, whatever the ratio.
struct LinearForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters&) {
    const N ratio = exponential(t.log_ratio);
    const auto never = ratio < ratio;
    return {-scaled(advantage, t.current), -advantage, ratio, ratio, never, never};
  }
};

// The policy gradient with a clipped importance weight that carries no gradient.
struct WeightedForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const N ratio = clamped_ratio(t.log_ratio, p).ratio;
    const N capped = select(ratio > N(p.ratio_cap), N(p.ratio_cap), ratio);
    const N weight = clamp(capped, N(1 - p.clip_low), N(1 + p.clip_high));
    const N gain = scaled(advantage, weight);
    const auto clipped = both(weight != ratio, ratio == ratio);
    return {-scaled(gain, t.current), -gain, ratio, weight, clipped, ratio < ratio};
  }
};

// A soft gate in place of the clip: of slope 1 at ratio 1, flat far from it. exp(-|z|) never overflows.
struct SigmoidForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const ClampedRatio<N> x = clamped_ratio(t.log_ratio, p);
    const N temperature = select(advantage > N(0), N(p.temperature_positive), N(p.temperature_negative));
    const N z = temperature * (x.ratio - N(1));
    const N e = exponential(-magnitude(z));
    const N sigmoid = select(z >= N(0), N(1), e) / (N(1) + e);
    const N bell = e / ((N(1) + e) * (N(1) + e));
    const N slope = -scaled(advantage, N(4) * scaled(bell, x.ratio));
    const auto never = z < z;
    return {
        -scaled(advantage, N(4) * sigmoid / temperature), select(x.held, N(0), slope), x.ratio, x.ratio, never, never};
  }
};

// The unclipped surrogate, and where a token is marked a penalty on moving away.
struct MarkedForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const ClampedRatio<N> x = clamped_ratio(t.log_ratio, p);
    const N gain = -scaled(advantage, x.ratio);
    const N penalty = select(t.marked, scaled(N(p.coefficient), magnitude(x.log_ratio)), N(0));
    const N push = select(t.marked, scaled(N(p.coefficient), sign(x.log_ratio)), N(0));
    const auto never = x.ratio < x.ratio;
    return {gain + penalty, select(x.held, N(0), gain + push), x.ratio, x.ratio, never, never};
  }
};

// The policy gradient until the log-prob has gone as far as the clip range lets it, and nothing beyond.
struct BoundedForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const auto up = advantage > N(0);
    const N bound = select(up, N(p.bound_high), N(p.bound_low));
    const auto beyond = select(up, t.log_ratio, -t.log_ratio) > select(up, bound, -bound);
    const N ratio = exponential(t.log_ratio);
    const N value = select(ratio == ratio, select(beyond, t.old + bound, t.current), ratio);
    return {-scaled(advantage, value), select(beyond, N(0), -advantage), ratio, ratio, beyond, ratio < ratio};
  }
};

// Regression on returns with the prediction held near its old value (the critic of PPO). The log ratio is value - old value.
struct SquaredForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N target, const LossParameters& p) {
    const N move = t.log_ratio;
    const N banded = select(move > N(p.clip_high), t.old + N(p.clip_high),
                            select(move < N(-p.clip_low), t.old - N(p.clip_low), t.current));
    const N error = t.current - target, banded_error = banded - target;
    const N free_loss = error * error, banded_loss = banded_error * banded_error;
    const auto clipped = banded_loss > free_loss;
    const N loss = N(0.5) * select(clipped, banded_loss, free_loss);
    const N ratio = exponential(move);
    return {select(move == move, loss, move), select(clipped, N(0), error), ratio, ratio, clipped, ratio < ratio};
  }
};

// Where the loss is NaN, so is the slope.
template <class N>
SRP_HD LossTerm<N> defined(LossTerm<N> t) {
  t.slope = select(t.loss == t.loss, t.slope, t.loss);
  return t;
}

template <class N>
SRP_HD LossTerm<N> loss_term(int form, const LossPoint<N>& t, N advantage, const LossParameters& p) {
  switch (form) {
    case SRP_LOSS_LINEAR:
      return defined(LinearForm::at(t, advantage, p));
    case SRP_LOSS_WEIGHTED:
      return defined(WeightedForm::at(t, advantage, p));
    case SRP_LOSS_SIGMOID:
      return defined(SigmoidForm::at(t, advantage, p));
    case SRP_LOSS_MARKED:
      return defined(MarkedForm::at(t, advantage, p));
    case SRP_LOSS_BOUNDED:
      return defined(BoundedForm::at(t, advantage, p));
    case SRP_LOSS_SQUARED:
      return defined(SquaredForm::at(t, advantage, p));
    case SRP_LOSS_CLIP:
    default:  // the argument check admits known forms only
      return ClipForm::at(t.log_ratio, advantage, p);
  }
}

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
