// Log-probs and entropy of logits, and the sums of a shard (contract: surprisal/logprob.h): each logit is read once.
// Which warps sum a row: logprob_team.cuh; how: logprob_sums.cuh.
//
// Minimum bytes: s V N (logits) + 4 K N (targets) + 4 bytes a row and output; partial: s V N + 4 K N + 8 (4 + K) N.
#include "backend.cuh"
#include "logprob_team.cuh"

namespace srp::cuda {
namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kMostBlocks = 4;  // with five, sm_75 spills in bfloat16
#else
constexpr int kMostBlocks = 5;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kShortBlocks = 2;  // with three, sm_120 spills
#else
constexpr int kShortBlocks = 4;
#endif

// Of row n by one thread.
template <class T>
__device__ __forceinline__ void store_logprob(const srp_logprob_forward_args& a, const LogitMap& map, int64_t n,
                                              const RowResult& row, int64_t k, uint32_t* faults) {
  const int64_t i = n * a.K + k, id = a.targets[i];
  const bool known = id >= 0 && id < a.V;
  if (!known) raise(faults, SRP_FAULT_INDEX);
  const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
  store(a.log_probs, i, known ? target_logprob(map, row, load(x, id)) : NAN);
}

// Five blocks of 128 threads, each thread with loads of 64 bytes in flight: 40 KB on a multiprocessor, where 24 KB are enough for
// 4.5 TB/s at a latency of 0.7 us. The sum of squares leaves registers for four blocks, 32 KB; so do the two tanh of a softcap.
//
// ledger    logprob_forward
// bytes     s V N + 4 K N + 4 N outputs
// limit     memory
// notes     logits once; one power of two an id; s: bytes of a logit; outputs: [N] arrays asked for, logprob counts K
// variants  caps and sums of squares take registers and instructions from every id: calls without them have code of their own.
//           forward_short_kernel: what comes behind a row's sums is shared by rows
// threads   128
// turn      128 of forward_kernel<BFloat16, false, false>: 64 loaded, 33 special, 25 shuffles + 1.88 x 64 loaded, 32 special, no
//           shuffles + 1.12 x 64 loaded, 33 special, 5 shuffles; 2 bytes; at most 11.8, 12 on sm_89; must 0.85; before 10.4;
//           executed 15.1
// measured  0.75 of a copy in the worst of its cases, at 15.1 instructions executed
template <class T, bool kCapped, bool kSquares>
__global__ void __launch_bounds__(kTeamThreads, kCapped || kSquares ? 4 : kMostBlocks)
    forward_kernel(srp_logprob_forward_args a, Teams teams, RowSums* scratch, uint32_t* tickets, uint32_t* faults) {
  const LogitMap map = map_of<kCapped>(a);
  const Place place = Place::of(teams);
  const int64_t n = place.row;
  const bool inside = n < a.N, read = inside && kept(a.mask, n);
  const T* const x = static_cast<const T*>(a.logits) + (read ? n : 0) * a.stride;
  if (inside && !read && place.worker == 0 && threadIdx.x % kWarp == 0) clear_row(a, n);
  RowSums sums;
  if (!sum_rows<kCapped, kSquares>(map, x, static_cast<uint32_t>(a.V), teams, place, read, scratch, tickets, sums))
    return;
  const RowResult row = finish_row(map, sums);
  if (threadIdx.x % kWarp == 0) store_row(a, n, row);
  for (int64_t k = threadIdx.x % kWarp; k < a.K && a.log_probs; k += kWarp) store_logprob<T>(a, map, n, row, k, faults);
}

// Many rows of at most one slice: a warp sums as many as `rows` says, and its lanes finish one each.
//
// ledger    logprob_forward
// bytes     s V N + 4 K N + 4 N outputs
// limit     memory
// threads   128
// notes     many rows of up to 4096 ids; what comes behind a row's sums is computed for all rows of a warp together
// variants  as forward_kernel; it stays for rows of one slice alone, longer ones need the warps of a block
// turn      V = 4,096: 896 of forward_short_kernel<BFloat16, false, false>: whole, 64 loaded, 33 special, 25 shuffles, 12 float64,
//           4 stored + 6 x 64 loaded, 33 special, 25 shuffles + 13.2 x 64 loaded, 32 special, no shuffles + 7.8 x 64 loaded, 33
//           special, 5 shuffles; 2 bytes; at most 12.2; must 0.75
// measured  0.74 of a copy, by forward_kernel with a row a warp; no card has run this one yet
// turn      V = 1,024: 800 of forward_short_kernel<BFloat16, false, false>: whole, 64 loaded, 33 special, 25 shuffles, 12 float64,
//           4 stored + 24 x 64 loaded, 33 special, 25 shuffles; 2 bytes; at most 15.9, 15.8 on sm_89; must 0.55
// measured  0.41 of a copy, by forward_kernel with a row a warp; no card has run this one yet
template <class T, bool kCapped, bool kSquares>
__global__ void __launch_bounds__(kTeamThreads, kShortBlocks)
    forward_short_kernel(srp_logprob_forward_args a, int rows, uint32_t* faults) {
  SRP_SHARED(RowSums, found, kTeamThreads);
  const LogitMap map = map_of<kCapped>(a);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t first = (int64_t{blockIdx.x} * kTeamWarps + warp) * rows, n = first + lane;
  const bool inside = lane < rows && n < a.N, read = inside && kept(a.mask, n);
  RowSums* const states = found + warp * kWarp;
  sum_short_rows<kCapped, kSquares>(map, static_cast<const T*>(a.logits) + first * a.stride, a.stride,
                                    static_cast<uint32_t>(a.V), __ballot_sync(kFullWarp, read), states);
  __syncwarp();
  if (!inside) return;
  if (!read) return clear_row(a, n);
  const RowResult row = finish_row(map, states[lane]);
  store_row(a, n, row);
  for (int64_t k = 0; k < a.K && a.log_probs; ++k) store_logprob<T>(a, map, n, row, k, faults);
}

// ledger    logprob_partial
// bytes     s V N + 4 K N + 8 (4 + K) N
// limit     memory
// notes     logits once, state written
// variants  as forward_kernel
// threads   128
// turn      128 of partial_kernel<BFloat16, false>: 64 loaded, 33 special, 35 shuffles + 1.88 x 64 loaded, 32 special, no shuffles
//           + 1.12 x 64 loaded, 33 special, 5 shuffles; 2 bytes; at most 13.1, 13.2 on sm_89; before 11.5
template <class T, bool kCapped>
__global__ void __launch_bounds__(kTeamThreads, 4)
    partial_kernel(srp_logprob_partial_args a, Teams teams, RowSums* scratch, uint32_t* tickets, uint32_t* faults) {
  const LogitMap map = map_of<kCapped>(a);
  const Place place = Place::of(teams);
  const int64_t n = place.row;
  const bool inside = n < a.N, read = inside && kept(a.mask, n);
  const T* const x = static_cast<const T*>(a.logits) + (read ? n : 0) * a.stride;
  double* const state = a.states + (inside ? n : 0) * (kStateSums + a.K);
  RowSums sums;
  bool mine = sum_rows<kCapped, true>(map, x, static_cast<uint32_t>(a.V), teams, place, read, scratch, tickets, sums);
  if (inside && !read && place.worker == 0) {
    sums = {0, kIgnoredRest, 0, 0};
    mine = true;
  }
  if (!mine) return;
  if (threadIdx.x % kWarp == 0) store_state(state, sums);
  for (int64_t k = threadIdx.x % kWarp; k < a.K; k += kWarp) {
    const int64_t id = read ? a.targets[n * a.K + k] : 0, column = id - a.vocab_start;
    if (read && (id < 0 || id >= a.vocab_size)) raise(faults, SRP_FAULT_INDEX);
    const bool here = read && column >= 0 && column < a.V;
    state[kStateSums + k] = here ? load(x, column) : read ? INFINITY : 0;
  }
}

// Launchers

template <class Args>
srp_status launch(srp_queue* queue, const Args& a, const char* op,
                  void (*kernel)(Args, Teams, RowSums*, uint32_t*, uint32_t*)) {
  const Teams teams = teams_for(a.N, a.V, queue->multiprocessors);
  SRP_TRY(check_grid(op, teams.grid(a.N)));
  const dim3 grid(static_cast<unsigned>(teams.grid(a.N))), block(kTeamThreads);
  if (teams.blocks == 1) {
    SRP_LAUNCH(kernel, grid, block, 0, queue->stream, a, teams, nullptr, tickets_of(queue), queue->faults);
    return launched(op);
  }
  const Scratch scratch(queue, static_cast<size_t>(a.N * teams.slices) * sizeof(RowSums));
  SRP_TRY(scratch.status());
  SRP_LAUNCH(kernel, grid, block, 0, queue->stream, a, teams, scratch.as<RowSums>(), tickets_of(queue), queue->faults);
  return launched(op);
}

// How many rows of at most one slice a warp takes: as many as leave no multiprocessor without work. Targets of a row are one lane's.
int short_rows_of_warp(const srp_logprob_forward_args& a, int multiprocessors) {
  constexpr int64_t kFewTargets = 8;
  if (slices_of(a.V) != 1 || a.K > kFewTargets) return 1;
  const int64_t warps = kBlocksAtWork * kTeamWarps * multiprocessors, rows = (a.N + warps - 1) / warps;
  return static_cast<int>(rows < kWarp ? rows : kWarp);
}

template <class T>
srp_status forward(srp_queue* queue, const srp_logprob_forward_args& a) {
  constexpr const char* kOp = "logprob_forward";
  const int rows = short_rows_of_warp(a, queue->multiprocessors);
  if (rows > 1) {
    const auto kernel = a.softcap != 0  ? forward_short_kernel<T, true, true>
                        : a.sum_squares ? forward_short_kernel<T, false, true>
                                        : forward_short_kernel<T, false, false>;
    SRP_LAUNCH(kernel, dim3(static_cast<unsigned>((a.N + kTeamWarps * rows - 1) / (kTeamWarps * rows))),
               dim3(kTeamThreads), 0, queue->stream, a, rows, queue->faults);
    return launched(kOp);
  }
  if (a.softcap != 0) return launch(queue, a, kOp, forward_kernel<T, true, true>);
  if (a.sum_squares) return launch(queue, a, kOp, forward_kernel<T, false, true>);
  return launch(queue, a, kOp, forward_kernel<T, false, false>);
}

template <class T>
srp_status partial(srp_queue* queue, const srp_logprob_partial_args& a) {
  constexpr const char* kOp = "logprob_partial";
  return launch(queue, a, kOp, a.softcap != 0 ? partial_kernel<T, true> : partial_kernel<T, false>);
}

}  // namespace

srp_status logprob_forward(srp_queue* queue, const srp_logprob_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  if (a->dtype == SRP_F32) return forward<float>(queue, *a);
  return a->dtype == SRP_F16 ? forward<Half>(queue, *a) : forward<BFloat16>(queue, *a);
}

srp_status logprob_partial(srp_queue* queue, const srp_logprob_partial_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  if (a->dtype == SRP_F32) return partial<float>(queue, *a);
  return a->dtype == SRP_F16 ? partial<Half>(queue, *a) : partial<BFloat16>(queue, *a);
}

}  // namespace srp::cuda
