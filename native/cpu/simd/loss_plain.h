// Plain rows of loss_token, which most are: the clipped surrogate with neither cap nor clamps nor factors, a weight that multiplies,
// and with or without a KL term.
//
// A tile of tokens at a time goes through its stages, each a loop of its own: ratios, KL terms, losses with gradients, figures. One loop over
// all of it has more constants and sums than there are registers, and chains that are longer than a processor looks ahead.
namespace srp::cpu::SRP_LEVEL {

constexpr int64_t kPlainTile = 16 * kLanes;  // tokens; what lies between the stages stays in the first cache

template <class F>
SRP_INLINE bool is_plain(const LossTokens<F>& row) {
  const LossParameters& p = row.parameters;
  const double off = INFINITY;
  return row.form == SRP_LOSS_CLIP && is_plain(p) && p.log_low == -off && p.log_high == off && row.old_log_probs &&
         !row.bounds && !row.term_mask && !row.factor && row.row_factor == 1 && row.policy != 0 &&
         row.policy - row.policy == 0 && (row.reference ? !row.kl.times_ratio : !row.kl_values);
}

struct PlainRow {
  F64 low, high, weight, advantage;  // weight: minus that of the policy's gradient
};

// Log ratios, 0 under the mask, with their exponentials.
struct PlainTile {
  alignas(64) double log_ratio[kPlainTile], ratio[kPlainTile], less_one[kPlainTile];
  alignas(64) double kl[kPlainTile], kl_grad[kPlainTile];  // the latter times its weight
};

// What a plain row adds up of LossLanes where not all figures are wanted.
struct PlainLanes {
  F64 loss, ratio, largest;
  I64 clipped;
};

SRP_INLINE PlainLanes plain_lanes(const LossLanes& all) {
  const FigureLanes& figures = all.figures;
  return {figures.loss, figures.ratio, all.largest, figures.clipped};
}

SRP_INLINE void put_plain_lanes(const PlainLanes& sums, LossLanes* all) {
  FigureLanes* const figures = &all->figures;
  figures->loss = sums.loss;
  figures->ratio = sums.ratio;
  figures->clipped = sums.clipped;
  all->largest = sums.largest;
}

// Of the tokens [i, i + count), a multiple of kLanes. False where a ratio may be 0 or infinite: nothing has been added then.
template <bool kMasked, bool kAll, class F>
SRP_INLINE bool plain_ratios(const LossTokens<F>& row, int64_t i, int64_t count, PlainTile* tile) {
  const F *log_probs = row.log_probs + i, *old_log_probs = row.old_log_probs + i;
  Reach reach;
  for (int64_t k = 0; k < count; k += kHalf) {
    F64 x = load_wide(log_probs + k) - load_wide(old_log_probs + k);
    if (kMasked) x = pick(mask_of(row.mask + i + k), x, F64{});
    extend(&reach, x);
    store(tile->log_ratio + k, x);
  }
  for (int64_t k = 0; k < count; k += kHalf) {
    const Exponentials e = exponentials_within<F>(load(tile->log_ratio + k));
    store(tile->ratio + k, e.exp);
    if (kAll) store(tile->less_one + k, e.less_one);
  }
  return is_within_exp(reach);
}

template <class F>
SRP_INLINE F64 plain_gap(const LossTokens<F>& row, int64_t i) {
  const F64 gap = load_wide(row.log_probs + i) - load_wide(row.reference + i);
  return row.mask ? pick(mask_of(row.mask + i), gap, F64{}) : gap;
}

// k3 without clamps, and its own gradient. False where a gap is beyond exponentials_within().
template <class F>
SRP_INLINE bool plain_k3(const LossTokens<F>& row, int64_t i, int64_t count, PlainTile* tile) {
  const F64 weight = splat(row.kl_scale);
  Reach reach;
  for (int64_t k = 0; k < count; k += kHalf) {
    const F64 d = plain_gap(row, i + k), e = exponentials_within<double>(-d).less_one;
    extend(&reach, d);
    store(tile->kl + k, e + d);
    store(tile->kl_grad + k, weight * -e);
  }
  return is_within_exp(reach);
}

SRP_INLINE bool is_plain_k3(const srp_kl_parameters& p, double weight) {
  const double off = INFINITY;
  return p.kind == SRP_KL_K3 && p.gradient_kind == SRP_KL_K3 && p.log_clamp == off && p.value_clamp == off &&
         weight != 0;
}

// The KL terms, in a row that has them.
template <class F>
SRP_INLINE void plain_kl(const LossTokens<F>& given, int64_t i, int64_t count, PlainTile* tile, LossHalves* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  if (!is_plain_k3(row.kl, row.kl_scale) || !plain_k3(row, i, count, tile))
    for (int64_t k = 0; k < count; k += kHalf) {
      const KlTerm<Lanes> kl = KlForm::at(Lanes(plain_gap(row, i + k)), row.kl);
      store(tile->kl + k, kl.value.x);
      store(tile->kl_grad + k, scaled(Lanes(row.kl_scale), kl.slope).x);
    }
  F64 low_sum = all->at[0].figures.kl, high_sum = all->at[1].figures.kl;
  for (int64_t k = 0; k < count; k += kLanes) {
    F64 low = load(tile->kl + k), high = load(tile->kl + k + kHalf);
    if (row.mask) {
      low = pick(mask_of(row.mask + i + k), low, F64{});
      high = pick(mask_of(row.mask + i + k + kHalf), high, F64{});
    }
    low += F64{};
    high += F64{};
    low_sum += low;
    high_sum += high;
    put_both(row.kl_values, i + k, low, high);
  }
  all->at[0].figures.kl = low_sum;
  all->at[1].figures.kl = high_sum;
}

// plain_loss() with its gradient. The comparisons that NaN needs are left to the selects: where an advantage is NaN, so are both
// branches. Under the mask x and the advantage are 0, and so is all that has the advantage for a factor.
template <bool kMasked, bool kKl, class F>
SRP_INLINE LossHalf plain_half(const LossTokens<F>& row, const PlainRow& plain, F64 ratio, const double* kl_grad,
                               int64_t i, PlainLanes* sums) {
  const Mask kept = kMasked ? mask_of(row.mask + i) : Mask{};
  F64 advantage = row.advantage ? load_wide(row.advantage + i) : plain.advantage;
  if (kMasked) advantage = pick(kept, advantage, F64{});
  const F64 banded = smaller(plain.high, larger(plain.low, ratio));
  const F64 free = advantage * ratio, held = advantage * banded;
  const F64 gain = smaller(held, free);
  LossHalf out;
  out.kl = F64{};
  out.clipped = less(held, free);
  out.loss = F64{} - gain;
  out.grad = pick(out.clipped, F64{}, fma(plain.weight, free, F64{}));
  if (kKl) {
    out.grad += load(kl_grad);
    out.grad = (kMasked ? pick(kept, out.grad, F64{}) : out.grad) + F64{};
  }
  out.ratio = kMasked ? pick(kept, ratio, F64{}) : ratio;
  sums->loss -= gain;
  sums->ratio += out.ratio;
  sums->largest = larger(out.ratio, sums->largest);
  count(&sums->clipped, out.clipped);
  return out;
}

template <bool kMasked, bool kKl, class F>
SRP_INLINE void plain_losses(const LossTokens<F>& given, const PlainRow& plain, int64_t i, int64_t count,
                             const PlainTile& tile, LossHalves* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  PlainLanes low_sums = plain_lanes(all->at[0]), high_sums = plain_lanes(all->at[1]);
  for (int64_t k = 0; k < count; k += kLanes) {
    const int64_t j = i + k;
    const double *ratio = tile.ratio + k, *kl_grad = tile.kl_grad + k;
    const LossHalf low = plain_half<kMasked, kKl>(row, plain, load(ratio), kl_grad, j, &low_sums);
    const LossHalf high =
        plain_half<kMasked, kKl>(row, plain, load(ratio + kHalf), kl_grad + kHalf, j + kHalf, &high_sums);
    put_two(row.loss, j, low.loss, high.loss);
    put_two(row.ratio, j, low.ratio, high.ratio);
    put_two(row.grad, j, low.grad, high.grad);
    if (row.clipped) store_flags(row.clipped + j, low.clipped, high.clipped);
  }
  put_plain_lanes(low_sums, &all->at[0]);
  put_plain_lanes(high_sums, &all->at[1]);
}

// As add_log_ratios(), of exponentials that are finite: kHalf of every `step` tokens.
SRP_INLINE void plain_log_ratios(const double* log_ratio, const double* less_one, int64_t count, int64_t step,
                                 double log_clamp, FigureLanes* figures) {
  F64 sum = figures->log_ratio, absolutes = figures->absolute, squared = figures->squared, k3 = figures->k3;
  for (int64_t k = 0; k < count; k += step) {
    const F64 x = load(log_ratio + k);
    sum += x;
    absolutes += absolute(x);
    squared += x * x;
    k3 += load(less_one + k) - x;
  }
  figures->log_ratio = sum;
  figures->absolute = absolutes;
  figures->squared = squared;
  figures->k3 = k3;
  if (!(log_clamp < static_cast<double>(INFINITY))) return;
  for (int64_t k = 0; k < count; k += step)
    figures->clamped += clamp(Lanes(load(log_ratio + k)), Lanes(-log_clamp), Lanes(log_clamp)).x;
}

// As add_band(), of the first halves of the registers, or of the second ones. The ratio under the mask is 1, which is in every band.
template <class F>
SRP_INLINE void plain_bands(const F* advantage, double row_advantage, const PlainRow& plain, const double* ratio,
                            int64_t count, FigureLanes* figures) {
  if (advantage) {
    for (int64_t k = 0; k < count; k += kLanes) {
      const F64 at = load(ratio + k);
      add_band(figures, {less(at, plain.low), more(at, plain.high)}, !Mask{}, load_wide(advantage + k));
    }
    return;
  }
  I64 below = {}, above = {};
  for (int64_t k = 0; k < count; k += kLanes) {
    const F64 at = load(ratio + k);
    SRP_LEVEL::count(&below, less(at, plain.low));
    SRP_LEVEL::count(&above, more(at, plain.high));
  }
  const I64 outside = below + above;
  figures->outside += outside;
  if (row_advantage > 0) {
    figures->above += above;
    figures->positive += outside;
  }
  if (row_advantage < 0) {
    figures->below += below;
    figures->negative += outside;
  }
}

template <class F>
SRP_INLINE void count_kept(const LossTokens<F>& row, int64_t i, int64_t tokens, LossHalves* all) {
  const I64 kept = {row.mask ? bytes_set(row.mask + i, tokens) : tokens};
  all->at[0].figures.kept += kept;
  all->at[0].figures.terms += kept;
}

// Of [i, i + count), a multiple of kLanes, unless plain_ratios() is false.
template <bool kMasked, bool kAll, class F>
static __attribute__((noinline)) bool plain_tile(const LossTokens<F>& row, int64_t i, int64_t count, LossHalves* all) {
  const PlainRow plain = {splat(1 - row.parameters.clip_low), splat(1 + row.parameters.clip_high), splat(-row.policy),
                          splat(row.row_advantage)};
  PlainTile tile;
  if (!plain_ratios<kMasked, kAll>(row, i, count, &tile)) return false;
  if (row.reference) {
    plain_kl(row, i, count, &tile, all);
    plain_losses<kMasked, true>(row, plain, i, count, tile, all);
  } else {
    plain_losses<kMasked, false>(row, plain, i, count, tile, all);
  }
  count_kept(row, i, count, all);
  if (!kAll) return true;
  each_half([&](int64_t h) {
    const int64_t first = h * kHalf;
    FigureLanes* const figures = &all->at[h].figures;
    plain_log_ratios(tile.log_ratio + first, tile.less_one + first, count, kLanes, row.parameters.log_clamp, figures);
    plain_bands(row.advantage ? row.advantage + i + first : nullptr, row.row_advantage, plain, tile.ratio + first,
                count, figures);
  });
  return true;
}

// Tokens under the mask cost nothing, in memory and in the sums.
template <class F>
SRP_INLINE void put_nothing(const LossTokens<F>& row, int64_t i, int64_t count) {
  F* const outputs[] = {row.loss, row.ratio, row.kl_values, row.grad};
  for (F* const out : outputs)
    if (out) memset(out + i, 0, sizeof(F) * static_cast<size_t>(count));
  if (row.clipped) memset(row.clipped + i, 0, static_cast<size_t>(count));
}

// Whole registers of [begin, end), a tile at a time: `tile_of(row, i, count)` is false where it leaves the tokens to loss_registers().
// Returns where the other tokens begin.
template <class F, class Tile>
SRP_INLINE int64_t whole_tiles(const LossTokens<F>& row, int64_t begin, int64_t end, LossHalves* all,
                               const Tile& tile_of) {
  const int64_t last = end - (end - begin) % kLanes;
  for (int64_t i = begin; i < last; i += kPlainTile) {
    const int64_t count = last - i < kPlainTile ? last - i : kPlainTile;
    if (row.mask && none_kept_of(row.mask + i, count)) {
      put_nothing(row, i, count);
      continue;
    }
    if (tile_of(row, i, count)) continue;
    for (int64_t k = 0; k < count; k += kLanes)
      if (!tile_of(row, i + k, kLanes)) loss_registers(row, i + k, i + k + kLanes, all);
  }
  return last;
}

// The last tokens of a row, fewer than a register.
template <class F, class Tile>
SRP_INLINE void cut_tile(const LossTokens<F>& row, int64_t begin, int64_t count, LossHalves* all, const Tile& tile_of) {
  CutLosses<F> cut;
  const LossTokens<F> tokens = cut.tokens(row, begin, count);
  if (!tile_of(tokens, 0, kLanes)) loss_registers(tokens, 0, kLanes, all);
  cut.put(row);
}

template <bool kMasked, bool kAll, class F>
SRP_INLINE int64_t plain_row(const LossTokens<F>& row, int64_t begin, int64_t end, LossHalves* all) {
  return whole_tiles(row, begin, end, all, [&](const LossTokens<F>& tokens, int64_t i, int64_t count) {
    return plain_tile<kMasked, kAll>(tokens, i, count, all);
  });
}

template <bool kAll, class F>
static __attribute__((noinline)) void plain_cut(const LossTokens<F>& row, int64_t begin, int64_t count,
                                                LossHalves* all) {
  cut_tile(row, begin, count, all, [&](const LossTokens<F>& tokens, int64_t i, int64_t tokens_of_tile) {
    return plain_tile<true, kAll>(tokens, i, tokens_of_tile, all);
  });
}

template <bool kAll, class F>
SRP_INLINE void plain_row_of(const LossTokens<F>& row, int64_t begin, int64_t end, LossHalves* all) {
  const int64_t rest =
      row.mask ? plain_row<true, kAll>(row, begin, end, all) : plain_row<false, kAll>(row, begin, end, all);
  if (rest < end) plain_cut<kAll>(row, rest, end - rest, all);
}

// No store goes past the cache: what a token takes to compute is as long as the way of its 13 bytes through it.
template <class F>
SRP_INLINE void plain_tokens(const LossTokens<F>& row, int64_t begin, int64_t end, LossHalves* all) {
  if (row.all_figures)
    plain_row_of<true>(row, begin, end, all);
  else
    plain_row_of<false>(row, begin, end, all);
}

}  // namespace srp::cpu::SRP_LEVEL
