// Which warps sum which row of logits, and where the slices of a row are merged.
//
//   many rows            a block a row, of up to four warps: as many as it has slices (logprob_sums.cuh). (Of many rows of one or two slices
//                        the forward pass gives a warp several, whose lanes finish one each: what comes behind the sums is as long as a row
//                        of 1024 ids.) Blocks that begin or end a row have few bytes on their way, but the others beside them have more than
//                        memory needs, so that a block need not go on from row to row
//   few long rows        several blocks a row, down to one slice a warp, as many as all multiprocessors have room for: fewer would leave
//                        some idle. The last block to finish merges the row, in slice order
//
// The sums are the same bits in every one of these.
#pragma once
#include "comes_last.cuh"
#include "launch.cuh"
#include "logprob_stream.cuh"

namespace srp::cuda {

constexpr int kTeamWarps = 4;
constexpr int kTeamThreads = kTeamWarps * kWarp;
constexpr uint32_t kPage = 128;  // slices whose sums lie in shared memory at a time

// The blocks that share a row.
struct Team {
  int blocks, warps;  // warps: of a block
  uint32_t slices;

  SRP_HD int threads() const { return warps * kWarp; }
  SRP_HD int64_t row(int64_t block) const { return block / blocks; }
  // Sums of slices, then the warps' places for those on their way.
  SRP_HD size_t states() const { return slices < kPage ? slices : kPage; }
  SRP_HD size_t bytes(size_t of_warp) const {
    return states() * sizeof(RowSums) + static_cast<size_t>(warps) * of_warp;
  }
};

template <class T>
Team team_for(int64_t V) {
  const uint32_t slices = slices_of<T>(V);
  return {1, slices < 1 ? 1 : slices < kTeamWarps ? static_cast<int>(slices) : kTeamWarps, slices};
}

// Gives N rows as many of the `at_work` blocks as they have use for.
inline void share_rows(Team* team, int64_t N, int64_t at_work) {
  if (team->warps < kTeamWarps || N > kQueueTickets) return;
  const int64_t most = (int64_t{team->slices} + kTeamWarps - 1) / kTeamWarps, room = at_work / N;
  team->blocks = static_cast<int>(room < 1 ? 1 : room < most ? room : most);
}

// Sums row n, this block's. All threads call it. The warp for which it returns true has the sums, in every lane, and finishes the row.
template <bool kCapped, bool kSquares, class T>
__device__ __forceinline__ bool sum_row(const LogitMap& map, const T* x, uint32_t V, const Team& team, int64_t n,
                                        RowSums* memory, RowSums* scratch, uint32_t* tickets, RowSums& sums) {
  using Stream = SliceStream<T, kCapped, kSquares>;
  const uint32_t warp = threadIdx.x / kWarp, slices = team.slices;
  const uint32_t worker = blockIdx.x % team.blocks * team.warps + warp, workers = team.blocks * team.warps;
  Stream stream(map, V, reinterpret_cast<char*>(memory + team.states()) + warp * Stream::kBytes, 1);
  stream.begin({x, worker});
  sums = no_sums(-INFINITY);
  const bool alone = team.blocks == 1;
  RowSums* const states = alone ? memory : scratch + n * slices;
  const uint32_t page = alone ? kPage : slices;
  for (uint32_t begin = 0; begin < slices; begin += page) {
    if (begin > 0) __syncthreads();  // the previous page has been merged
    const uint32_t end = slices - begin > page ? begin + page : slices;
    sum_slices(stream, x, begin + worker, end, workers, begin, states);
    if (!alone) break;
    __syncthreads();
    if (slices == 1)
      sums = states[0];  // nothing to merge
    else if (warp == 0)
      sums = merge_slices<false>(map, sums, states, end - begin);
  }
  if (alone) return warp == 0;
  if (!comes_last(tickets + n, static_cast<uint32_t>(team.blocks)) || warp > 0) return false;
  sums = merge_slices<true>(map, sums, states, slices);
  return true;
}

}  // namespace srp::cuda
