// Step weights over spans of tokens (contract: surprisal/modulate.h), in three launches:
//
//   check   a thread a span: reports bad ones, and finds the modulated advantage at the span's first token as if no other span covered
//           it; a block notes whether its spans lie one behind the other
//   first   where some do not: a warp modulates 512 tokens as below, and finds the first tokens' advantages anew. Else nothing
//   apply   a warp takes 512 tokens, whatever their rows: it searches for the first span that reaches them (where spans are not in
//           order, it looks at all those of its rows), applies spans in their order and subtracts the mean, which each block adds up
//           from one number a block of spans
//
// Advantages stay float64 in registers, and each is rounded once. Minimum bytes: of each token the advantage in and out, and 1 for a
// mask that the scope asks for; 40 a span, and 32 for its first token.
#include "backend.cuh"
#include "comes_last.cuh"
#include "common.cuh"
#include "row_pieces.cuh"
#include "shared/modulate.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kWarpTokens = kWarp * kHeld;
constexpr int64_t kBlockTokens = int64_t{kWarps} * kWarpTokens;

// Memory that the launches share.
struct SpanScratch {
  double* first;  // [S] modulated advantage at a span's first token
  double* sums;  // of `first`, one a block of spans
  uint8_t* disorder;  // one a block of spans: 1 where some do not lie one behind the other
};

__device__ __forceinline__ int64_t span_blocks(int64_t spans) { return (spans + kThreads - 1) / kThreads; }

// Span s in the array of all tokens; a bad one is empty.
__device__ __forceinline__ Range tokens_of(const srp_modulate_spans_args& a, int64_t s) {
  const Span span = span_at(a.spans, s);
  if (span.row < 0 || span.row >= a.B) return {0, 0, false};
  const Range row = row_range(a.offsets, a.T, a.n, span.row);
  if (!row.valid || span.begin < 0 || span.finish <= span.begin || span.finish > row.end - row.begin)
    return {0, 0, false};
  return {row.begin + span.begin, row.begin + span.finish, true};
}

// ---- check

// ledger    modulate_spans
// bytes     40 S + 32 S
// limit     latency
// notes     a thread a span; a sector of 32 bytes for each first token
template <class F>
__global__ void __launch_bounds__(kThreads, 2)
    check_spans_kernel(srp_modulate_spans_args a, SpanScratch scratch, uint32_t* faults) {
  const int64_t s = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (s < a.B && !row_range(a.offsets, a.T, a.n, s).valid) raise(faults, SRP_FAULT_OFFSETS);
  a.S = checked_spans(a.count, a.S, faults);
  if (int64_t{blockIdx.x} * kThreads >= a.S) return;  // the whole block
  double first = 0;
  bool ordered = true;
  if (s < a.S) {
    const Range span = tokens_of(a, s);
    ordered = span.valid;
    bool bad = !span.valid;
    if (s > 0) {
      bad = bad || a.spans[3 * (s - 1)] > a.spans[3 * s];
      const Range before = tokens_of(a, s - 1);
      ordered = ordered && before.valid && before.end <= span.begin;
    }
    if (bad) raise(faults, SRP_FAULT_INDEX);
    if (span.valid) first = load(static_cast<const F*>(a.advantages), span.begin) * a.scales[s] + span_bonus(a, s);
    scratch.first[s] = first;
  }
  first = add_warps(warp_total(first));
  const int wrong = add_warps(warp_total(ordered ? 0 : 1));
  if (threadIdx.x != 0) return;
  scratch.sums[blockIdx.x] = first;
  scratch.disorder[blockIdx.x] = wrong > 0;
}

// Whether every span lies behind the one before. All threads of the block call it.
__device__ bool in_order(const srp_modulate_spans_args& a, const SpanScratch& scratch) {
  int wrong = 0;
  for (int64_t k = threadIdx.x; k < span_blocks(a.S); k += kThreads) wrong += scratch.disorder[k];
  return add_warps(warp_total(wrong)) == 0;
}

// ---- modulate

// Row b's first span, or that of a later row. All lanes of a warp call it.
__device__ __forceinline__ int64_t first_span(const srp_modulate_spans_args& a, int64_t b) {
  return warp_first(0, a.S, [&](int64_t s) { return a.spans[3 * s] >= b; });
}

// The row of token i. All lanes of a warp call it.
__device__ __forceinline__ int64_t row_of(const srp_modulate_spans_args& a, int64_t i) {
  if (!a.offsets) return i / a.T;
  return warp_first(1, a.B, [&](int64_t b) { return a.offsets[b] > i; }) - 1;
}

// 512 tokens of a warp.
template <class F>
struct WarpTokens {
  using Lane = Held<F, kWarp>;
  int64_t begin, end;
  int lane;
  Lane held;
  double at[kHeld];
  uint32_t inside = 0;  // a bit a token: some span covers it

  // Begins to load the advantages, for which modulate() waits. Nothing is loaded behind the last token.
  __device__ WarpTokens(const srp_modulate_spans_args& a, int64_t from)
      : begin(from),
        end(from + kWarpTokens < a.n ? from + kWarpTokens : a.n),
        lane(static_cast<int>(threadIdx.x) % kWarp) {
    const F* const advantages = static_cast<const F*>(a.advantages);
    held.read(advantages, aligned16(advantages, 0), begin, end, lane);
  }

  // Where token e of the lane lies, counted from `begin`.
  __device__ __forceinline__ int place(int e) const {
    return static_cast<int>(Lane::position(0, lane, e / Lane::kWide)) + e % Lane::kWide;
  }

  __device__ __forceinline__ void cover(int from, int to, double scale, double bonus) {
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) {
      if (place(e) < from || place(e) >= to) continue;
      at[e] = at[e] * scale + bonus;
      inside |= 1u << e;
    }
  }

  // Every span that reaches these tokens, in order: 32 spans at a time.
  __device__ void modulate(const srp_modulate_spans_args& a, bool ordered) {
    int64_t s = 0, last = a.S;
    if (ordered) {
      s = warp_first(0, a.S, [&](int64_t k) { return tokens_of(a, k).end > begin; });
    } else {
      s = first_span(a, row_of(a, begin));
      last = first_span(a, row_of(a, end - 1) + 1);
    }
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) at[e] = held.at[e];
    for (; s < last; s += kWarp) {
      const int64_t own = s + lane;
      const Range span = own < last ? tokens_of(a, own) : Range{a.n, a.n, false};
      const bool reaches = span.begin < end && span.end > begin && span.end > span.begin;
      const int from = reaches && span.begin > begin ? static_cast<int>(span.begin - begin) : 0;
      const int to = reaches ? static_cast<int>((span.end < end ? span.end : end) - begin) : 0;
      const double scale = reaches ? a.scales[own] : 0, bonus = reaches ? span_bonus(a, own) : 0;
      for (unsigned those = __ballot_sync(kFullWarp, reaches); those != 0; those &= those - 1) {
        const int k = __ffs(static_cast<int>(those)) - 1;
        cover(__shfl_sync(kFullWarp, from, k), __shfl_sync(kFullWarp, to, k), __shfl_sync(kFullWarp, scale, k),
              __shfl_sync(kFullWarp, bonus, k));
      }
      if (ordered && __shfl_sync(kFullWarp, span.begin, kWarp - 1) >= end) break;
    }
  }
};

// ---- first tokens of spans that are not in order

// ledger    modulate_spans
// bytes     S / 256
// limit     latency
// notes     of spans that lie one behind the other it does nothing; else s n + 40 S bytes
template <class F>
__global__ void __launch_bounds__(kThreads, 2)
    first_tokens_kernel(srp_modulate_spans_args a, SpanScratch scratch, uint32_t* ticket) {
  SRP_SHARED(double, modulated, kWarps* kWarpTokens);
  a.S = live_spans(a.count, a.S);
  if (in_order(a, scratch)) return;  // the same for every block
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t begin = int64_t{blockIdx.x} * kBlockTokens + warp * kWarpTokens;
  if (begin < a.n) {
    WarpTokens<F> tokens(a, begin);
    tokens.modulate(a, false);
    double* const mine = modulated + warp * kWarpTokens;
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) mine[tokens.place(e)] = tokens.at[e];
    __syncwarp();
    const int64_t last = first_span(a, row_of(a, tokens.end - 1) + 1);
    for (int64_t s = first_span(a, row_of(a, begin)) + tokens.lane; s < last; s += kWarp) {
      const Range span = tokens_of(a, s);
      if (span.valid && span.begin >= begin && span.begin < tokens.end) scratch.first[s] = mine[span.begin - begin];
    }
  }
  if (!comes_last(ticket, gridDim.x)) return;
  for (int64_t k = 0; k < span_blocks(a.S); ++k) {
    const int64_t s = k * kThreads + threadIdx.x;
    const double sum = add_warps(warp_total(s < a.S ? __ldcg(scratch.first + s) : 0.0));
    if (threadIdx.x == 0) scratch.sums[k] = sum;
  }
}

// ---- apply

// ledger    modulate_spans
// bytes     n (2 s + mask) + 40 S
// limit     memory
// notes     a warp takes 512 tokens; each is read, modulated in float64 and rounded once
// turn      16 of apply_spans_kernel<float>: whole, 4 loads16, 64 stored, 16 float64; 9 bytes; at most 21, 20.8 on sm_89
template <class F>
__global__ void __launch_bounds__(kThreads, 2) apply_spans_kernel(srp_modulate_spans_args a, SpanScratch scratch) {
  using Lane = typename WarpTokens<F>::Lane;
  a.S = live_spans(a.count, a.S);
  const int64_t begin = int64_t{blockIdx.x} * kBlockTokens + static_cast<int>(threadIdx.x) / kWarp * kWarpTokens;
  WarpTokens<F> tokens(a, begin);
  double mean = 0;
  for (int64_t k = threadIdx.x; k < span_blocks(a.S); k += kThreads) mean += scratch.sums[k];
  mean = add_warps(warp_total(mean));
  if (a.S > 0) mean /= static_cast<double>(a.S);
  if (blockIdx.x == 0 && threadIdx.x == 0) *a.mean = mean;
  const bool ordered = in_order(a, scratch);
  if (begin >= a.n) return;  // the whole warp
  tokens.modulate(a, ordered);
  uint32_t scope = a.scope == SRP_SCOPE_SEGMENTS ? tokens.inside : ~0u;
  if (a.scope == SRP_SCOPE_MASK) scope = Lane::flags(a.mask, begin, tokens.end, tokens.lane);
  if (a.S == 0) scope = 0;
  SRP_UNROLL
  for (int e = 0; e < kHeld; ++e)
    tokens.held.at[e] = static_cast<F>(scope >> e & 1 ? tokens.at[e] - mean : tokens.at[e]);
  F* const out = static_cast<F*>(a.modulated);
  tokens.held.write(out, aligned16(out, 0), begin, tokens.end, tokens.lane);
}

// Launchers

template <class F>
srp_status launch_spans(srp_queue* queue, const srp_modulate_spans_args& a) {
  const char* const op = "modulate_spans";
  const int64_t checks = (a.S > a.B ? a.S : a.B) / kThreads + 1, tiles = (a.n + kBlockTokens - 1) / kBlockTokens;
  SRP_TRY(check_grid(op, checks));
  SRP_TRY(check_grid(op, tiles));
  const Scratch first(queue, static_cast<size_t>(a.S) * sizeof(double));
  const Scratch sums(queue, static_cast<size_t>(checks) * sizeof(double));
  const Scratch disorder(queue, static_cast<size_t>(checks));
  SRP_TRY(first.status());
  SRP_TRY(sums.status());
  SRP_TRY(disorder.status());
  const SpanScratch scratch = {first.as<double>(), sums.as<double>(), disorder.as<uint8_t>()};
  const dim3 block(kThreads), token_blocks(static_cast<unsigned>(tiles > 0 ? tiles : 1));
  SRP_LAUNCH((check_spans_kernel<F>), dim3(static_cast<unsigned>(checks)), block, 0, queue->stream, a, scratch,
             queue->faults);
  if (a.S > 1)
    SRP_LAUNCH((first_tokens_kernel<F>), token_blocks, block, 0, queue->stream, a, scratch, tickets_of(queue));
  SRP_LAUNCH((apply_spans_kernel<F>), token_blocks, block, 0, queue->stream, a, scratch);
  return launched(op);
}

}  // namespace

srp_status modulate_spans(srp_queue* queue, const srp_modulate_spans_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? launch_spans<double>(queue, *a) : launch_spans<float>(queue, *a);
}

}  // namespace srp::cuda
