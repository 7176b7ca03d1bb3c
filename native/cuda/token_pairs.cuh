// The log-probs of a row's tokens under two policies, as the lanes of a team read them (row_pieces.cuh): before the mask is known, and
// the next while some are worked on. Those under the mask are not used.
#pragma once
#include "row_pieces.cuh"

namespace srp::cuda {

template <class F, int kCount>
struct TokenPairs {
  using Lane = Held<F, kPieceLanes, kCount>;
  static constexpr int64_t kStep = int64_t{kPieceLanes} * kCount;

  Lane log_probs, old_log_probs;
  uint32_t kept;  // a bit a token

  template <class Args>
  __device__ __forceinline__ void read(const Args& a, const Range& row, int64_t begin, int lane) {
    const F *const first = static_cast<const F*>(a.log_probs), *const second = static_cast<const F*>(a.old_log_probs);
    const int64_t bytes = row.begin * int64_t{sizeof(F)};
    log_probs.read(first, aligned16(first, bytes), begin, row.end, lane);
    old_log_probs.read(second, aligned16(second, bytes), begin, row.end, lane);
    kept = Lane::flags(a.mask, begin, row.end, lane);
  }
};

// visit(begin, pairs) for a lane's tokens, kCount at a time. With kBack the walk goes backwards: a second one finds in the nearest cache
// what the first read last.
template <class F, int kCount, bool kAhead, bool kBack = false, class Args, class Visit>
__device__ __forceinline__ void each_pairs(const Args& a, const Range& row, int lane, const Visit& visit) {
  using Pairs = TokenPairs<F, kCount>;
  int64_t left = (row.end - row.begin + Pairs::kStep - 1) / Pairs::kStep;
  int64_t begin = kBack ? row.begin + (left - 1) * Pairs::kStep : row.begin;
  Pairs now;
  if (kAhead && left > 0) now.read(a, row, begin, lane);
  SRP_KEEP_ROLLED
  for (; left > 0; --left) {
    const int64_t following = kBack ? begin - Pairs::kStep : begin + Pairs::kStep;
    Pairs next;
    if (!kAhead) now.read(a, row, begin, lane);
    if (kAhead && left > 1) next.read(a, row, following, lane);
    visit(begin, now);
    if (kAhead) now = next;
    begin = following;
  }
}

}  // namespace srp::cuda
