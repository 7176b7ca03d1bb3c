// What CPU and CUDA share of loss_logits (loss.h): the struct as those of the three ops that it joins, and what lies between a
// row's sums and its gradient.
#ifndef SURPRISAL_SHARED_LOSS_LOGITS_H
#define SURPRISAL_SHARED_LOSS_LOGITS_H

#include "shared/logprob.h"
#include "shared/loss.h"

namespace srp {

using LossLogitsArgs = srp_loss_logits_args;

// Every token a row of its own. log_probs are not in memory: token_slope() has it.
SRP_HD LossArgs token_args(const LossLogitsArgs& a) {
  LossArgs t = {};
  t.size = sizeof t;
  t.dtype = SRP_F64;
  t.figure_count = SRP_LOSS_SUMS;
  t.old_log_probs = a.old_log_probs;
  t.advantages = a.advantages;
  t.factors = a.factors;
  t.clip_lows = a.clip_lows;
  t.clip_highs = a.clip_highs;
  t.ratio_caps = a.ratio_caps;
  t.clip_lows_per_token = a.clip_lows ? 1 : 0;
  t.clip_highs_per_token = a.clip_highs ? 1 : 0;
  t.ratio_caps_per_token = a.ratio_caps ? 1 : 0;
  t.reference_log_probs = a.reference_log_probs;
  t.row_weights = a.weights;
  t.kl_row_weights = a.kl_weights;
  t.mask = a.mask;
  t.term_mask = a.term_mask;
  t.marks = a.marks;
  t.n = t.B = a.N;
  t.T = 1;
  t.form = a.form;
  t.advantages_per_token = 1;
  t.factors_per_token = a.factors ? 1 : 0;
  t.reduce = SRP_REDUCE_MEAN;
  t.parameters = a.parameters;
  t.kl = a.kl;
  return t;
}

// The three roundings to float32 are those of the arrays between the three ops.
SRP_HD double rounded(double x) { return static_cast<double>(static_cast<float>(x)); }

// d total / d log_prob of token i.
SRP_HD double token_slope(const LossArgs& t, const LossParameters& all, int64_t i, double log_prob) {
  LossParameters p = all;
  const double advantage = bounded_advantage<double>(t, i, i, i, &p);
  const TokenCost<double> cost = token_cost<double>(t, i, i, p, t.kl, point_at<double>(t, i, log_prob), advantage);
  return cost.grad(row_scale(t, i)) + 0.0;
}

// The outputs of kept token i, and what its row's gradient is made of. `slope` is d total / d log_prob of rounded(logprob).
SRP_HD RowSlopes lose_row(const LossLogitsArgs& a, int64_t i, const RowResult& row, double logprob, double slope) {
  store_row(a, i, row);
  put_if(a.log_probs, i, logprob);
  const double of_entropy = a.entropy_weights ? rounded(a.entropy_weights[i]) : 0;
  const double mean_gap = a.entropy_weights ? rounded(row.mean_gap) : 0;
  return {row.max_logit, rounded(row.log1p_sum), mean_gap, rounded(slope), of_entropy};
}

SRP_HD RowSlopes lose_row(const LossLogitsArgs& a, const LossArgs& t, const LossParameters& p, int64_t i,
                          const RowResult& row, double logprob) {
  return lose_row(a, i, row, logprob, token_slope(t, p, i, rounded(logprob)));
}

SRP_HD void clear_token(const LossLogitsArgs& a, int64_t i) {
  store_row(a, i, {0, 0, 0, 0, 0});
  put_if(a.log_probs, i, 0);
}

inline srp_status check(const LossLogitsArgs* a) {
  SRP_TRY(check_size(a));
  srp_logprob_forward_args logits = {};
  logits.size = sizeof logits;
  logits.dtype = a->dtype;
  logits.logits = a->logits;
  logits.targets = a->targets;
  logits.N = a->N;
  logits.V = a->V;
  logits.stride = a->stride;
  logits.K = 1;
  logits.temperature = a->temperature;
  logits.scale = a->scale;
  logits.softcap = a->softcap;
  SRP_TRY(check(&logits));
  const LossArgs tokens = token_args(*a);
  SRP_TRY(check_loss(&tokens, SRP_LOSS_CLIP, SRP_LOSS_FORMS - 1));
  return check_pointer("grad_logits", a->grad_logits, a->stride == 0 ? 0 : a->N);
}

}  // namespace srp

#endif
