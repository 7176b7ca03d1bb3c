// Slices of rows of logits on their way into shared memory, while a warp sums those that have come (logprob_sums.cuh).
//
// A warp has room for one slice, or for several rows that are shorter. As soon as a chunk has been touched for the second time, the copies of
// what the warp needs next begin to where it was. So each of a multiprocessor's 16 or 20 warps has up to 8 KB on their way; 40 KB on all
// multiprocessors are enough for 4.5 TB/s at a latency of 1.1 us. Registers in place of shared memory would save a quarter of an instruction
// an id, which the second touch reads by, and take 64 of a thread; but a register has no index, so that the code of a slice would be as long
// as its 128 ids a lane, four times as long as that of a chunk.
//
// Bulk copies with barriers, which sm_90 has, would take away 4 of the 304 instructions of a turn of bfloat16, which by their count hold
// nothing back, and the polls of a barrier would come instead; rows that are not aligned to 16 bytes would still need copies of their own.
//
// A lane copies and reads the same 16 bytes, so it waits for its own copies alone. Which elements a lane takes is counted from the row's first
// one; where a row is not aligned, they come four bytes at a time, and 16-bit numbers at an odd place as parts of five words.
#pragma once
#include "logprob_sums.cuh"
#include "ptx.cuh"

namespace srp::cuda {

template <class T>
__device__ __forceinline__ void store_shared(T* to, const Vector<T>& v) {
  *reinterpret_cast<Vector<T>*>(to) = v;
}

// ---- copies of one lane; V and the ids behind it are -infinity

__device__ __forceinline__ void copy_words(void* to, const void* from) {
  SRP_UNROLL
  for (int i = 0; i < 4; ++i)
    __pipeline_memcpy_async(static_cast<uint32_t*>(to) + i, static_cast<const uint32_t*>(from) + i, 4);
}

// Elements from j on of a row that is not aligned to 16 bytes; V has all of them.
__device__ __forceinline__ void copy_unaligned(float* to, const float* x, uint32_t j, uint32_t) {
  copy_words(to, x + j);
}
template <class T>
__device__ __forceinline__ void copy_unaligned(T* to, const T* x, uint32_t j, uint32_t V) {
  if (reinterpret_cast<uintptr_t>(x) % 4 == 0) return copy_words(to, x + j);
  if (j == 0 || j + Vector<T>::kCount == V)
    return store_shared(to, load_pieces(x, j, V));  // no neighbour to read with it
  const uint32_t* const from = reinterpret_cast<const uint32_t*>(x + j - 1);
  uint32_t words[5];
  SRP_UNROLL
  for (int i = 0; i < 5; ++i) words[i] = from[i];
  Vector<T> v;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) v.words[i] = words[i] >> 16 | words[i + 1] << 16;
  store_shared(to, v);
}

// The lane's vectors of a whole chunk of an aligned row.
template <class T>
__device__ __forceinline__ void copy_whole(T* to, const T* from) {
  SRP_UNROLL
  for (int p = 0; p < kParts; ++p) __pipeline_memcpy_async(to + p * kStep<T>, from + p * kStep<T>, 16);
}

// Those of any chunk, the first one from id j on.
template <class T>
__device__ __forceinline__ void copy_chunk(T* to, const T* x, uint32_t j, uint32_t V) {
  constexpr uint32_t kCount = Vector<T>::kCount;
  for (int p = 0; p < kParts; ++p, to += kStep<T>, j += kStep<T>) {
    if (j + kCount > V)
      store_shared(to, load_pieces(x, j, V));
    else if (aligned16(x))
      __pipeline_memcpy_async(to, x + j, 16);
    else
      copy_unaligned(to, x, j, V);
  }
}

// ---- the stream of a warp

// Slice `slice` of row x; none where it lies behind the row.
template <class T>
struct SliceAt {
  const T* x;
  uint32_t slice;
};

template <class T, bool kCapped, bool kSquares>
class SliceStream {
 public:
  // How many rows of V ids are under way at a time, where a row has one slice.
  static SRP_HD uint32_t short_rows(uint32_t V) { return V <= kSlice<T> / 4 ? 4 : V <= kSlice<T> / 2 ? 2 : 1; }
  // Of shared memory, a warp's.
  static constexpr uint32_t kBytes = kCapped ? 0 : kSliceBytes;

  // `room`: kBytes of this warp. `slots`: slices under way, more than one only of short rows.
  __device__ __forceinline__ SliceStream(const LogitMap& map, uint32_t V, void* room, uint32_t slots)
      : map_(map),
        V_(V),
        slots_(slots),
        pitch_(kSlice<T> / slots),
        own_(static_cast<T*>(room) + threadIdx.x % kWarp * Vector<T>::kCount) {}

  // Begins to copy: the first `slots` slices, in their order.
  __device__ __forceinline__ void begin(const SliceAt<T>& at) {
    if constexpr (!kCapped) {
      Copies copies(*this, at);
      finish(copies, 0);
    }
  }

  // The sums of slice `at`, the first of those that have begun. `ahead` is the first one that has not.
  __device__ __forceinline__ RowSums take(const SliceAt<T>& at, const SliceAt<T>& ahead) {
    const uint32_t chunks = chunks_of<T>(at.slice, V_);
    if constexpr (kCapped) {
      const uint32_t first = at.slice * kSlice<T> + threadIdx.x % kWarp * Vector<T>::kCount;
      return sum_slice<T, true, kSquares>(map_, ReadSlice<T>{at.x, first, V_, aligned16(at.x)}, chunks,
                                          [](uint32_t) {});
    } else {
      Copies copies(*this, ahead);
      __pipeline_wait_prior(slots_ - 1);
      const RowSums sums = sum_slice<T, false, kSquares>(map_, HeldSlice<T>{slot()}, chunks, copies);
      finish(copies, chunks);
      return sums;
    }
  }

 private:
  // What brings a slice to where another one is, chunk by chunk in their order.
  struct Copies {
    const T* x;
    T* to;
    const T* from;  // this lane's first vector of the chunk
    uint32_t first, V, whole, chunks;  // first: the vector's id; whole: chunks that 16-byte copies bring

    __device__ __forceinline__ Copies(const SliceStream& stream, const SliceAt<T>& at)
        : x(at.x),
          to(stream.slot()),
          from(x + at.slice * kSlice<T> + threadIdx.x % kWarp * Vector<T>::kCount),
          first(at.slice * kSlice<T> + threadIdx.x % kWarp * Vector<T>::kCount),
          V(stream.V_),
          whole(aligned16(at.x) ? ids_of<T>(at.slice, V) / kChunk<T> : 0),
          chunks(chunks_of<T>(at.slice, V)) {}

    __device__ __forceinline__ void operator()(uint32_t chunk) {
      if (chunk < whole)
        copy_whole(to, from);
      else if (chunk < chunks)
        copy_chunk(to, x, first + chunk * kChunk<T>, V);
      to += kChunk<T>;
      from += kChunk<T>;
    }
  };

  __device__ __forceinline__ T* slot() const { return own_ + slot_ * pitch_; }

  // What is left from chunk `from` on.
  __device__ __forceinline__ void finish(Copies& copies, uint32_t from) {
    SRP_KEEP_ROLLED
    for (uint32_t c = from; c < copies.chunks; ++c) copies(c);
    __pipeline_commit();
    slot_ = slot_ + 1 < slots_ ? slot_ + 1 : 0;
  }

  const LogitMap& map_;
  uint32_t V_, slots_, pitch_, slot_ = 0;  // pitch_: ids from a slot to the next
  T* own_;
};

// One warp's slices of row x: every `step`-th from `first` on, before `end`. Slice s goes to states[s - base]. The
// first of them has begun.
template <class T, class Stream>
__device__ __forceinline__ void sum_slices(Stream& stream, const T* x, uint32_t first, uint32_t end, uint32_t step,
                                           uint32_t base, RowSums* states) {
  for (uint32_t s = first; s < end; s += step) {
    const RowSums found = stream.take({x, s}, {x, s + step});
    if (threadIdx.x % kWarp == 0) states[s - base] = found;
  }
}

}  // namespace srp::cuda
