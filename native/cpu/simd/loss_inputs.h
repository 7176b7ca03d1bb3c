// The tokens of a loss (contract: surprisal/loss.h) in registers, for those of tokens and those of rows: their inputs, their KL
// term, their results, and what a row leaves at its end. Registers count from the row's begin, so that results depend neither on
// where an array lies nor on padding behind the row; no lane depends on its neighbours.
namespace srp::cpu::SRP_LEVEL {

// kHalf tokens of a row, 0 under the mask.
struct LossHalf {
  F64 loss, ratio, kl, grad;
  Mask clipped;
};

// The parameters with bounds that each of kHalf tokens has for itself.
struct LaneParameters : LossParameters {
  Lanes clip_low, clip_high, ratio_cap, bound_low, bound_high;
};

SRP_INLINE const LaneParameters& in_lanes(const LaneParameters& p) { return p; }
SRP_INLINE LaneParameters in_lanes(const LossParameters& p) {
  return {p, Lanes(p.clip_low), Lanes(p.clip_high), Lanes(p.ratio_cap), Lanes(p.bound_low), Lanes(p.bound_high)};
}

static __attribute__((noinline)) void log_one_plus_by_library(double* x) {
  for (int64_t lane = 0; lane < kHalf; ++lane) x[lane] = log1p(x[lane]);
}

SRP_INLINE Lanes log_one_plus_exactly(Lanes y) {
  double x[kHalf];
  store(x, y.x);
  log_one_plus_by_library(x);
  return load(x);
}

// The inputs of kHalf tokens, 0 under the mask.
struct LossInputs {
  LossPoint<Lanes> point;
  F64 advantage;
  Mask kept, term;
};

template <class F>
SRP_INLINE LossInputs loss_inputs(const LossTokens<F>& row, int64_t i) {
  LossInputs in;
  in.kept = row.mask ? mask_of(row.mask + i) : !Mask{};
  in.term = row.term_mask ? both(in.kept, mask_of(row.term_mask + i)) : in.kept;
  const F64 log_prob = pick(in.kept, load_wide(row.log_probs + i), F64{});
  F64 old_log_prob = log_prob, log_ratio;
  if (row.old_log_probs) {
    old_log_prob = pick(in.kept, load_wide(row.old_log_probs + i), F64{});
    log_ratio = log_prob - old_log_prob;
  } else {
    log_ratio = pick(equal(log_prob, log_prob), F64{}, log_prob);
  }
  in.point = {log_ratio, log_prob, old_log_prob, row.marks ? mask_of(row.marks + i) : Mask{}};
  in.advantage = row.advantage ? pick(in.kept, load_wide(row.advantage + i), F64{}) : splat(row.row_advantage);
  return in;
}

// The parameters of kHalf tokens; makes NaN the advantages of those whose bounds are out of range.
template <class F>
SRP_INLINE LaneParameters lane_parameters(const LossTokens<F>& row, int64_t i, LossInputs* in) {
  const LossParameters& all = row.parameters;
  const auto bound = [&](const F* bounds, double of_row) {
    return Lanes(bounds ? pick(in->kept, load_wide(bounds + i), splat(of_row)) : splat(of_row));
  };
  LaneParameters p = in_lanes(all);
  p.clip_low = bound(row.clip_low, all.clip_low);
  p.clip_high = bound(row.clip_high, all.clip_high);
  p.ratio_cap = bound(row.ratio_cap, all.ratio_cap);
  if (row.form == SRP_LOSS_BOUNDED) {
    p.bound_low = log_one_plus_exactly(select(p.clip_low < Lanes(1), -p.clip_low, Lanes(-1)));
    p.bound_high = log_one_plus_exactly(p.clip_high);
  }
  const Mask known = both(both(p.clip_low >= Lanes(0), p.clip_high >= Lanes(0)), p.ratio_cap > Lanes(0));
  in->advantage = pick(known, in->advantage, splat(static_cast<double>(NAN)));
  return p;
}

// Whether a register has nothing but padding.
template <class F>
SRP_INLINE bool none_kept(const LossTokens<F>& row, int64_t i) {
  return row.mask && !any(mask_of(row.mask + i), mask_of(row.mask + i + kHalf));
}

// Neither dual clip nor cap.
SRP_INLINE bool is_plain(const LossParameters& p) {
  const double off = INFINITY;
  return p.dual_clip == off && p.ratio_cap == off;
}

// ClipForm without dual clip and cap, of ratios that are neither 0 nor infinite nor NaN: the same bits from a third of the
// operations.
SRP_INLINE LossTerm<Lanes> plain_loss(F64 ratio, F64 advantage, const LossParameters& p) {
  const F64 low = splat(1 - p.clip_low), high = splat(1 + p.clip_high);
  F64 banded = pick(less(ratio, low), low, ratio);
  banded = pick(more(ratio, high), high, banded);
  const F64 free = advantage * ratio, held = advantage * banded;
  const Mask clipped = less(held, free);
  return {-pick(clipped, held, free), pick(clipped, F64{}, -free), ratio, banded, clipped, Mask{}};
}

// The estimate alone.
template <class F>
SRP_INLINE KlTerm<Lanes> kl_estimate(const LossTokens<F>& row, const LossInputs& in, int64_t i) {
  const F64 reference = pick(in.kept, load_wide(row.reference + i), F64{});
  return KlForm::at(in.point.log_prob - Lanes(reference), row.kl);
}

// Times the token's own ratio where times_ratio says so, of which e is the exp.
template <class F>
SRP_INLINE KlTerm<Lanes> kl_of(const LossTokens<F>& row, const LossInputs& in, F64 e, int64_t i) {
  const KlTerm<Lanes> kl = kl_estimate(row, in, i);
  if (!row.kl.times_ratio) return kl;
  const F64 x = in.point.log_ratio.x, low = splat(row.parameters.log_low), high = splat(row.parameters.log_high);
  const Mask moves = both(at_least(x, low), at_most(x, high));
  if (!any(!moves)) return times_ratio(kl, Lanes(e), moves);
  return times_ratio(kl, Lanes(exponentials<F>(clamp(Lanes(x), Lanes(low), Lanes(high)).x).exp), moves);
}

template <class F>
SRP_INLINE void put_both(F* out, int64_t i, F64 low, F64 high) {
  if (out) put_wide<false>(out + i, low, high);
}

template <class F>
SRP_INLINE void put_losses(const LossTokens<F>& row, int64_t i, const LossHalf& low, const LossHalf& high) {
  put_both(row.loss, i, low.loss, high.loss);
  put_both(row.ratio, i, low.ratio, high.ratio);
  put_both(row.kl_values, i, low.kl, high.kl);
  put_both(row.grad, i, low.grad, high.grad);
  if (row.clipped) store_flags(row.clipped + i, low.clipped, high.clipped);
}

// Copies of the last tokens of a row, fewer than a register, masked behind the end.
template <class F>
struct CutLosses {
  F values[8][kLanes], results[4][kLanes];
  uint8_t kept[kLanes], terms[kLanes], marks[kLanes], clipped[kLanes];
  int64_t begin, count = 0;

  // The row with its last tokens for the first ones.
  LossTokens<F> tokens(const LossTokens<F>& row, int64_t first, int64_t number) {
    begin = first;
    count = number;
    LossTokens<F> copy = row;
    copy.log_probs = copied(values[0], row.log_probs);
    copy.old_log_probs = copied(values[1], row.old_log_probs);
    copy.reference = copied(values[2], row.reference);
    copy.advantage = copied(values[3], row.advantage);
    copy.factor = copied(values[4], row.factor);
    copy.clip_low = copied(values[5], row.clip_low);
    copy.clip_high = copied(values[6], row.clip_high);
    copy.ratio_cap = copied(values[7], row.ratio_cap);
    copy.mask = copied(kept, row.mask);
    if (!row.mask) {
      memset(kept, 0, sizeof kept);
      memset(kept, 1, static_cast<size_t>(count));
      copy.mask = kept;
    }
    copy.term_mask = copied(terms, row.term_mask);
    copy.marks = copied(marks, row.marks);
    copy.loss = row.loss ? results[0] : nullptr;
    copy.ratio = row.ratio ? results[1] : nullptr;
    copy.kl_values = row.kl_values ? results[2] : nullptr;
    copy.grad = row.grad ? results[3] : nullptr;
    copy.clipped = row.clipped ? clipped : nullptr;
    return copy;
  }

  // Their results, where there are such tokens.
  void put(const LossTokens<F>& row) const {
    if (count == 0) return;
    F* const to[] = {row.loss, row.ratio, row.kl_values, row.grad};
    for (int64_t k = 0; k < 4; ++k)
      if (to[k]) copy_out(to[k] + begin, results[k], count);
    if (row.clipped) copy_out(row.clipped + begin, clipped, count);
  }

 private:
  template <class T>
  const T* copied(T* to, const T* from) const {
    if (!from) return nullptr;
    memset(to, 0, sizeof(T) * kLanes);
    copy_out(to, from + begin, count);
    return to;
  }
};

}  // namespace srp::cpu::SRP_LEVEL
