// Log ratios and the clipped objective of tokens and rows (contract: surprisal/ratio.h); those of groups are in ratio_groups.cu.
//
//   log, token      four tokens a thread
//   the others      a warp or a block a row (row_strips.cuh: which, and why the bits are the same), in one launch:
//     log, sequence   the row's sum
//     clip, token     each token's term, and the row's figures
//     clip, sequence  the row's sum, its one term, then the gradient spread over the tokens. For that the row's mask alone is
//                     read again, from the cache: 13 bytes a token of memory in float32
#include "backend.cuh"
#include "ratio_rows.cuh"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;  // a thread four tokens
constexpr int kReadAhead = 4;  // tokens of a lane whose inputs are under way

template <class F>
__global__ void log_tokens_kernel(srp_ratio_log_args a) {
  const int64_t first = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) * kQuad;
  if (first >= a.n) return;
  const QuadPlace place = {first, 0, a.n};
  const Quad<F> current = load_quad(static_cast<const F*>(a.current), place);
  const Quad<F> old = load_quad(static_cast<const F*>(a.old), place);
  const uint32_t flags = load_flags(a.mask, place);
  Quad<F> log_ratio, ratio;
  SRP_UNROLL
  for (int k = 0; k < kQuad; ++k) {
    const bool kept = flag_of(flags, k);
    const double x = static_cast<double>(current.at[k]) - static_cast<double>(old.at[k]);
    put(&log_ratio.at[k], kept ? x : 0.0);
    put(&ratio.at[k], kept ? exponential(x) : 0.0);
  }
  if (a.log_ratio) store_quad(static_cast<F*>(a.log_ratio), place, log_ratio);
  if (a.ratio) store_quad(static_cast<F*>(a.ratio), place, ratio);
}

template <class F, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, 4) log_rows_kernel(srp_ratio_log_args a, uint32_t* faults) {
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;  // the whole warp; together, no block has such a row
  const LogSum row = sum_row<F, kTogether>(a, own_range<kTogether>(a.offsets, a.T, a.n, b, faults));
  if (worker<kTogether>() == 0) store_log_ratio<F>(a, b, log_ratio_of(row, a.reduce));
}

// A lane's terms of a strip.
template <class F>
__device__ __forceinline__ void add_terms(const srp_ratio_clip_args& a, int64_t b, double weight, int64_t begin,
                                          int64_t end, RowNumbers<5, 1>& mine) {
  const F* const advantage = static_cast<const F*>(a.advantage);
  RowFigures figures;
  SRP_UNROLL
  for (int from = 0; from < kOfLane; from += kReadAhead) {
    const PolicyPairs<F, kReadAhead> tokens(a, begin, from, end);
    F advantages[kReadAhead];
    SRP_UNROLL
    for (int k = 0; k < kReadAhead; ++k) {
      const int64_t i = lane_token(begin, from + k);
      advantages[k] = i < end ? advantage[a.advantage_per_token ? i : b] : F{0};
    }
    SRP_UNROLL
    for (int k = 0; k < kReadAhead; ++k) {
      const int64_t i = lane_token(begin, from + k);
      const TokenInputs token = {tokens.difference(k), static_cast<double>(advantages[k]), tokens.kept[k]};
      if (i < end) token_term<F>(a, i, token, weight, &figures);
    }
  }
  mine.sums[0] = figures.term_sum;
  mine.sums[1] = figures.ratio_sum;
  mine.sums[2] = figures.terms;
  mine.sums[3] = figures.clipped;
  mine.sums[4] = figures.limited;
  mine.largest[0] = figures.ratio_max;
}

template <class F, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, 2) clip_tokens_kernel(srp_ratio_clip_args a, uint32_t* faults) {
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;
  const Range range = own_range<kTogether>(a.offsets, a.T, a.n, b, faults);
  const double weight = row_weight(a, b);
  const RowNumbers<5, 1> numbers = add_row<kTogether, 5, 1>(
      range, [&](int64_t begin, int64_t end, RowNumbers<5, 1>& mine) { add_terms<F>(a, b, weight, begin, end, mine); });
  if (worker<kTogether>() != 0) return;
  RowFigures row;
  row.term_sum = numbers.sums[0];
  row.ratio_sum = numbers.sums[1];
  row.ratio_max = numbers.largest[0];
  row.terms = static_cast<int32_t>(numbers.sums[2]);
  row.clipped = static_cast<int32_t>(numbers.sums[3]);
  row.limited = static_cast<int32_t>(numbers.sums[4]);
  store_figures(a, b, row);
}

template <class F, bool kTogether>
__global__ void __launch_bounds__(kRowThreads, 4) clip_rows_kernel(srp_ratio_clip_args a, uint32_t* faults) {
  const int64_t b = own_row<kTogether>();
  if (b >= a.B) return;
  const Range range = own_range<kTogether>(a.offsets, a.T, a.n, b, faults);
  const LogSum row = sum_row<F, kTogether>(a, range);
  // All of them compute the row's one term: sooner done than handed over.
  const LossTerm<double> t = term_of_row<F>(a, b, unit_ratio(a, log_ratio_of(row, a.reduce)));
  if (worker<kTogether>() == 0) {
    store_row_term<F>(a, b, t);
    store_ratios<F>(a, b, t.ratio, t.clipped_ratio);
  }
  if (a.grad)
    spread(static_cast<F*>(a.grad), a.mask, range, negated(row_slope(a, b, t) / divisor(row.kept, a.reduce)),
           worker<kTogether>(), workers<kTogether>());
}

// Launchers

template <class F, bool kTogether>
void log_rows(srp_queue* queue, const srp_ratio_log_args& a) {
  const dim3 grid(static_cast<unsigned>(row_blocks<kTogether>(a.B)));
  SRP_LAUNCH((log_rows_kernel<F, kTogether>), grid, dim3(kRowThreads), 0, queue->stream, a, queue->faults);
}

template <class F>
srp_status log_level(srp_queue* queue, const srp_ratio_log_args& a) {
  if (a.level == SRP_LEVEL_GROUP) return log_groups<F>(queue, a);
  if (a.level == SRP_LEVEL_TOKEN && a.n > 0)
    SRP_LAUNCH((log_tokens_kernel<F>), dim3(blocks_for((a.n + kQuad - 1) / kQuad, kThreads)), dim3(kThreads), 0,
               queue->stream, a);
  if (a.level == SRP_LEVEL_SEQUENCE && a.B > 0)
    takes_block(a.n, a.B) ? log_rows<F, true>(queue, a) : log_rows<F, false>(queue, a);
  return launched("ratio_log");
}

template <class F, bool kTogether>
void clip_rows(srp_queue* queue, const srp_ratio_clip_args& a) {
  const dim3 grid(static_cast<unsigned>(row_blocks<kTogether>(a.B))), block(kRowThreads);
  if (a.level == SRP_LEVEL_TOKEN)
    SRP_LAUNCH((clip_tokens_kernel<F, kTogether>), grid, block, 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((clip_rows_kernel<F, kTogether>), grid, block, 0, queue->stream, a, queue->faults);
}

template <class F>
srp_status clip_level(srp_queue* queue, const srp_ratio_clip_args& a) {
  if (a.level == SRP_LEVEL_GROUP) return clip_groups<F>(queue, a);
  if (a.B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  takes_block(a.n, a.B) ? clip_rows<F, true>(queue, a) : clip_rows<F, false>(queue, a);
  return launched("ratio_clip");
}

}  // namespace

srp_status ratio_log(srp_queue* queue, const srp_ratio_log_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("ratio_log", a->level == SRP_LEVEL_TOKEN ? a->n / (kQuad * kThreads) + 1 : a->B));
  SRP_TRY(check_grid("ratio_log", a->G));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? log_level<double>(queue, *a) : log_level<float>(queue, *a);
}

srp_status ratio_clip(srp_queue* queue, const srp_ratio_clip_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("ratio_clip", a->B));
  SRP_TRY(check_grid("ratio_clip", a->G));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? clip_level<double>(queue, *a) : clip_level<float>(queue, *a);
}

}  // namespace srp::cuda
