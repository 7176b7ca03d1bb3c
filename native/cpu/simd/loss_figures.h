// What the tokens of a row add up for the figures of surprisal/loss.h, lane by lane: lanes count from the row's begin and are added in
// their order at its end.
namespace srp::cpu::SRP_LEVEL {

struct FigureLanes {
  F64 loss, kl, ratio, log_ratio, clamped, absolute, squared, k3;
  I64 kept, terms, clipped, limited, below, above, outside, positive, negative;
};

// Both halves added up; the figures beyond SRP_LOSS_SUMS only where all are wanted.
SRP_INLINE FigureLanes joined(const FigureLanes& a, const FigureLanes& b, bool all) {
  FigureLanes sums = {};
  sums.loss = a.loss + b.loss;
  sums.kl = a.kl + b.kl;
  sums.ratio = a.ratio + b.ratio;
  sums.kept = a.kept + b.kept;
  sums.terms = a.terms + b.terms;
  sums.clipped = a.clipped + b.clipped;
  sums.limited = a.limited + b.limited;
  if (!all) return sums;
  sums.log_ratio = a.log_ratio + b.log_ratio;
  sums.clamped = a.clamped + b.clamped;
  sums.absolute = a.absolute + b.absolute;
  sums.squared = a.squared + b.squared;
  sums.k3 = a.k3 + b.k3;
  sums.below = a.below + b.below;
  sums.above = a.above + b.above;
  sums.outside = a.outside + b.outside;
  sums.positive = a.positive + b.positive;
  sums.negative = a.negative + b.negative;
  return sums;
}

// Log ratios, 0 under the mask.
SRP_INLINE void add_log_ratios(FigureLanes* sums, F64 x, const Exponentials& e, double log_clamp) {
  const double infinity = INFINITY;
  sums->log_ratio += x;
  if (log_clamp < infinity) sums->clamped += clamp(Lanes(x), Lanes(-log_clamp), Lanes(log_clamp)).x;
  sums->absolute += absolute(x);
  sums->squared += x * x;
  sums->k3 += pick(equal(e.less_one, splat(infinity)), e.less_one, e.less_one - x);
}

// Where the values of kept tokens lie relative to a band.
struct BandMasks {
  Mask below, above;
};

// P: LossParameters, or LaneParameters (loss_inputs.h).
template <class P>
SRP_INLINE BandMasks log_band(F64 value, const P& p) {
  return {less(value, (-Lanes(p.clip_low)).x), more(value, Lanes(p.clip_high).x)};
}

template <class P>
SRP_INLINE BandMasks ratio_band(F64 ratio, const P& p) {
  const Lanes cap(p.ratio_cap), capped = pick(more(ratio, cap.x), cap.x, ratio);
  return {capped<Lanes(1) - Lanes(p.clip_low), capped> Lanes(1) + Lanes(p.clip_high)};
}

SRP_INLINE void add_band(FigureLanes* sums, BandMasks band, Mask kept, F64 advantage) {
  const Mask below = both(kept, band.below), above = both(kept, band.above), outside = either(below, above);
  const Mask gains = more(advantage, F64{}), loses = less(advantage, F64{});
  count(&sums->below, both(below, loses));
  count(&sums->above, both(above, gains));
  count(&sums->outside, outside);
  count(&sums->positive, both(outside, gains));
  count(&sums->negative, both(outside, loses));
}

// The figures beyond SRP_LOSS_SUMS.
SRP_INLINE void store_others(double* at, const FigureLanes& lanes, double log_clamp) {
  const double infinity = INFINITY;
  at[SRP_FIGURE_LOG_RATIO] = sum(lanes.log_ratio);
  at[SRP_FIGURE_CLAMPED_LOG_RATIO] = log_clamp < infinity ? sum(lanes.clamped) : at[SRP_FIGURE_LOG_RATIO];
  at[SRP_FIGURE_ABSOLUTE_LOG_RATIO] = sum(lanes.absolute);
  at[SRP_FIGURE_SQUARED_LOG_RATIO] = sum(lanes.squared);
  at[SRP_FIGURE_RATIO_K3] = sum(lanes.k3);
  at[SRP_FIGURE_BELOW] = static_cast<double>(sum(lanes.below));
  at[SRP_FIGURE_ABOVE] = static_cast<double>(sum(lanes.above));
  at[SRP_FIGURE_OUTSIDE] = static_cast<double>(sum(lanes.outside));
  at[SRP_FIGURE_OUTSIDE_POSITIVE] = static_cast<double>(sum(lanes.positive));
  at[SRP_FIGURE_OUTSIDE_NEGATIVE] = static_cast<double>(sum(lanes.negative));
}

// All figures but the total and the row's ratio.
SRP_INLINE void store_lanes(double* at, const FigureLanes& lanes, bool all, double log_clamp) {
  at[SRP_FIGURE_LOSS] = sum(lanes.loss);
  at[SRP_FIGURE_KL] = sum(lanes.kl);
  at[SRP_FIGURE_RATIO] = sum(lanes.ratio);
  at[SRP_FIGURE_KEPT] = static_cast<double>(sum(lanes.kept));
  at[SRP_FIGURE_TERMS] = static_cast<double>(sum(lanes.terms));
  at[SRP_FIGURE_CLIPPED] = static_cast<double>(sum(lanes.clipped));
  at[SRP_FIGURE_LIMITED] = static_cast<double>(sum(lanes.limited));
  if (all) store_others(at, lanes, log_clamp);
}

}  // namespace srp::cpu::SRP_LEVEL
