// One group by itself (contract: surprisal/group.h): longer than those that share registers (group.h), or one of a few that are left. The same
// kGroupSums sums side by side, as group.cpp forms them number by number.
namespace srp::cpu::SRP_LEVEL {

// Visits items by register r of a round of kGroupSums. Returns how many: rounds are whole.
template <class F, class Visit>
SRP_INLINE int64_t each_register(const F* items, int64_t count, Visit visit) {
  const int64_t whole = count / kGroupSums * kGroupSums;
  for (int64_t k = 0; k < whole; k += kGroupSums)
    for (int64_t r = 0; r < kSumRegisters; ++r) visit(r, load_wide(items + k + r * kHalf));
  return whole;
}

// Of registers and what is added to them in the last round, by halves.
struct OneSum {
  double numbers[kGroupSums];

  explicit OneSum(const F64* sums) {
    for (int64_t r = 0; r < kSumRegisters; ++r) store(numbers + r * kHalf, sums[r]);
  }
  void add(int64_t k, double x) { numbers[k % kGroupSums] += x; }
  double whole() {
    for (int64_t half = kGroupSums / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half; ++j) numbers[j] += numbers[j + half];
    return numbers[0];
  }
};

template <class F>
static OneGroup describe_one(const F* items, int64_t count) {
  F64 sums[kSumRegisters] = {}, low = splat(static_cast<double>(items[0])), high = low;
  int64_t k = each_register(items, count, [&](int64_t r, F64 x) __attribute__((always_inline)) {
    sums[r] += x;
    low = x < low ? x : low;
    high = x > high ? x : high;
  });
  OneSum sum(sums);
  OneGroup group = {0, low[0], high[0]};
  const auto extend = [&](double x) {
    group.low = x < group.low ? x : group.low;
    group.high = x > group.high ? x : group.high;
  };
  for (int64_t lane = 1; lane < kHalf; ++lane) {
    extend(low[lane]);
    extend(high[lane]);
  }
  for (; k < count; ++k) {
    sum.add(k, items[k]);
    extend(items[k]);
  }
  group.sum = sum.whole();
  return group;
}

template <class F>
static OneSpread spread_of_one(const F* items, int64_t count, double mean) {
  F64 sums[kSumRegisters] = {}, squares[kSumRegisters] = {};
  int64_t k = each_register(items, count, [&](int64_t r, F64 x) __attribute__((always_inline)) {
    const F64 d = x - splat(mean);
    sums[r] += d;
    squares[r] += d * d;
  });
  OneSum sum(sums), of_squares(squares);
  for (; k < count; ++k) {
    const double d = items[k] - mean;
    sum.add(k, d);
    of_squares.add(k, d * d);
  }
  return {sum.whole(), of_squares.whole()};
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
