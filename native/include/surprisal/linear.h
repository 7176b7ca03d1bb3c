/* A linear head and the log-probs of its logits in one, forward and backward: the logits are never in memory as a whole.
 *
 *   forward   `log_probs`, `entropies`, `log_sum_exps`, `sum_squares`, `max_logits`, `log1p_sums`, `mean_gaps` of a row: as logprob.h
 *             has them, from the logits x = hidden times weight (+ bias)
 *   backward  `grad_hidden`, `grad_weight`, `grad_bias` from grad_log_probs and grad_entropies
 * formulas  docs/ops/linear.md; x below are the logits, g their gradient, p their probabilities
 *
 * shapes    hidden [N,D], weight [padded,D] and bias [padded] of which the first V rows count (padded >= V), all row-major
 *           and of one dtype; targets [N], 0 <= id < V; per-row results [N]; gradients as what they belong to
 * dtypes    hidden, weight, bias: float32, float16, bfloat16 or float64. "Wide" is float64 where they are, else float32:
 *           log_probs, entropies, log_sum_exps, sum_squares, their gradients, grad_weight and grad_bias are wide, the last two because
 *           micro-batches add up in them, and a half type drops what is 2^-8 of the sum. grad_hidden has hidden's dtype.
 *           max_logits, log1p_sums and mean_gaps are float64: backward forms p from them, and x is not a float32 number
 * scalars   as logprob.h
 * mask      [N] or NULL: a row with mask 0 is not read, nor are its target, its state and its gradients; its results are 0,
 *           its grad_hidden exactly 0, and it adds nothing to grad_weight and grad_bias
 * accumulate 1: the sums are added to what grad_weight and grad_bias hold (in float64, rounded once). 0: they replace it, and
 *           rows V ... padded - 1 become 0 (with 1 they stay)
 * shard     backward of ids vocab_start ... vocab_start + V - 1 alone: targets are ids of the whole vocabulary of vocab_size, and
 *           max_logits, log1p_sums and mean_gaps those of whole rows. grad_hidden is then the part of these ids
 * chunk_rows  rows in work at a time, rounded up to the backend's tile, no more than 2^20; 0 = the backend's own number. Changes
 *           memory and speed, no bit. On tensor cores: tiles of 128 rows, of 192 on cards of compute capability 9.0 where D is a
 *           multiple of 8 and hidden and weight are aligned to 16 bytes; backward always 2048
 * edges     rows of logits with -infinity (a bias of -infinity masks an id), without a finite logit, with NaN or +infinity:
 *           as logprob.h. A weight or a kept hidden that is not finite makes NaN of the gradients that it would multiply.
 *           N 0: nothing but grad_weight and grad_bias is written. V 0: no finite logit. D 0: x = bias
 * NULL      bias, targets (log_probs then NULL too), mask, any result; in backward either of grad_log_probs (then targets) and
 *           grad_entropies (then mean_gaps), and any gradient that is not wanted: a frozen head wants grad_hidden alone
 * device    a target out of range raises the queue's flag; its log-prob is NaN, the gradients unspecified
 * sums      SRP_SUMS_FLOAT32: products of float32 and of half types are formed and added in float32, as `precision` says. CPU with
 *           SRP_SUMS_FLOAT64, and the level "portable" always: in float64 throughout, one rounding. A device refuses
 *           SRP_SUMS_FLOAT64 but of float64. SRP_SUMS_BFLOAT16X3: as SRP_SUMS_FLOAT32, but on tensor cores float32 numbers are the sums
 *           of two bfloat16 numbers each. Backward takes what forward took: p comes from its state
 * order     sums run over dimensions, over ids and over kept rows upwards, whatever chunk_rows, with no atomics: the same bits in
 *           every run, and those of a row depend on that row alone, not on threads or on how many rows there are.
 *           On tensor cores ids of a strip of 1024 in two parts: every second 64 of them, then the parts; gradients in slabs of 2048
 *           ids and of 2048 rows, parts of 128 terms of a slab, then slabs
 * precision float64: sums in float64. Others, CPU: 32 products are added in float32, four of these sums in float32, and what
 *           that makes with compensation (Kahan; sum and remainder together are a float64 number). CUDA: in float32 over 32 terms,
 *           float64 beyond. So x is within 2.3e-6 (CUDA: 2e-6) of sum |hidden weight|, a gradient within 3e-6 of the sum of its terms'
 *           absolute values, each before its rounding, beside what the error of x does to p. Of bfloat16 on a CPU with AVX512_BF16 two
 *           products of x are added at a time, the second one first, each rounded once; numbers and sums below 2^-126 are 0
 *           there. g is a float32 number in these
 *           products, on the CPU 0 where it is below 2^-100; a gradient beyond the range of float32 is infinite or NaN. An x beyond that
 *           range is formed in float64 (CPU). Of float16 and bfloat16 on tensor
 *           cores (compute capability 8.0 and newer) x is a float32 number: 16 products at a time are added in the card's own
 *           way, which loses 2^-21 of their absolute values at most, 256 into a float32, and those in float32. So x is within
 *           min(D, 256) 3e-8 + D 2.4e-10 of sum |hidden weight|, 8.7e-6 where D is 4096; exponentials are within 3e-7 and added
 *           in float32 over 32 ids. g is formed in float32 there, but for a row's target within 1e-6 of its terms, and goes into
 *           products as the sum of two bfloat16 numbers, which are within 2^-18 of it (and within 2^-134); 128 terms are added in the
 *           card's own way, up to 16 such sums in float32, slabs in float64. So a gradient is within 1.4e-5 of the sum of its terms'
 *           absolute values, before its rounding, beside what the error of x does to p: a g in one half type would be within 2e-3.
 *           With SRP_SUMS_BFLOAT16X3 so are float32 numbers, as the sum of two bfloat16 numbers, which are within 2^-18 of them (and
 *           within 2^-134; of numbers beyond 3.38e38 NaN). Of the four products of two such sums x leaves the smallest out, and is within
 *           1.2e-5 + min(D, 256) 3e-8 + D 7.2e-10 of sum |hidden weight|, 2.3e-5 where D is 4096; a gradient is within 2e-5
 * memory    bytes beside the arguments, of float32 hidden (float64: g twice that), R = chunk_rows rounded up, or N where less:
 *             CPU   a thread, beside 2^18: forward R D 4 + R 1072, grad_hidden R D 12 + R 2112, grad_weight and grad_bias D 3072 +
 *                   2^19 more (default: 288); with sums in float64 R D 8, R D 16 and D 4096 (default: 264). 128 ids of a
 *                   chunk's logits at a time
 *             CUDA  forward R (S 32 + 8) with S = V / 1024 rounded up; backward R 4096 of g, and of sums max(R, 1024) D 8 with
 *                   grad_hidden, 1024 D 8 without, + 8192 (default: 2048). On tensor cores R 8192 of g (R = 2048), and of sums
 *                   N D 8 with grad_hidden beside another gradient, R D 8 with grad_hidden alone, 2048 D 8 more with
 *                   grad_weight of more than 2048 rows, + 16384; of float16 D 8192 more. With SRP_SUMS_BFLOAT16X3 of float32, D
 *                   rounded up to 8: forward D 6 (R + min(V, P)) with P = 1024 (M / 11 rounded down, at least 1) of M multiprocessors,
 *                   backward D 8192 + D 6 (R + 2048) more, R rounded up to 192
 *           Backward forms the logits again, once for grad_hidden and once for grad_weight and grad_bias together; on tensor cores
 *           once for all. No output may overlap anything */
#ifndef SURPRISAL_LINEAR_H
#define SURPRISAL_LINEAR_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum { SRP_SUMS_FLOAT32 = 0, SRP_SUMS_FLOAT64 = 1, SRP_SUMS_BFLOAT16X3 = 2 } srp_linear_sums;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32, SRP_F16, SRP_BF16 or SRP_F64: of hidden, weight and bias */
  const void* hidden;     /* [N, D] */
  const void* weight;     /* [padded, D] */
  const void* bias;       /* [padded] or NULL */
  const int32_t* targets; /* [N] or NULL without log_probs */
  const uint8_t* mask;    /* [N] or NULL */
  int64_t N, D, V, padded;
  int64_t chunk_rows; /* rows; 0 = the backend's own */
  int32_t sums;       /* srp_linear_sums */
  double temperature, scale, softcap;
  void *log_probs, *entropies;      /* wide [N] or NULL */
  void *log_sum_exps, *sum_squares; /* wide [N] or NULL */
  double *max_logits, *log1p_sums;  /* [N] or NULL */
  double* mean_gaps;                /* [N] or NULL */
} srp_linear_forward_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32, SRP_F16, SRP_BF16 or SRP_F64: of hidden, weight, bias and grad_hidden */
  const void* hidden;     /* [N, D] */
  const void* weight;     /* [padded, D] */
  const void* bias;       /* [padded] or NULL */
  const int32_t* targets; /* [N] or NULL without grad_log_probs; ids of the whole vocabulary */
  const uint8_t* mask;    /* [N] or NULL */
  const double *max_logits, *log1p_sums; /* [N] */
  const double* mean_gaps;               /* [N] or NULL without grad_entropies */
  const void* grad_log_probs;            /* wide [N] or NULL */
  const void* grad_entropies;            /* wide [N] or NULL */
  int64_t N, D, V, padded;
  int64_t chunk_rows;
  int64_t vocab_start, vocab_size; /* 0 and V for the whole vocabulary */
  int32_t sums;                    /* srp_linear_sums, as forward had them */
  double temperature, scale, softcap;
  int32_t accumulate; /* 1: grad_weight and grad_bias are added to */
  void* grad_hidden;  /* [N, D] or NULL */
  void* grad_weight;  /* wide [padded, D] or NULL */
  void* grad_bias;    /* wide [padded] or NULL */
} srp_linear_backward_args;

#endif
