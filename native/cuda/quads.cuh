// Four neighbouring elements of an array: 16 bytes of float32 and 4 of a mask in one access. Quads from a multiple of four on are
// aligned wherever a row begins. Those at the ends of a row, and of arrays that are not aligned, go element by element.
#pragma once
#include "vector.cuh"

namespace srp::cuda {

constexpr int kQuad = 4;

template <class F>
struct Quad {
  F at[kQuad];
};

// A quad of the tokens [begin, end): which of its four are among them, and whether all are.
struct QuadPlace {
  int64_t first, begin, end;

  __device__ __forceinline__ bool has(int k) const { return first + k >= begin && first + k < end; }
  __device__ __forceinline__ bool whole() const { return first >= begin && first + kQuad <= end; }
};

__device__ __forceinline__ Quad<float> load_words(const float* p) {
  const Vector<float> v = load_last(p);
  return {{element(v, 0), element(v, 1), element(v, 2), element(v, 3)}};
}
__device__ __forceinline__ Quad<double> load_words(const double* p) {
  const double2 low = *reinterpret_cast<const double2*>(p), high = *reinterpret_cast<const double2*>(p + 2);
  return {{low.x, low.y, high.x, high.y}};
}
__device__ __forceinline__ void store_words(float* p, const Quad<float>& q) { store_vector(p, rounded(q.at, 0.0f)); }
__device__ __forceinline__ void store_words(double* p, const Quad<double>& q) {
  *reinterpret_cast<double2*>(p) = make_double2(q.at[0], q.at[1]);
  *reinterpret_cast<double2*>(p + 2) = make_double2(q.at[2], q.at[3]);
}

// What is not among the tokens is 0, unread.
template <class F>
__device__ __forceinline__ Quad<F> load_quad(const F* p, const QuadPlace& place) {
  if (place.whole() && aligned16(p + place.first)) return load_words(p + place.first);
  Quad<F> q;
  SRP_UNROLL
  for (int k = 0; k < kQuad; ++k) q.at[k] = place.has(k) ? p[place.first + k] : F{0};
  return q;
}

template <class F>
__device__ __forceinline__ void store_quad(F* p, const QuadPlace& place, const Quad<F>& q) {
  if (place.whole() && aligned16(p + place.first)) return store_words(p + place.first, q);
  SRP_UNROLL
  for (int k = 0; k < kQuad; ++k)
    if (place.has(k)) p[place.first + k] = q.at[k];
}

// The mask's bytes of a quad in a word; without a mask all are kept.
__device__ __forceinline__ uint32_t load_flags(const uint8_t* mask, const QuadPlace& place) {
  if (!mask) return 0x01010101u;
  if (place.whole() && reinterpret_cast<uintptr_t>(mask + place.first) % kQuad == 0)
    return *reinterpret_cast<const uint32_t*>(mask + place.first);
  uint32_t flags = 0;
  SRP_UNROLL
  for (int k = 0; k < kQuad; ++k)
    if (place.has(k)) flags |= static_cast<uint32_t>(mask[place.first + k]) << (8 * k);
  return flags;
}
__device__ __forceinline__ bool flag_of(uint32_t flags, int k) { return flags >> (8 * k) & 0xffu; }

// out = value at the kept tokens of the row, 0 at the others. Worker by worker a quad, four of them under way.
template <class F>
__device__ void spread(F* out, const uint8_t* mask, const Range& row, double value, int worker, int workers) {
  constexpr int kUnderWay = 4;
  F number;
  put(&number, value);
  for (int64_t first = row.begin / kQuad + worker; first * kQuad < row.end; first += int64_t{kUnderWay} * workers) {
    uint32_t flags[kUnderWay];
    SRP_UNROLL
    for (int u = 0; u < kUnderWay; ++u) {
      const QuadPlace place = {(first + int64_t{u} * workers) * kQuad, row.begin, row.end};
      flags[u] = place.first < row.end ? load_flags(mask, place) : 0;
    }
    SRP_UNROLL
    for (int u = 0; u < kUnderWay; ++u) {
      const QuadPlace place = {(first + int64_t{u} * workers) * kQuad, row.begin, row.end};
      if (place.first >= row.end) break;
      Quad<F> q;
      SRP_UNROLL
      for (int k = 0; k < kQuad; ++k) q.at[k] = flag_of(flags[u], k) ? number : F{0};
      store_quad(out, place, q);
    }
  }
}

}  // namespace srp::cuda
