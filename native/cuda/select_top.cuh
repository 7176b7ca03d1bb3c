// The k largest of a whole batch as flags, once the k-th key is known (select_batch.cuh): a tile a block, which is read and written once.
// Where not all keys equal to the k-th are taken, the first of them are: a block learns how many lie before its tile (look_back.cuh).
#pragma once
#include "look_back.cuh"
#include "select_batch.cuh"

namespace srp::cuda {

template <class Args>
struct WantedTop {
  static constexpr int kRanks = 1;
  static constexpr bool kTakesNan = false;
  Args a;

  __device__ bool ranks(int64_t count, int64_t, int64_t (&to)[1]) const {
    const int64_t k = top_count(a, count);
    to[0] = count - k;
    return k > 0;
  }
};

// How many of the lanes' bits of a tile come before each lane's vector k, by index, and how many there are. All threads of the block
// call it.
template <class Lane>
struct TileRanks {
  int before[Lane::kVectors], all;

  __device__ explicit TileRanks(uint32_t bits) : all(0) {
    constexpr int kWarps = kBatchThreads / kWarp;
    SRP_SHARED(int, counts, Lane::kVectors* kWarps);
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    SRP_UNROLL
    for (int k = 0; k < Lane::kVectors; ++k) {
      const int own = __popc(bits >> (k * Lane::kWide) & ((1u << Lane::kWide) - 1));
      int through = own;
      for (int distance = 1; distance < kWarp; distance *= 2) {
        const int other = __shfl_up_sync(kFullWarp, through, distance);
        if (lane >= distance) through += other;
      }
      before[k] = through - own;
      if (lane == kWarp - 1) counts[k * kWarps + warp] = through;
    }
    __syncthreads();
    SRP_UNROLL
    for (int k = 0; k < Lane::kVectors; ++k)
      for (int w = 0; w < kWarps; ++w) {
        if (w == warp) before[k] += all;
        all += counts[k * kWarps + w];
      }
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kMarkBlocks = 1;  // with two, sm_120 spills
#else
constexpr int kMarkBlocks = 2;
#endif

// ledger    select_top, select_covariance
// bytes     n (s inputs + mask) + n selected
// limit     memory
// notes     the last launch of a larger batch; blocks wait for the counts before theirs only where some of the equals
//           at the k-th key are left out
// variants  an op each
// values    inputs 1
// turn      16 of mark_top_kernel<ValueKeys<float>, srp_select_top_args>: whole, 4 loads16, 16 stored; 6 bytes; at most 31.5
template <class Keys, class Args>
__global__ void __launch_bounds__(kBatchThreads, kMarkBlocks)
    mark_top_kernel(Keys keys, Args a, const Ranking<typename Keys::Key, 1>* state, LookBack::Word* published) {
  using Key = typename Keys::Key;
  using Lane = typename Keys::Lane;
  SRP_SHARED(int64_t, ties_before, 1);
  const Ranking<Key, 1> now = *state;
  const int64_t k = top_count(a, now.count);
  const int64_t equals = k - (now.count - now.found[0].below - now.found[0].equal);  // of those at the k-th key
  const bool some = now.wanted && equals < now.found[0].equal;
  const LookBack look_back(published);
  const int64_t tile = some ? look_back.enter() : blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x);
  if (tile == 0 && lane == 0 && a.counts) *a.counts = static_cast<int32_t>(k);
  Key mine[kHeld];
  const uint32_t candidates = keys.read(tile, mine);
  uint32_t above = 0, ties = 0;
  SRP_UNROLL
  for (int e = 0; e < kHeld; ++e) {
    above |= static_cast<uint32_t>(mine[e] > now.found[0].key) << e;
    ties |= static_cast<uint32_t>(mine[e] == now.found[0].key) << e;
  }
  above &= candidates;
  ties &= candidates;
  uint32_t taken = now.wanted ? above | ties : 0;
  if (some) {  // the same for every block
    const TileRanks<Lane> ranks(ties);
    if (lane < kWarp) {
      const int64_t before = look_back.before(tile, ranks.all);
      if (lane == 0) ties_before[0] = before;
    }
    __syncthreads();
    taken = above;
    SRP_UNROLL
    for (int v = 0; v < Lane::kVectors; ++v) {
      int64_t rank = ties_before[0] + ranks.before[v];
      SRP_UNROLL
      for (int j = 0; j < Lane::kWide; ++j) {
        const uint32_t bit = 1u << (v * Lane::kWide + j);
        if (!(ties & bit)) continue;
        if (rank < equals) taken |= bit;
        ++rank;
      }
    }
  }
  Lane::write_flags(a.selected, tile * kPiece, keys.n, lane, taken);
}

// The k largest, and how many they are. `a` has the fields of srp_select_top_args.
template <class Keys, class Args>
srp_status top_of_batch(srp_queue* queue, const Keys& keys, const Args& a, const char* op) {
  const int64_t tiles = tiles_of(keys.n);
  SRP_TRY(check_grid(op, tiles));
  const BatchMemory<typename Keys::Key, 1> memory(queue,
                                                  static_cast<size_t>(LookBack::words(tiles)) * sizeof(LookBack::Word));
  SRP_TRY(memory.clear(op));
  rank_batch(queue, keys, WantedTop<Args>{a}, memory);
  SRP_LAUNCH((mark_top_kernel<Keys, Args>), dim3(static_cast<unsigned>(tiles)), dim3(kBatchThreads), 0, queue->stream,
             keys, a, memory.state(), static_cast<LookBack::Word*>(memory.more()));
  return launched(op);
}

}  // namespace srp::cuda
