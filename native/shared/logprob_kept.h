// A row's log-prob over kept ids and the gradient of their logits (surprisal/logprob.h), for every native backend.
#ifndef SURPRISAL_SHARED_LOGPROB_KEPT_H
#define SURPRISAL_SHARED_LOGPROB_KEPT_H

#include "shared/linear.h"

namespace srp {

// The log-prob of a row whose kept logits have these sums; the row's own state beside it.
SRP_HD void store_kept(const srp_logprob_kept_forward_args& a, int64_t n, const RowResult& row, double logprob) {
  put_if(a.log_probs, n, logprob);
  put_if(a.max_logits, n, row.max_logit);
  put_if(a.log1p_sums, n, row.log1p_sum);
}

// The gradient of a row at its kept ids: that of the log-prob over these, and that of the entropy over all.
struct KeptGradient {
  RowGradient over_kept, over_all;

  static SRP_HD KeptGradient of(const srp_logprob_kept_backward_args& a, int64_t n) {
    const RowGradient over_kept = {a.kept_max_logits[n], a.kept_log1p_sums[n], 0, a.grad_log_probs[n], 0, a.targets[n]};
    if (!a.grad_entropies) return {over_kept, {-INFINITY, 0, 0, 0, 0, -1}};
    return {over_kept, {a.max_logits[n], a.log1p_sums[n], a.mean_gaps[n], 0, a.grad_entropies[n], -1}};
  }

  SRP_HD double at(const LogitMap& map, double x, int64_t id) const {
    return over_kept.at(map, x, id) + over_all.at(map, x, id);
  }
};

template <class Args>
srp_status check_kept(const Args* a) {
  SRP_TRY(check_logits(a));
  SRP_TRY(check_pointer("targets", a->targets, a->N));
  SRP_TRY(check_pointer("ids", a->ids, a->K));
  return check_pointer("offsets", a->offsets, a->N + 1);
}

inline srp_status check(const srp_logprob_kept_forward_args* a) { return check_kept(a); }

inline srp_status check(const srp_logprob_kept_backward_args* a) {
  SRP_TRY(check_kept(a));
  SRP_TRY(check_pointer("kept_max_logits", a->kept_max_logits, a->N));
  SRP_TRY(check_pointer("kept_log1p_sums", a->kept_log1p_sums, a->N));
  SRP_TRY(check_pointer("grad_log_probs", a->grad_log_probs, a->N));
  SRP_TRY(check_pointer("max_logits", a->max_logits, a->grad_entropies ? a->N : 0));
  SRP_TRY(check_pointer("log1p_sums", a->log1p_sums, a->grad_entropies ? a->N : 0));
  SRP_TRY(check_pointer("mean_gaps", a->mean_gaps, a->grad_entropies ? a->N : 0));
  return check_pointer("grad_logits", a->grad_logits, a->stride == 0 ? 0 : a->N);
}

}  // namespace srp

#endif
