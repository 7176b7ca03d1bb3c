// Rows of loss_token that are not plain, but for bounds of tokens: other forms than the clipped surrogate, factors, kept tokens without a
// term. In stages as those of loss_plain.h: ratios, what the form makes of them, KL terms, results. A loop over one form has the constants
// of that form alone.
namespace srp::cpu::SRP_LEVEL {

template <class F>
SRP_INLINE bool is_staged(const LossTokens<F>& row) {
  return !row.bounds && (row.reference ? !row.kl.times_ratio : !row.kl_values);
}

// How far from 0 log ratios may lie: the forms know what they clamp, but for the clipped one, which is plain_loss() here.
SRP_INLINE double staged_limit(int32_t form, const LossParameters& p) {
  return form == SRP_LOSS_CLIP ? plain_limit(p) : kExpWideLimit;
}

// What the form makes of the tokens of a tile.
struct FormTile {
  alignas(64) double loss[kLossTile], slope[kLossTile], ratio[kLossTile];
  Mask clipped[kLossTile / kHalf];
};

// Its parts one by one: a copy of the whole goes through memory in pieces, for which a core waits.
SRP_INLINE void put_term(const LossTerm<Lanes>& t, F64 slope, int64_t k, FormTile* tile) {
  store(tile->loss + k, t.loss.x);
  store(tile->slope + k, slope);
  store(tile->ratio + k, t.ratio.x);
  tile->clipped[k / kHalf] = t.clipped;
}

template <class F>
SRP_INLINE F64 kept_advantages(const LossTokens<F>& row, Mask kept, int64_t i) {
  return row.advantage ? pick(kept, load_wide(row.advantage + i), F64{}) : splat(row.row_advantage);
}

template <class F>
static __attribute__((noinline)) void clip_tile(const LossTokens<F>& given, int64_t i, int64_t count,
                                                const double* ratio, FormTile* tile) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  for (int64_t k = 0; k < count; k += kHalf) {
    const Mask kept = row.mask ? mask_of(row.mask + i + k) : !Mask{};
    const LossTerm<Lanes> t = plain_loss(load(ratio + k), kept_advantages(row, kept, i + k), row.parameters);
    put_term(t, t.slope.x, k, tile);
  }
}

// As defined().
template <class Form, class F>
static __attribute__((noinline)) void other_tile(const LossTokens<F>& given, int64_t i, int64_t count, FormTile* tile) {
  const LossTokens<F> row = given;
  for (int64_t k = 0; k < count; k += kHalf) {
    const LossInputs in = loss_inputs(row, i + k);
    const LossTerm<Lanes> t = Form::at(in.point, Lanes(in.advantage), row.parameters);
    put_term(t, pick(equal(t.loss.x, t.loss.x), t.slope.x, t.loss.x), k, tile);
  }
}

template <class F>
SRP_INLINE void put_form(const LossTokens<F>& row, int64_t i, int64_t count, const double* ratio, FormTile* tile) {
  switch (row.form) {
    case SRP_LOSS_LINEAR:
      return other_tile<LinearForm>(row, i, count, tile);
    case SRP_LOSS_WEIGHTED:
      return other_tile<WeightedForm>(row, i, count, tile);
    case SRP_LOSS_SIGMOID:
      return other_tile<SigmoidForm>(row, i, count, tile);
    case SRP_LOSS_MARKED:
      return other_tile<MarkedForm>(row, i, count, tile);
    case SRP_LOSS_BOUNDED:
      return other_tile<BoundedForm>(row, i, count, tile);
    case SRP_LOSS_SQUARED:
      return other_tile<SquaredForm>(row, i, count, tile);
    default:  // the argument check admits known forms only
      return clip_tile(row, i, count, ratio, tile);
  }
}

struct StagedLanes {
  F64 loss = {}, ratio = {}, largest = {};  // no ratio is below 0
  I64 terms = {}, clipped = {};
};

// Of kHalf tokens, with the sums of add_losses().
template <bool kKl, class F>
SRP_INLINE LossHalf staged_half(const LossTokens<F>& row, int64_t i, const FormTile& tile, const double* kl_grad,
                                int64_t k, StagedLanes* sums) {
  const Mask kept = row.mask ? mask_of(row.mask + i + k) : !Mask{};
  const Mask term = row.term_mask ? both(kept, mask_of(row.term_mask + i + k)) : kept;
  Lanes loss = load(tile.loss + k), slope = load(tile.slope + k);
  if (row.factor || row.row_factor != 1) {
    const F64 factor = row.factor ? pick(term, load_wide(row.factor + i + k), F64{}) : splat(row.row_factor);
    loss = scaled(Lanes(factor), loss);
    slope = scaled(Lanes(factor), slope);
  }
  LossHalf out;
  out.loss = pick(term, loss.x, F64{}) + F64{};
  F64 grad = scaled(Lanes(row.policy), select(term, slope, Lanes(0))).x;
  if (kKl) grad += load(kl_grad + k);
  out.grad = pick(kept, grad, F64{}) + F64{};
  out.ratio = pick(kept, load(tile.ratio + k), F64{}) + F64{};
  out.clipped = both(kept, tile.clipped[k / kHalf]);
  sums->loss += out.loss;
  sums->ratio += out.ratio;
  sums->largest = larger(out.ratio, sums->largest);
  count(&sums->terms, term);
  count(&sums->clipped, out.clipped);
  return out;
}

template <class F>
SRP_INLINE void staged_bands(const LossTokens<F>& row, int64_t i, int64_t count, const double* ratio,
                             FigureLanes* figures) {
  for (int64_t k = 0; k < count; k += kHalf) {
    const Mask kept = row.mask ? mask_of(row.mask + i + k) : !Mask{};
    add_band(figures, ratio_band(load(ratio + k), row.parameters), kept, kept_advantages(row, kept, i + k));
  }
}

template <bool kKl, class F>
static __attribute__((noinline)) void staged_results(const LossTokens<F>& given, int64_t i, int64_t count,
                                                     const FormTile& tile, const double* kl_grad, LossLanes* all) {
  const LossTokens<F> row = given;  // what no store can reach stays in registers
  StagedLanes low_sums, high_sums;
  for (int64_t k = 0; k < count; k += kLanes) {
    const LossHalf low = staged_half<kKl>(row, i, tile, kl_grad, k, &low_sums);
    const LossHalf high = staged_half<kKl>(row, i, tile, kl_grad, k + kHalf, &high_sums);
    put_two(row.grad, i + k, low.grad, high.grad);
    put_two(row.loss, i + k, low.loss, high.loss);
    put_two(row.ratio, i + k, low.ratio, high.ratio);
    if (row.clipped) store_flags(row.clipped + i + k, low.clipped, high.clipped);
  }
  FigureLanes* const figures = &all->figures;
  figures->loss += low_sums.loss + high_sums.loss;
  figures->ratio += low_sums.ratio + high_sums.ratio;
  figures->terms += low_sums.terms + high_sums.terms;
  figures->clipped += low_sums.clipped + high_sums.clipped;
  all->largest = larger(larger(low_sums.largest, high_sums.largest), all->largest);
  if (row.all_figures) staged_bands(row, i, count, tile.ratio, figures);
}

// Of [i, i + count), a multiple of kLanes, unless plain_ratios() is false.
template <bool kAll, class F>
static __attribute__((noinline)) bool staged_tile(const LossTokens<F>& row, double limit, int64_t i, int64_t count,
                                                  int64_t kept, LossLanes* all) {
  PlainTile ratios;
  FormTile tile;
  RatioLanes low, high;
  const bool within = row.mask ? plain_ratios<true, kAll>(row, limit, i, count, &ratios, &low, &high)
                               : plain_ratios<false, kAll>(row, limit, i, count, &ratios, &low, &high);
  if (!within) return false;
  if (kAll) add_ratio_lanes(low, high, &all->figures);
  put_form(row, i, count, ratios.ratio, &tile);
  if (row.reference) {
    plain_kl(row, i, count, &ratios, all);
    staged_results<true>(row, i, count, tile, ratios.kl_grad, all);
  } else {
    staged_results<false>(row, i, count, tile, nullptr, all);
  }
  all->figures.kept += I64{kept};
  return true;
}

template <class F>
SRP_INLINE void staged_tokens(const LossTokens<F>& row, int64_t begin, int64_t end, LossLanes* all) {
  const double limit = staged_limit(row.form, row.parameters);
  const auto tile = [&](const LossTokens<F>& tokens, int64_t i, int64_t count, int64_t kept) {
    return tokens.all_figures ? staged_tile<true>(tokens, limit, i, count, kept, all)
                              : staged_tile<false>(tokens, limit, i, count, kept, all);
  };
  const int64_t rest = whole_tiles(row, begin, end, all, tile);
  if (rest < end) cut_tile(row, rest, end - rest, all, tile);
}

}  // namespace srp::cpu::SRP_LEVEL
