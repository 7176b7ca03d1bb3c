// Fields of the modulate ops (contract: surprisal/modulate.h).
#include "field.h"

namespace srp::binding {
namespace {

Op steps() {
  using Args = srp_modulate_steps_args;
  return SRP_OP(modulate_steps, {
                                    SRP_INPUT(entropy, SRP_F64, a.S),
                                    SRP_SCALAR(S),
                                    SRP_SCALAR(k),
                                    SRP_SCALAR(k_f),
                                    SRP_SCALAR(epsilon),
                                    SRP_OUTPUT(entropy_norm, SRP_F64, a.S),
                                    SRP_OUTPUT(scale, SRP_F64, a.S),
                                    SRP_OUTPUT(clarity, SRP_F64, a.S),
                                    SRP_INPUT(found, SRP_I64, 1),
                                    SRP_SCALAR(finite),
                                });
}

Op spans() {
  using Args = srp_modulate_spans_args;
  return SRP_OP(modulate_spans, {
                                    SRP_SCALAR(dtype),
                                    SRP_INPUT(advantages, kOwnDtype, a.n),
                                    SRP_INPUT(mask, SRP_U8, a.n),
                                    SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                    SRP_INPUT(spans, SRP_I32, times(a.S, 3)),
                                    SRP_INPUT(scale, SRP_F64, a.S),
                                    SRP_INPUT(clarity, SRP_F64, a.S),
                                    SRP_SCALAR(n),
                                    SRP_SCALAR(B),
                                    SRP_SCALAR(T),
                                    SRP_SCALAR(S),
                                    SRP_SCALAR(zeta),
                                    SRP_SCALAR(scope),
                                    SRP_IN_PLACE(out, kOwnDtype, a.n, advantages),
                                    SRP_OUTPUT(mean, SRP_F64, 1),
                                    SRP_INPUT(found, SRP_I64, 1),
                                });
}

Op rows() {
  using Args = srp_modulate_rows_args;
  return SRP_OP(modulate_rows, {
                                   SRP_SCALAR(dtype),
                                   SRP_INPUT(entropy, kOwnDtype, a.n),
                                   SRP_INPUT(mask, SRP_U8, a.n),
                                   SRP_INPUT(positive, SRP_U8, a.B),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                   SRP_INPUT(members, SRP_I32, a.B),
                                   SRP_INPUT(group_offsets, SRP_I32, plus(a.G, 1)),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(B),
                                   SRP_SCALAR(T),
                                   SRP_SCALAR(G),
                                   SRP_SCALAR(form),
                                   SRP_SCALAR(negate),
                                   SRP_SCALAR(epsilon),
                                   SRP_SCALAR(beta),
                                   SRP_SCALAR(z_clip),
                                   SRP_SCALAR(variance_floor),
                                   SRP_SCALAR(low_positive),
                                   SRP_SCALAR(high_positive),
                                   SRP_SCALAR(low_negative),
                                   SRP_SCALAR(high_negative),
                                   SRP_SCALAR(empty_isolate),
                                   SRP_SCALAR(nonfinite),
                                   SRP_SCALAR(singleton_one),
                                   SRP_SCALAR(singleton_zero_mean),
                                   SRP_SCALAR(zero_one),
                                   SRP_OUTPUT(sequence_entropy, SRP_F64, a.B),
                                   SRP_OUTPUT(group_mean, SRP_F64, a.B),
                                   SRP_OUTPUT(ratio, SRP_F64, a.B),
                                   SRP_OUTPUT(weight, SRP_F64, a.B),
                                   SRP_OUTPUT(length, SRP_I32, a.B),
                                   SRP_OUTPUT(valid, SRP_U8, a.B),
                               });
}

}  // namespace

std::vector<Op> modulate_ops() { return {steps(), spans(), rows()}; }

}  // namespace srp::binding
