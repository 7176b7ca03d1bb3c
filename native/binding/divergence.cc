// Fields of the divergence ops (contract: surprisal/divergence.h).
#include "field.h"

namespace srp::binding {
namespace {

Op rows() {
  using Args = srp_divergence_rows_args;
  return by_rows(SRP_OP(divergence_rows,
                        {
                            SRP_SCALAR(dtype),
                            SRP_INPUT(student, kOwnDtype, times(a.N, a.student_stride)),
                            SRP_INPUT(teacher, kOwnDtype, times(a.N, a.teacher_stride)),
                            SRP_INPUT(keep, SRP_U8, a.N),
                            SRP_INPUT(weight, SRP_F64, a.N),
                            SRP_INPUT(support, SRP_I32, times(a.N, a.K)),
                            SRP_SCALAR(N),
                            SRP_SCALAR(V),
                            SRP_SCALAR(student_stride),
                            SRP_SCALAR(teacher_stride),
                            SRP_SCALAR(K),
                            SRP_SCALAR(beta),
                            SRP_SCALAR(temperature),
                            SRP_SCALAR(outside),
                            SRP_SCALAR(tail_floor),
                            SRP_OUTPUT(divergence, SRP_F64, a.N),
                            SRP_IN_PLACE(grad, kOwnDtype, times(a.N, a.student_stride), student),
                        }),
                 offsetof(Args, N));
}

Op top() {
  using Args = srp_divergence_top_args;
  return by_rows(SRP_OP(divergence_top,
                        {
                            SRP_SCALAR(dtype),
                            SRP_INPUT(logits, kOwnDtype, times(a.N, a.stride)),
                            SRP_INPUT(keep, SRP_U8, a.N),
                            SRP_SCALAR(N),
                            SRP_SCALAR(V),
                            SRP_SCALAR(stride),
                            SRP_SCALAR(K),
                            SRP_OUTPUT(ids, SRP_I32, times(a.N, a.K)),
                        }),
                 offsetof(Args, N));
}

}  // namespace

std::vector<Op> divergence_ops() { return {rows(), top()}; }

}  // namespace srp::binding
