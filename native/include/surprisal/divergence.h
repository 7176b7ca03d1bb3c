/* Divergence between a teacher's and a student's distribution over the vocabulary, a row of V logits at a time, and its
 * gradient to the student's logits.
 *
 *   rows      `divergences` of a row by beta: 0 the KL divergence of the teacher from the student (forward), 1 that of the student from the
 *             teacher (reverse), between them the generalized Jensen-Shannon divergence, about a mixture of both; `grad_student`: its
 *             gradient to the student's logits, times grad_divergences
 *   top       `ids` of the K largest logits of a row
 * formulas  docs/ops/divergence.md; S and T below are the two distributions
 *
 * support   K ids a row; the outcomes are these and
 *             SRP_OUTSIDE_DROPPED  nothing else: both distributions are renormalised over the support; grad 0 outside
 *             SRP_OUTSIDE_POOLED   one more, the pool of all other ids, of which tail_floor keeps some probability. Ids of the pool
 *                                  get their shares of its gradient. A student's pool at the floor is a constant: the
 *                                  derivative through it is 0
 * top       the ids of the K largest logits of a row, ascending; of equal logits the smaller ids. A NaN in a row that is read is SRP_NOT_FINITE, unless K is 0
 * shapes    logits row-major of which the first V columns count (a padded vocabulary has stride > V); per-row arrays [N];
 *           grad_student [N, student_stride], 0 in the padding
 * scalars   beta in [0, 1]; temperature in [1e-30, 1e30]; tail_floor in [1e-12, 0.5], read with a pool
 * mask      [N] or NULL: a row with mask 0 is not read, nor are its grad_divergences and support; its outputs are 0
 * grad_divergences  [N] or NULL = 1: dL/dD. One of 0 gives a gradient row of exactly 0
 * -inf      a logit of -infinity is a masked id, of probability 0: 0 ln 0 = 0. Masked on both sides it adds nothing. On one side
 *           the mixture stays finite; a KL divergence is +infinity where its second argument alone lacks the id. The forward one
 *           keeps its gradient; the reverse one has none: NaN where S > 0, else 0
 * no finite logit on either side (or V 0, or none in a renormalised support): divergence NaN, gradient 0
 * NaN, +inf among the logits that are read: divergence and gradient NaN (but for the padding)
 * equal     student == teacher gives exactly 0, and a gradient of exactly 0 unless the pool is at its floor
 * device    a support id out of range raises the queue's flag; divergence NaN, the gradient of its row unspecified.
 *           Ids of a row are distinct; with a repeated one the results of the row are unspecified
 * precision float64 throughout; every summed term is made >= 0, so that nearly equal rows keep relative
 *           accuracy, but for KL of the whole vocabulary on a device, which is never below 0 and no more than within the following. The
 *           divergence D is within 1e-12 D + 1e-14 without a pool. The probability of a pool is known to 1e-15, so that one
 *           of 1e-7 is known to 1e-8 of itself: with one of 1e-4 or more D is within 1e-11. Gradient within 1e-12
 *           grad_divergences / temperature, with such a pool 1e-11, before its rounding to the logits' dtype
 * memory    grad_student may be the same memory as student without a support (in place); no other overlap */
#ifndef SURPRISAL_DIVERGENCE_H
#define SURPRISAL_DIVERGENCE_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

typedef enum { SRP_OUTSIDE_DROPPED = 0, SRP_OUTSIDE_POOLED = 1 } srp_outside;

typedef struct {
  uint32_t size;
  int32_t dtype;                  /* SRP_F32, SRP_F16, SRP_BF16 or SRP_F64: of student, teacher and grad_student */
  const void* student;            /* [N, student_stride] */
  const void* teacher;            /* [N, teacher_stride] */
  const uint8_t* mask;            /* [N] or NULL */
  const double* grad_divergences; /* [N] or NULL = 1; read with grad_student */
  const int32_t* support;         /* [N, K] or NULL = the whole vocabulary, with K 0 */
  int64_t N;                      /* independent rows */
  int64_t V, student_stride, teacher_stride, K;
  double beta, temperature;
  int32_t outside; /* srp_outside; 0 without a support */
  double tail_floor;
  double* divergences; /* [N] or NULL */
  void* grad_student;  /* [N, student_stride] or NULL, not both. Without a support it may be the memory of student */
} srp_divergence_rows_args;

typedef struct {
  uint32_t size;
  int32_t dtype;        /* SRP_F32, SRP_F16, SRP_BF16 or SRP_F64: of logits */
  const void* logits;   /* [N, stride] */
  const uint8_t* mask;  /* [N] or NULL: ids of a row with mask 0 are 0 */
  int64_t N;            /* independent rows */
  int64_t V, stride, K; /* K <= V */
  int32_t* ids;         /* [N, K] */
} srp_divergence_top_args;

#endif
