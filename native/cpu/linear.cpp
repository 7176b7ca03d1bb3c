// The linear head (contract: surprisal/linear.h), in float64: kept rows as the lanes of panels, ids in blocks, their logits
// [ids, rows] at a time. Every sum runs upwards in its own lane, so neither block nor chunk changes a bit.
#include <memory>
#include <new>

#include "backend.h"
#include "linear_portable.h"
#include "pool.h"
#include "shared/linear.h"

namespace srp::cpu {
namespace {

constexpr int64_t kIds = 128;  // a block of ids
constexpr int64_t kDepth = 128;  // of hidden and weight at a time: a block of weight that stays in the cache
constexpr int64_t kChunk =
    264;  // rows that stay in the cache while the weights of the head are read: a multiple of every panel's width
constexpr int64_t kHeadChunk = 192;  // the same beside the sums of a block of the head's gradient

const HeadKernels& head() { return kernels() ? kernels()->head : kPortableHead; }

// An array that begins at a multiple of 64 bytes: loading a register from two cache lines takes twice the time.
class Buffer {
 public:
  explicit Buffer(int64_t count) : memory_(new (std::nothrow) double[static_cast<size_t>(count + kLine)]) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory_.get());
    first_ = memory_.get() + (64 - at % 64) % 64 / sizeof(double);
  }
  bool failed() const { return !memory_; }
  double* get() const { return first_; }
  void clear(int64_t count) const {
    for (int64_t i = 0; i < count; ++i) first_[i] = 0;
  }

 private:
  static constexpr int64_t kLine = 8;

  std::unique_ptr<double[]> memory_;
  double* first_;
};

srp_status out_of_memory(int64_t D) {
  return fail(SRP_OUT_OF_MEMORY, "out of memory: rows of %lld numbers", static_cast<long long>(D));
}

int64_t in_lanes(int64_t count) { return (count + head().lanes - 1) / head().lanes * head().lanes; }

// Calls run(first, width) for each panel of that many columns, a multiple of the lanes.
template <class Run>
void for_panels(int64_t columns, const Run& run) {
  const int64_t most = kPanelVectors * head().lanes;
  for (int64_t first = 0; first < columns; first += most) run(first, columns - first < most ? columns - first : most);
}

// Kept rows of a chunk.
struct Rows {
  explicit Rows(int64_t most) : row(new (std::nothrow) int64_t[static_cast<size_t>(most)]), most(most) {}

  const std::unique_ptr<int64_t[]> row;
  const int64_t most;
  int64_t count = 0, columns = 0;  // columns: with the empty lanes behind

  // Takes the next kept rows from n on and before `end`, and moves n behind them.
  void take(const uint8_t* mask, int64_t& n, int64_t end) {
    for (count = 0; n < end && count < most; ++n)
      if (kept(mask, n)) row[count++] = n;
    columns = in_lanes(count);
  }
};

// The rows' hidden as panels [D, width]; lanes without a row are 0.
template <class T>
void pack_rows(const void* hidden, const Rows& rows, int64_t D, double* packed) {
  constexpr int64_t kStep = 16;
  for_panels(rows.columns, [&](int64_t first, int64_t width) {
    double* const panel = packed + first * D;
    for (int64_t begin = 0; begin < D; begin += kStep) {
      const int64_t end = begin + kStep < D ? begin + kStep : D;
      for (int64_t r = 0; r < width; ++r) {
        const bool there = first + r < rows.count;
        const T* const h = static_cast<const T*>(hidden) + (there ? rows.row[first + r] : 0) * D;
        for (int64_t d = begin; d < end; ++d) panel[d * width + r] = there ? load(h, d) : 0;
      }
    }
  });
}

// `width` columns from d on of rows at(0), at(1) ... as [count, width]; 0 from D on. Rows lie a page apart, so the
// processor cannot prefetch the next one.
template <class T, class At>
void pack_columns(const void* from, const At& at, int64_t count, int64_t D, int64_t d, int64_t width, double* packed) {
  constexpr int64_t kAhead = 4;
  const int64_t there = D - d < width ? D - d : width;
  const auto row = [&](int64_t k) { return static_cast<const T*>(from) + at(k < count ? k : count - 1) * D + d; };
  for (int64_t k = 0; k < count; ++k) {
    head().widening.of<T>().widen(row(k), row(k + kAhead), there, packed + k * width);
    for (int64_t i = there; i < width; ++i) packed[k * width + i] = 0;
  }
}

// Logits [ids, columns] of the ids from `first` on. `weight` has room for a block.
template <class T, class Args>
void form_logits(const Args& a, const double* packed, int64_t columns, int64_t first, int64_t ids, double* weight,
                 double* x) {
  for (int64_t i = 0; i < ids * columns; ++i) x[i] = 0;
  for (int64_t begin = 0; begin < a.D; begin += kDepth) {
    const int64_t depth = a.D - begin < kDepth ? a.D - begin : kDepth;
    pack_columns<T>(a.weight, [&](int64_t k) { return first + k; }, ids, a.D, begin, depth, weight);
    for_panels(columns, [&](int64_t column, int64_t width) {
      const double* const panel = packed + column * a.D + begin * width;
      head().product({weight, depth, 1, panel, x + column, columns, ids, depth, width});
    });
  }
  if (!a.bias) return;
  for (int64_t j = 0; j < ids; ++j) {
    const double shift = load(static_cast<const T*>(a.bias), first + j);
    for (int64_t r = 0; r < columns; ++r) x[j * columns + r] += shift;
  }
}

// sums [rows, columns of D] += a b, with b the rows at(0) ... of `from`.
template <class T, class At>
void add_product(Product p, const void* from, const At& at, int64_t D, double* packed, double* sums) {
  for_panels(in_lanes(D), [&](int64_t d, int64_t width) {
    pack_columns<T>(from, at, p.depth, D, d, width, packed);
    p.b = packed;
    p.c = sums + d;
    p.c_step = in_lanes(D);
    p.columns = width;
    head().product(p);
  });
}

template <class Args>
int64_t ids_of_block(const Args& a, int64_t first) {
  return a.V - first < kIds ? a.V - first : kIds;
}

// Rows of a piece: as many as stay in the cache, but few enough for every thread to get a piece. No bit of a result depends on it.
template <class Args>
int64_t piece_rows(const Args& a) {
  const int64_t lanes = head().lanes, panel = kPanelVectors * lanes;
  const int64_t share = (a.N / threads_of_call() + panel - 1) / panel * panel;
  return chunk_rows(a.chunk_rows, share < lanes ? lanes : share < kChunk ? share : kChunk, lanes, a.N);
}

// Memory of a chunk of rows: hidden as panels, a block of weight, logits.
struct ChunkBuffers {
  ChunkBuffers(int64_t D, int64_t most_rows)
      : rows(most_rows), packed(in_lanes(most_rows) * D), weight(kIds * kDepth), logits(kIds * in_lanes(most_rows)) {}
  bool failed() const { return !rows.row || packed.failed() || weight.failed() || logits.failed(); }

  Rows rows;
  const Buffer packed, weight, logits;
};

// ---- forward

template <class T>
srp_status forward_piece(const srp_linear_forward_args& a, int64_t begin, int64_t end) {
  const LogitMap map = LogitMap::of(a);
  ChunkBuffers use(a.D, end - begin);
  Rows& rows = use.rows;
  const Buffer at_target(end - begin);
  const std::unique_ptr<RowSums[]> sums(new (std::nothrow) RowSums[static_cast<size_t>(end - begin)]);
  if (use.failed() || at_target.failed() || !sums) return out_of_memory(a.D);

  int64_t n = begin;
  rows.take(a.mask, n, end);
  pack_rows<T>(a.hidden, rows, a.D, use.packed.get());
  for (int64_t r = 0; r < rows.count; ++r) sums[r] = no_sums(-INFINITY);
  at_target.clear(rows.count);
  for (int64_t first = 0; first < a.V && rows.count > 0; first += kIds) {
    const int64_t ids = ids_of_block(a, first);
    double* const x = use.logits.get();
    form_logits<T>(a, use.packed.get(), rows.columns, first, ids, use.weight.get(), x);
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
srp_status forward_rows(const srp_linear_forward_args& a) {
  if (a.N == 0) return SRP_OK;  // N = 0 fits in memory with any D
  return parallel_pieces(a.N, piece_rows(a),
                         [&](int64_t begin, int64_t end) { return forward_piece<T>(a, begin, end); });
}

// ---- backward

// What the rows of a chunk have in common with their gradients, to a multiple of the lanes.
class RowGradients {
 public:
  explicit RowGradients(int64_t most)
      : rows_(new (std::nothrow) RowGradient[static_cast<size_t>(in_lanes(most))]),
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

template <class T>
srp_status hidden_gradient(const srp_linear_backward_args& a, int64_t begin, int64_t end) {
  ChunkBuffers use(a.D, end - begin);
  Rows& rows = use.rows;
  const int64_t width = in_lanes(a.D);
  const Buffer sums((end - begin) * width), part(kIds * kPanelVectors * head().lanes);
  const RowGradients gradients(end - begin);
  if (use.failed() || sums.failed() || part.failed() || gradients.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);
  T* const grad = static_cast<T*>(a.grad_hidden);

  int64_t n = begin;
  rows.take(a.mask, n, end);
  pack_rows<T>(a.hidden, rows, a.D, use.packed.get());
  gradients.take<T>(a, rows);
  sums.clear(rows.count * width);
  for (int64_t first = 0; first < a.V && rows.count > 0; first += kIds) {
    const int64_t ids = ids_of_block(a, first);
    double* const g = use.logits.get();
    form_logits<T>(a, use.packed.get(), rows.columns, first, ids, use.weight.get(), g);
    gradients.form(map, rows, first, ids, g);
    add_product<T>(
        {g, 1, rows.columns, nullptr, nullptr, 0, rows.count, ids, 0}, a.weight, [&](int64_t k) { return first + k; },
        a.D, part.get(), sums.get());
  }
  for (int64_t r = 0; r < rows.count; ++r)
    for (int64_t d = 0; d < a.D; ++d) store(grad, rows.row[r] * a.D + d, sums.get()[r * width + d]);
  for (n = begin; n < end; ++n)
    for (int64_t d = 0; d < a.D && !kept(a.mask, n); ++d) store(grad, n * a.D + d, 0);
  return SRP_OK;
}

// A block of ids.
template <class T>
srp_status head_gradient(const srp_linear_backward_args& a, int64_t first, int64_t end) {
  const int64_t width = in_lanes(a.D), ids = end - first;
  ChunkBuffers use(a.D, kHeadChunk);
  Rows& rows = use.rows;
  const Buffer sums(a.grad_weight ? ids * width : 0), part(kHeadChunk * kPanelVectors * head().lanes);
  const RowGradients gradients(kHeadChunk);
  if (use.failed() || sums.failed() || part.failed() || gradients.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);

  double of_bias[kIds] = {};
  if (a.grad_weight) sums.clear(ids * width);
  for (int64_t n = 0; n < a.N;) {
    rows.take(a.mask, n, a.N);
    if (rows.count == 0) break;
    pack_rows<T>(a.hidden, rows, a.D, use.packed.get());
    gradients.take<T>(a, rows);
    double* const g = use.logits.get();
    form_logits<T>(a, use.packed.get(), rows.columns, first, ids, use.weight.get(), g);
    gradients.form(map, rows, first, ids, g);
    if (a.grad_weight)
      add_product<T>(
          {g, rows.columns, 1, nullptr, nullptr, 0, ids, rows.count, 0}, a.hidden,
          [&](int64_t k) { return rows.row[k]; }, a.D, part.get(), sums.get());
    for (int64_t j = 0; j < ids && a.grad_bias; ++j)
      for (int64_t r = 0; r < rows.count; ++r) of_bias[j] += g[j * rows.columns + r];
  }
  for (int64_t j = 0; j < ids; ++j) {
    for (int64_t d = 0; d < a.D && a.grad_weight; ++d)
      store_sum<T>(a, a.grad_weight, (first + j) * a.D + d, sums.get()[j * width + d]);
    if (a.grad_bias) store_sum<T>(a, a.grad_bias, first + j, of_bias[j]);
  }
  return SRP_OK;
}

template <class T>
void clear_from(void* out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) store(static_cast<Wide<T>*>(out), i, 0);
}

template <class T>
srp_status backward_rows(const srp_linear_backward_args& a) {
  if (a.grad_hidden && a.N > 0)
    SRP_TRY(parallel_pieces(a.N, piece_rows(a),
                            [&](int64_t begin, int64_t end) { return hidden_gradient<T>(a, begin, end); }));
  if (a.grad_weight || a.grad_bias)
    SRP_TRY(parallel_pieces(a.V, kIds, [&](int64_t begin, int64_t end) { return head_gradient<T>(a, begin, end); }));
  if (a.grad_weight && !a.accumulate) clear_from<T>(a.grad_weight, a.V * a.D, a.padded * a.D);
  if (a.grad_bias && !a.accumulate) clear_from<T>(a.grad_bias, a.V, a.padded);
  return SRP_OK;
}

}  // namespace

srp_status linear_forward(srp_queue*, const srp_linear_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->log_probs ? 1 : 0, a->V));
  if (a->dtype == SRP_F32) return forward_rows<float>(*a);
  if (a->dtype == SRP_F64) return forward_rows<double>(*a);
  return a->dtype == SRP_F16 ? forward_rows<Half>(*a) : forward_rows<BFloat16>(*a);
}

srp_status linear_backward(srp_queue*, const srp_linear_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->grad_log_probs ? 1 : 0, a->V));
  if (a->dtype == SRP_F32) return backward_rows<float>(*a);
  if (a->dtype == SRP_F64) return backward_rows<double>(*a);
  return a->dtype == SRP_F16 ? backward_rows<Half>(*a) : backward_rows<BFloat16>(*a);
}

}  // namespace srp::cpu
