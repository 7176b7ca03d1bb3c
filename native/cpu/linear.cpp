// The linear head (contract: surprisal/linear.h), in float64: kept rows in tiles of 8, one in each lane of the inner loops;
// ids in blocks of 4. Every sum runs upwards in its own lane, so neither tile nor chunk changes a bit.
#include <memory>
#include <new>

#include "backend.h"
#include "pool.h"
#include "surprisal/linear_rows.h"

namespace srp::cpu {
namespace {

constexpr int kRows = 8;
constexpr int kIds = 4;
constexpr int64_t kChunk = 64;  // rows that stay in the cache while the head streams by
constexpr int64_t kHeadRows = 64;  // ids whose gradient is summed at a time

using Logits = double[kIds][kRows];

class Buffer {
 public:
  explicit Buffer(int64_t count) : memory_(new (std::nothrow) double[static_cast<size_t>(count)]) {}
  bool failed() const { return !memory_; }
  double* get() const { return memory_.get(); }

 private:
  std::unique_ptr<double[]> memory_;
};

srp_status out_of_memory(int64_t D) {
  return fail(SRP_OUT_OF_MEMORY, "out of memory: rows of %lld numbers", static_cast<long long>(D));
}

// Up to 8 kept rows.
struct Tile {
  int64_t row[kRows];
  int count = 0;
};

// The next kept rows from n on and before `end`, n behind them.
template <class Args>
Tile next_tile(const Args& a, int64_t& n, int64_t end) {
  Tile tile;
  for (; n < end && tile.count < kRows; ++n)
    if (kept(a.keep, n)) tile.row[tile.count++] = n;
  return tile;
}

template <class T>
void widen(const void* from, int64_t row, int64_t D, double* to) {
  const T* const x = static_cast<const T*>(from) + row * D;
  for (int64_t d = 0; d < D; ++d) to[d] = load(x, d);
}

// hidden of a tile as [D, 8]; lanes without a row are 0.
template <class T>
void widen_lanes(const void* hidden, const Tile& tile, int64_t D, double* lanes) {
  for (int r = 0; r < kRows; ++r) {
    const T* const h = static_cast<const T*>(hidden) + (r < tile.count ? tile.row[r] : 0) * D;
    for (int64_t d = 0; d < D; ++d) lanes[d * kRows + r] = r < tile.count ? load(h, d) : 0;
  }
}

// Weight rows [first, first + kIds) as [kIds, D]; ids from V on are 0.
template <class T, class Args>
void widen_ids(const Args& a, int64_t first, double* weight) {
  for (int i = 0; i < kIds; ++i) {
    if (first + i < a.V)
      widen<T>(a.weight, first + i, a.D, weight + i * a.D);
    else
      for (int64_t d = 0; d < a.D; ++d) weight[i * a.D + d] = 0;
  }
}

// Logits of 4 ids for the 8 rows of a tile.
template <class T, class Args>
void form_logits(const Args& a, const double* lanes, const double* weight, int64_t first, Logits x) {
  const int64_t D = a.D;
  double sum[kIds][kRows] = {};
  for (int64_t d = 0; d < D; ++d)
    for (int i = 0; i < kIds; ++i)
      for (int r = 0; r < kRows; ++r) sum[i][r] += lanes[d * kRows + r] * weight[i * D + d];
  const T* const bias = static_cast<const T*>(a.bias);
  for (int i = 0; i < kIds; ++i) {
    const double shift = bias && first + i < a.V ? load(bias, first + i) : 0;
    for (int r = 0; r < kRows; ++r) x[i][r] = sum[i][r] + shift;
  }
}

// Rows of a piece: as many as stay in the cache, or few enough for four pieces.
template <class Args>
int64_t piece_rows(const Args& a) {
  const int64_t quarter = a.N / 4 / kRows * kRows;
  const int64_t own = quarter < kRows ? kRows : quarter < kChunk ? quarter : kChunk;
  return chunk_rows(a.chunk, own, kRows, a.N);
}

// ---- forward

struct RunningRow {
  RowSums sums = no_sums(-INFINITY);
  double at_target = 0;
};

template <class T>
void add_logits(const srp_linear_forward_args& a, const LogitMap& map, const Tile& tile, int64_t first, const Logits x,
                RunningRow* rows) {
  for (int i = 0; i < kIds && first + i < a.V; ++i)
    for (int r = 0; r < tile.count; ++r) {
      rows[r].sums = with_logit(map, rows[r].sums, x[i][r]);
      if (a.logprob && a.targets[tile.row[r]] == first + i) rows[r].at_target = x[i][r];
    }
}

template <class T>
srp_status forward_piece(const srp_linear_forward_args& a, int64_t begin, int64_t end) {
  const LogitMap map = LogitMap::of(a);
  const int64_t tiles = (end - begin + kRows - 1) / kRows, lanes_of_tile = a.D * kRows;
  const Buffer lanes(tiles * lanes_of_tile), weight(kIds * a.D);
  const std::unique_ptr<Tile[]> tile(new (std::nothrow) Tile[static_cast<size_t>(tiles)]);
  const std::unique_ptr<RunningRow[]> rows(new (std::nothrow) RunningRow[static_cast<size_t>(tiles * kRows)]);
  if (lanes.failed() || weight.failed() || !tile || !rows) return out_of_memory(a.D);

  for (int64_t n = begin; n < end;) {
    int64_t used = 0;
    for (; used < tiles && n < end; ++used) {
      tile[used] = next_tile(a, n, end);
      widen_lanes<T>(a.hidden, tile[used], a.D, lanes.get() + used * lanes_of_tile);
    }
    for (int64_t r = 0; r < used * kRows; ++r) rows[r] = RunningRow();
    for (int64_t first = 0; first < a.V; first += kIds) {
      widen_ids<T>(a, first, weight.get());
      for (int64_t t = 0; t < used; ++t) {
        Logits x;
        form_logits<T>(a, lanes.get() + t * lanes_of_tile, weight.get(), first, x);
        add_logits<T>(a, map, tile[t], first, x, rows.get() + t * kRows);
      }
    }
    for (int64_t t = 0; t < used; ++t)
      for (int r = 0; r < tile[t].count; ++r) {
        const RunningRow& row = rows[t * kRows + r];
        const RowResult result = finish_row(map, row.sums);
        store_linear<T>(a, tile[t].row[r], result, target_logprob(map, result, row.at_target));
      }
  }
  for (int64_t n = begin; n < end; ++n)
    if (!kept(a.keep, n)) clear_linear<T>(a, n);
  return SRP_OK;
}

template <class T>
srp_status forward_rows(const srp_linear_forward_args& a) {
  if (a.N == 0) return SRP_OK;  // and D may be any number
  return parallel_pieces(a.N, piece_rows(a),
                         [&](int64_t begin, int64_t end) { return forward_piece<T>(a, begin, end); });
}

// ---- backward

// g of 4 ids for the rows of a tile, from their logits and in their place; 0 where there is no id or no row.
template <class T>
void to_gradients(const srp_linear_backward_args& a, const LogitMap& map, const Tile& tile, int64_t first, Logits x) {
  for (int r = 0; r < kRows; ++r) {
    const RowGradient row =
        r < tile.count ? RowGradient::of<T>(a, tile.row[r]) : RowGradient{-INFINITY, 0, 0, 0, 0, -1};
    for (int i = 0; i < kIds; ++i) x[i][r] = first + i < a.V ? row.at(map, x[i][r], first + i) : 0;
  }
}

// sums [D, 8] of grad_hidden for the lanes of a tile.
void add_inner(const Logits g, const double* weight, int64_t D, double* sums) {
  for (int64_t d = 0; d < D; ++d)
    for (int i = 0; i < kIds; ++i)
      for (int r = 0; r < kRows; ++r) sums[d * kRows + r] += g[i][r] * weight[i * D + d];
}

// sums [4, D] of grad_weight for a block of ids.
void add_outer(const Tile& tile, const Logits g, const double* hidden, int64_t D, double* sums) {
  for (int i = 0; i < kIds; ++i)
    for (int r = 0; r < tile.count; ++r)
      for (int64_t d = 0; d < D; ++d) sums[i * D + d] += g[i][r] * hidden[r * D + d];
}

// Memory of a piece of either half of backward.
struct HiddenBuffers {
  HiddenBuffers(const srp_linear_backward_args& a, int64_t rows)
      : tiles((rows + kRows - 1) / kRows),
        lanes(tiles * kRows * a.D),
        sums(tiles * kRows * a.D),
        weight(kIds * a.D),
        tile(new (std::nothrow) Tile[static_cast<size_t>(tiles)]) {}
  bool failed() const { return lanes.failed() || sums.failed() || weight.failed() || !tile; }

  const int64_t tiles;
  const Buffer lanes, sums, weight;
  const std::unique_ptr<Tile[]> tile;
};

struct HeadBuffers {
  explicit HeadBuffers(const srp_linear_backward_args& a)
      : weight(kHeadRows * a.D), sums(kHeadRows * a.D), hidden(kRows * a.D), lanes(kRows * a.D) {}
  bool failed() const { return weight.failed() || sums.failed() || hidden.failed() || lanes.failed(); }

  const Buffer weight, sums, hidden, lanes;
};

template <class T>
srp_status hidden_gradient(const srp_linear_backward_args& a, int64_t begin, int64_t end) {
  const HiddenBuffers use(a, end - begin);
  if (use.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);
  const int64_t lanes_of_tile = a.D * kRows;
  T* const grad = static_cast<T*>(a.grad_hidden);
  for (int64_t n = begin; n < end;) {
    int64_t used = 0;
    for (; used < use.tiles && n < end; ++used) {
      use.tile[used] = next_tile(a, n, end);
      widen_lanes<T>(a.hidden, use.tile[used], a.D, use.lanes.get() + used * lanes_of_tile);
    }
    for (int64_t i = 0; i < used * lanes_of_tile; ++i) use.sums.get()[i] = 0;
    for (int64_t first = 0; first < a.V; first += kIds) {
      widen_ids<T>(a, first, use.weight.get());
      for (int64_t t = 0; t < used; ++t) {
        Logits g;
        form_logits<T>(a, use.lanes.get() + t * lanes_of_tile, use.weight.get(), first, g);
        to_gradients<T>(a, map, use.tile[t], first, g);
        add_inner(g, use.weight.get(), a.D, use.sums.get() + t * lanes_of_tile);
      }
    }
    for (int64_t t = 0; t < used; ++t)
      for (int r = 0; r < use.tile[t].count; ++r)
        for (int64_t d = 0; d < a.D; ++d)
          store(grad, use.tile[t].row[r] * a.D + d, use.sums.get()[t * lanes_of_tile + d * kRows + r]);
  }
  for (int64_t n = begin; n < end; ++n)
    for (int64_t d = 0; d < a.D && !kept(a.keep, n); ++d) store(grad, n * a.D + d, 0);
  return SRP_OK;
}

// Ids from..to, kHeadRows at a time.
template <class T>
srp_status head_gradient(const srp_linear_backward_args& a, int64_t from, int64_t to) {
  const HeadBuffers use(a);
  if (use.failed()) return out_of_memory(a.D);
  const LogitMap map = LogitMap::of(a);
  for (int64_t begin = from; begin < to; begin += kHeadRows) {
    const int64_t end = begin + kHeadRows < to ? begin + kHeadRows : to;
    double of_bias[kHeadRows] = {};
    for (int64_t i = 0; i < kHeadRows * a.D; ++i) use.sums.get()[i] = 0;
    for (int64_t first = begin; first < end; first += kIds)
      widen_ids<T>(a, first, use.weight.get() + (first - begin) * a.D);
    for (int64_t n = 0; n < a.N;) {
      const Tile tile = next_tile(a, n, a.N);
      for (int r = 0; r < tile.count; ++r) widen<T>(a.hidden, tile.row[r], a.D, use.hidden.get() + r * a.D);
      widen_lanes<T>(a.hidden, tile, a.D, use.lanes.get());
      for (int64_t first = begin; first < end; first += kIds) {
        const int64_t offset = (first - begin) * a.D;
        Logits g;
        form_logits<T>(a, use.lanes.get(), use.weight.get() + offset, first, g);
        to_gradients<T>(a, map, tile, first, g);
        if (a.grad_weight) add_outer(tile, g, use.hidden.get(), a.D, use.sums.get() + offset);
        for (int i = 0; i < kIds; ++i)
          for (int r = 0; r < tile.count; ++r) of_bias[first - begin + i] += g[i][r];
      }
    }
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t d = 0; d < a.D && a.grad_weight; ++d)
        store_sum<T>(a, a.grad_weight, j * a.D + d, use.sums.get()[(j - begin) * a.D + d]);
      if (a.grad_bias) store_sum<T>(a, a.grad_bias, j, of_bias[j - begin]);
    }
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
    SRP_TRY(
        parallel_pieces(a.V, kHeadRows, [&](int64_t begin, int64_t end) { return head_gradient<T>(a, begin, end); }));
  if (a.grad_weight && !a.accumulate) clear_from<T>(a.grad_weight, a.V * a.D, a.padded * a.D);
  if (a.grad_bias && !a.accumulate) clear_from<T>(a.grad_bias, a.V, a.padded);
  return SRP_OK;
}

}  // namespace

srp_status linear_forward(srp_queue*, const srp_linear_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->keep, a->N, a->logprob ? 1 : 0, a->V));
  if (a->dtype == SRP_F32) return forward_rows<float>(*a);
  if (a->dtype == SRP_F64) return forward_rows<double>(*a);
  return a->dtype == SRP_F16 ? forward_rows<Half>(*a) : forward_rows<BFloat16>(*a);
}

srp_status linear_backward(srp_queue*, const srp_linear_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_targets(a->targets, a->keep, a->N, a->grad_logprob ? 1 : 0, a->V));
  if (a->dtype == SRP_F32) return backward_rows<float>(*a);
  if (a->dtype == SRP_F64) return backward_rows<double>(*a);
  return a->dtype == SRP_F16 ? backward_rows<Half>(*a) : backward_rows<BFloat16>(*a);
}

}  // namespace srp::cpu
