// Fields of the select ops (contract: surprisal/select.h).
#include "field.h"

namespace srp::binding {
namespace {

template <class Args>
int64_t units(const Args& a) {
  return a.over == SRP_OVER_ALL ? 1 : a.B;
}

Op quantile() {
  using Args = srp_select_quantile_args;
  return SRP_OP(select_quantile, {
                                     SRP_SCALAR(dtype),
                                     SRP_INPUT(values, kOwnDtype, a.n),
                                     SRP_INPUT(mask, SRP_U8, a.n),
                                     SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                     SRP_SCALAR(n),
                                     SRP_SCALAR(B),
                                     SRP_SCALAR(T),
                                     SRP_SCALAR(over),
                                     SRP_SCALAR(q),
                                     SRP_OUTPUT(threshold, SRP_F64, units(a)),
                                     SRP_OUTPUT(selected, SRP_U8, a.n),
                                 });
}

Op top() {
  using Args = srp_select_top_args;
  return SRP_OP(select_top, {
                                SRP_SCALAR(dtype),
                                SRP_INPUT(values, kOwnDtype, a.n),
                                SRP_INPUT(mask, SRP_U8, a.n),
                                SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                SRP_SCALAR(n),
                                SRP_SCALAR(B),
                                SRP_SCALAR(T),
                                SRP_SCALAR(over),
                                SRP_SCALAR(share),
                                SRP_SCALAR(k),
                                SRP_SCALAR(least),
                                SRP_OUTPUT(selected, SRP_U8, a.n),
                                SRP_OUTPUT(count, SRP_I32, units(a)),
                            });
}

Op covariance() {
  using Args = srp_select_covariance_args;
  return SRP_OP(select_covariance, {
                                       SRP_SCALAR(dtype),
                                       SRP_INPUT(advantage, kOwnDtype, a.advantage_per_token ? a.n : a.B),
                                       SRP_INPUT(current, kOwnDtype, a.n),
                                       SRP_INPUT(mask, SRP_U8, a.n),
                                       SRP_INPUT(excluded, SRP_U8, a.n),
                                       SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                       SRP_SCALAR(n),
                                       SRP_SCALAR(B),
                                       SRP_SCALAR(T),
                                       SRP_SCALAR(advantage_per_token),
                                       SRP_SCALAR(mode),
                                       SRP_SCALAR(count_epsilon),
                                       SRP_SCALAR(low),
                                       SRP_SCALAR(high),
                                       SRP_SCALAR(share),
                                       SRP_SCALAR(k),
                                       SRP_SCALAR(least),
                                       SRP_IN_PLACE(selected, SRP_U8, a.n, excluded),
                                       SRP_OUTPUT(count, SRP_I32, 1),
                                   });
}

}  // namespace

std::vector<Op> select_ops() { return {quantile(), top(), covariance()}; }

}  // namespace srp::binding
