// Running totals over the blocks of a grid in one launch: a block adds up what the blocks before it have published, as far back
// as the first that has published its total from the beginning (decoupled look-back). Integers only: which words a block finds
// depends on timing, their sum does not.
//
// Blocks are numbered as they start, so a block waits only for blocks that are running or done. Memory: 1 + blocks words, which
// must be 0 before the launch.
#pragma once
#include "common.cuh"

namespace srp::cuda {

class LookBack {
 public:
  using Word = unsigned long long;

  static int64_t words(int64_t blocks) { return 1 + blocks; }

  __device__ explicit LookBack(Word* memory) : started_(memory), published_(memory + 1) {}

  // The block's number. All threads of the block call it.
  __device__ int64_t enter() const {
    SRP_SHARED(int64_t, number, 1);
    if (threadIdx.x == 0) number[0] = static_cast<int64_t>(atomicAdd(started_, Word{1}));
    __syncthreads();
    return number[0];
  }

  // The sum of the totals of the blocks before this one. All lanes of one warp of the block call it, and get it.
  __device__ int64_t before(int64_t block, int64_t total) const {
    const int lane = threadIdx.x % kWarp;
    if (lane == 0) atomicExch(published_ + block, (block == 0 ? kFromStart : kOwn) | static_cast<Word>(total));
    int64_t sum = 0;
    for (int64_t last = block - 1; last >= 0; last -= kWarp) {
      Word word = kFromStart;  // before the first block
      if (last >= lane) do
          word = atomicAdd(published_ + (last - lane), Word{0});
        while (word < kOwn);
      const int from_start = __ffs(static_cast<int>(__ballot_sync(kFullWarp, word >= kFromStart))) - 1;
      const bool counts = from_start < 0 || lane <= from_start;
      sum += warp_reduce(static_cast<int64_t>(counts ? word & kValue : 0), Sum{});
      if (from_start >= 0) break;
    }
    if (lane == 0 && block > 0) atomicExch(published_ + block, kFromStart | static_cast<Word>(sum + total));
    return sum;
  }

 private:
  static constexpr Word kOwn = Word{1} << 62, kFromStart = Word{2} << 62, kValue = kOwn - 1;

  Word* const started_;
  Word* const published_;
};

}  // namespace srp::cuda
