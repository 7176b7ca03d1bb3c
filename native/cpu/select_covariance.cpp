// Selection by covariance (contract: surprisal/select.h): one pass finds the means, then one pass compares, or several passes find
// a rank. Each pass computes the covariances again.
#include "backend.h"
#include "level.h"
#include "select_ranks.h"
#include "shared/select.h"

namespace srp::cpu {
namespace {

void merge(double& into, double other) { into += other; }

// Adds up as the lanes of a device do: 32 lanes by halves, then eight such sums in order. Lanes from `count` on are empty, which changes
// no sum.
template <class Sum>
Sum total_of(Sum* lanes, int64_t count) {
  constexpr int64_t kWarp = 32;
  for (int64_t first = 0; first < count; first += kWarp)
    for (int64_t half = kWarp / 2; half > 0; half /= 2)
      for (int64_t l = first; l < first + half && l + half < count; ++l) merge(lanes[l], lanes[l + half]);
  for (int64_t first = kWarp; first < count; first += kWarp) merge(lanes[0], lanes[first]);
  return count > 0 ? lanes[0] : Sum();
}

int64_t lanes_of(int64_t things) { return things < kSumLanes ? things : kSumLanes; }

template <class F>
PairRow<F> pair_row(const srp_select_covariance_args& a, int64_t b) {
  const F* const advantage = static_cast<const F*>(a.advantages);
  const F* const log_prob = static_cast<const F*>(a.log_probs);
  if (a.advantages_per_token) return {advantage, log_prob, a.mask, a.excluded, 0};
  return {nullptr, log_prob, a.mask, a.excluded, load(advantage, b)};
}

template <class F>
PairSums sums_at_level(const Kernels& level, const srp_select_covariance_args& a, Range row, int64_t b) {
  const int64_t count = lanes_of(row.end - row.begin);
  PairLanes lanes;
  for (int k = 0; k < 2; ++k) {
    for (int64_t l = 0; l < count; ++l) lanes.sum[k][l] = 0;
    lanes.low[k] = INFINITY;
    lanes.high[k] = -INFINITY;
  }
  lanes.count = 0;
  level.floats.of<F>().pairs.sums(pair_row<F>(a, b), row.begin, row.end, &lanes);
  PairSums sums;
  sums.advantage = {total_of(lanes.sum[0], count), lanes.low[0], lanes.high[0], lanes.count};
  sums.log_prob = {total_of(lanes.sum[1], count), lanes.low[1], lanes.high[1], lanes.count};
  return sums;
}

template <class F>
PairSums sums_of_row(const Pairs<F>& pairs, int64_t b) {
  const Range row = row_range(pairs.a.offsets, pairs.a.T, pairs.a.n, b);
  if (const Kernels* const level = kernels()) return sums_at_level<F>(*level, pairs.a, row, b);
  PairSums lanes[kSumLanes];
  for (int64_t i = row.begin; i < row.end; ++i)
    if (pairs.kept(i)) lanes[(i - row.begin) % kSumLanes].add(pairs.advantage(b, i), pairs.log_prob(i));
  return total_of(lanes, lanes_of(row.end - row.begin));
}

template <class F>
PairSums sums_of_batch(const Pairs<F>& pairs) {
  PairSums lanes[kSumLanes];
  for (int64_t b = 0; b < pairs.a.B; ++b) merge(lanes[b % kSumLanes], sums_of_row(pairs, b));
  return total_of(lanes, lanes_of(pairs.a.B));
}

template <class F>
struct Covariances {
  using Key = uint64_t;
  const Pairs<F> pairs;
  const PairMeans means;

  // visit(token, row) for all tokens in order.
  template <class Visit>
  void each_token(Visit visit) const {
    for (int64_t b = 0; b < pairs.a.B; ++b) {
      const Range row = row_range(pairs.a.offsets, pairs.a.T, pairs.a.n, b);
      for (int64_t i = row.begin; i < row.end; ++i) visit(i, b);
    }
  }
  Key key(int64_t i, int64_t b) const { return order_key(pairs.covariance(means, b, i)); }

  template <class Visit>
  void each(Visit visit) const {
    each_token([&](int64_t i, int64_t b) {
      if (pairs.candidate(i)) visit(i, key(i, b));
    });
  }
};

template <class F>
srp_status covariance(const srp_select_covariance_args& a) {
  const Pairs<F> pairs{a};
  const PairSums sums = sums_of_batch(pairs);
  if (!all_finite(sums))
    return fail(SRP_NOT_FINITE, "%s has a number that is not finite",
                all_finite(sums.advantage) ? "log_probs" : "advantages");
  const Covariances<F> covariances{pairs, means_of(sums, a.count_epsilon)};
  // A token's flag is written after its `excluded` was read for the last time: both may be the same byte.
  int64_t selected = 0;
  const Kernels* const level = kernels();
  if (level && a.mode == SRP_COVARIANCE_RANGE) {
    for (int64_t b = 0; b < a.B; ++b) {
      const Range row = row_range(a.offsets, a.T, a.n, b);
      selected += level->floats.of<F>().pairs.between(pair_row<F>(a, b), covariances.means, a.low, a.high, row.begin,
                                                      row.end, a.selected);
    }
  } else if (a.mode == SRP_COVARIANCE_RANGE) {
    covariances.each_token([&](int64_t i, int64_t b) {
      a.selected[i] = pairs.candidate(i) && pairs.in_range(pairs.covariance(covariances.means, b, i));
      selected += a.selected[i];
    });
  } else {
    const int64_t count = count_candidates(covariances);
    selected = top_count(a, count);
    TopCut<uint64_t> cut(covariances, count, selected);
    covariances.each_token(
        [&](int64_t i, int64_t b) { a.selected[i] = pairs.candidate(i) && cut.takes(covariances.key(i, b)); });
  }
  if (a.counts) *a.counts = static_cast<int32_t>(selected);
  return SRP_OK;
}

}  // namespace

srp_status select_covariance(srp_queue*, const srp_select_covariance_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return a->dtype == SRP_F64 ? covariance<double>(*a) : covariance<float>(*a);
}

}  // namespace srp::cpu
