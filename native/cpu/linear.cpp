// The linear head (contract: surprisal/linear.h): kept rows as the lanes of panels, ids in blocks, their logits [ids, rows] at a
// time. Every sum runs upwards in its own lane, so neither block nor chunk changes a bit. `Number` is what products are
// formed in, float or double; logits and what becomes of them are float64.
#include <memory>
#include <new>
#include <type_traits>

#include "backend.h"
#include "linear_portable.h"
#include "pool.h"
#include "shared/linear.h"

namespace srp::cpu {
namespace {

constexpr int64_t kIds = 128;  // a block of ids, whose logits stay in the cache
constexpr int64_t kSumIds = 256;  // ids between which the sums of gradients are in memory: several blocks
constexpr int64_t kDepth = 128;  // of hidden and weight at a time: a block of weight that stays in the cache
constexpr int64_t kHeadChunk = 256;  // rows that stay in the cache beside the sums of a block of the head's gradient
static_assert(kSumIds % kIds == 0 && kIds % (kRun * kRuns) == 0 && kDepth % (kRun * kRuns) == 0 &&
                  kHeadChunk % (kRun * kRuns) == 0,
              "runs of terms lie at the same places");

const HeadKernels& head() { return kernels() ? kernels()->head : kPortableHead; }

// An array that begins at a multiple of 64 bytes: loading a register from two cache lines takes twice the time.
template <class Number>
class Buffer {
 public:
  explicit Buffer(int64_t count) : memory_(new (std::nothrow) Number[static_cast<size_t>(count + kLine)]) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory_.get());
    first_ = memory_.get() + (64 - at % 64) % 64 / sizeof(Number);
  }
  bool failed() const { return !memory_; }
  Number* get() const { return first_; }
  void clear(int64_t count) const {
    for (int64_t i = 0; i < count; ++i) first_[i] = 0;
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(Number);

  std::unique_ptr<Number[]> memory_;
  Number* first_;
};

// Products of doubles: sums are doubles.
template <class Number>
struct Arithmetic {
  // Rows that stay in the cache while the weights of the head are read, without and beside the sums of their gradients: a multiple of
  // every panel's width.
  static constexpr int64_t kChunk = 264, kSumChunk = 264;
  static constexpr int64_t kStep = 1;  // terms of a product are a multiple of
  static int64_t lanes() { return head().lanes; }
  static void product(const Product<double>& p) { head().product(p); }
  static bool settle(double*, int64_t) { return true; }
  static constexpr int64_t kLogits = 0;  // of a block beside its gradients
  static double* place_of(double*, double* g) { return g; }
  static void keep_gradients(const double*, int64_t, int64_t, double*) {}
};

template <>
struct Arithmetic<float> {
  static constexpr int64_t kChunk = 288, kSumChunk = 288;
  static constexpr int64_t kStep = kSteps;
  static int64_t lanes() { return head().float_lanes; }
  static void product(const Product<float>& p) { head().float_product(p); }
  static bool settle(double* sums, int64_t count) { return head().settle(sums, count); }
  static constexpr int64_t kLogits = kIds;
  static double* place_of(double* logits, float*) { return logits; }
  // Of [ids, columns], with ids of 0 to a whole step.
  static void keep_gradients(const double* x, int64_t ids, int64_t columns, float* g) {
    head().narrow(x, ids * columns, g);
    for (int64_t i = ids * columns; i < (ids + kStep - 1) / kStep * kStep * columns; ++i) g[i] = 0;
  }
};

srp_status out_of_memory(int64_t D) {
  return fail(SRP_OUT_OF_MEMORY, "out of memory: rows of %lld numbers", static_cast<long long>(D));
}

template <class Number>
int64_t in_lanes(int64_t count) {
  const int64_t lanes = Arithmetic<Number>::lanes();
  return (count + lanes - 1) / lanes * lanes;
}

template <class Number>
int64_t in_steps(int64_t count) {
  constexpr int64_t kStep = Arithmetic<Number>::kStep;
  return (count + kStep - 1) / kStep * kStep;
}

template <class Number>
int64_t panel_width() {
  return kPanelVectors * Arithmetic<Number>::lanes();
}

// Calls run(first, width) for each panel of that many columns, a multiple of the lanes.
template <class Number, class Run>
void for_panels(int64_t columns, const Run& run) {
  const int64_t most = panel_width<Number>();
  for (int64_t first = 0; first < columns; first += most) run(first, columns - first < most ? columns - first : most);
}

// Kept rows of a chunk.
struct Rows {
  explicit Rows(int64_t most) : row(new (std::nothrow) int64_t[static_cast<size_t>(most)]), most(most) {}

  const std::unique_ptr<int64_t[]> row;
  const int64_t most;
  int64_t count = 0, columns = 0;  // columns: with the empty lanes behind

  // Takes the next kept rows from n on and before `end`, and moves n behind them.
  template <class Number>
  void take(const uint8_t* mask, int64_t& n, int64_t end) {
    for (count = 0; n < end && count < most; ++n)
      if (kept(mask, n)) row[count++] = n;
    columns = in_lanes<Number>(count);
  }
};

// Rows first ... first + width - 1 as a panel, a piece of every row at a time.
template <class T>
void interleave_rows(const void* hidden, const Rows& rows, int64_t first, int64_t width, int64_t D, float* panel) {
  constexpr int64_t kPiece = 16, kMostWidth = 64;
  static_assert(kPiece % kSteps == 0, "");
  alignas(64) float piece[kMostWidth * kPiece];
  for (int64_t begin = 0; begin < D; begin += kPiece) {
    const int64_t there = D - begin < kPiece ? D - begin : kPiece, depth = in_steps<float>(there);
    for (int64_t r = 0; r < width; ++r) {
      float* const to = piece + r * depth;
      const bool kept = first + r < rows.count;
      const T* const h = static_cast<const T*>(hidden) + (kept ? rows.row[first + r] : 0) * D + begin;
      if (kept) head().widening.of<T>().convert(h, h + kPiece, there, to);
      for (int64_t d = kept ? there : 0; d < depth; ++d) to[d] = 0;
    }
    head().interleave(piece, width, depth, panel + begin * width);
  }
}

// The rows' hidden as panels [D in steps, width]; lanes without a row are 0, as what is beyond D.
template <class T, class Number>
void pack_rows(const void* hidden, const Rows& rows, int64_t D, Number* packed) {
  constexpr int64_t kStep = 16;
  const int64_t depth = in_steps<Number>(D);
  for_panels<Number>(rows.columns, [&](int64_t first, int64_t width) {
    Number* const panel = packed + first * depth;
    for (int64_t i = D * width; i < depth * width; ++i) panel[i] = 0;
    if constexpr (std::is_same_v<Number, float>) return interleave_rows<T>(hidden, rows, first, width, D, panel);
    for (int64_t begin = 0; begin < D; begin += kStep) {
      const int64_t end = begin + kStep < D ? begin + kStep : D;
      for (int64_t r = 0; r < width; ++r) {
        const bool there = first + r < rows.count;
        const T* const h = static_cast<const T*>(hidden) + (there ? rows.row[first + r] : 0) * D;
        for (int64_t d = begin; d < end; ++d) panel[d * width + r] = static_cast<Number>(there ? load(h, d) : 0);
      }
    }
  });
}

// `width` columns from d on of rows at(0), at(1) ... as [count, width]; 0 from D on. Rows lie a page apart, so the
// processor cannot prefetch the next one.
template <class T, class Number, class At>
void pack_columns(const void* from, const At& at, int64_t count, int64_t D, int64_t d, int64_t width, Number* packed) {
  constexpr int64_t kAhead = 4;
  const int64_t there = D - d < width ? D - d : width;
  const auto row = [&](int64_t k) { return static_cast<const T*>(from) + at(k < count ? k : count - 1) * D + d; };
  for (int64_t k = 0; k < count; ++k) {
    head().widening.of<T>().convert(row(k), row(k + kAhead), there, packed + k * width);
    for (int64_t i = there; i < width; ++i) packed[k * width + i] = 0;
  }
}

// A logit without its bias, for what is beyond the range of float32.
template <class T, class Args>
double wide_logit(const Args& a, int64_t n, int64_t j) {
  const T *const h = static_cast<const T*>(a.hidden) + n * a.D, *const w = static_cast<const T*>(a.weight) + j * a.D;
  double sum = 0;
  for (int64_t d = 0; d < a.D && sum == sum; ++d) sum += static_cast<double>(load(h, d)) * load(w, d);
  return sum;
}

template <class T, class Args>
void replace_odd_logits(const Args& a, const Rows& rows, int64_t first, int64_t ids, double* x) {
  for (int64_t j = 0; j < ids; ++j)
    for (int64_t r = 0; r < rows.count; ++r) {
      double& at = x[j * rows.columns + r];
      if (!(at - at == 0)) at = wide_logit<T>(a, rows.row[r], first + j);
    }
}

// The block of weight after one. It comes nearer while products are formed, which do not wait for memory as a copy would.
struct NextBlock {
  int64_t id, ids, d, depth;

  template <class Args>
  static NextBlock after(const Args& a, int64_t first, int64_t begin) {
    const bool further = begin + kDepth < a.D;
    const int64_t id = further ? first : first + kIds, d = further ? begin + kDepth : 0;
    return {id, a.V - id < kIds ? a.V - id : kIds, d, a.D - d < kDepth ? a.D - d : kDepth};
  }

  // The share of it that `width` of `columns` have.
  template <class T, class Args>
  void prefetch(const Args& a, int64_t column, int64_t width, int64_t columns) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    const T* const from = static_cast<const T*>(a.weight) + id * a.D + d;
    for (int64_t k = ids * column / columns; k < ids * (column + width) / columns; ++k)
      for (int64_t i = 0; i < depth; i += kLine) __builtin_prefetch(from + k * a.D + i, 0, 2);
  }
};

// Logits [ids, columns] of the ids from `first` on. `weight` has room for a block.
template <class T, class Number, class Args>
void form_logits(const Args& a, const Number* packed, const Rows& rows, int64_t first, int64_t ids, Number* weight,
                 double* x) {
  const int64_t columns = rows.columns;
  for (int64_t i = 0; i < ids * columns; ++i) x[i] = 0;
  const int64_t D = in_steps<Number>(a.D);
  for (int64_t begin = 0; begin < D; begin += kDepth) {
    const int64_t depth = D - begin < kDepth ? D - begin : kDepth;
    pack_columns<T>(a.weight, [&](int64_t k) { return first + k; }, ids, a.D, begin, depth, weight);
    const NextBlock next = NextBlock::after(a, first, begin);
    for_panels<Number>(columns, [&](int64_t column, int64_t width) {
      next.prefetch<T>(a, column, width, columns);
      const Number* const panel = packed + column * D + begin * width;
      Arithmetic<Number>::product({weight, depth, 1, panel, x + column, columns, ids, depth, width});
    });
  }
  if (!Arithmetic<Number>::settle(x, ids * columns)) replace_odd_logits<T>(a, rows, first, ids, x);
  if (!a.bias) return;
  for (int64_t j = 0; j < ids; ++j) {
    const double shift = load(static_cast<const T*>(a.bias), first + j);
    for (int64_t r = 0; r < columns; ++r) x[j * columns + r] += shift;
  }
}

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

template <class Args>
int64_t ids_of_block(const Args& a, int64_t first, int64_t most = kIds) {
  return a.V - first < most ? a.V - first : most;
}

// Rows of a piece: as many as stay in the cache, but few enough for every thread to get a piece. No bit of a result depends on it.
template <class Number, class Args>
int64_t piece_rows(const Args& a, int64_t most) {
  const int64_t lanes = Arithmetic<Number>::lanes(), panel = panel_width<Number>();
  const int64_t share = (a.N / threads_of_call() + panel - 1) / panel * panel;
  return chunk_rows(a.chunk_rows, share < lanes ? lanes : share < most ? share : most, lanes, a.N);
}

// Memory of a chunk of rows: hidden as panels, a block of weight, logits.
template <class Number>
struct ChunkBuffers {
  ChunkBuffers(int64_t D, int64_t most_rows, int64_t logit_rows = kIds)
      : rows(most_rows),
        packed(in_lanes<Number>(most_rows) * in_steps<Number>(D)),
        weight(kIds * kDepth),
        logits(logit_rows * in_lanes<Number>(most_rows)) {}
  bool failed() const { return !rows.row || packed.failed() || weight.failed() || logits.failed(); }

  Rows rows;
  const Buffer<Number> packed, weight;
  const Buffer<double> logits;
};

// Beside them in backward: gradients [kSumIds, columns] in the type of the products, and a panel of the product's other side.
template <class Number>
struct GradientBuffers {
  GradientBuffers(int64_t most_rows, int64_t depth)
      : g(kSumIds * in_lanes<Number>(most_rows)), part(depth * panel_width<Number>()) {}
  bool failed() const { return g.failed() || part.failed(); }

  const Buffer<Number> g, part;
};

// ---- forward

template <class T, class Number>
srp_status forward_piece(const srp_linear_forward_args& a, int64_t begin, int64_t end) {
  const LogitMap map = LogitMap::of(a);
  ChunkBuffers<Number> use(a.D, end - begin);
  Rows& rows = use.rows;
  const Buffer<double> at_target(end - begin);
  const std::unique_ptr<RowSums[]> sums(new (std::nothrow) RowSums[static_cast<size_t>(end - begin)]);
  if (use.failed() || at_target.failed() || !sums) return out_of_memory(a.D);

  int64_t n = begin;
  rows.take<Number>(a.mask, n, end);
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

// Whether products are of floats.
template <class T, class Args>
bool of_floats(const Args& a) {
  return sizeof(T) < sizeof(double) && a.sums != SRP_SUMS_FLOAT64 && head().float_lanes > 0;
}

template <class T, class Number>
srp_status forward_rows(const srp_linear_forward_args& a) {
  return parallel_pieces(a.N, piece_rows<Number>(a, Arithmetic<Number>::kChunk),
                         [&](int64_t begin, int64_t end) { return forward_piece<T, Number>(a, begin, end); });
}

template <class T>
srp_status forward(const srp_linear_forward_args& a) {
  if (a.N == 0) return SRP_OK;  // N = 0 fits in memory with any D
  return of_floats<T>(a) ? forward_rows<T, float>(a) : forward_rows<T, double>(a);
}

// ---- backward

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
template <class T, class Number>
void form_gradients(const srp_linear_backward_args& a, const LogitMap& map, const ChunkBuffers<Number>& use,
                    const RowGradients<Number>& gradients, int64_t first, int64_t ids, Number* factors,
                    double* of_bias) {
  using Form = Arithmetic<Number>;
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

template <class T, class Number>
srp_status hidden_gradient(const srp_linear_backward_args& a, int64_t begin, int64_t end) {
  ChunkBuffers<Number> use(a.D, end - begin, Arithmetic<Number>::kLogits);
  Rows& rows = use.rows;
  const GradientBuffers<Number> side(end - begin, kSumIds);
  const RowGradients<Number> gradients(end - begin);
  const PanelSums<Number> sums(end - begin, a.D);
  if (use.failed() || side.failed() || sums.failed() || gradients.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);
  T* const grad = static_cast<T*>(a.grad_hidden);

  int64_t n = begin;
  rows.take<Number>(a.mask, n, end);
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
template <class T, class Number>
srp_status head_gradient(const srp_linear_backward_args& a, int64_t first, int64_t end) {
  const int64_t ids = end - first;
  ChunkBuffers<Number> use(a.D, kHeadChunk, Arithmetic<Number>::kLogits);
  Rows& rows = use.rows;
  const GradientBuffers<Number> side(kHeadChunk, kHeadChunk);
  const RowGradients<Number> gradients(kHeadChunk);
  const PanelSums<Number> sums(a.grad_weight ? ids : 0, a.D);
  if (use.failed() || side.failed() || sums.failed() || gradients.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);

  double of_bias[kSumIds] = {};
  sums.clear();
  for (int64_t n = 0; n < a.N;) {
    rows.take<Number>(a.mask, n, a.N);
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

template <class T, class Number>
srp_status backward_sums(const srp_linear_backward_args& a) {
  if (a.grad_hidden && a.N > 0)
    SRP_TRY(parallel_pieces(a.N, piece_rows<Number>(a, Arithmetic<Number>::kSumChunk),
                            [&](int64_t begin, int64_t end) { return hidden_gradient<T, Number>(a, begin, end); }));
  if (!a.grad_weight && !a.grad_bias) return SRP_OK;
  return parallel_pieces(a.V, kSumIds,
                         [&](int64_t begin, int64_t end) { return head_gradient<T, Number>(a, begin, end); });
}

template <class T>
srp_status backward(const srp_linear_backward_args& a) {
  SRP_TRY((of_floats<T>(a) ? backward_sums<T, float>(a) : backward_sums<T, double>(a)));
  if (a.grad_weight && !a.accumulate) clear_from<T>(a.grad_weight, a.V * a.D, a.padded * a.D);
  if (a.grad_bias && !a.accumulate) clear_from<T>(a.grad_bias, a.V, a.padded);
  return SRP_OK;
}

}  // namespace

srp_status linear_forward(srp_queue*, const srp_linear_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->log_probs ? 1 : 0, a->V));
  if (a->dtype == SRP_F32) return forward<float>(*a);
  if (a->dtype == SRP_F64) return forward<double>(*a);
  return a->dtype == SRP_F16 ? forward<Half>(*a) : forward<BFloat16>(*a);
}

srp_status linear_backward(srp_queue*, const srp_linear_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->mask, a->N, a->grad_log_probs ? 1 : 0, a->vocab_size));
  if (a->dtype == SRP_F32) return backward<float>(*a);
  if (a->dtype == SRP_F64) return backward<double>(*a);
  return a->dtype == SRP_F16 ? backward<Half>(*a) : backward<BFloat16>(*a);
}

}  // namespace srp::cpu
