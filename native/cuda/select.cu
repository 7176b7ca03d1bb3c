// Quantile and top-k masks (contract: surprisal/select.h). Nothing is sorted or copied to memory.
//
//   rows, and batches of at most 16384 tokens   one launch, a block a unit: its keys lie in shared memory where 40 KiB hold them, else
//                         they are read anew; the key at a rank is found digit by digit (select_ranks.cuh)
//   larger batches        all of the device, in 3 launches for float32 and 6 for float64 that find the digits, and one that writes
//                         (select_batch.cuh, select_top.cuh)
//
// Minimum bytes: s + mask a token, and 1 selected. A batch is read once a launch: 4 times (float32), 7 times (float64), of which
// later ones come from L2 as far as it reaches.
#include "backend.cuh"
#include "common.cuh"
#include "select_ranks.cuh"
#include "select_top.cuh"

namespace srp::cuda {
namespace {

constexpr int64_t kOneBlock = 16384;
constexpr int64_t kLongRow = 1024;  // tokens
constexpr int kLongRowThreads = 256, kShortRowThreads = 64, kBatchBlockThreads = 512;
constexpr int64_t kKeyBytes = 40 * 1024;  // of a block

// ---- a block a unit

// Candidates in memory.
template <class F>
struct Candidates {
  using Key = decltype(order_key(F{}));
  const F* values;
  const uint8_t* mask;
  Range range;

  __device__ __forceinline__ bool has(int64_t i) const { return candidate(mask, i); }
  __device__ __forceinline__ Key key(int64_t i) const { return order_key(values[i]); }
};

// Candidates in shared memory. No number has the largest key.
template <class KeyType>
struct NearCandidates {
  using Key = KeyType;
  static constexpr Key kNone = ~Key{0};
  const Key* keys;
  Range range;

  __device__ __forceinline__ bool has(int64_t i) const { return keys[i - range.begin] != kNone; }
  __device__ __forceinline__ Key key(int64_t i) const { return keys[i - range.begin]; }
};

// All threads of the block call it.
template <class F, class Key>
__device__ NearCandidates<Key> fetch(const Candidates<F>& far, Key* keys) {
  const Range range = far.range;
  const bool aligned = aligned16(far.values, range.begin * int64_t{sizeof(F)});
  for (int64_t at = range.begin; at < range.end; at += kPiece)
    for (int lane = threadIdx.x; lane < kPieceLanes; lane += blockDim.x) {
      if (Held<F>::position(at, lane, 0) >= range.end) break;
      Held<F> held;
      const uint32_t kept = Held<F>::flags(far.mask, at, range.end, lane);
      held.read(far.values, aligned, at, range.end, lane);
      SRP_UNROLL
      for (int e = 0; e < kHeld; ++e) {
        const int64_t i = Held<F>::position(at, lane, e / Held<F>::kWide) + e % Held<F>::kWide;
        if (i < range.end) keys[i - range.begin] = kept >> e & 1 ? order_key(held.at[e]) : ~Key{0};
      }
    }
  __syncthreads();
  return {keys, range};
}

template <class Candidates>
__device__ double threshold_of(const Candidates& candidates, double q) {
  using Key = typename Candidates::Key;
  int64_t count = 0, nans = 0;
  each_candidate(candidates, [&](Key key) {
    ++count;
    nans += key == 0;
  });
  count = block_sum(count);
  nans = block_sum(nans);
  if (count == 0 || nans > 0) return NAN;
  const QuantileRank rank = quantile_rank(q, count);
  const auto low = key_at_rank(candidates, rank.lower);
  Key high = low.key;
  if (rank.fraction > 0 && rank.lower + 1 == low.below + low.equal) {  // the last of its equals: the next larger key
    high = ~Key{0};
    each_candidate(candidates, [&](Key other) {
      if (other > low.key && other < high) high = other;
    });
    high = block_reduce(high, Min{});
  }
  return interpolate(key_value(low.key), key_value(high), rank.fraction);
}

template <class Candidates>
__device__ void quantile(const srp_select_quantile_args& a, const Candidates& candidates) {
  const double threshold = threshold_of(candidates, a.q);
  if (a.thresholds && threadIdx.x == 0) a.thresholds[blockIdx.x] = threshold;
  if (!a.selected) return;
  const Range range = candidates.range;
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x)
    a.selected[i] = candidates.has(i) && key_value(candidates.key(i)) >= threshold;
}

template <class Candidates>
__device__ void top(const srp_select_top_args& a, const Candidates& candidates, uint32_t* faults) {
  const int64_t count = count_candidates(candidates), k = top_count(a, count);
  if (a.counts && threadIdx.x == 0) a.counts[blockIdx.x] = static_cast<int32_t>(k);
  if (mark_top(candidates, count, k, a.selected)) raise(faults, SRP_FAULT_FINITE);
}

template <class F, class Args>
__device__ Candidates<F> unit_of(const Args& a, uint32_t* faults) {
  const Range range = unit_range(a, blockIdx.x);
  if (!range.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  return {static_cast<const F*>(a.values), a.mask, range};
}

// `room`: how many keys shared memory has room for.
//
// ledger    select_quantile
// bytes     n (s + mask) + n selected + 8 B
// limit     latency
// notes     a block a row, or a batch of at most 16384 tokens; keys of 40 KiB at most stay in shared memory for their
//           four or eight passes
// shared    40960
template <class F>
__global__ void __launch_bounds__(kBatchBlockThreads, 1)
    quantile_kernel(srp_select_quantile_args a, int64_t room, uint32_t* faults) {
  SRP_DYN_SHARED(typename Candidates<F>::Key, keys);
  const Candidates<F> candidates = unit_of<F>(a, faults);
  if (candidates.range.end - candidates.range.begin <= room)
    quantile(a, fetch(candidates, keys));
  else
    quantile(a, candidates);
}

// ledger    select_top
// bytes     n (s + mask) + n selected + 4 B
// limit     latency
// notes     as quantile_kernel
// shared    40960
template <class F>
__global__ void __launch_bounds__(kBatchBlockThreads, 1)
    top_kernel(srp_select_top_args a, int64_t room, uint32_t* faults) {
  SRP_DYN_SHARED(typename Candidates<F>::Key, keys);
  const Candidates<F> candidates = unit_of<F>(a, faults);
  if (candidates.range.end - candidates.range.begin <= room)
    top(a, fetch(candidates, keys), faults);
  else
    top(a, candidates, faults);
}

// ---- all of the device

struct WantedQuantile {
  static constexpr int kRanks = 2;
  static constexpr bool kTakesNan = true;
  double q;

  __device__ bool ranks(int64_t count, int64_t nans, int64_t (&to)[2]) const {
    if (count == 0 || nans > 0) return false;
    to[0] = quantile_rank(q, count).lower;
    to[1] = to[0] + 1 < count ? to[0] + 1 : to[0];
    return true;
  }
};

// A tile a block; without `selected` one block for the threshold alone.
//
// ledger    select_quantile
// bytes     n (s + mask) + n selected
// limit     memory
// notes     the last launch of a larger batch. Bounds without a number of blocks make ptxas spill for sm_80
// turn      16 of mark_quantile_kernel<float>: whole, 4 loads16, 16 stored; 6 bytes; at most 20.5, 20.4 on sm_89
template <class F>
__global__ void __launch_bounds__(kBatchThreads, 4)
    mark_quantile_kernel(ValueKeys<F> keys, srp_select_quantile_args a,
                         const Ranking<typename ValueKeys<F>::Key, 2>* state) {
  const auto now = *state;
  const double threshold = now.wanted ? interpolate(key_value(now.found[0].key), key_value(now.found[1].key),
                                                    quantile_rank(a.q, now.count).fraction)
                                      : static_cast<double>(NAN);
  if (a.thresholds && blockIdx.x == 0 && threadIdx.x == 0) *a.thresholds = threshold;
  if (!a.selected) return;
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t begin = int64_t{blockIdx.x} * kPiece;
  Held<F> held;
  uint32_t selected = Held<F>::flags(keys.mask, begin, keys.n, lane);
  held.read(keys.values, aligned16(keys.values, 0), begin, keys.n, lane);
  SRP_UNROLL
  for (int e = 0; e < kHeld; ++e)
    if (!(held.at[e] >= threshold)) selected &= ~(1u << e);
  Held<F>::write_flags(a.selected, begin, keys.n, lane, selected);
}

// Launchers

template <class F, class Args>
ValueKeys<F> keys_of(const Args& a) {
  return {static_cast<const F*>(a.values), a.mask, a.n};
}

template <class F>
srp_status batch(srp_queue* queue, const srp_select_quantile_args& a, const char* op) {
  const ValueKeys<F> keys = keys_of<F>(a);
  const BatchMemory<typename ValueKeys<F>::Key, 2> memory(queue, 0);
  SRP_TRY(memory.clear(op));
  rank_batch(queue, keys, WantedQuantile{a.q}, memory);
  const dim3 grid(a.selected ? static_cast<unsigned>(tiles_of(a.n)) : 1u);
  SRP_LAUNCH((mark_quantile_kernel<F>), grid, dim3(kBatchThreads), 0, queue->stream, keys, a, memory.state());
  return launched(op);
}

template <class F>
srp_status batch(srp_queue* queue, const srp_select_top_args& a, const char* op) {
  return top_of_batch(queue, keys_of<F>(a), a, op);
}

// Keys that a block of the unit kernels has room for.
template <class F, class Args>
int64_t room_of(const Args& a) {
  const int64_t longest = a.over == SRP_OVER_ALL || a.offsets ? a.n : a.T, most = kKeyBytes / int64_t{sizeof(F)};
  return longest < most ? longest : most;
}

template <class F, class Args, class Launch>
srp_status launch(srp_queue* queue, const Args& a, const char* op, const Launch& launch_units) {
  if (a.over == SRP_OVER_ALL && a.n > kOneBlock) return batch<F>(queue, a, op);
  const int64_t units = unit_count(a);
  if (units == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const int threads = a.over == SRP_OVER_ALL   ? kBatchBlockThreads
                      : a.n / units > kLongRow ? kLongRowThreads
                                               : kShortRowThreads;
  const int64_t room = room_of<F>(a);
  launch_units(F{}, dim3(static_cast<unsigned>(units)), dim3(threads), static_cast<size_t>(room) * sizeof(F), room);
  return launched(op);
}

template <class Args, class Launch>
srp_status select_units(srp_queue* queue, const Args* a, const char* op, const Launch& launch_units) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid(op, unit_count(*a)));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? launch<double>(queue, *a, op, launch_units) : launch<float>(queue, *a, op, launch_units);
}

}  // namespace

srp_status select_quantile(srp_queue* queue, const srp_select_quantile_args* a) {
  return select_units(queue, a, "select_quantile", [&](auto kind, dim3 grid, dim3 block, size_t bytes, int64_t room) {
    using F = decltype(kind);
    SRP_LAUNCH((quantile_kernel<F>), grid, block, bytes, queue->stream, *a, room, queue->faults);
  });
}

srp_status select_top(srp_queue* queue, const srp_select_top_args* a) {
  return select_units(queue, a, "select_top", [&](auto kind, dim3 grid, dim3 block, size_t bytes, int64_t room) {
    using F = decltype(kind);
    SRP_LAUNCH((top_kernel<F>), grid, block, bytes, queue->stream, *a, room, queue->faults);
  });
}

}  // namespace srp::cuda
