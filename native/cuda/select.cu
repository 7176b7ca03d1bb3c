// Quantile and top-k masks (contract: surprisal/select.h). A block takes a unit: it finds the key at a rank digit by digit,
// by histograms in shared memory (counts are integers, so the order of additions does not matter), then strides over
// the unit once more to write the mask. Nothing is sorted or copied.
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/select_keys.h"

namespace srp::cuda {
namespace {

constexpr int kRowThreads = 256;
// One block for the whole batch: as wide as a block can be.
constexpr int kAllThreads = 1024;

// What the thread that finds the digit tells the others.
struct Picked {
  uint32_t digit, before, count;
};

// The digit in whose bin `rank` falls, found by the first warp: each lane adds up its share of the bins.
__device__ void pick_digit(const uint32_t* bins, uint32_t rank, Picked* picked) {
  constexpr int kShare = kDigits / kWarp;
  if (threadIdx.x >= kWarp) return;
  const int first = static_cast<int>(threadIdx.x) * kShare;
  uint32_t own = 0;
  for (int d = first; d < first + kShare; ++d) own += bins[d];
  uint32_t through = own;  // the sum of this lane's bins and all before
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, through, distance);
    if (static_cast<int>(threadIdx.x) >= distance) through += other;
  }
  uint32_t before = through - own;
  if (rank < before || rank >= through) return;
  int d = first;
  while (before + bins[d] <= rank) before += bins[d++];
  *picked = {static_cast<uint32_t>(d), before, bins[d]};
}

template <class F, class Args>
struct Candidates {
  using Key = decltype(order_key(F{}));
  const Args& a;
  Range range;

  template <class Visit>
  __device__ void each(Visit visit) const {
    const F* const values = static_cast<const F*>(a.values);
    for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x)
      if (candidate(a.mask, i)) visit(i, order_key(values[i]));
  }

  __device__ int64_t count() const {
    int64_t own = 0;
    for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x) own += candidate(a.mask, i);
    return block_sum(own);
  }

  // 0 <= rank < number of candidates, the same in all threads of the block, which get the same answer.
  __device__ RankedKey<Key> at_rank(int64_t rank) const {
    SRP_SHARED(uint32_t, bins, kDigits);
    SRP_SHARED(Picked, picked, 1);
    RankedKey<Key> found = {0, 0, 0};
    for (int shift = 8 * static_cast<int>(sizeof(Key)) - kDigitBits; shift >= 0; shift -= kDigitBits) {
      for (int d = threadIdx.x; d < kDigits; d += blockDim.x) bins[d] = 0;
      __syncthreads();
      each([&](int64_t, Key key) {
        if (shares_digits(key, found.key, shift)) atomicAdd(&bins[digit(key, shift)], 1u);
      });
      __syncthreads();
      pick_digit(bins, static_cast<uint32_t>(rank - found.below), picked);
      __syncthreads();  // also: the bins are read before the next round clears them
      found.key |= static_cast<Key>(picked->digit) << shift;
      found.below += picked->before;
      found.equal = picked->count;
    }
    return found;
  }

  // The smallest key above `key`, which must exist.
  __device__ Key next(Key key) const {
    Key smallest = ~Key{0};
    each([&](int64_t, Key other) {
      if (other > key && other < smallest) smallest = other;
    });
    return block_reduce(smallest, Min{});
  }
};

template <class F>
__device__ double threshold_of(const Candidates<F, srp_select_quantile_args>& candidates) {
  int64_t count = 0, nans = 0;
  candidates.each([&](int64_t, auto key) {
    ++count;
    nans += key == 0;
  });
  count = block_sum(count);
  nans = block_sum(nans);
  if (count == 0 || nans > 0) return NAN;
  const QuantileRank rank = quantile_rank(candidates.a.q, count);
  const auto low = candidates.at_rank(rank.lower);
  const bool last_of_equals = rank.lower + 1 == low.below + low.equal;
  const auto high = rank.fraction > 0 && last_of_equals ? candidates.next(low.key) : low.key;
  return interpolate(key_value(low.key), key_value(high), rank.fraction);
}

template <class F>
__global__ void quantile_kernel(srp_select_quantile_args a, uint32_t* faults) {
  const Range range = unit_range(a, blockIdx.x);
  if (!range.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  const double threshold = threshold_of(Candidates<F, srp_select_quantile_args>{a, range});
  if (a.threshold && threadIdx.x == 0) a.threshold[blockIdx.x] = threshold;
  if (!a.selected) return;
  const F* const values = static_cast<const F*>(a.values);
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x)
    a.selected[i] = candidate(a.mask, i) && load(values, i) >= threshold;
}

// How many threads of the block before this one have the flag, and how many of the block: all threads must call it.
struct FlagRank {
  int64_t before, all;
};
__device__ FlagRank rank_flags(bool flag) {
  SRP_SHARED(int, counts, kMaxWarps);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const unsigned flags = __ballot_sync(kFullWarp, flag);
  __syncthreads();  // readers of the previous call are done
  if (lane == 0) counts[warp] = __popc(flags);
  __syncthreads();
  FlagRank rank = {__popc(flags & ((1u << lane) - 1)), 0};
  for (int w = 0; w < warps; ++w) {
    if (w < warp) rank.before += counts[w];
    rank.all += counts[w];
  }
  return rank;
}

template <class F>
__global__ void top_kernel(srp_select_top_args a, uint32_t* faults) {
  const Range range = unit_range(a, blockIdx.x);
  if (!range.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  const Candidates<F, srp_select_top_args> candidates{a, range};
  const int64_t count = candidates.count();
  const int64_t k = top_count(a, count);
  if (a.count && threadIdx.x == 0) a.count[blockIdx.x] = static_cast<int32_t>(k);
  if (k == 0) {
    for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x) a.selected[i] = 0;
    return;
  }
  const auto smallest = candidates.at_rank(count - k);
  const int64_t equals = k - (count - smallest.below - smallest.equal);  // of those at the k-th key, in index order
  const F* const values = static_cast<const F*>(a.values);
  int64_t seen = 0;
  for (int64_t base = range.begin; base < range.end; base += blockDim.x) {  // in step: every thread counts ties
    const int64_t i = base + threadIdx.x;
    const bool live = i < range.end && candidate(a.mask, i);
    const auto key = live ? order_key(values[i]) : 0;
    const bool tie = live && key == smallest.key;
    const FlagRank ties = rank_flags(tie);
    if (i < range.end) a.selected[i] = live && (key > smallest.key || (tie && seen + ties.before < equals));
    seen += ties.all;
  }
}

template <class Args, class Launch>
srp_status launch_units(srp_queue* queue, const Args* a, const char* op, Launch launch) {
  SRP_TRY(check(a));
  const int64_t units = unit_count(*a);
  SRP_TRY(check_grid(op, units));
  SRP_TRY(enter(queue));
  if (units == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  launch(dim3(static_cast<unsigned>(units)), dim3(a->over == SRP_OVER_ALL ? kAllThreads : kRowThreads));
  return launched(op);
}

}  // namespace

srp_status select_quantile(srp_queue* queue, const srp_select_quantile_args* a) {
  return launch_units(queue, a, "select_quantile", [&](dim3 grid, dim3 block) {
    if (a->dtype == SRP_F64)
      SRP_LAUNCH(quantile_kernel<double>, grid, block, 0, queue->stream, *a, queue->faults);
    else
      SRP_LAUNCH(quantile_kernel<float>, grid, block, 0, queue->stream, *a, queue->faults);
  });
}

srp_status select_top(srp_queue* queue, const srp_select_top_args* a) {
  return launch_units(queue, a, "select_top", [&](dim3 grid, dim3 block) {
    if (a->dtype == SRP_F64)
      SRP_LAUNCH(top_kernel<double>, grid, block, 0, queue->stream, *a, queue->faults);
    else
      SRP_LAUNCH(top_kernel<float>, grid, block, 0, queue->stream, *a, queue->faults);
  });
}

}  // namespace srp::cuda
