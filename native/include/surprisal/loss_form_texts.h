// The loss forms of tokens, to be included inside of a namespace: srp for scalars and CUDA threads (loss_forms.h), and that of each
// SIMD level (native/cpu/simd/lanes.h), whose instructions a template gets only where it is written among them. So no guard.
//
// The number type N brings, beside arithmetic and comparisons: N(double), select() of number.h, exponential(),
// exponential_less_one(), magnitude(), both(), !mask.

template <class N>
using MaskOf = decltype(N() < N());

template <class N>
struct LossPoint {
  N log_ratio, current, old;  // old = current where there is none
  MaskOf<N> marked;
};

template <class N>
struct LossTerm {
  N loss, slope, ratio, clipped_ratio;
  MaskOf<N> clipped, limited;
};

// Comparisons with NaN are false, so a NaN passes through both selects.
template <class N>
SRP_HD N clamp(N x, N low, N high) {
  return select(x < low, low, select(x > high, high, x));
}

template <class N>
SRP_HD N sign(N x) {
  return select(x > N(0), N(1), select(x < N(0), N(-1), x));  // NaN stays
}

// factor * x, where a factor of 0 silences an infinity (0 * inf) but not a NaN.
template <class N>
SRP_HD N scaled(N factor, N x) {
  return select(both(factor == N(0), x == x), N(0), factor * x);
}

// The clamped log ratio, its exp, and whether the clamp holds it, so that it does not move with the log-prob.
template <class N>
struct ClampedRatio {
  N log_ratio, ratio;
  MaskOf<N> held;

  static SRP_HD ClampedRatio of(N log_ratio, const LossParameters& p) {
    const N low(p.log_low), high(p.log_high), clamped = clamp(log_ratio, low, high);
    return {clamped, exponential(clamped), !both(log_ratio >= low, log_ratio <= high)};
  }
};

// Clipped surrogate (Schulman et al. 2017, equation 7; the dual clip is Ye et al. 2020's). Ties go to the unclipped
// branch: inside the band both agree and carry the same derivative.
struct ClipForm {
  template <class N>
  static SRP_HD LossTerm<N> at(N log_ratio, N advantage, const LossParameters& p) {
    return of(ClampedRatio<N>::of(log_ratio, p), advantage, p);
  }

  // A row has one ratio for many advantages.
  template <class N>
  static SRP_HD LossTerm<N> of(const ClampedRatio<N>& x, N advantage, const LossParameters& p) {
    const N ratio = x.ratio;
    const N banded = clamp(ratio, N(1 - p.clip_low), N(1 + p.clip_high));
    const auto above_cap = ratio > N(p.ratio_cap);
    const N free_loss = -scaled(advantage, select(above_cap, N(p.ratio_cap), ratio));
    const N banded_loss = -scaled(advantage, banded);
    const auto free_wins = free_loss >= banded_loss;
    const N surrogate = select(free_wins, free_loss, banded_loss);
    const N limit = -scaled(advantage, N(p.dual_clip));
    const auto limited = both(advantage<N(0), surrogate> limit);
    // A cap inside of the band hands a negative advantage's term to the banded branch, which moves there.
    const auto moves = select(free_wins, !above_cap, banded == ratio);
    const auto sloped = both(both(moves, !limited), !x.held);
    // A NaN is neither ahead nor behind: it must be carried over by hand. (0 * inf can make one branch NaN alone.)
    const N sum = free_loss + banded_loss;
    const auto defined = both(free_loss == free_loss, banded_loss == banded_loss);
    const N loss = select(limited, limit, surrogate);
    const N slope = select(sloped, -scaled(advantage, ratio), N(0));
    return {select(defined, loss, sum), select(defined, slope, sum), ratio, banded, banded_loss > free_loss, limited};
  }
};

// The policy gradient (Williams 1992): the log-prob itself, whatever the ratio.
struct LinearForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters&) {
    const N ratio = exponential(t.log_ratio);
    const auto never = ratio < ratio;
    return {-scaled(advantage, t.current), -advantage, ratio, ratio, never, never};
  }
};

// The policy gradient with a clipped importance weight that carries no gradient.
struct WeightedForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const N ratio = ClampedRatio<N>::of(t.log_ratio, p).ratio;
    const N capped = select(ratio > N(p.ratio_cap), N(p.ratio_cap), ratio);
    const N weight = clamp(capped, N(1 - p.clip_low), N(1 + p.clip_high));
    const N gain = scaled(advantage, weight);
    const auto clipped = both(weight != ratio, ratio == ratio);
    return {-scaled(gain, t.current), -gain, ratio, weight, clipped, ratio < ratio};
  }
};

// A soft gate in place of the clip: of slope 1 at ratio 1, flat far from it. exp(-|z|) never overflows.
struct SigmoidForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const ClampedRatio<N> x = ClampedRatio<N>::of(t.log_ratio, p);
    const N temperature = select(advantage > N(0), N(p.temperature_positive), N(p.temperature_negative));
    const N z = temperature * (x.ratio - N(1));
    const N e = exponential(-magnitude(z));
    const N sigmoid = select(z >= N(0), N(1), e) / (N(1) + e);
    const N bell = e / ((N(1) + e) * (N(1) + e));
    const N slope = -scaled(advantage, N(4) * scaled(bell, x.ratio));
    const auto never = z < z;
    return {
        -scaled(advantage, N(4) * sigmoid / temperature), select(x.held, N(0), slope), x.ratio, x.ratio, never, never};
  }
};

// The unclipped surrogate, and where a token is marked a penalty on moving away.
struct MarkedForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const ClampedRatio<N> x = ClampedRatio<N>::of(t.log_ratio, p);
    const N gain = -scaled(advantage, x.ratio);
    const N penalty = select(t.marked, scaled(N(p.coefficient), magnitude(x.log_ratio)), N(0));
    const N push = select(t.marked, scaled(N(p.coefficient), sign(x.log_ratio)), N(0));
    const auto never = x.ratio < x.ratio;
    return {gain + penalty, select(x.held, N(0), gain + push), x.ratio, x.ratio, never, never};
  }
};

// The policy gradient until the log-prob has gone as far as the clip range lets it, and nothing beyond.
struct BoundedForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N advantage, const LossParameters& p) {
    const auto up = advantage > N(0);
    const N bound = select(up, N(p.bound_high), N(p.bound_low));
    const auto beyond = select(up, t.log_ratio, -t.log_ratio) > select(up, bound, -bound);
    const N ratio = exponential(t.log_ratio);
    const N value = select(ratio == ratio, select(beyond, t.old + bound, t.current), ratio);
    return {-scaled(advantage, value), select(beyond, N(0), -advantage), ratio, ratio, beyond, ratio < ratio};
  }
};

// Regression on returns with the prediction held near its old value (the critic of PPO). The log ratio is value - old value.
struct SquaredForm {
  template <class N>
  static SRP_HD LossTerm<N> at(const LossPoint<N>& t, N target, const LossParameters& p) {
    const N move = t.log_ratio;
    const N banded = select(move > N(p.clip_high), t.old + N(p.clip_high),
                            select(move < N(-p.clip_low), t.old - N(p.clip_low), t.current));
    const N error = t.current - target, banded_error = banded - target;
    const N free_loss = error * error, banded_loss = banded_error * banded_error;
    const auto clipped = banded_loss > free_loss;
    const N loss = N(0.5) * select(clipped, banded_loss, free_loss);
    const N ratio = exponential(move);
    return {select(move == move, loss, move), select(clipped, N(0), error), ratio, ratio, clipped, ratio < ratio};
  }
};

// Where the loss is NaN, so is the slope.
template <class N>
SRP_HD LossTerm<N> defined(LossTerm<N> t) {
  t.slope = select(t.loss == t.loss, t.slope, t.loss);
  return t;
}

template <class N>
SRP_HD LossTerm<N> loss_term(int form, const LossPoint<N>& t, N advantage, const LossParameters& p) {
  switch (form) {
    case SRP_LOSS_LINEAR:
      return defined(LinearForm::at(t, advantage, p));
    case SRP_LOSS_WEIGHTED:
      return defined(WeightedForm::at(t, advantage, p));
    case SRP_LOSS_SIGMOID:
      return defined(SigmoidForm::at(t, advantage, p));
    case SRP_LOSS_MARKED:
      return defined(MarkedForm::at(t, advantage, p));
    case SRP_LOSS_BOUNDED:
      return defined(BoundedForm::at(t, advantage, p));
    case SRP_LOSS_SQUARED:
      return defined(SquaredForm::at(t, advantage, p));
    case SRP_LOSS_CLIP:
    default:  // the argument check admits known forms only
      return ClipForm::at(t.log_ratio, advantage, p);
  }
}

// KL terms: the estimate of d, and its derivative.

template <class N>
struct KlTerm {
  N value, slope;
};

struct KlForm {
  // The clamps belong to the estimator of the value: a derivative borrowed from another one does not see them.
  template <class N>
  static SRP_HD KlTerm<N> at(N d, const KlParameters& p) {
    const N clamped = clamp(d, N(-p.log_clamp), N(p.log_clamp));
    const KlTerm<N> free = estimate(p.form, clamped);
    const N value = clamp(free.value, N(-p.value_clamp), N(p.value_clamp));
    const N slope = p.slope_form != p.form ? estimate(p.slope_form, d).slope
                                           : select(both(clamped == d, value == free.value), free.slope, N(0));
    return {select(d == d, value, d), select(d == d, slope, d)};
  }

  template <class N>
  static SRP_HD KlTerm<N> estimate(int form, N d) {
    switch (form) {
      case SRP_KL_ABS:
        return {magnitude(d), sign(d)};
      case SRP_KL_K2:
        return {d * d * N(0.5), d};
      case SRP_KL_K3: {
        const N e = exponential_less_one(-d);
        return {e + d, -e};
      }
      case SRP_KL_K1:
      default:  // the argument check admits known forms only
        return {d, N(1)};
    }
  }
};

// Times a ratio, which moves the term with it where `moves` says so.
template <class N>
SRP_HD KlTerm<N> times_ratio(const KlTerm<N>& kl, N ratio, MaskOf<N> moves) {
  const N value = scaled(kl.value, ratio), slope = scaled(kl.slope, ratio);
  return {value, slope + select(moves, value, N(0))};
}
