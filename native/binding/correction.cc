// Fields of the correction ops (contract: surprisal/correction.h).
#include "field.h"

namespace srp::binding {
namespace {

Op measure() {
  using Args = srp_correction_measure_args;
  return SRP_OP(correction_measure, {
                                        SRP_SCALAR(dtype),
                                        SRP_INPUT(current, kOwnDtype, a.n),
                                        SRP_INPUT(old, kOwnDtype, a.n),
                                        SRP_INPUT(mask, SRP_U8, a.n),
                                        SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                        SRP_SCALAR(n),
                                        SRP_SCALAR(B),
                                        SRP_SCALAR(T),
                                        SRP_SCALAR(statistic),
                                        SRP_SCALAR(log_clamp),
                                        SRP_SCALAR(low),
                                        SRP_SCALAR(high),
                                        SRP_OUTPUT(moments, SRP_F64, times(a.B, SRP_MOMENTS)),
                                        SRP_OUTPUT(bounded, SRP_F64, times(a.B, SRP_MOMENTS)),
                                        SRP_OUTPUT(differences, SRP_F64, a.B),
                                        SRP_OUTPUT(above, SRP_I32, a.B),
                                        SRP_OUTPUT(below, SRP_I32, a.B),
                                    });
}

Op bound() {
  using Args = srp_correction_bound_args;
  return SRP_OP(correction_bound, {
                                      SRP_SCALAR(dtype),
                                      SRP_INPUT(current, kOwnDtype, a.n),
                                      SRP_INPUT(old, kOwnDtype, a.n),
                                      SRP_INPUT(mask, SRP_U8, a.n),
                                      SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                      SRP_INPUT(row_factor, SRP_F64, a.B),
                                      SRP_SCALAR(n),
                                      SRP_SCALAR(B),
                                      SRP_SCALAR(T),
                                      SRP_SCALAR(statistic),
                                      SRP_SCALAR(outside),
                                      SRP_SCALAR(log_clamp),
                                      SRP_SCALAR(low),
                                      SRP_SCALAR(high),
                                      SRP_SCALAR(masked),
                                      SRP_OUTPUT(weights, kOwnDtype, a.n),
                                      SRP_IN_PLACE(kept, SRP_U8, a.n, mask),
                                      SRP_OUTPUT(kept_count, SRP_I32, a.B),
                                  });
}

}  // namespace

std::vector<Op> correction_ops() { return {measure(), bound()}; }

}  // namespace srp::binding
