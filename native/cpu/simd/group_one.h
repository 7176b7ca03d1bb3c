// One group by itself (contract: surprisal/group.h): longer than those that share registers (group.h), or one of a few that are left. The same
// kGroupSums sums side by side, as group.cpp forms them number by number.
namespace srp::cpu::SRP_LEVEL {

template <class F>
static OneGroup describe_one(const F* items, int64_t count) {
  GroupSums sum;
  F64 low = splat(static_cast<double>(items[0])), high = low;
  const int64_t whole = count / kGroupSums * kGroupSums;
  each_deviation(items, whole, 0, [&](int64_t r, F64 x) __attribute__((always_inline)) {
    sum.add(r, x);
    low = x < low ? x : low;
    high = x > high ? x : high;
  });
  each_deviation(items + whole, count - whole, 0,
                 [&](int64_t r, F64 x) __attribute__((always_inline)) { sum.add(r, x); });
  OneGroup group = {sum.whole(), low[0], high[0]};
  const auto extend = [&](double x) {
    group.low = x < group.low ? x : group.low;
    group.high = x > group.high ? x : group.high;
  };
  for (int64_t lane = 1; lane < kHalf; ++lane) {
    extend(low[lane]);
    extend(high[lane]);
  }
  for (int64_t k = whole; k < count; ++k) extend(items[k]);
  return group;
}

template <class F>
static OneSpread spread_of_one(const F* items, int64_t count, double pivot) {
  GroupSums sum, squares;
  each_deviation(items, count, pivot, [&](int64_t r, F64 d) __attribute__((always_inline)) {
    sum.add(r, d);
    squares.add(r, d * d);
  });
  return {sum.whole(), squares.whole()};
}

template <class F>
static void write_one(const F* items, int64_t count, const OneLine& line, F* out) {
  for (int64_t k = 0; k < count; k += kHalf) {
    const F64 x = k + kHalf <= count ? load_wide(items + k) : load_some(items + k, count - k);
    const F64 y =
        ((x - splat(line.shift)) - splat(line.residue)) * splat(line.slope) * splat(line.factor) * splat(line.gain);
    if (k + kHalf <= count)
      store_wide(out + k, y);
    else
      store_some(out + k, y, count - k);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
