// Products of tiles on tensor cores by warpgroups, for sm_90: 192 lines on the left times 128 on the right, of 16-bit numbers with their
// terms side by side.
//
// Terms come in stages of 64 through a ring of slots in shared memory, copied beside the computation. Three groups of four warps each make
// 64 x 128 sums by wgmma, which reads its numbers from the ring while the threads go on. As in tensor_tiles.cuh, 256 terms are added up
// in the accumulators, which then go into float32 sums.
#pragma once
#include "tensor_tiles.cuh"

namespace srp::cuda {

// Where a thread's sums [m][n][i] lie in a tile, and who else is there: row(m) + i / 2 * 8 + lane / 4 and column(m) + n * 8 + lane % 4 * 2 +
// i % 2.
struct WarpTiles {
  static constexpr bool kOfGroups = false;
  static constexpr int kRows = kTensorTile, kThreads = kTensorThreads;
  static constexpr size_t kRingBytes = kTensorBytes;
  static __device__ __forceinline__ int row(int m) { return warp_row() + m * 16; }
  static __device__ __forceinline__ int column(int) { return warp_column(); }
};

struct WarpgroupTiles {
  static constexpr bool kOfGroups = true;
  static constexpr int kRows = 192, kThreads = 384;
  static constexpr int kStageTerms = 64, kStageBytes = 2 * kStageTerms;  // of a line, which meets all banks
  static constexpr int kLeftBytes = kRows * kStageBytes, kSlotBytes = kLeftBytes + kTensorTile * kStageBytes;
  static constexpr int kSlots = 5, kPartStages = 4;
  static constexpr int kAlignment = 1024;  // of a slot: of eight lines, within which wgmma finds their pieces
  static constexpr size_t kRingBytes = kSlots * kSlotBytes + kAlignment;
  static __device__ __forceinline__ int row(int) { return tensor_warp() * 16; }
  static __device__ __forceinline__ int column(int m) { return m * 64; }
};

// Where the ring begins in a block's dynamic memory of Way::kBytes.
template <class Way>
__device__ __forceinline__ char* ring_of(char* memory) {
  if constexpr (Way::kOfGroups)
    return memory + (WarpgroupTiles::kAlignment - shared_address(memory) % WarpgroupTiles::kAlignment) %
                        WarpgroupTiles::kAlignment;
  else
    return memory;
}

// sums = left times right, over `stages` stages. tiles.copy(slot, stage) begins the copies by which this thread fills a slot.
//
// A slot is filled again when all warpgroups have met behind the products that read it, which is two stages later: of five, two are
// being read and three on their way. All threads of the block call it; behind it comes a barrier before anything else is done with
// the ring.
template <class Number, class Tiles>
__device__ __forceinline__ void multiply_stages(char* ring, const Tiles& tiles, int stages, TensorSums& sums) {
  using Shape = WarpgroupTiles;
  constexpr int kAhead = Shape::kSlots - 2;
  TensorSums part;
  clear_sums(sums);
  clear_sums(part);
  __syncthreads();  // what the ring held has been read
  SRP_UNROLL
  for (int s = 0; s < kAhead; ++s) {
    if (s < stages) tiles.copy(ring + s * Shape::kSlotBytes, s);
    __pipeline_commit();
  }
  const int own_lines = tensor_warp() / 4 * 64 * Shape::kStageBytes;
  int full = 0, empty = kAhead * Shape::kSlotBytes;
  // Two loops, not one with a condition: nvcc would wait for all products at every stage.
  for (int first = 0; first < stages; first += Shape::kPartStages) {
    const int end = first + Shape::kPartStages < stages ? first + Shape::kPartStages : stages;
    SRP_KEEP_ROLLED
    for (int stage = first; stage < end; ++stage) {
      __pipeline_wait_prior(kAhead - 1);
      fence_for_wgmma();
      __syncthreads();  // the slot is there for all, and the products of two stages before are done
      wgmma_begin(part);
      SRP_UNROLL
      for (int k = 0; k < Shape::kStageTerms / kStepTerms; ++k) {
        const char* const terms = ring + full + k * 2 * kStepTerms;
        wgmma_m64n128k16(part, terms + own_lines, terms + Shape::kLeftBytes, k > 0 || stage > first, Number{});
      }
      wgmma_commit();
      if (stage + kAhead < stages) tiles.copy(ring + empty, stage + kAhead);
      __pipeline_commit();
      full = full == (Shape::kSlots - 1) * Shape::kSlotBytes ? 0 : full + Shape::kSlotBytes;
      empty = empty == (Shape::kSlots - 1) * Shape::kSlotBytes ? 0 : empty + Shape::kSlotBytes;
      wgmma_wait<1>();
    }
    wgmma_wait<0>();
    keep_in_place(part);
    add_sums(sums, part);
  }
}

}  // namespace srp::cuda
