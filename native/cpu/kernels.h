// What a level of the CPU backend computes by itself: rows and streams. The ops around them (checks, threads, what a row's
// sums come to) are written once, in native/cpu/<family>.cpp.
#ifndef SURPRISAL_CPU_KERNELS_H
#define SURPRISAL_CPU_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "surprisal/group.h"
#include "surprisal/logprob_rows.h"
#include "surprisal/number.h"
#include "surprisal/ratio_terms.h"
#include "surprisal/rows.h"
#include "surprisal/scan.h"

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

// One row of scan_gae; of scan_returns with value NULL and lambda 1. Not with transform_masked.
template <class F>
struct ScanRow {
  const F *reward, *value;  // value NULL = 0
  const F* discount;  // or NULL
  const uint8_t* mask;  // or NULL
  F *advantages, *returns;  // either may be NULL
  double gamma, lambda, bootstrap;
  int32_t mask_mode;
};

constexpr int64_t kMostFound = 4;
constexpr int64_t kMostLaneItems = 128;  // of a group that shares a register with others

struct Kernels {
  const char* name;
  LogprobKernels<float> logprob_f32;
  LogprobKernels<Half> logprob_f16;
  LogprobKernels<BFloat16> logprob_bf16;
  void (*scan_f32)(const ScanRow<float>&, int64_t begin, int64_t end, bool past_cache);
  void (*scan_f64)(const ScanRow<double>&, int64_t begin, int64_t end, bool past_cache);
  // The first position in [from, to) that holds one of `count` values, 1 ... kMostFound; `to` where none does.
  int64_t (*find_any)(const int32_t* ids, int64_t from, int64_t to, const int32_t* values, int64_t count);

  // Groups of one size, next to each other, without weights; see simd/group.h. `lanes` of them at once.
  int64_t lanes;
  bool (*normalize_f32)(const srp_group_normalize_args&, int64_t first_group, int64_t first, int64_t size);
  bool (*normalize_f64)(const srp_group_normalize_args&, int64_t first_group, int64_t first, int64_t size);
  LogSum (*differences_f32)(const float* current, const float* old, const uint8_t* mask, int64_t begin, int64_t end);
  LogSum (*differences_f64)(const double* current, const double* old, const uint8_t* mask, int64_t begin, int64_t end);
  void (*spread_f32)(float* out, const uint8_t* mask, int64_t begin, int64_t end, double value);
  void (*spread_f64)(double* out, const uint8_t* mask, int64_t begin, int64_t end, double value);

  const LogprobKernels<float>& logprob(const float*) const { return logprob_f32; }
  const LogprobKernels<Half>& logprob(const Half*) const { return logprob_f16; }
  const LogprobKernels<BFloat16>& logprob(const BFloat16*) const { return logprob_bf16; }
  void scan(const ScanRow<float>& row, Range at, bool past_cache) const { scan_f32(row, at.begin, at.end, past_cache); }
  void scan(const ScanRow<double>& row, Range at, bool past_cache) const {
    scan_f64(row, at.begin, at.end, past_cache);
  }
  bool normalize(float, const srp_group_normalize_args& a, int64_t group, int64_t first, int64_t size) const {
    return normalize_f32(a, group, first, size);
  }
  bool normalize(double, const srp_group_normalize_args& a, int64_t group, int64_t first, int64_t size) const {
    return normalize_f64(a, group, first, size);
  }
  LogSum differences(const float* current, const float* old, const uint8_t* mask, Range at) const {
    return differences_f32(current, old, mask, at.begin, at.end);
  }
  LogSum differences(const double* current, const double* old, const uint8_t* mask, Range at) const {
    return differences_f64(current, old, mask, at.begin, at.end);
  }
  void spread(float* out, const uint8_t* mask, Range at, double value) const {
    spread_f32(out, mask, at.begin, at.end, value);
  }
  void spread(double* out, const uint8_t* mask, Range at, double value) const {
    spread_f64(out, mask, at.begin, at.end, value);
  }
};

}  // namespace srp::cpu

#endif
