// The linear head on the plain pipes (contract: surprisal/linear.h): float32 and float64, and 16-bit numbers where a card has no tensor
// cores for them. Three products of tiles of 64 x 64, all by one loop.
//
//   forward    logits of a tile of rows and a strip of 1024 ids → the rows' sums over the strip
//   backward   g of a chunk of rows and a strip of ids, in memory → its product with weight (grad_hidden, over strips) or with
//              hidden (grad_weight, over chunks), added up in float64 sums that the last step rounds
//
// Steps of 32 terms begin at multiples of 32 of the whole, since chunks and strips do: no bit depends on the chunk.
#include "linear.cuh"

namespace srp::cuda {
namespace {

constexpr int kTile = 64;  // rows and columns of a product that a block makes
constexpr int kSide = 16;  // threads along each side of it
constexpr int kEach = kTile / kSide;  // rows and columns of a thread: kSide apart
constexpr int kThreads = kSide * kSide;
constexpr int kStep = 32;  // terms that a thread adds up before they go into a float64
constexpr int kFew = 8;  // of them without a jump: unrolled as a whole, the loop takes more registers than there are
constexpr int kPitch = kTile + 1;  // so that a warp meets 32 banks, whichever way a tile is filled

// g of a chunk of rows and a strip of ids, [rows, kStrip]; 0 where a row is not kept or there is no id.
template <class Number>
struct Gradients {
  Number* g;
  int64_t first_row, rows, first_id, ids;

  // As the left side of the product with weight, and of that with hidden.
  __device__ __forceinline__ Number at(int64_t row, int64_t id) const { return g[row * kStrip + id]; }
};

// ---- a tile of a product

using Sums = double[kEach][kEach];

__device__ __forceinline__ int row_of(int r) { return static_cast<int>(threadIdx.x) / kSide + r * kSide; }
__device__ __forceinline__ int column_of(int c) { return static_cast<int>(threadIdx.x) % kSide + c * kSide; }

// Fills [kStep, kTile] with source(line, term); terms from `end` on are 0. `kAlong`: neighbouring terms lie side by side.
template <bool kAlong, class Number, class Source>
__device__ __forceinline__ void fill_tile(Number* tile, const Source& source, int64_t begin, int64_t end) {
  for (int i = threadIdx.x; i < kStep * kTile; i += kThreads) {
    const int term = kAlong ? i % kStep : i / kTile, line = kAlong ? i / kStep : i % kTile;
    tile[term * kPitch + line] = begin + term < end ? source(line, begin + term) : Number(0);
  }
}

// x y + z, rounded once. The compiler, which is told to fuse nothing by itself, makes two instructions of it.
__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }

// sums[r][c] += sum over terms of left(row, term) right(column, term). All threads of the block must call it.
template <bool kLeftAlong, bool kRightAlong, class Number, class Left, class Right>
__device__ __forceinline__ void add_product(int64_t terms, const Left& left, const Right& right, Sums& sums) {
  SRP_SHARED(Number, rows, kStep * kPitch);
  SRP_SHARED(Number, columns, kStep * kPitch);
  for (int64_t begin = 0; begin < terms; begin += kStep) {
    __syncthreads();  // all threads have read the previous step
    fill_tile<kLeftAlong>(rows, left, begin, terms);
    fill_tile<kRightAlong>(columns, right, begin, terms);
    __syncthreads();
    Number part[kEach][kEach] = {};
    SRP_KEEP_ROLLED
    for (int few = 0; few < kStep; few += kFew) {
      SRP_UNROLL
      for (int term = few; term < few + kFew; ++term) {
        Number x[kEach], y[kEach];
        SRP_UNROLL
        for (int i = 0; i < kEach; ++i) {
          x[i] = rows[term * kPitch + row_of(i)];
          y[i] = columns[term * kPitch + column_of(i)];
        }
        SRP_UNROLL
        for (int r = 0; r < kEach; ++r) {
          SRP_UNROLL
          for (int c = 0; c < kEach; ++c) part[r][c] = fused(x[r], y[c], part[r][c]);
        }
      }
    }
    SRP_UNROLL
    for (int r = 0; r < kEach; ++r) {
      SRP_UNROLL
      for (int c = 0; c < kEach; ++c) sums[r][c] += part[r][c];
    }
  }
}

// ---- operands

// hidden of the rows from `first` on; rows that are not kept are 0, unread.
template <class T>
struct HiddenRows {
  const T* hidden;
  const uint8_t* mask;
  int64_t first, N, D;

  template <class Args>
  static __device__ HiddenRows of(const Args& a, int64_t first) {
    return {static_cast<const T*>(a.hidden), a.mask, first, a.N, a.D};
  }

  __device__ __forceinline__ bool read(int64_t n) const { return n < N && kept(mask, n); }
  __device__ __forceinline__ Wide<T> operator()(int64_t line, int64_t d) const {
    const int64_t n = first + line;
    return read(n) ? to_float(hidden[n * D + d]) : Wide<T>(0);
  }
};

template <class T>
struct WeightRows {
  const T* weight;
  int64_t first, V, D;

  template <class Args>
  static __device__ WeightRows of(const Args& a, int64_t first) {
    return {static_cast<const T*>(a.weight), first, a.V, a.D};
  }

  __device__ __forceinline__ Wide<T> operator()(int64_t line, int64_t d) const {
    const int64_t j = first + line;
    return j < V ? to_float(weight[j * D + d]) : Wide<T>(0);
  }
};

// Logits of a tile of rows and ids, from the first row and id on. Those of no id are 0.
template <class T, class Args>
__device__ __forceinline__ void form_logits(const Args& a, int64_t first_row, int64_t first_id, Sums& x) {
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    SRP_UNROLL
    for (int c = 0; c < kEach; ++c) x[r][c] = 0;
  }
  add_product<true, true, Wide<T>>(a.D, HiddenRows<T>::of(a, first_row), WeightRows<T>::of(a, first_id), x);
  const T* const bias = static_cast<const T*>(a.bias);
  SRP_UNROLL
  for (int c = 0; c < kEach; ++c) {
    const int64_t j = first_id + column_of(c);
    const double shift = bias && j < a.V ? load(bias, j) : 0;
    SRP_UNROLL
    for (int r = 0; r < kEach; ++r) x[r][c] += shift;
  }
}

// ---- forward

// Merges the sums of the threads that share a row: the lower lane's columns first, every lane with the same result.
__device__ RowSums merge_lanes(const LogitMap& map, RowSums mine) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int distance = kSide / 2; distance > 0; distance /= 2) {
    const RowSums other = {
        __shfl_xor_sync(kFullWarp, mine.max_logit, distance), __shfl_xor_sync(kFullWarp, mine.rest, distance),
        __shfl_xor_sync(kFullWarp, mine.weighted, distance), __shfl_xor_sync(kFullWarp, mine.squares, distance)};
    mine = (lane & distance) ? merge_sums(map, other, mine) : merge_sums(map, mine, other);
  }
  return mine;
}

// Blocks of the same strip follow each other: they read the same weights.
//
// ledger    linear_forward
// bytes     s D (N + V) + 40 N V / 1024
// limit     issue
// notes     2 N V D operations on the plain pipes
// turn      128 of strip_kernel<float>: 64 read, no loaded, no float64; 0.125 bytes; at most 1.57, 1.55 on sm_89; before 2.72, 2.66
//           on sm_89
template <class T>
__global__ void __launch_bounds__(kThreads) strip_kernel(srp_linear_forward_args a, Strips use) {
  const int64_t tiles = use.rows / kTile, strip = blockIdx.x / tiles;
  const int64_t first_row = use.first_row + blockIdx.x % tiles * kTile;
  if (!any_kept(a, first_row, kTile)) return;  // the whole block
  const LogitMap map = LogitMap::of(a);
  RowSums sums[kEach];
  int64_t target[kEach];
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    const int64_t n = first_row + row_of(r);
    sums[r] = no_sums(-INFINITY);
    target[r] = a.log_probs && n < a.N && kept(a.mask, n) ? a.targets[n] : -1;
  }
  const int64_t end = (strip + 1) * kStrip < a.V ? (strip + 1) * kStrip : a.V;
  for (int64_t first_id = strip * kStrip; first_id < end; first_id += kTile) {
    Sums x;
    form_logits<T>(a, first_row, first_id, x);
    SRP_UNROLL
    for (int r = 0; r < kEach; ++r) {
      SRP_UNROLL
      for (int c = 0; c < kEach; ++c) {
        const int64_t j = first_id + column_of(c);
        if (j >= end) continue;
        sums[r] = with_logit(map, sums[r], x[r][c]);
        if (j == target[r]) use.at_target[first_row + row_of(r) - use.first_row] = x[r][c];
      }
    }
  }
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    const int64_t n = first_row + row_of(r);
    const RowSums whole = merge_lanes(map, sums[r]);
    if (column_of(0) == 0 && n < a.N) store_state(use.state(n, strip), whole);
  }
}

// ---- backward

// ledger    linear_backward
// bytes     s D (N + V) + w N V
// limit     issue
// notes     forms g of a chunk of rows and a strip of ids anew; w: bytes of a wide number
// omitted   its products are those of strip_kernel, 64 of a thread's term
template <class T>
__global__ void __launch_bounds__(kThreads) gradient_kernel(srp_linear_backward_args a, Gradients<Wide<T>> to) {
  const int64_t tiles = to.rows / kTile;
  const int64_t tile_row = blockIdx.x % tiles * kTile, tile_id = blockIdx.x / tiles * kTile;
  const int64_t first_row = to.first_row + tile_row, first_id = to.first_id + tile_id;
  const bool read = any_kept(a, first_row, kTile);
  Sums x = {};
  if (read) form_logits<T>(a, first_row, first_id, x);  // the whole block
  const LogitMap map = LogitMap::of(a);
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    const int64_t n = first_row + row_of(r);
    const RowGradient row = gradient_of<T>(a, n);
    SRP_UNROLL
    for (int c = 0; c < kEach; ++c) {
      const int64_t j = first_id + column_of(c);
      const double g = j < a.V ? row.at(map, x[r][c], j) : 0;
      to.g[(tile_row + row_of(r)) * kStrip + tile_id + column_of(c)] = static_cast<Wide<T>>(g);
    }
  }
}

// Where a tile's sums wait for the next strip or chunk: [lines, D] float64.
__device__ __forceinline__ void load_sums(const double* from, int64_t line, int64_t column, int64_t D, bool none,
                                          Sums& sums) {
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    SRP_UNROLL
    for (int c = 0; c < kEach; ++c) {
      const int64_t d = column + column_of(c);
      sums[r][c] = none || d >= D ? 0 : from[(line + row_of(r)) * D + d];
    }
  }
}

__device__ __forceinline__ void store_sums(double* to, int64_t line, int64_t column, int64_t D, const Sums& sums) {
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    SRP_UNROLL
    for (int c = 0; c < kEach; ++c) {
      const int64_t d = column + column_of(c);
      if (d < D) to[(line + row_of(r)) * D + d] = sums[r][c];
    }
  }
}

// ledger    linear_backward
// bytes     w N V + s D V + s D N
// limit     issue
// notes     2 N V D operations
// omitted   its products are those of strip_kernel, 64 of a thread's term
template <class T>
__global__ void __launch_bounds__(kThreads)
    hidden_kernel(srp_linear_backward_args a, Gradients<Wide<T>> from, double* waiting) {
  const int64_t tiles = from.rows / kTile;
  const int64_t line = blockIdx.x % tiles * kTile, column = blockIdx.x / tiles * kTile;
  const bool last = from.first_id + from.ids >= a.V;
  const WeightRows<T> weight = WeightRows<T>::of(a, from.first_id);
  Sums sums;
  load_sums(waiting, line, column, a.D, from.first_id == 0, sums);
  add_product<true, false, Wide<T>>(
      from.ids, [&](int64_t row, int64_t id) { return from.at(line + row, id); },
      [&](int64_t d, int64_t id) { return column + d < a.D ? weight(id, column + d) : Wide<T>(0); }, sums);
  if (!last) return store_sums(waiting, line, column, a.D, sums);
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    const int64_t n = from.first_row + line + row_of(r);
    if (n >= a.N) continue;
    const bool live = kept(a.mask, n);
    SRP_UNROLL
    for (int c = 0; c < kEach; ++c) {
      const int64_t d = column + column_of(c);
      if (d < a.D) store(static_cast<T*>(a.grad_hidden), n * a.D + d, live ? sums[r][c] : 0);
    }
  }
}

// At least two blocks: by itself the compiler aims at three on sm_120, and spills.
//
// ledger    linear_backward
// bytes     w N V + s D N + w D V
// limit     issue
// notes     2 N V D operations
// omitted   its products are those of strip_kernel, 64 of a thread's term
template <class T>
__global__ void __launch_bounds__(kThreads, 2)
    weight_kernel(srp_linear_backward_args a, Gradients<Wide<T>> from, double* waiting) {
  const int64_t tiles = (from.ids + kTile - 1) / kTile;
  const int64_t line = blockIdx.x % tiles * kTile, column = blockIdx.x / tiles * kTile;
  const bool last = from.first_row + from.rows >= a.N;
  const HiddenRows<T> hidden = HiddenRows<T>::of(a, from.first_row);
  Sums sums;
  load_sums(waiting, line, column, a.D, from.first_row == 0, sums);
  add_product<false, false, Wide<T>>(
      from.rows, [&](int64_t id, int64_t row) { return from.at(row, line + id); },
      [&](int64_t d, int64_t row) { return column + d < a.D ? hidden(row, column + d) : Wide<T>(0); }, sums);
  if (!last) return store_sums(waiting, line, column, a.D, sums);
  SRP_UNROLL
  for (int r = 0; r < kEach; ++r) {
    const int64_t j = from.first_id + line + row_of(r);
    SRP_UNROLL
    for (int c = 0; c < kEach; ++c) {
      const int64_t d = column + column_of(c);
      if (j < a.V && d < a.D) store_sum<T>(a, a.grad_weight, j * a.D + d, sums[r][c]);
    }
  }
}

// ledger    linear_backward
// bytes     w N V + w V
// limit     memory
// notes     sums columns of g
// turn      4 of bias_kernel<float>: 4 loads, 4 float64; 4 bytes; at most 5.3
template <class T>
__global__ void bias_kernel(srp_linear_backward_args a, Gradients<Wide<T>> from, double* waiting) {
  const int64_t id = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (id >= from.ids) return;
  double sum = from.first_row == 0 ? 0 : waiting[id];
  for (int64_t row = 0; row < from.rows; ++row) sum += from.at(row, id);
  if (from.first_row + from.rows < a.N)
    waiting[id] = sum;
  else
    store_sum<T>(a, a.grad_bias, from.first_id + id, sum);
}

// ---- launchers

int64_t tiles_of(int64_t count) { return (count + kTile - 1) / kTile; }

template <class T>
void launch_gradients(srp_queue* queue, const srp_linear_backward_args& a, const Gradients<Wide<T>>& g) {
  const int64_t blocks = g.rows / kTile * tiles_of(g.ids);
  if (blocks > 0) SRP_LAUNCH((gradient_kernel<T>), static_cast<unsigned>(blocks), kThreads, 0, queue->stream, a, g);
}

// There is a strip even without ids, and a chunk even without rows: their empty sums must be stored too.
template <class T>
void hidden_gradient(srp_queue* queue, const srp_linear_backward_args& a, Gradients<Wide<T>> g, double* waiting) {
  const unsigned blocks = static_cast<unsigned>(g.rows / kTile * tiles_of(a.D));
  for (g.first_row = 0; g.first_row < a.N; g.first_row += g.rows)
    for (g.first_id = 0; g.first_id == 0 || g.first_id < a.V; g.first_id += kStrip) {
      g.ids = a.V - g.first_id < kStrip ? a.V - g.first_id : kStrip;
      launch_gradients<T>(queue, a, g);
      SRP_LAUNCH((hidden_kernel<T>), blocks, kThreads, 0, queue->stream, a, g, waiting);
    }
}

template <class T>
void head_gradient(srp_queue* queue, const srp_linear_backward_args& a, Gradients<Wide<T>> g, double* waiting) {
  double* const waiting_bias = waiting + (a.grad_weight ? kStrip * a.D : 0);
  for (g.first_id = 0; g.first_id < a.V; g.first_id += kStrip)
    for (g.first_row = 0; g.first_row == 0 || g.first_row < a.N; g.first_row += g.rows) {
      g.ids = a.V - g.first_id < kStrip ? a.V - g.first_id : kStrip;
      launch_gradients<T>(queue, a, g);
      const unsigned blocks = static_cast<unsigned>(tiles_of(g.ids) * tiles_of(a.D));
      if (a.grad_weight && blocks > 0)
        SRP_LAUNCH((weight_kernel<T>), blocks, kThreads, 0, queue->stream, a, g, waiting);
      if (a.grad_bias)
        SRP_LAUNCH((bias_kernel<T>), blocks_for(g.ids, kThreads), kThreads, 0, queue->stream, a, g, waiting_bias);
    }
}

}  // namespace

template <class T>
void launch_plain_strips(srp_queue* queue, const srp_linear_forward_args& a, const Strips& use) {
  const unsigned blocks = static_cast<unsigned>(use.rows / kTile * use.strips);
  if (blocks > 0) SRP_LAUNCH((strip_kernel<T>), blocks, kThreads, 0, queue->stream, a, use);
}

template <class T>
srp_status plain_backward(srp_queue* queue, const srp_linear_backward_args& a, bool of_hidden, bool of_head) {
  const int64_t rows = chunk_rows(a.chunk_rows, kChunk, kTile, a.N);
  SRP_TRY(check_grid("linear_backward", rows / kTile * tiles_of(a.D)));
  SRP_TRY(check_grid("linear_backward", kStrip / kTile * tiles_of(a.D)));
  const int64_t lines = of_hidden && rows > kStrip ? rows : of_hidden || a.grad_weight ? kStrip : 0;
  const Scratch memory(queue, static_cast<size_t>(rows * kStrip) * sizeof(Wide<T>));
  const Scratch waiting(queue, static_cast<size_t>(lines * a.D + kStrip) * sizeof(double));
  SRP_TRY(memory.status());
  SRP_TRY(waiting.status());
  const Gradients<Wide<T>> g = {memory.as<Wide<T>>(), 0, rows, 0, 0};
  if (of_hidden) hidden_gradient<T>(queue, a, g, waiting.as<double>());
  if (of_head) head_gradient<T>(queue, a, g, waiting.as<double>());
  return SRP_OK;
}

#define SRP_PLAIN(T)                                                                               \
  template void launch_plain_strips<T>(srp_queue*, const srp_linear_forward_args&, const Strips&); \
  template srp_status plain_backward<T>(srp_queue*, const srp_linear_backward_args&, bool, bool)
SRP_PLAIN(float);
SRP_PLAIN(double);
SRP_PLAIN(Half);
SRP_PLAIN(BFloat16);
#undef SRP_PLAIN

}  // namespace srp::cuda
