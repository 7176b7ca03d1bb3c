// Tokens of float32 in pairs of float32 (two_floats.cuh), where float64 is slow: loss_token without bounds of rows and tokens. What
// pairs do not hold, an infinite log-prob or a ratio above e^40, is left to float64. The sums of a run become float64 behind it.
#pragma once
#include "loss_figures.cuh"
#include "two_floats.cuh"

namespace srp::cuda {

// Without kMay it takes none.
template <bool kMay>
class PairTokens {
 public:
  // Of a row.
  __device__ __forceinline__ PairTokens(const LossArgs& a, const LossParameters& p, const RowScale& scale,
                                        LossTally& tally) {
    if (!kMay || !slow_float64()) return;
    holds_ = tame(scale.policy) && tame(scale.kl) && tame_bounds(p) && tame_bound(a.kl.log_clamp) &&
             tame_bound(a.kl.value_clamp);
    parameters_ = {TwoFloats(p.clip_low),
                   TwoFloats(p.clip_high),
                   TwoFloats(p.dual_clip),
                   TwoFloats(p.ratio_cap),
                   TwoFloats(p.log_clamp),
                   TwoFloats(p.temperature_positive),
                   TwoFloats(p.temperature_negative),
                   TwoFloats(p.coefficient),
                   TwoFloats(p.log_low),
                   TwoFloats(p.log_high),
                   TwoFloats(p.bound_low),
                   TwoFloats(p.bound_high)};
    kl_ = {a.kl.kind, a.kl.gradient_kind, TwoFloats(a.kl.log_clamp), TwoFloats(a.kl.value_clamp)};
    scale_ = {TwoFloats(scale.policy), TwoFloats(scale.kl)};
    figures_.counts.tally = &tally;
    begin();
  }

  // Whether the token's numbers are such that pairs hold what comes of them.
  __device__ __forceinline__ bool takes(const LossArgs& a, int64_t b, int64_t i) const {
    if (!kMay || !slow_float64() || !holds_ || !is_kept(a, i)) return false;
    const float log_prob = at(a.log_probs, i);
    bool all = fabsf(log_prob) <= 0x1p20f && tame(at(a.advantages, a.advantages_per_token ? i : b));
    if (a.old_log_probs && !a.old_log_probs_per_row) all &= tame_exponent(log_prob - at(a.old_log_probs, i));
    if (a.reference_log_probs) all &= tame_exponent(log_prob - at(a.reference_log_probs, i));
    if (a.factors) all &= tame(at(a.factors, a.factors_per_token ? i : b));
    return all;
  }

  // token_loss() of a token that it takes.
  __device__ __forceinline__ void add(const LossArgs& a, int64_t b, int64_t i, int64_t o) {
    kept_token_loss<float>(a, b, i, o, parameters_, kl_, advantage_of<float, TwoFloats>(a, b, i), scale_, &figures_);
  }

  // A run is over.
  __device__ __forceinline__ void ran(const LossArgs& a, LaneFigures& all) {
    if (!kMay || !slow_float64() || !holds_) return;
    give(SRP_FIGURE_LOSS, all);
    if (a.reference_log_probs) give(SRP_FIGURE_KL, all);
    give(SRP_FIGURE_RATIO, all);
    all.at[SRP_FIGURE_ROW_RATIO] = larger(all.at[SRP_FIGURE_ROW_RATIO], figures_.at[SRP_FIGURE_ROW_RATIO].wide());
    if (wants_all(a)) {
      SRP_UNROLL
      for (int f = 3; f < LaneFigures::kSums; ++f) give(SRP_FIGURE_LOG_RATIO + f - 3, all);
    }
    begin();
  }

 private:
  struct Parameters {
    TwoFloats clip_low, clip_high, dual_clip, ratio_cap, log_clamp, temperature_positive, temperature_negative,
        coefficient, log_low, log_high, bound_low, bound_high;
  };
  struct Kl {
    int32_t kind, gradient_kind;
    TwoFloats log_clamp, value_clamp;
  };

  static __device__ __forceinline__ bool tame_bounds(const LossParameters& p) {
    return tame_bound(p.clip_low) && tame_bound(p.clip_high) && tame_bound(p.dual_clip) && tame_bound(p.ratio_cap) &&
           tame_bound(p.log_clamp) && tame_bound(p.max_log_ratio) && tame_bound(p.temperature_positive) &&
           tame_bound(p.temperature_negative) && tame_bound(p.coefficient);
  }
  static __device__ __forceinline__ float at(const void* array, int64_t i) {
    return static_cast<const float*>(array)[i];
  }

  __device__ __forceinline__ void begin() {
    SRP_UNROLL
    for (int f = 0; f < SRP_LOSS_FIGURES; ++f) figures_.at[f] = TwoFloats(0);
    figures_.at[SRP_FIGURE_ROW_RATIO] = {-INFINITY, 0};
  }
  __device__ __forceinline__ void give(int figure, LaneFigures& all) const {
    all.at[figure] += figures_.at[figure].wide();
  }

  bool holds_ = false;
  Parameters parameters_;
  Kl kl_;
  RowScaleOf<TwoFloats> scale_;
  FiguresWith<CountsInTally, TwoFloats> figures_;
};

}  // namespace srp::cuda
