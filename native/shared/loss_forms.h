// Loss forms, one text for a scalar, a SIMD vector and a CUDA thread: the number type N is a template argument, a comparison
// gives N's mask type, and branches are select(mask, a, b).
//
// A form of tokens maps a point (log ratio, log-prob, mark) and an advantage to
//   loss     the value to minimise; an objective is its negative
//   slope    d loss / d log_prob
//   ratio, clipped_ratio   what is reported
//   clipped  the clipped term is strictly larger, so that the ratio's own gradient is cut off
//   limited  the bound behind the clipping (the dual clip's) is strictly smaller still, and took over
// A form of rows has the functions that loss_row (loss_rows.h) calls with a row's log ratio.
//
// To add a form of tokens: an enumerator in surprisal/loss.h, a struct with `at` and a line in loss_term() of loss_forms.inc.
// Parameters a form does not name are not read.
#ifndef SURPRISAL_SHARED_LOSS_FORMS_H
#define SURPRISAL_SHARED_LOSS_FORMS_H

#include "shared/number.h"
#include "surprisal/loss.h"

namespace srp {

// The parameters of a form, and numbers derived from them.
struct LossParameters : srp_loss_parameters {
  double log_low, log_high;  // the log ratio is clamped to [log_low, log_high], no gradient outside. infinity = off
  double bound_low, bound_high;  // ln(1 - clip_low), ln(1 + clip_high)
};

SRP_HD double exponential(double x) { return exp(x); }
SRP_HD double exponential_less_one(double x) { return expm1(x); }
SRP_HD double magnitude(double x) { return fabs(x); }
SRP_HD bool both(bool a, bool b) { return a && b; }

#include "shared/loss_forms.inc"

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
