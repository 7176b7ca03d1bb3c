// Normalisation of neighbouring groups (contract: surprisal/group.h), their statistics a group a lane. Every lane does what
// GroupStatistics (shared/group.h) does for one group, in the same order, so the results are the same bits.
//
// Items come in tiles of kHalf from each group, turned over in registers. Groups of several sizes are walked to the end of
// the longest; beyond its own a lane has zeros, and its deviations there do not count. The statistics of a register of groups
// wait for roots and quotients, on which those of the next register do not depend. So the statistics of a whole block of groups
// are computed first; then its items are read once more, group after group, and written.
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
  for (int w = 0; w < kWays; ++w) x[w][0] = F64{};  // there is at least one item, but the compiler cannot know
  for (int64_t k = 0; k < longest; k += kHalf) {
    for (int w = 0; w < kWays; ++w) load_tile(groups[w], values, k, x[w] + k);
    for (int64_t j = 0; j < kHalf; ++j)
      for (int w = 0; w < kWays; ++w) total[w] += x[w][k + j];
  }
  F64 n[kWays], mean[kWays], sum[kWays] = {}, squares[kWays] = {};
  for (int w = 0; w < kWays; ++w) {
    n[w] = groups[w].counts();
    mean[w] = total[w] / n[w];
  }
  for (int64_t k = 0; k < longest; ++k)
    for (int w = 0; w < kWays; ++w) {
      F64 d = x[w][k] - mean[w];
      if (Groups::kRagged) d = groups[w].inside(k) ? d : F64{};
      sum[w] += d;
      squares[w] += d * d;
    }
  for (int w = 0; w < kWays; ++w) {
    const F64 residue = sum[w] / n[w];
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

// Whether kLanes groups have 8 items each: the usual size, for which the compiler makes code of its own.
SRP_INLINE bool eights(const int32_t* offsets) { return !any((load(offsets + 1) - load(offsets)) != 8); }

// Adds groups g ... g + kHalf - 1 as register `at` of the block. False if this kernel does not take them: one has a single item,
// more than kMostLaneItems, or no more than ddof.
template <class F>
SRP_INLINE bool sum_groups(const srp_group_normalize_args& a, int64_t g, GroupBlock* block, int64_t at) {
  const int32_t* const offsets = a.offsets + g;
  const I64 sizes = load_widened(offsets + 1) - load_widened(offsets);
  const I64 unfit = (sizes < 2) | (sizes > kMostLaneItems) | (__builtin_convertvector(sizes, F64) <= splat(a.ddof));
  if (any((I32)unfit)) return false;
  const int64_t size = sizes[0];
  if (size % kHalf == 0 && !any((I32)(sizes != splat(size)))) {
    const EvenGroups<kMostLaneItems> groups[1] = {{offsets[0], size}};
    sum_lanes<1, EvenGroups<kMostLaneItems>, F>(a, groups, block, at);
    return true;
  }
  int64_t longest = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) longest = sizes[lane] > longest ? sizes[lane] : longest;
  const RaggedGroups groups[1] = {{offsets, longest, sizes}};
  sum_lanes<1, RaggedGroups, F>(a, groups, block, at);
  return true;
}

// Fills the block with groups of [begin, end), as many as fit and as this kernel takes.
template <class F>
SRP_INLINE void sum_block(const srp_group_normalize_args& a, int64_t begin, int64_t end, GroupBlock* block) {
  block->some_constant = false;
  int64_t g = begin, at = 0;
  while (at < kGroupRegisters && g + kHalf <= end) {
    if (at + 2 <= kGroupRegisters && g + kLanes <= end && a.ddof < 8 && eights(a.offsets + g)) {
      const int64_t first = a.offsets[g];
      const EvenGroups<8> groups[2] = {{first, 8}, {first + 8 * kHalf, 8}};
      sum_lanes<2, EvenGroups<8>, F>(a, groups, block, at);
      at += 2;
      g += kLanes;
    } else if (sum_groups<F>(a, g, block, at)) {
      ++at;
      g += kHalf;
    } else {
      break;
    }
  }
  block->groups = g - begin;
}

// Roots and quotients of a block, one after the other: none waits for another of its kind. Those of groups from the first
// register on that is beyond float64 are left out.
template <class F>
SRP_INLINE void scale_block(const srp_group_normalize_args& a, int64_t g, GroupBlock* block) {
  const bool centred = a.center != SRP_CENTER_NONE, scaled = a.scale == SRP_SCALE_STD;
  const int64_t registers = block->groups / kHalf;
  for (int64_t at = 0; at < registers; ++at) block->std[at] = square_root(block->variance[at]);
  F64 strange = {};
  for (int64_t at = 0; at < registers; ++at) {
    F64 inverse = scaled ? splat(1.0) / (block->std[at] + splat(a.epsilon)) : splat(1.0);
    if (block->some_constant && centred) inverse = block->constant[at] ? F64{} : inverse;
    block->inverse[at] = inverse;
    // 0, or NaN
    strange +=
        (block->total[at] - block->total[at]) + (block->variance[at] - block->variance[at]) + (inverse - inverse);
  }
  if (any((I32)(strange != F64{}))) {
    int64_t at = 0;
    while (!any_not_finite(block->total[at]) && !any_not_finite(block->variance[at]) &&
           !any_not_finite(block->inverse[at]))
      ++at;
    block->groups = at * kHalf;
  }
  for (int64_t at = 0; at * kHalf < block->groups; ++at) {
    if (a.means) store_wide(static_cast<F*>(a.means) + g + at * kHalf, block->mean[at] + block->residue[at]);
    if (a.stds) store_wide(static_cast<F*>(a.stds) + g + at * kHalf, block->std[at]);
    if (a.counts) store_narrowed(a.counts + g + at * kHalf, block->sizes[at]);
    if (centred) continue;
    block->mean[at] = F64{};
    block->residue[at] = F64{};
  }
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
  for (; k + kHalf <= size; k += kHalf) store_wide(normalized + k, transformed(load_wide(values + k)));
  if (k < size) store_some(normalized + k, transformed(load_some(values + k, size - k)), size - k);
}

template <bool kUsual, class F>
SRP_INLINE void write_block(const srp_group_normalize_args& a, int64_t g, const GroupBlock& block) {
  const int32_t* const offsets = a.offsets + g;
  for (int64_t at = 0; at * kHalf < block.groups; ++at) {
    const double* const mean = reinterpret_cast<const double*>(&block.mean[at]);
    const double* const residue = reinterpret_cast<const double*>(&block.residue[at]);
    const double* const inverse = reinterpret_cast<const double*>(&block.inverse[at]);
    const int32_t* const first = offsets + at * kHalf;
    if (!any((I32)(block.sizes[at] != 8)))
      for (int64_t lane = 0; lane < kHalf; ++lane)
        write_group<kUsual, F>(a, first[0] + 8 * lane, 8, splat(mean[lane]), splat(residue[lane]),
                               splat(inverse[lane]));
    else
      for (int64_t lane = 0; lane < kHalf; ++lane)
        write_group<kUsual, F>(a, first[lane], first[lane + 1] - first[lane], splat(mean[lane]), splat(residue[lane]),
                               splat(inverse[lane]));
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
    scale_block<F>(a, begin, &block);
    if (a.normalized && usual) write_block<true, F>(a, begin, block);
    if (a.normalized && !usual) write_block<false, F>(a, begin, block);
    begin += block.groups;
  } while (block.groups == kGroupRegisters * kHalf);
  return begin;
}

}  // namespace srp::cpu::SRP_LEVEL
