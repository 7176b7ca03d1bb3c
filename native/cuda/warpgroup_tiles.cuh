// Products of tiles on tensor cores by warpgroups, for sm_90: 192 lines on the left times 128 on the right, of 16-bit numbers.
//
// Terms come in stages of 64 through a ring of slots in shared memory, copied beside the computation. Three groups of four warps each make
// 64 x 128 sums by wgmma, which reads its numbers from the ring while the threads go on. As in tensor_tiles.cuh, a part of the terms is
// added up in the accumulators, which then go into float32 sums.
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
  static constexpr int kStageTerms = 64;
  static constexpr int kLineBytes = 128;  // of shared memory, which meets all banks
  static constexpr int kLeftBytes = kRows * kLineBytes, kRightBytes = kTensorTile * kLineBytes;  // of a stage
  static constexpr int kAlignment = 1024;  // of a slot: of eight lines, within which wgmma finds their pieces
  static constexpr size_t kRingBytes = (200 << 10) + kAlignment;
  static __device__ __forceinline__ int row(int) { return tensor_warp() * 16; }
  static __device__ __forceinline__ int column(int m) { return m * 64; }
};

// Where the ring begins in a block's dynamic memory of Way::kRingBytes.
template <class Way>
__device__ __forceinline__ char* ring_of(char* memory) {
  if constexpr (Way::kOfGroups)
    return memory + (WarpgroupTiles::kAlignment - shared_address(memory) % WarpgroupTiles::kAlignment) %
                        WarpgroupTiles::kAlignment;
  else
    return memory;
}

// sums = left times right, over `stages` stages. Tiles says what they are, and is copied by all threads of the block:
//
//   Number, kParts        as those of multiply_tiles
//   kSlots                of the ring: the left parts behind each other, then the right side
//   kPartStages           stages that a part of a sum is made of
//   kBehind               stages whose products may be under way while those of the next begin, 0 or 1
//   kAcrossLeft, -Right   whether a line of 128 bytes is a term of 64 lines
//   copy(slot, stage)     begins the copies by which this thread fills a slot, in the order of stages
//
// A slot is filled again when all warpgroups have met behind the products that read it. All threads of the block call it; behind it
// comes a barrier before anything else is done with the ring.
template <class Tiles>
__device__ __forceinline__ void multiply_stages(char* ring, Tiles& tiles, int stages, TensorSums& sums) {
  using Way = WarpgroupTiles;
  constexpr int kAhead = Tiles::kSlots - 1 - Tiles::kBehind, kOfLeft = Tiles::kParts * Way::kLeftBytes;
  constexpr int kSlotBytes = kOfLeft + Way::kRightBytes, kLastSlot = (Tiles::kSlots - 1) * kSlotBytes;
  constexpr int kLeftStep = kStepTerms * (Tiles::kAcrossLeft ? Way::kLineBytes : 2);
  constexpr int kRightStep = kStepTerms * (Tiles::kAcrossRight ? Way::kLineBytes : 2);
  static_assert(Tiles::kSlots * kSlotBytes + Way::kAlignment <= static_cast<int>(Way::kRingBytes), "the ring");
  TensorSums part;
  clear_sums(sums);
  clear_sums(part);
  __syncthreads();  // what the ring held has been read
  SRP_UNROLL
  for (int s = 0; s < kAhead; ++s) {
    if (s < stages) tiles.copy(ring + s * kSlotBytes, s);
    __pipeline_commit();
  }
  const int own = tensor_warp() / 4 * 64 *
                  Way::kLineBytes;  // this group's lines of the left side, or the panel that they lie across
  int full = 0, empty = kAhead * kSlotBytes;
  // Two loops, not one with a condition: nvcc would wait for all products at every stage.
  for (int first = 0; first < stages; first += Tiles::kPartStages) {
    const int end = first + Tiles::kPartStages < stages ? first + Tiles::kPartStages : stages;
    SRP_KEEP_ROLLED
    for (int stage = first; stage < end; ++stage) {
      __pipeline_wait_prior(kAhead - 1);
      fence_for_wgmma();
      __syncthreads();  // the slot is there for all, and the products that read the next to be filled are done
      wgmma_begin(part);
      SRP_UNROLL
      for (int k = 0; k < Way::kStageTerms / kStepTerms; ++k) {
        SRP_UNROLL
        for (int p = 0; p < Tiles::kParts; ++p)
          wgmma_m64n128k16<Tiles::kAcrossLeft, Tiles::kAcrossRight>(
              part, ring + full + p * Way::kLeftBytes + own + k * kLeftStep, ring + full + kOfLeft + k * kRightStep,
              k > 0 || p > 0 || stage > first, typename Tiles::Number{});
      }
      wgmma_commit();
      if (stage + kAhead < stages) tiles.copy(ring + empty, stage + kAhead);
      __pipeline_commit();
      full = full == kLastSlot ? 0 : full + kSlotBytes;
      empty = empty == kLastSlot ? 0 : empty + kSlotBytes;
      wgmma_wait<Tiles::kBehind>();
    }
    wgmma_wait<0>();
    keep_in_place(part);
    add_sums(sums, part);
  }
}

}  // namespace srp::cuda
