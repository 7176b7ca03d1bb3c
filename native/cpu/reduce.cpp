// Moments, merge, whitening and affine maps (contract: surprisal/reduce.h), one row after the other.
#include "backend.h"
#include "surprisal/reduce_steps.h"

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
void moments(const srp_reduce_moments_args& a) {
  for (int64_t b = 0; b < a.B; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    Moments m;
    for (int64_t begin = row.begin; begin < row.end; begin += kChunk)
      m = merged(m, moments_of_chunk<F>(a, begin, begin + kChunk < row.end ? begin + kChunk : row.end));
    store_moments(a.partials, b, m);
  }
}

// out = map(value) over the kept tokens of a row; the others as transform_masked says.
template <class F, class Args, class Map>
void map_row(const Args& a, int64_t b, const Map& map) {
  const F* const values = static_cast<const F*>(a.values);
  F* const out = static_cast<F*>(a.out);
  const uint8_t* const mask = a.transform_masked ? nullptr : a.mask;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  for (int64_t i = row.begin; i < row.end; ++i) store(out, i, !mask || mask[i] ? map(load(values, i)) : 0.0);
}

template <class F>
void whiten(const srp_reduce_whiten_args& a) {
  for (int64_t b = 0; b < a.B; ++b) map_row<F>(a, b, Whitening(a, load_moments(a.moments, unit_of(a, b))));
}

template <class F>
void affine(const srp_reduce_affine_args& a) {
  for (int64_t b = 0; b < a.B; ++b) {
    const double center = a.center ? a.center[b] : 0, scale = a.scale ? a.scale[b] : 1, divisor = a.divisor;
    map_row<F>(a, b, [=](double x) { return (x - center) * scale / divisor; });
  }
}

template <class F>
void clamp(const srp_reduce_clamp_args& a) {
  for (int64_t b = 0; b < a.B; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    Clamped<F> clamped{a};
    for (int64_t i = row.begin; i < row.end; ++i) clamped.step(i);
    if (!a.counts) continue;
    a.counts[b * SRP_CLAMPED_COUNTS + SRP_CLAMPED_KEPT] = clamped.kept;
    a.counts[b * SRP_CLAMPED_COUNTS + SRP_CLAMPED_OUTSIDE] = clamped.outside;
  }
}

template <class F>
void gamma(const srp_reduce_gamma_args& a) {
  for (int64_t b = 0; b < a.B; ++b) {
    const Range row = row_range(a.offsets, a.T, a.n, b);
    double sum = 0;
    for (int64_t i = row.begin; i < row.end; ++i) sum += gamma_term<F>(a, i);
    store_gamma<F>(a, b, sum);
  }
}

}  // namespace

srp_status reduce_moments(srp_queue*, const srp_reduce_moments_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    moments<double>(*a);
  else
    moments<float>(*a);
  return SRP_OK;
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
  if (a->over == SRP_OVER_GROUP) SRP_TRY(check_indices("unit", a->unit, a->B, a->units));
  if (a->dtype == SRP_F64)
    whiten<double>(*a);
  else
    whiten<float>(*a);
  return SRP_OK;
}

srp_status reduce_affine(srp_queue*, const srp_reduce_affine_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    affine<double>(*a);
  else
    affine<float>(*a);
  return SRP_OK;
}

srp_status reduce_clamp(srp_queue*, const srp_reduce_clamp_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    clamp<double>(*a);
  else
    clamp<float>(*a);
  return SRP_OK;
}

srp_status reduce_gamma(srp_queue*, const srp_reduce_gamma_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    gamma<double>(*a);
  else
    gamma<float>(*a);
  return SRP_OK;
}

srp_status reduce_counts(srp_queue*, const srp_reduce_counts_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  for (int64_t b = 0; b < a->B; ++b) {
    const Range row = row_range(a->offsets, a->T, a->n, b);
    int64_t kept = a->mask ? 0 : row.end - row.begin;
    if (a->mask)
      for (int64_t i = row.begin; i < row.end; ++i) kept += a->mask[i] != 0;
    a->counts[b] = static_cast<double>(kept);
  }
  return SRP_OK;
}

}  // namespace srp::cpu
