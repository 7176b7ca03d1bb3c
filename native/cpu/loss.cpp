// Losses over rows of tokens (contract: surprisal/loss.h), rows side by side. Tokens go through the level's kernels, a register at a
// time; on the level "portable" one by one.
#include "backend.h"
#include "loss_tokens.h"
#include "pool.h"

namespace srp::cpu {
namespace {

template <class F>
void token_losses(const LossArgs& a, int64_t first, int64_t last) {
  const LossParameters p = loss_parameters(a);
  const Kernels* const level = kernels();
  for (int64_t b = first; b < last; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    LossFigures figures = token_figures();
    if (level) {
      LossTokens<F> row = loss_tokens_of<F>(a, b, p);
      row.figures = a.figures ? figures.at : nullptr;
      level->loss_tokens(row, range);
      store_figures(a, b, figures);
      continue;
    }
    const RowScale scale = row_scale(a, b);
    for (int64_t i = range.begin; i < range.end; ++i) token_loss<F>(a, b, i, i, p, scale, &figures);
    store_figures(a, b, figures);
  }
}

template <class F>
void row_losses_one_by_one(const LossArgs& a, int64_t b, const LossParameters& p) {
  const Range range = row_range(a.offsets, a.T, a.n, b);
  LossSums sums;
  for (int64_t i = range.begin; i < range.end; ++i) add_row_sums<F>(a, b, i, p, &sums);
  const RowForm row = row_form<F>(a, b, p, sums);
  LossFigures figures;
  double slope = 0;
  for (int64_t i = range.begin; i < range.end; ++i) row_value<F>(a, b, i, i, p, row, &figures, &slope);
  store_row<F>(a, b, row, figures);
  if (!a.grad) return;
  const RowScale scale = row_scale(a, b);
  const double through = row_through(a, b, row, figures, slope);
  for (int64_t i = range.begin; i < range.end; ++i) row_grad<F>(a, b, i, i, p, scale, row, through);
}

template <class F>
void row_losses_of_level(const Kernels& level, const LossArgs& a, int64_t b, const LossParameters& p) {
  const LossRowKernels<F>& kernels = level.loss_row(F());
  const Range range = row_range(a.offsets, a.T, a.n, b);
  const bool through_row = goes_through(a.form);
  LossFigures figures;
  LossRow<F> row;
  row.tokens = loss_tokens_of<F>(a, b, p);
  row.old_per_row = a.old_per_row != 0;
  row.sums_up = a.figures != nullptr;
  if (counts_once(a.form)) row.tokens.loss = nullptr;
  if (through_row) row.tokens.grad = nullptr;
  row.tokens.ratio = nullptr;
  row.tokens.figures = figures.at;

  const LossSums sums = kernels.sums(row, range.begin, range.end);
  row.form = row_form<F>(a, b, p, sums);
  const double slope = wants_values(a) ? kernels.values(row, range.begin, range.end) : 0;
  figures.at[SRP_FIGURE_KEPT] = static_cast<double>(sums.kept);
  figures.at[SRP_FIGURE_TERMS] = static_cast<double>(sums.terms);
  store_row<F>(a, b, row.form, figures);
  if (!a.grad || !through_row) return;
  const double through = row_through(a, b, row.form, figures, slope);
  F* const grad = static_cast<F*>(a.grad);
  if (!a.reference) return level.spread(grad, a.mask, range, through + 0.0);
  row.tokens.grad = grad;
  kernels.gradients(row, range.begin, range.end, through);
}

template <class F>
void row_losses(const LossArgs& a, int64_t first, int64_t last) {
  const LossParameters p = loss_parameters(a);
  const Kernels* const level = kernels();
  for (int64_t b = first; b < last; ++b)
    level ? row_losses_of_level<F>(*level, a, b, p) : row_losses_one_by_one<F>(a, b, p);
}

// An exponential and a dozen other operations a token: as long as reading this many bytes.
constexpr int64_t kBytesPerToken = 128;

// `run` takes rows first..last. Rows may differ in length: their mean says what a piece is.
srp_status each_rows(const LossArgs& a, void (*run)(const LossArgs&, int64_t, int64_t)) {
  if (a.B == 0) return SRP_OK;
  return parallel_rows(a.B, kBytesPerToken * (a.n / a.B + 1), [&](int64_t begin, int64_t end) { run(a, begin, end); });
}

}  // namespace

srp_status loss_token(srp_queue*, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_rows(*a, a->dtype == SRP_F64 ? token_losses<double> : token_losses<float>);
}

srp_status loss_row(srp_queue*, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  return each_rows(*a, a->dtype == SRP_F64 ? row_losses<double> : row_losses<float>);
}

}  // namespace srp::cpu
