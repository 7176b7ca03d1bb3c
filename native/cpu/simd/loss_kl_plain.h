// Rows of loss_token that are their KL term and nothing else: klPenalty() and klEstimates(). A linear loss whose advantage is 0, of the current
// policy, so that a kept token's loss and log ratio are 0 and its ratio 1, which is in every band; in tiles as those of loss_plain.h.
namespace srp::cpu::SRP_LEVEL {

template <class F>
SRP_INLINE bool is_kl_alone(const LossTokens<F>& row) {
  const bool silent = row.form == SRP_LOSS_LINEAR && !row.old_log_probs && !row.advantage && row.row_advantage == 0 &&
                      !row.factor && row.row_factor == 1 && row.policy - row.policy == 0;
  return silent && row.reference && !row.kl.times_ratio && !row.bounds && !row.term_mask && !row.loss && !row.ratio &&
         !row.clipped;
}

// Whether all gaps of a tile are within the exponentials, so that no log-prob is infinite or NaN.
template <class F>
SRP_INLINE bool gaps_within(const LossTokens<F>& row, int64_t i, int64_t count) {
  const F64 limit = splat(kExpWideLimit);
  Reach reach;
  for (int64_t k = 0; k < count; k += kHalf) extend(&reach, plain_gap(row, i + k), limit);
  return is_within(reach, limit);
}

// Of tokens of which one is kept.
template <class F>
static __attribute__((noinline)) bool kl_tile(const LossTokens<F>& given, int64_t i, int64_t count, LossLanes* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  if (!gaps_within(row, i, count)) return false;
  PlainTile tile;
  plain_kl(row, i, count, &tile, all);
  F64 ratios = all->figures.ratio;
  for (int64_t k = 0; k < count; k += kLanes) {
    F64 low = load(tile.kl_grad + k), high = load(tile.kl_grad + k + kHalf), ones = splat(2.0);
    if (row.mask) {
      const Mask kept_low = mask_of(row.mask + i + k), kept_high = mask_of(row.mask + i + k + kHalf);
      low = pick(kept_low, low, F64{});
      high = pick(kept_high, high, F64{});
      ones = pick(kept_low, splat(1.0), F64{}) + pick(kept_high, splat(1.0), F64{});
    }
    ratios += ones;
    put_both(row.grad, i + k, low + F64{}, high + F64{});
  }
  all->figures.ratio = ratios;
  all->largest = larger(splat(1.0), all->largest);
  return true;
}

template <class F>
SRP_INLINE void kl_tokens(const LossTokens<F>& row, int64_t begin, int64_t end, LossLanes* all) {
  const auto tile = [&](const LossTokens<F>& tokens, int64_t i, int64_t count, int64_t kept) {
    const bool is_plain = kl_tile(tokens, i, count, all);
    if (is_plain) add_kept(kept, all);
    return is_plain;
  };
  const int64_t rest = whole_tiles(row, begin, end, all, tile);
  if (rest < end) cut_tile(row, rest, end - rest, all, tile);
}

}  // namespace srp::cpu::SRP_LEVEL
