// Fields of the scan ops (contract: surprisal/scan.h).
#include "field.h"

namespace srp::binding {
namespace {

Op gae() {
  using Args = srp_scan_gae_args;
  return SRP_OP(scan_gae, {
                              SRP_SCALAR(dtype),
                              SRP_INPUT(reward, kOwnDtype, a.n),
                              SRP_INPUT(value, kOwnDtype, a.n),
                              SRP_INPUT(discount, kOwnDtype, a.n),
                              SRP_INPUT(mask, SRP_U8, a.n),
                              SRP_INPUT(bootstrap, kOwnDtype, a.B),
                              SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                              SRP_SCALAR(n),
                              SRP_SCALAR(B),
                              SRP_SCALAR(T),
                              SRP_SCALAR(gamma),
                              SRP_SCALAR(lambda),
                              SRP_SCALAR(mask_mode),
                              SRP_OUTPUT(advantages, kOwnDtype, a.n),
                              SRP_OUTPUT(returns, kOwnDtype, a.n),
                              SRP_SCALAR(transform_masked),
                          });
}

Op returns() {
  using Args = srp_scan_returns_args;
  return SRP_OP(scan_returns, {
                                  SRP_SCALAR(dtype),
                                  SRP_INPUT(reward, kOwnDtype, a.n),
                                  SRP_INPUT(discount, kOwnDtype, a.n),
                                  SRP_INPUT(mask, SRP_U8, a.n),
                                  SRP_INPUT(bootstrap, kOwnDtype, a.B),
                                  SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                  SRP_SCALAR(n),
                                  SRP_SCALAR(B),
                                  SRP_SCALAR(T),
                                  SRP_SCALAR(gamma),
                                  SRP_SCALAR(mask_mode),
                                  SRP_OUTPUT(returns, kOwnDtype, a.n),
                                  SRP_SCALAR(transform_masked),
                              });
}

Op vtrace() {
  using Args = srp_scan_vtrace_args;
  return SRP_OP(scan_vtrace, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(reward, kOwnDtype, a.n),
                                 SRP_INPUT(value, kOwnDtype, a.n),
                                 SRP_INPUT(weight, kOwnDtype, a.n),
                                 SRP_INPUT(discount, kOwnDtype, a.n),
                                 SRP_INPUT(mask, SRP_U8, a.n),
                                 SRP_INPUT(bootstrap, kOwnDtype, a.B),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(B),
                                 SRP_SCALAR(T),
                                 SRP_SCALAR(gamma),
                                 SRP_SCALAR(lambda),
                                 SRP_SCALAR(rho_bar),
                                 SRP_SCALAR(c_bar),
                                 SRP_SCALAR(pg_rho_bar),
                                 SRP_SCALAR(mask_mode),
                                 SRP_OUTPUT(targets, kOwnDtype, a.n),
                                 SRP_OUTPUT(advantages, kOwnDtype, a.n),
                                 SRP_SCALAR(delta),
                                 SRP_OUTPUT(accumulated, kOwnDtype, a.n),
                             });
}

Op tail() {
  using Args = srp_scan_tail_args;
  return SRP_OP(scan_tail, {
                               SRP_SCALAR(dtype),
                               SRP_INPUT(values, kOwnDtype, a.n),
                               SRP_INPUT(mask, SRP_U8, a.n),
                               SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                               SRP_SCALAR(n),
                               SRP_SCALAR(B),
                               SRP_SCALAR(T),
                               SRP_SCALAR(gamma),
                               SRP_SCALAR(mask_mode),
                               SRP_SCALAR(normalize),
                               SRP_SCALAR(masked_weight),
                               SRP_OUTPUT(tails, kOwnDtype, a.n),
                           });
}

Op prefix() {
  using Args = srp_scan_prefix_args;
  return SRP_OP(scan_prefix, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(values, kOwnDtype, a.n),
                                 SRP_INPUT(log_prob, kOwnDtype, a.n),
                                 SRP_INPUT(sum_squares, kOwnDtype, a.n),
                                 SRP_INPUT(weight, kOwnDtype, a.n),
                                 SRP_INPUT(mask, SRP_U8, a.n),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(B),
                                 SRP_SCALAR(T),
                                 SRP_SCALAR(exclusive),
                                 SRP_OUTPUT(terms, kOwnDtype, a.n),
                                 SRP_OUTPUT(sums, kOwnDtype, a.n),
                             });
}

Op shares() {
  using Args = srp_scan_shares_args;
  return SRP_OP(scan_shares, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(values, kOwnDtype, a.n),
                                 SRP_INPUT(mask, SRP_U8, a.n),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(B),
                                 SRP_SCALAR(T),
                                 SRP_SCALAR(gain),
                                 SRP_SCALAR(epsilon),
                                 SRP_OUTPUT(weights, kOwnDtype, a.n),
                                 SRP_OUTPUT(products, kOwnDtype, a.n),
                             });
}

}  // namespace

std::vector<Op> scan_ops() { return {gae(), returns(), vtrace(), tail(), prefix(), shares()}; }

}  // namespace srp::binding
