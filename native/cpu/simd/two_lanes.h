// Loads, stores and transposes of two float64 lanes, for levels whose registers hold two.
namespace srp::cpu::SRP_LEVEL {

SRP_INLINE void store_wide(float* p, F64 x) {
  p[0] = static_cast<float>(x[0]);
  p[1] = static_cast<float>(x[1]);
}

// The first or last `count` lanes, both or none where that is beyond (wide.h).
struct SomeLanes {
  bool first, second;
};
SRP_INLINE SomeLanes first_lanes(int64_t count) { return {count > 0, count > 1}; }
SRP_INLINE SomeLanes last_lanes(int64_t count) { return {count > 1, count > 0}; }
template <class F>
SRP_INLINE F64 load_lanes(const F* p, SomeLanes lanes) {
  return F64{lanes.first ? p[0] : 0.0, lanes.second ? p[1] : 0.0};
}
template <class F>
SRP_INLINE void store_lanes(F* p, F64 x, SomeLanes lanes) {
  if (lanes.first) p[0] = static_cast<F>(x[0]);
  if (lanes.second) p[1] = static_cast<F>(x[1]);
}

// Lane i of x[j] becomes lane j of x[i].
SRP_INLINE void transpose(F64* x) {
  const F64 a = x[0], b = x[1];
  x[0] = F64{a[0], b[0]};
  x[1] = F64{a[1], b[1]};
}
// Lane i: the lanes of x[i], added by halves.
SRP_INLINE F64 sum_each(const F64* x) { return F64{x[0][0], x[1][0]} + F64{x[0][1], x[1][1]}; }

}  // namespace srp::cpu::SRP_LEVEL
