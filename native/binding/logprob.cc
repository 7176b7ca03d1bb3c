// Fields of the logprob ops (contract: surprisal/logprob.h).
#include "field.h"

namespace srp::binding {
namespace {

Op forward() {
  using Args = srp_logprob_forward_args;
  return by_rows(SRP_OP(logprob_forward,
                        {
                            SRP_SCALAR(dtype),
                            SRP_INPUT(logits, kOwnDtype, times(a.N, a.stride)),
                            SRP_INPUT(targets, SRP_I32, times(a.N, a.K)),
                            SRP_INPUT(keep, SRP_U8, a.N),
                            SRP_SCALAR(N),
                            SRP_SCALAR(V),
                            SRP_SCALAR(stride),
                            SRP_SCALAR(K),
                            SRP_SCALAR(temperature),
                            SRP_SCALAR(scale),
                            SRP_SCALAR(softcap),
                            SRP_OUTPUT(logprob, SRP_F32, times(a.N, a.K)),
                            SRP_OUTPUT(entropy, SRP_F32, a.N),
                            SRP_OUTPUT(lse, SRP_F32, a.N),
                            SRP_OUTPUT(max_logit, SRP_F32, a.N),
                            SRP_OUTPUT(log1p_sum, SRP_F32, a.N),
                            SRP_OUTPUT(mean_gap, SRP_F32, a.N),
                            SRP_OUTPUT(sum_sq, SRP_F32, a.N),
                        }),
                 offsetof(Args, N));
}

Op backward() {
  using Args = srp_logprob_backward_args;
  return by_rows(SRP_OP(logprob_backward,
                        {
                            SRP_SCALAR(dtype),
                            SRP_INPUT(logits, kOwnDtype, times(a.N, a.stride)),
                            SRP_INPUT(targets, SRP_I32, times(a.N, a.K)),
                            SRP_INPUT(keep, SRP_U8, a.N),
                            SRP_INPUT(max_logit, SRP_F32, a.N),
                            SRP_INPUT(log1p_sum, SRP_F32, a.N),
                            SRP_INPUT(mean_gap, SRP_F32, a.N),
                            SRP_INPUT(grad_logprob, SRP_F32, times(a.N, a.K)),
                            SRP_INPUT(grad_entropy, SRP_F32, a.N),
                            SRP_SCALAR(N),
                            SRP_SCALAR(V),
                            SRP_SCALAR(stride),
                            SRP_SCALAR(K),
                            SRP_SCALAR(vocab_start),
                            SRP_SCALAR(vocab_size),
                            SRP_SCALAR(temperature),
                            SRP_SCALAR(scale),
                            SRP_SCALAR(softcap),
                            SRP_IN_PLACE(grad, kOwnDtype, times(a.N, a.stride), logits),
                        }),
                 offsetof(Args, N));
}

Op partial() {
  using Args = srp_logprob_partial_args;
  return by_rows(SRP_OP(logprob_partial,
                        {
                            SRP_SCALAR(dtype),
                            SRP_INPUT(logits, kOwnDtype, times(a.N, a.stride)),
                            SRP_INPUT(targets, SRP_I32, times(a.N, a.K)),
                            SRP_INPUT(keep, SRP_U8, a.N),
                            SRP_SCALAR(N),
                            SRP_SCALAR(V),
                            SRP_SCALAR(stride),
                            SRP_SCALAR(K),
                            SRP_SCALAR(vocab_start),
                            SRP_SCALAR(vocab_size),
                            SRP_SCALAR(temperature),
                            SRP_SCALAR(scale),
                            SRP_SCALAR(softcap),
                            SRP_OUTPUT(state, SRP_F64, times(a.N, plus(a.K, 4))),
                        }),
                 offsetof(Args, N));
}

Op merge() {
  using Args = srp_logprob_merge_args;
  return SRP_OP(logprob_merge, {
                                   SRP_INPUT(states, SRP_F64, times(a.P, times(a.N, plus(a.K, 4)))),
                                   SRP_SCALAR(P),
                                   SRP_SCALAR(N),
                                   SRP_SCALAR(K),
                                   SRP_SCALAR(temperature),
                                   SRP_SCALAR(scale),
                                   SRP_SCALAR(softcap),
                                   SRP_OUTPUT(logprob, SRP_F32, times(a.N, a.K)),
                                   SRP_OUTPUT(entropy, SRP_F32, a.N),
                                   SRP_OUTPUT(lse, SRP_F32, a.N),
                                   SRP_OUTPUT(max_logit, SRP_F32, a.N),
                                   SRP_OUTPUT(log1p_sum, SRP_F32, a.N),
                                   SRP_OUTPUT(mean_gap, SRP_F32, a.N),
                                   SRP_OUTPUT(sum_sq, SRP_F32, a.N),
                               });
}

}  // namespace

std::vector<Op> logprob_ops() { return {forward(), backward(), partial(), merge()}; }

}  // namespace srp::binding
