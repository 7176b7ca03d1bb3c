// A row of loss_token or loss_row as the level's kernels take it, for every op that has such rows.
#ifndef SURPRISAL_CPU_LOSS_TOKENS_H
#define SURPRISAL_CPU_LOSS_TOKENS_H

#include "level.h"
#include "shared/loss_rows.h"

namespace srp::cpu {

template <class F>
LossTokens<F> loss_tokens_of(const LossArgs& a, int64_t b, const LossParameters& p) {
  const auto per_token = [](const void* bounds, int32_t says) {
    return says ? static_cast<const F*>(bounds) : nullptr;
  };
  const RowScale scale = row_scale(a, b);
  const F* const advantage = static_cast<const F*>(a.advantages);
  const F* const factor = static_cast<const F*>(a.factors);
  LossTokens<F> row = {};
  row.log_probs = static_cast<const F*>(a.log_probs);
  row.old_log_probs = a.old_log_probs_per_row ? nullptr : static_cast<const F*>(a.old_log_probs);
  row.reference = static_cast<const F*>(a.reference_log_probs);
  row.advantage = a.advantages_per_token ? advantage : nullptr;
  row.factor = a.factors_per_token ? factor : nullptr;
  row.mask = a.mask;
  row.term_mask = a.term_mask;
  row.marks = a.marks;
  row.row_advantage = a.advantages_per_token ? 0 : load(advantage, b);
  row.row_factor = !factor || a.factors_per_token ? 1 : load(factor, b);
  row.policy = scale.policy;
  row.kl_scale = scale.kl;
  row.form = a.form;
  row.all_figures = wants_all(a);
  row.parameters = p;
  row.clip_low = per_token(a.clip_lows, a.clip_lows_per_token);
  row.clip_high = per_token(a.clip_highs, a.clip_highs_per_token);
  row.ratio_cap = per_token(a.ratio_caps, a.ratio_caps_per_token);
  row.bounds = has_token_bounds(a);
  if (has_bounds(a) && !read_bounds<F>(a, b, 0, false, &row.parameters)) {  // NaN for every token
    row.advantage = nullptr;
    row.row_advantage = NAN;
  }
  row.kl = a.kl;
  row.loss = static_cast<F*>(a.losses);
  row.ratio = static_cast<F*>(a.ratios);
  row.kl_values = static_cast<F*>(a.kl_values);
  row.grad = static_cast<F*>(a.grad_log_probs);
  row.clipped = a.clipped;
  return row;
}

}  // namespace srp::cpu

#endif
