// The sums of a row of logits (RowSums).
//
// A row is cut into slices of 8 KB: 4096 ids of 16 bits, or 2048 of float32. A warp has a slice on the multiprocessor and touches it twice:
// first for its largest logit, then for one power of two an id, against that. So nothing is ever scaled, and no id asks whether it is
// the largest so far. The largest and its equals stay out of the sums: they are counted, and become masked ids in the chunks that hold
// them, one of four on random data. Only of a slice whose ids below the largest are all far below it are terms computed to the last bit.
// A chunk's terms are added in float32 (16 or 32 of them a lane), chunks in float64, lanes by a fixed tree; slices merge in their order, 32
// by a tree and then one such band to the next.
//
// So a row's bits depend on its logits alone: not on the other rows, not on how many warps or blocks share it, not on where
// it lies in memory.
#pragma once
#include "greatest.cuh"
#include "logprob_gap.cuh"

namespace srp::cuda {

// Positions in a row are 32-bit, V being an int32 by contract.
constexpr uint32_t kSliceBytes = 8192;
constexpr int kParts = 4;  // vectors of a lane's chunk
template <class T>
constexpr uint32_t kSlice = kSliceBytes / sizeof(T);  // ids
template <class T>
constexpr uint32_t kStep = kWarp * Vector<T>::kCount;  // ids from a lane's vector to its next one
template <class T>
constexpr uint32_t kChunk = kParts * kStep<T>;  // 512 or 1024 ids

template <class T>
SRP_HD uint32_t slices_of(int64_t V) {
  return static_cast<uint32_t>((V + kSlice<T> - 1) / kSlice<T>);
}

// Of slice `slice` of a row of V ids; behind the row 0.
template <class T>
SRP_HD uint32_t ids_of(uint32_t slice, uint32_t V) {
  const uint32_t begin = slice * kSlice<T>, left = begin < V ? V - begin : 0;
  return left < kSlice<T> ? left : kSlice<T>;
}
template <class T>
SRP_HD uint32_t chunks_of(uint32_t slice, uint32_t V) {
  return (ids_of<T>(slice, V) + kChunk<T> - 1) / kChunk<T>;
}

// ---- where a slice lies

// In shared memory, in whole chunks; each lane reads what it has copied itself.
template <class T>
struct HeldSlice {
  const T* own;  // this lane's first vector

  __device__ __forceinline__ Vector<T> part(uint32_t chunk, int p) const {
    return *reinterpret_cast<const Vector<T>*>(own + chunk * kChunk<T> + p * kStep<T>);
  }
};

// In memory, whose cache the second touch finds. V and the ids behind it are -infinity: masked ids, which add nothing.
template <class T>
struct ReadSlice {
  const T* x;
  uint32_t first, V;  // `first`: of this lane's first vector
  bool aligned;

  __device__ __forceinline__ Vector<T> part(uint32_t chunk, int p) const {
    const uint32_t j = first + chunk * kChunk<T> + p * kStep<T>;
    return aligned && j + Vector<T>::kCount <= V ? load_vector(x + j) : load_pieces(x, j, V);
  }
};

// ---- a slice

// A lane's largest logit, and the chunks that hold it, a bit each. NaNs lose against numbers.
struct LaneTop {
  float logit;
  uint32_t chunks;
};

template <class T, class Slice>
__device__ __forceinline__ LaneTop top_of_lane(const Slice& slice, uint32_t chunks) {
  LaneTop lane = {-INFINITY, 0};
  SRP_KEEP_ROLLED
  for (uint32_t c = 0; c < chunks; ++c) {
    Vector<T> most = slice.part(c, 0);
    SRP_UNROLL
    for (int p = 1; p < kParts; ++p) most = greater(most, slice.part(c, p));
    const float top = greatest(most);
    const uint32_t chunk = 1u << c;
    lane.chunks = top > lane.logit ? chunk : top == lane.logit ? lane.chunks | chunk : lane.chunks;
    lane.logit = fmaxf(lane.logit, top);
  }
  return lane;
}

// A count summed over the lanes. From sm_80 on a warp has an instruction for it.
__device__ __forceinline__ int add_lanes(int count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return warp_reduce(count, Sum{});
#else
  return __reduce_add_sync(kFullWarp, count);
#endif
}

// The sums of a and of b over the lanes, for every lane: as warp_reduce adds them, but half of the lanes add each.
__device__ __forceinline__ void add_lanes(double& a, double& b) {
  const bool upper = threadIdx.x % kWarp >= kWarp / 2;
  double mine = (upper ? b : a) + __shfl_xor_sync(kFullWarp, upper ? a : b, kWarp / 2);
  for (int distance = kWarp / 4; distance > 0; distance /= 2) mine += __shfl_xor_sync(kFullWarp, mine, distance);
  a = __shfl_sync(kFullWarp, mine, 0);
  b = __shfl_sync(kFullWarp, mine, kWarp / 2);
}

template <class T, bool kCapped, bool kSquares>
class SliceSums {
 public:
  // All lanes of the warp call it.
  __device__ __forceinline__ SliceSums(const LogitMap& map, const LaneTop& lane) : gap_(map) {
    top_ = warp_reduce(lane.logit, [](float a, float b) { return fmaxf(a, b); });
    gap_.set_top(top_);
    tops_ = lane.logit == top_ ? lane.chunks : 0;
    if constexpr (!kCapped) look_below(lane.logit);
  }

  // Chunks in their order.
  template <class Slice>
  __device__ __forceinline__ void add(const Slice& slice, uint32_t chunk) {
    const bool has_top = tops_ & 1;
    tops_ >>= 1;
    float rest = 0, weighted = 0, squares = 0;
    const auto add_term = [&](float term, float arg) {
      rest += term;
      weighted = fmaf(term, arg, weighted);
      if (kSquares) squares = fmaf(term, term, squares);
    };
    if (kCapped || careful_) {
      SRP_KEEP_ROLLED
      for (int p = 0; p < kParts; ++p) {
        Vector<T> part = slice.part(chunk, p);
        if (has_top) equals_ += __popc(take_out(part, top_));
        SRP_UNROLL
        for (int i = 0; i < Vector<T>::kCount; ++i) {
          const Gap gap = gap_(element(part, i));
          add_term(gap.term(), gap.finite_arg());
        }
      }
    } else if constexpr (!kCapped) {
      Vector<T> parts[kParts];
      SRP_UNROLL
      for (int p = 0; p < kParts; ++p) parts[p] = slice.part(chunk, p);
      if (has_top) {
        uint32_t found = 0;
        SRP_UNROLL
        for (int p = 0; p < kParts; ++p) found |= take_out(parts[p], top_, p);
        equals_ += __popc(found);
      }
      SRP_UNROLL
      for (int p = 0; p < kParts; ++p) {
        if constexpr (kPairs) parts[p] = greater_or_nan(parts[p], {{floor_, floor_, floor_, floor_}});
        SRP_UNROLL
        for (int i = 0; i < Vector<T>::kCount; ++i) {
          const Gap gap = gap_(element(parts[p], i));
          add_term(gap.power(), kPairs ? gap.arg : gap.finite_arg());
        }
      }
    }
    rest_ += rest;
    weighted_ += weighted;
    if (kSquares) squares_ += squares;
  }

  // Every lane gets them.
  __device__ __forceinline__ RowSums of_warp() const {
    double rest = rest_, weighted = weighted_;
    add_lanes(rest, weighted);
    const double squares = kSquares ? warp_reduce(squares_, Sum{}) : 0;
    const double equals = add_lanes(equals_) - 1;
    if (rest != rest || !(fabsf(top_) < INFINITY)) return no_sums(rest != rest ? NAN : top_);
    return {top_, rest + equals, weighted * kLn2, squares + equals};
  }

 private:
  static constexpr bool kPairs = sizeof(T) == 2;

  // Whether all ids below the top may lie more than 11 nats below it, so that everything hangs on small terms.
  __device__ __forceinline__ void look_below(float lane_top) {
    careful_ = !__any_sync(kFullWarp, lane_top >= gap_.near(top_) && lane_top < top_);
    if constexpr (kPairs) {
      const float low = gap_.below(top_, 152), lower = low - fabsf(low) * 0x1p-7f;  // however it is rounded
      floor_ = rounded_pair(lower, lower, T{});
      careful_ =
          careful_ || !(fabsf(low) < 6e4f && gap_.slope() < 1e7f);  // where the numbers of T are close enough for that
    }
  }

  GapFrom<T, kCapped> gap_;
  float top_;
  uint32_t tops_;  // chunks of this lane that hold the top, a bit each, from the next one on
  bool careful_;  // every term to the last bit; with a softcap always: beside its tanh that is nothing
  uint32_t floor_;  // a pair of logits too low to have a term, but finite: masked ids become such, two at a time
  int equals_ = 0;  // of ids equal to the top, this lane's
  double rest_ = 0, weighted_ = 0, squares_ = 0;  // of the others; weighted_ in powers of two
};

// When chunk c has been touched for the last time, done(c) is called.
template <class T, bool kCapped, bool kSquares, class Slice, class Done>
__device__ __forceinline__ RowSums sum_slice(const LogitMap& map, const Slice& slice, uint32_t chunks, Done&& done) {
  SliceSums<T, kCapped, kSquares> sums(map, top_of_lane<T>(slice, chunks));
  SRP_KEEP_ROLLED
  for (uint32_t c = 0; c < chunks; ++c) {
    sums.add(slice, c);
    done(c);
  }
  return sums.of_warp();
}

// ---- a row

// Reads memory that other blocks wrote while this one ran, so not through the multiprocessor's own cache.
__device__ __forceinline__ RowSums fresh(const RowSums* s) {
  return {__ldcg(&s->max_logit), __ldcg(&s->rest), __ldcg(&s->weighted), __ldcg(&s->squares)};
}

// Of up to 32 slices, each lane's own (no_sums(-infinity) in a lane without one). Every lane gets them.
__device__ __forceinline__ RowSums merge_band(const LogitMap& map, const RowSums& mine) {
  const double top = warp_reduce(mine.max_logit, Max{});
  if (!(fabs(top) < INFINITY)) return no_sums(top);
  // The first of the equal maxima stays out of the sums, the others are terms.
  const int leader = __ffs(static_cast<int>(__ballot_sync(kFullWarp, mine.max_logit == top))) - 1;
  const double own = static_cast<int>(threadIdx.x % kWarp) == leader ? 0 : 1;
  const double gap = mine.finite() ? map.below_max(mine.max_logit, top) : 0, f = mine.finite() ? exp(gap) : 0;
  const double rest = mine.rest + own;
  return {top, warp_reduce(f * rest, Sum{}), warp_reduce(f * (mine.weighted + gap * rest), Sum{}),
          warp_reduce(f * f * (mine.squares + own), Sum{})};
}

// The sums of `count` slices behind those of `before`. All lanes of a warp call it and get the same.
template <bool kForeign>
__device__ __forceinline__ RowSums merge_slices(const LogitMap& map, RowSums before, const RowSums* states,
                                                int64_t count) {
  const int lane = threadIdx.x % kWarp;
  for (int64_t band = 0; band < count; band += kWarp) {
    RowSums mine = no_sums(-INFINITY);
    if (band + lane < count) mine = kForeign ? fresh(states + band + lane) : states[band + lane];
    before = merge_sums(map, before, merge_band(map, mine));
  }
  return before;
}

}  // namespace srp::cuda
