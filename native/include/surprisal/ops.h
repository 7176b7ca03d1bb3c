/* Generated from native/include/surprisal by scripts/contracts.mjs: `npm run contracts` renews it. */
/* clang-format off */
#ifndef SURPRISAL_OPS_H
#define SURPRISAL_OPS_H

#include "surprisal/correction.h"
#include "surprisal/delim.h"
#include "surprisal/divergence.h"
#include "surprisal/group.h"
#include "surprisal/linear.h"
#include "surprisal/logprob.h"
#include "surprisal/loss.h"
#include "surprisal/modulate.h"
#include "surprisal/ratio.h"
#include "surprisal/reduce.h"
#include "surprisal/scan.h"
#include "surprisal/select.h"

/* A hash of these headers. */
#define SRP_ABI 0x7fd88cbcu

/* The ops, in the order of the table. */
#define SRP_FOR_EACH_OP(X) \
  X(correction_measure) \
  X(correction_bound) \
  X(delim_spans) \
  X(delim_means) \
  X(delim_mask) \
  X(delim_ngrams) \
  X(divergence_rows) \
  X(divergence_top) \
  X(group_normalize) \
  X(group_softmax) \
  X(group_tilt) \
  X(group_entropy) \
  X(group_top2) \
  X(group_columns) \
  X(group_weigh) \
  X(group_broadcast) \
  X(group_place) \
  X(linear_forward) \
  X(linear_backward) \
  X(logprob_forward) \
  X(logprob_backward) \
  X(logprob_partial) \
  X(logprob_merge) \
  X(logprob_kept_forward) \
  X(logprob_kept_backward) \
  X(loss_token) \
  X(loss_row) \
  X(loss_logits) \
  X(modulate_steps) \
  X(modulate_spans) \
  X(modulate_rows) \
  X(ratio_log) \
  X(reduce_moments) \
  X(reduce_merge) \
  X(reduce_whiten) \
  X(reduce_affine) \
  X(reduce_clamp) \
  X(reduce_gamma) \
  X(reduce_counts) \
  X(scan_gae) \
  X(scan_returns) \
  X(scan_vtrace) \
  X(scan_tail) \
  X(scan_prefix) \
  X(scan_shares) \
  X(select_quantile) \
  X(select_top) \
  X(select_covariance)

#endif
