// float16 in memory for levels without a conversion instruction, one lane at a time.
namespace srp::cpu::SRP_LEVEL {

SRP_INLINE F32 load(const Half* p) {
  F32 x = {};
  for (int64_t lane = 0; lane < kLanes; ++lane) x[lane] = to_float(p[lane]);
  return x;
}
SRP_INLINE void store(Half* p, F32 x) {
  for (int64_t lane = 0; lane < kLanes; ++lane) p[lane] = to_half(x[lane]);
}

}  // namespace srp::cpu::SRP_LEVEL
