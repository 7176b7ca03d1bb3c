// Sums and comparisons of select_covariance (contract: surprisal/select.h). The 256 lanes of a row are part of that contract: a
// register holds some of them, each adds what it adds elsewhere, and every operation is rounded by itself.
namespace srp::cpu::SRP_LEVEL {

// The least and the largest number that each lane was given. NaN wins over every number.
struct Extremes {
  F64 low, high;
};
SRP_INLINE void extend(Extremes* to, Mask keep, F64 x) {
  const Mask wins = both(keep, unequal(x, x));
  to->low = pick(either(both(keep, less(x, to->low)), wins), x, to->low);
  to->high = pick(either(both(keep, more(x, to->high)), wins), x, to->high);
}

SRP_INLINE void add_to(double* sum, Mask keep, F64 x) { store(sum, load(sum) + pick(keep, x, F64{})); }

SRP_INLINE void put_extremes(const Extremes& of, double* low, double* high) {
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    *low = least(*low, of.low[lane]);
    *high = greatest(*high, of.high[lane]);
  }
}

template <class F>
SRP_INLINE Mask kept_of_pair(const PairRow<F>& a, int64_t i) {
  return a.mask ? mask_of(a.mask + i) : !Mask{};
}

template <class F>
SRP_INLINE F64 advantages_at(const PairRow<F>& a, int64_t i) {
  return a.advantage ? load_wide(a.advantage + i) : splat(a.constant);
}

template <class F>
static void sum_pairs(const PairRow<F>& a, int64_t begin, int64_t end, PairLanes* lanes) {
  const F64 infinity = splat(static_cast<double>(INFINITY));
  Extremes advantages = {infinity, -infinity}, log_probs = advantages;
  I64 kept = {};
  int64_t i = begin;
  for (; i + kHalf <= end; i += kHalf) {
    const int64_t lane = (i - begin) % kSumLanes;
    const Mask keep = kept_of_pair(a, i);
    const F64 x = advantages_at(a, i), y = load_wide(a.log_probs + i);
    add_to(lanes->sum[0] + lane, keep, x);
    add_to(lanes->sum[1] + lane, keep, y);
    extend(&advantages, keep, x);
    extend(&log_probs, keep, y);
    count(&kept, keep);
  }
  lanes->count += sum(kept);
  put_extremes(advantages, &lanes->low[0], &lanes->high[0]);
  put_extremes(log_probs, &lanes->low[1], &lanes->high[1]);
  for (; i < end; ++i) {
    if (a.mask && !a.mask[i]) continue;
    const double x[2] = {a.advantage ? static_cast<double>(a.advantage[i]) : a.constant,
                         static_cast<double>(a.log_probs[i])};
    for (int64_t k = 0; k < 2; ++k) {
      lanes->sum[k][(i - begin) % kSumLanes] += x[k];
      lanes->low[k] = least(lanes->low[k], x[k]);
      lanes->high[k] = greatest(lanes->high[k], x[k]);
    }
    ++lanes->count;
  }
}

template <class F>
static int64_t covariances_between(const PairRow<F>& a, const PairMeans& means, double low, double high, int64_t begin,
                                   int64_t end, uint8_t* selected) {
  const F64 level = splat(means.advantage), middle = splat(means.log_prob), least = splat(low), most = splat(high);
  const auto flags_at = [&](int64_t i) {
    const F64 covariance = (advantages_at(a, i) - level) * (load_wide(a.log_probs + i) - middle);
    const Mask inside = both(more(covariance, least), less(covariance, most)), kept = both(kept_of_pair(a, i), inside);
    return a.excluded ? both(kept, !mask_of(a.excluded + i)) : kept;
  };
  I64 taken = {};
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const Mask first = flags_at(i), second = flags_at(i + kHalf);
    store_flags(selected + i, first, second);
    count(&taken, first);
    count(&taken, second);
  }
  int64_t total = sum(taken);
  for (; i < end; ++i) {
    bool flag = (!a.mask || a.mask[i]) && !(a.excluded && a.excluded[i]);
    if (flag) {
      const double advantage = a.advantage ? static_cast<double>(a.advantage[i]) : a.constant;
      const double covariance = (advantage - means.advantage) * (static_cast<double>(a.log_probs[i]) - means.log_prob);
      flag = covariance > low && covariance < high;
    }
    selected[i] = flag;
    total += flag;
  }
  return total;
}

template <class F>
constexpr PairKernels<F> pair_kernels() {
  return {sum_pairs<F>, covariances_between<F>};
}

}  // namespace srp::cpu::SRP_LEVEL
