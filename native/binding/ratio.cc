// Fields of the ratio ops (contract: surprisal/ratio.h).
#include "field.h"

namespace srp::binding {
namespace {

// Units that have a ratio: tokens, rows or groups.
template <class Args>
int64_t units(const Args& a) {
  return a.level == SRP_LEVEL_TOKEN ? a.n : a.level == SRP_LEVEL_SEQUENCE ? a.B : a.G;
}

// Terms of the objective: one a token, or one a row.
int64_t terms(const srp_ratio_clip_args& a) { return a.level == SRP_LEVEL_TOKEN ? a.n : a.B; }

Op log() {
  using Args = srp_ratio_log_args;
  return SRP_OP(ratio_log, {
                               SRP_SCALAR(dtype),
                               SRP_INPUT(current, kOwnDtype, a.n),
                               SRP_INPUT(old, kOwnDtype, a.n),
                               SRP_INPUT(mask, SRP_U8, a.n),
                               SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                               SRP_INPUT(members, SRP_I32, a.B),
                               SRP_INPUT(group_offsets, SRP_I32, plus(a.G, 1)),
                               SRP_SCALAR(n),
                               SRP_SCALAR(B),
                               SRP_SCALAR(T),
                               SRP_SCALAR(G),
                               SRP_SCALAR(level),
                               SRP_SCALAR(reduce),
                               SRP_OUTPUT(log_ratio, kOwnDtype, units(a)),
                               SRP_OUTPUT(ratio, kOwnDtype, units(a)),
                           });
}

Op clip() {
  using Args = srp_ratio_clip_args;
  return SRP_OP(ratio_clip, {
                                SRP_SCALAR(dtype),
                                SRP_INPUT(current, kOwnDtype, a.n),
                                SRP_INPUT(old, kOwnDtype, a.n),
                                SRP_INPUT(advantage, kOwnDtype, a.advantage_per_token ? a.n : a.B),
                                SRP_INPUT(row_weight, SRP_F64, a.B),
                                SRP_INPUT(mask, SRP_U8, a.n),
                                SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                SRP_INPUT(members, SRP_I32, a.B),
                                SRP_INPUT(group_offsets, SRP_I32, plus(a.G, 1)),
                                SRP_SCALAR(n),
                                SRP_SCALAR(B),
                                SRP_SCALAR(T),
                                SRP_SCALAR(G),
                                SRP_SCALAR(level),
                                SRP_SCALAR(reduce),
                                SRP_SCALAR(advantage_per_token),
                                SRP_SCALAR(form),
                                SRP_SCALAR(clip_low),
                                SRP_SCALAR(clip_high),
                                SRP_SCALAR(dual_clip),
                                SRP_SCALAR(ratio_cap),
                                SRP_SCALAR(log_clamp),
                                SRP_SCALAR(max_log_ratio),
                                SRP_OUTPUT(ratio, kOwnDtype, units(a)),
                                SRP_OUTPUT(clipped_ratio, kOwnDtype, units(a)),
                                SRP_OUTPUT(term, kOwnDtype, terms(a)),
                                SRP_OUTPUT(clipped, SRP_U8, terms(a)),
                                SRP_OUTPUT(grad, kOwnDtype, a.n),
                                SRP_OUTPUT(objective, SRP_F64, a.B),
                                SRP_OUTPUT(ratio_sum, SRP_F64, a.B),
                                SRP_OUTPUT(ratio_max, SRP_F64, a.B),
                                SRP_OUTPUT(terms, SRP_I32, a.B),
                                SRP_OUTPUT(clipped_count, SRP_I32, a.B),
                                SRP_OUTPUT(limited_count, SRP_I32, a.B),
                            });
}

}  // namespace

std::vector<Op> ratio_ops() { return {log(), clip()}; }

}  // namespace srp::binding
