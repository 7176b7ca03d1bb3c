// What the tokens of a row add up for the figures of surprisal/loss.h, lane by lane: lanes count from the row's begin and are added in
// their order at its end.
namespace srp::cpu::SRP_LEVEL {

struct FigureLanes {
  F64 loss, kl, ratio;
  I64 kept, terms, clipped, limited;
  // Written and read only where all figures are wanted:
  F64 log_ratio, clamped, absolute, squared, k3;
  I64 below, above, outside, positive, negative;
};

// One by one, as in logprob_sums.h.
SRP_INLINE void clear(FigureLanes* sums, bool all) {
  sums->loss = sums->kl = sums->ratio = F64{};
  sums->kept = sums->terms = sums->clipped = sums->limited = I64{};
  if (!all) return;
  sums->log_ratio = sums->clamped = sums->absolute = sums->squared = sums->k3 = F64{};
  sums->below = sums->above = sums->outside = sums->positive = sums->negative = I64{};
}

SRP_INLINE void add(const FigureLanes& more, bool all, FigureLanes* sums) {
  sums->loss += more.loss;
  sums->kl += more.kl;
  sums->ratio += more.ratio;
  sums->kept += more.kept;
  sums->terms += more.terms;
  sums->clipped += more.clipped;
  sums->limited += more.limited;
  if (!all) return;
  sums->log_ratio += more.log_ratio;
  sums->clamped += more.clamped;
  sums->absolute += more.absolute;
  sums->squared += more.squared;
  sums->k3 += more.k3;
  sums->below += more.below;
  sums->above += more.above;
  sums->outside += more.outside;
  sums->positive += more.positive;
  sums->negative += more.negative;
}

// Log ratios, 0 under the mask.
SRP_INLINE void add_log_ratios(FigureLanes* sums, F64 x, const Exponentials& e, double log_clamp) {
  const double infinity = INFINITY;
  sums->log_ratio += x;
  if (log_clamp < infinity) sums->clamped += clamp(Lanes(x), Lanes(-log_clamp), Lanes(log_clamp)).x;
  sums->absolute += absolute(x);
  sums->squared = fma(x, x, sums->squared);
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

// Of counts below 2^51.
SRP_INLINE F64 in_numbers(I64 counts) {
  const F64 one_and_a_half = splat(6755399441055744.0);  // times 2^52: counts are its last bits
  return (F64)(counts + (I64)one_and_a_half) - one_and_a_half;
}

// The sums of the lanes of eight registers, in their order, all at once.
SRP_INLINE void add_lanes(F64* x, double* out) {
  for (int64_t first = 0; first < 8; first += kHalf) {
    transpose(x + first);
    F64 total = F64{};
    for (int64_t lane = 0; lane < kHalf; ++lane) total += x[first + lane];
    store(out + first, total);
  }
}

// The figures beyond SRP_LOSS_SUMS. Eight at a time, in their order.
SRP_INLINE void store_others(double* at, const FigureLanes& lanes, double log_clamp) {
  const double infinity = INFINITY;
  F64 figures[8] = {in_numbers(lanes.below),
                    in_numbers(lanes.above),
                    in_numbers(lanes.outside),
                    in_numbers(lanes.positive),
                    in_numbers(lanes.negative),
                    lanes.log_ratio,
                    lanes.clamped,
                    lanes.absolute};
  static_assert(SRP_FIGURE_ABSOLUTE_LOG_RATIO == SRP_FIGURE_BELOW + 7, "the order of the figures");
  add_lanes(figures, at + SRP_FIGURE_BELOW);
  if (!(log_clamp < infinity)) at[SRP_FIGURE_CLAMPED_LOG_RATIO] = at[SRP_FIGURE_LOG_RATIO];
  at[SRP_FIGURE_SQUARED_LOG_RATIO] = sum(lanes.squared);
  at[SRP_FIGURE_RATIO_K3] = sum(lanes.k3);
}

// All figures but the total; the row's ratio as 0.
SRP_INLINE void store_lanes(double* at, const FigureLanes& lanes, bool all, double log_clamp) {
  F64 figures[8] = {lanes.loss,
                    lanes.kl,
                    in_numbers(lanes.kept),
                    in_numbers(lanes.terms),
                    in_numbers(lanes.clipped),
                    in_numbers(lanes.limited),
                    F64{},
                    lanes.ratio};
  static_assert(SRP_FIGURE_RATIO == SRP_FIGURE_LOSS + 7, "the order of the figures");
  add_lanes(figures, at + SRP_FIGURE_LOSS);
  if (all) store_others(at, lanes, log_clamp);
}

}  // namespace srp::cpu::SRP_LEVEL
