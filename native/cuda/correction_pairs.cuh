// Statistics of float32 log-probs in pairs of float32 (two_floats.cuh), where float64 is slow. Tokens that pairs do not hold, of an
// infinite log-prob or a ratio above e^40, are left to float64. The sums of the tokens that a lane has at a time become float64 behind
// them, its extremes behind all of its tokens.
#pragma once
#include "shared/correction.h"
#include "token_pairs.cuh"
#include "two_floats.cuh"

namespace srp::cuda {

// The arguments that a statistic and its sums read, made by the host: a kernel has them without a conversion, and in no register.
struct PairBounds {
  int32_t statistic;
  bool hold;  // whether pairs hold all of them
  TwoFloats log_clamp, low, high;

  template <class Args>
  explicit PairBounds(const Args& a)
      : statistic(a.statistic),
        hold(tame_bound(a.log_clamp) && tame_bound(a.low) && tame_bound(a.high)),
        log_clamp(a.log_clamp),
        low(a.low),
        high(a.high) {}
};

// Which tokens of a call go in pairs. Of float64 log-probs none does.
template <class F>
class MismatchInPairs {
 public:
  __device__ __forceinline__ explicit MismatchInPairs(const PairBounds& given) : bounds(given), holds_(given.hold) {}

  static __device__ __forceinline__ bool may() { return sizeof(F) == sizeof(float) && slow_float64(); }

  __device__ __forceinline__ bool takes(F log_prob, F old_log_prob) const {
    if (!may() || !holds_) return false;
    const float x = static_cast<float>(log_prob), y = static_cast<float>(old_log_prob), d = x - y;
    return tame(d) && tame_exponent(d) && (bounds.statistic <= SRP_STATISTIC_RATIO || (is_log(x) && is_log(y)));
  }

  // The mean, for deviations in pairs. Where float32 might not hold their squares, no more tokens go in pairs. Those of equal numbers
  // nobody reads.
  __device__ __forceinline__ TwoFloats mean_of(const ChunkSums& sums, double mean) {
    if (!may()) return TwoFloats(0);
    const float width = static_cast<float>(sums.high - sums.low);
    const TwoFloats pair(mean);
    holds_ = holds_ && (width == 0 || width >= 0x1p-40f) && fabsf(pair.hi) <= 0x1p60f;
    return pair;
  }

  const PairBounds& bounds;

 private:
  // A log-prob whose probability a pair holds.
  static __device__ __forceinline__ bool is_log(float x) { return x >= -50 && x <= 10; }

  bool holds_;
};

// What a lane adds up in pairs.
struct PairSums : MismatchSumsOf<TwoFloats> {
  // Some of its tokens are over.
  __device__ __forceinline__ void ran(MismatchSums& all) {
    give(all.x.sum, x.sum);
    give(all.bounded, bounded);
    give(all.difference, difference);
  }
  // All are.
  __device__ __forceinline__ void end(MismatchSums& all) const {
    all.x.low = srp::least(all.x.low, x.low.wide());
    all.x.high = srp::greatest(all.x.high, x.high.wide());
    all.x.count += x.count;
    all.above += above;
    all.below += below;
  }
};

struct PairDeviations : MismatchDeviationsOf<TwoFloats> {
  __device__ __forceinline__ void ran(MismatchDeviations& all) {
    give(all.x.sum, x.sum);
    give(all.x.squares, x.squares);
    give(all.bounded.sum, bounded.sum);
    give(all.bounded.squares, bounded.squares);
  }
};

// Bounds of a row's tokens: those under the mask go in pairs as well.
template <class F>
class BoundInPairs : MismatchInPairs<F> {
  using Base = MismatchInPairs<F>;

 public:
  __device__ __forceinline__ BoundInPairs(const srp_correction_bound_args& a, const PairBounds& given, double factor)
      : Base(given),
        factor_holds_(tame(factor) && factor >= 0),  // the product of 0 and less would lose its sign
        factor_(factor),
        bounds_{given, a.outside, TwoFloats(a.masked_weight)} {}

  __device__ __forceinline__ bool takes(bool enters, F log_prob, F old_log_prob) const {
    return Base::may() && (!enters || (factor_holds_ && Base::takes(log_prob, old_log_prob)));
  }

  // Of a token that it takes: its weight, and whether it stays.
  __device__ __forceinline__ bool bound(bool enters, F log_prob, F old_log_prob, F* weight) const {
    const TokenBound<TwoFloats> token =
        token_bound(bounds_, enters, factor_, TwoFloats(log_prob), TwoFloats(old_log_prob));
    *weight = static_cast<F>(token.weight.hi);
    return token.kept;
  }

 private:
  struct Bounds : PairBounds {
    int32_t outside;
    TwoFloats masked_weight;
  };

  bool factor_holds_;
  TwoFloats factor_;
  Bounds bounds_;
};

}  // namespace srp::cuda
