// Ranks among a whole batch by all of the device, in a fixed number of launches: digit after digit, the highest first, every block
// counts the next digit of those keys that share the digits found so far, in shared memory, and adds its counts to the batch's. They are
// integers: the order of additions does not matter. The last block of a launch finds the digits, of two ranks at once where an upper
// neighbour is wanted. float32 has three digits of 11, 11 and 10 bits, float64 six.
//
// The object that ranks chooses the ranks as soon as the candidates are counted. It has
//
//   kRanks                    1 or 2
//   kTakesNan                 whether a NaN has a meaning; else it raises the queue's flag, where ranks are wanted
//   ranks(count, nans, to)    the ranks, counted from the smallest; false: none are wanted
#pragma once
#include "comes_last.cuh"
#include "select_keys.cuh"

namespace srp::cuda {

constexpr int kBatchBits = 11, kBatchBins = 1 << kBatchBits;
constexpr int kBatchThreads = kPieceLanes;
constexpr int64_t kBatchBlocks = 2;  // on each multiprocessor: all at work at the same time

SRP_HD int64_t tiles_of(int64_t n) { return (n + kPiece - 1) / kPiece; }

// Memory that the launches of a ranking share; all 0 before the first.
template <class Key, int kRanks>
struct Ranking {
  int64_t count, nans;  // of the candidates
  int64_t ranks[kRanks];  // among the keys that share the digits found
  RankedKey<Key> found[kRanks];
  int64_t wanted;
};
struct RankCounters {
  unsigned long long nans;
  uint32_t ticket, unused;
};

template <class Key>
struct Digits {
  static constexpr int kBits = 8 * static_cast<int>(sizeof(Key)), kCount = (kBits + kBatchBits - 1) / kBatchBits;

  // The lowest bit of digit p, and of the digit above it.
  static SRP_HD int shift(int p) { return p + 1 < kCount ? kBits - (p + 1) * kBatchBits : 0; }
  static SRP_HD int above(int p) { return kBits - p * kBatchBits; }
  static SRP_HD int of(Key key, int p) {
    return static_cast<int>(key >> shift(p)) & ((1 << (above(p) - shift(p))) - 1);
  }
  static SRP_HD bool shares(Key key, Key found, int p) { return p == 0 || (key ^ found) >> (above(p) % kBits) == 0; }
};

// Adds one to the bin of every lane that has one (not negative); those that share the first such lane's bin in one addition, since most
// keys often begin alike. All lanes of a warp call it.
__device__ __forceinline__ void count_digit(uint32_t* bins, int bin) {
  const unsigned those = __ballot_sync(kFullWarp, bin >= 0);
  if (those == 0) return;
  const int first = __ffs(static_cast<int>(those)) - 1;
  const unsigned alike = __ballot_sync(kFullWarp, bin == __shfl_sync(kFullWarp, bin, first));
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == first)
    atomicAdd(bins + bin, static_cast<uint32_t>(__popc(alike)));
  else if (bin >= 0 && !(alike >> lane & 1))
    atomicAdd(bins + bin, 1u);
}

struct FoundDigit {
  uint32_t digit, before, count;
};

// The digit in whose bin `rank` falls. All threads of the block call it and get it.
__device__ inline FoundDigit find_digit(const uint32_t* bins, uint32_t rank) {
  SRP_SHARED(uint32_t, warps, kBatchThreads / kWarp);
  SRP_SHARED(FoundDigit, found, 1);
  constexpr int kShare = kBatchBins / kBatchThreads;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first = static_cast<int>(threadIdx.x) * kShare;
  uint32_t own = 0;
  for (int d = first; d < first + kShare; ++d) own += bins[d];
  uint32_t through = own;  // the sum of this thread's bins and all before
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, through, distance);
    if (lane >= distance) through += other;
  }
  __syncthreads();  // readers of the previous call are done
  if (lane == kWarp - 1) warps[warp] = through;
  __syncthreads();
  for (int w = 0; w < warp; ++w) through += warps[w];
  uint32_t before = through - own;
  if (rank >= before && rank < through) {
    int d = first;
    while (before + bins[d] <= rank) before += bins[d++];
    found[0] = {static_cast<uint32_t>(d), before, bins[d]};
  }
  __syncthreads();
  return found[0];
}

// Digit p. `bins`: the batch's, [kRanks][2048], 0 before. Ranks whose digits so far are the same share the first one's bins.
//
// ledger    select_quantile, select_top, select_covariance
// bytes     n (s inputs + mask)
// limit     memory
// notes     larger batches, all of the device: one launch a digit of 11 bits, 3 for float32 (bytes of each), 6 for
//           float64 and covariances; from the second on from L2 as far as it reaches
// variants  an op each
// launches  3
// values    inputs 1
// turn      16 of digit_kernel<ValueKeys<float>, WantedTop<srp_select_top_args>>: 4 loads16, 16 atomics; 5 bytes; at most 47, 43.5
//           on sm_89
template <class Keys, class Wanted>
__global__ void __launch_bounds__(kBatchThreads, 2)
    digit_kernel(Keys keys, Wanted wanted, int p, uint32_t* bins, Ranking<typename Keys::Key, Wanted::kRanks>* state,
                 RankCounters* counters, uint32_t* faults) {
  using Key = typename Keys::Key;
  constexpr int kRanks = Wanted::kRanks;
  SRP_SHARED(uint32_t, own, kRanks* kBatchBins);
  Ranking<Key, kRanks> now = *state;
  if (p > 0 && !now.wanted) return;  // the same for every block
  for (int d = threadIdx.x; d < kRanks * kBatchBins; d += kBatchThreads) own[d] = 0;
  __syncthreads();
  const bool apart = kRanks > 1 && p > 0 && now.found[0].key != now.found[kRanks - 1].key;
  int nans = 0;
  const int64_t tiles = tiles_of(keys.n);
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    Key mine[kHeld];
    // Launches alternate in direction: L2 still holds what the previous one read last.
    const uint32_t candidates = keys.read(p % 2 ? tiles - 1 - t : t, mine);
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) {
      const bool has = candidates >> e & 1;
      nans += has && mine[e] == 0;
      int bin = has && Digits<Key>::shares(mine[e], now.found[0].key, p) ? Digits<Key>::of(mine[e], p) : -1;
      if (apart && has && Digits<Key>::shares(mine[e], now.found[kRanks - 1].key, p))
        bin = kBatchBins + Digits<Key>::of(mine[e], p);
      count_digit(own, bin);
    }
  }
  __syncthreads();
  for (int d = threadIdx.x; d < kRanks * kBatchBins; d += kBatchThreads)
    if (own[d]) atomicAdd(bins + d, own[d]);
  if (p == 0) {
    nans = add_warps(warp_total(nans));
    if (threadIdx.x == 0 && nans) atomicAdd(&counters->nans, static_cast<unsigned long long>(nans));
  }
  if (!comes_last(&counters->ticket, gridDim.x)) return;
  for (int d = threadIdx.x; d < kRanks * kBatchBins; d += kBatchThreads) own[d] = __ldcg(bins + d);
  __syncthreads();
  if (p == 0) {
    int count = 0;
    for (int d = threadIdx.x; d < kBatchBins; d += kBatchThreads) count += static_cast<int>(own[d]);
    now.count = add_warps(warp_total(count));
    now.nans = static_cast<int64_t>(atomicAdd(&counters->nans, 0ull));
    now.wanted = wanted.ranks(now.count, now.nans, now.ranks);
    if (!Wanted::kTakesNan && now.wanted && now.nans > 0 && threadIdx.x == 0) raise(faults, SRP_FAULT_FINITE);
  }
  SRP_UNROLL
  for (int r = 0; r < kRanks; ++r) {
    if (!now.wanted) continue;
    const FoundDigit found = find_digit(own + (apart && r > 0 ? kBatchBins : 0), static_cast<uint32_t>(now.ranks[r]));
    now.found[r].key |= static_cast<Key>(found.digit) << Digits<Key>::shift(p);
    now.found[r].below += found.before;
    now.found[r].equal = found.count;
    now.ranks[r] -= found.before;
  }
  if (threadIdx.x == 0) *state = now;
}

// Scratch memory of a ranking and `more` bytes behind it, zeroed in the order of the queue.
template <class Key, int kRanks>
class BatchMemory {
 public:
  BatchMemory(srp_queue* queue, size_t more) : memory_(queue, kBytes + more), bytes_(kBytes + more), queue_(queue) {}

  srp_status clear(const char* op) const {
    SRP_TRY(memory_.status());
    return check_cuda(cudaMemsetAsync(memory_.as<char>(), 0, bytes_, queue_->stream), op);
  }
  Ranking<Key, kRanks>* state() const { return memory_.as<Ranking<Key, kRanks>>(); }
  RankCounters* counters() const { return reinterpret_cast<RankCounters*>(state() + 1); }
  uint32_t* bins(int p) const { return reinterpret_cast<uint32_t*>(counters() + 1) + p * kBins; }
  // The `more` bytes.
  void* more() const { return memory_.as<char>() + kBytes; }

 private:
  static constexpr size_t kBins = size_t{kRanks} * kBatchBins;
  static constexpr size_t kBytes =
      sizeof(Ranking<Key, kRanks>) + sizeof(RankCounters) + Digits<Key>::kCount * kBins * sizeof(uint32_t);

  const Scratch memory_;
  const size_t bytes_;
  srp_queue* const queue_;
};

// Enqueues what fills the state.
template <class Keys, class Wanted>
void rank_batch(srp_queue* queue, const Keys& keys, const Wanted& wanted,
                const BatchMemory<typename Keys::Key, Wanted::kRanks>& memory) {
  const int64_t tiles = tiles_of(keys.n);
  const int64_t most = kBatchBlocks * queue->multiprocessors;
  const dim3 grid(static_cast<unsigned>(tiles < most ? tiles : most)), block(kBatchThreads);
  for (int p = 0; p < Digits<typename Keys::Key>::kCount; ++p)
    SRP_LAUNCH((digit_kernel<Keys, Wanted>), grid, block, 0, queue->stream, keys, wanted, p, memory.bins(p),
               memory.state(), memory.counters(), queue->faults);
}

}  // namespace srp::cuda
