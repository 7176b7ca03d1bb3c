// Fields of the loss ops (contract: surprisal/loss.h).
#include "field.h"

namespace srp::binding {
namespace {

using Args = srp_loss_token_args;

// Forms of loss_row whose value is one number a row.
bool once(const Args& a) {
  return a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_GEOMETRIC || a.form == SRP_ROW_SQUARED;
}

// Both ops have these. The outputs `loss` and `ratio` differ in size and come with the op.
std::vector<Field> fields(Field loss, Field ratio) {
  return {
      SRP_SCALAR(dtype),
      SRP_INPUT(current, kOwnDtype, a.n),
      SRP_INPUT(old, kOwnDtype, a.old_per_row ? a.B : a.n),
      SRP_INPUT(advantage, kOwnDtype, a.advantage_per_token ? a.n : a.B),
      SRP_INPUT(factor, kOwnDtype, a.factor_per_token ? a.n : a.B),
      SRP_INPUT(reference, kOwnDtype, a.n),
      SRP_INPUT(row_weight, SRP_F64, a.B),
      SRP_INPUT(kl_weight, SRP_F64, a.B),
      SRP_INPUT(mask, SRP_U8, a.n),
      SRP_INPUT(term_mask, SRP_U8, a.n),
      SRP_INPUT(marks, SRP_U8, a.n),
      SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
      SRP_SCALAR(n),
      SRP_SCALAR(B),
      SRP_SCALAR(T),
      SRP_SCALAR(form),
      SRP_SCALAR(old_per_row),
      SRP_SCALAR(advantage_per_token),
      SRP_SCALAR(factor_per_token),
      SRP_SCALAR(reduce),
      SRP_SCALAR(kl_form),
      SRP_SCALAR(kl_slope_form),
      SRP_SCALAR(kl_ratio),
      SRP_SCALAR(clip_low),
      SRP_SCALAR(clip_high),
      SRP_SCALAR(dual_clip),
      SRP_SCALAR(ratio_cap),
      SRP_SCALAR(log_clamp),
      SRP_SCALAR(max_log_ratio),
      SRP_SCALAR(temperature_positive),
      SRP_SCALAR(temperature_negative),
      SRP_SCALAR(coefficient),
      SRP_SCALAR(shape_positive),
      SRP_SCALAR(rate_positive),
      SRP_SCALAR(shape_negative),
      SRP_SCALAR(rate_negative),
      SRP_SCALAR(count_epsilon),
      SRP_SCALAR(kl_coefficient),
      SRP_SCALAR(kl_log_clamp),
      SRP_SCALAR(kl_value_clamp),
      loss,
      ratio,
      SRP_OUTPUT(kl, kOwnDtype, a.n),
      SRP_OUTPUT(clipped, SRP_U8, a.n),
      SRP_OUTPUT(grad, kOwnDtype, a.n),
      SRP_OUTPUT(figures, SRP_F64, times(a.B, SRP_LOSS_FIGURES)),
  };
}

Op token() { return SRP_OP(loss_token, fields(SRP_OUTPUT(loss, kOwnDtype, a.n), SRP_OUTPUT(ratio, kOwnDtype, a.n))); }

Op row() {
  return SRP_OP(loss_row, fields(SRP_OUTPUT(loss, kOwnDtype, once(a) ? a.B : a.n), SRP_OUTPUT(ratio, kOwnDtype, a.B)));
}

Op logits() {
  using Args = srp_loss_logits_args;
  return by_rows(SRP_OP(loss_logits,
                        {
                            SRP_SCALAR(dtype),
                            SRP_INPUT(logits, kOwnDtype, times(a.N, a.stride)),
                            SRP_INPUT(targets, SRP_I32, a.N),
                            SRP_INPUT(keep, SRP_U8, a.N),
                            SRP_INPUT(old, SRP_F64, a.N),
                            SRP_INPUT(advantage, SRP_F64, a.N),
                            SRP_INPUT(factor, SRP_F64, a.N),
                            SRP_INPUT(reference, SRP_F64, a.N),
                            SRP_INPUT(weight, SRP_F64, a.N),
                            SRP_INPUT(kl_weight, SRP_F64, a.N),
                            SRP_INPUT(entropy_weight, SRP_F64, a.N),
                            SRP_INPUT(term_mask, SRP_U8, a.N),
                            SRP_INPUT(marks, SRP_U8, a.N),
                            SRP_SCALAR(N),
                            SRP_SCALAR(V),
                            SRP_SCALAR(stride),
                            SRP_SCALAR(temperature),
                            SRP_SCALAR(scale),
                            SRP_SCALAR(softcap),
                            SRP_SCALAR(form),
                            SRP_SCALAR(kl_form),
                            SRP_SCALAR(kl_slope_form),
                            SRP_SCALAR(kl_ratio),
                            SRP_SCALAR(clip_low),
                            SRP_SCALAR(clip_high),
                            SRP_SCALAR(dual_clip),
                            SRP_SCALAR(ratio_cap),
                            SRP_SCALAR(log_clamp),
                            SRP_SCALAR(max_log_ratio),
                            SRP_SCALAR(temperature_positive),
                            SRP_SCALAR(temperature_negative),
                            SRP_SCALAR(coefficient),
                            SRP_SCALAR(kl_coefficient),
                            SRP_SCALAR(kl_log_clamp),
                            SRP_SCALAR(kl_value_clamp),
                            SRP_OUTPUT(logprob, SRP_F32, a.N),
                            SRP_OUTPUT(entropy, SRP_F32, a.N),
                            SRP_OUTPUT(lse, SRP_F32, a.N),
                            SRP_OUTPUT(max_logit, SRP_F32, a.N),
                            SRP_OUTPUT(log1p_sum, SRP_F32, a.N),
                            SRP_OUTPUT(mean_gap, SRP_F32, a.N),
                            SRP_OUTPUT(sum_sq, SRP_F32, a.N),
                            SRP_IN_PLACE(grad, kOwnDtype, times(a.N, a.stride), logits),
                        }),
                 offsetof(Args, N));
}

}  // namespace

std::vector<Op> loss_ops() { return {token(), row(), logits()}; }

}  // namespace srp::binding
