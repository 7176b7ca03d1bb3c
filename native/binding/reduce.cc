// Fields of the reduce ops (contract: surprisal/reduce.h).
#include "field.h"

namespace srp::binding {
namespace {

Op moments() {
  using Args = srp_reduce_moments_args;
  return SRP_OP(reduce_moments, {
                                    SRP_SCALAR(dtype),
                                    SRP_INPUT(values, kOwnDtype, a.n),
                                    SRP_INPUT(mask, SRP_U8, a.n),
                                    SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                    SRP_SCALAR(n),
                                    SRP_SCALAR(B),
                                    SRP_SCALAR(T),
                                    SRP_SCALAR(nan_policy),
                                    SRP_OUTPUT(partials, SRP_F64, times(a.B, SRP_MOMENTS)),
                                });
}

Op merge() {
  using Args = srp_reduce_merge_args;
  return SRP_OP(reduce_merge, {
                                  SRP_INPUT(partials, SRP_F64, times(a.B, SRP_MOMENTS)),
                                  SRP_INPUT(members, SRP_I32, a.B),
                                  SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                  SRP_SCALAR(B),
                                  SRP_SCALAR(G),
                                  SRP_OUTPUT(merged, SRP_F64, times(a.G, SRP_MOMENTS)),
                              });
}

Op whiten() {
  using Args = srp_reduce_whiten_args;
  return SRP_OP(reduce_whiten, {
                                   SRP_SCALAR(dtype),
                                   SRP_INPUT(values, kOwnDtype, a.n),
                                   SRP_INPUT(mask, SRP_U8, a.n),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                   SRP_INPUT(unit, SRP_I32, a.B),
                                   SRP_INPUT(moments, SRP_F64, times(a.units, SRP_MOMENTS)),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(B),
                                   SRP_SCALAR(T),
                                   SRP_SCALAR(units),
                                   SRP_SCALAR(over),
                                   SRP_SCALAR(center),
                                   SRP_SCALAR(scale),
                                   SRP_SCALAR(ddof),
                                   SRP_SCALAR(count_epsilon),
                                   SRP_SCALAR(epsilon),
                                   SRP_SCALAR(variance_epsilon),
                                   SRP_SCALAR(variance_floor),
                                   SRP_SCALAR(keep_mean),
                                   SRP_SCALAR(nan_policy),
                                   SRP_SCALAR(transform_masked),
                                   SRP_IN_PLACE(out, kOwnDtype, a.n, values),
                               });
}

Op affine() {
  using Args = srp_reduce_affine_args;
  return SRP_OP(reduce_affine, {
                                   SRP_SCALAR(dtype),
                                   SRP_INPUT(values, kOwnDtype, a.n),
                                   SRP_INPUT(mask, SRP_U8, a.n),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                   SRP_INPUT(center, SRP_F64, a.B),
                                   SRP_INPUT(scale, SRP_F64, a.B),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(B),
                                   SRP_SCALAR(T),
                                   SRP_SCALAR(transform_masked),
                                   SRP_IN_PLACE(out, kOwnDtype, a.n, values),
                                   SRP_SCALAR(divisor),
                               });
}

Op clamp() {
  using Args = srp_reduce_clamp_args;
  return SRP_OP(reduce_clamp, {
                                  SRP_SCALAR(dtype),
                                  SRP_INPUT(values, kOwnDtype, a.n),
                                  SRP_INPUT(mask, SRP_U8, a.n),
                                  SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                  SRP_SCALAR(n),
                                  SRP_SCALAR(B),
                                  SRP_SCALAR(T),
                                  SRP_SCALAR(low),
                                  SRP_SCALAR(high),
                                  SRP_SCALAR(transform_masked),
                                  SRP_IN_PLACE(out, kOwnDtype, a.n, values),
                                  SRP_OUTPUT(counts, SRP_I32, times(a.B, SRP_CLAMPED_COUNTS)),
                              });
}

Op gamma() {
  using Args = srp_reduce_gamma_args;
  return SRP_OP(reduce_gamma, {
                                  SRP_SCALAR(dtype),
                                  SRP_INPUT(values, kOwnDtype, a.n),
                                  SRP_INPUT(factor, kOwnDtype, a.n),
                                  SRP_INPUT(mask, SRP_U8, a.n),
                                  SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                  SRP_INPUT(sign, kOwnDtype, a.B),
                                  SRP_SCALAR(n),
                                  SRP_SCALAR(B),
                                  SRP_SCALAR(T),
                                  SRP_SCALAR(bound),
                                  SRP_SCALAR(shape_positive),
                                  SRP_SCALAR(rate_positive),
                                  SRP_SCALAR(shape_negative),
                                  SRP_SCALAR(rate_negative),
                                  SRP_OUTPUT(weights, kOwnDtype, a.B),
                                  SRP_OUTPUT(log_weights, kOwnDtype, a.B),
                                  SRP_SCALAR(all_factors),
                              });
}

Op counts() {
  using Args = srp_reduce_counts_args;
  return SRP_OP(reduce_counts, {
                                   SRP_INPUT(mask, SRP_U8, a.n),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(B),
                                   SRP_SCALAR(T),
                                   SRP_OUTPUT(counts, SRP_F64, a.B),
                               });
}

}  // namespace

std::vector<Op> reduce_ops() { return {moments(), merge(), whiten(), affine(), clamp(), gamma(), counts()}; }

}  // namespace srp::binding
