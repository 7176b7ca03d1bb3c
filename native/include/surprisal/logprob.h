/* Logits to log-probabilities, entropy and back, a row of V logits at a time.
 *
 *   forward   `log_probs` of the targets and `entropies` of the softmax of scaled logits, softcapped or not, over the temperature;
 *             `log_sum_exps`; `sum_squares` of the probabilities; and the state for backward: `max_logits`, `log1p_sums` (what the other
 *             ids add to the maximum in the log-sum-exp), `mean_gaps` (from the mean up to the maximum, >= 0)
 *   backward  `grad_logits` from grad_log_probs and grad_entropies
 *   partial   the sums of one shard of the vocabulary, as a state
 *   merge     the states of all shards, to the outputs of forward
 *   kept      the log-prob of a target over ids that were kept of its row, and its gradient, that of the entropy of all ids in it
 * formulas  docs/ops/logprob.md; z, S', W, p, H below are its symbols
 *
 * The maximum stays out of the sums, so that a nearly deterministic row (S' = 1e-9) keeps its full relative accuracy; the
 * first index of the maximum is the one that is left out. A log-prob is never rebuilt from a rounded log_sum_exps, nor a gradient
 * from a rounded entropy: (max_logits, log1p_sums, mean_gaps) is what backward takes, each exact to its own last bit.
 * max_logits is the raw logit x, exact in float32 for every logits dtype.
 *
 * shapes    logits [N, stride] row-major, of which the first V columns count (a padded vocabulary has stride > V);
 *           targets [N,K]: 0 <= id < V of the whole vocabulary; per-row outputs [N]; grad_logits [N, stride], 0 in the padding
 * scalars   temperature, scale > 0, softcap 0 (none) or > 0, all finite; scale / temperature, and with a softcap
 *           scale / softcap and softcap / temperature, in [1e-30, 1e30]
 * mask      [N] or NULL: a row with mask 0 is not read, nor are its targets; its outputs are 0 and its gradient row exactly 0
 * -inf      a logit of -infinity is a masked id, with a softcap too: contributes nothing, gradient 0. A target there: log-prob
 *           -infinity, gradient by the formula with probability 0 (the slope of z there: scale / temperature, with a softcap 0)
 * no finite logit in a row (all -infinity, or V 0): max_logits -infinity, all other outputs NaN, gradient 0
 * NaN, +inf in a row: all outputs of the row and its gradient NaN (but for the padding)
 * partial   one shard of the vocabulary, columns vocab_start ... vocab_start + V - 1: state [N, 4+K] float64 =
 *           (max_logits, S', W, the sum of squares behind S', raw target logits). A target outside the shard is
 *           +infinity there (unambiguous: a real +infinity makes the row NaN by its maximum). No finite logit: max -infinity.
 *           An ignored row: S' = -1, all else 0
 * merge     states of P shards, [P, N, 4+K], in shard order, to the outputs of forward. A row that any shard ignored is
 *           ignored. A target of another row that no shard has is SRP_OUT_OF_RANGE
 * kept      ids of row n: its target, and ids[offsets[n]] ... ids[offsets[n + 1] - 1], in [0, V), each once, the target listed or not.
 *           forward reads these logits alone; what it says of no finite logit, of NaN and of +infinity is said of them. max_logits and
 *           log1p_sums are theirs: kept_max_logits and kept_log1p_sums of backward, whose max_logits, log1p_sums and mean_gaps are those
 *           of the whole row. Ids that were not kept: the gradient of the entropy, exactly 0 without one. Sums in float64, and the
 *           gradient of kept ids. A kept id twice counts twice in the sums
 * backward of a shard: V and vocab_start of the shard, max_logits, log1p_sums and mean_gaps of the whole row
 * device    a target, a kept id or an offset out of range raises the queue's flag; log-probs of a target out of range are NaN, else what
 *           comes of the row is unspecified
 * precision sums in float32 over 16 terms (CPU) or 32 (CUDA, and CPU with AVX-512), float64 beyond; the CPU level "portable" in float64 throughout.
 *           Entropies within 1e-6 H + 1e-12 and log-probs within 1e-6 |logp| + 1e-12 for H >= 1e-9; where all of it hangs on one competitor
 *           12 to 23 nats below the maximum, 2e-6 on levels without a fused multiply-add, and on the others within 7e-7 of themselves
 *           if float32 holds the difference of the two logits. Gradient within 2e-6 of the row's largest term, that of the
 *           log-probs or that of the entropy, plus 1.2e-38, before its rounding to the logits' dtype; on a CPU with AVX512_BF16 a
 *           gradient of bfloat16 below 2^-126 is 0.
 *           Where that term is beyond the range of float32, elements of the row may be infinite that are not in float64.
 *           Rows with a softcap in float64 throughout, on CPU levels
 * bits      on CUDA a row's sums depend on its logits alone: not on N, on the other rows, on where the row lies or on how many
 *           threads share it
 * scratch   kept, backward: K + N numbers of the logits' dtype (CUDA), the longest list as float64 for each thread (CPU)
 * memory    grad_logits may be the same memory as logits (in place); no other overlap */
#ifndef SURPRISAL_LOGPROB_H
#define SURPRISAL_LOGPROB_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

/* Numbers of a state in front of its target logits: (max_logits, S', W, sum of squares). */
enum { SRP_STATE_SUMS = 4 };

/* S' in the state of an ignored row. */
enum { SRP_STATE_IGNORED = -1 };

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32, SRP_F16 or SRP_BF16: of logits */
  const void* logits;     /* [N, stride] */
  const int32_t* targets; /* [N, K] or NULL with K 0 */
  const uint8_t* mask;    /* [N] or NULL */
  int64_t N;              /* independent rows */
  int64_t V, stride, K;
  double temperature, scale;       /* > 0 */
  double softcap;                  /* > 0, or 0 = none */
  float* log_probs;                /* [N, K] or NULL */
  float *entropies, *log_sum_exps; /* [N] or NULL */
  float *max_logits, *log1p_sums;  /* [N] or NULL */
  float* mean_gaps;                /* [N] or NULL */
  float* sum_squares;              /* [N] or NULL */
} srp_logprob_forward_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                        /* SRP_F32, SRP_F16 or SRP_BF16: of logits and grad_logits */
  const void* logits;                   /* [N, stride] */
  const int32_t* targets;               /* [N, K] or NULL without grad_log_probs; ids of the whole vocabulary */
  const uint8_t* mask;                  /* [N] or NULL */
  const float *max_logits, *log1p_sums; /* [N] */
  const float* mean_gaps;               /* [N] or NULL without grad_entropies */
  const float* grad_log_probs;          /* [N, K] or NULL */
  const float* grad_entropies;          /* [N] or NULL */
  int64_t N;                            /* independent rows */
  int64_t V, stride, K;
  int64_t vocab_start, vocab_size; /* 0 and V for the whole vocabulary */
  double temperature, scale, softcap;
  void* grad_logits; /* [N, stride], may be the memory of logits */
} srp_logprob_backward_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32, SRP_F16 or SRP_BF16: of logits */
  const void* logits;     /* [N, stride] of this shard */
  const int32_t* targets; /* [N, K] or NULL with K 0; ids of the whole vocabulary */
  const uint8_t* mask;    /* [N] or NULL */
  int64_t N;              /* independent rows */
  int64_t V, stride, K;
  int64_t vocab_start, vocab_size;
  double temperature, scale, softcap;
  double* states; /* [N, SRP_STATE_SUMS + K] */
} srp_logprob_partial_args;

typedef struct {
  uint32_t size;
  const double* states; /* [P, N, SRP_STATE_SUMS + K] */
  int64_t P, N, K;
  double temperature, scale, softcap;
  float* log_probs;                /* [N, K] or NULL */
  float *entropies, *log_sum_exps; /* [N] or NULL */
  float *max_logits, *log1p_sums;  /* [N] or NULL */
  float* mean_gaps;                /* [N] or NULL */
  float* sum_squares;              /* [N] or NULL */
} srp_logprob_merge_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32, SRP_F16 or SRP_BF16: of logits */
  const void* logits;     /* [N, stride] */
  const int32_t* targets; /* [N] */
  const int32_t* ids;     /* [K] */
  const int32_t* offsets; /* [N + 1] */
  const uint8_t* mask;    /* [N] or NULL */
  int64_t N, V, stride, K;
  double temperature, scale, softcap;
  float* log_probs;               /* [N] or NULL */
  float *max_logits, *log1p_sums; /* [N] or NULL */
} srp_logprob_kept_forward_args;

typedef struct {
  uint32_t size;
  int32_t dtype;                                  /* SRP_F32, SRP_F16 or SRP_BF16: of logits and grad_logits */
  const void* logits;                             /* [N, stride] */
  const int32_t* targets;                         /* [N] */
  const int32_t* ids;                             /* [K] */
  const int32_t* offsets;                         /* [N + 1] */
  const uint8_t* mask;                            /* [N] or NULL */
  const float *kept_max_logits, *kept_log1p_sums; /* [N] */
  const float *max_logits, *log1p_sums;           /* [N] or NULL without grad_entropies */
  const float* mean_gaps;                         /* [N] or NULL without grad_entropies */
  const float* grad_log_probs;                    /* [N] */
  const float* grad_entropies;                    /* [N] or NULL */
  int64_t N, V, stride, K;
  double temperature, scale, softcap;
  void* grad_logits; /* [N, stride], may be the memory of logits */
} srp_logprob_kept_backward_args;

#endif
