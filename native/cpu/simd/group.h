// Normalisation of kLanes neighbouring groups at once, a group a lane (contract: surprisal/group.h). Every lane does what
// GroupStatistics (surprisal/group_steps.h) does for one group, in the same order, so the results are the same bits.
//
// Items come and go in tiles of kHalf from each group, turned over in registers. Groups of several sizes are walked to the
// end of the longest; beyond its own a lane has zeros, and its deviations there do not count.
namespace srp::cpu::SRP_LEVEL {

// Neighbouring groups of one size, a multiple of kHalf.
struct EvenGroups {
  static constexpr bool kRagged = false;
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

template <class Groups, class F>
SRP_INLINE void store_tile(const Groups& groups, F* values, int64_t k, F64* x) {
  transpose(x);
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    F* const items = values + groups.begin(lane) + k;
    if (Groups::kRagged)
      store_some(items, x[lane], groups.size(lane) - k);
    else
      store_wide(items, x[lane]);
  }
}

template <class Groups>
SRP_INLINE I64 equal_numbers(const Groups& groups, const F64* x) {
  I64 different = {};
  for (int64_t k = 1; k < groups.longest; ++k) different |= (x[k] != x[0]) & groups.inside(k);
  return different == 0;
}

// kWays times kHalf groups at a time, one step of each behind the other: a step waits for the one before.
template <int kWays, class Groups, class F>
SRP_INLINE bool normalize_lanes(const srp_group_normalize_args& a, const Groups (&groups)[kWays], int64_t first_group) {
  const F* const values = static_cast<const F*>(a.values);
  const int64_t longest = groups[0].longest;
  F64 x[kWays][kMostLaneItems], total[kWays] = {};
  for (int w = 0; w < kWays; ++w) x[w][0] = F64{};  // there are items, which the compiler cannot know
  for (int64_t k = 0; k < longest; k += kHalf) {
    for (int w = 0; w < kWays; ++w) load_tile(groups[w], values, k, x[w] + k);
    for (int64_t j = 0; j < kHalf; ++j)
      for (int w = 0; w < kWays; ++w) total[w] += x[w][k + j];
  }
  F64 n[kWays], rough[kWays], sum[kWays] = {}, squares[kWays] = {};
  for (int w = 0; w < kWays; ++w) {
    if (any_not_finite(total[w])) return false;
    n[w] = groups[w].counts();
    rough[w] = total[w] / n[w];
  }
  for (int64_t k = 0; k < longest; ++k)
    for (int w = 0; w < kWays; ++w) {
      F64 d = x[w][k] - rough[w];
      if (Groups::kRagged) d = groups[w].inside(k) ? d : F64{};
      sum[w] += d;
      squares[w] += d * d;
    }

  const bool centred = a.center != SRP_CENTER_NONE, scaled = a.scale == SRP_SCALE_STD;
  F64 mean[kWays], residue[kWays], std[kWays], inverse[kWays];
  I64 constant[kWays];
  bool some_constant = false;
  for (int w = 0; w < kWays; ++w) {
    // Equal numbers deviate from their mean by its rounding alone, which is no more than n 2^-53 of it.
    const F64 rounding = n[w] * splat(4.0 * 0x1p-53) * rough[w];
    constant[w] = squares[w] <= n[w] * (rounding * rounding);
    if (any((I32)constant[w])) constant[w] = constant[w] & equal_numbers(groups[w], x[w]);
    some_constant = some_constant || any((I32)constant[w]);

    const F64 left = sum[w] / n[w], floor = splat(a.variance_floor);
    F64 variance = (squares[w] - n[w] * left * left) / (n[w] - splat(a.ddof));
    variance = variance < floor ? floor : variance;
    variance = constant[w] ? floor : variance;
    mean[w] = constant[w] ? x[w][0] : rough[w];
    residue[w] = constant[w] ? F64{} : left;
    std[w] = square_root(variance);
    inverse[w] = splat(1.0) / (std[w] + splat(a.epsilon));
    if (centred) inverse[w] = constant[w] ? F64{} : inverse[w];
    if (any_not_finite(variance) || (scaled && any_not_finite(inverse[w]))) return false;
  }

  for (int w = 0; w < kWays; ++w) {
    const int64_t g = first_group + w * kHalf;
    if (a.mean) store_wide(static_cast<F*>(a.mean) + g, mean[w] + residue[w]);
    if (a.std) store_wide(static_cast<F*>(a.std) + g, std[w]);
    if (a.count) store_narrowed(a.count + g, groups[w].sizes());
  }
  if (!a.normalized) return true;
  F* const normalized = static_cast<F*>(a.normalized);
  const bool usual = a.center == SRP_CENTER_MEAN && scaled && a.gain == 1 && !some_constant;
  const F64 gain = splat(a.gain);
  for (int64_t k = 0; k < longest; k += kHalf)
    for (int w = 0; w < kWays; ++w) {
      F64 y[kHalf];
      if (usual) {
        for (int64_t j = 0; j < kHalf; ++j) y[j] = ((x[w][k + j] - mean[w]) - residue[w]) * inverse[w];
      } else {
        const F64 others = n[w] / (n[w] - splat(1.0));
        for (int64_t j = 0; j < kHalf; ++j) {
          y[j] = x[w][k + j];
          if (centred) y[j] = (y[j] - mean[w]) - residue[w];
          if (a.center == SRP_CENTER_LEAVE_ONE_OUT) y[j] *= others;
          if (scaled) y[j] *= inverse[w];
          if (centred) y[j] = constant[w] ? F64{} : y[j];
          y[j] *= gain;
        }
      }
      store_tile(groups[w], normalized, k, y);
    }
  return true;
}

template <class F>
SRP_INLINE bool normalize_ragged(const srp_group_normalize_args& a, const int32_t* offsets, I64 sizes, int64_t group) {
  int64_t longest = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) longest = sizes[lane] > longest ? sizes[lane] : longest;
  const RaggedGroups groups[1] = {{offsets, longest, sizes}};
  return normalize_lanes<1, RaggedGroups, F>(a, groups, group);
}

template <class F>
SRP_INLINE bool normalize_even(const srp_group_normalize_args& a, int64_t first, int64_t size, int64_t group) {
  const EvenGroups groups[2] = {{first, size}, {first + kHalf * size, size}};
  return normalize_lanes<2, EvenGroups, F>(a, groups, group);
}

SRP_INLINE I64 unfit(I64 sizes, double ddof) {
  return (sizes < 2) | (sizes > kMostLaneItems) | (__builtin_convertvector(sizes, F64) <= splat(ddof));
}

// Groups first_group ... first_group + kLanes - 1. False: not for this kernel (a group of one, or longer than
// kMostLaneItems, or with NaN or an infinity, or a quotient beyond float64); some of them may have been written.
template <class F>
static bool normalize_groups(const srp_group_normalize_args& a, int64_t first_group) {
  const int32_t* const offsets = a.offsets + first_group;
  const I64 low = load_widened(offsets + 1) - load_widened(offsets);
  const I64 high = load_widened(offsets + 1 + kHalf) - load_widened(offsets + kHalf);
  if (any((I32)(unfit(low, a.ddof) | unfit(high, a.ddof)))) return false;
  const int64_t size = low[0];
  if (size % kHalf != 0 || any((I32)((low != size) | (high != size))))
    return normalize_ragged<F>(a, offsets, low, first_group) &&
           normalize_ragged<F>(a, offsets + kHalf, high, first_group + kHalf);
  // The same text with a size that the compiler knows.
  return size == kHalf ? normalize_even<F>(a, offsets[0], kHalf, first_group)
                       : normalize_even<F>(a, offsets[0], size, first_group);
}

}  // namespace srp::cpu::SRP_LEVEL
