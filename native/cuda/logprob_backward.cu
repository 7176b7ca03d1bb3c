// The gradient of logits (contract: surprisal/logprob.h) as a stream: a block takes a piece of a row, tiles of which each thread reads 16
// bytes and writes 16, four times over, with those of the next tile on their way. What all tiles of the row share is formed once a piece.
// No sum is formed, and no thread waits for another where a row has one target.
//
// Minimum bytes: 2 s stride N (logits, gradient) + 4 K N (targets) + 4 bytes a row and input.
#include "backend.cuh"
#include "logprob_gradient.cuh"

namespace srp::cuda {
namespace {

constexpr int kMostThreads = 256;
template <bool kCapped>
constexpr int kSteps = kCapped ? 1 : 4;  // vectors of a thread
template <class T, bool kCapped>
constexpr int kMarkWords = kMostThreads * kSteps<kCapped> * Vector<T>::kCount / 32;
// A piece has as many tiles as leave this many blocks for each multiprocessor, three of them at work: so that the last ones end together.
constexpr int64_t kBlocksEach = 24;
constexpr int64_t kMostTiles = 32;  // of a piece: what a piece has to form first is little beside it
constexpr int64_t kMostBlocks = int64_t{1} << 30;  // more pieces than this take turns

// Elements that a block of so many threads takes at once.
template <class T, bool kCapped>
SRP_HD int64_t tile_of(int threads) {
  return int64_t{threads} * kSteps<kCapped> * Vector<T>::kCount;
}

// Pieces of a row; the last may be smaller.
struct Pieces {
  int threads;  // of a block
  int64_t tiles, count;  // tiles of a piece, pieces of a row
};

// A short row takes no more warps than have something to do.
template <class T, bool kCapped>
Pieces pieces_for(int64_t N, int64_t stride, int multiprocessors) {
  int threads = kWarp;
  while (threads < kMostThreads && tile_of<T, kCapped>(threads) < stride) threads *= 2;
  const int64_t tiles = (stride + tile_of<T, kCapped>(threads) - 1) / tile_of<T, kCapped>(threads);
  const int64_t wanted = N * tiles / (kBlocksEach * multiprocessors);
  const int64_t most = wanted < 1 ? 1 : wanted < kMostTiles ? wanted : kMostTiles;
  const int64_t count = tiles == 0 ? 0 : (tiles + most - 1) / most;
  return {threads, count == 0 ? 0 : (tiles + count - 1) / count, count};
}

// The targets of a row. A single one is put right by the thread that wrote its place; several set bits of a tile, which all threads read.
template <class T, bool kCapped, bool kSeveral>
class Targets {
 public:
  // All threads of the block call it. The first piece of the row raises the fault.
  __device__ Targets(const srp_logprob_backward_args& a, int64_t n, bool first_piece, uint32_t* faults)
      : args_(a), n_(n), count_(a.grad_log_probs ? a.K : 0) {
    double part = 0;
    for (int64_t k = kSeveral ? threadIdx.x : 0; k < count_; k += blockDim.x) {
      const int32_t id = a.targets[n * count_ + k];
      const bool known = id >= 0 && id < a.vocab_size;
      if (!known && first_piece) raise(faults, SRP_FAULT_INDEX);
      if (known) part += a.grad_log_probs[n * count_ + k];
      if (known && !kSeveral) column_ = id - a.vocab_start;
    }
    sum_ = kSeveral ? static_cast<float>(block_sum(part)) : static_cast<float>(part);
  }

  __device__ float sum() const { return sum_; }
  // Of a row with one target; -1 where there is none, or one of another shard.
  __device__ int64_t single() const { return column_ >= 0 && column_ < args_.V ? column_ : -1; }

  // All threads of the block call it.
  __device__ void mark(int64_t first, uint32_t* bits) {
    __syncthreads();  // all threads have read the bits of the previous tile
    for (int w = threadIdx.x; w < (kMarkWords<T, kCapped>); w += static_cast<int>(blockDim.x)) bits[w] = 0;
    __syncthreads();
    for (int64_t k = threadIdx.x; k < count_; k += blockDim.x) {
      const int32_t id = args_.targets[n_ * count_ + k];
      const int64_t column = id - args_.vocab_start - first;
      const int64_t tile = tile_of<T, kCapped>(static_cast<int>(blockDim.x));
      if (id < args_.vocab_size && column >= 0 && column < tile && first + column < args_.V)
        atomicOr(bits + column / 32, 1u << (column % 32));
    }
    __syncthreads();
  }

 private:
  const srp_logprob_backward_args& args_;
  int64_t n_, count_, column_ = -1;
  float sum_;
};

// 1 - p must not be formed from a p near 1.
__device__ double own_gradient(const srp_logprob_backward_args& a, const LogitMap& map, int64_t n, int64_t column,
                               double logit) {
  return target_gradient(a, map, n, static_cast<int32_t>(a.vocab_start + column), logit);
}

// Into the vector from column j on: the gradients of its targets, whose bits are `marked`. In place, this thread has not written there yet.
template <class T>
__device__ __forceinline__ void put_targets(const srp_logprob_backward_args& a, const LogitMap& map, int64_t n,
                                            const T* x, int64_t j, uint32_t marked, Vector<T>& to) {
  for (; marked; marked &= marked - 1) {
    const int at = __ffs(static_cast<int>(marked)) - 1;
    if (j + at >= a.V) break;
    T own;
    put(&own, own_gradient(a, map, n, j + at, load(x, j + at)));
    replace(to, at, own);
  }
}

// ledger    logprob_backward
// bytes     2 s stride N + 4 K N + 4 N inputs
// limit     memory
// notes     a pure stream; in place the same bytes; inputs: [N] arrays given, grad_logprob counts K
// variants  capped logits take a tanh an id; rows of several targets or strides have code of their own
// turn      32 of backward_kernel<BFloat16, false, false>: 64 loaded, 64 stored, 32 special; 4 bytes; at most 18.8, 19 on sm_89;
//           must 0.88; before 39.3, 39.7 on sm_89; executed 24.6
template <class T, bool kCapped, bool kSeveral>
__global__ void __launch_bounds__(kMostThreads, kCapped || kSeveral ? 2 : 3)
    backward_kernel(srp_logprob_backward_args a, Pieces pieces, uint32_t* faults) {
  constexpr int kCount = Vector<T>::kCount;
  SRP_SHARED(uint32_t, bits, (kMarkWords<T, kCapped>));
  const LogitMap map = map_of<kCapped>(a);
  const int threads = static_cast<int>(blockDim.x), step = threads * kCount;
  const int64_t tile = tile_of<T, kCapped>(threads);
  for (int64_t item = blockIdx.x; item < a.N * pieces.count; item += gridDim.x) {
    const int64_t n = item / pieces.count, piece = (item - n * pieces.count) * pieces.tiles * tile;
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
    const bool aligned = aligned16(x) && aligned16(grad);
    const float max = kept(a.mask, n) ? a.max_logits[n] : -INFINITY;
    const int64_t last = piece + pieces.tiles * tile;
    const int64_t stop = last < a.stride ? last : a.stride;  // of the piece, padding and all
    if (!(fabsf(max) < INFINITY)) {
      const int64_t end = stop < a.V ? stop : a.V;
      fill_row(grad, piece, end, max == -INFINITY ? 0.0f : NAN, aligned);
      fill_row(grad, piece > a.V ? piece : a.V, stop, 0.0f, aligned);
      continue;
    }
    Targets<T, kCapped, kSeveral> targets(a, n, piece == 0, faults);
    const RowGradient<T, kCapped> gradient(map, row_slopes(a, n, targets.sum()));
    const int64_t single = targets.single();
    // The place of the single target is this thread's to write, and so to read before.
    const bool mine = single >= piece && single < stop && single / kCount % threads == threadIdx.x;
    const double logit = mine ? load(x, single) : 0;
    const int64_t own = static_cast<int64_t>(threadIdx.x) * kCount;
    TileLogits<T, kSteps<kCapped>> next;
    next.load(x, piece, piece + own, step, a.V, aligned);
    for (int64_t first = piece; first < stop; first += tile) {
      if (kSeveral) targets.mark(first, bits);
      const int64_t begin = first + own;
      const TileLogits<T, kSteps<kCapped>> from = next;
      if (first + tile < stop) next.load(x, first + tile, begin + tile, step, a.V, aligned);
      SRP_UNROLL
      for (int s = 0; s < kSteps<kCapped>; ++s) {
        const int64_t j = begin + s * step;
        Vector<T> to = gradient(from.parts[s]);  // behind V: -infinity gave the 0 of the padding
        if (kSeveral) {
          const int at = static_cast<int>(j - first);
          const uint32_t marked = bits[at / 32] >> (at % 32) & ((1u << kCount) - 1);
          put_targets(a, map, n, x, j, marked, to);
        }
        if (aligned && j + kCount <= stop)
          store_vector(grad + j, to);
        else
          store_pieces(grad, j, stop, to);
      }
    }
    if (mine) store(grad, single, own_gradient(a, map, n, single, logit));
  }
}

template <class T, bool kCapped>
srp_status launch(srp_queue* queue, const srp_logprob_backward_args& a) {
  const Pieces pieces = pieces_for<T, kCapped>(a.N, a.stride, queue->multiprocessors);
  if (a.N * pieces.count == 0) return SRP_OK;
  const int64_t items = a.N * pieces.count;
  const dim3 grid(static_cast<unsigned>(items < kMostBlocks ? items : kMostBlocks)),
      block(static_cast<unsigned>(pieces.threads));
  const bool several = a.grad_log_probs && a.K > 1;
  SRP_LAUNCH((several ? backward_kernel<T, kCapped, true> : backward_kernel<T, kCapped, false>), grid, block, 0,
             queue->stream, a, pieces, queue->faults);
  return launched("logprob_backward");
}

template <class T>
srp_status capped_or_not(srp_queue* queue, const srp_logprob_backward_args& a) {
  return a.softcap != 0 ? launch<T, true>(queue, a) : launch<T, false>(queue, a);
}

}  // namespace

srp_status logprob_backward(srp_queue* queue, const srp_logprob_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->dtype == SRP_F32) return capped_or_not<float>(queue, *a);
  return a->dtype == SRP_F16 ? capped_or_not<Half>(queue, *a) : capped_or_not<BFloat16>(queue, *a);
}

}  // namespace srp::cuda
