// Plain rows of loss_row, which most are: one clipped ratio and one advantage for all tokens, without factors, marks of terms or KL
// term. All that a token costs is the row's; only the figures of log ratios are its own, in stages as those of loss_plain.h.
namespace srp::cpu::SRP_LEVEL {

template <class F>
SRP_INLINE bool is_plain(const LossRow<F>& row, const RowConstants& all) {
  const LossTokens<F>& tokens = row.tokens;
  return (tokens.form == SRP_ROW_CLIP || tokens.form == SRP_ROW_CLIP_LOCAL) && !all.weighs && !tokens.advantage &&
         !tokens.term_mask && !tokens.reference && !tokens.kl_values && !tokens.ratio &&
         (!tokens.all_figures || (tokens.old_log_probs && !row.old_log_probs_per_row));
}

// The sums of tokens that all cost the same, and their results.
template <bool kMasked, class F>
SRP_INLINE void plain_costs(const LossRow<F>& row, const LossHalf& kept_token, F64 slope, const RowConstants& all,
                            int64_t i, int64_t count, RowLanes* lanes) {
  const LossTokens<F>& tokens = row.tokens;
  const Mask everyone = !Mask{};
  F64 loss_sum = lanes->figures.loss, slope_sum = lanes->slope;
  I64 kept_count = {};
  for (int64_t k = 0; k < count; k += kHalf) {
    const Mask kept = kMasked ? mask_of(tokens.mask + i + k) : everyone;
    loss_sum += pick(kept, kept_token.loss, F64{});
    slope_sum += pick(kept, slope, F64{});
    SRP_LEVEL::count(&kept_count, kept);
  }
  lanes->figures.loss = loss_sum;
  lanes->slope = slope_sum;
  const I64 none = {}, clipped = any(kept_token.clipped) ? kept_count : none,
            limited = any(all.term.limited) ? kept_count : none;
  lanes->figures.clipped += clipped;
  lanes->figures.limited += limited;
  if (tokens.all_figures) {
    const bool gains = tokens.row_advantage > 0, loses = tokens.row_advantage < 0;
    const I64 below = any(all.band.below) ? kept_count : none, above = any(all.band.above) ? kept_count : none;
    const I64 outside = any(either(all.band.below, all.band.above)) ? kept_count : none;
    lanes->figures.outside += outside;
    if (gains) lanes->figures.above += above;
    if (loses) lanes->figures.below += below;
    if (gains) lanes->figures.positive += outside;
    if (loses) lanes->figures.negative += outside;
  }
  if (!tokens.loss && !tokens.grad && !tokens.clipped) return;
  for (int64_t k = 0; k < count; k += kLanes) {
    LossHalf halves[2];
    for (int64_t h = 0; h < 2; ++h) {
      const Mask kept = kMasked ? mask_of(tokens.mask + i + k + h * kHalf) : everyone;
      halves[h].loss = pick(kept, kept_token.loss, F64{});
      halves[h].grad = pick(kept, kept_token.grad, F64{});
      halves[h].clipped = both(kept, kept_token.clipped);
    }
    put_both(tokens.loss, i + k, halves[0].loss, halves[1].loss);
    put_both(tokens.grad, i + k, halves[0].grad, halves[1].grad);
    if (tokens.clipped) store_flags(tokens.clipped + i + k, halves[0].clipped, halves[1].clipped);
  }
}

// Of [i, i + count), a multiple of kLanes. False where a ratio of a token may be 0 or infinite: nothing has been added then.
template <bool kMasked, class F>
static __attribute__((noinline)) bool plain_row_tile(const LossRow<F>& row, const RowConstants& all, int64_t i,
                                                     int64_t count, RowLanes* lanes) {
  const LossTokens<F>& tokens = row.tokens;
  PlainTile tile;
  FigureLanes* const figures = &lanes->figures;
  if (tokens.all_figures) {
    RatioLanes sums = {figures->log_ratio, figures->clamped, figures->absolute, figures->squared, figures->k3};
    if (!plain_ratios<kMasked, true>(tokens, kExpWideLimit, i, count, &tile, &sums, &sums)) return false;
    figures->log_ratio = sums.log_ratio;
    figures->clamped = sums.clamped;
    figures->absolute = sums.absolute;
    figures->squared = sums.squared;
    figures->k3 = sums.k3;
  }
  LossHalf kept_token = {};
  kept_token.loss = all.term.loss.x + F64{};
  kept_token.clipped = all.term.clipped;
  const Lanes grad = scaled(Lanes(tokens.policy), all.term.slope) + scaled(Lanes(tokens.kl_scale), Lanes(0));
  kept_token.grad = grad.x + F64{};
  plain_costs<kMasked>(row, kept_token, all.term.slope.x, all, i, count, lanes);
  return true;
}

// Whole registers of [begin, end) from the first on, as far as they are plain. Returns where the other tokens begin.
template <class F>
SRP_INLINE int64_t plain_row_values(const LossRow<F>& row, const RowConstants& all, int64_t begin, int64_t end,
                                    RowLanes* lanes) {
  const int64_t last = end - (end - begin) % kLanes;
  for (int64_t i = begin; i < last; i += kLossTile) {
    const int64_t count = last - i < kLossTile ? last - i : kLossTile;
    const int64_t kept = kept_of(row.tokens, i, count);
    if (kept == 0) {
      put_nothing(row.tokens, i, count);
    } else if (!(kept == count ? plain_row_tile<false>(row, all, i, count, lanes)
                               : plain_row_tile<true>(row, all, i, count, lanes))) {
      return i;
    }
  }
  return last;
}

}  // namespace srp::cpu::SRP_LEVEL
