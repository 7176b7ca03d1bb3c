// Quantile and top-k masks (contract: surprisal/select.h), units side by side. A rank takes one pass over the unit and a
// list of the candidates near it. Where that fails, it takes one pass for each digit of the keys and no memory, whatever the values.
#include <atomic>

#include "backend.h"
#include "pool.h"
#include "select_ranks.h"
#include "select_shortlist.h"

namespace srp::cpu {
namespace {

// The candidates of a unit, in index order.
template <class F, class Args>
struct Candidates {
  using Key = decltype(order_key(F{}));
  const Args& a;
  Range range;

  template <class Visit>
  void each(Visit visit) const {
    const F* const values = static_cast<const F*>(a.values);
    for (int64_t i = range.begin; i < range.end; ++i)
      if (candidate(a.mask, i)) visit(i, order_key(values[i]));
  }

  // The smallest key above `key`, which must exist.
  Key next(Key key) const {
    Key smallest = ~Key{0};
    each([&](int64_t, Key other) {
      if (other > key && other < smallest) smallest = other;
    });
    return smallest;
  }
};

template <class F>
double threshold_of(const Candidates<F, srp_select_quantile_args>& candidates) {
  int64_t count = 0;
  bool numbers = true;
  candidates.each([&](int64_t, auto key) {
    ++count;
    numbers = numbers && key != 0;
  });
  if (count == 0 || !numbers) return NAN;
  const QuantileRank rank = quantile_rank(candidates.a.q, count);
  const auto low = key_at_rank(candidates, rank.lower);
  const bool last_of_equals = rank.lower + 1 == low.below + low.equal;
  const auto high = rank.fraction > 0 && last_of_equals ? candidates.next(low.key) : low.key;
  return interpolate(key_value(low.key), key_value(high), rank.fraction);
}

int64_t kept_in(const Kernels& level, const uint8_t* mask, Range range) {
  return mask ? level.count_bytes(mask, range.begin, range.end) : range.end - range.begin;
}

// Finds the threshold of a unit and its flags from a shortlist. False: no shortlist could be made.
template <class F>
bool quantile_of_list(const srp_select_quantile_args& a, Range range, Shortlist<F>* list, double* threshold) {
  const Kernels* const level = kernels();
  if (!level || !a.selected) return false;
  const F* const values = static_cast<const F*>(a.values);
  const int64_t count = kept_in(*level, a.mask, range);
  if (count == 0) return false;
  const QuantileRank rank = quantile_rank(a.q, count);
  const int64_t last = rank.fraction > 0 ? rank.lower + 1 : rank.lower;
  if (!list->build(values, a.mask, range, count, rank.lower, last, a.selected) || list->has_nan()) return false;
  const auto low = list->at(rank.lower);
  const auto high = rank.fraction > 0 ? list->behind(rank.lower) : low;
  *threshold = interpolate(key_value(low), key_value(high), rank.fraction);
  if (isnan(*threshold)) return false;
  list->each([&](int64_t i) { a.selected[i] = load(values, i) >= *threshold; });
  return true;
}

template <class F>
void quantile(const srp_select_quantile_args& a, int64_t first, int64_t last) {
  const F* const values = static_cast<const F*>(a.values);
  Shortlist<F> list;
  for (int64_t unit = first; unit < last; ++unit) {
    const Range range = unit_range(a, unit);
    double threshold = NAN;
    const bool flagged = quantile_of_list(a, range, &list, &threshold);
    if (!flagged) threshold = threshold_of(Candidates<F, srp_select_quantile_args>{a, range});
    if (a.thresholds) a.thresholds[unit] = threshold;
    if (flagged || !a.selected) continue;
    for (int64_t i = range.begin; i < range.end; ++i)
      a.selected[i] = candidate(a.mask, i) && load(values, i) >= threshold;
  }
}

// Finds the k flags of a unit from a shortlist. False: no shortlist could be made. `nan`: set where a candidate is NaN.
template <class F>
bool top_of_list(const srp_select_top_args& a, Range range, int64_t count, int64_t k, Shortlist<F>* list,
                 std::atomic<bool>* nan) {
  if (k == 0) {
    // The pointers of an empty unit may be NULL.
    if (range.end > range.begin) memset(a.selected + range.begin, 0, static_cast<size_t>(range.end - range.begin));
    return true;
  }
  const F* const values = static_cast<const F*>(a.values);
  if (!list->build(values, a.mask, range, count, count - k, count - k, a.selected)) return false;
  if (list->has_nan()) *nan = true;
  const auto smallest = list->at(count - k);
  int64_t equals = k - list->above() - list->larger_than(smallest);  // that are still taken
  list->each([&](int64_t i) {
    const auto key = order_key(values[i]);
    a.selected[i] = key > smallest || (key == smallest && equals-- > 0);
  });
  return true;
}

template <class F>
void top(const srp_select_top_args& a, int64_t first, int64_t last, std::atomic<bool>* nan) {
  using Unit = Candidates<F, srp_select_top_args>;
  const Kernels* const level = kernels();
  Shortlist<F> list;
  for (int64_t unit = first; unit < last; ++unit) {
    const Unit candidates{a, unit_range(a, unit)};
    const int64_t count = level ? kept_in(*level, a.mask, candidates.range) : count_candidates(candidates);
    const int64_t k = top_count(a, count);
    if (a.counts) a.counts[unit] = static_cast<int32_t>(k);
    if (level && top_of_list(a, candidates.range, count, k, &list, nan)) continue;
    for (int64_t i = candidates.range.begin; i < candidates.range.end; ++i) a.selected[i] = 0;
    TopCut<typename Unit::Key> cut(candidates, count, k);
    candidates.each([&](int64_t i, auto key) {
      if (cut.takes(key)) a.selected[i] = 1;
      if (key == 0 && k > 0) *nan = true;
    });
  }
}

constexpr int64_t kBytesPerValue = 32;  // a value is read once a digit of its key

// Calls run(first, last) for ranges of units.
template <class Args, class Run>
srp_status each_unit(const Args& a, const Run& run) {
  return parallel_rows_of(unit_count(a), a.n, kBytesPerValue, run);
}

template <class F>
srp_status quantile_units(const srp_select_quantile_args& a) {
  return each_unit(a, [&](int64_t begin, int64_t end) { quantile<F>(a, begin, end); });
}

template <class F>
srp_status top_units(const srp_select_top_args& a) {
  std::atomic<bool> nan{false};
  SRP_TRY(each_unit(a, [&](int64_t begin, int64_t end) { top<F>(a, begin, end, &nan); }));
  return nan ? fail(SRP_NOT_FINITE, "values has a NaN, expected numbers") : SRP_OK;
}

template <class Args>
srp_status check_host(const Args* a) {
  SRP_TRY(check(a));
  return check_offsets("offsets", a->offsets, a->B, a->n);
}

}  // namespace

srp_status select_quantile(srp_queue*, const srp_select_quantile_args* a) {
  SRP_TRY(check_host(a));
  return a->dtype == SRP_F64 ? quantile_units<double>(*a) : quantile_units<float>(*a);
}

srp_status select_top(srp_queue*, const srp_select_top_args* a) {
  SRP_TRY(check_host(a));
  return a->dtype == SRP_F64 ? top_units<double>(*a) : top_units<float>(*a);
}

}  // namespace srp::cpu
