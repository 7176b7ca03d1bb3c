// What a level of the CPU backend computes by itself: rows and streams. The ops around them (checks, threads, what a row's
// sums come to) are written once, in native/cpu/<family>.cpp.
#ifndef SURPRISAL_CPU_KERNELS_H
#define SURPRISAL_CPU_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "surprisal/logprob_rows.h"
#include "surprisal/number.h"

namespace srp::cpu {

// dL/dx of the columns that are no target: p_j (-sum - entropy_grad (z_j - M + mean_gap)) slope
struct LogprobGradient {
  float max_logit;
  double log1p_sum;
  double slope;  // dz/dx
  double sum;  // of the gradients to the row's log-probs
  double mean_gap, entropy_grad;
};

template <class T>
struct LogprobKernels {
  // False: not a row for this kernel (NaN, an infinity); the caller sums it one by one. Without a softcap only.
  bool (*sums)(const T* x, int64_t V, double slope, RowSums* out);
  bool (*sums_and_squares)(const T* x, int64_t V, double slope, RowSums* out);
  void (*gradient)(const T* x, T* grad, int64_t V, const LogprobGradient&, bool past_cache);
};

struct Kernels {
  const char* name;
  LogprobKernels<float> logprob_f32;
  LogprobKernels<Half> logprob_f16;
  LogprobKernels<BFloat16> logprob_bf16;

  const LogprobKernels<float>& logprob(const float*) const { return logprob_f32; }
  const LogprobKernels<Half>& logprob(const Half*) const { return logprob_f16; }
  const LogprobKernels<BFloat16>& logprob(const BFloat16*) const { return logprob_bf16; }
};

}  // namespace srp::cpu

#endif
