// Where rows and groups lie in memory (surprisal/backend.h), and how many of a list of spans there are.
#ifndef SURPRISAL_SHARED_ROWS_H
#define SURPRISAL_SHARED_ROWS_H

#include "shared/number.h"

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

// The last row of [low, high) that begins at token i or before; where offsets go down, some row of them.
SRP_HD int64_t row_at(const int32_t* offsets, int64_t i, int64_t low, int64_t high) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (offsets[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// How many of the S spans of a list there are: `found` where a device counted them, which may be more than the list has room for.
SRP_HD int64_t live_spans(const int64_t* found, int64_t S) {
  if (!found) return S;
  return *found < 0 ? 0 : *found < S ? *found : S;
}

SRP_HD int64_t member(const int32_t* members, int64_t i) { return members ? members[i] : i; }

}  // namespace srp

#endif
