// What a level of the CPU backend computes by itself: rows and streams. The ops around them (checks, threads, what a row's
// sums come to) are written once, in native/cpu/<family>.cpp.
#ifndef SURPRISAL_CPU_KERNELS_H
#define SURPRISAL_CPU_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "surprisal/correction.h"
#include "surprisal/divergence_terms.h"
#include "surprisal/group.h"
#include "surprisal/linear_rows.h"
#include "surprisal/logprob_rows.h"
#include "surprisal/loss_steps.h"
#include "surprisal/number.h"
#include "surprisal/ratio_terms.h"
#include "surprisal/reduce_steps.h"
#include "surprisal/rows.h"
#include "surprisal/scan.h"
#include "surprisal/select_covariance.h"

namespace srp::cpu {

// dL/dx of the columns that are no target: p_j (-sum - entropy_grad (z_j - M + mean_gap)) slope
struct LogprobGradient {
  float max_logit;
  double log1p_sum;
  LogitMap map;
  double sum;  // of the gradients to the row's log-probs
  double mean_gap, entropy_grad;
};

template <class T>
struct LogprobKernels {
  // False: not a row for this kernel (NaN, an infinity); the caller sums it one by one. The first two without a softcap, the
  // third with one.
  bool (*sums)(const T* x, int64_t V, double slope, RowSums* out);
  bool (*sums_and_squares)(const T* x, int64_t V, double slope, RowSums* out);
  bool (*capped_sums)(const T* x, int64_t V, const LogitMap& map, RowSums* out);
  void (*gradient)(const T* x, T* grad, int64_t V, const LogprobGradient&, bool past_cache);
};

// The rows of scan_gae; of scan_returns with value NULL and lambda 1. Not with transform_masked.
template <class F>
struct ScanRows {
  const F *reward, *value;  // value NULL = 0
  const F* discount;  // or NULL
  const uint8_t* mask;  // or NULL
  const F* bootstrap;  // or NULL
  const int32_t* offsets;  // or NULL
  int64_t n, T;
  F *advantages, *returns;  // either may be NULL
  double gamma, lambda;
  int32_t mask_mode;
};

// out = (x - center) scale / divisor at the kept positions of one row, 0 under the mask.
template <class F>
struct RowMap {
  const F* values;
  const uint8_t* mask;  // or NULL
  F* out;
  double center, scale, divisor;
  double back;  // added where it whitens
  bool whitens;  // x == center gives 0 + back, whatever divides
  bool abstain;  // NaN gives 0
};

template <class F>
struct RowClamp {
  const F* values;
  const uint8_t* mask;  // or NULL
  F* out;  // or NULL: counts alone
  double low, high;
};

// out = values scale + bonus, less `shift` where the mask keeps it; positions under the mask are mapped all the same.
template <class F>
struct SpanMap {
  const F* values;
  const uint8_t* mask;  // or NULL: kept everywhere
  F* out;  // may be values
  double scale, bonus, shift;
};

struct ClampCounts {
  int32_t kept, outside;
};

// Of one row, or of kChunk positions of it.
template <class F>
struct ReduceKernels {
  // False: not for this kernel (NaN or an infinity among what is kept).
  bool (*moments)(const F* values, const uint8_t* mask, bool abstain, int64_t begin, int64_t end, Moments* out);
  void (*map)(const RowMap<F>&, int64_t begin, int64_t end, bool past_cache);
  ClampCounts (*clamp)(const RowClamp<F>&, int64_t begin, int64_t end, bool past_cache);
  LogSum (*sum)(const F* values, const uint8_t* mask, int64_t begin, int64_t end);
};

// How many candidates lie above a range, in it, and are NaN.
struct Listed {
  int64_t above, listed, nans;
};
constexpr uint8_t kListed = 2;  // the flag of a candidate in the range; 1 is above it

// What the lanes of select_covariance hold of one row: [0] of advantages, [1] of log-probs.
struct PairLanes {
  double sum[2][kSumLanes], low[2][kSumLanes], high[2][kSumLanes];
  int64_t count[kSumLanes];
};

// One row of select_covariance; advantage NULL: all are `constant`.
template <class F>
struct PairRow {
  const F *advantage, *current;
  const uint8_t *mask, *excluded;  // or NULL
  double constant;
};

template <class F>
struct PairKernels {
  void (*sums)(const PairRow<F>&, int64_t begin, int64_t end, PairLanes* empty);
  // selected = candidate and low < covariance < high; answers how many.
  int64_t (*between)(const PairRow<F>&, const PairMeans&, double low, double high, int64_t begin, int64_t end,
                     uint8_t* selected);
};

// c[m, n] += sum over k of a[m, k] b[k, n], for m < rows and n < columns, upwards from what c holds.
struct Product {
  const double* a;  // a[m, k] = a[m a_row + k a_column]
  int64_t a_row, a_column;
  const double* b;  // [depth, columns]
  double* c;  // c[m, n] = c[m c_step + n]
  int64_t c_step;
  int64_t rows, depth, columns;  // columns: 1 ... kPanelVectors times the lanes
};
constexpr int64_t kPanelVectors = 3;

// What a linear head is made of (linear.h), on logits [ids, rows of the batch], `step` apart.
struct HeadKernels {
  int64_t lanes;  // rows are padded to a multiple of this
  void (*product)(const Product&);
  // Adds the logits of `ids` ids to the sums of `count` rows.
  void (*sums)(const LogitMap&, const double* x, int64_t step, int64_t ids, int64_t count, RowSums* rows);
  // Logits to gradients, in place, as if none were a target; reads and writes rows to a multiple of `lanes`.
  void (*gradients)(const LogitMap&, double* x, int64_t step, int64_t ids, int64_t count, const RowGradient* rows);
  // `count` numbers as float64, while as many from `next` on, an address that is never read, come nearer.
  void (*widen_f32)(const float* x, const float* next, int64_t count, double* wide);
  void (*widen_f64)(const double* x, const double* next, int64_t count, double* wide);
  void (*widen_f16)(const Half* x, const Half* next, int64_t count, double* wide);
  void (*widen_bf16)(const BFloat16* x, const BFloat16* next, int64_t count, double* wide);
};

// Log ratios of tokens.
template <class F>
struct LogTokens {
  const F *current, *old;
  const uint8_t* mask;  // or NULL
  F *log_ratio, *ratio;  // either may be NULL
};

// One row of ratio_clip at token level.
template <class F>
struct ClipTokens {
  const F *current, *old;
  const uint8_t* mask;  // or NULL
  const F* advantage;  // per token, or NULL = row_advantage
  double row_advantage, weight;
  LossParameters parameters;
  F *ratio, *clipped_ratio, *term, *grad;  // each may be NULL
  uint8_t* clipped;  // or NULL
};

// One row of loss_token.
template <class F>
struct LossTokens {
  const F *current, *old, *reference;  // the latter two or NULL
  const F *advantage, *factor;  // per token, or NULL = row_advantage, row_factor
  const uint8_t *mask, *term_mask, *marks;  // or NULL
  double row_advantage, row_factor;
  double policy, kl_scale;  // what the row's sums count for in the total
  double log_clamp;  // of figures
  int32_t form;
  bool kl_ratio;
  LossParameters parameters;
  KlParameters kl_parameters;
  F *loss, *ratio, *kl, *grad;  // each may be NULL
  uint8_t* clipped;  // or NULL
  double* figures;  // [SRP_LOSS_FIGURES], all but the total; or NULL
};

// One row of loss_row.
template <class F>
struct LossRow {
  LossTokens<F> tokens;  // form: an srp_row_form. old and factor NULL where they are the row's, ratio NULL
  bool old_per_row;
  bool sums_up;  // whether all figures are wanted; the row's loss and KL term are always
  RowForm form;  // once the sums are known
};

template <class F>
struct LossRowKernels {
  LossSums (*sums)(const LossRow<F>&, int64_t begin, int64_t end);
  // What tokens cost, and the gradient of forms where each token has its own (NULL elsewhere). Figures: all but the total, the tokens
  // and terms, which the sums count; of the row's ratio the sum of the terms' weights. Answers the sum of the slopes.
  double (*values)(const LossRow<F>&, int64_t begin, int64_t end);
  // Gradients of tokens with a KL term in forms that send one through the row.
  void (*gradients)(const LossRow<F>&, int64_t begin, int64_t end, double through);
};

// Tokens of one row of correction_measure or correction_bound.
template <class F>
struct MismatchRow {
  const F *current, *old;
  const uint8_t* mask;  // or NULL
  int32_t statistic;
  double log_clamp, low, high;
};

struct MismatchChunk {
  Moments x, bounded;
  double difference;
  int32_t above, below;
};

template <class F>
struct BoundRow {
  MismatchRow<F> row;
  double factor, masked;
  bool clamps;  // what is outside, to the bound; else to 0
  F* weights;  // or NULL
  uint8_t* kept;  // or NULL; may be the mask
};

template <class F>
struct CorrectionKernels {
  // Of at most kChunk tokens. False: not for this kernel (NaN or an infinity in a sum).
  bool (*measure)(const MismatchRow<F>&, int64_t begin, int64_t end, MismatchChunk* out);
  int32_t (*bound)(const BoundRow<F>&, int64_t begin, int64_t end, bool past_cache);  // how many are kept
};

// ln P = (x - max) / temperature - log_sum
struct DivergenceSide {
  double max, temperature, log_sum;
};

// Two rows of logits of finite numbers and -infinity, over the whole vocabulary.
template <class T>
struct DivergenceRow {
  const T *student, *teacher;
  int64_t V;
  DivergenceSide student_side, teacher_side;
  double beta;
};

template <class T>
struct DivergenceKernels {
  // Of any row; one with NaN or +infinity has it as its maximum, and no sum.
  void (*softmax)(const T* x, int64_t V, double temperature, Softmax* out);
  // The divergence and the sum of h.
  void (*sums)(const DivergenceRow<T>&, double* value, double* slope);
  // grad = factor (h - S slope), of finite sums; `grad` may be the student.
  void (*gradient)(const DivergenceRow<T>&, double factor, double slope, T* grad);
  // Where to go on looking in [from, to) for a logit above `value`, which is one of the type: none lies before that. NaN is
  // above nothing.
  int64_t (*above)(const T* x, int64_t from, int64_t to, double value);
};

constexpr int64_t kMostFound = 4;
constexpr int64_t kStrange = -1;
constexpr int64_t kMostLaneItems = 128;  // of a group that shares a register with others

struct Kernels {
  const char* name;
  LogprobKernels<float> logprob_f32;
  LogprobKernels<Half> logprob_f16;
  LogprobKernels<BFloat16> logprob_bf16;
  void (*scan_f32)(const ScanRows<float>&, int64_t begin, int64_t end, bool past_cache);
  void (*scan_f64)(const ScanRows<double>&, int64_t begin, int64_t end, bool past_cache);
  // The first position in [from, to) that holds one of `count` values, 1 ... kMostFound; `to` where none does. kStrange
  // where one of the tokens seen on the way is no int32.
  int64_t (*find_i32)(const int32_t* ids, int64_t from, int64_t to, const int32_t* values, int64_t count);
  int64_t (*find_i64)(const int64_t* ids, int64_t from, int64_t to, const int32_t* values, int64_t count);

  // Groups of 2 ... kMostLaneItems items, next to each other, without weights; see simd/group.h. Half of `lanes` at once, and
  // the answer is where it stopped.
  int64_t lanes;
  int64_t (*normalize_f32)(const srp_group_normalize_args&, int64_t begin, int64_t end);
  int64_t (*normalize_f64)(const srp_group_normalize_args&, int64_t begin, int64_t end);
  LogSum (*differences_f32)(const float* current, const float* old, const uint8_t* mask, int64_t begin, int64_t end);
  LogSum (*differences_f64)(const double* current, const double* old, const uint8_t* mask, int64_t begin, int64_t end);
  void (*spread_f32)(float* out, const uint8_t* mask, int64_t begin, int64_t end, double value);
  void (*spread_f64)(double* out, const uint8_t* mask, int64_t begin, int64_t end, double value);
  ReduceKernels<float> reduce_f32;
  ReduceKernels<double> reduce_f64;
  void (*modulate_f32)(const SpanMap<float>&, int64_t begin, int64_t end);
  void (*modulate_f64)(const SpanMap<double>&, int64_t begin, int64_t end);
  Listed (*list_f32)(const float* values, const uint8_t* mask, int64_t begin, int64_t end, float low, float high,
                     uint8_t* flags);
  Listed (*list_f64)(const double* values, const uint8_t* mask, int64_t begin, int64_t end, double low, double high,
                     uint8_t* flags);
  PairKernels<float> pairs_f32;
  PairKernels<double> pairs_f64;
  int64_t (*count_bytes)(const uint8_t* mask, int64_t begin, int64_t end);  // those that are not 0

  HeadKernels head;
  void (*log_tokens_f32)(const LogTokens<float>&, int64_t begin, int64_t end, bool past_cache);
  void (*log_tokens_f64)(const LogTokens<double>&, int64_t begin, int64_t end, bool past_cache);
  RowFigures (*clip_tokens_f32)(const ClipTokens<float>&, int64_t begin, int64_t end, bool past_cache);
  RowFigures (*clip_tokens_f64)(const ClipTokens<double>&, int64_t begin, int64_t end, bool past_cache);
  double (*exponential)(double x);  // the bits that a token's ratio has
  void (*loss_tokens_f32)(const LossTokens<float>&, int64_t begin, int64_t end);
  void (*loss_tokens_f64)(const LossTokens<double>&, int64_t begin, int64_t end);
  DivergenceKernels<float> divergence_f32;
  DivergenceKernels<double> divergence_f64;
  DivergenceKernels<Half> divergence_f16;
  DivergenceKernels<BFloat16> divergence_bf16;
  CorrectionKernels<float> correction_f32;
  CorrectionKernels<double> correction_f64;
  LossRowKernels<float> loss_row_f32;
  LossRowKernels<double> loss_row_f64;

  const LogprobKernels<float>& logprob(const float*) const { return logprob_f32; }
  const LogprobKernels<Half>& logprob(const Half*) const { return logprob_f16; }
  const LogprobKernels<BFloat16>& logprob(const BFloat16*) const { return logprob_bf16; }
  void scan(const ScanRows<float>& rows, int64_t begin, int64_t end, bool past_cache) const {
    scan_f32(rows, begin, end, past_cache);
  }
  void scan(const ScanRows<double>& rows, int64_t begin, int64_t end, bool past_cache) const {
    scan_f64(rows, begin, end, past_cache);
  }
  int64_t find(const int32_t* ids, int64_t from, int64_t to, const int32_t* values, int64_t count) const {
    return find_i32(ids, from, to, values, count);
  }
  int64_t find(const int64_t* ids, int64_t from, int64_t to, const int32_t* values, int64_t count) const {
    return find_i64(ids, from, to, values, count);
  }
  int64_t normalize(float, const srp_group_normalize_args& a, int64_t begin, int64_t end) const {
    return normalize_f32(a, begin, end);
  }
  int64_t normalize(double, const srp_group_normalize_args& a, int64_t begin, int64_t end) const {
    return normalize_f64(a, begin, end);
  }
  const ReduceKernels<float>& reduce(float) const { return reduce_f32; }
  const ReduceKernels<double>& reduce(double) const { return reduce_f64; }
  const PairKernels<float>& pairs(float) const { return pairs_f32; }
  const PairKernels<double>& pairs(double) const { return pairs_f64; }
  auto modulate(float) const { return modulate_f32; }
  auto modulate(double) const { return modulate_f64; }
  Listed list(const float* values, const uint8_t* mask, int64_t begin, int64_t end, float low, float high,
              uint8_t* flags) const {
    return list_f32(values, mask, begin, end, low, high, flags);
  }
  Listed list(const double* values, const uint8_t* mask, int64_t begin, int64_t end, double low, double high,
              uint8_t* flags) const {
    return list_f64(values, mask, begin, end, low, high, flags);
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
  void log_tokens(const LogTokens<float>& row, Range at, bool past_cache) const {
    log_tokens_f32(row, at.begin, at.end, past_cache);
  }
  void log_tokens(const LogTokens<double>& row, Range at, bool past_cache) const {
    log_tokens_f64(row, at.begin, at.end, past_cache);
  }
  RowFigures clip_tokens(const ClipTokens<float>& row, Range at, bool past_cache) const {
    return clip_tokens_f32(row, at.begin, at.end, past_cache);
  }
  RowFigures clip_tokens(const ClipTokens<double>& row, Range at, bool past_cache) const {
    return clip_tokens_f64(row, at.begin, at.end, past_cache);
  }
  const DivergenceKernels<float>& divergence(const float*) const { return divergence_f32; }
  const DivergenceKernels<double>& divergence(const double*) const { return divergence_f64; }
  const DivergenceKernels<Half>& divergence(const Half*) const { return divergence_f16; }
  const DivergenceKernels<BFloat16>& divergence(const BFloat16*) const { return divergence_bf16; }
  const CorrectionKernels<float>& correction(float) const { return correction_f32; }
  const CorrectionKernels<double>& correction(double) const { return correction_f64; }
  void loss_tokens(const LossTokens<float>& row, Range at) const { loss_tokens_f32(row, at.begin, at.end); }
  void loss_tokens(const LossTokens<double>& row, Range at) const { loss_tokens_f64(row, at.begin, at.end); }
  const LossRowKernels<float>& loss_row(float) const { return loss_row_f32; }
  const LossRowKernels<double>& loss_row(double) const { return loss_row_f64; }
};

}  // namespace srp::cpu

#endif
