// Logits of a linear head: kept rows as the lanes of panels, ids in blocks, their logits [ids, rows] at a time. Every sum runs upwards in
// its own lane, so neither block nor chunk changes a bit.
#ifndef SURPRISAL_CPU_LINEAR_LOGITS_H
#define SURPRISAL_CPU_LINEAR_LOGITS_H

#include "linear_operands.h"
#include "pool.h"
#include "shared/linear.h"

namespace srp::cpu::linear {

// Kept rows of a chunk.
struct Rows {
  explicit Rows(int64_t most) : row(new (std::nothrow) int64_t[static_cast<size_t>(most)]), most(most) {}

  const std::unique_ptr<int64_t[]> row;
  const int64_t most;
  int64_t count = 0, columns = 0;  // columns: with the empty lanes behind

  // Takes the next kept rows from n on and before `end`, and moves n behind them.
  template <class Operand>
  void take(const uint8_t* mask, int64_t& n, int64_t end) {
    for (count = 0; n < end && count < most; ++n)
      if (kept(mask, n)) row[count++] = n;
    columns = in_lanes<Operand>(count);
  }
};

// `there` numbers and 0 behind them to `count`, as operands, while as many from `next` on, an address that is never read, come nearer.
template <class T, class Operand>
void take_terms(const T* from, const T* next, int64_t there, int64_t count, Operand* to) {
  if constexpr (std::is_same_v<Operand, BFloat16Pair>) {
    constexpr int64_t kLine = 64 / sizeof(T);
    static_assert(sizeof(BFloat16Pair) == 2 * sizeof(T), "");
    for (int64_t i = 0; i < there; i += kLine) __builtin_prefetch(next + i);
    memcpy(static_cast<void*>(to), from, static_cast<size_t>(there) * sizeof(T));
    memset(reinterpret_cast<T*>(to) + there, 0, static_cast<size_t>(count - there) * sizeof(T));
  } else {
    head().widening.of<T>().convert(from, next, there, to);
    for (int64_t i = there; i < count; ++i) to[i] = 0;
  }
}

// Rows first ... first + width - 1 as a panel, a piece of every row at a time.
template <class T, class Operand>
void interleave_rows(const void* hidden, const Rows& rows, int64_t first, int64_t width, int64_t D, Operand* panel) {
  constexpr int64_t kOperands = 16, kPiece = kOperands * Arithmetic<Operand>::kTerms, kMostWidth = 64;
  static_assert(kPiece % Arithmetic<Operand>::kStep == 0, "");
  alignas(64) Operand piece[kMostWidth * kOperands];
  for (int64_t begin = 0; begin < D; begin += kPiece) {
    const int64_t there = D - begin < kPiece ? D - begin : kPiece, terms = in_steps<Operand>(there);
    const int64_t depth = terms / Arithmetic<Operand>::kTerms;
    for (int64_t r = 0; r < width; ++r) {
      const bool kept = first + r < rows.count;
      const T* const h = static_cast<const T*>(hidden) + (kept ? rows.row[first + r] : 0) * D + begin;
      take_terms<T>(h, h + kPiece, kept ? there : 0, terms, piece + r * depth);
    }
    head().interleave(piece, width, depth, panel + begin / Arithmetic<Operand>::kTerms * width);
  }
}

// The rows' hidden as panels [D in steps, width]; lanes without a row are 0, as what is beyond D.
template <class T, class Operand>
void pack_rows(const void* hidden, const Rows& rows, int64_t D, Operand* packed) {
  constexpr int64_t kStep = 16;
  const int64_t depth = in_steps<Operand>(D) / Arithmetic<Operand>::kTerms;
  for_panels<Operand>(rows.columns, [&](int64_t first, int64_t width) {
    Operand* const panel = packed + first * depth;
    if constexpr (!std::is_same_v<Operand, double>)
      return interleave_rows<T>(hidden, rows, first, width, D, panel);
    else
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
template <class T, class Operand, class At>
void pack_columns(const void* from, const At& at, int64_t count, int64_t D, int64_t d, int64_t width, Operand* packed) {
  constexpr int64_t kAhead = 4;
  const int64_t there = D - d < width ? D - d : width;
  const auto row = [&](int64_t k) { return static_cast<const T*>(from) + at(k < count ? k : count - 1) * D + d; };
  for (int64_t k = 0; k < count; ++k)
    take_terms<T>(row(k), row(k + kAhead), there, width, packed + k * width / Arithmetic<Operand>::kTerms);
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
template <class T, class Operand, class Args>
void form_logits(const Args& a, const Operand* packed, const Rows& rows, int64_t first, int64_t ids, Operand* weight,
                 double* x) {
  using Form = Arithmetic<Operand>;
  const int64_t columns = rows.columns;
  for (int64_t i = 0; i < ids * columns; ++i) x[i] = 0;
  const int64_t D = in_steps<Operand>(a.D);
  for (int64_t begin = 0; begin < D; begin += kDepth) {
    const int64_t terms = D - begin < kDepth ? D - begin : kDepth, depth = terms / Form::kTerms;
    pack_columns<T>(a.weight, [&](int64_t k) { return first + k; }, ids, a.D, begin, terms, weight);
    const NextBlock next = NextBlock::after(a, first, begin);
    for_panels<Operand>(columns, [&](int64_t column, int64_t width) {
      next.prefetch<T>(a, column, width, columns);
      const Operand* const panel = packed + (column * D + begin * width) / Form::kTerms;
      Form::product({weight, depth, 1, panel, x + column, columns, ids, depth, width});
    });
  }
  if (!Form::settle(x, ids * columns)) replace_odd_logits<T>(a, rows, first, ids, x);
  if (!a.bias) return;
  for (int64_t j = 0; j < ids; ++j) {
    const double shift = load(static_cast<const T*>(a.bias), first + j);
    for (int64_t r = 0; r < columns; ++r) x[j * columns + r] += shift;
  }
}

template <class Args>
int64_t ids_of_block(const Args& a, int64_t first, int64_t most = kIds) {
  return a.V - first < most ? a.V - first : most;
}

// Rows of a piece: as many as stay in the cache, but few enough for every thread to get a piece. No bit of a result depends on it.
template <class Operand, class Args>
int64_t piece_rows(const Args& a) {
  constexpr int64_t kMost = Arithmetic<Operand>::kChunk;
  const int64_t lanes = Arithmetic<Operand>::lanes(), panel = panel_width<Operand>();
  const int64_t share = (a.N / threads_of_call() + panel - 1) / panel * panel;
  return chunk_rows(a.chunk_rows, share < lanes ? lanes : share < kMost ? share : kMost, lanes, a.N);
}

// Memory of a chunk of rows: hidden as panels, a block of weight, logits.
template <class Operand>
struct ChunkBuffers {
  ChunkBuffers(int64_t D, int64_t most_rows, int64_t logit_rows = kIds)
      : rows(most_rows),
        packed(in_lanes<Operand>(most_rows) * in_steps<Operand>(D) / Arithmetic<Operand>::kTerms),
        weight(kIds * kDepth / Arithmetic<Operand>::kTerms),
        logits(logit_rows * in_lanes<Operand>(most_rows)) {}
  bool failed() const { return !rows.row || packed.failed() || weight.failed() || logits.failed(); }

  Rows rows;
  const Buffer<Operand> packed, weight;
  const Buffer<double> logits;
};

}  // namespace srp::cpu::linear

#endif
