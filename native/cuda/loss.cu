// Losses over rows of tokens (contract: surprisal/loss.h), in one launch: a warp or a block a row (row_strips.cuh: which, and why
// the bits are the same). Groups of rows are in loss_groups.cu.
//
//   loss_token  one walk
//   loss_row    the row's sums first, then its values, unless the form has none for tokens. The gradient
//               comes with the values where every token's is its own; where it goes through the row it needs the sums of the
//               values: a third walk, over the mask alone unless there is a KL term
//
// Memory is read once as long as rows fit the caches: a warp's row of 512 tokens lies in the nearest for the later walks, a block goes
// back through the strips of its row, from the nearest cache into L2. Everything is float64 by contract. With figures that is about
// 100 operations a token, by count: on sm_90 they take as long as moving the token's bytes, and longer on GPUs with fewer float64 units.
#include "backend.cuh"
#include "loss_figures.cuh"
#include "loss_groups.cuh"
#include "loss_tokens.cuh"
#include "quads.cuh"
#include "shared/loss_rows.h"

namespace srp::cuda {
namespace {

// This warp's strips of a row of which nothing is added up.
template <bool kTogether, class Visit>
__device__ __forceinline__ void each_strip(const Range& range, const Visit& visit) {
  const int64_t first = kTogether ? threadIdx.x / kWarp * kStrip : 0, stride = kTogether ? kRowWarps * kStrip : kStrip;
  for (int64_t begin = range.begin + first; begin < range.end; begin += stride)
    visit(begin, begin + kStrip < range.end ? begin + kStrip : range.end);
}

// What the compiler knows of a call, so that no token looks for the rest: nothing; that there are no bounds of rows and tokens; or that
// it is the clipped loss of all kept tokens, without such, KL term, factors or marks.
struct NothingKnown {
  static __device__ __forceinline__ void say(LossArgs&) {}
};
struct NoBounds {
  static __device__ __forceinline__ void say(LossArgs& a) { a.clip_lows = a.clip_highs = a.ratio_caps = nullptr; }
};
struct PlainClip {
  static bool holds(const LossArgs& a) {
    return a.form == SRP_LOSS_CLIP && !a.reference_log_probs && !a.factors && !a.term_mask && !a.marks;
  }
  static __device__ __forceinline__ void say(LossArgs& a) {
    NoBounds::say(a);
    a.form = SRP_LOSS_CLIP;
    a.reference_log_probs = a.factors = nullptr;
    a.term_mask = a.marks = nullptr;
  }
};

// ledger    loss_token
// bytes     n (s inputs + s outputs + masks) + B inputs
// limit     issue
// notes     one walk, inputs read ahead; float64 throughout: about 100 operations a token with figures
// variants  code for the common options alone leaves a loop without branches for the others; of a row's length: a warp alone has no
//           barriers, and of rows beyond 512 tokens a block's warps share one
// shared    23552
// turn      4 of token_losses_kernel<float, true, PlainClip>: 36 loaded, 4 stored, 20 float64, inner 4; 13 bytes; at most 172, 150
//           on sm_89; must 0.5; before 177.3
// short     float64 by contract: the power of a ratio, its clamps and the choice of a branch take about 140 instructions a kept
//           token, and its way through shared memory 60 more
// measured  0.43 of a copy, with code for every form in the loop
template <class F, bool kTogether, class Known>
__global__ void __launch_bounds__(kRowThreads, 2) token_losses_kernel(LossArgs a, uint32_t* faults) {
  Known::say(a);
  SRP_DYN_SHARED(unsigned char, memory);
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;  // true for a whole warp; with a block for each row, never
  const Range range = own_range<kTogether>(a.offsets, a.T, a.n, b, faults);
  const LossParameters p = loss_parameters(a.parameters);
  const RowScale scale = row_scale(a, b);
  const LossTokens<F> tokens(a, memory);
  if (!a.figures) {
    each_strip<kTogether>(range, [&](int64_t begin, int64_t end) {
      StripFigures unread;
      tokens.each(begin, end,
                  [&](const LossArgs& few, int i, int64_t o) { token_loss<F>(few, b, i, o, p, scale, &unread); });
    });
    return;
  }
  const RowNumbers<kFigures, 1> numbers =
      add_row<kTogether, kFigures, 1>(range, [&](int64_t begin, int64_t end, RowNumbers<kFigures, 1>& mine) {
        StripFigures figures;
        figures.at[SRP_FIGURE_ROW_RATIO] = -INFINITY;
        tokens.each(begin, end,
                    [&](const LossArgs& few, int i, int64_t o) { token_loss<F>(few, b, i, o, p, scale, &figures); });
        mine.largest[0] = figures.at[SRP_FIGURE_ROW_RATIO];
        SRP_UNROLL
        for (int f = 0; f < kFigures; ++f) mine.sums[f] = f == SRP_FIGURE_ROW_RATIO ? 0 : number_of(figures, f);
      });
  if (worker<kTogether>() != 0) return;
  LossFigures figures;
  SRP_UNROLL
  for (int f = 0; f < kFigures; ++f) figures.at[f] = f == SRP_FIGURE_ROW_RATIO ? numbers.largest[0] : numbers.sums[f];
  store_figures(a, b, figures);
}

template <class F, bool kTogether>
__device__ __forceinline__ LossSums sums_of_row(int64_t b, const Range& range, const LossParameters& p,
                                                const LossTokens<F>& tokens) {
  const RowNumbers<5> numbers = add_row<kTogether, 5>(range, [&](int64_t begin, int64_t end, RowNumbers<5>& mine) {
    LossSums sums;
    tokens.each(begin, end, [&](const LossArgs& few, int i, int64_t o) { add_row_sums<F>(few, b, i, o, p, &sums); });
    mine.sums[0] = sums.log_ratio;
    mine.sums[1] = sums.log_factor;
    mine.sums[2] = sums.advantage;
    mine.sums[3] = static_cast<double>(sums.kept);
    mine.sums[4] = static_cast<double>(sums.terms);
  });
  LossSums sums;
  sums.log_ratio = numbers.sums[0];
  sums.log_factor = numbers.sums[1];
  sums.advantage = numbers.sums[2];
  sums.kept = static_cast<int64_t>(numbers.sums[3]);
  sums.terms = static_cast<int64_t>(numbers.sums[4]);
  return sums;
}

// The row's values: stores those of its tokens, and their gradients where each token has its own. Number kFigures is the sum of
// the slopes.
template <class F, bool kTogether>
__device__ __forceinline__ RowNumbers<kFigures + 1> values_of_row(const LossArgs& a, int64_t b, const Range& range,
                                                                  const LossParameters& p, const RowForm& row,
                                                                  const LossTokens<F>& tokens) {
  const RowScale scale = row_scale(a, b);
  const bool own_gradients = a.grad_log_probs && !goes_through(a.form);
  return add_row<kTogether, kFigures + 1, 0, true>(
      range, [&](int64_t begin, int64_t end, RowNumbers<kFigures + 1>& mine) {
        StripFigures figures;
        double slope = 0;
        tokens.each(begin, end, [&](const LossArgs& few, int i, int64_t o) {
          row_value<F>(few, b, i, o, p, row, &figures, &slope);
          if (own_gradients) row_grad<F>(few, b, i, o, p, scale, row, 0);
        });
        SRP_UNROLL
        for (int f = 0; f < kFigures; ++f) mine.sums[f] = number_of(figures, f);
        mine.sums[kFigures] = slope;
      });
}

template <class F, bool kTogether>
__device__ __forceinline__ void gradients_through_row(const LossArgs& a, int64_t b, const Range& range,
                                                      const LossParameters& p, const RowForm& row, double through,
                                                      const LossTokens<F>& tokens) {
  if (!a.reference_log_probs) {
    spread(static_cast<F*>(a.grad_log_probs), a.mask, range, through + 0.0, worker<kTogether>(), workers<kTogether>());
    return;
  }
  const RowScale scale = row_scale(a, b);
  each_strip<kTogether>(range, [&](int64_t begin, int64_t end) {
    tokens.each(begin, end,
                [&](const LossArgs& few, int i, int64_t o) { row_grad<F>(few, b, i, o, p, scale, row, through); });
  });
}

// Blocks of a multiprocessor. Two leave a thread 128 registers, which are too few before sm_90: the compiler would spill.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int kRowLossBlocks = 1;
#else
constexpr int kRowLossBlocks = 2;
#endif

// ledger    loss_row
// bytes     n (s inputs + s outputs + masks) + B inputs
// limit     issue
// notes     up to three walks, the later ones from the cache, the third over the mask alone without KL
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// shared    23552
// turn      4 of row_losses_kernel<float, true>: 36 loaded, 12 float64, no stored, inner 4 + 36 loaded, 24 float64, 7 read, inner 4
//           + 4 loads, 16 stored, no float64; 13 bytes; at most 232, 223 on sm_89; must 0.5
// short     float64 by contract: of a kept token the sums of its row take about 115 instructions, with their way through shared
//           memory, its value 85 and its gradient 30
// measured  0.37 to 0.47 of a copy
template <class F, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, kRowLossBlocks) row_losses_kernel(LossArgs a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;
  const Range range = own_range<kTogether>(a.offsets, a.T, a.n, b, faults);
  const LossParameters p = loss_parameters(a.parameters);
  const LossTokens<F> tokens(a, memory);
  const LossSums sums = sums_of_row<F, kTogether>(b, range, p, tokens);
  const RowForm row = row_form<F>(a, b, p, sums);

  LossFigures figures;
  double slope = 0;
  if (wants_values(a)) {
    const RowNumbers<kFigures + 1> numbers = values_of_row<F, kTogether>(a, b, range, p, row, tokens);
    SRP_UNROLL
    for (int f = 0; f < kFigures; ++f) figures.at[f] = numbers.sums[f];
    slope = numbers.sums[kFigures];
  } else {
    add_counts(sums, &figures);
  }
  if (worker<kTogether>() == 0) store_row<F>(a, b, row, &figures);
  if (a.grad_log_probs && goes_through(a.form))
    gradients_through_row<F, kTogether>(a, b, range, p, row, row_through(a, b, row, figures, slope), tokens);
}

// Launchers

template <class F, bool kTogether>
void token_losses(srp_queue* queue, const LossArgs& a) {
  const dim3 grid(static_cast<unsigned>(row_blocks<kTogether>(a.B))), block(kRowThreads);
  const auto kernel = has_bounds(a)         ? token_losses_kernel<F, kTogether, NothingKnown>
                      : PlainClip::holds(a) ? token_losses_kernel<F, kTogether, PlainClip>
                                            : token_losses_kernel<F, kTogether, NoBounds>;
  SRP_LAUNCH(kernel, grid, block, LossTokens<F>::kBlockBytes, queue->stream, a, queue->faults);
}

template <class F, bool kTogether>
void row_losses(srp_queue* queue, const LossArgs& a) {
  const dim3 grid(static_cast<unsigned>(row_blocks<kTogether>(a.B)));
  SRP_LAUNCH((row_losses_kernel<F, kTogether>), grid, dim3(kRowThreads), LossTokens<F>::kBlockBytes, queue->stream, a,
             queue->faults);
}

}  // namespace

srp_status loss_token(srp_queue* queue, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_grid("loss_token", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const bool together = takes_block(a->n, a->B);
  if (a->dtype == SRP_F64)
    together ? token_losses<double, true>(queue, *a) : token_losses<double, false>(queue, *a);
  else
    together ? token_losses<float, true>(queue, *a) : token_losses<float, false>(queue, *a);
  return launched("loss_token");
}

srp_status loss_row(srp_queue* queue, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_grid("loss_row", a->B));
  SRP_TRY(check_grid("loss_row", a->G));
  SRP_TRY(enter(queue));
  if (a->group_offsets) return group_losses(queue, *a);
  if (a->B == 0) return SRP_OK;
  const bool together = takes_block(a->n, a->B);
  if (a->dtype == SRP_F64)
    together ? row_losses<double, true>(queue, *a) : row_losses<double, false>(queue, *a);
  else
    together ? row_losses<float, true>(queue, *a) : row_losses<float, false>(queue, *a);
  return launched("loss_row");
}

}  // namespace srp::cuda
