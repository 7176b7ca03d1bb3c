// 16 bytes of logits at a time. Which elements a thread takes is counted from the row's first element, never from an aligned
// address: the sum of a row must not depend on where the row lies. A row that is not aligned is read piece by piece.
#pragma once
#include "common.cuh"
#include "pairs.cuh"

namespace srp::cuda {

template <class T>
struct alignas(16) Vector {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  uint32_t words[4];
};

// `i` is a constant after unrolling, so that the words stay in registers.
__device__ __forceinline__ float element(const Vector<float>& v, int i) { return bits_float(v.words[i]); }
template <class T>
__device__ __forceinline__ float element(const Vector<T>& v, int i) {
  return i % 2 ? high_of(v.words[i / 2], T{}) : low_of(v.words[i / 2], T{});
}

// The bits of a where `mask` has them, else those of b.
__device__ __forceinline__ uint32_t chosen(uint32_t mask, uint32_t a, uint32_t b) { return (a & mask) | (b & ~mask); }

// Element `i`, which need not be a constant, becomes x. By masks: where each word is chosen by a condition, nvcc makes of it an index
// into local memory on sm_100 and sm_120.
__device__ __forceinline__ void replace(Vector<float>& v, int i, float x) {
  SRP_UNROLL
  for (int w = 0; w < 4; ++w) v.words[w] = chosen(w == i ? ~0u : 0u, float_bits(x), v.words[w]);
}
template <class T>
__device__ __forceinline__ void replace(Vector<T>& v, int i, T x) {
  const uint32_t shift = i % 2 * 16, word = static_cast<uint32_t>(x.bits) << shift, half = 0xffffu << shift;
  SRP_UNROLL
  for (int w = 0; w < 4; ++w) v.words[w] = chosen(w == i / 2 ? half : 0u, word, v.words[w]);
}

__device__ __forceinline__ float lowest(float) { return -INFINITY; }
__device__ __forceinline__ BFloat16 lowest(BFloat16) { return {0xff80}; }
__device__ __forceinline__ Half lowest(Half) { return {0xfc00}; }

// Elements equal to `top`, which is a value of T, become -infinity. Returns a bit each of them, other ones for each `part` of 0 to 3.
__device__ __forceinline__ uint32_t take_out(Vector<float>& v, float top, int part = 0) {
  uint32_t found = 0;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) {
    const bool equal = bits_float(v.words[i]) == top;
    found |= equal ? 1u << (4 * part + i) : 0u;
    v.words[i] = equal ? float_bits(-INFINITY) : v.words[i];
  }
  return found;
}
template <class T>
__device__ __forceinline__ uint32_t take_out(Vector<T>& v, float top, int part = 0) {
  const uint32_t tops = rounded_pair(top, top, T{}), none = pair_of(lowest(T{}), lowest(T{}));
  uint32_t found = 0;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) {
    const uint32_t equal = equal_halves(v.words[i], tops, T{});
    found |= equal & 0x10001u << (4 * part + i);
    v.words[i] = chosen(equal, none, v.words[i]);
  }
  return found;
}

SRP_HD bool aligned16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

template <class T>
__device__ __forceinline__ Vector<T> load_vector(const T* p) {
  const uint4 v = *reinterpret_cast<const uint4*>(p);
  return {{v.x, v.y, v.z, v.w}};
}
// For data that is not read again: it leaves the caches first.
template <class T>
__device__ __forceinline__ Vector<T> load_last(const T* p) {
  const uint4 v = __ldcs(reinterpret_cast<const uint4*>(p));
  return {{v.x, v.y, v.z, v.w}};
}

// Elements from `begin` on; those from `end` on are -infinity, unread.
__device__ __forceinline__ Vector<float> load_pieces(const float* x, int64_t begin, int64_t end) {
  Vector<float> v;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) v.words[i] = float_bits(begin + i < end ? x[begin + i] : -INFINITY);
  return v;
}
template <class T>
__device__ __forceinline__ Vector<T> load_pieces(const T* x, int64_t begin, int64_t end) {
  Vector<T> v;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int64_t j = begin + 2 * i;
    v.words[i] = pair_of(j < end ? x[j] : lowest(T{}), j + 1 < end ? x[j + 1] : lowest(T{}));
  }
  return v;
}

// Of all its elements; NaNs lose against numbers.
__device__ __forceinline__ Vector<float> greater(const Vector<float>& a, const Vector<float>& b) {
  Vector<float> v;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) v.words[i] = float_bits(fmaxf(bits_float(a.words[i]), bits_float(b.words[i])));
  return v;
}
template <class T>
__device__ __forceinline__ Vector<T> greater(const Vector<T>& a, const Vector<T>& b) {
  Vector<T> v;
  SRP_UNROLL
  for (int i = 0; i < 4; ++i) v.words[i] = greater_pair(a.words[i], b.words[i], T{});
  return v;
}
__device__ __forceinline__ float greatest(const Vector<float>& v) {
  return fmaxf(fmaxf(element(v, 0), element(v, 1)), fmaxf(element(v, 2), element(v, 3)));
}
template <class T>
__device__ __forceinline__ float greatest(const Vector<T>& v) {
  const uint32_t pair =
      greater_pair(greater_pair(v.words[0], v.words[1], T{}), greater_pair(v.words[2], v.words[3], T{}), T{});
  return fmaxf(low_of(pair, T{}), high_of(pair, T{}));
}
// NaNs lose against numbers.
__device__ __forceinline__ float least(const Vector<float>& v) {
  return fminf(fminf(element(v, 0), element(v, 1)), fminf(element(v, 2), element(v, 3)));
}
template <class T>
__device__ __forceinline__ float least(const Vector<T>& v) {
  const uint32_t pair =
      smaller_pair(smaller_pair(v.words[0], v.words[1], T{}), smaller_pair(v.words[2], v.words[3], T{}), T{});
  return fminf(low_of(pair, T{}), high_of(pair, T{}));
}

__device__ __forceinline__ Vector<float> rounded(const float (&x)[4], float) {
  return {{float_bits(x[0]), float_bits(x[1]), float_bits(x[2]), float_bits(x[3])}};
}
template <class T>
__device__ __forceinline__ Vector<T> rounded(const float (&x)[8], T kind) {
  return {{rounded_pair(x[0], x[1], kind), rounded_pair(x[2], x[3], kind), rounded_pair(x[4], x[5], kind),
           rounded_pair(x[6], x[7], kind)}};
}

// For data that this kernel does not read again.
template <class T>
__device__ __forceinline__ void store_vector(T* p, const Vector<T>& v) {
  __stcs(reinterpret_cast<uint4*>(p), make_uint4(v.words[0], v.words[1], v.words[2], v.words[3]));
}
// Elements from `begin` on, none from `end` on.
template <class T>
__device__ __forceinline__ void store_pieces(T* to, int64_t begin, int64_t end, const Vector<T>& v) {
  SRP_UNROLL
  for (int i = 0; i < Vector<T>::kCount; ++i)
    if (begin + i < end) store(to, begin + i, element(v, i));
}

}  // namespace srp::cuda
