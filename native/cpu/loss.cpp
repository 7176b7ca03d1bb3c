// Losses over rows of tokens (contract: surprisal/loss.h): one row after the other, tokens in order.
#include "backend.h"
#include "surprisal/loss_steps.h"

namespace srp::cpu {
namespace {

template <class F>
void token_losses(const LossArgs& a) {
  const LossParameters p = loss_parameters(a);
  for (int64_t b = 0; b < a.B; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    const RowScale scale = row_scale(a, b);
    LossFigures figures = token_figures();
    for (int64_t i = range.begin; i < range.end; ++i) token_loss<F>(a, b, i, p, scale, &figures);
    store_figures(a, b, figures);
  }
}

template <class F>
void row_losses(const LossArgs& a) {
  const LossParameters p = loss_parameters(a);
  for (int64_t b = 0; b < a.B; ++b) {
    const Range range = row_range(a.offsets, a.T, a.n, b);
    const RowScale scale = row_scale(a, b);
    RowSums sums;
    for (int64_t i = range.begin; i < range.end; ++i) add_row_sums<F>(a, b, i, p, &sums);
    const RowForm row = row_form<F>(a, b, p, sums);
    LossFigures figures;
    double slope = 0;
    for (int64_t i = range.begin; i < range.end; ++i) row_value<F>(a, b, i, p, row, &figures, &slope);
    store_row<F>(a, b, row, figures);
    if (!a.grad) continue;
    const double through = row_through(a, b, row, figures, slope);
    for (int64_t i = range.begin; i < range.end; ++i) row_grad<F>(a, b, i, p, scale, row, through);
  }
}

}  // namespace

srp_status loss_token(srp_queue*, const srp_loss_token_args* a) {
  SRP_TRY(check_loss_token(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    token_losses<double>(*a);
  else
    token_losses<float>(*a);
  return SRP_OK;
}

srp_status loss_row(srp_queue*, const srp_loss_row_args* a) {
  SRP_TRY(check_loss_row(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  if (a->dtype == SRP_F64)
    row_losses<double>(*a);
  else
    row_losses<float>(*a);
  return SRP_OK;
}

}  // namespace srp::cpu
