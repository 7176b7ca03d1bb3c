// Column baselines of the rows of a group (contract: surprisal/group.h), one group after the other, column by column.
#include "backend.h"
#include "shared/group.h"

namespace srp::cpu {
namespace {

template <class F>
void columns(const srp_group_columns_args& a) {
  const F* const values = static_cast<const F*>(a.values);
  const F* const weights = static_cast<const F*>(a.weights);
  F* const baselines = static_cast<F*>(a.baselines);
  F* const centred = static_cast<F*>(a.centred);
  for (int64_t g = 0; g < a.G; ++g) {
    const int64_t rows = a.group_offsets[g + 1] - a.group_offsets[g];
    const auto row_of = [&](int64_t k) {
      return row_range(a.offsets, a.T, a.n, member(a.members, a.group_offsets[g] + k));
    };
    int64_t width = 0, longest = 0, second = 0;  // the last two: up to a kept token
    for (int64_t k = 0; k < rows; ++k) {
      const Range row = row_of(k);
      if (row.end - row.begin > width) width = row.end - row.begin;
      const int64_t length = kept_length(a.mask, row);
      if (length > longest) {
        second = longest;
        longest = length;
      } else if (length > second) {
        second = length;
      }
    }
    for (int64_t t = 0; t < width; ++t) {
      Column column;
      for (int64_t k = 0; k < rows; ++k) {
        const Range row = row_of(k);
        const int64_t i = row.begin + t;
        if (i >= row.end) continue;
        if (!a.mask || a.mask[i]) column.add(load(values, i), load(weights, i));
      }
      const double baseline = column.baseline(a, rows, t >= second);
      for (int64_t k = 0; k < rows; ++k) {
        const Range row = row_of(k);
        const int64_t i = row.begin + t;
        if (i >= row.end) continue;
        const bool kept = !a.mask || a.mask[i];
        if (baselines) store(baselines, i, kept ? baseline : 0.0);
        if (centred) store(centred, i, kept ? load(values, i) - baseline : 0.0);
      }
    }
  }
}

}  // namespace

srp_status group_columns(srp_queue*, const srp_group_columns_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_offsets("group_offsets", a->group_offsets, a->G, a->B));
  SRP_TRY(check_indices("members", a->members, a->B, a->B));
  if (a->dtype == SRP_F64)
    columns<double>(*a);
  else
    columns<float>(*a);
  return SRP_OK;
}

}  // namespace srp::cpu
