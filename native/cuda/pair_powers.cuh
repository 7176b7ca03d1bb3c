// Powers of two as pairs of float32 (two_floats.cuh), many of them at once, of differences of logits: powers.cuh in about 55
// operations of float32, where float64 is slow.
#pragma once
#include "powers.cuh"
#include "two_floats.cuh"

namespace srp::cuda {

class PairPowers {
 public:
  // `rate`: what differences are multiplied by, as in LanePowers; an argument of the kernel takes no registers.
  __device__ __forceinline__ explicit PairPowers(TwoFloats rate)
      : rate_(rate), power_(exp2(static_cast<double>(threadIdx.x % kWarp) / 32)) {}

  // 2^(d rate / 32), for d rate from -3,200 to 320: relative to it within 2^-46 and another 2^-53 for each 1 of d rate. All lanes of the
  // warp call it.
  __device__ __forceinline__ TwoFloats operator()(TwoFloats d) const {
    constexpr float kRound = 12582912.0f;  // 1.5 · 2^23: of a sum with it, the low bits are the nearest integer
    const TwoFloats y = d * rate_;
    const float shifted = y.hi + kRound;
    const TwoFloats f = TwoFloats::joined(y.hi - (shifted - kRound), y.lo);
    const int n = static_cast<int>(float_bits(shifted)) - static_cast<int>(float_bits(kRound));
    // (ln 2 / 32)^k / k!, k from 5 down. What each adds to the power says how much of it has to be a pair.
    float few = fmaf(3.97371e-11f, f.hi, 9.172562e-9f);
    few = fmaf(few, f.hi, 1.693851e-6f);
    TwoFloats p = TwoFloats::joined(2.345962e-4f, TwoFloats::rounded_product(few, f.hi));
    p = f.times({p.hi, p.lo - 2.2245014e-13f});
    p = TwoFloats::joined(0.02166085f, p.hi, p.lo - 5.9520444e-11f);
    p = f.times(p);
    p = TwoFloats::joined(1.0f, p.hi, p.lo);
    const TwoFloats whole = {__shfl_sync(kFullWarp, power_.hi, n), __shfl_sync(kFullWarp, power_.lo, n)};
    p = p * whole;
    const float scale = bits_float(static_cast<uint32_t>((n >> 5) + 127) << 23);
    return {p.hi * scale, p.lo * scale};
  }

 private:
  const TwoFloats rate_, power_;  // the latter 2^(lane/32)
};

}  // namespace srp::cuda
