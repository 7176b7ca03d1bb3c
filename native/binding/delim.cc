// Fields of the delim ops (contract: surprisal/delim.h).
#include "field.h"

namespace srp::binding {
namespace {

Op spans() {
  using Args = srp_delim_spans_args;
  return SRP_OP(delim_spans, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(tokens, kOwnDtype, a.n),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                 SRP_INPUT(lengths, SRP_I32, a.B),
                                 SRP_INPUT(start_ids, SRP_I32, a.start_size),
                                 SRP_INPUT(start_offsets, SRP_I32, plus(a.start_count, 1)),
                                 SRP_INPUT(end_ids, SRP_I32, a.end_size),
                                 SRP_INPUT(end_offsets, SRP_I32, plus(a.end_count, 1)),
                                 SRP_INPUT(head_ids, SRP_I32, a.head_size),
                                 SRP_INPUT(head_offsets, SRP_I32, plus(a.head_count, 1)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(B),
                                 SRP_SCALAR(T),
                                 SRP_SCALAR(start_count),
                                 SRP_SCALAR(end_count),
                                 SRP_SCALAR(head_count),
                                 SRP_SCALAR(start_size),
                                 SRP_SCALAR(end_size),
                                 SRP_SCALAR(head_size),
                                 SRP_SCALAR(capacity),
                                 SRP_SCALAR(overlapping),
                                 SRP_SCALAR(include_end),
                                 SRP_SCALAR(unterminated_keep),
                                 SRP_SCALAR(starts_open),
                                 SRP_OUTPUT(spans, SRP_I32, times(a.capacity, 3)),
                                 SRP_OUTPUT(which, SRP_I32, times(a.capacity, 2)),
                                 SRP_OUTPUT(count, SRP_I64, 1),
                             });
}

Op means() {
  using Args = srp_delim_means_args;
  return SRP_OP(delim_means, {
                                 SRP_SCALAR(dtype),
                                 SRP_INPUT(values, kOwnDtype, a.n),
                                 SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                 SRP_INPUT(spans, SRP_I32, times(a.S, 3)),
                                 SRP_SCALAR(n),
                                 SRP_SCALAR(B),
                                 SRP_SCALAR(T),
                                 SRP_SCALAR(S),
                                 SRP_OUTPUT(means, SRP_F64, a.S),
                                 SRP_INPUT(found, SRP_I64, 1),
                             });
}

Op mask() {
  using Args = srp_delim_mask_args;
  return SRP_OP(delim_mask, {
                                SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                SRP_INPUT(spans, SRP_I32, times(a.S, 3)),
                                SRP_SCALAR(n),
                                SRP_SCALAR(B),
                                SRP_SCALAR(T),
                                SRP_SCALAR(S),
                                SRP_OUTPUT(mask, SRP_U8, a.n),
                                SRP_INPUT(found, SRP_I64, 1),
                            });
}

Op ngrams() {
  using Args = srp_delim_ngrams_args;
  return SRP_OP(delim_ngrams, {
                                  SRP_INPUT(tokens, SRP_I32, a.n),
                                  SRP_INPUT(mask, SRP_U8, a.n),
                                  SRP_INPUT(offsets, SRP_I32, plus(a.B, 1)),
                                  SRP_SCALAR(n),
                                  SRP_SCALAR(B),
                                  SRP_SCALAR(T),
                                  SRP_SCALAR(length),
                                  SRP_OUTPUT(counts, SRP_I32, times(a.B, 2)),
                              });
}

}  // namespace

std::vector<Op> delim_ops() { return {spans(), means(), mask(), ngrams()}; }

}  // namespace srp::binding
