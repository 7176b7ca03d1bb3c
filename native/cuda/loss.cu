// Losses over rows of tokens (contract: surprisal/loss.h), in one launch: a warp or a block a row (row_pieces.cuh: which, and why
// the bits are the same). Groups of rows are in loss_groups.cu.
//
//   loss_token  one walk
//   loss_row    the row's sums first, then its values, unless the form has none for tokens. The gradient
//               comes with the values where every token's is its own; where it goes through the row it needs the sums of the
//               values: a third walk, over the mask alone unless there is a KL term
//
// Memory is read once as long as the rows in work fit L2; a second walk goes back through its row. Everything is float64 by contract. With
// figures that is about 100 operations a token, by count: on sm_90 they take as long as moving the token's bytes. GPUs with few
// float64 units have tokens of float32 in pairs of float32 (loss_pairs.cuh).
#include "backend.cuh"
#include "launch.cuh"
#include "loss_figures.cuh"
#include "loss_groups.cuh"
#include "loss_pairs.cuh"
#include "loss_tokens.cuh"
#include "quads.cuh"
#include "shared/loss_rows.h"

namespace srp::cuda {
namespace {

// What the compiler knows of a call, so that no token looks for the rest: nothing; that there are no bounds of rows and tokens; or that
// it is the clipped loss of all kept tokens, without such, KL term, factors or marks. kBlocks and kWarpBlocks: of a multiprocessor, where
// blocks take rows, or warps; with two the compiler would spill where there is one.
struct NothingKnown {
  static constexpr bool kPlain = false, kPairs = false;
  static constexpr int kBlocks = 2, kWarpBlocks = 1;
  static __device__ __forceinline__ void say(LossArgs&) {}
};
struct NoBounds {
  static constexpr bool kPlain = false, kPairs = true;
  static constexpr int kBlocks = kSlowFloat64 ? 1 : 2, kWarpBlocks = kBlocks;
  static __device__ __forceinline__ void say(LossArgs& a) { a.clip_lows = a.clip_highs = a.ratio_caps = nullptr; }
};
struct PlainClip {
  static constexpr bool kPlain = true, kPairs = true;
  static constexpr int kBlocks = 2, kWarpBlocks = 2;
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
// notes     one walk, the next run of inputs on its way; float64 throughout, about 100 operations a token with figures, or pairs of
//           float32 where float64 is slow
// shared    47104
// variants  code for the common options alone leaves a loop without branches for the others; of a row's length: a warp alone has no
//           barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of token_losses_kernel<BlockPieces, float, PlainClip>: 36 loaded, 4 stored, 20 float64, inner 4; 13 bytes; at most
//           163; must 0.5; before 177.3
// sm_89     4 of token_losses_kernel<BlockPieces, float, PlainClip>: 36 loaded, 4 stored, 100 fused, 16 wide, inner 4; 13 bytes; at
//           most 337; must 0.5; before 200.5
// measured  0.43 of a copy, with code for every form in the loop
template <class Team, class F, class Known>
__global__ void __launch_bounds__(kPieceLanes, Team::kTeams > 1 ? Known::kWarpBlocks : Known::kBlocks)
    token_losses_kernel(LossArgs a, uint32_t* faults) {
  Known::say(a);
  SRP_DYN_SHARED(unsigned char, memory);
  const int64_t b = Team::slot();
  if (b >= a.B) return;  // the whole team
  const Range range = team_row<Team>(a, b, faults);
  const int lanes = lanes_of<F>(range);
  const LossParameters p = loss_parameters(a.parameters);
  const RowScale scale = row_scale(a, b);
  LossTokens<F> tokens(a, range, Known::kPlain, memory);
  LossTally tally;
  PairTokens<Known::kPairs && sizeof(F) == sizeof(float)> pairs(a, p, scale, tally);
  const auto add = [&](const LossArgs& few, int i, int64_t o, LaneFigures& figures) {
    if (pairs.takes(few, b, i))
      pairs.add(few, b, i, o);
    else
      token_loss<F>(few, b, i, o, p, scale, &figures);
  };
  if (!a.figures) {
    Team::each_lane(lanes, [&](int lane) {
      LaneFigures unread(tally);
      tokens.each(lane, [&](const LossArgs& few, int i, int64_t o) { add(few, i, o, unread); });
    });
    return;
  }
  using Sums = Numbers<LaneFigures::kSums>;
  const Sums sums = Team::total(lanes, [&](int lane) {
    LaneFigures figures(tally);
    figures.at[SRP_FIGURE_ROW_RATIO] = tally.largest;
    tokens.template each<false>(
        lane, [&](const LossArgs& few, int i, int64_t o) { add(few, i, o, figures); },
        [&] {
          pairs.ran(a, figures);
          tally.ran<LossTokens<F>::kOfLane>();
        });
    tally.largest = figures.at[SRP_FIGURE_ROW_RATIO];
    Sums mine;
    figures.to(SRP_FIGURE_RATIO, mine);
    return mine;
  });
  const Largest largest = Team::together(Largest{tally.largest});
  LossFigures figures = row_figures<Team>(SRP_FIGURE_RATIO, sums, tally);
  figures.at[SRP_FIGURE_ROW_RATIO] = largest.at;
  if (Team::leads()) store_figures(a, b, figures);
}

// Of a lane's tokens, of a warp or of the whole row.
struct LaneSums : LossSums {};
__device__ __forceinline__ LaneSums warp_total(LaneSums x) {
  x.log_ratio = warp_reduce(x.log_ratio, Sum{});
  x.log_factor = warp_reduce(x.log_factor, Sum{});
  x.advantage = warp_reduce(x.advantage, Sum{});
  x.kept = warp_reduce(x.kept, Sum{});
  x.terms = warp_reduce(x.terms, Sum{});
  return x;
}
__device__ __forceinline__ LaneSums joined(LaneSums a, const LaneSums& b) {
  a.log_ratio += b.log_ratio;
  a.log_factor += b.log_factor;
  a.advantage += b.advantage;
  a.kept += b.kept;
  a.terms += b.terms;
  return a;
}

// The sum of the log ratios of a run, exact in three float32 where float64 is slow; what they do not hold is left to float64.
template <class F>
struct RunLogRatios {
  static constexpr bool kMay = sizeof(F) == sizeof(float);
  ThreeFloats sum;

  __device__ __forceinline__ bool add(const LossArgs& few, int i, LossSums* sums) {
    if (!kMay || !slow_float64() || sums_its_own(few.form) || !few.old_log_probs || few.old_log_probs_per_row ||
        !is_kept(few, i))
      return false;
    const float a = static_cast<const float*>(few.log_probs)[i], b = static_cast<const float*>(few.old_log_probs)[i];
    if (!(fabsf(a) <= 0x1p100f && fabsf(b) <= 0x1p100f)) return false;
    sum += TwoFloats::sum(a, -b);
    sums->kept += 1;
    sums->terms += is_term(few, i) ? 1 : 0;
    return true;
  }
  __device__ __forceinline__ void ran(LossSums* sums) {
    if (!kMay || !slow_float64()) return;
    sums->log_ratio += sum.wide();
    sum = ThreeFloats();
  }
};

template <class Team, class F>
__device__ __forceinline__ LossSums sums_of_row(int64_t b, int lanes, const LossParameters& p, LossTokens<F>& tokens) {
  return Team::total(lanes, [&](int lane) {
    LaneSums mine;
    RunLogRatios<F> run;
    tokens.template each<false>(
        lane,
        [&](const LossArgs& few, int i, int64_t o) {
          if (!run.add(few, i, &mine)) add_row_sums<F>(few, b, i, o, p, &mine);
        },
        [&] { run.ran(&mine); });
    return mine;
  });
}

// The row's values: stores those of its tokens, and their gradients where each token has its own. Returns the row's figures, and in
// `slope` the sum of the slopes.
template <class Team, class F>
__device__ __forceinline__ LossFigures values_of_row(const LossArgs& a, int64_t b, int lanes, const LossParameters& p,
                                                     const RowForm& row, LossTokens<F>& tokens, double& slope) {
  using Sums = Numbers<LaneFigures::kSums + 1>;
  const RowScale scale = row_scale(a, b);
  const bool own_gradients = a.grad_log_probs && !goes_through(a.form);
  LossTally tally;
  const Sums sums = Team::total(lanes, [&](int lane) {
    LaneFigures figures(tally);
    double slopes = 0;
    tokens.template each<true>(
        lane,
        [&](const LossArgs& few, int i, int64_t o) {
          row_value<F>(few, b, i, o, p, row, &figures, &slopes);
          if (own_gradients) row_grad<F>(few, b, i, o, p, scale, row, 0);
        },
        [&] { tally.ran<LossTokens<F>::kOfLane>(); });
    Sums mine;
    figures.to(SRP_FIGURE_ROW_RATIO, mine);
    mine.at[LaneFigures::kSums] = slopes;
    return mine;
  });
  slope = sums.at[LaneFigures::kSums];
  return row_figures<Team>(SRP_FIGURE_ROW_RATIO, sums, tally);
}

template <class Team, class F>
__device__ __forceinline__ void gradients_through_row(const LossArgs& a, int64_t b, const Range& range,
                                                      const LossParameters& p, const RowForm& row, double through,
                                                      LossTokens<F>& tokens) {
  if (!a.reference_log_probs) {
    spread(static_cast<F*>(a.grad_log_probs), a.mask, range, through + 0.0, Team::thread(), Team::kThreads);
    return;
  }
  const RowScale scale = row_scale(a, b);
  Team::each_lane(lanes_of<F>(range), [&](int lane) {
    tokens.each(lane,
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
// shared    47104
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      4 of row_losses_kernel<BlockPieces, float>: 36 loaded, 12 float64, no stored, inner 4 + 36 loaded, 24 float64, 7 read,
//           inner 4 + 4 loads, 16 stored, no float64; 13 bytes; at most 216; must 0.5; before 230.5
// sm_89     4 of row_losses_kernel<BlockPieces, float>: 36 loaded, 3 float64, no stored, inner 4 + 36 loaded, 24 float64, 7 read,
//           inner 4 + 4 loads, 16 stored, no float64; 13 bytes; at most 196; must 0.5; before 221
// short     float64 by contract: of a kept token the sums of its row take about 115 instructions, with their way through shared
//           memory, its value 85 and its gradient 30
// measured  0.37 to 0.47 of a copy, by the code before
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, kRowLossBlocks) row_losses_kernel(LossArgs a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  const int64_t b = Team::slot();
  if (b >= a.B) return;
  const Range range = team_row<Team>(a, b, faults);
  const int lanes = lanes_of<F>(range);
  const LossParameters p = loss_parameters(a.parameters);
  LossTokens<F> tokens(a, range, false, memory);
  const LossSums sums = sums_of_row<Team>(b, lanes, p, tokens);
  const RowForm row = row_form<F>(a, b, p, sums);

  LossFigures figures;
  double slope = 0;
  if (wants_values(a))
    figures = values_of_row<Team>(a, b, lanes, p, row, tokens, slope);
  else
    add_counts(sums, &figures);
  if (Team::leads()) store_row<F>(a, b, row, &figures);
  if (a.grad_log_probs && goes_through(a.form))
    gradients_through_row<Team>(a, b, range, p, row, row_through(a, b, row, figures, slope), tokens);
}

// Launchers

template <class F, class Kernel>
srp_status launch_losses(srp_queue* queue, Kernel* kernel, bool plain, dim3 grid, const LossArgs& a) {
  const int bytes = LossTokens<F>::block_bytes(plain);
  if (!plain) SRP_TRY(allow_shared(kernel, bytes));
  SRP_LAUNCH(kernel, grid, dim3(kPieceLanes), bytes, queue->stream, a, queue->faults);
  return SRP_OK;
}

struct TokenLosses {
  template <class Team, class F>
  static srp_status launch(srp_queue* queue, dim3 grid, const LossArgs& a) {
    const bool plain = !has_bounds(a) && PlainClip::holds(a);
    const auto kernel = has_bounds(a) ? token_losses_kernel<Team, F, NothingKnown>
                        : plain       ? token_losses_kernel<Team, F, PlainClip>
                                      : token_losses_kernel<Team, F, NoBounds>;
    return launch_losses<F>(queue, kernel, plain, grid, a);
  }
};

struct RowLosses {
  template <class Team, class F>
  static srp_status launch(srp_queue* queue, dim3 grid, const LossArgs& a) {
    return launch_losses<F>(queue, row_losses_kernel<Team, F>, false, grid, a);
  }
};

template <class Losses>
srp_status losses(srp_queue* queue, const char* op, const LossArgs& a) {
  srp_status status = SRP_OK;
  SRP_TRY(launch_rows(op, a, [&](auto team, dim3 grid) {
    using Team = decltype(team);
    status = a.dtype == SRP_F64 ? Losses::template launch<Team, double>(queue, grid, a)
                                : Losses::template launch<Team, float>(queue, grid, a);
  }));
  return status;
}

}  // namespace

srp_status loss_token(srp_queue* queue, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_grid("loss_token", a->B));
  SRP_TRY(enter(queue));
  if (a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return losses<TokenLosses>(queue, "loss_token", *a);
}

srp_status loss_row(srp_queue* queue, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_grid("loss_row", a->B));
  SRP_TRY(check_grid("loss_row", a->G));
  SRP_TRY(enter(queue));
  if (a->group_offsets) return group_losses(queue, *a);
  if (a->B == 0) return SRP_OK;
  return losses<RowLosses>(queue, "loss_row", *a);
}

}  // namespace srp::cuda
