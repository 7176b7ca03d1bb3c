// The kernels that each level of the CPU backend compiles for itself: loops over rows and streams. The code around them (checks,
// threads, results from a row's sums) is written once, in native/cpu/<family>.cpp.
#ifndef SURPRISAL_CPU_KERNELS_H
#define SURPRISAL_CPU_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "column_tile.h"
#include "shared/divergence.h"
#include "shared/linear.h"
#include "shared/logprob.h"
#include "shared/loss_rows.h"
#include "shared/number.h"
#include "shared/ratio.h"
#include "shared/reduce.h"
#include "shared/rows.h"
#include "shared/select.h"
#include "surprisal/correction.h"
#include "surprisal/group.h"
#include "surprisal/scan.h"

namespace srp::cpu {

// A table of kernels for each of these types.
template <template <class> class Table, class... Types>
struct Tables : Table<Types>... {
  template <class T>
  const Table<T>& of() const {
    return *this;
  }
};

// dL/dx of the columns that are no target: p_j (-sum - entropy_grad (z_j - M + mean_gap)) slope. All finite but log1p_sum, which may be
// NaN.
struct LogprobGradient {
  float max_logit;
  double log1p_sum;
  LogitMap map;
  double sum;  // of the gradients to the row's log-probs
  double mean_gap, entropy_grad;
};

template <class T>
struct LogprobKernels {
  // Returns false for a row with NaN or an infinity, which the caller sums one by one. The first two are without a softcap, the
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
  const F* lambdas;  // of each row or token, or NULL = lambda
  bool lambdas_per_token;
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

// The kernels take one row, or kChunk positions of it.
template <class F>
struct ReduceKernels {
  // Returns false, and no moments, if a kept value is NaN or infinite.
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

// What select_covariance holds of one row: [0] of advantages, [1] of log-probs. Sums alone depend on the order of addition.
struct PairLanes {
  double sum[2][kSumLanes];
  double low[2], high[2];
  int64_t count;
};

// One row of select_covariance; advantage NULL: all are `constant`.
template <class F>
struct PairRow {
  const F *advantage, *log_probs;
  const uint8_t *mask, *excluded;  // or NULL
  double constant;
};

template <class F>
struct PairKernels {
  void (*sums)(const PairRow<F>&, int64_t begin, int64_t end, PairLanes* empty);
  // selected = candidate and low < covariance < high; returns how many.
  int64_t (*between)(const PairRow<F>&, const PairMeans&, double low, double high, int64_t begin, int64_t end,
                     uint8_t* selected);
};

// c[m, n] += sum over k of a[m, k] b[k, n], for m < rows and n < columns, upwards from what c holds.
//
// Of double: fused multiply-adds from what c holds. Of float: runs of kRun terms and the sums of kRuns of them in float32, and what that
// makes added with what its rounding loses (Kahan), for which `depth` is a multiple of kRun kRuns or reaches the last k. c then holds, in
// the place of each register's lanes of doubles, these lanes' float32 sums and behind them what the sums lack; HeadKernels::settle
// makes doubles of them. a_row or a_column is 1, and depth a multiple of kSteps.
//
// Of pairs as of float, where a pair adds the product of its second numbers, then that of its first ones, each in one rounding. `depth`
// counts pairs, of which a run has kRun / 2, and a_column is 1. Numbers and sums below 2^-126 are 0.
template <class Operand>
struct Product {
  const Operand* a;  // a[m, k] = a[m a_row + k a_column]
  int64_t a_row, a_column;
  const Operand* b;  // [depth, columns]
  double* c;  // c[m, n] = c[m c_step + n]
  int64_t c_step;
  int64_t rows, depth, columns;  // columns: 1 ... kPanelVectors times the lanes
};
constexpr int64_t kPanelVectors = 3;
constexpr int64_t kRun = 32, kRuns = 4, kSteps = 4;

// Two bfloat16 numbers, neighbours in a row, in the place of a float.
struct BFloat16Pair {
  BFloat16 first, second;
};

template <class T>
struct WideningKernels {
  // `count` numbers as float64, while as many from `next` on, an address that is never read, come nearer.
  void (*widen)(const T* x, const T* next, int64_t count, double* wide);
  void (*as_floats)(const T* x, const T* next, int64_t count, float* to);  // the same as float32; NULL of float64

  void convert(const T* x, const T* next, int64_t count, double* to) const { widen(x, next, count, to); }
  void convert(const T* x, const T* next, int64_t count, float* to) const { as_floats(x, next, count, to); }
};

// The kernels of a linear head (linear.h), on logits [ids, rows of the batch] whose rows are `step` apart.
struct HeadKernels {
  int64_t lanes;  // rows are padded to a multiple of this
  void (*product)(const Product<double>&);
  // Adds the logits of `ids` ids to the sums of `count` rows.
  void (*sums)(const LogitMap&, const double* x, int64_t step, int64_t ids, int64_t count, RowSums* rows);
  // Logits to gradients, in place, as if none were a target; reads and writes rows to a multiple of `lanes`.
  void (*gradients)(const LogitMap&, double* x, int64_t step, int64_t ids, int64_t count, const RowGradient* rows);
  Tables<WideningKernels, float, double, Half, BFloat16> widening;
  int64_t float_lanes;  // rows where products are of floats; 0 where they never are, and what follows is NULL
  void (*float_product)(const Product<float>&);
  void (*interleave)(const void* x, int64_t width, int64_t depth,
                     void* to);  // [width, depth] of floats or pairs to [depth, width], by fours
  bool (*settle)(double* sums,
                 int64_t count);  // in place; returns whether all are finite. `count`: a multiple of float_lanes
  // As float32, of which those below kSmallest are 0. `count`: a multiple of float_lanes.
  void (*narrow)(const double* x, int64_t count, float* to);
  void (*pair_product)(const Product<BFloat16Pair>&);  // NULL where the processor has no such instruction
};
constexpr double kSmallest =
    0x1p-100;  // of a gradient: products with it are no denormal numbers, which take a hundred times as long

// Log ratios of tokens.
template <class F>
struct LogTokens {
  const F *log_probs, *old_log_probs;
  const uint8_t* mask;  // or NULL
  F *log_ratio, *ratio;  // either may be NULL
};

// One row of loss_token.
template <class F>
struct LossTokens {
  const F *log_probs, *old_log_probs, *reference;  // the latter two or NULL
  const F *advantage, *factor;  // per token, or NULL = row_advantage, row_factor
  const uint8_t *mask, *term_mask, *marks;  // or NULL
  const F *clip_low, *clip_high, *ratio_cap;  // per token, or NULL = that of `parameters`
  bool bounds;  // one of these is given
  double row_advantage, row_factor;
  double policy, kl_scale;  // weights of the row's sums in the total
  int32_t form;
  bool all_figures;  // or SRP_LOSS_SUMS
  LossParameters parameters;
  srp_kl_parameters kl;
  F *loss, *ratio, *kl_values, *grad;  // each may be NULL
  uint8_t* clipped;  // or NULL
  double* figures;  // [SRP_LOSS_FIGURES], of which the total is left out; or NULL
};

// One row of loss_row.
template <class F>
struct LossRow {
  LossTokens<F> tokens;  // form: an srp_row_form. old_log_probs and factor NULL where they are the row's, ratio NULL
  bool old_log_probs_per_row;
  RowForm form;  // once the sums are known
};

template <class F>
struct LossRowKernels {
  LossSums (*sums)(const LossRow<F>&, int64_t begin, int64_t end);
  // What tokens cost, and the gradient of forms where each token has its own (NULL elsewhere). Figures: all but the total, the tokens
  // and terms, which the sums count; of the row's ratio the sum of the terms' weights. Returns the sum of the slopes.
  double (*values)(const LossRow<F>&, int64_t begin, int64_t end);
  // Gradients of tokens with a KL term, in forms whose gradient goes through the row.
  void (*gradients)(const LossRow<F>&, int64_t begin, int64_t end, double through);
};

// Tokens of one row of correction_measure or correction_bound.
template <class F>
struct MismatchRow {
  const F *log_probs, *old_log_probs;
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
  // Takes at most kChunk tokens. Returns false, and no sums, if a sum is NaN or infinite.
  bool (*measure)(const MismatchRow<F>&, int64_t begin, int64_t end, MismatchChunk* out);
  int32_t (*bound)(const BoundRow<F>&, int64_t begin, int64_t end);  // how many are kept
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

// The maxima of both rows or numbers a little below them, their sums of exp((x - max) / temperature), and that of the teacher's times
// how far its exponent is above the student's.
struct KlSums {
  double student_max, teacher_max, student, teacher, apart;
};

template <class T>
struct DivergenceKernels {
  // Takes any row; a NaN or +infinity in it becomes its maximum, and the row then has no sum.
  void (*softmax)(const T* x, int64_t V, double temperature, Softmax* out);
  // Of KL(teacher || student). Reads neither a maximum nor a log_sum of the row. Returns false where a row has no finite logit, or a NaN
  // or +infinity, where an id has a probability of the teacher alone, and where exponents are beyond float64.
  bool (*kl)(const DivergenceRow<T>&, KlSums* out);
  // grad = student_factor exp of the student's exponent - teacher_factor exp of the teacher's; `grad` may be the student.
  void (*forward_gradient)(const DivergenceRow<T>&, double student_factor, double teacher_factor, T* grad);
  // grad = factor exp of the student's exponent times how far it is above the teacher's, less `apart`; `grad` may be the student.
  void (*reverse_gradient)(const DivergenceRow<T>&, double factor, double apart, T* grad);
  // The divergence and the sum of h.
  void (*sums)(const DivergenceRow<T>&, double* value, double* slope);
  // grad = factor (h - S slope), of finite sums; `grad` may be the student.
  void (*gradient)(const DivergenceRow<T>&, double factor, double slope, T* grad);
  // The place in [from, to) from which to search on for a logit above `value`, a number of that type: none lies before it. NaN is
  // above nothing.
  int64_t (*above)(const T* x, int64_t from, int64_t to, double value);
};

constexpr int64_t kMostFound = 4;
constexpr int64_t kStrange = -1;
// Item k of a group is added to sum k modulo kGroupSums; these are added by halves.
constexpr int64_t kGroupSums = 16;
constexpr int64_t kMostSharedItems = 1024;  // of a group whose statistics share a register with others'
// Whether deviations of such a group are measured from its first number, which saves a walk for the mean. Far from the others it costs the
// variance 10 bits of 53 at most, the logarithm of the size: float32 shows none of them.
template <class F>
constexpr bool kFromFirst = sizeof(F) == 4;

// One group's sum and extremes, its deviations from a pivot, and what becomes of its items (shared/group.h). Not of NaN.
struct OneGroup {
  double sum, low, high;
};
struct OneSpread {
  double sum, squares;
};
struct OneLine {
  double shift, residue, slope, factor, gain;
};
template <class F>
struct OneGroupKernels {
  OneGroup (*describe)(const F* items, int64_t count);
  OneSpread (*spread)(const F* items, int64_t count, double pivot);
  void (*write)(const F* items, int64_t count, const OneLine&, F* out);
};

template <class Id>
struct TokenKernels {
  // The first position in [from, to) that holds one of `count` values, 1 ... kMostFound; `to` where none does. kStrange
  // where one of the tokens seen on the way is no int32.
  int64_t (*find)(const Id* ids, int64_t from, int64_t to, const int32_t* values, int64_t count);
};

// Kernels that exist for float32 and float64.
template <class F>
struct FloatKernels {
  void (*scan)(const ScanRows<F>&, int64_t begin, int64_t end, bool past_cache);
  // Groups of 2 ... kMostSharedItems items, next to each other, without weights; see simd/group.h. Half of `lanes` at once. Returns
  // the group at which it stopped.
  int64_t (*normalize)(const srp_group_normalize_args&, int64_t begin, int64_t end);
  OneGroupKernels<F> one_group;
  ColumnKernels<F> columns;
  LogSum (*differences)(const F* log_probs, const F* old_log_probs, const uint8_t* mask, int64_t begin, int64_t end);
  void (*spread)(F* out, const uint8_t* mask, int64_t begin, int64_t end, double value, bool past_cache);
  ReduceKernels<F> reduce;
  void (*modulate)(const SpanMap<F>&, int64_t begin, int64_t end);
  Listed (*list)(const F* values, const uint8_t* mask, int64_t begin, int64_t end, F low, F high, uint8_t* flags);
  PairKernels<F> pairs;
  double (*exponential)(double x);  // exp with the bits that a token's ratio has
  void (*log_tokens)(const LogTokens<F>&, int64_t begin, int64_t end, bool past_cache);
  void (*loss_tokens)(const LossTokens<F>&, int64_t begin, int64_t end);
  LossRowKernels<F> loss_row;
  CorrectionKernels<F> correction;
};

struct Kernels {
  const char* name;
  int64_t lanes;
  Tables<FloatKernels, float, double> floats;
  Tables<LogprobKernels, float, Half, BFloat16> logprob;
  Tables<DivergenceKernels, float, double, Half, BFloat16> divergence;
  Tables<TokenKernels, int32_t, int64_t> tokens;
  HeadKernels head;
  int64_t (*count_bytes)(const uint8_t* mask, int64_t begin, int64_t end);  // those that are not 0
};

}  // namespace srp::cpu

#endif
