// Moments of a chunk and maps of a row (contract: surprisal/reduce.h), float64 in every lane.
namespace srp::cpu::SRP_LEVEL {

// The sums of two registers over a chunk.
struct LaneSums {
  F64 sum[2], low[2], high[2];
  I64 kept;  // minus their number
};

template <class F>
SRP_INLINE LaneSums lane_sums(const F* values, const uint8_t* mask, bool abstain, int64_t begin, int64_t end) {
  LaneSums s;
  s.kept = I64{};
  const F64 infinity = splat(static_cast<double>(INFINITY));
  for (int64_t k = 0; k < 2; ++k) {
    s.sum[k] = F64{};
    s.low[k] = infinity;
    s.high[k] = -infinity;
  }
  each_register(values, mask, begin, end, [&](const F* x, const uint8_t* m) {
    for (int64_t k = 0; k < 2; ++k) {
      const F64 v = load_wide(x + k * kHalf);
      I64 keep = kept_lanes(m, k * kHalf);
      if (abstain) keep &= v == v;
      s.kept += keep;
      s.sum[k] += keep ? v : F64{};
      const F64 down = keep ? v : infinity, up = keep ? v : -infinity;
      s.low[k] = down < s.low[k] ? down : s.low[k];
      s.high[k] = up > s.high[k] ? up : s.high[k];
    }
  });
  return s;
}

// Moments of at most kChunk positions. Returns false, and no moments, if their sum is not finite.
template <class F>
static bool moments_of_chunk(const F* values, const uint8_t* mask, bool abstain, int64_t begin, int64_t end,
                             Moments* out) {
  const LaneSums lanes = lane_sums(values, mask, abstain, begin, end);
  ChunkSums sums;
  sums.sum = sum(lanes.sum[0] + lanes.sum[1]);
  sums.count = count_lanes(lanes.kept);
  for (int64_t k = 0; k < 2; ++k)
    for (int64_t lane = 0; lane < kHalf; ++lane) {
      sums.low = least(sums.low, lanes.low[k][lane]);
      sums.high = greatest(sums.high, lanes.high[k][lane]);
    }
  if (!(sums.sum - sums.sum == 0)) return false;
  ChunkDeviations deviations;
  if (sums.count > 0 && !sums.constant()) {
    const F64 mean = splat(sums.mean());
    F64 left[2] = {}, squares[2] = {};
    each_register(values, mask, begin, end, [&](const F* x, const uint8_t* m) {
      // Prefetches the next chunk during the arithmetic. An integer, not a pointer: the address may lie behind the array.
      prefetch_further(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(x) + kChunk * sizeof(F)));
      for (int64_t k = 0; k < 2; ++k) {
        const F64 v = load_wide(x + k * kHalf);
        I64 keep = kept_lanes(m, k * kHalf);
        if (abstain) keep &= v == v;
        const F64 d = keep ? v - mean : F64{};
        left[k] += d;
        squares[k] = fma(d, d, squares[k]);
      }
    });
    deviations.sum = sum(left[0] + left[1]);
    deviations.squares = sum(squares[0] + squares[1]);
  }
  *out = chunk_moments(sums, deviations);
  return true;
}

template <bool kPastCache, class F>
SRP_INLINE void map_row_to(const RowMap<F>& a, int64_t begin, int64_t end) {
  const F64 center = splat(a.center), scale = splat(a.scale), divisor = splat(a.divisor), back = splat(a.back);
  const bool divides = a.divisor != 1;
  map_registers<kPastCache>(a.values, a.mask, a.out, begin, end,
                            [&](const F* x, const uint8_t* m, F64* low, F64* high) {
                              F64* const y[2] = {low, high};
                              for (int64_t k = 0; k < 2; ++k) {
                                const F64 v = load_wide(x + k * kHalf), centred = v - center;
                                F64 to = centred * scale;
                                if (divides) to /= divisor;
                                if (a.whitens) to = (centred == F64{} ? F64{} : to) + back;
                                if (a.abstain) to = v == v ? to : F64{};
                                *y[k] = kept_lanes(m, k * kHalf) ? to : F64{};
                              }
                            });
}

template <class F>
static void map_row(const RowMap<F>& a, int64_t begin, int64_t end, bool past_cache) {
  if (kStreams && past_cache && on_sixteen(a.out + begin)) {
    map_row_to<true>(a, begin, end);
    finish_streams();
  } else {
    map_row_to<false>(a, begin, end);
  }
}

template <bool kPastCache, class F>
SRP_INLINE ClampCounts clamp_row_to(const RowClamp<F>& a, int64_t begin, int64_t end) {
  const F64 least = splat(a.low), most = splat(a.high);
  I64 kept = {}, outside = {};
  const auto bounded = [&](const F* x, const uint8_t* m, F64* low, F64* high) {
    F64* const y[2] = {low, high};
    for (int64_t k = 0; k < 2; ++k) {
      const F64 v = load_wide(x + k * kHalf);
      const I64 keep = kept_lanes(m, k * kHalf), below = v<least, above = v> most;
      kept += keep;
      outside += keep & (below | above);
      const F64 raised = below ? least : v, to = raised > most ? most : raised;
      *y[k] = keep ? to : F64{};
    }
  };
  if (a.out) {
    map_registers<kPastCache>(a.values, a.mask, a.out, begin, end, bounded);
  } else {
    F64 unused[2];
    each_register(a.values, a.mask, begin, end,
                  [&](const F* x, const uint8_t* m) { bounded(x, m, &unused[0], &unused[1]); });
  }
  return {static_cast<int32_t>(count_lanes(kept)), static_cast<int32_t>(count_lanes(outside))};
}

template <class F>
static ClampCounts clamp_row(const RowClamp<F>& a, int64_t begin, int64_t end, bool past_cache) {
  if (!(kStreams && past_cache && a.out && on_sixteen(a.out + begin))) return clamp_row_to<false>(a, begin, end);
  const ClampCounts counts = clamp_row_to<true>(a, begin, end);
  finish_streams();
  return counts;
}

// Sum and number of the kept values of a row.
template <class F>
static LogSum sum_kept(const F* values, const uint8_t* mask, int64_t begin, int64_t end) {
  F64 sums[2] = {};
  I64 kept = {};
  each_register(values, mask, begin, end, [&](const F* x, const uint8_t* m) {
    for (int64_t k = 0; k < 2; ++k) {
      const I64 keep = kept_lanes(m, k * kHalf);
      const F64 v = load_wide(x + k * kHalf);
      kept += keep;
      sums[k] += keep ? v : F64{};
    }
  });
  return {sum(sums[0] + sums[1]), count_lanes(kept)};
}

static int64_t count_bytes(const uint8_t* mask, int64_t begin, int64_t end) {
  return bytes_set(mask + begin, end - begin);
}

template <class F>
constexpr ReduceKernels<F> reduce_kernels() {
  return {moments_of_chunk<F>, map_row<F>, clamp_row<F>, sum_kept<F>};
}

}  // namespace srp::cpu::SRP_LEVEL
