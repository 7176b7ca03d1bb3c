// Group statistics (contract: surprisal/group.h), one group after the other, items in their order.
#include "backend.h"
#include "level.h"
#include "pool.h"
#include "sizes.h"
#include "shared/group.h"

namespace srp::cpu {
namespace {

// The items of group g, in order.
template <class Args, class Visit>
void each_item(const Args& a, int64_t g, Visit visit) {
  for (int64_t i = a.offsets[g]; i < a.offsets[g + 1]; ++i) visit(member(a.members, i));
}

template <class Args>
srp_status check_items(const Args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->G, a->n));
  return check_indices("members", a->members, a->n, a->n);
}

int64_t size_of(const srp_group_normalize_args& a, int64_t g) { return a.offsets[g + 1] - a.offsets[g]; }

// A sum of a group's items, as every level forms it: of kGroupSums, added by halves.
class ItemSum {
 public:
  void operator+=(double x) { parts_[count_++ % kGroupSums] += x; }
  double whole() {
    for (int64_t half = kGroupSums / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half; ++j) parts_[j] += parts_[j + half];
    return parts_[0];
  }

 private:
  double parts_[kGroupSums] = {};
  int64_t count_ = 0;
};

template <class F>
Tally tally_of(const srp_group_normalize_args& a, int64_t g) {
  TallyOf<ItemSum> tally;
  each_item(a, g,
            [&](int64_t i) { tally.add(load(static_cast<const F*>(a.values), i), item_weight<F>(a.weights, i)); });
  return {tally.sum.whole(), tally.weight.whole(), tally.low, tally.high, tally.numbers};
}

// Of any weight; there is one.
template <class F>
double first_number(const srp_group_normalize_args& a, int64_t g) {
  int64_t k = a.offsets[g];
  const auto counts = [&](int64_t i) {
    return item_weight<F>(a.weights, i) != 0 && !isnan(load(static_cast<const F*>(a.values), i));
  };
  while (!counts(member(a.members, k))) ++k;
  return load(static_cast<const F*>(a.values), member(a.members, k));
}

template <class F>
Deviations deviations_of(const srp_group_normalize_args& a, int64_t g, double pivot, double high) {
  DeviationsOf<ItemSum> deviations;
  each_item(a, g, [&](int64_t i) {
    deviations.add(load(static_cast<const F*>(a.values), i), item_weight<F>(a.weights, i), pivot, high);
  });
  return {deviations.sum.whole(), deviations.squares.whole(), deviations.second, deviations.winners};
}

template <class F>
void store_statistics(const srp_group_normalize_args& a, int64_t g, const GroupStatistics& statistics) {
  if (a.means) store(static_cast<F*>(a.means), g, statistics.mean());
  if (a.stds) store(static_cast<F*>(a.stds), g, statistics.std());
  if (a.counts) a.counts[g] = statistics.count();
}

// A group by itself, by the level's kernels. False where its sum is no finite number.
template <class F>
bool normalize_one(const srp_group_normalize_args& a, int64_t g, const OneGroupKernels<F>& kernels) {
  const F* const items = static_cast<const F*>(a.values) + a.offsets[g];
  const int64_t size = size_of(a, g);
  const OneGroup group = kernels.describe(items, size);
  if (!(fabs(group.sum) < INFINITY)) return false;
  const Tally tally = {group.sum, static_cast<double>(size), group.low, group.high, size};
  GroupStatistics statistics(a, tally, size);
  if (statistics.wants_deviations()) {
    if (kFromFirst<F> && size <= kMostSharedItems) statistics.measure_from(static_cast<double>(items[0]));
    const OneSpread spread = kernels.spread(items, size, statistics.mean());
    statistics.finish(a, {spread.sum, spread.squares, -INFINITY, 0});
  }
  F* const out = a.normalized ? static_cast<F*>(a.normalized) + a.offsets[g] : nullptr;
  const GroupLine line = statistics.line();
  if (out && line.constant)
    for (int64_t k = 0; k < size; ++k) out[k] = line.of(items[k]);
  else if (out)
    kernels.write(items, size, {line.shift, line.residue, line.slope, line.factor, line.gain}, out);
  store_statistics<F>(a, g, statistics);
  return true;
}

template <class F>
void normalize_group(const srp_group_normalize_args& a, int64_t g) {
  const F* const values = static_cast<const F*>(a.values);
  const Tally tally = tally_of<F>(a, g);
  GroupStatistics statistics(a, tally, size_of(a, g));
  if (statistics.wants_deviations()) {
    if (kFromFirst<F> && size_of(a, g) <= kMostSharedItems) statistics.measure_from(first_number<F>(a, g));
    statistics.finish(a, deviations_of<F>(a, g, statistics.mean(), statistics.high()));
  }
  const auto each_into = [&](void* out, auto number) {
    if (out) each_item(a, g, [&](int64_t i) { store(static_cast<F*>(out), i, number(i)); });
  };
  each_into(a.normalized,
            [&](int64_t i) { return statistics.normalized(load(values, i), item_weight<F>(a.weights, i)); });
  each_into(a.centers, [&](int64_t i) { return statistics.center(load(values, i), item_weight<F>(a.weights, i)); });
  each_into(a.spreads, [&](int64_t i) { return statistics.spread(load(values, i), item_weight<F>(a.weights, i)); });
  store_statistics<F>(a, g, statistics);
}

template <class F>
srp_status normalize(const srp_group_normalize_args& a) {
  const int64_t mean_bytes = a.G == 0 ? 0 : 4 * a.n / a.G * int64_t{sizeof(F)};
  return parallel_rows(a.G, mean_bytes, [&](int64_t begin, int64_t end) {
    const Kernels* const level = kernels();
    const bool plain = level && !a.members && !a.weights && !a.centers && !a.spreads &&
                       a.center != SRP_CENTER_RUNNER_UP && a.scale <= SRP_SCALE_STD;
    for (int64_t g = begin; g < end;) {
      if (plain) g = level->floats.of<F>().normalize(a, g, end);
      // The groups that the level's kernel leaves: all of them without a level, else as many as share a register.
      const int64_t next = plain && end - g > level->lanes / 2 ? g + level->lanes / 2 : end;
      for (; g < next; ++g)
        if (!plain || size_of(a, g) < kGroupSums || !normalize_one<F>(a, g, level->floats.of<F>().one_group))
          normalize_group<F>(a, g);
    }
  });
}

// A number for each item of a group, kept from walk to walk over it. Of a group that is too long each walk computes them again.
struct Kept {
  static constexpr int64_t kMost = 256;
  double numbers[kMost];
};

template <class Args>
bool keeps(const Args& a, int64_t g) {
  return a.offsets[g + 1] - a.offsets[g] <= Kept::kMost;
}

// visit(i, x) of every item i, with x = of(i), or what was kept of it.
template <class Args, class Of, class Visit>
void each_kept(const Args& a, int64_t g, const Kept& kept, Of of, Visit visit) {
  int64_t k = 0;
  if (keeps(a, g))
    each_item(a, g, [&](int64_t i) { visit(i, kept.numbers[k++]); });
  else
    each_item(a, g, [&](int64_t i) { visit(i, of(i)); });
}

template <class Args, class Of, class Visit>
void each_to_keep(const Args& a, int64_t g, Kept* kept, Of of, Visit visit) {
  const bool all = keeps(a, g);
  int64_t k = 0;
  each_item(a, g, [&](int64_t i) {
    const double x = of(i);
    if (all) kept->numbers[k++] = x;
    visit(x);
  });
}

template <class F>
void softmax(const srp_group_softmax_args& a) {
  const F* const values = static_cast<const F*>(a.values);
  F* const weights = static_cast<F*>(a.weights);
  Kept terms;
  for (int64_t g = 0; g < a.G; ++g) {
    double largest = -INFINITY;
    each_item(a, g, [&](int64_t i) {
      const double x = load(values, i);
      if (x > largest) largest = x;  // a NaN is not larger; the sum still becomes NaN
    });
    const double shift = softmax_shift(largest);
    const auto term = [&](int64_t i) { return softmax_term(load(values, i), shift, a.temperature); };
    double sum = 0;
    each_to_keep(a, g, &terms, term, [&](double x) { sum += x; });
    const int64_t count = a.offsets[g + 1] - a.offsets[g];
    if (weights)
      each_kept(a, g, terms, term,
                [&](int64_t i, double x) { store(weights, i, with_floor(softmax_weight(x, sum), a.floor, count)); });
    if (a.log_sum_exps) store(static_cast<F*>(a.log_sum_exps), g, log_sum_exp(shift, sum, a.temperature));
    if (a.soft_means) store(static_cast<F*>(a.soft_means), g, soft_mean(shift, sum, a.temperature, count));
  }
}

template <class F>
void tilt(const srp_group_tilt_args& a) {
  Kept exponents, terms;
  for (int64_t g = 0; g < a.G; ++g) {
    double largest = -INFINITY;
    const auto exponent = [&](int64_t i) { return tilt_exponent<F>(a, i); };
    each_to_keep(a, g, &exponents, exponent, [&](double z) {
      if (z > largest) largest = z;
    });
    const double shift = softmax_shift(largest);
    int64_t k = 0;
    const auto term = [&](int64_t i) {
      const double z = keeps(a, g) ? exponents.numbers[k++] : exponent(i);
      return softmax_term(z, shift, a.temperature) * tilt_count<F>(a, i);
    };
    double sum = 0;
    each_to_keep(a, g, &terms, term, [&](double x) { sum += x; });
    each_kept(a, g, terms, term,
              [&](int64_t i, double x) { store(static_cast<F*>(a.weights), i, softmax_weight(x, sum)); });
  }
}

template <class F>
void entropy(const srp_group_entropy_args& a) {
  const F* const values = static_cast<const F*>(a.values);
  for (int64_t g = 0; g < a.G; ++g) {
    double sum = 0, result = 0;
    if (a.normalize) each_item(a, g, [&](int64_t i) { sum += at_least(load(values, i), a.least); });
    each_item(a, g, [&](int64_t i) { result += entropy_term<F>(a, sum, i); });
    if (a.entropies) store(static_cast<F*>(a.entropies), g, result);
    if (a.evennesses) store(static_cast<F*>(a.evennesses), g, evenness(result, a.offsets[g + 1] - a.offsets[g]));
  }
}

// The best item of group g other than `except`: the largest value, the smaller index on a tie. -1 = none. `nan`: set where an item
// is NaN.
template <class F>
int64_t best_item(const srp_group_top2_args& a, int64_t g, int64_t except, bool* nan) {
  const F* const values = static_cast<const F*>(a.values);
  int64_t best = -1;
  each_item(a, g, [&](int64_t i) {
    const double x = load(values, i);
    if (isnan(x)) *nan = true;
    if (i == except || isnan(x)) return;
    const double y = best < 0 ? -INFINITY : load(values, best);
    if (best < 0 || x > y || (x == y && i < best)) best = i;
  });
  return best;
}

template <class F>
srp_status top2(const srp_group_top2_args& a) {
  const F* const values = static_cast<const F*>(a.values);
  const auto value = [&](int64_t i) { return i < 0 ? NAN : load(values, i); };
  bool nan = false;
  for (int64_t g = 0; g < a.G; ++g) {
    const int64_t best = best_item<F>(a, g, -1, &nan);
    const int64_t second = best_item<F>(a, g, best, &nan);
    a.best[g] = static_cast<int32_t>(best);
    a.second[g] = static_cast<int32_t>(second);
    if (a.best_values) store(static_cast<F*>(a.best_values), g, value(best));
    if (a.second_values) store(static_cast<F*>(a.second_values), g, value(second));
  }
  return nan ? fail(SRP_NOT_FINITE, "values has a NaN, expected numbers") : SRP_OK;
}

template <class F>
void weigh_items(const srp_group_weigh_args& a) {
  const F* const values = static_cast<const F*>(a.values);
  for (int64_t g = 0; g < a.G; ++g) {
    Tally tally;
    each_item(a, g, [&](int64_t i) { tally.add(load(values, i), 1); });
    each_item(a, g, [&](int64_t i) {
      store(static_cast<F*>(a.weights), i, weigh(a, load(values, i), tally.low, tally.high));
    });
  }
}

template <class F>
void broadcast(const srp_group_broadcast_args& a, int64_t first, int64_t last) {
  const F* const row = static_cast<const F*>(a.row);
  const F* const factors = static_cast<const F*>(a.row_factors);
  F* const tokens = static_cast<F*>(a.tokens);
  const Kernels* const level = kernels();
  const int64_t bytes = sizeof(F);
  for (int64_t b = first; b < last; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    const double value = load(row, b) * (factors ? load(factors, b) : 1);
    if (level) {
      const bool past_cache = rows_leave_cache(a.n * bytes, (range.end - range.begin) * bytes);
      level->floats.of<F>().spread(tokens, a.mask, range.begin, range.end, value, past_cache);
      continue;
    }
    for (int64_t i = range.begin; i < range.end; ++i) store(tokens, i, !a.mask || a.mask[i] ? value : 0.0);
  }
}

template <class F>
void place(const srp_group_place_args& a, int64_t first_row, int64_t last_row) {
  F* const placed = static_cast<F*>(a.placed);
  for (int64_t b = first_row; b < last_row; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    int64_t last = range.end - 1;
    while (last >= range.begin && a.mask && !a.mask[last]) --last;
    for (int64_t i = range.begin; i < range.end; ++i)
      store(placed, i, i == last && a.row ? place_token<F>(a, i) + place_row<F>(a, b) : place_token<F>(a, i));
  }
}

}  // namespace

srp_status group_normalize(srp_queue*, const srp_group_normalize_args* a) {
  SRP_TRY(check_items(a));
  return a->dtype == SRP_F64 ? normalize<double>(*a) : normalize<float>(*a);
}

srp_status group_softmax(srp_queue*, const srp_group_softmax_args* a) {
  SRP_TRY(check_items(a));
  if (a->dtype == SRP_F64)
    softmax<double>(*a);
  else
    softmax<float>(*a);
  return SRP_OK;
}

srp_status group_tilt(srp_queue*, const srp_group_tilt_args* a) {
  SRP_TRY(check_items(a));
  if (a->dtype == SRP_F64)
    tilt<double>(*a);
  else
    tilt<float>(*a);
  return SRP_OK;
}

srp_status group_entropy(srp_queue*, const srp_group_entropy_args* a) {
  SRP_TRY(check_items(a));
  if (a->dtype == SRP_F64)
    entropy<double>(*a);
  else
    entropy<float>(*a);
  return SRP_OK;
}

srp_status group_top2(srp_queue*, const srp_group_top2_args* a) {
  SRP_TRY(check_items(a));
  return a->dtype == SRP_F64 ? top2<double>(*a) : top2<float>(*a);
}

srp_status group_weigh(srp_queue*, const srp_group_weigh_args* a) {
  SRP_TRY(check_items(a));
  if (a->dtype == SRP_F64)
    weigh_items<double>(*a);
  else
    weigh_items<float>(*a);
  return SRP_OK;
}

srp_status group_broadcast(srp_queue*, const srp_group_broadcast_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  const int64_t bytes = srp_dtype_size(a->dtype);
  return each_row(*a, bytes, a->dtype == SRP_F64 ? broadcast<double> : broadcast<float>);
}

srp_status group_place(srp_queue*, const srp_group_place_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  const int64_t bytes = srp_dtype_size(a->dtype);
  return each_row(*a, 2 * bytes, a->dtype == SRP_F64 ? place<double> : place<float>);
}

}  // namespace srp::cpu
