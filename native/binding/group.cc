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
                                     SRP_INPUT(weights, kOwnDtype, a.n),
                                     SRP_SCALAR(gain),
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
                                   SRP_OUTPUT(lse, kOwnDtype, a.G),
                                   SRP_OUTPUT(soft_mean, kOwnDtype, a.G),
                                   SRP_SCALAR(floor),
                               });
}

Op tilt() {
  using Args = srp_group_tilt_args;
  return SRP_OP(group_tilt, {
                                SRP_SCALAR(dtype),
                                SRP_INPUT(values, kOwnDtype, a.n),
                                SRP_INPUT(log_factors, kOwnDtype, a.n),
                                SRP_INPUT(counts, kOwnDtype, a.n),
                                SRP_INPUT(members, SRP_I32, a.n),
                                SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                SRP_SCALAR(n),
                                SRP_SCALAR(G),
                                SRP_SCALAR(temperature),
                                SRP_SCALAR(coefficient),
                                SRP_SCALAR(least),
                                SRP_OUTPUT(weights, kOwnDtype, a.n),
                            });
}

Op entropy() {
  using Args = srp_group_entropy_args;
  return SRP_OP(group_entropy, {
                                   SRP_SCALAR(dtype),
                                   SRP_INPUT(values, kOwnDtype, a.n),
                                   SRP_INPUT(members, SRP_I32, a.n),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(G),
                                   SRP_SCALAR(normalized),
                                   SRP_SCALAR(least),
                                   SRP_OUTPUT(entropy, kOwnDtype, a.G),
                                   SRP_OUTPUT(evenness, kOwnDtype, a.G),
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

Op columns() {
  using Args = srp_group_columns_args;
  return SRP_OP(group_columns, {
                                   SRP_SCALAR(dtype),
                                   SRP_INPUT(values, kOwnDtype, a.n),
                                   SRP_INPUT(weights, kOwnDtype, a.n),
                                   SRP_INPUT(mask, SRP_U8, a.n),
                                   SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                   SRP_INPUT(members, SRP_I32, a.B),
                                   SRP_INPUT(group_offsets, SRP_I32, plus(a.G, 1)),
                                   SRP_SCALAR(n),
                                   SRP_SCALAR(B),
                                   SRP_SCALAR(T),
                                   SRP_SCALAR(G),
                                   SRP_SCALAR(epsilon),
                                   SRP_SCALAR(zero_tail),
                                   SRP_OUTPUT(baselines, kOwnDtype, a.n),
                                   SRP_OUTPUT(centred, kOwnDtype, a.n),
                               });
}

Op weigh() {
  using Args = srp_group_weigh_args;
  return SRP_OP(group_weigh, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(values, kOwnDtype, a.n),
                                 SRP_INPUT(members, SRP_I32, a.n),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.G, 1)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(G),
                                 SRP_SCALAR(form),
                                 SRP_SCALAR(power),
                                 SRP_SCALAR(at_max),
                                 SRP_SCALAR(at_min),
                                 SRP_SCALAR(between),
                                 SRP_SCALAR(floor),
                                 SRP_OUTPUT(weights, kOwnDtype, a.n),
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

Op place() {
  using Args = srp_group_place_args;
  return SRP_OP(group_place, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(row, kOwnDtype, a.B),
                                 SRP_INPUT(tokens, kOwnDtype, a.n),
                                 SRP_INPUT(values, kOwnDtype, a.n),
                                 SRP_INPUT(mask, SRP_U8, a.n),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(B),
                                 SRP_SCALAR(T),
                                 SRP_SCALAR(scale),
                                 SRP_SCALAR(low),
                                 SRP_SCALAR(high),
                                 SRP_SCALAR(transform_masked),
                                 SRP_OUTPUT(out, kOwnDtype, a.n),
                             });
}

}  // namespace

std::vector<Op> group_ops() {
  return {normalize(), softmax(), top2(), broadcast(), place(), columns(), weigh(), tilt(), entropy()};
}

}  // namespace srp::binding
