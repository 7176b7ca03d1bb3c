// The backward pass of a linear head (contract: surprisal/linear.h): logits are formed once more, and become factors of two products.
#include "backend.h"
#include "linear_logits.h"

namespace srp::cpu {
namespace linear {
namespace {

// Sums [rows, D] as panels of columns, one behind the other.
template <class Number>
class PanelSums {
 public:
  PanelSums(int64_t rows, int64_t D) : sums_(rows * in_lanes<Number>(D)), rows_(rows), columns_(in_lanes<Number>(D)) {}
  bool failed() const { return sums_.failed(); }
  void clear() const { sums_.clear(rows_ * columns_); }
  double* panel(int64_t d) const { return sums_.get() + d * rows_; }

  // What is beyond the range of float32 is NaN.
  void settle() const { Arithmetic<Number>::settle(sums_.get(), rows_ * columns_); }

  // Calls take(d, sum) for every column of a row.
  template <class Take>
  void read(int64_t row, int64_t D, const Take& take) const {
    for_panels<Number>(columns_, [&](int64_t first, int64_t width) {
      const double* const at = panel(first) + row * width;
      for (int64_t i = 0; i < width && first + i < D; ++i) take(first + i, at[i]);
    });
  }

 private:
  const Buffer<double> sums_;
  const int64_t rows_, columns_;
};

// sums += a b, with b the rows at(0) ... at(depth - 1) of `from`; a has columns of 0 to a whole step.
template <class T, class Number, class At>
void add_product(Product<Number> p, const void* from, const At& at, int64_t D, Number* packed,
                 const PanelSums<Number>& sums) {
  const int64_t depth = p.depth;
  p.depth = in_steps<Number>(depth);
  for_panels<Number>(in_lanes<Number>(D), [&](int64_t d, int64_t width) {
    pack_columns<T>(from, at, depth, D, d, width, packed);
    for (int64_t i = depth * width; i < p.depth * width; ++i) packed[i] = 0;
    p.b = packed;
    p.c = sums.panel(d);
    p.c_step = p.columns = width;
    Arithmetic<Number>::product(p);
  });
}

// Beside them in backward: gradients [kSumIds, columns] in the type of the products, and a panel of the product's other side.
template <class Number>
struct GradientBuffers {
  GradientBuffers(int64_t most_rows, int64_t depth)
      : g(kSumIds * in_lanes<Number>(most_rows)), part(depth * panel_width<Number>()) {}
  bool failed() const { return g.failed() || part.failed(); }

  const Buffer<Number> g, part;
};

// What the rows of a chunk have in common with their gradients, to a multiple of the lanes.
template <class Number>
class RowGradients {
 public:
  explicit RowGradients(int64_t most)
      : rows_(new (std::nothrow) RowGradient[static_cast<size_t>(in_lanes<Number>(most))]),
        at_target_(new (std::nothrow) double[static_cast<size_t>(most)]) {}
  bool failed() const { return !rows_ || !at_target_; }

  template <class T>
  void take(const srp_linear_backward_args& a, const Rows& rows) const {
    for (int64_t r = 0; r < rows.columns; ++r)
      rows_[r] = r < rows.count ? RowGradient::of<T>(a, rows.row[r]) : RowGradient{-INFINITY, 0, 0, 0, 0, -1};
  }

  // Logits [ids, columns] to their gradients, in place.
  void form(const LogitMap& map, const Rows& rows, int64_t first, int64_t ids, double* x) const {
    for (int64_t r = 0; r < rows.count; ++r)
      if (const double* const at = target(rows, r, first, ids, x))
        at_target_[r] = rows_[r].at(map, *at, rows_[r].target);
    head().gradients(map, x, rows.columns, ids, rows.columns, rows_.get());
    for (int64_t r = 0; r < rows.count; ++r)
      if (double* const at = target(rows, r, first, ids, x)) *at = at_target_[r];
  }

 private:
  // The element of the row's target; NULL where it is in no column.
  double* target(const Rows& rows, int64_t r, int64_t first, int64_t ids, double* x) const {
    const int64_t j = rows_[r].target - first;
    return j >= 0 && j < ids ? x + j * rows.columns + r : nullptr;
  }

  std::unique_ptr<RowGradient[]> rows_;
  std::unique_ptr<double[]> at_target_;
};

// Gradients of the logits of some blocks of ids, as factors of a product. of_bias [ids] adds their sums over rows, or NULL.
template <class T, class Operand>
void form_gradients(const srp_linear_backward_args& a, const LogitMap& map, const ChunkBuffers<Operand>& use,
                    const RowGradients<NumberOf<Operand>>& gradients, int64_t first, int64_t ids,
                    NumberOf<Operand>* factors, double* of_bias) {
  using Form = Arithmetic<Operand>;
  const int64_t columns = use.rows.columns;
  for (int64_t at = 0; at < ids; at += kIds) {
    const int64_t count = ids_of_block(a, first + at);
    double* const g = Form::place_of(use.logits.get(), factors + at * columns);
    form_logits<T>(a, use.packed.get(), use.rows, first + at, count, use.weight.get(), g);
    gradients.form(map, use.rows, first + at, count, g);
    for (int64_t j = 0; j < count && of_bias; ++j)
      for (int64_t r = 0; r < use.rows.count; ++r) of_bias[at + j] += g[j * columns + r];
    Form::keep_gradients(g, count, columns, factors + at * columns);
  }
}

template <class T, class Operand>
srp_status hidden_gradient(const srp_linear_backward_args& a, int64_t begin, int64_t end) {
  using Number = NumberOf<Operand>;
  ChunkBuffers<Operand> use(a.D, end - begin, Arithmetic<Operand>::kLogits);
  Rows& rows = use.rows;
  const GradientBuffers<Number> side(end - begin, kSumIds);
  const RowGradients<Number> gradients(end - begin);
  const PanelSums<Number> sums(end - begin, a.D);
  if (use.failed() || side.failed() || sums.failed() || gradients.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);
  T* const grad = static_cast<T*>(a.grad_hidden);

  int64_t n = begin;
  rows.take<Operand>(a.mask, n, end);
  pack_rows<T>(a.hidden, rows, a.D, use.packed.get());
  gradients.template take<T>(a, rows);
  sums.clear();
  Number* const g = side.g.get();
  for (int64_t first = 0; first < a.V && rows.count > 0; first += kSumIds) {
    const int64_t ids = ids_of_block(a, first, kSumIds);
    form_gradients<T>(a, map, use, gradients, first, ids, g, nullptr);
    add_product<T, Number>(
        {g, 1, rows.columns, nullptr, nullptr, 0, rows.count, ids, 0}, a.weight, [&](int64_t k) { return first + k; },
        a.D, side.part.get(), sums);
  }
  sums.settle();
  for (int64_t r = 0; r < rows.count; ++r)
    sums.read(r, a.D, [&](int64_t d, double sum) { store(grad, rows.row[r] * a.D + d, sum); });
  for (n = begin; n < end; ++n)
    for (int64_t d = 0; d < a.D && !kept(a.mask, n); ++d) store(grad, n * a.D + d, 0);
  return SRP_OK;
}

// Of kSumIds ids at most.
template <class T, class Operand>
srp_status head_gradient(const srp_linear_backward_args& a, int64_t first, int64_t end) {
  using Number = NumberOf<Operand>;
  const int64_t ids = end - first;
  ChunkBuffers<Operand> use(a.D, kHeadChunk, Arithmetic<Operand>::kLogits);
  Rows& rows = use.rows;
  const GradientBuffers<Number> side(kHeadChunk, kHeadChunk);
  const RowGradients<Number> gradients(kHeadChunk);
  const PanelSums<Number> sums(a.grad_weight ? ids : 0, a.D);
  if (use.failed() || side.failed() || sums.failed() || gradients.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);

  double of_bias[kSumIds] = {};
  sums.clear();
  for (int64_t n = 0; n < a.N;) {
    rows.take<Operand>(a.mask, n, a.N);
    if (rows.count == 0) break;
    pack_rows<T>(a.hidden, rows, a.D, use.packed.get());
    gradients.template take<T>(a, rows);
    Number* const g = side.g.get();
    form_gradients<T>(a, map, use, gradients, first, ids, g, a.grad_bias ? of_bias : nullptr);
    if (a.grad_weight)
      add_product<T, Number>(
          {g, rows.columns, 1, nullptr, nullptr, 0, ids, rows.count, 0}, a.hidden,
          [&](int64_t k) { return rows.row[k]; }, a.D, side.part.get(), sums);
  }
  sums.settle();
  for (int64_t j = 0; j < ids; ++j) {
    if (a.grad_weight)
      sums.read(j, a.D, [&](int64_t d, double sum) { store_sum<T>(a, a.grad_weight, (first + j) * a.D + d, sum); });
    if (a.grad_bias) store_sum<T>(a, a.grad_bias, first + j, of_bias[j]);
  }
  return SRP_OK;
}

template <class T>
void clear_from(void* out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) store(static_cast<Wide<T>*>(out), i, 0);
}

template <class T>
srp_status backward(const srp_linear_backward_args& a) {
  SRP_TRY(with_operand<T>(a, [&](auto operand) {
    using Operand = decltype(operand);
    if (a.grad_hidden && a.N > 0)
      SRP_TRY(parallel_pieces(a.N, piece_rows<Operand>(a),
                              [&](int64_t begin, int64_t end) { return hidden_gradient<T, Operand>(a, begin, end); }));
    if (!a.grad_weight && !a.grad_bias) return SRP_OK;
    return parallel_pieces(a.V, kSumIds,
                           [&](int64_t begin, int64_t end) { return head_gradient<T, Operand>(a, begin, end); });
  }));
  if (a.grad_weight && !a.accumulate) clear_from<T>(a.grad_weight, a.V * a.D, a.padded * a.D);
  if (a.grad_bias && !a.accumulate) clear_from<T>(a.grad_bias, a.V, a.padded);
  return SRP_OK;
}

}  // namespace
}  // namespace linear

srp_status linear_backward(srp_queue*, const srp_linear_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->grad_log_probs ? 1 : 0, a->vocab_size));
  if (a->dtype == SRP_F32) return linear::backward<float>(*a);
  if (a->dtype == SRP_F64) return linear::backward<double>(*a);
  return a->dtype == SRP_F16 ? linear::backward<Half>(*a) : linear::backward<BFloat16>(*a);
}

}  // namespace srp::cpu
