// kHalf elements at a time as float64, whatever they are in memory, and the masks that go with them.
namespace srp::cpu::SRP_LEVEL {

// Whether a lane is NaN or infinite.
SRP_INLINE bool any_not_finite(F64 x) { return any((I32)(x - x != F64{})); }

SRP_INLINE F64 load_wide(const double* p) { return load(p); }
SRP_INLINE void store_wide(double* p, F64 x) { store(p, x); }

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
