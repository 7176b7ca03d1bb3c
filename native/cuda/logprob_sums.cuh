// The sums of a row of logits (RowSums), read once.
//
// A row is cut into slices of 4096 ids. A warp sums a slice, 64 bytes a lane at a time: one power of two an id, against the
// largest logit that the warp has met, which is the same for all its lanes and stays out of the sums together with its equals.
// They are counted instead: each adds 1, less one for the maximum itself. Of 4096 random logits about half of the chunks hold one
// that is at least as large as all before: there the sums are scaled, and equals are told from terms without a branch. Only in chunks
// whose ids below the largest are all far below it are terms computed to the last bit. A chunk's terms are added in float32 (16 or 32
// of them a lane), chunks in float64, lanes by a fixed tree; slices merge in their order, 32 by a tree and then one such band to the
// next.
//
// So a row's bits depend on its logits alone: not on the other rows, not on how many warps or blocks share it, not on where
// it lies in memory.
#pragma once
#include "logprob_gap.cuh"
#include "vector.cuh"

namespace srp::cuda {

// Positions in a row are 32-bit, V being an int32 by contract. Registers bound the number of loads in flight, so they are saved.
constexpr uint32_t kSlice = 4096;
// Vectors of a lane's chunk. With a softcap one: the code of a tanh an id is long, and four times that long would not stay in the
// multiprocessor's cache; the loads, which wait for the tanh before them, need no company.
template <bool kCapped>
constexpr int kParts = kCapped ? 1 : 4;
template <class T, bool kCapped>
constexpr uint32_t kChunk = kWarp * kParts<kCapped> * Vector<T>::kCount;  // ids: 512 or 1024, with a softcap 128 or 256

SRP_HD uint32_t slices_of(int64_t V) { return static_cast<uint32_t>((V + kSlice - 1) / kSlice); }

// ---- a chunk of a warp

template <class T, bool kCapped>
struct Chunk {
  Vector<T> parts[kParts<kCapped>];
};

// Ids from `begin` on, V and those behind it as -infinity: masked ids, which add nothing. `kLast`: not read again.
template <bool kLast, class T, bool kCapped>
__device__ __forceinline__ void load_chunk(Chunk<T, kCapped>& chunk, const T* x, uint32_t begin, uint32_t V,
                                           bool aligned) {
  constexpr int kCount = Vector<T>::kCount;
  const uint32_t first = begin + threadIdx.x % kWarp * kCount;
  if (aligned && begin + kChunk<T, kCapped> <= V) {
    SRP_UNROLL
    for (int p = 0; p < kParts<kCapped>; ++p) {
      const T* const from = x + first + p * kWarp * kCount;
      chunk.parts[p] = kLast ? load_last(from) : load_vector(from);
    }
    return;
  }
  SRP_UNROLL
  for (int p = 0; p < kParts<kCapped>; ++p) {
    const uint32_t j = first + p * kWarp * kCount;
    chunk.parts[p] = aligned && j + kCount <= V ? load_vector(x + j) : load_pieces(x, j, V);
  }
}

// ---- a slice

template <class T, bool kCapped, bool kSquares>
class SliceSums {
 public:
  __device__ explicit SliceSums(const LogitMap& map) : gap_(map) {}

  // All lanes of the warp call it.
  __device__ __forceinline__ void add(const Chunk<T, kCapped>& chunk) {
    Vector<T> most = chunk.parts[0];
    if constexpr (!kCapped) most = greater(greater(most, chunk.parts[1]), greater(chunk.parts[2], chunk.parts[3]));
    const float top = greatest(most);
    const bool rises = __any_sync(kFullWarp, top >= top_);
    if (rises) raise_top(top);
    // With a softcap every term is computed to the last bit: beside its tanh that is nothing.
    if (kCapped || !__any_sync(kFullWarp, top >= near_ && top < top_))
      add_terms<Terms::kCareful>(chunk);
    else if (rises)
      add_terms<Terms::kCounted>(chunk);
    else
      add_terms<Terms::kPlain>(chunk);
  }

  // Every lane gets them.
  __device__ RowSums of_warp() const {
    const double rest = warp_reduce(rest_, Sum{}), weighted = warp_reduce(weighted_, Sum{});
    const double squares = kSquares ? warp_reduce(squares_, Sum{}) : 0;
    const double equals = warp_reduce(count_, Sum{}) - 1;
    if (rest != rest) return no_sums(NAN);
    if (!(fabsf(top_) < INFINITY)) return no_sums(top_);
    return {top_, rest + equals, weighted * kLn2, squares + equals};
  }

 private:
  __device__ void raise_top(float lane_top) {
    const float top = warp_reduce(lane_top, [](float a, float b) { return fmaxf(a, b); });
    if (!(top > top_)) return;
    gap_.set_top(top);
    const Gap gap = gap_(top_);  // the old top and its equals are terms as any other
    const double factor = top < INFINITY ? gap.term() : 0.0f;  // a row without sums: 0 leaves a NaN a NaN
    const double rest = rest_ + count_;
    weighted_ = factor * (weighted_ + gap.finite_arg() * rest);
    rest_ = factor * rest;
    if (kSquares) squares_ = factor * factor * (squares_ + count_);
    count_ = 0;
    top_ = top;
    near_ = gap_.near(top);
  }

  // Of a chunk that has no id equal to the top; that may have some; and whose ids below the top may all lie more than 11 nats below
  // it, so that everything hangs on small terms.
  enum class Terms { kPlain, kCounted, kCareful };

  template <Terms kTerms>
  __device__ __forceinline__ void add_terms(const Chunk<T, kCapped>& chunk) {
    float rest = 0, weighted = 0, squares = 0;
    SRP_UNROLL
    for (int p = 0; p < kParts<kCapped>; ++p) {
      SRP_UNROLL
      for (int i = 0; i < Vector<T>::kCount; ++i) {
        const float x = element(chunk.parts[p], i);
        const bool equal = kTerms != Terms::kPlain && x >= top_;  // not of a NaN, which must reach the sum
        count_ += equal;
        if (kTerms == Terms::kCareful && equal) continue;
        const Gap gap = gap_(x);
        const float power = kTerms == Terms::kCareful ? gap.term() : gap.power();
        const float term = equal ? 0.0f : power;
        rest += term;
        weighted = fmaf(term, gap.finite_arg(), weighted);
        if (kSquares) squares = fmaf(term, term, squares);
      }
    }
    rest_ += rest;
    weighted_ += weighted;
    if (kSquares) squares_ += squares;
  }

  GapFrom<T, kCapped> gap_;
  float top_ = -INFINITY, near_ = INFINITY;
  int count_ = 0;  // of ids equal to the top, this lane's
  double rest_ = 0, weighted_ = 0, squares_ = 0;  // of the others; weighted_ in powers of two
};

// This warp's slices: `first`, then every `step`-th, before `end`. Slice s goes to states[s - base]. The next chunk is loaded while
// the current one is added up.
template <bool kCapped, bool kSquares, bool kLast, class T>
__device__ __forceinline__ void sum_slices(const LogitMap& map, const T* x, uint32_t V, uint32_t first, uint32_t end,
                                           uint32_t step, uint32_t base, RowSums* states) {
  if (first >= end) return;
  const bool aligned = aligned16(x);
  Chunk<T, kCapped> next;
  load_chunk<kLast>(next, x, first * kSlice, V, aligned);
  for (uint32_t slice = first; slice < end; slice += step) {
    SliceSums<T, kCapped, kSquares> sums(map);
    const uint32_t stop = (slice + 1) * kSlice < V ? (slice + 1) * kSlice : V;
    for (uint32_t j = slice * kSlice; j < stop; j += kChunk<T, kCapped>) {
      const Chunk<T, kCapped> chunk = next;
      const bool more = j + kChunk<T, kCapped> < stop;
      if (more || slice + step < end)
        load_chunk<kLast>(next, x, more ? j + kChunk<T, kCapped> : (slice + step) * kSlice, V, aligned);
      sums.add(chunk);
    }
    const RowSums found = sums.of_warp();
    if (threadIdx.x % kWarp == 0) states[slice - base] = found;
  }
}

// Rows of at most one slice: those of `rows`, a bit each, of which row r begins at x + r stride. Its sums go to states[r]. The first chunk of
// the next one is loaded while the last of this one is added up.
template <bool kCapped, bool kSquares, class T>
__device__ __forceinline__ void sum_short_rows(const LogitMap& map, const T* x, int64_t stride, uint32_t V,
                                               unsigned rows, RowSums* states) {
  if (rows == 0) return;
  int row = __ffs(static_cast<int>(rows)) - 1;
  const T* from = x + row * stride;
  Chunk<T, kCapped> next;
  load_chunk<true>(next, from, 0, V, aligned16(from));
  while (rows != 0) {
    rows &= rows - 1;
    const int row_behind = __ffs(static_cast<int>(rows)) - 1;
    const T* const behind = x + row_behind * stride;
    SliceSums<T, kCapped, kSquares> sums(map);
    for (uint32_t j = 0; j < V; j += kChunk<T, kCapped>) {
      const Chunk<T, kCapped> chunk = next;
      if (j + kChunk<T, kCapped> < V)
        load_chunk<true>(next, from, j + kChunk<T, kCapped>, V, aligned16(from));
      else if (rows != 0)
        load_chunk<true>(next, behind, 0, V, aligned16(behind));
      sums.add(chunk);
    }
    const RowSums found = sums.of_warp();
    if (threadIdx.x % kWarp == 0) states[row] = found;
    row = row_behind;
    from = behind;
  }
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
