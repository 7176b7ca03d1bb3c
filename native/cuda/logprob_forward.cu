// Log-probs and entropy of logits, and the sums of a shard (contract: surprisal/logprob.h): each logit is read once.
// Which warps sum a row: logprob_team.cuh; how: logprob_sums.cuh; how its logits come: logprob_stream.cuh.
//
// Minimum bytes: s V N (logits) + 4 K N (targets) + 4 bytes a row and output; partial: s V N + 4 K N + 8 (4 + K) N.
#include "backend.cuh"
#include "logprob_team.cuh"

namespace srp::cuda {
namespace {

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

// Five blocks of 128 threads, each warp with 8 KB of its own: up to 160 KB on their way to a multiprocessor. The sum of squares leaves
// registers for four.
//
// ledger    logprob_forward
// bytes     s V N + 4 K N + 4 N outputs
// limit     memory
// shared    36864
// notes     logits once; one power of two an id; s: bytes of a logit; outputs: [N] arrays asked for, logprob counts K
// threads   128
// variants  caps and sums of squares take registers and instructions from every id: calls without them have code of their own.
//           forward_short_kernel: what comes behind a row's sums is shared by rows
// turn      32 of forward_kernel<BFloat16, false, false>: 16 shared, no special + 16 shared, 64 loaded, 32 special; 2 bytes; at
//           most 9.6, 9.8 on sm_89; must 0.85; before 10.4, 10.2 on sm_89
// measured  0.75 of a copy in the worst of its cases, by a loop that executed 15.1 where it counted 10.1; no card has run this one
//           yet
template <class T, bool kCapped, bool kSquares>
__global__ void __launch_bounds__(kTeamThreads, kSquares ? 4 : 5)
    forward_kernel(srp_logprob_forward_args a, Team team, RowSums* scratch, uint32_t* tickets, uint32_t* faults) {
  SRP_DYN_SHARED(RowSums, memory);
  const LogitMap map = map_of<kCapped>(a);
  const int64_t n = team.row(blockIdx.x);
  if (!kept(a.mask, n)) {
    if (blockIdx.x % team.blocks == 0 && threadIdx.x == 0) clear_row(a, n);
    return;
  }
  const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
  RowSums sums;
  if (!sum_row<kCapped, kSquares>(map, x, static_cast<uint32_t>(a.V), team, n, memory, scratch, tickets, sums)) return;
  const RowResult row = finish_row(map, sums);
  if (threadIdx.x % kWarp == 0) store_row(a, n, row);
  for (int64_t k = threadIdx.x % kWarp; k < a.K && a.log_probs; k += kWarp) store_logprob<T>(a, map, n, row, k, faults);
}

// The slices of a warp's rows, one after the other: those of `rows`, a bit each, of which row r begins at x + r stride.
template <class T>
struct SlicesOfRows {
  const T* x;
  int64_t stride;
  unsigned rows;
  uint32_t slices, slice = 0;  // `slices`: of a row

  __device__ __forceinline__ int row() const { return __ffs(static_cast<int>(rows)) - 1; }
  __device__ __forceinline__ SliceAt<T> at() const {
    return rows ? SliceAt<T>{x + row() * stride, slice} : SliceAt<T>{x, slices};
  }
  __device__ __forceinline__ void advance() {
    if (++slice < slices) return;
    slice = 0;
    rows &= rows - 1;
  }
};

// Many rows of one slice or two: a warp sums as many as `rows` says, and its lanes finish one each.
//
// ledger    logprob_forward
// bytes     s V N + 4 K N + 4 N outputs
// limit     memory
// threads   128
// shared    36864
// notes     many rows of up to two slices of 8 KB; what comes behind a row's sums is computed for all rows of a warp together
// variants  as forward_kernel; it stays for rows of one slice or two, longer ones need the warps of a block
// turn      V = 4,096: 896 of forward_short_kernel<BFloat16, false, false>: whole, 64 loaded, 33 special, 10 shuffles + 6 x 64
//           loaded, 32 special, 10 shuffles + 21 x 16 shared, no special + 21 x 16 shared, 64 loaded, 32 special, no shuffles; 2
//           bytes; at most 11.2, 11.3 on sm_89; must 0.75
// measured  0.74 of a copy, by forward_kernel with a row a warp; no card has run this one yet
// turn      V = 1,024: 800 of forward_short_kernel<BFloat16, false, false>: whole, 64 loaded, 33 special, 10 shuffles + 24 x 64
//           loaded, 32 special, 10 shuffles; 2 bytes; at most 14.2, 14.3 on sm_89; must 0.55
// measured  0.41 of a copy, by forward_kernel with a row a warp; no card has run this one yet
template <class T, bool kCapped, bool kSquares>
__global__ void __launch_bounds__(kTeamThreads, kSquares ? 4 : 5)
    forward_short_kernel(srp_logprob_forward_args a, int rows, uint32_t* faults) {
  using Stream = SliceStream<T, kCapped, kSquares>;
  SRP_DYN_SHARED(RowSums, memory);
  const LogitMap map = map_of<kCapped>(a);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t V = static_cast<uint32_t>(a.V), slices = slices_of<T>(V);
  const int64_t first = (int64_t{blockIdx.x} * kTeamWarps + warp) * rows, n = first + lane;
  const bool inside = lane < rows && n < a.N, read = inside && kept(a.mask, n);
  RowSums* const states = memory + warp * kWarp;
  const uint32_t slots = Stream::short_rows(V);
  Stream stream(map, V, reinterpret_cast<char*>(memory + kTeamThreads) + warp * Stream::kBytes, slots);
  SlicesOfRows<T> now = {static_cast<const T*>(a.logits) + first * a.stride, a.stride, __ballot_sync(kFullWarp, read),
                         slices};
  SlicesOfRows<T> ahead = now;
  for (uint32_t s = 0; s < slots; ++s, ahead.advance()) stream.begin(ahead.at());
  for (; now.rows != 0; now.advance(), ahead.advance()) {
    const RowSums found = stream.take(now.at(), ahead.at());
    if (lane == 0) states[now.row() * slices + now.slice] = found;
  }
  __syncwarp();
  if (!inside) return;
  if (!read) return clear_row(a, n);
  const RowSums* const own = states + lane * slices;
  const RowResult row = finish_row(map, slices == 1 ? own[0] : merge_sums(map, own[0], own[1]));
  store_row(a, n, row);
  for (int64_t k = 0; k < a.K && a.log_probs; ++k) store_logprob<T>(a, map, n, row, k, faults);
}

// ledger    logprob_partial
// bytes     s V N + 4 K N + 8 (4 + K) N
// limit     memory
// shared    36864
// notes     logits once, state written
// threads   128
// variants  as forward_kernel
// turn      32 of partial_kernel<BFloat16, false>: 16 shared, no special + 16 shared, 64 loaded, 32 special; 2 bytes; at most 10.7,
//           10.9 on sm_89; before 11.5, 11.3 on sm_89
template <class T, bool kCapped>
__global__ void __launch_bounds__(kTeamThreads, 4)
    partial_kernel(srp_logprob_partial_args a, Team team, RowSums* scratch, uint32_t* tickets, uint32_t* faults) {
  SRP_DYN_SHARED(RowSums, memory);
  const LogitMap map = map_of<kCapped>(a);
  const int64_t n = team.row(blockIdx.x);
  const bool read = kept(a.mask, n);
  if (!read && blockIdx.x % team.blocks != 0) return;
  const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
  double* const state = a.states + n * (kStateSums + a.K);
  RowSums sums = {0, kIgnoredRest, 0, 0};
  if (read ? !sum_row<kCapped, true>(map, x, static_cast<uint32_t>(a.V), team, n, memory, scratch, tickets, sums)
           : threadIdx.x >= kWarp)
    return;
  if (threadIdx.x % kWarp == 0) store_state(state, sums);
  for (int64_t k = threadIdx.x % kWarp; k < a.K; k += kWarp) {
    const int64_t id = read ? a.targets[n * a.K + k] : 0, column = id - a.vocab_start;
    if (read && (id < 0 || id >= a.vocab_size)) raise(faults, SRP_FAULT_INDEX);
    const bool here = read && column >= 0 && column < a.V;
    state[kStateSums + k] = here ? load(x, column) : read ? INFINITY : 0;
  }
}

// Launchers

template <class T, class Args>
srp_status launch(srp_queue* queue, const Args& a, const char* op,
                  void (*kernel)(Args, Team, RowSums*, uint32_t*, uint32_t*)) {
  Team team = team_for<T>(a.V);
  const size_t bytes = team.bytes(a.softcap != 0 ? 0 : kSliceBytes);
  int64_t at_work = 0;
  SRP_TRY(clusters_at_work(queue, kernel, team.threads(), 1, bytes, &at_work));
  share_rows(&team, a.N, at_work);
  SRP_TRY(check_grid(op, a.N * team.blocks));
  const dim3 grid(static_cast<unsigned>(a.N * team.blocks)), block(static_cast<unsigned>(team.threads()));
  const Scratch scratch(queue, team.blocks == 1 ? 0 : static_cast<size_t>(a.N * team.slices) * sizeof(RowSums));
  SRP_TRY(scratch.status());
  SRP_LAUNCH(kernel, grid, block, bytes, queue->stream, a, team, scratch.as<RowSums>(), tickets_of(queue),
             queue->faults);
  return launched(op);
}

// Rows of one slice or two, several to a warp: as many as leave no multiprocessor without work, and as its lanes have places for. Targets
// of a row are one lane's.
template <class T>
srp_status launch_short(srp_queue* queue, const srp_logprob_forward_args& a,
                        void (*kernel)(srp_logprob_forward_args, int, uint32_t*), bool* launched_it) {
  constexpr int64_t kFewTargets = 8;
  const int64_t slices = slices_of<T>(a.V);
  if (slices < 1 || slices > 2 || a.K > kFewTargets) return SRP_OK;
  const size_t bytes = kTeamThreads * sizeof(RowSums) + (a.softcap != 0 ? 0 : kTeamWarps * kSliceBytes);
  int64_t at_work = 0;
  SRP_TRY(clusters_at_work(queue, kernel, kTeamThreads, 1, bytes, &at_work));
  const int64_t warps = (at_work < 1 ? 1 : at_work) * kTeamWarps, wanted = (a.N + warps - 1) / warps;
  if (wanted == 1) return SRP_OK;
  const int64_t rows = wanted < kWarp / slices ? wanted : kWarp / slices, of_block = kTeamWarps * rows;
  SRP_LAUNCH(kernel, dim3(static_cast<unsigned>((a.N + of_block - 1) / of_block)), dim3(kTeamThreads), bytes,
             queue->stream, a, static_cast<int>(rows), queue->faults);
  *launched_it = true;
  return launched("logprob_forward");
}

template <class T, bool kCapped, bool kSquares>
srp_status forward(srp_queue* queue, const srp_logprob_forward_args& a) {
  bool is_launched = false;
  SRP_TRY(launch_short<T>(queue, a, forward_short_kernel<T, kCapped, kSquares>, &is_launched));
  if (is_launched) return SRP_OK;
  return launch<T>(queue, a, "logprob_forward", forward_kernel<T, kCapped, kSquares>);
}

template <class T>
srp_status forward(srp_queue* queue, const srp_logprob_forward_args& a) {
  if (a.softcap != 0) return forward<T, true, true>(queue, a);
  return a.sum_squares ? forward<T, false, true>(queue, a) : forward<T, false, false>(queue, a);
}

template <class T>
srp_status partial(srp_queue* queue, const srp_logprob_partial_args& a) {
  return launch<T>(queue, a, "logprob_partial", a.softcap != 0 ? partial_kernel<T, true> : partial_kernel<T, false>);
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
