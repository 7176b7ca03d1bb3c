// Ranks among candidates, an object with
//
//   Key           an unsigned integer type
//   each(visit)   calls visit(index, key) for every candidate, in index order
#ifndef SURPRISAL_CPU_SELECT_RANKS_H
#define SURPRISAL_CPU_SELECT_RANKS_H

#include "shared/select.h"

namespace srp::cpu {

template <class Candidates>
int64_t count_candidates(const Candidates& candidates) {
  int64_t count = 0;
  candidates.each([&](int64_t, auto) { ++count; });
  return count;
}

// 0 <= rank < number of candidates. Takes one pass over them for each digit.
template <class Candidates, class Key = typename Candidates::Key>
RankedKey<Key> key_at_rank(const Candidates& candidates, int64_t rank) {
  RankedKey<Key> found = {0, 0, 0};
  for (int shift = 8 * static_cast<int>(sizeof(Key)) - kDigitBits; shift >= 0; shift -= kDigitBits) {
    int64_t counts[kDigits] = {};
    candidates.each([&](int64_t, Key key) {
      if (shares_digits(key, found.key, shift)) ++counts[digit(key, shift)];
    });
    int d = 0;
    while (found.below + counts[d] <= rank) found.below += counts[d++];
    found.key |= static_cast<Key>(d) << shift;
    found.equal = counts[d];
  }
  return found;
}

// Tells for each candidate, in index order, whether it is among the k largest of `count`.
template <class Key>
class TopCut {
 public:
  template <class Candidates>
  TopCut(const Candidates& candidates, int64_t count, int64_t k) : smallest_(~Key{0}), equals_(0) {
    if (k == 0) return;
    const RankedKey<Key> smallest = key_at_rank(candidates, count - k);
    smallest_ = smallest.key;
    equals_ = k - (count - smallest.below - smallest.equal);
  }

  bool takes(Key key) { return key > smallest_ || (key == smallest_ && equals_-- > 0); }

 private:
  Key smallest_;
  int64_t equals_;  // how many of those at the k-th key are still taken
};

}  // namespace srp::cpu

#endif
