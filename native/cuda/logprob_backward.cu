// The gradient of logits (contract: surprisal/logprob.h) as a stream: a block takes a row's tile of 16 KB, each thread reads
// 16 bytes and writes 16, four times over. No sum is formed, and no thread waits for another where a row has one target.
//
// Minimum bytes: 2 s stride N (logits, gradient) + 4 K N (targets) + 4 bytes a row and input.
#include "backend.cuh"
#include "logprob_gradient.cuh"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 4;  // vectors of a thread
template <class T>
constexpr int64_t kTile = int64_t{kThreads} * kSteps * Vector<T>::kCount;  // elements: 4096 or 8192
constexpr int64_t kMostBlocks = int64_t{1} << 30;  // more tiles than this take turns

// Which columns of a tile are targets. A single target of a row is compared with; several targets set bits that all threads read.
template <class T>
class Targets {
 public:
  static constexpr int kWords = static_cast<int>(kTile<T> / 32);

  // All threads of the block call it.
  __device__ Targets(const srp_logprob_backward_args& a, int64_t n, int64_t first, uint32_t* bits, uint32_t* faults)
      : bits_(bits), count_(a.grad_log_probs ? a.K : 0) {
    const int32_t* const ids = a.targets + n * count_;
    if (count_ == 1) {
      sum_ = a.grad_log_probs[n];
      note(a, ids[0], first, faults);
      if (known_) column_ = ids[0] - a.vocab_start;
      return;
    }
    if (count_ == 0) return;
    __syncthreads();  // all threads have read the bits of the previous tile
    for (int w = threadIdx.x; w < kWords; w += kThreads) bits[w] = 0;
    __syncthreads();
    double part = 0;
    for (int64_t k = threadIdx.x; k < count_; k += kThreads) {
      note(a, ids[k], first, faults);
      if (!known_) continue;
      part += a.grad_log_probs[n * a.K + k];
      const int64_t column = ids[k] - a.vocab_start - first;
      if (column >= 0 && column < kTile<T> && first + column < a.V) atomicOr(bits + column / 32, 1u << (column % 32));
    }
    sum_ = static_cast<float>(block_sum(part));  // its barriers also separate the writes of the bits from their reads
  }

  __device__ float sum() const { return sum_; }

  // Bit i: column j + i is a target. j is a multiple of 4 or 8.
  __device__ __forceinline__ uint32_t at(int64_t j, int64_t first) const {
    constexpr int kCount = Vector<T>::kCount;
    if (count_ == 1) {
      const uint64_t i = static_cast<uint64_t>(column_ - j);
      return i < kCount ? 1u << i : 0u;
    }
    if (count_ == 0) return 0;
    const int64_t at = j - first;
    return bits_[at / 32] >> (at % 32) & ((1u << kCount) - 1);
  }

 private:
  // The first tile of the row raises the fault.
  __device__ void note(const srp_logprob_backward_args& a, int32_t id, int64_t first, uint32_t* faults) {
    known_ = id >= 0 && id < a.vocab_size;
    if (!known_ && first == 0) raise(faults, SRP_FAULT_INDEX);
  }

  const uint32_t* bits_;
  int64_t count_, column_ = -kTile<T>;
  float sum_ = 0;
  bool known_ = false;
};

// ledger    logprob_backward
// bytes     2 s stride N + 4 K N + 4 N inputs
// limit     memory
// notes     a pure stream; in place the same bytes; inputs: [N] arrays given, grad_logprob counts K
// turn      32 of backward_kernel<BFloat16, false>: 80 loaded, 64 stored, 32 special; 4 bytes; at most 35; must 0.88
template <class T, bool kCapped>
__global__ void __launch_bounds__(kThreads, kCapped ? 2 : 3)
    backward_kernel(srp_logprob_backward_args a, int64_t tiles, uint32_t* faults) {
  constexpr int kCount = Vector<T>::kCount;
  SRP_SHARED(uint32_t, bits, Targets<T>::kWords);
  const LogitMap map = map_of<kCapped>(a);
  for (int64_t item = blockIdx.x; item < a.N * tiles; item += gridDim.x) {
    const int64_t n = item / tiles, first = (item - n * tiles) * kTile<T>;
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
    const bool aligned = aligned16(x) && aligned16(grad);
    const float max = kept(a.mask, n) ? a.max_logits[n] : -INFINITY;
    const int64_t stop = first + kTile<T> < a.stride ? first + kTile<T> : a.stride;  // of the tile, padding and all
    if (!(fabsf(max) < INFINITY)) {
      const int64_t end = stop < a.V ? stop : a.V;
      fill_row(grad, first, end, max == -INFINITY ? 0.0f : NAN, aligned);
      fill_row(grad, first > a.V ? first : a.V, stop, 0.0f, aligned);
      continue;
    }
    const Targets<T> targets(a, n, first, bits, faults);
    const RowGradient<T, kCapped> gradient(map, row_slopes(a, n, targets.sum()));
    Vector<T> from[kSteps];
    SRP_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      const int64_t j = first + (s * kThreads + static_cast<int>(threadIdx.x)) * kCount;
      from[s] = aligned && j + kCount <= a.V ? load_last(x + j) : load_pieces(x, j, a.V);
    }
    SRP_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      const int64_t j = first + (s * kThreads + static_cast<int>(threadIdx.x)) * kCount;
      float out[kCount];
      SRP_UNROLL
      for (int i = 0; i < kCount; ++i) out[i] = gradient(element(from[s], i));
      for (uint32_t marked = targets.at(j, first); marked; marked &= marked - 1) {
        const int at = __ffs(static_cast<int>(marked)) - 1;
        if (j + at >= a.V) break;
        // 1 - p must not be formed from a p near 1. In place, this thread has not written there yet.
        const double own = target_gradient(a, map, n, static_cast<int32_t>(a.vocab_start + j + at), load(x, j + at));
        SRP_UNROLL
        for (int i = 0; i < kCount; ++i) out[i] = i == at ? round_to_odd(own) : out[i];
      }
      // Behind V the logits read as -infinity, whose gradient is the 0 of the padding.
      const Vector<T> to = rounded(out, T{});
      if (aligned && j + kCount <= stop)
        store_vector(grad + j, to);
      else
        store_pieces(grad, j, stop, to);
    }
  }
}

template <class T>
srp_status launch(srp_queue* queue, const srp_logprob_backward_args& a) {
  const int64_t tiles = (a.stride + kTile<T> - 1) / kTile<T>, items = a.N * tiles;
  if (items == 0) return SRP_OK;
  const dim3 grid(static_cast<unsigned>(items < kMostBlocks ? items : kMostBlocks)), block(kThreads);
  if (a.softcap != 0)
    SRP_LAUNCH((backward_kernel<T, true>), grid, block, 0, queue->stream, a, tiles, queue->faults);
  else
    SRP_LAUNCH((backward_kernel<T, false>), grid, block, 0, queue->stream, a, tiles, queue->faults);
  return launched("logprob_backward");
}

}  // namespace

srp_status logprob_backward(srp_queue* queue, const srp_logprob_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->dtype == SRP_F32) return launch<float>(queue, *a);
  return a->dtype == SRP_F16 ? launch<Half>(queue, *a) : launch<BFloat16>(queue, *a);
}

}  // namespace srp::cuda
