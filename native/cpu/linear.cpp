// The forward pass of a linear head (contract: surprisal/linear.h).
#include "backend.h"
#include "linear_logits.h"

namespace srp::cpu {
namespace linear {
namespace {

template <class T, class Operand>
srp_status forward_piece(const srp_linear_forward_args& a, int64_t begin, int64_t end) {
  const LogitMap map = LogitMap::of(a);
  ChunkBuffers<Operand> use(a.D, end - begin);
  Rows& rows = use.rows;
  const Buffer<double> at_target(end - begin);
  const std::unique_ptr<RowSums[]> sums(new (std::nothrow) RowSums[static_cast<size_t>(end - begin)]);
  if (use.failed() || at_target.failed() || !sums) return out_of_memory(a.D);

  int64_t n = begin;
  rows.take<Operand>(a.mask, n, end);
  pack_rows<T>(a.hidden, rows, a.D, use.packed.get());
  for (int64_t r = 0; r < rows.count; ++r) sums[r] = no_sums(-INFINITY);
  at_target.clear(rows.count);
  for (int64_t first = 0; first < a.V && rows.count > 0; first += kIds) {
    const int64_t ids = ids_of_block(a, first);
    double* const x = use.logits.get();
    form_logits<T>(a, use.packed.get(), rows, first, ids, use.weight.get(), x);
    head().sums(map, x, rows.columns, ids, rows.count, sums.get());
    for (int64_t r = 0; r < rows.count && a.log_probs; ++r) {
      const int64_t j = a.targets[rows.row[r]] - first;
      if (j >= 0 && j < ids) at_target.get()[r] = x[j * rows.columns + r];
    }
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    const RowResult result = finish_row(map, sums[r]);
    store_linear<T>(a, rows.row[r], result, target_logprob(map, result, at_target.get()[r]));
  }
  for (n = begin; n < end; ++n)
    if (!kept(a.mask, n)) clear_linear<T>(a, n);
  return SRP_OK;
}

template <class T>
srp_status forward(const srp_linear_forward_args& a) {
  if (a.N == 0) return SRP_OK;  // N = 0 fits in memory with any D
  return with_operand<T>(a, [&](auto operand) {
    using Operand = decltype(operand);
    return parallel_pieces(a.N, piece_rows<Operand>(a),
                           [&](int64_t begin, int64_t end) { return forward_piece<T, Operand>(a, begin, end); });
  });
}

}  // namespace
}  // namespace linear

srp_status linear_forward(srp_queue*, const srp_linear_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->log_probs ? 1 : 0, a->V));
  if (a->dtype == SRP_F32) return linear::forward<float>(*a);
  if (a->dtype == SRP_F64) return linear::forward<double>(*a);
  return a->dtype == SRP_F16 ? linear::forward<Half>(*a) : linear::forward<BFloat16>(*a);
}

}  // namespace srp::cpu
