// Losses over rows of tokens (contract: surprisal/loss.h), rows side by side. Tokens go through the level's kernels, a register at a
// time; on the level "portable" one by one.
#include "backend.h"
#include "sizes.h"
#include "loss_tokens.h"
#include "pool.h"

namespace srp::cpu {
namespace {

template <class F>
void token_losses(const LossArgs& a, int64_t first, int64_t last) {
  const LossParameters p = loss_parameters(a.parameters);
  const Kernels* const level = kernels();
  for (int64_t b = first; b < last; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    LossFigures figures = token_figures();
    if (level) {
      LossTokens<F> row = loss_tokens_of<F>(a, b, p);
      row.figures = a.figures ? figures.at : nullptr;
      level->floats.of<F>().loss_tokens(row, range.begin, range.end);
      store_figures(a, b, figures);
      continue;
    }
    const RowScale scale = row_scale(a, b);
    for (int64_t i = range.begin; i < range.end; ++i) token_loss<F>(a, b, i, i, p, scale, &figures);
    store_figures(a, b, figures);
  }
}

template <class F>
LossRow<F> loss_row_of(const LossArgs& a, int64_t b, const LossParameters& p) {
  LossRow<F> row;
  row.tokens = loss_tokens_of<F>(a, b, p);
  row.old_log_probs_per_row = a.old_log_probs_per_row != 0;
  if (counts_once(a.form)) row.tokens.loss = nullptr;
  if (is_whole(a.form)) row.tokens.clipped = nullptr;
  if (goes_through(a.form)) row.tokens.grad = nullptr;
  row.tokens.ratio = nullptr;
  return row;
}

// Without terms of tokens and with old_log_probs per token, the sum of a row is that of its differences.
bool sums_differences(const LossArgs& a) { return is_whole(a.form) && a.old_log_probs && !a.old_log_probs_per_row; }

template <class F>
LossSums sums_of(const Kernels* level, const LossArgs& a, int64_t b, const LossParameters& p) {
  const Range range = row_range(a.offsets, a.T, a.n, b);
  LossSums sums;
  if (!level) {
    for (int64_t i = range.begin; i < range.end; ++i) add_row_sums<F>(a, b, i, i, p, &sums);
    return sums;
  }
  if (!sums_differences(a)) return level->floats.of<F>().loss_row.sums(loss_row_of<F>(a, b, p), range.begin, range.end);
  const LogSum differences = level->floats.of<F>().differences(
      static_cast<const F*>(a.log_probs), static_cast<const F*>(a.old_log_probs), a.mask, range.begin, range.end);
  sums.log_ratio = differences.sum;
  sums.kept = sums.terms = differences.kept;
  return sums;
}

// The ratio of a row has the bits that a token's has, so it comes of the level's exp.
template <class F>
RowForm form_of(const Kernels* level, const LossArgs& a, int64_t b, const LossParameters& p, const LossSums& sums) {
  return level ? row_form<F>(a, b, p, sums, level->floats.of<F>().exponential) : row_form<F>(a, b, p, sums);
}

// Computes what the tokens of a row cost, and returns the sum of the slopes.
template <class F>
double values_of(const Kernels* level, const LossArgs& a, int64_t b, const LossParameters& p, const LossSums& sums,
                 const RowForm& form, LossFigures* figures) {
  if (!wants_values(a)) {
    add_counts(sums, figures);
    return 0;
  }
  const Range range = row_range(a.offsets, a.T, a.n, b);
  double slope = 0;
  if (level) {
    LossRow<F> row = loss_row_of<F>(a, b, p);
    row.form = form;
    row.tokens.figures = figures->at;
    slope = level->floats.of<F>().loss_row.values(row, range.begin, range.end);
    add_counts(sums, figures);
    return slope;
  }
  for (int64_t i = range.begin; i < range.end; ++i) row_value<F>(a, b, i, i, p, form, figures, &slope);
  return slope;
}

// The gradients of a row that values_of() has not written.
template <class F>
void gradients_of(const Kernels* level, const LossArgs& a, int64_t b, const LossParameters& p, const RowForm& form,
                  double through) {
  if (!a.grad_log_probs) return;
  const Range range = row_range(a.offsets, a.T, a.n, b);
  F* const grad = static_cast<F*>(a.grad_log_probs);
  if (!level) {
    const RowScale scale = row_scale(a, b);
    for (int64_t i = range.begin; i < range.end; ++i) row_grad<F>(a, b, i, i, p, scale, form, through);
    return;
  }
  if (!goes_through(a.form)) return;
  if (!a.reference_log_probs) {
    const int64_t bytes = sizeof(F);
    const bool past_cache = rows_leave_cache(a.n * bytes, (range.end - range.begin) * bytes);
    return level->floats.of<F>().spread(grad, a.mask, range.begin, range.end, through + 0.0, past_cache);
  }
  LossRow<F> row = loss_row_of<F>(a, b, p);
  row.form = form;
  row.tokens.grad = grad;
  level->floats.of<F>().loss_row.gradients(row, range.begin, range.end, through);
}

template <class F>
void row_losses(const LossArgs& a, int64_t first, int64_t last) {
  constexpr int64_t kBatch = 8;
  const LossParameters p = loss_parameters(a.parameters);
  const Kernels* const level = kernels();
  // Rows that are read once go side by side: what a row computes from its sums is a chain of quotients and an exponential.
  const int64_t batch = wants_values(a) ? 1 : kBatch;
  LossSums sums[kBatch];
  RowForm forms[kBatch];
  double through[kBatch];
  for (int64_t begin = first; begin < last; begin += batch) {
    const int64_t rows = last - begin < batch ? last - begin : batch;
    for (int64_t k = 0; k < rows; ++k) sums[k] = sums_of<F>(level, a, begin + k, p);
    for (int64_t k = 0; k < rows; ++k) forms[k] = form_of<F>(level, a, begin + k, p, sums[k]);
    for (int64_t k = 0; k < rows; ++k) {
      LossFigures figures;
      const double slope = values_of<F>(level, a, begin + k, p, sums[k], forms[k], &figures);
      store_row<F>(a, begin + k, forms[k], &figures);
      through[k] = row_through(a, begin + k, forms[k], figures, slope);
    }
    for (int64_t k = 0; k < rows; ++k) gradients_of<F>(level, a, begin + k, p, forms[k], through[k]);
  }
}

int64_t kept_of(const LossArgs& a, int64_t b) {
  const Range range = row_range(a.offsets, a.T, a.n, b);
  if (!a.mask) return range.end - range.begin;
  if (const Kernels* const level = kernels()) return level->count_bytes(a.mask, range.begin, range.end);
  int64_t kept = 0;
  for (int64_t i = range.begin; i < range.end; ++i) kept += a.mask[i] != 0;
  return kept;
}

// The rows of a group share one ratio, and all their terms one gradient.
template <class F>
void group_losses(const LossArgs& a, int64_t first, int64_t last) {
  const LossParameters p = loss_parameters(a.parameters);
  const Kernels* const level = kernels();
  for (int64_t g = first; g < last; ++g) {
    const Range group = row_range(a.group_offsets, 0, a.B, g);
    LossSums all;
    for (int64_t m = group.begin; m < group.end; ++m) {
      const LossSums row = sums_of<F>(level, a, member(a.members, m), p);
      all.log_ratio += row.log_ratio;
      all.kept += row.kept;
    }
    double slope = 0;
    RowForm form = {};
    for (int64_t m = group.begin; m < group.end; ++m) {
      const int64_t b = member(a.members, m);
      LossSums row;
      row.kept = row.terms = kept_of(a, b);
      form = form_of<F>(level, a, b, p, all);
      LossFigures figures;
      add_counts(row, &figures);
      store_row<F>(a, b, form, &figures);
      slope += scaled(row_scale(a, b).policy, form.slope);
    }
    const double through = slope / form.divisor;
    for (int64_t m = group.begin; m < group.end; ++m) gradients_of<F>(level, a, member(a.members, m), p, form, through);
  }
}

// A token with an exponential and a dozen other operations costs as much time as reading this many bytes.
constexpr int64_t kBytesPerToken = 24;

template <class F>
srp_status rows_of(const LossArgs& a) {
  const int64_t bytes = wants_values(a) ? kBytesPerToken : 3 * int64_t{sizeof(F)};
  if (!a.group_offsets) return each_row(a, bytes, row_losses<F>);
  return parallel_rows_of(a.G, a.n, bytes, [&](int64_t begin, int64_t end) { group_losses<F>(a, begin, end); });
}

}  // namespace

srp_status loss_token(srp_queue*, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_row(*a, kBytesPerToken, a->dtype == SRP_F64 ? token_losses<double> : token_losses<float>);
}

srp_status loss_row(srp_queue*, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_offsets("group_offsets", a->group_offsets, a->G, a->B));
  SRP_TRY(check_indices("members", a->members, a->B, a->B));
  return a->dtype == SRP_F64 ? rows_of<double>(*a) : rows_of<float>(*a);
}

}  // namespace srp::cpu
