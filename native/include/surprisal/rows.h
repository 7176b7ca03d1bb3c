/* How rows of tokens lie in memory, the same for every family.
 *
 *   padded   offsets NULL: row b is elements [b*T, (b+1)*T) of a [B,T] array, n == B*T
 *   packed   offsets [B+1], non-decreasing, from 0 to n: row b is elements [offsets[b], offsets[b+1]); T is not read
 *   groups   members [n] or NULL = identity: a permutation of the items; offsets [G+1], non-decreasing, from 0 to n:
 *            group g is items members[offsets[g]] … members[offsets[g+1] - 1]
 *
 * A CPU backend checks offsets and members before it writes. A device backend can't look: a kernel that meets a bad one
 * treats the row as empty and raises the queue's flag, which the next sync() answers as SRP_OUT_OF_RANGE. */
#ifndef SURPRISAL_ROWS_H
#define SURPRISAL_ROWS_H

#include "surprisal/number.h"

namespace srp {

struct Range {
  int64_t begin, end;
  bool valid;
};

SRP_HD Range row_range(const int32_t* offsets, int64_t T, int64_t n, int64_t b) {
  if (!offsets) return {b * T, (b + 1) * T, true};
  const int64_t begin = offsets[b], end = offsets[b + 1];
  if (begin < 0 || end < begin || end > n) return {0, 0, false};
  return {begin, end, true};
}

// How many of the S spans of a list there are: `found` where a device counted them, which may be more than the list has room for.
SRP_HD int64_t live_spans(const int64_t* found, int64_t S) {
  if (!found) return S;
  return *found < 0 ? 0 : *found < S ? *found : S;
}

SRP_HD int64_t member(const int32_t* members, int64_t i) { return members ? members[i] : i; }

}  // namespace srp

#endif
