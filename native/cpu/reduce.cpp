// Moments, merge, whitening and affine maps (contract: surprisal/reduce.h), rows side by side.
#include "backend.h"
#include "sizes.h"
#include "level.h"
#include "pool.h"
#include "shared/reduce.h"

namespace srp::cpu {
namespace {

template <class F>
Moments moments_of_chunk(const srp_reduce_moments_args& a, int64_t begin, int64_t end) {
  const F* const values = static_cast<const F*>(a.values);
  ChunkSums sums;
  for (int64_t i = begin; i < end; ++i)
    if (enters<F>(a, i)) sums.add(load(values, i));
  const double mean = sums.mean();
  ChunkDeviations deviations;
  for (int64_t i = begin; i < end; ++i)
    if (enters<F>(a, i)) deviations.add(load(values, i), mean);
  return chunk_moments(sums, deviations);
}

template <class F>
Moments moments_of(const srp_reduce_moments_args& a, int64_t begin, int64_t end) {
  const Kernels* const level = kernels();
  Moments m;
  const bool abstain = a.nan_policy == SRP_NAN_ABSTAIN;
  if (level && level->floats.of<F>().reduce.moments(static_cast<const F*>(a.values), a.mask, abstain, begin, end, &m))
    return m;
  return moments_of_chunk<F>(a, begin, end);
}

template <class F>
void moments(const srp_reduce_moments_args& a, int64_t first, int64_t last) {
  for (int64_t b = first; b < last; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    Moments m;
    for (int64_t begin = row.begin; begin < row.end; begin += kChunk)
      m = merged(m, moments_of<F>(a, begin, begin + kChunk < row.end ? begin + kChunk : row.end));
    store_moments(a.partials, b, m);
  }
}

// Writes map(value) for the kept tokens of a row; transform_masked decides about the others.
template <class F, class Args, class Map>
void map_row(const Args& a, int64_t b, const Map& map) {
  const F* const values = static_cast<const F*>(a.values);
  F* const mapped = static_cast<F*>(mapped_of(a));
  const uint8_t* const mask = a.transform_masked ? nullptr : a.mask;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  for (int64_t i = row.begin; i < row.end; ++i) store(mapped, i, !mask || mask[i] ? map(load(values, i)) : 0.0);
}

// The map of row b as the level's kernel takes it.
template <class F, class Args>
RowMap<F> mapped_row(const Args& a) {
  RowMap<F> row = {};
  row.values = static_cast<const F*>(a.values);
  row.mask = a.transform_masked ? nullptr : a.mask;
  row.out = static_cast<F*>(mapped_of(a));
  row.scale = row.divisor = 1;
  return row;
}

template <class F, class Args>
bool past_cache(const Args& a, const void* out, Range row) {
  const int64_t bytes = sizeof(F);
  return out != a.values && rows_leave_cache(a.n * bytes, (row.end - row.begin) * bytes);
}

template <class F>
void whiten(const srp_reduce_whiten_args& a, int64_t first, int64_t last) {
  const Kernels* const level = kernels();
  for (int64_t b = first; b < last; ++b) {
    const Whitening whitening(a, load_moments(a.moments, unit_of(a, b)));
    if (!level) {
      map_row<F>(a, b, whitening);
      continue;
    }
    RowMap<F> row = mapped_row<F>(a);
    row.center = whitening.center();
    row.back = whitening.back();
    row.whitens = true;
    row.abstain = a.nan_policy == SRP_NAN_ABSTAIN;
    // Multiplying by a reciprocal is exact enough where the result is rounded to float32, and takes an eighth of the time.
    if (sizeof(F) == sizeof(float))
      row.scale = 1 / whitening.divisor();
    else
      row.divisor = whitening.divisor();
    const Range at = row_range(a.offsets, a.T, a.n, b);
    level->floats.of<F>().reduce.map(row, at.begin, at.end, past_cache<F>(a, row.out, at));
  }
}

template <class F>
void affine(const srp_reduce_affine_args& a, int64_t first, int64_t last) {
  const Kernels* const level = kernels();
  for (int64_t b = first; b < last; ++b) {
    const double center = a.center ? a.center[b] : 0, scale = a.scale ? a.scale[b] : 1, divisor = a.divisor;
    if (!level) {
      map_row<F>(a, b, [=](double x) { return (x - center) * scale / divisor; });
      continue;
    }
    RowMap<F> row = mapped_row<F>(a);
    row.center = center;
    row.scale = scale;
    row.divisor = divisor;
    const Range at = row_range(a.offsets, a.T, a.n, b);
    level->floats.of<F>().reduce.map(row, at.begin, at.end, past_cache<F>(a, row.out, at));
  }
}

template <class F>
ClampCounts clamp_slowly(const srp_reduce_clamp_args& a, Range row) {
  Clamped<F> clamped{a};
  for (int64_t i = row.begin; i < row.end; ++i) clamped.step(i);
  return {clamped.kept, clamped.outside};
}

template <class F>
void clamp(const srp_reduce_clamp_args& a, int64_t first, int64_t last) {
  // Masked positions that are clamped but not counted need a path of their own.
  const Kernels* const level = a.transform_masked && a.mask ? nullptr : kernels();
  const RowClamp<F> clamped = {static_cast<const F*>(a.values), a.mask, static_cast<F*>(a.clamped), a.low, a.high};
  for (int64_t b = first; b < last; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    const ClampCounts counts =
        level ? level->floats.of<F>().reduce.clamp(clamped, row.begin, row.end, past_cache<F>(a, a.clamped, row))
              : clamp_slowly<F>(a, row);
    if (!a.counts) continue;
    a.counts[b * SRP_CLAMPED_COUNTS + SRP_CLAMPED_KEPT] = counts.kept;
    a.counts[b * SRP_CLAMPED_COUNTS + SRP_CLAMPED_OUTSIDE] = counts.outside;
  }
}

template <class F>
void gamma(const srp_reduce_gamma_args& a, int64_t first, int64_t last) {
  for (int64_t b = first; b < last; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    double sum = 0;
    for (int64_t i = row.begin; i < row.end; ++i) sum += gamma_term<F>(a, i);
    store_gamma<F>(a, b, sum);
  }
}

void counts(const srp_reduce_counts_args& a, int64_t first, int64_t last) {
  const Kernels* const level = kernels();
  for (int64_t b = first; b < last; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    int64_t kept = a.mask ? 0 : row.end - row.begin;
    if (a.mask && level)
      kept = level->count_bytes(a.mask, row.begin, row.end);
    else if (a.mask)
      for (int64_t i = row.begin; i < row.end; ++i) kept += a.mask[i] != 0;
    a.counts[b] = static_cast<double>(kept);
  }
}

// The cost of a position, as the number of bytes that could be moved in that time.
constexpr int64_t kMomentBytes = 10, kMapBytes = 16, kGammaBytes = 64;

}  // namespace

srp_status reduce_moments(srp_queue*, const srp_reduce_moments_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kMomentBytes, a->dtype == SRP_F64 ? moments<double> : moments<float>);
}

srp_status reduce_merge(srp_queue*, const srp_reduce_merge_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->G, a->B));
  SRP_TRY(check_indices("members", a->members, a->B, a->B));
  for (int64_t g = 0; g < a->G; ++g) {
    const int64_t begin = a->offsets ? a->offsets[g] : 0, end = a->offsets ? a->offsets[g + 1] : a->B;
    Moments m;
    for (int64_t i = begin; i < end; ++i) m = merged(m, load_moments(a->partials, member(a->members, i)));
    store_moments(a->merged, g, m);
  }
  return SRP_OK;
}

srp_status reduce_whiten(srp_queue*, const srp_reduce_whiten_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->over == SRP_OVER_GROUP) SRP_TRY(check_indices("group_ids", a->group_ids, a->B, a->units));
  return each_row(*a, kMapBytes, a->dtype == SRP_F64 ? whiten<double> : whiten<float>);
}

srp_status reduce_affine(srp_queue*, const srp_reduce_affine_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kMapBytes, a->dtype == SRP_F64 ? affine<double> : affine<float>);
}

srp_status reduce_clamp(srp_queue*, const srp_reduce_clamp_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kMapBytes, a->dtype == SRP_F64 ? clamp<double> : clamp<float>);
}

srp_status reduce_gamma(srp_queue*, const srp_reduce_gamma_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kGammaBytes, a->dtype == SRP_F64 ? gamma<double> : gamma<float>);
}

srp_status reduce_counts(srp_queue*, const srp_reduce_counts_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, 1, counts);
}

}  // namespace srp::cpu
