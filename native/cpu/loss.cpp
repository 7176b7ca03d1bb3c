// Losses over rows of tokens (contract: surprisal/loss.h), rows side by side. Tokens of loss_token go through the level's kernel, a
// register at a time; on the level "portable", and in loss_row, one by one.
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
void row_losses(const LossArgs& a, int64_t first, int64_t last) {
  const LossParameters p = loss_parameters(a);
  for (int64_t b = first; b < last; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    const RowScale scale = row_scale(a, b);
    LossSums sums;
    for (int64_t i = range.begin; i < range.end; ++i) add_row_sums<F>(a, b, i, p, &sums);
    const RowForm row = row_form<F>(a, b, p, sums);
    LossFigures figures;
    double slope = 0;
    for (int64_t i = range.begin; i < range.end; ++i) row_value<F>(a, b, i, i, p, row, &figures, &slope);
    store_row<F>(a, b, row, figures);
    if (!a.grad) continue;
    const double through = row_through(a, b, row, figures, slope);
    for (int64_t i = range.begin; i < range.end; ++i) row_grad<F>(a, b, i, i, p, scale, row, through);
  }
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
