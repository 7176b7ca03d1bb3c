// Statistics of two policies' log-probs, and their bounds (contract: surprisal/correction.h), rows side by side. Tokens go through
// the level's kernels; on the level "portable", and where a sum is not finite, one by one.
#include "backend.h"
#include "sizes.h"
#include "level.h"
#include "pool.h"
#include "shared/correction.h"

namespace srp::cpu {
namespace {

template <class F, class Args>
MismatchRow<F> row_of(const Args& a) {
  return {static_cast<const F*>(a.log_probs),
          static_cast<const F*>(a.old_log_probs),
          a.mask,
          a.statistic,
          a.log_clamp,
          a.low,
          a.high};
}

// A chunk's statistics are computed once and kept for the second walk.
template <class F>
MismatchChunk measure_chunk(const srp_correction_measure_args& a, int64_t begin, int64_t end) {
  MismatchChunk chunk;
  const Kernels* const level = kernels();
  if (level && level->floats.of<F>().correction.measure(row_of<F>(a), begin, end, &chunk)) return chunk;
  double values[kChunk];
  MismatchSums sums;
  for (int64_t i = begin; i < end; ++i) {
    if (a.mask && !a.mask[i]) continue;
    const int64_t slot = sums.x.count;
    values[slot] = sums.add<F>(a, i);
  }
  const ChunkSums bounded_sums = sums.bounded_sums(a);
  const double mean = sums.x.mean(), bounded_mean = bounded_sums.mean();
  ChunkDeviations deviations, bounded_deviations;
  for (int64_t k = 0; k < sums.x.count; ++k) {
    deviations.add(values[k], mean);
    bounded_deviations.add(clamp(values[k], a.low, a.high), bounded_mean);
  }
  chunk.x = chunk_moments(sums.x, deviations);
  chunk.bounded = chunk_moments(bounded_sums, bounded_deviations);
  chunk.difference = sums.difference;
  chunk.above = sums.above;
  chunk.below = sums.below;
  return chunk;
}

template <class F>
void measure(const srp_correction_measure_args& a, int64_t first, int64_t last) {
  for (int64_t b = first; b < last; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    Moments x, bounded;
    double difference = 0;
    int32_t above = 0, below = 0;
    for (int64_t begin = row.begin; begin < row.end; begin += kChunk) {
      const int64_t end = begin + kChunk < row.end ? begin + kChunk : row.end;
      const MismatchChunk chunk = measure_chunk<F>(a, begin, end);
      x = merged(x, chunk.x);
      bounded = merged(bounded, chunk.bounded);
      difference += chunk.difference;
      above += chunk.above;
      below += chunk.below;
    }
    store_measures(a, b, x, bounded, difference, above, below);
  }
}

template <class F>
void bound(const srp_correction_bound_args& a, int64_t first, int64_t last) {
  const Kernels* const level = kernels();
  BoundRow<F> tokens = {row_of<F>(a), 1, a.masked_weight, a.outside == SRP_OUTSIDE_CLAMP, static_cast<F*>(a.weights),
                        a.kept};
  for (int64_t b = first; b < last; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    int32_t kept = 0;
    if (level) {
      tokens.factor = a.row_factors ? a.row_factors[b] : 1;
      kept = level->floats.of<F>().correction.bound(tokens, row.begin, row.end);
    } else {
      for (int64_t i = row.begin; i < row.end; ++i) kept += bound_token<F>(a, b, i) ? 1 : 0;
    }
    if (a.kept_counts) a.kept_counts[b] = kept;
  }
}

constexpr int64_t kBytesPerToken = 24;  // a token costs as much time as reading this many

}  // namespace

srp_status correction_measure(srp_queue*, const srp_correction_measure_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kBytesPerToken, a->dtype == SRP_F64 ? measure<double> : measure<float>);
}

srp_status correction_bound(srp_queue*, const srp_correction_bound_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kBytesPerToken, a->dtype == SRP_F64 ? bound<double> : bound<float>);
}

}  // namespace srp::cpu
