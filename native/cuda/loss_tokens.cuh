// The inputs of a row's tokens, as the warps of a team read them: a run of 512 bytes of each array at a time, which is what 32 lanes of a
// piece have side by side (row_pieces.cuh). It goes past the registers into shared memory, 16 bytes at a time where all arrays are
// aligned. There are two places: while one run is worked on, the next is on its way to the other.
//
// The lanes of a warp take the tokens of a run in turns, not each its own 16 bytes, so that outputs are stored side by side.
#pragma once
#include "ptx.cuh"
#include "row_pieces.cuh"
#include "shared/loss.h"

namespace srp::cuda {

template <class F>
class LossTokens {
 public:
  static constexpr int kOfLane = Held<F>::kWide;  // tokens of a run
  static constexpr int kRun = kOfLane * kWarp;
  static constexpr int64_t kStep = int64_t{kOfLane} * kPieceLanes;  // from one run of a warp to its next

  // Shared memory of a block: of all arrays, or of those that a plain loss has.
  static constexpr int block_bytes(bool plain) { return 2 * kPieceLanes / kWarp * (plain ? kPlainBytes : kPlaceBytes); }

  // `memory`: of the block, with `plain` for a plain loss.
  __device__ LossTokens(const LossArgs& whole, const Range& row, bool plain, unsigned char* memory)
      : whole_(whole),
        row_(row),
        bytes_(plain ? kPlainBytes : kPlaceBytes),
        memory_(memory + threadIdx.x / kWarp * 2 * bytes_) {
    uintptr_t ends = 0;
    each_input([&](int, const F* array) { ends |= reinterpret_cast<uintptr_t>(array + row.begin); },
               [&](int, const uint8_t* flags) { ends |= reinterpret_cast<uintptr_t>(flags + row.begin) * 4; });
    aligned_ = ends % 16 == 0;
  }

  // visit(args, i, o) for the tokens that a lane of the team takes: element i of the inputs of args is token o; ran() behind each run. With
  // kBack the warp's walk goes backwards.
  template <bool kBack, class Visit, class Ran>
  __device__ __forceinline__ void each(int lane, const Visit& visit, const Ran& ran) {
    const int64_t first = row_.begin + lane / kWarp * kRun;
    const auto inside = [&](int64_t begin) { return kBack ? begin >= first : begin < row_.end; };
    int64_t begin = first;
    if (kBack && first < row_.end) begin += (row_.end - first - 1) / kStep * kStep;
    if (first >= row_.end) return;  // the whole warp
    ask(begin, turn_);
    SRP_KEEP_ROLLED
    for (; inside(begin); begin += kBack ? -kStep : kStep) {
      const int64_t following = begin + (kBack ? -kStep : kStep);
      if (inside(following))
        ask(following, !turn_);
      else
        __pipeline_commit();
      __pipeline_wait_prior(1);
      __syncwarp();
      const LossArgs few = taken(turn_);
      SRP_KEEP_ROLLED  // the visit is long: side by side the tokens' numbers would not fit the registers
          for (int k = 0; k < kOfLane; ++k) {
        const int i = k * kWarp + static_cast<int>(threadIdx.x % kWarp);
        if (begin + i < row_.end) visit(few, i, begin + i);
      }
      ran();
      __syncwarp();  // what the lanes read there is read
      turn_ = !turn_;
    }
  }
  template <class Visit>
  __device__ __forceinline__ void each(int lane, const Visit& visit) {
    each<false>(lane, visit, [] {});
  }

 private:
  static constexpr int kArrayBytes = kRun * static_cast<int>(sizeof(F));
  // Where the arrays lie in a place: those of a plain loss first.
  static constexpr int kLogProbs = 0, kOldLogProbs = kArrayBytes, kAdvantages = 2 * kArrayBytes,
                       kMask = 3 * kArrayBytes;
  static constexpr int kPlainBytes = kMask + kRun;
  static constexpr int kFactors = kPlainBytes, kReference = kFactors + kArrayBytes, kTerms = kReference + kArrayBytes;
  static constexpr int kMarks = kTerms + kRun, kPlaceBytes = kMarks + kRun;

  // array(place, input) for each array of numbers, then flags(place, input) for each of flags; inputs of rows are left out.
  template <class Array, class Flags>
  __device__ __forceinline__ void each_input(const Array& array, const Flags& flags) const {
    const LossArgs& a = whole_;
    array(kLogProbs, static_cast<const F*>(a.log_probs));
    if (a.old_log_probs && !a.old_log_probs_per_row) array(kOldLogProbs, static_cast<const F*>(a.old_log_probs));
    if (a.advantages_per_token) array(kAdvantages, static_cast<const F*>(a.advantages));
    if (a.factors && a.factors_per_token) array(kFactors, static_cast<const F*>(a.factors));
    if (a.reference_log_probs) array(kReference, static_cast<const F*>(a.reference_log_probs));
    if (a.mask) flags(kMask, a.mask);
    if (a.term_mask) flags(kTerms, a.term_mask);
    if (a.marks) flags(kMarks, a.marks);
  }

  // Sends for the run that begins there, to the first place or the second.
  __device__ __forceinline__ void ask(int64_t begin, bool second) {
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    unsigned char* const place = memory_ + (second ? bytes_ : 0);
    if (aligned_ && begin + kRun <= row_.end) {
      const int64_t first = begin + lane * kOfLane;
      each_input([&](int at, const F* array) { __pipeline_memcpy_async(place + at + lane * 16, array + first, 16); },
                 [&](int at, const uint8_t* flags) {
                   if (lane * 4 < kRun) __pipeline_memcpy_async(place + at + lane * 4, flags + begin + lane * 4, 4);
                 });
    } else {
      const int count = row_.end - begin < kRun ? static_cast<int>(row_.end - begin) : kRun;
      each_input(
          [&](int at, const F* array) {
            SRP_KEEP_ROLLED
            for (int i = lane; i < count; i += kWarp)
              __pipeline_memcpy_async(place + at + i * sizeof(F), array + begin + i, sizeof(F));
          },
          [&](int at, const uint8_t* flags) {
            SRP_KEEP_ROLLED
            for (int i = lane; i < count; i += kWarp) place[at + i] = flags[begin + i];
          });
    }
    __pipeline_commit();
  }

  // The arguments with the inputs of the run that has come.
  __device__ __forceinline__ LossArgs taken(bool second) const {
    LossArgs few = whole_;
    const unsigned char* const place = memory_ + (second ? bytes_ : 0);
    few.log_probs = place + kLogProbs;
    if (few.old_log_probs && !few.old_log_probs_per_row) few.old_log_probs = place + kOldLogProbs;
    if (few.advantages_per_token) few.advantages = place + kAdvantages;
    if (few.factors && few.factors_per_token) few.factors = place + kFactors;
    if (few.reference_log_probs) few.reference_log_probs = place + kReference;
    if (few.mask) few.mask = place + kMask;
    if (few.term_mask) few.term_mask = place + kTerms;
    if (few.marks) few.marks = place + kMarks;
    return few;
  }

  const LossArgs& whole_;
  const Range row_;
  const int bytes_;
  unsigned char* const memory_;
  bool aligned_;
  bool turn_ = false;  // of the second place
};

}  // namespace srp::cuda
