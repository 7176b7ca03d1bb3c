// From the logits of tokens to their gradient (contract: surprisal/loss.h, loss_logits): the sums of a row, its token's loss, and
// the gradient of its columns, before the next row is touched.
#include "backend.h"
#include "logprob_row.h"
#include "loss_tokens.h"
#include "pool.h"
#include "shared/loss_logits.h"

namespace srp::cpu {
namespace {

// d total / d log_prob of token n, with the bits that loss_token gives it.
double slope_of(const LossArgs& tokens, const LossParameters& p, int64_t n, double log_prob) {
  const Kernels* const level = kernels();
  if (!level) return token_slope(tokens, p, n, log_prob);
  const auto at = [n](auto* array) { return array ? array + n : nullptr; };
  double slope;
  LossTokens<double> row = loss_tokens_of<double>(tokens, n, p);
  row.log_probs = &log_prob;
  row.old_log_probs = at(row.old_log_probs);
  row.reference = at(row.reference);
  row.advantage = at(row.advantage);
  row.factor = at(row.factor);
  row.clip_low = at(row.clip_low);
  row.clip_high = at(row.clip_high);
  row.ratio_cap = at(row.ratio_cap);
  row.mask = nullptr;  // it is kept
  row.term_mask = at(row.term_mask);
  row.marks = at(row.marks);
  row.grad = &slope;
  level->floats.of<double>().loss_tokens(row, 0, 1);
  return slope;
}

template <class T>
void lose_token(const LossLogitsArgs& a, const LossArgs& tokens, const LossParameters& p, const LogitMap& map,
                int64_t n, bool past_cache) {
  const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
  T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
  if (!kept(a.mask, n)) {
    clear_token(a, n);
    return fill(grad, a.stride, 0);
  }
  const RowResult row = finish_row(map, sum_row(map, x, a.V, a.sum_squares != nullptr));
  const double logit = load(x, a.targets[n]);  // read first: the gradient may overwrite it
  const double logprob = target_logprob(map, row, logit);
  const RowSlopes slopes = lose_row(a, n, row, logprob, slope_of(tokens, p, n, rounded(logprob)));
  fill(grad + a.V, a.stride - a.V, 0);
  if (!(row.max_logit > -INFINITY && row.max_logit < INFINITY))
    return fill(grad, a.V, row.max_logit == -INFINITY ? 0 : NAN);
  gradient_row(map, x, a.V, slopes, grad, past_cache);
  store(grad, a.targets[n], target_gradient(map, slopes, slopes.sum, 0, logit));
}

template <class T>
srp_status lose_logits(const LossLogitsArgs& a) {
  const LogitMap map = LogitMap::of(a);
  const LossArgs tokens = token_args(a);
  const LossParameters p = loss_parameters(a.parameters);
  const bool past_cache = a.grad_logits != a.logits && leaves_cache(a.N * a.stride * int64_t{sizeof(T)});
  return parallel_rows(a.N, 2 * a.V * int64_t{sizeof(T)}, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) lose_token<T>(a, tokens, p, map, n, past_cache);
  });
}

}  // namespace

srp_status loss_logits(srp_queue*, const srp_loss_logits_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, 1, a->V));
  if (a->dtype == SRP_F32) return lose_logits<float>(*a);
  return a->dtype == SRP_F16 ? lose_logits<Half>(*a) : lose_logits<BFloat16>(*a);
}

}  // namespace srp::cpu
