// Fields of the group ops (contract: surprisal/group.h).
#include "field.h"

namespace srp::binding {
namespace {

Op normalize() {
  using Args = srp_group_normalize_args;
  return SRP_OP(group_normalize, {
                                     SRP_SCALAR(dtype),
                                     SRP_INPUT(values, kOwnDtype, a.n),
                                     SRP_INPUT(members, SRP_I32, a.n),
                                     SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                     SRP_SCALAR(n),
                                     SRP_SCALAR(G),
                                     SRP_SCALAR(ddof),
                                     SRP_SCALAR(epsilon),
                                     SRP_SCALAR(variance_floor),
                                     SRP_SCALAR(center),
                                     SRP_SCALAR(scale),
                                     SRP_SCALAR(singleton),
                                     SRP_SCALAR(nan_policy),
                                     SRP_OUTPUT(normalized, kOwnDtype, a.n),
                                     SRP_OUTPUT(mean, kOwnDtype, a.G),
                                     SRP_OUTPUT(std, kOwnDtype, a.G),
                                     SRP_OUTPUT(count, SRP_I32, a.G),
                                 });
}

Op softmax() {
  using Args = srp_group_softmax_args;
  return SRP_OP(group_softmax, {
                                   SRP_SCALAR(dtype),
                                   SRP_INPUT(values, kOwnDtype, a.n),
                                   SRP_INPUT(members, SRP_I32, a.n),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(G),
                                   SRP_SCALAR(temperature),
                                   SRP_OUTPUT(weights, kOwnDtype, a.n),
                               });
}

Op top2() {
  using Args = srp_group_top2_args;
  return SRP_OP(group_top2, {
                                SRP_SCALAR(dtype),
                                SRP_INPUT(values, kOwnDtype, a.n),
                                SRP_INPUT(members, SRP_I32, a.n),
                                SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                SRP_SCALAR(n),
                                SRP_SCALAR(G),
                                SRP_OUTPUT(best, SRP_I32, a.G),
                                SRP_OUTPUT(second, SRP_I32, a.G),
                                SRP_OUTPUT(best_value, kOwnDtype, a.G),
                                SRP_OUTPUT(second_value, kOwnDtype, a.G),
                            });
}

Op broadcast() {
  using Args = srp_group_broadcast_args;
  return SRP_OP(group_broadcast, {
                                     SRP_SCALAR(dtype),
                                     SRP_INPUT(row, kOwnDtype, a.B),
                                     SRP_INPUT(factor, kOwnDtype, a.B),
                                     SRP_INPUT(mask, SRP_U8, a.n),
                                     SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                     SRP_SCALAR(n),
                                     SRP_SCALAR(B),
                                     SRP_SCALAR(T),
                                     SRP_OUTPUT(out, kOwnDtype, a.n),
                                 });
}

}  // namespace

std::vector<Op> group_ops() { return {normalize(), softmax(), top2(), broadcast()}; }

}  // namespace srp::binding
