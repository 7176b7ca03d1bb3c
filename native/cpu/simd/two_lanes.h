// Loads, stores and transposes of two float64 lanes, for levels whose registers hold two.
namespace srp::cpu::SRP_LEVEL {

SRP_INLINE void store_wide(float* p, F64 x) {
  p[0] = static_cast<float>(x[0]);
  p[1] = static_cast<float>(x[1]);
}

// The first `count` lanes, both or none where that is beyond; the others are 0, and their memory is left alone.
template <class F>
SRP_INLINE F64 load_some(const F* p, int64_t count) {
  return F64{count > 0 ? p[0] : 0.0, count > 1 ? p[1] : 0.0};
}
template <class F>
SRP_INLINE void store_some(F* p, F64 x, int64_t count) {
  if (count > 0) p[0] = static_cast<F>(x[0]);
  if (count > 1) p[1] = static_cast<F>(x[1]);
}

// The same of the last `count` lanes.
template <class F>
SRP_INLINE F64 load_last(const F* p, int64_t count) {
  return F64{count > 1 ? p[0] : 0.0, count > 0 ? p[1] : 0.0};
}
template <class F>
SRP_INLINE void store_last(F* p, F64 x, int64_t count) {
  if (count > 1) p[0] = static_cast<F>(x[0]);
  if (count > 0) p[1] = static_cast<F>(x[1]);
}

// Lane i of x[j] becomes lane j of x[i].
SRP_INLINE void transpose(F64* x) {
  const F64 a = x[0], b = x[1];
  x[0] = F64{a[0], b[0]};
  x[1] = F64{a[1], b[1]};
}

}  // namespace srp::cpu::SRP_LEVEL
