// Log ratios of tokens and rows (contract: surprisal/ratio.h); those of groups are in ratio_groups.cu.
//
//   token      four tokens a thread
//   sequence   a warp or a block a row (row_pieces.cuh: which, and why the bits are the same)
#include "backend.cuh"
#include "ratio_rows.cuh"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;  // a thread four tokens

// ledger    ratio_log
// bytes     n (2 s + mask) + s n outputs
// limit     memory
// notes     four tokens a thread, 16 bytes at a time
// turn      4 of log_tokens_kernel<float>: whole, 36 loaded, 16 stored; 13 bytes; at most 33.5, 31.5 on sm_89
template <class F>
__global__ void log_tokens_kernel(srp_ratio_log_args a) {
  const int64_t first = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) * kQuad;
  if (first >= a.n) return;
  const QuadPlace place = {first, 0, a.n};
  const Quad<F> log_probs = load_quad(static_cast<const F*>(a.log_probs), place);
  const Quad<F> old_log_probs = load_quad(static_cast<const F*>(a.old_log_probs), place);
  const uint32_t flags = load_flags(a.mask, place);
  Quad<F> log_ratio, ratio;
  SRP_UNROLL
  for (int k = 0; k < kQuad; ++k) {
    const bool kept = flag_of(flags, k);
    const double x = static_cast<double>(log_probs.at[k]) - static_cast<double>(old_log_probs.at[k]);
    put(&log_ratio.at[k], kept ? x : 0.0);
    put(&ratio.at[k], kept ? exponential(x) : 0.0);
  }
  if (a.log_ratios) store_quad(static_cast<F*>(a.log_ratios), place, log_ratio);
  if (a.ratios) store_quad(static_cast<F*>(a.ratios), place, ratio);
}

// ledger    ratio_log
// bytes     n (2 s + mask) + s B outputs
// limit     memory
// notes     a warp or a block a row; the next eight tokens of a lane are under way
// variants  of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps share one
// turn      8 of log_rows_kernel<BlockPieces, float>: 72 loaded, 16 float64; 9 bytes; at most 15, 15.1 on sm_89; before 38.1, 29.1
//           on sm_89
template <class Team, class F>
__global__ void __launch_bounds__(kPieceLanes, 4) log_rows_kernel(srp_ratio_log_args a, uint32_t* faults) {
  const int64_t b = Team::slot();
  if (b >= a.B) return;  // the whole team
  const LogSum row = sum_row<F, Team>(a, team_row<Team>(a, b, faults));
  if (Team::leads()) store_log_ratio<F>(a, b, log_ratio_of(row, a.reduce));
}

// Launchers

template <class F>
srp_status log_level(srp_queue* queue, const srp_ratio_log_args& a) {
  if (a.level == SRP_LEVEL_GROUP) return log_groups<F>(queue, a);
  if (a.level == SRP_LEVEL_TOKEN && a.n > 0)
    SRP_LAUNCH((log_tokens_kernel<F>), dim3(blocks_for((a.n + kQuad - 1) / kQuad, kThreads)), dim3(kThreads), 0,
               queue->stream, a);
  if (a.level == SRP_LEVEL_SEQUENCE && a.B > 0)
    return launch_rows("ratio_log", a, [&](auto team, dim3 grid) {
      using Team = decltype(team);
      SRP_LAUNCH((log_rows_kernel<Team, F>), grid, dim3(kPieceLanes), 0, queue->stream, a, queue->faults);
    });
  return launched("ratio_log");
}

}  // namespace

srp_status ratio_log(srp_queue* queue, const srp_ratio_log_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("ratio_log", a->level == SRP_LEVEL_TOKEN ? a->n / (kQuad * kThreads) + 1 : a->B));
  SRP_TRY(check_grid("ratio_log", a->level == SRP_LEVEL_GROUP ? a->G : 0));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? log_level<double>(queue, *a) : log_level<float>(queue, *a);
}

}  // namespace srp::cuda
