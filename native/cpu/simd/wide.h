// kHalf elements at a time as float64, whatever they are in memory, and the masks that go with them.
namespace srp::cpu::SRP_LEVEL {

// Whether a lane is NaN or infinite.
SRP_INLINE bool any_not_finite(F64 x) { return any((I32)(x - x != F64{})); }

SRP_INLINE F64 load_wide(const double* p) { return load(p); }
SRP_INLINE void store_wide(double* p, F64 x) { store(p, x); }

// The first or last `count` of kHalf elements, all of them or none where that is beyond; the others are 0, and their memory is left alone.
template <class F>
SRP_INLINE F64 load_some(const F* p, int64_t count) {
  return load_lanes(p, first_lanes(count));
}
// The others are `rest`.
template <class F>
SRP_INLINE F64 load_some(const F* p, int64_t count, double rest) {
  I64 lanes = {};
  for (int64_t lane = 0; lane < kHalf; ++lane) lanes[lane] = lane;
  return lanes < splat(count) ? load_some(p, count) : splat(rest);
}
template <class F>
SRP_INLINE F64 load_last(const F* p, int64_t count) {
  return load_lanes(p, last_lanes(count));
}
template <class F>
SRP_INLINE void store_some(F* p, F64 x, int64_t count) {
  store_lanes(p, x, first_lanes(count));
}
template <class F>
SRP_INLINE void store_last(F* p, F64 x, int64_t count) {
  store_lanes(p, x, last_lanes(count));
}

// Two halves, in two stores: joining what is narrowed would take longer.
template <class F>
SRP_INLINE void put_two(F* out, int64_t i, F64 low, F64 high) {
  if (!out) return;
  store_wide(out + i, low);
  store_wide(out + i + kHalf, high);
}

// kLanes elements in two halves; past the cache p lies on a multiple of 16.
template <bool kPastCache>
SRP_INLINE void put_wide(double* p, F64 low, F64 high) {
  if (kPastCache) {
    stream16(p, (F32)low);
    stream16(p + kHalf, (F32)high);
  } else {
    store(p, low);
    store(p + kHalf, high);
  }
}
template <bool kPastCache>
SRP_INLINE void put_wide(float* p, F64 low, F64 high) {
  if (kPastCache)
    stream16(p, narrow(low, high));
  else
    store(p, narrow(low, high));
}
}  // namespace srp::cpu::SRP_LEVEL
