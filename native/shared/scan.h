// One step of each scan in scan.h, and the checks of their arguments. A backend walks a row from its end to its begin, or the
// other way where kForward says so, and hands every token to step(); each backend has its own loops.
#ifndef SURPRISAL_SHARED_SCAN_H
#define SURPRISAL_SHARED_SCAN_H

#include <float.h>

#include "shared/checks.h"
#include "shared/rows.h"
#include "surprisal/scan.h"

namespace srp {

template <class F>
SRP_HD double discount_at(const void* discount, double gamma, int64_t i) {
  return discount ? finite_or_nan(load(static_cast<const F*>(discount), i)) : gamma;
}

template <class F>
SRP_HD double bootstrap_of(const void* bootstrap, int64_t b) {
  return bootstrap ? load(static_cast<const F*>(bootstrap), b) : 0.0;
}

template <class F, class Args>
SRP_HD double lambda_of_row(const Args& a, int64_t b) {
  return a.lambdas && !a.lambdas_per_token ? load(static_cast<const F*>(a.lambdas), b) : a.lambda;
}

// `of_row`: where tokens have none of their own; `read`: whether anything of token i may be.
template <class F, class Args>
SRP_HD double lambda_at(const Args& a, double of_row, int64_t i, bool read) {
  return a.lambdas_per_token && read ? load(static_cast<const F*>(a.lambdas), i) : of_row;
}

template <class F>
struct GaeScan {
  using Args = srp_scan_gae_args;
  static constexpr bool kForward = false;
  double next_value, next_advantage;  // float64: a float32 carry is off by 1.5e-4 at T = 32768 when gamma * lambda = 1
  const double lambda;

  SRP_HD GaeScan(const Args& a, int64_t b)
      : next_value(bootstrap_of<F>(a.bootstrap, b)), next_advantage(0), lambda(lambda_of_row<F>(a, b)) {}

  SRP_HD void step(const Args& a, int64_t i) {
    F* const advantages = static_cast<F*>(a.advantages);
    F* const returns = static_cast<F*>(a.returns);
    const bool kept = !a.mask || a.mask[i];
    const bool cut = !kept && a.mask_mode == SRP_MASK_CUT;
    if (!kept && a.mask_mode != SRP_MASK_STEPS && !(cut && a.transform_masked)) {
      if (cut) next_value = next_advantage = 0;
      if (advantages) store(advantages, i, a.transform_masked ? next_advantage : 0.0);
      if (returns)
        store(returns, i, a.transform_masked ? next_advantage + load(static_cast<const F*>(a.values), i) : 0.0);
      return;
    }
    const bool read = kept || cut;
    const double gamma = read ? discount_at<F>(a.gammas, a.gamma, i) : a.gamma;
    const double reward = read ? load(static_cast<const F*>(a.rewards), i) : 0;
    const double value = read ? load(static_cast<const F*>(a.values), i) : 0;
    const double own = lambda_at<F>(a, lambda, i, read);
    next_advantage = reward + gamma * next_value - value + gamma * own * next_advantage;
    next_value = value;
    if (advantages) store(advantages, i, next_advantage);
    if (returns) store(returns, i, next_advantage + value);
    if (cut) next_value = next_advantage = 0;
  }
};

template <class F>
struct ReturnsScan {
  using Args = srp_scan_returns_args;
  static constexpr bool kForward = false;
  double next_return;

  SRP_HD ReturnsScan(const Args& a, int64_t b) : next_return(bootstrap_of<F>(a.bootstrap, b)) {}

  SRP_HD void step(const Args& a, int64_t i) {
    F* const returns = static_cast<F*>(a.returns);
    const bool kept = !a.mask || a.mask[i];
    const bool cut = !kept && a.mask_mode == SRP_MASK_CUT;
    if (!kept && a.mask_mode != SRP_MASK_STEPS && !(cut && a.transform_masked)) {
      if (cut) next_return = 0;
      store(returns, i, a.transform_masked ? next_return : 0.0);
      return;
    }
    const bool read = kept || cut;
    const double gamma = read ? discount_at<F>(a.gammas, a.gamma, i) : a.gamma;
    const double reward = read ? load(static_cast<const F*>(a.rewards), i) : 0;
    next_return = reward + gamma * next_return;
    store(returns, i, next_return);
    if (cut) next_return = 0;
  }
};

template <class F>
struct VtraceScan {
  using Args = srp_scan_vtrace_args;
  static constexpr bool kForward = false;
  double next_value, accumulated;  // the target behind is their sum
  const double lambda;

  SRP_HD VtraceScan(const Args& a, int64_t b)
      : next_value(bootstrap_of<F>(a.bootstrap, b)), accumulated(0), lambda(lambda_of_row<F>(a, b)) {}

  // NaN weights pass: a comparison with NaN is false.
  static SRP_HD double cap(double weight, double bar) { return weight > bar ? bar : weight; }

  SRP_HD void step(const Args& a, int64_t i) {
    F* const targets = static_cast<F*>(a.targets);
    F* const advantages = static_cast<F*>(a.advantages);
    F* const out = static_cast<F*>(a.accumulated);
    const bool kept = !a.mask || a.mask[i];
    if (!kept && a.mask_mode != SRP_MASK_STEPS) {
      if (a.mask_mode == SRP_MASK_CUT) next_value = accumulated = 0;
      if (targets) targets[i] = F(0);
      if (advantages) advantages[i] = F(0);
      if (out) out[i] = F(0);
      return;
    }
    const double gamma = kept ? discount_at<F>(a.gammas, a.gamma, i) : a.gamma;
    const double reward = kept ? load(static_cast<const F*>(a.rewards), i) : 0;
    const double value = kept ? load(static_cast<const F*>(a.values), i) : 0;
    const double weight = kept ? load(static_cast<const F*>(a.weights), i) : 1;
    const double rho = cap(weight, a.rho_bar), next_target = next_value + accumulated;
    const double delta = a.delta == SRP_DELTA_REWARD ? rho * reward + gamma * next_value - value
                                                     : rho * (reward + gamma * next_value - value);
    accumulated = delta + gamma * lambda_at<F>(a, lambda, i, kept) * cap(weight, a.c_bar) * accumulated;
    if (out) store(out, i, accumulated);
    if (advantages) store(advantages, i, cap(weight, a.pg_rho_bar) * (reward + gamma * next_target - value));
    next_value = value;
    if (targets) store(targets, i, value + accumulated);
  }
};

template <class F>
struct TailScan {
  using Args = srp_scan_tail_args;
  static constexpr bool kForward = false;
  int64_t before;  // steps before the one at hand
  double sum, weight;  // of the steps from the one at hand on, powers counted from it

  SRP_HD TailScan(int64_t before, double sum, double weight) : before(before), sum(sum), weight(weight) {}
  SRP_HD TailScan(const Args& a, int64_t b) : before(0), sum(0), weight(0) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    if (!a.mask || a.mask_mode == SRP_MASK_STEPS) {
      before = row.end - row.begin;
    } else {
      for (int64_t i = row.begin; i < row.end; ++i) before += a.mask[i] ? 1 : 0;
    }
  }

  // Takes token i, a step, and returns its tail but for the power that counts the steps before it.
  SRP_HD double take(const Args& a, int64_t i, bool kept) {
    --before;
    sum = (kept ? load(static_cast<const F*>(a.values), i) : 0) + a.gamma * sum;
    weight = (kept ? 1 : a.masked_weight) + a.gamma * weight;
    return !a.normalize ? sum : weight > 0 ? sum / weight : 0.0;
  }

  SRP_HD void step(const Args& a, int64_t i) {
    F* const tails = static_cast<F*>(a.tails);
    const bool kept = !a.mask || a.mask[i];
    if (!kept && a.mask_mode == SRP_MASK_SKIP) {
      tails[i] = F(0);
      return;
    }
    const double tail = take(a, i, kept);
    store(tails, i, a.normalize ? tail : pow(a.gamma, static_cast<double>(before)) * tail);
  }
};

template <class F>
struct PrefixScan {
  using Args = srp_scan_prefix_args;
  static constexpr bool kForward = true;
  double sum;

  SRP_HD PrefixScan(const Args&, int64_t) : sum(0) {}

  static SRP_HD double norm(double log_prob, double sum_squares, double weight) {
    return (1 - 2 * exp(log_prob) + sum_squares) * (weight * weight);
  }

  static SRP_HD double term(const Args& a, int64_t i) {
    if (a.values) return load(static_cast<const F*>(a.values), i);
    return norm(load(static_cast<const F*>(a.log_probs), i), load(static_cast<const F*>(a.sum_squares), i),
                a.weights ? load(static_cast<const F*>(a.weights), i) : 1);
  }

  SRP_HD void step(const Args& a, int64_t i) {
    F* const terms = static_cast<F*>(a.terms);
    F* const sums = static_cast<F*>(a.sums);
    if (a.mask && !a.mask[i]) {
      if (terms) terms[i] = F(0);
      if (sums) sums[i] = F(0);
      return;
    }
    const double x = term(a, i);
    const double before = sum;
    sum += x;
    if (terms) store(terms, i, x);
    if (sums) store(sums, i, a.exclusive ? before : sum);
  }
};

template <class F>
struct SharesScan {
  using Args = srp_scan_shares_args;
  static constexpr bool kForward = true;
  double before, total;  // sums of magnitudes: of the kept tokens before the one at hand, of all

  SRP_HD SharesScan(double before, double total) : before(before), total(total) {}
  SRP_HD SharesScan(const Args& a, int64_t b) : before(0), total(0) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    for (int64_t i = row.begin; i < row.end; ++i)
      if (!a.mask || a.mask[i]) total += fabs(load(static_cast<const F*>(a.values), i));
    total = divisor(a, total);
  }

  static SRP_HD double divisor(const Args& a, double total) {
    return total < a.epsilon ? a.epsilon : total;
  }  // NaN stays
  static SRP_HD double share(const Args& a, double before, double divisor) {
    return 1 + a.gain * (1 - before / divisor);
  }

  SRP_HD void step(const Args& a, int64_t i) {
    F* const weights = static_cast<F*>(a.weights);
    F* const products = static_cast<F*>(a.products);
    const bool kept = !a.mask || a.mask[i];
    const double x = kept ? load(static_cast<const F*>(a.values), i) : 0;
    const double weight = kept ? share(a, before, total) : 0;
    before += fabs(x);
    if (weights) store(weights, i, weight);
    if (products) store(products, i, weight * x);
  }
};

inline srp_status check_scan(int32_t dtype, const int32_t* offsets, int64_t n, int64_t B, int64_t T, double gamma,
                             int32_t mask_mode) {
  SRP_TRY(check_float(dtype));
  SRP_TRY(check_rows(offsets, n, B, T));
  SRP_TRY(check_range("gamma", gamma, 0, 1));
  return check_enum("mask_mode", mask_mode, SRP_MASK_CUT);
}

template <class Args>
srp_status check_lambdas(const Args* a) {
  SRP_TRY(check_range("lambda", a->lambda, 0, 1));
  return check_enum("lambdas_per_token", a->lambdas_per_token, a->lambdas || a->n == 0 ? 1 : 0);
}

inline srp_status check(const srp_scan_gae_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_scan(a->dtype, a->offsets, a->n, a->B, a->T, a->gamma, a->mask_mode));
  SRP_TRY(check_lambdas(a));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  SRP_TRY(check_pointer("rewards", a->rewards, a->n));
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("advantages and returns", a->advantages ? a->advantages : a->returns, a->n);
}

inline srp_status check(const srp_scan_returns_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_scan(a->dtype, a->offsets, a->n, a->B, a->T, a->gamma, a->mask_mode));
  SRP_TRY(check_enum("transform_masked", a->transform_masked, 1));
  SRP_TRY(check_pointer("rewards", a->rewards, a->n));
  return check_pointer("returns", a->returns, a->n);
}

inline srp_status check(const srp_scan_vtrace_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_scan(a->dtype, a->offsets, a->n, a->B, a->T, a->gamma, a->mask_mode));
  SRP_TRY(check_lambdas(a));
  SRP_TRY(check_range("rho_bar", a->rho_bar, 0, INFINITY));
  SRP_TRY(check_range("c_bar", a->c_bar, 0, INFINITY));
  SRP_TRY(check_range("pg_rho_bar", a->pg_rho_bar, 0, INFINITY));
  SRP_TRY(check_pointer("rewards", a->rewards, a->n));
  SRP_TRY(check_pointer("values", a->values, a->n));
  SRP_TRY(check_pointer("weights", a->weights, a->n));
  SRP_TRY(check_enum("delta", a->delta, SRP_DELTA_REWARD));
  const void* const first = a->targets ? a->targets : a->advantages;
  return check_pointer("targets, advantages and accumulated", first ? first : a->accumulated, a->n);
}

inline srp_status check(const srp_scan_tail_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_scan(a->dtype, a->offsets, a->n, a->B, a->T, a->gamma, a->mask_mode));
  SRP_TRY(check_enum("mask_mode", a->mask_mode, SRP_MASK_STEPS));
  SRP_TRY(check_enum("normalize", a->normalize, 1));
  SRP_TRY(check_range("masked_weight", a->masked_weight, 0, DBL_MAX));
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("tails", a->tails, a->n);
}

inline srp_status check(const srp_scan_prefix_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_enum("exclusive", a->exclusive, 1));
  if (!a->values) {
    SRP_TRY(check_pointer("log_probs", a->log_probs, a->n));
    SRP_TRY(check_pointer("sum_squares", a->sum_squares, a->n));
  }
  return check_pointer("terms and sums", a->terms ? a->terms : a->sums, a->n);
}

inline srp_status check(const srp_scan_shares_args* a) {
  SRP_TRY(check_size(a));
  SRP_TRY(check_float(a->dtype));
  SRP_TRY(check_rows(a->offsets, a->n, a->B, a->T));
  SRP_TRY(check_range("gain", a->gain, 0, DBL_MAX));
  SRP_TRY(check_range("epsilon", a->epsilon, DBL_TRUE_MIN, DBL_MAX));
  SRP_TRY(check_pointer("values", a->values, a->n));
  return check_pointer("weights and products", a->weights ? a->weights : a->products, a->n);
}

}  // namespace srp

#endif
