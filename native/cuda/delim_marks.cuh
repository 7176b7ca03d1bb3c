// Marks of delimiters, a bit a token, as a walk along a row asks for them; and what a walk does with the spans it finds.
#pragma once
#include "common.cuh"
#include "shared/delim.h"

namespace srp::cuda {

constexpr int kPairThreads = 128;

// The marks of one delimiter in a row. All lanes of the warp call it with the same positions and get the same result.
template <class Id>
class MarkFinder {
 public:
  __device__ MarkFinder(const Delimiter& delimiter, const uint32_t* marks, const Id* tokens, const Range& row)
      : delimiter_(delimiter), marks_(marks), row_(tokens + row.begin), begin_(row.begin), end_(row.end) {}

  __device__ int64_t first(int64_t from, int64_t to) {
    const int lane = threadIdx.x % kWarp;
    while (from < to) {
      const int64_t at = begin_ + from, word = at / kWarp;
      if (word < window_ || word >= window_ + kWarp) {
        window_ = word;
        mine_ = (word + lane) * kWarp < end_ ? marks_[word + lane] : 0;
      }
      const int64_t left = word - window_;
      const uint32_t ahead = lane > left ? mine_ : lane == left ? mine_ & (~0u << (at % kWarp)) : 0u;
      const unsigned lanes = __ballot_sync(kFullWarp, ahead != 0);
      if (lanes) {
        const int source = __ffs(static_cast<int>(lanes)) - 1;
        const uint32_t found = __shfl_sync(kFullWarp, ahead, source);
        const int64_t position = (window_ + source) * kWarp + __ffs(static_cast<int>(found)) - 1 - begin_;
        return position < to ? position : to;
      }
      from = (window_ + kWarp) * kWarp - begin_;
    }
    return to;
  }

  __device__ Match match(int64_t position) const {
    const Match match = match_at(delimiter_, row_, end_ - begin_, position);
    // Where offsets go down, rows share tokens and a mark can belong to another row. The walk must end all the same.
    return match.alternative < 0 ? Match{match.alternative, 1} : match;
  }

 private:
  const Delimiter delimiter_;
  const uint32_t* const marks_;
  const Id* const row_;
  const int64_t begin_, end_;
  int64_t window_ = -kWarp;  // word of lane 0
  uint32_t mine_ = 0;
};

// The same for one thread by itself, whatever the others of its warp ask for.
template <class Id>
class LaneFinder {
 public:
  __device__ LaneFinder(const Delimiter& delimiter, const uint32_t* marks, const Id* tokens, const Range& row)
      : delimiter_(delimiter), marks_(marks), row_(tokens + row.begin), begin_(row.begin), end_(row.end) {}

  __device__ int64_t first(int64_t from, int64_t to) const {
    if (from >= to) return to;
    int64_t word = (begin_ + from) / kWarp;
    const int64_t last = (begin_ + to - 1) / kWarp;
    uint32_t ahead = marks_[word] & (~0u << ((begin_ + from) % kWarp));
    while (!ahead && word < last) ahead = marks_[++word];
    if (!ahead) return to;
    const int64_t position = word * kWarp + __ffs(static_cast<int>(ahead)) - 1 - begin_;
    return position < to ? position : to;
  }

  __device__ Match match(int64_t position) const {
    // The only alternative is the one that the mark stands for: nothing to read.
    if (delimiter_.count == 1 && position + delimiter_.size <= end_ - begin_) return {0, delimiter_.size};
    const Match match = match_at(delimiter_, row_, end_ - begin_, position);
    return match.alternative < 0 ? Match{match.alternative, 1} : match;  // as MarkFinder
  }

 private:
  const Delimiter delimiter_;
  const uint32_t* const marks_;
  const Id* const row_;
  const int64_t begin_, end_;
};

// Counts in every lane alike.
struct SpanCount {
  int64_t count;

  __device__ void operator()(int64_t, int64_t, int32_t, int32_t) { ++count; }
};

struct SpanWrite {
  const srp_delim_spans_args& a;
  int64_t row;
  int64_t next;  // index of the next span among those of all rows
  bool writes;  // one thread of those that walk together

  __device__ void operator()(int64_t begin, int64_t finish, int32_t start_alternative, int32_t end_alternative) {
    const int64_t s = next++;
    if (s >= a.capacity || !writes) return;
    a.spans[3 * s] = static_cast<int32_t>(row);
    a.spans[3 * s + 1] = static_cast<int32_t>(begin);
    a.spans[3 * s + 2] = static_cast<int32_t>(finish);
    if (!a.alternatives) return;
    a.alternatives[2 * s] = start_alternative;
    a.alternatives[2 * s + 1] = end_alternative;
  }
};

}  // namespace srp::cuda
