// The launchers of the CUDA backend, one declaration an op. Each checks, launches on the queue's stream and returns.
#pragma once

#include "surprisal/backend.h"

namespace srp::cuda {

srp_status logprob_forward(srp_queue*, const srp_logprob_forward_args*);
srp_status logprob_backward(srp_queue*, const srp_logprob_backward_args*);
srp_status logprob_partial(srp_queue*, const srp_logprob_partial_args*);
srp_status logprob_merge(srp_queue*, const srp_logprob_merge_args*);
srp_status delim_spans(srp_queue*, const srp_delim_spans_args*);
srp_status delim_means(srp_queue*, const srp_delim_means_args*);
srp_status delim_mask(srp_queue*, const srp_delim_mask_args*);
srp_status group_normalize(srp_queue*, const srp_group_normalize_args*);
srp_status group_softmax(srp_queue*, const srp_group_softmax_args*);
srp_status group_top2(srp_queue*, const srp_group_top2_args*);
srp_status group_broadcast(srp_queue*, const srp_group_broadcast_args*);
srp_status scan_gae(srp_queue*, const srp_scan_gae_args*);
srp_status scan_returns(srp_queue*, const srp_scan_returns_args*);
srp_status scan_vtrace(srp_queue*, const srp_scan_vtrace_args*);
srp_status ratio_log(srp_queue*, const srp_ratio_log_args*);
srp_status ratio_clip(srp_queue*, const srp_ratio_clip_args*);
srp_status modulate_steps(srp_queue*, const srp_modulate_steps_args*);
srp_status modulate_spans(srp_queue*, const srp_modulate_spans_args*);
srp_status modulate_rows(srp_queue*, const srp_modulate_rows_args*);

}  // namespace srp::cuda
