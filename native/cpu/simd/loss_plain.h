// Plain rows of loss_token, which most are: the clipped surrogate without factors, a weight that multiplies, and with or without a KL
// term. Caps, clamps and the dual clip hold ratios that are far from 1: a tile without such a ratio knows nothing of them.
//
// A tile of tokens at a time goes through its stages, each a loop of its own with the figures that it adds up: ratios, KL terms, losses with
// gradients. One loop over all of it has more constants and sums than there are registers, and chains that are longer than a processor looks
// ahead. Where all of a tile is kept its mask is not read again.
namespace srp::cpu::SRP_LEVEL {

template <class F>
SRP_INLINE bool is_plain(const LossTokens<F>& row) {
  return row.form == SRP_LOSS_CLIP && !row.bounds && !row.term_mask && !row.factor && row.row_factor == 1 &&
         row.policy != 0 && row.policy - row.policy == 0 && (row.reference ? !row.kl.times_ratio : !row.kl_values);
}

// How far from 0 log ratios may lie that neither a cap nor a clamp nor the dual clip holds: below 0 where it holds those at 0.
SRP_INLINE double plain_limit(const LossParameters& p) {
  const double cap = p.dual_clip < p.ratio_cap ? p.dual_clip : p.ratio_cap, infinity = INFINITY;
  double limit = kExpWideLimit;
  if (p.log_high < limit) limit = p.log_high;
  if (-p.log_low < limit) limit = -p.log_low;
  if (cap == infinity) return limit;
  const double within = log(cap) - 1e-12;  // where an exp that is off by two digits at the end is not above the cap
  return within < limit ? within : limit;
}

// Elements, two tiles: so far ahead of its stages what they read and write is brought nearer. Most of the gain is what they write.
constexpr int64_t kLossAhead = 2 * kLossTile;

struct PlainRow {
  F64 low, high, weight;  // weight: minus that of the policy's gradient
  F64 advantage, advantage_low, advantage_high;  // the row's own, and its products with the bounds
};

template <class F>
SRP_INLINE PlainRow plain_constants(const LossTokens<F>& row) {
  const F64 low = splat(1 - row.parameters.clip_low), high = splat(1 + row.parameters.clip_high),
            advantage = splat(row.row_advantage);
  return {low, high, splat(-row.policy), advantage, advantage * low, advantage * high};
}

// Log ratios, 0 under the mask, with their exponentials.
struct PlainTile {
  alignas(64) double log_ratio[kLossTile], ratio[kLossTile];
  alignas(64) double kl[kLossTile], kl_grad[kLossTile];  // the latter times its weight
};

// What log ratios add up of FigureLanes where all figures are wanted.
struct RatioLanes {
  F64 log_ratio = {}, clamped = {}, absolute = {}, squared = {}, k3 = {};
};

// With the sums of add_log_ratios(), of exponentials that are finite.
template <bool kAll, class F>
SRP_INLINE F64 plain_ratio(F64 x, RatioLanes* sums) {
  const Exponentials e = exponentials_within<F>(x);
  if (kAll) {
    sums->log_ratio += x;
    sums->absolute += absolute(x);
    sums->squared = fma(x, x, sums->squared);
    sums->k3 += e.less_one - x;
  }
  return e.exp;
}

SRP_INLINE void add_clamped(F64 x, double log_clamp, RatioLanes* sums) {
  const Lanes clamped = clamp(Lanes(x), Lanes(-log_clamp), Lanes(log_clamp));
  sums->clamped += clamped.x;
}

// What is read or written besides the log-probs: where one array comes nearer ahead of time, all have to, since a core fetches a few lines
// at a time and takes those that it was told of first.
template <class F>
struct OtherStreams {
  const F* of[5];  // or NULL
};
template <class F>
SRP_INLINE void prefetch_others(const OtherStreams<F>& streams, int64_t i) {
  for (const F* const stream : streams.of)
    if (stream) prefetch(stream + i);
}

// Of the tokens [i, i + count), a multiple of kLanes. False where a log ratio is beyond the limit: the sums are of no use then. The first halves
// of the registers add up in `low`, the second ones in `high`, which may be the same.
template <bool kMasked, bool kAll, class F>
SRP_INLINE bool plain_ratios(const LossTokens<F>& row, double limit, int64_t i, int64_t count, PlainTile* tile,
                             RatioLanes* low, RatioLanes* high) {
  // Without old ones a log-prob is compared with itself, which is 0, but of an infinite one beyond the limit.
  const F *log_probs = row.log_probs + i, *old_log_probs = row.old_log_probs ? row.old_log_probs + i : log_probs;
  const OtherStreams<F> others = {{row.advantage, row.factor, row.grad, row.loss, row.ratio}};
  const F64 most = splat(limit);
  Reach reach;
  for (int64_t k = 0; k < count; k += kHalf) {
    F64 x = load_wide(log_probs + k) - load_wide(old_log_probs + k);
    if (kMasked) x = pick(mask_of(row.mask + i + k), x, F64{});
    extend(&reach, x, most);
    store(tile->log_ratio + k, x);
  }
  if (!is_within(reach, most)) return false;
  for (int64_t k = 0; k < count; k += kLanes) {
    prefetch(log_probs + k + kLossAhead);
    prefetch(old_log_probs + k + kLossAhead);
    prefetch_others(others, i + k + kLossAhead);
    store(tile->ratio + k, plain_ratio<kAll, F>(load(tile->log_ratio + k), low));
    store(tile->ratio + k + kHalf, plain_ratio<kAll, F>(load(tile->log_ratio + k + kHalf), high));
  }
  const double log_clamp = row.parameters.log_clamp;
  if (!kAll || !(log_clamp < static_cast<double>(INFINITY))) return true;
  for (int64_t k = 0; k < count; k += kLanes) {
    add_clamped(load(tile->log_ratio + k), log_clamp, low);
    add_clamped(load(tile->log_ratio + k + kHalf), log_clamp, high);
  }
  return true;
}

SRP_INLINE void add_ratio_lanes(const RatioLanes& low, const RatioLanes& high, FigureLanes* figures) {
  figures->log_ratio += low.log_ratio + high.log_ratio;
  figures->clamped += low.clamped + high.clamped;
  figures->absolute += low.absolute + high.absolute;
  figures->squared += low.squared + high.squared;
  figures->k3 += low.k3 + high.k3;
}

template <class F>
SRP_INLINE F64 plain_gap(const LossTokens<F>& row, int64_t i) {
  const F64 gap = load_wide(row.log_probs + i) - load_wide(row.reference + i);
  return row.mask ? pick(mask_of(row.mask + i), gap, F64{}) : gap;
}

// k3 without clamps, and its own gradient. False where a gap is beyond exponentials_within().
template <class F>
SRP_INLINE bool plain_k3(const LossTokens<F>& row, int64_t i, int64_t count, PlainTile* tile) {
  const F64 weight = splat(row.kl_scale), limit = splat(kExpWideLimit);
  Reach reach;
  for (int64_t k = 0; k < count; k += kHalf) {
    const int64_t ahead = i + k + kLossAhead;
    prefetch(row.log_probs + ahead);
    prefetch(row.reference + ahead);
    if (row.kl_values) prefetch(row.kl_values + ahead);
    if (row.grad) prefetch(row.grad + ahead);
    const F64 d = plain_gap(row, i + k), e = exponentials_within<double>(-d).less_one;
    extend(&reach, d, limit);
    store(tile->kl + k, e + d);
    store(tile->kl_grad + k, weight * -e);
  }
  return is_within(reach, limit);
}

SRP_INLINE bool is_plain_k3(const srp_kl_parameters& p, double weight) {
  const double off = INFINITY;
  return p.kind == SRP_KL_K3 && p.gradient_kind == SRP_KL_K3 && p.log_clamp == off && p.value_clamp == off &&
         weight != 0;
}

// The KL terms, in a row that has them. Not inlined: it is long, and the same for all kinds of tiles.
template <class F>
static __attribute__((noinline)) void plain_kl(const LossTokens<F>& given, int64_t i, int64_t count, PlainTile* tile,
                                               LossLanes* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  if (!is_plain_k3(row.kl, row.kl_scale) || !plain_k3(row, i, count, tile))
    for (int64_t k = 0; k < count; k += kHalf) {
      const KlTerm<Lanes> kl = KlForm::at(Lanes(plain_gap(row, i + k)), row.kl);
      store(tile->kl + k, kl.value.x);
      store(tile->kl_grad + k, scaled(Lanes(row.kl_scale), kl.slope).x);
    }
  F64 low_sum = {}, high_sum = {};
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
  all->figures.kl += low_sum + high_sum;
}

// What the losses of a tile add up of LossLanes. Below and above the band: of a row's own advantage, where all figures are wanted.
struct PlainLanes {
  F64 loss = {}, ratio = {}, largest = {};  // no ratio is below 0
  I64 clipped = {}, below = {}, above = {};
};

// What a plain token costs, in kHalf lanes.
struct PlainHalf {
  F64 gain, ratio, grad;
  Mask clipped;
};

// plain_loss() with its gradient. The comparisons that NaN needs are left to the selects: where an advantage is NaN, so are both
// branches. Under the mask x is 0, the ratio 1, which is in every band, and what the advantage would gain 0.
template <bool kMasked, bool kKl, bool kAll, class F>
SRP_INLINE PlainHalf plain_half(const LossTokens<F>& row, const PlainRow& plain, F64 ratio, const double* kl_grad,
                                int64_t i, PlainLanes* sums) {
  const Mask kept = kMasked ? mask_of(row.mask + i) : Mask{};
  const bool per_token = row.advantage != nullptr;
  const F64 advantage = per_token ? load_wide(row.advantage + i) : plain.advantage;
  F64 free = advantage * ratio, held;
  if (kMasked) free = pick(kept, free, F64{});
  if (kAll) {
    const Mask below = less(ratio, plain.low), above = more(ratio, plain.high);
    held = pick(below, per_token ? advantage * plain.low : plain.advantage_low, free);
    held = pick(above, per_token ? advantage * plain.high : plain.advantage_high, held);
    if (!per_token) count(&sums->below, below);
    if (!per_token) count(&sums->above, above);
  } else {
    held = advantage * smaller(plain.high, larger(plain.low, ratio));
    if (kMasked) held = pick(kept, held, F64{});
  }
  PlainHalf out;
  out.clipped = less(held, free);
  out.gain = pick(out.clipped, held, free);
  out.grad = pick(out.clipped, F64{}, fma(plain.weight, free, F64{}));
  if (kKl) {
    out.grad += load(kl_grad);
    out.grad = (kMasked ? pick(kept, out.grad, F64{}) : out.grad) + F64{};
  }
  out.ratio = kMasked ? pick(kept, ratio, F64{}) : ratio;
  sums->loss -= out.gain;
  sums->ratio += out.ratio;
  sums->largest = larger(out.ratio, sums->largest);
  count(&sums->clipped, out.clipped);
  return out;
}

// The figures of a band where all tokens have the row's advantage.
SRP_INLINE void add_bands(double advantage, I64 below, I64 above, FigureLanes* figures) {
  const I64 outside = below + above;
  figures->outside += outside;
  if (advantage > 0) {
    figures->above += above;
    figures->positive += outside;
  }
  if (advantage < 0) {
    figures->below += below;
    figures->negative += outside;
  }
}

template <bool kMasked, bool kKl, bool kAll, class F>
SRP_INLINE void plain_losses(const LossTokens<F>& given, int64_t i, int64_t count, const PlainTile& tile,
                             LossLanes* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  const PlainRow plain = plain_constants(row);
  PlainLanes low_sums, high_sums;
  for (int64_t k = 0; k < count; k += kLanes) {
    const int64_t j = i + k;
    const double *ratio = tile.ratio + k, *kl_grad = tile.kl_grad + k;
    const PlainHalf low = plain_half<kMasked, kKl, kAll>(row, plain, load(ratio), kl_grad, j, &low_sums);
    const PlainHalf high =
        plain_half<kMasked, kKl, kAll>(row, plain, load(ratio + kHalf), kl_grad + kHalf, j + kHalf, &high_sums);
    put_two(row.grad, j, low.grad, high.grad);
    if (row.loss) put_two(row.loss, j, F64{} - low.gain, F64{} - high.gain);
    put_two(row.ratio, j, low.ratio, high.ratio);
    if (row.clipped) store_flags(row.clipped + j, low.clipped, high.clipped);
  }
  FigureLanes* const figures = &all->figures;
  figures->loss += low_sums.loss + high_sums.loss;
  figures->ratio += low_sums.ratio + high_sums.ratio;
  figures->clipped += low_sums.clipped + high_sums.clipped;
  all->largest = larger(larger(low_sums.largest, high_sums.largest), all->largest);
  if (!kAll) return;
  if (!row.advantage)
    return add_bands(row.row_advantage, low_sums.below + high_sums.below, low_sums.above + high_sums.above, figures);
  for (int64_t k = 0; k < count; k += kHalf) {
    const F64 ratio = load(tile.ratio + k);
    add_band(figures, {less(ratio, plain.low), more(ratio, plain.high)}, !Mask{}, load_wide(row.advantage + i + k));
  }
}

template <class F>
SRP_INLINE int64_t kept_of(const LossTokens<F>& row, int64_t i, int64_t count) {
  if (!row.mask) return count;
  prefetch_mask(row.mask + i, count);
  return bytes_set(row.mask + i, count);
}

SRP_INLINE void add_kept(int64_t tokens, LossLanes* all) {
  const I64 kept = {tokens};
  all->figures.kept += kept;
  all->figures.terms += kept;
}

// Of [i, i + count), a multiple of kLanes, unless plain_ratios() is false.
template <bool kMasked, bool kAll, class F>
static __attribute__((noinline)) bool plain_tile(const LossTokens<F>& row, double limit, int64_t i, int64_t count,
                                                 LossLanes* all) {
  PlainTile tile;
  RatioLanes low, high;
  if (!plain_ratios<kMasked, kAll>(row, limit, i, count, &tile, &low, &high)) return false;
  if (kAll) add_ratio_lanes(low, high, &all->figures);
  if (row.reference) {
    plain_kl(row, i, count, &tile, all);
    plain_losses<kMasked, true, kAll>(row, i, count, tile, all);
  } else {
    plain_losses<kMasked, false, kAll>(row, i, count, tile, all);
  }
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

// Whole registers of [begin, end), a tile at a time: `tile_of(row, i, count, kept)`, of which `kept` are not under the mask, is false where it
// leaves the tokens to loss_registers(). Returns where the other tokens begin.
template <class F, class Tile>
SRP_INLINE int64_t whole_tiles(const LossTokens<F>& row, int64_t begin, int64_t end, LossLanes* all,
                               const Tile& tile_of) {
  const int64_t last = end - (end - begin) % kLanes;
  for (int64_t i = begin; i < last; i += kLossTile) {
    const int64_t count = last - i < kLossTile ? last - i : kLossTile;
    const int64_t kept = kept_of(row, i, count);
    if (kept == 0) {
      put_nothing(row, i, count);
      continue;
    }
    if (!tile_of(row, i, count, kept)) loss_registers(row, i, i + count, all);
  }
  return last;
}

// The last tokens of a row, fewer than a register.
template <class F, class Tile>
SRP_INLINE void cut_tile(const LossTokens<F>& row, int64_t begin, int64_t count, LossLanes* all, const Tile& tile_of) {
  CutLosses<F> cut;
  const LossTokens<F> tokens = cut.tokens(row, begin, count);
  if (!tile_of(tokens, 0, kLanes, kept_of(tokens, 0, kLanes))) loss_registers(tokens, 0, kLanes, all);
  cut.put(row);
}

template <bool kAll, class F>
static __attribute__((noinline)) void plain_row(const LossTokens<F>& row, int64_t begin, int64_t end, LossLanes* all) {
  const double limit = plain_limit(row.parameters);
  const auto tile = [&](const LossTokens<F>& tokens, int64_t i, int64_t count, int64_t kept) {
    const bool is_plain = kept == count ? plain_tile<false, kAll>(tokens, limit, i, count, all)
                                        : plain_tile<true, kAll>(tokens, limit, i, count, all);
    if (is_plain) add_kept(kept, all);
    return is_plain;
  };
  const int64_t rest = whole_tiles(row, begin, end, all, tile);
  if (rest < end) cut_tile(row, rest, end - rest, all, tile);
}

// No store goes past the cache: what a token takes to compute is as long as the way of its 13 bytes through it.
template <class F>
SRP_INLINE void plain_tokens(const LossTokens<F>& row, int64_t begin, int64_t end, LossLanes* all) {
  if (row.all_figures)
    plain_row<true>(row, begin, end, all);
  else
    plain_row<false>(row, begin, end, all);
}

}  // namespace srp::cpu::SRP_LEVEL
