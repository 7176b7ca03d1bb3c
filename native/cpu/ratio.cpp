// Log ratios (contract: surprisal/ratio.h), rows on threads. Tokens go through the level's kernels, a
// register at a time; on the level "portable" one by one.
#include "backend.h"
#include "sizes.h"
#include "level.h"
#include "pool.h"
#include "shared/ratio.h"

namespace srp::cpu {
namespace {

// The ratio of a unit has the same bits as that of a token with the same log ratio.
template <class F>
double exp_of(double x) {
  const Kernels* const level = kernels();
  return level ? level->floats.of<F>().exponential(x) : exponential(x);
}

template <class F>
void store_unit(const srp_ratio_log_args& a, int64_t unit, LogSum sums) {
  const double x = log_ratio_of(sums, a.reduce);
  store_log_ratio<F>(a, unit, x, exp_of<F>(x));
}

template <class F>
void add_row(const srp_ratio_log_args& a, int64_t b, LogSum* unit) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (const Kernels* const level = kernels()) {
    const LogSum sum = level->floats.of<F>().differences(
        static_cast<const F*>(a.log_probs), static_cast<const F*>(a.old_log_probs), a.mask, row.begin, row.end);
    unit->sum += sum.sum;
    unit->kept += sum.kept;
    return;
  }
  for (int64_t i = row.begin; i < row.end; ++i) {
    if (!is_kept(a, i)) continue;
    unit->sum += difference<F>(a, i);
    unit->kept += 1;
  }
}

template <class F>
int64_t row_bytes(const srp_ratio_log_args& a) {
  return a.B == 0 ? 0 : a.n / a.B * 2 * int64_t{sizeof(F)};
}

template <class F>
LogSum sum_group(const srp_ratio_log_args& a, int64_t g) {
  LogSum group = {0, 0};
  for (int64_t m = a.group_offsets[g]; m < a.group_offsets[g + 1]; ++m) add_row<F>(a, member(a.members, m), &group);
  return group;
}

// Per-token ratios do not depend on rows: work is cut into pieces of tokens.
template <class F>
srp_status log_tokens(const srp_ratio_log_args& a) {
  const int64_t size = sizes().piece_tokens, pieces = (a.n + size - 1) / size;
  return parallel_rows(pieces, size * 4 * int64_t{sizeof(F)}, [&](int64_t first, int64_t last) {
    const int64_t begin = first * size;
    const int64_t end = last * size < a.n ? last * size : a.n;
    if (const Kernels* const level = kernels()) {
      const LogTokens<F> row = {static_cast<const F*>(a.log_probs), static_cast<const F*>(a.old_log_probs), a.mask,
                                static_cast<F*>(a.log_ratios), static_cast<F*>(a.ratios)};
      return level->floats.of<F>().log_tokens(row, begin, end, leaves_cache_by_turns(a.n * int64_t{sizeof(F)}));
    }
    for (int64_t i = begin; i < end; ++i) {
      if (is_kept(a, i))
        store_log_ratio<F>(a, i, difference<F>(a, i));
      else
        store_masked_log_ratio<F>(a, i);
    }
  });
}

template <class F>
srp_status log_rows(const srp_ratio_log_args& a) {
  return parallel_rows(a.B, row_bytes<F>(a), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      LogSum row = {0, 0};
      add_row<F>(a, b, &row);
      store_unit<F>(a, b, row);
    }
  });
}

template <class F>
void log_groups(const srp_ratio_log_args& a) {
  for (int64_t g = 0; g < a.G; ++g) store_unit<F>(a, g, sum_group<F>(a, g));
}

srp_status check_host(const srp_ratio_log_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_offsets("group_offsets", a->group_offsets, a->G, a->B));
  return check_indices("members", a->members, a->B, a->B);
}

template <class F>
srp_status log_level(const srp_ratio_log_args& a) {
  if (a.level == SRP_LEVEL_SEQUENCE) return log_rows<F>(a);
  if (a.level == SRP_LEVEL_TOKEN) return log_tokens<F>(a);
  log_groups<F>(a);
  return SRP_OK;
}

}  // namespace

srp_status ratio_log(srp_queue*, const srp_ratio_log_args* a) {
  SRP_TRY(check_host(a));
  return a->dtype == SRP_F64 ? log_level<double>(*a) : log_level<float>(*a);
}

}  // namespace srp::cpu
