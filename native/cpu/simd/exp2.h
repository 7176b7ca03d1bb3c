// 2^(t rate + kExp2Offset) in float32, for t rate in [kExp2Low, 100): kExp2Low gives exactly 0, so a lane clamped to it drops out
// of any sum. The offset keeps what is worth adding clear of the subnormal numbers. NaN stays NaN.
//
// t rate = k / kExp2Steps + f: adding kMagic leaves k in the last bits of the sum, a step of the table (or a shift) makes
// 2^(k / steps) of it, a polynomial the rest. The product is never rounded by itself: f takes what k left of it.
// power f is ready before the polynomial is: the steps of a register, one behind the other, are what a core has to wait for.
namespace srp::cpu::SRP_LEVEL {

constexpr float kExp2Low = -127 - kExp2Offset;
constexpr float kExp2Magic = 12582912.0f / kExp2Steps;  // 1.5 * 2^23 / steps

// The steps up to f, which those after them wait for.
struct BegunExp2 {
  F32 z, f;
};

SRP_INLINE BegunExp2 begin_exp2(F32 t, F32 rate) {
  const F32 z = fma(t, rate, splat(kExp2Magic));
  return {z, fma(t, rate, splat(kExp2Magic) - z)};
}

SRP_INLINE F32 end_exp2(const Exp2Table& table, const BegunExp2& begun) {
  const F32 power = exp2_step(table, (I32)begun.z);
  return fma(power * begun.f, exp2_rise(begun.f), power);
}

SRP_INLINE F32 exp2_product(const Exp2Table& table, F32 t, F32 rate) { return end_exp2(table, begin_exp2(t, rate)); }

}  // namespace srp::cpu::SRP_LEVEL
