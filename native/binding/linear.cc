// Fields of the linear head's ops (contract: surprisal/linear.h).
#include "field.h"

namespace srp::binding {
namespace {

Op forward() {
  using Args = srp_linear_forward_args;
  return SRP_OP(linear_forward, {
                                    SRP_SCALAR(dtype),
                                    SRP_INPUT(hidden, kOwnDtype, times(a.N, a.D)),
                                    SRP_INPUT(weight, kOwnDtype, times(a.padded, a.D)),
                                    SRP_INPUT(bias, kOwnDtype, a.padded),
                                    SRP_INPUT(targets, SRP_I32, a.N),
                                    SRP_INPUT(keep, SRP_U8, a.N),
                                    SRP_SCALAR(N),
                                    SRP_SCALAR(D),
                                    SRP_SCALAR(V),
                                    SRP_SCALAR(padded),
                                    SRP_SCALAR(chunk),
                                    SRP_SCALAR(temperature),
                                    SRP_SCALAR(scale),
                                    SRP_SCALAR(softcap),
                                    SRP_OUTPUT(logprob, kWideDtype, a.N),
                                    SRP_OUTPUT(entropy, kWideDtype, a.N),
                                    SRP_OUTPUT(lse, kWideDtype, a.N),
                                    SRP_OUTPUT(sum_sq, kWideDtype, a.N),
                                    SRP_OUTPUT(max_logit, SRP_F64, a.N),
                                    SRP_OUTPUT(log1p_sum, SRP_F64, a.N),
                                    SRP_OUTPUT(mean_gap, SRP_F64, a.N),
                                });
}

Op backward() {
  using Args = srp_linear_backward_args;
  return SRP_OP(linear_backward, {
                                     SRP_SCALAR(dtype),
                                     SRP_INPUT(hidden, kOwnDtype, times(a.N, a.D)),
                                     SRP_INPUT(weight, kOwnDtype, times(a.padded, a.D)),
                                     SRP_INPUT(bias, kOwnDtype, a.padded),
                                     SRP_INPUT(targets, SRP_I32, a.N),
                                     SRP_INPUT(keep, SRP_U8, a.N),
                                     SRP_INPUT(max_logit, SRP_F64, a.N),
                                     SRP_INPUT(log1p_sum, SRP_F64, a.N),
                                     SRP_INPUT(mean_gap, SRP_F64, a.N),
                                     SRP_INPUT(grad_logprob, kWideDtype, a.N),
                                     SRP_INPUT(grad_entropy, kWideDtype, a.N),
                                     SRP_SCALAR(N),
                                     SRP_SCALAR(D),
                                     SRP_SCALAR(V),
                                     SRP_SCALAR(padded),
                                     SRP_SCALAR(chunk),
                                     SRP_SCALAR(temperature),
                                     SRP_SCALAR(scale),
                                     SRP_SCALAR(softcap),
                                     SRP_SCALAR(accumulate),
                                     SRP_OUTPUT(grad_hidden, kOwnDtype, times(a.N, a.D)),
                                     SRP_OUTPUT(grad_weight, kWideDtype, times(a.padded, a.D)),
                                     SRP_OUTPUT(grad_bias, kWideDtype, a.padded),
                                 });
}

}  // namespace

std::vector<Op> linear_ops() { return {forward(), backward()}; }

}  // namespace srp::binding
