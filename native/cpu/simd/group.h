// Normalisation of neighbouring groups (contract: surprisal/group.h), their statistics a group a lane. Items of up to 16 are turned over in
// registers; those of longer ones are added where they lie, kGroupSums sums side by side, and the sums of kHalf groups across lanes at
// once. Every group has the bits that group.cpp gives it number by number, whatever lies beside it.
//
// Roots and quotients take longest: a block of groups is summed first; then its items are read once more, group after group, and
// written, while the roots of groups behind them are on their way.
namespace srp::cpu::SRP_LEVEL {

constexpr int64_t kSumRegisters = kGroupSums / kHalf;
constexpr int64_t kGroupRegisters = 8;
constexpr int64_t kMostBlockItems = 16384;  // after which a block ends, so that the second cache still holds them

// Statistics of neighbouring groups, kHalf in a register.
struct GroupBlock {
  int64_t groups, size;  // the size of all of them, where it is one of few usual ones; else 0
  bool full;  // more groups may follow
  bool some_constant;  // some have equal numbers, for which `constant` was looked at
  I64 sizes[kGroupRegisters], constant[kGroupRegisters];
  F64 pivot[kGroupRegisters], sum[kGroupRegisters], squares[kGroupRegisters];  // of deviations from the pivot
  F64 residue[kGroupRegisters];  // what the pivot lacks of the mean
  F64 variance[kGroupRegisters], std[kGroupRegisters], inverse[kGroupRegisters];
};

// Sums of one group, kGroupSums of them.
struct GroupSums {
  F64 sums[kSumRegisters];

  // Not by an initializer, for which a compiler calls or writes a loop over memory.
  GroupSums() {
#pragma GCC unroll 8
    for (int64_t r = 0; r < kSumRegisters; ++r) sums[r] = F64{};
  }
  void add(int64_t r, F64 x) { sums[r] += x; }
  F64 halved() {
#pragma GCC unroll 8
    for (int64_t half = kSumRegisters / 2; half > 0; half /= 2)
#pragma GCC unroll 8
      for (int64_t r = 0; r < half; ++r) sums[r] += sums[r + half];
    return sums[0];
  }
  double whole() {
    double numbers[kHalf];
    store(numbers, halved());
    for (int64_t half = kHalf / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half; ++j) numbers[j] += numbers[j + half];
    return numbers[0];
  }
};

// Visits the deviations of a group's items from `pivot`, kHalf at a time, by the register that they are added to.
template <class F, class Visit>
SRP_INLINE void each_deviation(const F* items, int64_t size, double pivot, Visit visit) {
  int64_t k = 0;
  for (; k + kGroupSums <= size; k += kGroupSums)
#pragma GCC unroll 8
    for (int64_t r = 0; r < kSumRegisters; ++r) visit(r, load_wide(items + k + r * kHalf) - splat(pivot));
  const F* const last = items + k;
  const int64_t rest = size - k;
#pragma GCC unroll 8
  for (int64_t r = 0; r < kSumRegisters; ++r)
    if (rest >= (r + 1) * kHalf)
      visit(r, load_wide(last + r * kHalf) - splat(pivot));
    else if (rest > r * kHalf)
      visit(r, load_some(last + r * kHalf, rest - r * kHalf, pivot) - splat(pivot));
}

template <class F>
SRP_INLINE bool equal_numbers(const F* items, int64_t size) {
  int64_t k = 1;
  while (k < size && items[k] == items[0]) ++k;
  return k == size;
}

template <int kCount>
SRP_INLINE F64 added_by_halves(F64* parts) {
  for (int64_t half = kCount / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j) parts[j] += parts[j + half];
  return parts[0];
}

// Groups of kSize items, or, where that is 0, of no more than kItems: turned over in registers. x[j] has item j of each.
template <int kItems, int kSize, class F>
SRP_INLINE void sum_short_groups(const srp_group_normalize_args& a, const int32_t* offsets, GroupBlock* block,
                                 int64_t at) {
  const F* const values = static_cast<const F*>(a.values);
  F64 x[kItems];
  for (int64_t k = 0; k < kItems; k += kHalf) {
    for (int64_t lane = 0; lane < kHalf; ++lane) {
      const F* const items = values + (kSize > 0 ? offsets[0] + lane * kSize : offsets[lane]) + k;
      const int64_t left = (kSize > 0 ? kSize : offsets[lane + 1] - offsets[lane]) - k;
      x[k + lane] = kSize >= k + kHalf ? load_wide(items) : load_some(items, left);
    }
    transpose(x + k);
  }
  const I64 sizes = load_widened(offsets + 1) - load_widened(offsets);
  F64 pivot = x[0], parts[kItems], squares[kItems];
  if (!kFromFirst<F>) {
    for (int64_t j = 0; j < kItems; ++j) parts[j] = x[j];
    pivot = added_by_halves<kItems>(parts) / __builtin_convertvector(sizes, F64);
  }
  for (int64_t j = 0; j < kItems; ++j) {
    const F64 d = x[j] - pivot;
    parts[j] = kSize == kItems ? d : splat(j) < sizes ? d : F64{};
    squares[j] = parts[j] * parts[j];
  }
  block->pivot[at] = pivot;
  block->sum[at] = added_by_halves<kItems>(parts);
  block->squares[at] = added_by_halves<kItems>(squares);
}

// Of any size, added where they lie.
template <class F>
SRP_INLINE void sum_groups(const srp_group_normalize_args& a, const int32_t* offsets, GroupBlock* block, int64_t at) {
  const F* const values = static_cast<const F*>(a.values);
  F64 sums[kHalf], squares[kHalf];
  double pivots[kHalf];
  const auto size_of = [&](int64_t lane) __attribute__((always_inline)) { return offsets[lane + 1] - offsets[lane]; };
  for (int64_t lane = 0; kFromFirst<F> && lane < kHalf; ++lane) pivots[lane] = values[offsets[lane]];
  if (!kFromFirst<F>) {
    for (int64_t lane = 0; lane < kHalf; ++lane) {
      GroupSums total;
      each_deviation(values + offsets[lane], size_of(lane), 0,
                     [&](int64_t r, F64 x) __attribute__((always_inline)) { total.add(r, x); });
      sums[lane] = total.halved();
    }
    const I64 sizes = load_widened(offsets + 1) - load_widened(offsets);
    store(pivots, sum_each(sums) / __builtin_convertvector(sizes, F64));
  }
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    GroupSums sum, square;
    each_deviation(values + offsets[lane], size_of(lane), pivots[lane],
                   [&](int64_t r, F64 d) __attribute__((always_inline)) {
                     sum.add(r, d);
                     square.add(r, d * d);
                   });
    sums[lane] = sum.halved();
    squares[lane] = square.halved();
  }
  block->pivot[at] = load(pivots);
  block->sum[at] = sum_each(sums);
  block->squares[at] = sum_each(squares);
}

// What the sums of the groups of register `at` tell. Apart from adding them: a quotient waits for the one before, and nothing behind
// it could begin.
template <class F>
SRP_INLINE void describe_groups(const srp_group_normalize_args& a, const int32_t* offsets, GroupBlock* block,
                                int64_t at) {
  const I64 sizes = block->sizes[at];
  F64 pivot = block->pivot[at];
  const F64 sum = block->sum[at], squares = block->squares[at];
  const F64 n = __builtin_convertvector(sizes, F64), floor = splat(a.variance_floor);
  const F64 residue = sum / n, variance = (squares - n * residue * residue) / (n - splat(a.ddof));
  block->residue[at] = residue;
  block->variance[at] = variance < floor ? floor : variance;
  // Equal numbers deviate from the first by nothing, from their mean by its rounding, which is no more than n 2^-53 of it.
  const F64 rounding = kFromFirst<F> ? F64{} : n * splat(4.0 * 0x1p-53) * pivot;
  I64 constant = squares <= n * (rounding * rounding);
  block->constant[at] = constant;
  if (!any((I32)constant)) return;
  block->some_constant = true;
  if (kFromFirst<F>) return;
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    const F* const items = static_cast<const F*>(a.values) + offsets[lane];
    if (constant[lane] != 0 && !equal_numbers(items, offsets[lane + 1] - offsets[lane])) constant[lane] = 0;
    if (constant[lane] != 0) pivot[lane] = static_cast<double>(items[0]);
  }
  block->constant[at] = constant;
  block->pivot[at] = pivot;
  block->residue[at] = constant ? F64{} : residue;
  block->variance[at] = constant ? floor : block->variance[at];
}

// False of sizes that this kernel does not take: of a single item, of more than kMostSharedItems, of no more than ddof.
SRP_INLINE bool fits(const srp_group_normalize_args& a, I64 sizes) {
  const I64 unfit = (sizes < 2) | (sizes > kMostSharedItems) | (__builtin_convertvector(sizes, F64) <= splat(a.ddof));
  return !any((I32)unfit);
}

template <class F>
SRP_INLINE void sum_register(const srp_group_normalize_args& a, const int32_t* offsets, I64 sizes, GroupBlock* block,
                             int64_t at) {
  block->sizes[at] = sizes;
  if (kHalf <= 4 && !any((I32)(sizes > 4)))
    sum_short_groups<kHalf <= 4 ? 4 : 8, 0, F>(a, offsets, block, at);
  else if (!any((I32)(sizes > 8)))
    sum_short_groups<8, 0, F>(a, offsets, block, at);
  else if (!any((I32)(sizes > 16)))
    sum_short_groups<16, 0, F>(a, offsets, block, at);
  else
    sum_groups<F>(a, offsets, block, at);
}

// Whether all groups of a whole block have so many items, more than ddof.
SRP_INLINE bool all_have(const srp_group_normalize_args& a, const int32_t* offsets, int32_t size) {
  I32 other = {};
  for (int64_t g = 0; g < kGroupRegisters * kHalf; g += kLanes)
    other |= (load(offsets + g + 1) - load(offsets + g)) != splat(size);
  return a.ddof < size && !any(other);
}

// Usual sizes have code of their own.
template <int kSize, class F>
SRP_INLINE void sum_even_block(const srp_group_normalize_args& a, int64_t begin, GroupBlock* block) {
  for (int64_t at = 0; at < kGroupRegisters; ++at) {
    block->sizes[at] = splat(int64_t{kSize});
    sum_short_groups<(kSize > kHalf ? kSize : int{kHalf}), kSize, F>(a, a.offsets + begin + at * kHalf, block, at);
  }
  block->groups = kGroupRegisters * kHalf;
  block->full = true;
  block->size = kSize;
}

// Fills the block with groups of [begin, end), as many as this kernel takes.
template <class F>
SRP_INLINE void sum_block(const srp_group_normalize_args& a, int64_t begin, int64_t end, GroupBlock* block) {
  block->some_constant = false;
  block->groups = block->size = 0;
  block->full = false;
  const int32_t* const offsets = a.offsets + begin;
  const bool whole = end - begin >= kGroupRegisters * kHalf;
  if (whole && all_have(a, offsets, 8)) {
    sum_even_block<8, F>(a, begin, block);
  } else if (whole && all_have(a, offsets, 4)) {
    sum_even_block<4, F>(a, begin, block);
  } else if (whole && all_have(a, offsets, 16)) {
    sum_even_block<16, F>(a, begin, block);
  } else {
    for (int64_t at = 0; !block->full && begin + (at + 1) * kHalf <= end; ++at) {
      const int32_t* const of_register = offsets + at * kHalf;
      const I64 sizes = load_widened(of_register + 1) - load_widened(of_register);
      if (!fits(a, sizes)) break;
      sum_register<F>(a, of_register, sizes, block, at);
      block->groups += kHalf;
      block->full = at + 1 == kGroupRegisters || of_register[kHalf] - offsets[0] >= kMostBlockItems;
    }
  }
  for (int64_t at = 0; at < block->groups / kHalf; ++at) describe_groups<F>(a, offsets + at * kHalf, block, at);
}

// Groups that shared/group.h takes: with a sum or a variance that is not finite, or a quotient beyond float64. The deviations of
// a constant group are 0 whatever divides them.
SRP_INLINE I64 strange_groups(const srp_group_normalize_args& a, const GroupBlock& block, int64_t at) {
  const F64 variance = block.variance[at], mean = block.pivot[at] + block.residue[at];
  I64 strange = (mean - mean) + (variance - variance) != F64{};
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
  block->full = false;
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
  if (a.means) store_wide(static_cast<F*>(a.means) + g, block.pivot[at] + block.residue[at]);
  if (a.stds) store_wide(static_cast<F*>(a.stds) + g, block.std[at]);
  if (a.counts) store_narrowed(a.counts + g, block.sizes[at]);
}

// One group of `size` items. kUsual: of center MEAN or NONE and gain 1.
template <bool kUsual, class F>
SRP_INLINE void write_group(const srp_group_normalize_args& a, int64_t first, int64_t size, F64 pivot, F64 residue,
                            F64 inverse) {
  const F* const values = static_cast<const F*>(a.values) + first;
  F* const normalized = static_cast<F*>(a.normalized) + first;
  const double n = static_cast<double>(size);
  const F64 others = splat(!kUsual && a.center == SRP_CENTER_LEAVE_ONE_OUT ? n / (n - 1) : 1.0);
  const auto transformed = [&](F64 x) __attribute__((always_inline)) {
    const F64 centred = (x - pivot) - residue;
    return kUsual ? centred * inverse : centred * others * inverse * splat(a.gain);
  };
  int64_t k = 0;
  for (; k + kHalf <= size; k += kHalf) store_wide(normalized + k, transformed(load_wide(values + k)));
  if (k < size) store_some(normalized + k, transformed(load_some(values + k, size - k)), size - k);
}

// The items of the groups of a register.
template <bool kUsual, class F>
SRP_INLINE void write_items(const srp_group_normalize_args& a, int64_t g, const GroupBlock& block, int64_t at) {
  const bool centred = a.center != SRP_CENTER_NONE;
  const double* const pivot = reinterpret_cast<const double*>(&block.pivot[at]);
  const double* const residue = reinterpret_cast<const double*>(&block.residue[at]);
  const double* const inverse = reinterpret_cast<const double*>(&block.inverse[at]);
  const int32_t* const first = a.offsets + g;
  const auto write = [&](int64_t lane, int64_t begin, int64_t size) __attribute__((always_inline)) {
    write_group<kUsual, F>(a, begin, size, splat(centred ? pivot[lane] : 0), splat(centred ? residue[lane] : 0),
                           splat(inverse[lane]));
  };
  if (block.size == 8)
    for (int64_t lane = 0; lane < kHalf; ++lane) write(lane, first[0] + 8 * lane, 8);
  else if (block.size == 4)
    for (int64_t lane = 0; lane < kHalf; ++lane) write(lane, first[0] + 4 * lane, 4);
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
// left, are not for this kernel: see fits; or one has a NaN, an infinity, or a quotient beyond float64.
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
  } while (block.full);
  return begin;
}

}  // namespace srp::cpu::SRP_LEVEL
