// Normalisation of neighbouring groups (contract: surprisal/group.h), their statistics a group a lane. Every lane does what
// GroupStatistics (shared/group.h) does for one group, in the same order, so the results are the same bits.
//
// Items come in tiles of kHalf from each group, turned over in registers. Groups of several sizes are walked to the end of
// the longest; beyond its own a lane has zeros, and its deviations there do not count. The sums of a register of groups wait for
// each other, so those of two or four registers are formed side by side where their groups have one size. Roots and quotients take
// longest: a block of groups is summed first; then its items are read once more, group after group, and written, while the
// roots of groups behind them are on their way.
namespace srp::cpu::SRP_LEVEL {

// Neighbouring groups of one size, a multiple of kHalf and no more than kItems.
template <int64_t kItems>
struct EvenGroups {
  static constexpr bool kRagged = false;
  static constexpr int64_t kMost = kItems;
  int64_t first, longest;

  int64_t begin(int64_t lane) const { return first + lane * longest; }
  int64_t size(int64_t) const { return longest; }
  I64 sizes() const { return splat(longest); }
  F64 counts() const { return splat(static_cast<double>(longest)); }
  // The same bits: a power of two has an exact reciprocal.
  F64 over_count(F64 x) const {
    const double count = static_cast<double>(longest);
    return (longest & (longest - 1)) == 0 ? x * splat(1 / count) : x / splat(count);
  }
  I64 inside(int64_t) const { return ~I64{}; }
};

// Of any sizes.
struct RaggedGroups {
  static constexpr bool kRagged = true;
  static constexpr int64_t kMost = kMostLaneItems;
  const int32_t* offsets;
  int64_t longest;
  I64 lanes;

  int64_t begin(int64_t lane) const { return offsets[lane]; }
  int64_t size(int64_t lane) const { return offsets[lane + 1] - offsets[lane]; }
  I64 sizes() const { return lanes; }
  F64 counts() const { return __builtin_convertvector(lanes, F64); }
  F64 over_count(F64 x) const { return x / counts(); }
  I64 inside(int64_t k) const { return splat(k) < lanes; }
};

// Items k ... k + kHalf - 1 of every group: x[j] has item k + j of each.
template <class Groups, class F>
SRP_INLINE void load_tile(const Groups& groups, const F* values, int64_t k, F64* x) {
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    const F* const items = values + groups.begin(lane) + k;
    x[lane] = Groups::kRagged ? load_some(items, groups.size(lane) - k) : load_wide(items);
  }
  transpose(x);
}

template <class Groups>
SRP_INLINE I64 equal_numbers(const Groups& groups, const F64* x) {
  I64 different = {};
  for (int64_t k = 1; k < groups.longest; ++k) different |= (x[k] != x[0]) & groups.inside(k);
  return different == 0;
}

constexpr int64_t kGroupRegisters = 8;
// Items from which on a group is brought nearer ahead of its block: a block is read in as many streams as it has groups, which no
// processor foresees.
constexpr int64_t kFetched = 16;

// Statistics of neighbouring groups, kHalf in a register.
struct GroupBlock {
  int64_t groups;
  bool some_constant;  // some have equal numbers, for which `constant` was looked at
  I64 sizes[kGroupRegisters], constant[kGroupRegisters];
  F64 total[kGroupRegisters], mean[kGroupRegisters], residue[kGroupRegisters];
  F64 variance[kGroupRegisters], std[kGroupRegisters], inverse[kGroupRegisters];
};

// Of kWays registers of groups, from register `at` of the block on, one step of each behind the other: a step waits for the
// one before.
template <int kWays, class Groups, class F>
SRP_INLINE void sum_lanes(const srp_group_normalize_args& a, const Groups (&groups)[kWays], GroupBlock* block,
                          int64_t at) {
  const F* const values = static_cast<const F*>(a.values);
  const int64_t longest = groups[0].longest;
  F64 x[kWays][Groups::kMost], total[kWays] = {};
#pragma GCC unroll 4
  for (int w = 0; w < kWays; ++w) x[w][0] = F64{};  // there is at least one item, but the compiler cannot know
  for (int64_t k = 0; k < longest; k += kHalf) {
#pragma GCC unroll 4
    for (int w = 0; w < kWays; ++w) load_tile(groups[w], values, k, x[w] + k);
    for (int64_t j = 0; j < kHalf; ++j)
#pragma GCC unroll 4
      for (int w = 0; w < kWays; ++w) total[w] += x[w][k + j];
  }
  F64 n[kWays], mean[kWays], sum[kWays] = {}, squares[kWays] = {};
#pragma GCC unroll 4
  for (int w = 0; w < kWays; ++w) {
    n[w] = groups[w].counts();
    mean[w] = groups[w].over_count(total[w]);
  }
  for (int64_t k = 0; k < longest; ++k)
#pragma GCC unroll 4
    for (int w = 0; w < kWays; ++w) {
      F64 d = x[w][k] - mean[w];
      if (Groups::kRagged) d = groups[w].inside(k) ? d : F64{};
      sum[w] += d;
      squares[w] += d * d;
    }
#pragma GCC unroll 4
  for (int w = 0; w < kWays; ++w) {
    const F64 residue = groups[w].over_count(sum[w]);
    const F64 variance = (squares[w] - n[w] * residue * residue) / (n[w] - splat(a.ddof));
    const F64 floor = splat(a.variance_floor);
    block->sizes[at + w] = groups[w].sizes();
    block->total[at + w] = total[w];
    block->mean[at + w] = mean[w];
    block->residue[at + w] = residue;
    block->variance[at + w] = variance < floor ? floor : variance;
    // Equal numbers deviate from their mean by its rounding alone, which is no more than n 2^-53 of it.
    const F64 rounding = n[w] * splat(4.0 * 0x1p-53) * mean[w];
    const I64 constant = squares[w] <= n[w] * (rounding * rounding);
    block->constant[at + w] = constant;
    if (any((I32)constant)) {
      const I64 equal = constant & equal_numbers(groups[w], x[w]);
      block->some_constant = true;
      block->constant[at + w] = equal;
      block->mean[at + w] = equal ? x[w][0] : mean[w];
      block->residue[at + w] = equal ? F64{} : residue;
      block->variance[at + w] = equal ? floor : block->variance[at + w];
    }
  }
}

// The size of kLanes groups where all have the same, and EvenGroups takes it; else 0.
SRP_INLINE int64_t common_size(const int32_t* offsets) {
  const int32_t size = offsets[1] - offsets[0];
  if (size % kHalf != 0 || size > kMostLaneItems) return 0;
  return any((load(offsets + 1) - load(offsets)) != size) ? 0 : size;
}

// kWays registers of groups of `size` items.
template <int kWays, int64_t kItems, class F>
SRP_INLINE void sum_even(const srp_group_normalize_args& a, int64_t g, int64_t size, GroupBlock* block, int64_t at) {
  EvenGroups<kItems> groups[kWays];
#pragma GCC unroll 4
  for (int w = 0; w < kWays; ++w) groups[w] = {a.offsets[g] + w * kHalf * size, size};
  sum_lanes<kWays, EvenGroups<kItems>, F>(a, groups, block, at);
}

SRP_INLINE I64 sizes_from(const int32_t* offsets) { return load_widened(offsets + 1) - load_widened(offsets); }

// False of sizes that this kernel does not take: of a single item, of more than kMostLaneItems, of no more than ddof.
SRP_INLINE bool fits(const srp_group_normalize_args& a, I64 sizes) {
  const I64 unfit = (sizes < 2) | (sizes > kMostLaneItems) | (__builtin_convertvector(sizes, F64) <= splat(a.ddof));
  return !any((I32)unfit);
}

// kWays registers of groups of any sizes, all walked to the end of the longest.
template <int kWays, class F>
SRP_INLINE void sum_ragged(const srp_group_normalize_args& a, int64_t g, GroupBlock* block, int64_t at) {
  RaggedGroups groups[kWays];
  int64_t longest = 0;
  for (int w = 0; w < kWays; ++w) {
    const int32_t* const offsets = a.offsets + g + w * kHalf;
    groups[w] = {offsets, 0, sizes_from(offsets)};
    for (int64_t lane = 0; lane < kHalf; ++lane) {
      const int64_t size = groups[w].lanes[lane];
      longest = size > longest ? size : longest;
    }
  }
  for (int w = 0; w < kWays; ++w) groups[w].longest = longest;
  sum_lanes<kWays, RaggedGroups, F>(a, groups, block, at);
}

// Adds groups g ... g + kHalf - 1 as register `at` of the block, and as many behind them where `two` says that there are and these
// fit as well. Returns the number of registers.
template <class F>
SRP_INLINE int64_t sum_groups(const srp_group_normalize_args& a, int64_t g, bool two, GroupBlock* block, int64_t at) {
  const I64 sizes = sizes_from(a.offsets + g);
  if (!fits(a, sizes)) return 0;
  if (two && fits(a, sizes_from(a.offsets + g + kHalf))) {
    sum_ragged<2, F>(a, g, block, at);
    return 2;
  }
  const int64_t size = sizes[0];
  if (size % kHalf == 0 && !any((I32)(sizes != splat(size))))
    sum_even<1, kMostLaneItems, F>(a, g, size, block, at);
  else
    sum_ragged<1, F>(a, g, block, at);
  return 1;
}

// Fills the block with groups of [begin, end), as many as fit and as this kernel takes. Eight is the usual size, for which the
// compiler makes code of its own.
template <class F>
SRP_INLINE void sum_block(const srp_group_normalize_args& a, int64_t begin, int64_t end, GroupBlock* block) {
  block->some_constant = false;
  int64_t g = begin, at = 0;
  while (at < kGroupRegisters && g + kHalf <= end) {
    const bool two = at + 2 <= kGroupRegisters && g + kLanes <= end;
    const int64_t size = two ? common_size(a.offsets + g) : 0;
    int64_t ways = 2;
    if (size <= a.ddof) {
      ways = sum_groups<F>(a, g, two, block, at);
      if (ways == 0) break;
    } else if (size != 8) {
      sum_even<2, kMostLaneItems, F>(a, g, size, block, at);
    } else if (at + 4 <= kGroupRegisters && g + 2 * kLanes <= end && common_size(a.offsets + g + kLanes) == 8) {
      sum_even<4, 8, F>(a, g, 8, block, at);
      ways = 4;
    } else {
      sum_even<2, 8, F>(a, g, 8, block, at);
    }
    at += ways;
    g += ways * kHalf;
  }
  block->groups = g - begin;
}

// Groups that shared/group.h takes: with a sum or a variance that is not finite, or a quotient beyond float64. The deviations of
// a constant group are 0 whatever divides them.
SRP_INLINE I64 strange_groups(const srp_group_normalize_args& a, const GroupBlock& block, int64_t at) {
  const F64 variance = block.variance[at];
  I64 strange = (block.total[at] - block.total[at]) + (variance - variance) != F64{};
  if (a.scale != SRP_SCALE_STD || a.epsilon >= 0x1p-1000) return strange;
  // The root of any number above 0 is above 2^-538.
  I64 unfit = variance == F64{};
  if (block.some_constant && a.center != SRP_CENTER_NONE) unfit &= ~block.constant[at];
  return strange | unfit;
}

// Leaves out the groups from the first register on that has such a group.
SRP_INLINE void check_block(const srp_group_normalize_args& a, GroupBlock* block) {
  const int64_t registers = block->groups / kHalf;
  I64 strange = {};
  for (int64_t at = 0; at < registers; ++at) strange |= strange_groups(a, *block, at);
  if (!any((I32)strange)) return;
  int64_t at = 0;
  while (!any((I32)strange_groups(a, *block, at))) ++at;
  block->groups = at * kHalf;
}

SRP_INLINE void scale_groups(const srp_group_normalize_args& a, GroupBlock* block, int64_t at) {
  const F64 std = square_root(block->variance[at]);
  F64 inverse = a.scale == SRP_SCALE_STD ? splat(1.0) / (std + splat(a.epsilon)) : splat(1.0);
  if (block->some_constant && a.center != SRP_CENTER_NONE) inverse = block->constant[at] ? F64{} : inverse;
  block->std[at] = std;
  block->inverse[at] = inverse;
}

template <class F>
SRP_INLINE void write_statistics(const srp_group_normalize_args& a, int64_t g, const GroupBlock& block, int64_t at) {
  if (a.means) store_wide(static_cast<F*>(a.means) + g, block.mean[at] + block.residue[at]);
  if (a.stds) store_wide(static_cast<F*>(a.stds) + g, block.std[at]);
  if (a.counts) store_narrowed(a.counts + g, block.sizes[at]);
}

// One group of `size` items. kUsual: of center MEAN or NONE and gain 1.
template <bool kUsual, class F>
SRP_INLINE void write_group(const srp_group_normalize_args& a, int64_t first, int64_t size, F64 mean, F64 residue,
                            F64 inverse) {
  const F* const values = static_cast<const F*>(a.values) + first;
  F* const normalized = static_cast<F*>(a.normalized) + first;
  const double n = static_cast<double>(size);
  const F64 others = splat(!kUsual && a.center == SRP_CENTER_LEAVE_ONE_OUT ? n / (n - 1) : 1.0);
  const auto transformed = [&](F64 x) __attribute__((always_inline)) {
    const F64 centred = (x - mean) - residue;
    return kUsual ? centred * inverse : centred * others * inverse * splat(a.gain);
  };
  int64_t k = 0;
  if (size >= kFetched)
    for (; k + kLanes <= size; k += kLanes) {
      prefetch(values + k + kGroupRegisters * kHalf * size);  // of the next block
      store_wide(normalized + k, transformed(load_wide(values + k)));
      store_wide(normalized + k + kHalf, transformed(load_wide(values + k + kHalf)));
    }
  for (; k + kHalf <= size; k += kHalf) store_wide(normalized + k, transformed(load_wide(values + k)));
  if (k < size) store_some(normalized + k, transformed(load_some(values + k, size - k)), size - k);
}

// The items of the groups of a register.
template <bool kUsual, class F>
SRP_INLINE void write_items(const srp_group_normalize_args& a, int64_t g, const GroupBlock& block, int64_t at) {
  const bool centred = a.center != SRP_CENTER_NONE;
  const double* const mean = reinterpret_cast<const double*>(&block.mean[at]);
  const double* const residue = reinterpret_cast<const double*>(&block.residue[at]);
  const double* const inverse = reinterpret_cast<const double*>(&block.inverse[at]);
  const int32_t* const first = a.offsets + g;
  const auto write = [&](int64_t lane, int64_t begin, int64_t size) __attribute__((always_inline)) {
    write_group<kUsual, F>(a, begin, size, splat(centred ? mean[lane] : 0), splat(centred ? residue[lane] : 0),
                           splat(inverse[lane]));
  };
  if (!any((I32)(block.sizes[at] != 8)))
    for (int64_t lane = 0; lane < kHalf; ++lane) write(lane, first[0] + 8 * lane, 8);
  else
    for (int64_t lane = 0; lane < kHalf; ++lane) write(lane, first[lane], first[lane + 1] - first[lane]);
}

template <bool kUsual, class F>
SRP_INLINE void write_block(const srp_group_normalize_args& a, int64_t g, GroupBlock* block) {
  constexpr int64_t kAhead = 2;
  const int64_t registers = block->groups / kHalf;
  for (int64_t at = 0; at < kAhead && at < registers; ++at) scale_groups(a, block, at);
  for (int64_t at = 0; at < registers; ++at) {
    if (at + kAhead < registers) scale_groups(a, block, at + kAhead);
    write_statistics<F>(a, g + at * kHalf, *block, at);
    if (a.normalized) write_items<kUsual, F>(a, g + at * kHalf, *block, at);
  }
}

// Normalizes groups from `begin` on and returns the group at which it stopped. The kHalf groups from there on, or as many as are
// left, are not for this kernel: see sum_groups; or one has a NaN, an infinity, or a quotient beyond float64.
template <class F>
static int64_t normalize_groups(const srp_group_normalize_args& a, int64_t begin, int64_t end) {
  const bool usual = a.center != SRP_CENTER_LEAVE_ONE_OUT && a.gain == 1;
  GroupBlock block;
  do {
    sum_block<F>(a, begin, end, &block);
    check_block(a, &block);
    if (usual)
      write_block<true, F>(a, begin, &block);
    else
      write_block<false, F>(a, begin, &block);
    begin += block.groups;
  } while (block.groups == kGroupRegisters * kHalf);
  return begin;
}

}  // namespace srp::cpu::SRP_LEVEL
