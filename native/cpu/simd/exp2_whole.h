// exp2 without a table, for levels that cannot look up by lane: whole powers of two and a polynomial of degree 6.
namespace srp::cpu::SRP_LEVEL {

struct Exp2Table {};
constexpr float kExp2Steps = 1;
SRP_INLINE F32 exp2_step(const Exp2Table&, I32 k) {
  return (F32)(((U32)k << 23) + (uint32_t{127 + kExp2Offset} << 23));
}
// (2^f - 1) / f over f in [-1/2, 1/2], relative error of 2^f 2.0e-9
SRP_INLINE F32 exp2_rise(F32 f) {
  F32 p = fma(splat(0.00015353362f), f, splat(0.0013398875f));
  p = fma(p, f, splat(0.009618437f));
  p = fma(p, f, splat(0.055503324f));
  p = fma(p, f, splat(0.24022648f));
  return fma(p, f, splat(0.6931472f));
}

}  // namespace srp::cpu::SRP_LEVEL
