// Which warps sum which row of logits, and where the slices of a row are merged.
//
//   V <= 4096 ids        one warp a row, four rows a block: no barriers, and every lane has work. (Of many such rows the forward pass gives a
//                        warp several, whose lanes finish one each: what comes behind the sums is as long as a row of 1024 ids.)
//   V <= 8192            two warps a row: as many as it has slices
//   more                 a block of four warps a row
//   few of those rows    several blocks a row, down to one slice a warp, as many as all multiprocessors have room for: fewer would leave
//                        some idle. The last block to finish merges the row, in slice order
//
// The sums are the same bits in every one of these (logprob_sums.cuh).
#pragma once
#include "comes_last.cuh"
#include "logprob_sums.cuh"

namespace srp::cuda {

constexpr int kTeamWarps = 4;
constexpr int kTeamThreads = kTeamWarps * kWarp;
constexpr int64_t kBlocksAtWork = 5;  // of each multiprocessor
constexpr uint32_t kPage = 128;  // slices whose sums lie in shared memory at a time

struct Teams {
  int warps;  // of a block that share a row
  int blocks;  // that share a row; more than one only with all warps
  uint32_t slices;

  SRP_HD int64_t grid(int64_t N) const {
    const int64_t rows = kTeamWarps / warps;
    return blocks > 1 ? N * blocks : (N + rows - 1) / rows;
  }
};

inline Teams teams_for(int64_t N, int64_t V, int multiprocessors) {
  const uint32_t slices = slices_of(V);
  const int warps = slices <= 1 ? 1 : slices <= 2 ? 2 : kTeamWarps;
  const int64_t most = (int64_t{slices} + kTeamWarps - 1) / kTeamWarps;
  const int64_t room = warps < kTeamWarps || N > kQueueTickets ? 1 : kBlocksAtWork * multiprocessors / (N < 1 ? 1 : N);
  return {warps, static_cast<int>(room < 1 || most < 1 ? 1 : room < most ? room : most), slices};
}

// One warp's place.
struct Place {
  int64_t row;
  uint32_t worker, workers;  // among the warps of the row
  int slot;  // of the row's first slice in shared memory

  __device__ static Place of(const Teams& teams) {
    const uint32_t warp = threadIdx.x / kWarp, warps = teams.warps, blocks = teams.blocks;
    if (blocks > 1) return {blockIdx.x / blocks, blockIdx.x % blocks * kTeamWarps + warp, blocks * kTeamWarps, 0};
    const uint32_t team = warp / warps, rows = kTeamWarps / warps;
    return {int64_t{blockIdx.x} * rows + team, warp % warps, warps, static_cast<int>(team * warps)};
  }
};

// Sums the rows of this block, except rows that are not `read`. All threads call it. The warp for which it returns true has its
// row's sums, in every lane, and finishes the row.
template <bool kCapped, bool kSquares, class T>
__device__ __forceinline__ bool sum_rows(const LogitMap& map, const T* x, uint32_t V, const Teams& teams,
                                         const Place& place, bool read, RowSums* scratch, uint32_t* tickets,
                                         RowSums& sums) {
  SRP_SHARED(RowSums, page_states, kPage);
  sums = no_sums(-INFINITY);
  if (teams.slices == 1) {  // a warp a row: nothing to merge, nobody to wait for
    RowSums* const own = page_states + place.slot;
    if (!read) return false;
    sum_slices<kCapped, kSquares, true>(map, x, V, 0, 1, 1, 0, own);
    __syncwarp();
    sums = own[0];
    return true;
  }
  if (teams.blocks == 1) {
    for (uint32_t page = 0; page == 0 || page < teams.slices; page += kPage) {
      if (page > 0) __syncthreads();  // the previous page has been merged
      const uint32_t end = page + kPage < teams.slices ? page + kPage : teams.slices;
      RowSums* const states = page_states + place.slot;
      if (read) sum_slices<kCapped, kSquares, true>(map, x, V, page + place.worker, end, place.workers, page, states);
      __syncthreads();
      if (read && place.worker == 0) sums = merge_slices<false>(map, sums, states, end - page);
    }
    return read && place.worker == 0;
  }
  if (!read) return false;  // the whole block: it has one row
  RowSums* const states = scratch + place.row * teams.slices;
  sum_slices<kCapped, kSquares, true>(map, x, V, place.worker, teams.slices, place.workers, 0, states);
  if (!comes_last(tickets + place.row, static_cast<uint32_t>(teams.blocks)) || threadIdx.x >= kWarp) return false;
  sums = merge_slices<true>(map, sums, states, teams.slices);
  return true;
}

}  // namespace srp::cuda
