// Log-probs, entropy and gradient of logits (contract: surprisal/logprob.h): one block a row, two passes over it, first the
// maximum with its index, then the sums.
//
// Terms are float32; the argument z - M is a pair of floats, since a single one costs |z - M| * 1.2e-7 of its term. With a
// softcap z - M is a difference of two tanh, which only float64 holds to that.
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/logprob_rows.h"

namespace srp::cuda {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kTile = 32;  // float32 terms in a thread's sum before it goes into a float64
constexpr int64_t kMaxBlocks = 8192;  // more rows than this take turns; a GPU holds about 2000 at a time

// ---- the maximum

// Orders (value, index) as one integer: larger value first, then the smaller index; NaN above everything. 0 is below all.
__device__ __forceinline__ unsigned long long key_of(float x, uint32_t j) {
  const uint32_t bits = float_bits(x == 0 ? 0.0f : x);  // -0 ties with 0
  const uint32_t ordered = x != x ? 0xffffffffu : (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return (static_cast<unsigned long long>(ordered) << 32) | ~j;
}

struct Maximum {
  float value;  // -infinity in an empty row
  int64_t index;  // -1 in an empty row
};

template <class T>
__device__ Maximum row_maximum(const T* x, int64_t V) {
  unsigned long long best = 0;
  for (int64_t j = threadIdx.x; j < V; j += blockDim.x) {
    const unsigned long long key = key_of(to_float(x[j]), static_cast<uint32_t>(j));
    best = key > best ? key : best;
  }
  best = block_reduce(best, Max{});
  if (best == 0) return {-INFINITY, -1};
  const uint32_t ordered = static_cast<uint32_t>(best >> 32);
  const float value =
      ordered == 0xffffffffu ? NAN : bits_float((ordered & 0x80000000u) ? ordered & 0x7fffffffu : ~ordered);
  return {value, static_cast<int64_t>(static_cast<uint32_t>(~best))};
}

// ---- z - M and its exponential

struct Pair {
  float high, low;  // the sum of both
};

template <bool kCapped>
struct Gap;

template <>
struct Gap<false> {
  float max, slope_high, slope_low;

  __device__ Gap(const LogitMap& map, float max_logit)
      : max(max_logit),
        slope_high(static_cast<float>(map.slope)),
        slope_low(static_cast<float>(map.slope - slope_high)) {}

  __device__ __forceinline__ Pair operator()(float x) const {
    const float d = x - max, back = d - x;
    const float lost = (x - (d - back)) + (-max - back);  // exactly what the subtraction rounded away (Knuth's two-sum)
    const float high = d * slope_high;
    return {high, fmaf(d, slope_high, -high) + fmaf(d, slope_low, lost * slope_high)};
  }

  __device__ __forceinline__ float derivative(float) const { return slope_high; }
};

template <>
struct Gap<true> {
  LogitMap map;
  double max;

  __device__ Gap(const LogitMap& m, float max_logit) : map(m), max(max_logit) {}

  __device__ __forceinline__ Pair operator()(float x) const {
    const double gap = map.below_max(x, max);
    const float high = static_cast<float>(gap);
    return {high, static_cast<float>(gap - high)};
  }

  __device__ __forceinline__ float derivative(float x) const { return static_cast<float>(map.derivative(x)); }
};

// 0 below the smallest float32: also for masked ids, whose gap is -infinity and has no low part.
__device__ __forceinline__ float exp_of(Pair gap) {
  if (!(gap.high > -104.0f)) return 0.0f;
  const float e = expf(gap.high);
  return fmaf(e, gap.low, e);
}

// ---- the sums

template <class T, bool kCapped>
__device__ RowSums sum_row(const LogitMap& map, const T* x, int64_t V) {
  const Maximum max = row_maximum(x, V);
  if (!(max.value > -INFINITY && max.value < INFINITY)) return no_sums(max.value);
  const Gap<kCapped> gap_of(map, max.value);
  const int64_t tile = static_cast<int64_t>(blockDim.x) * kTile;
  double rest = 0, weighted = 0, squares = 0;
  for (int64_t begin = threadIdx.x; begin < V; begin += tile) {
    const int64_t stop = begin + tile < V ? begin + tile : V;
    float tile_rest = 0, tile_weighted = 0, tile_squares = 0;
    for (int64_t j = begin; j < stop; j += blockDim.x) {
      if (j == max.index) continue;
      const Pair gap = gap_of(to_float(x[j]));
      const float e = exp_of(gap);
      if (e == 0) continue;  // 0 * -infinity is not 0
      tile_rest += e;
      tile_weighted += e * gap.high;
      tile_squares += e * e;
    }
    rest += tile_rest;
    weighted += tile_weighted;
    squares += tile_squares;
  }
  return {max.value, block_sum(rest), block_sum(weighted), block_sum(squares)};
}

// ---- kernels

template <class T, bool kCapped>
__global__ void forward_kernel(srp_logprob_forward_args a, uint32_t* faults) {
  const LogitMap map = LogitMap::of(a);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    if (!kept(a.keep, n)) {
      if (threadIdx.x == 0) clear_row(a, n);
      continue;
    }
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    const RowResult row = finish_row(map, sum_row<T, kCapped>(map, x, a.V));
    if (threadIdx.x == 0) store_row(a, n, row);
    for (int64_t k = threadIdx.x; k < a.K && a.logprob; k += blockDim.x) {
      const int64_t i = n * a.K + k, id = a.targets[i];
      const bool inside = id >= 0 && id < a.V;
      if (!inside) raise(faults, SRP_FAULT_INDEX);
      store(a.logprob, i, inside ? target_logprob(map, row, load(x, id)) : NAN);
    }
  }
}

template <class T, bool kCapped>
__global__ void partial_kernel(srp_logprob_partial_args a, uint32_t* faults) {
  const LogitMap map = LogitMap::of(a);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    const bool read = kept(a.keep, n);
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    const RowSums sums = read ? sum_row<T, kCapped>(map, x, a.V) : RowSums{0, kIgnoredRest, 0, 0};
    double* const state = a.state + n * (kStateSums + a.K);
    if (threadIdx.x == 0) store_state(state, sums);
    for (int64_t k = threadIdx.x; k < a.K; k += blockDim.x) {
      const int64_t id = read ? a.targets[n * a.K + k] : 0, column = id - a.vocab_start;
      if (read && (id < 0 || id >= a.vocab_size)) raise(faults, SRP_FAULT_INDEX);
      const bool inside = read && column >= 0 && column < a.V;
      state[kStateSums + k] = inside ? load(x, column) : read ? INFINITY : 0;
    }
  }
}

__global__ void merge_kernel(srp_logprob_merge_args a, uint32_t* faults) {
  const int64_t n = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (n >= a.N) return;
  if (ignored(a, n)) return clear_row(a, n);
  const LogitMap map = LogitMap::of(a);
  const RowSums sums = merged_sums(a, map, n);
  if (!finds_targets(a, sums, n)) raise(faults, SRP_FAULT_INDEX);
  merge_row(a, map, sums, n);
}

template <class T>
__device__ void fill_row(T* to, int64_t begin, int64_t end, double value) {
  for (int64_t j = begin + threadIdx.x; j < end; j += blockDim.x) store(to, j, value);
}

// Of equal ids the first one stands for all: they have the same gradient, and two threads must not write one element.
__device__ bool first_of_its_id(const int32_t* ids, int64_t k) {
  for (int64_t before = 0; before < k; ++before)
    if (ids[before] == ids[k]) return false;
  return true;
}

// `at_targets` has K gradients a block: in place, the targets' logits must be read before any thread overwrites them, and
// their gradients be written after every thread is done with its columns.
template <class T, bool kCapped>
__global__ void backward_kernel(srp_logprob_backward_args a, double* at_targets, uint32_t* faults) {
  const LogitMap map = LogitMap::of(a);
  const int64_t targets = a.grad_logprob ? a.K : 0;
  at_targets += blockIdx.x * targets;
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    T* const grad = static_cast<T*>(a.grad) + n * a.stride;
    const float max = kept(a.keep, n) ? a.max_logit[n] : -INFINITY;
    if (!(max > -INFINITY && max < INFINITY)) {
      fill_row(grad, 0, a.V, max == -INFINITY ? 0 : NAN);
      fill_row(grad, a.V, a.stride, 0);
      continue;
    }
    const int32_t* const ids = a.targets + n * targets;
    double part = 0;
    for (int64_t k = threadIdx.x; k < targets; k += blockDim.x) {
      const int64_t column = ids[k] - a.vocab_start;
      if (ids[k] < 0 || ids[k] >= a.vocab_size) {
        raise(faults, SRP_FAULT_INDEX);
        continue;
      }
      part += a.grad_logprob[n * a.K + k];
      if (column >= 0 && column < a.V) at_targets[k] = target_gradient(a, map, n, ids[k], load(x, column));
    }
    const float sum = static_cast<float>(block_sum(part));  // its barriers part the reads above from the writes below
    const float scale = static_cast<float>(exp(-static_cast<double>(a.log1p_sum[n])));
    const float h = a.grad_entropy ? a.grad_entropy[n] : 0, mean_gap = a.grad_entropy ? a.mean_gap[n] : 0;
    const Gap<kCapped> gap_of(map, max);
    for (int64_t j = threadIdx.x; j < a.V; j += blockDim.x) {
      const float logit = to_float(x[j]);
      const Pair gap = gap_of(logit);
      const float p = exp_of(gap) * scale;
      store(grad, j, p == 0 ? 0 : p * (0 - sum - h * (gap.high + mean_gap)) * gap_of.derivative(logit));
    }
    fill_row(grad, a.V, a.stride, 0);
    __syncthreads();
    for (int64_t k = threadIdx.x; k < targets; k += blockDim.x) {
      const int64_t column = ids[k] - a.vocab_start;
      if (column >= 0 && column < a.V && first_of_its_id(ids, k)) store(grad, column, at_targets[k]);
    }
    __syncthreads();  // the next row overwrites at_targets
  }
}

// ---- launchers

dim3 row_blocks(int64_t N) { return dim3(static_cast<unsigned>(N < kMaxBlocks ? N : kMaxBlocks)); }

// A warp for rows that it reads in a few steps. Depends on V alone: the order of sums must not depend on the batch.
dim3 threads_for(int64_t V) { return dim3(V <= 256 ? kWarp : V <= 2048 ? 128 : kMaxThreads); }

template <class T, class Args>
void launch_forward(srp_queue* queue, dim3 grid, const Args& a) {
  if (a.softcap != 0)
    SRP_LAUNCH((forward_kernel<T, true>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((forward_kernel<T, false>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
}

template <class T, class Args>
void launch_partial(srp_queue* queue, dim3 grid, const Args& a) {
  if (a.softcap != 0)
    SRP_LAUNCH((partial_kernel<T, true>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((partial_kernel<T, false>), grid, threads_for(a.V), 0, queue->stream, a, queue->faults);
}

template <class T, class Args>
void launch_backward(srp_queue* queue, dim3 grid, const Args& a, double* at_targets) {
  if (a.softcap != 0)
    SRP_LAUNCH((backward_kernel<T, true>), grid, threads_for(a.V), 0, queue->stream, a, at_targets, queue->faults);
  else
    SRP_LAUNCH((backward_kernel<T, false>), grid, threads_for(a.V), 0, queue->stream, a, at_targets, queue->faults);
}

}  // namespace

srp_status logprob_forward(srp_queue* queue, const srp_logprob_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const dim3 grid = row_blocks(a->N);
  if (a->dtype == SRP_F32)
    launch_forward<float>(queue, grid, *a);
  else if (a->dtype == SRP_F16)
    launch_forward<Half>(queue, grid, *a);
  else
    launch_forward<BFloat16>(queue, grid, *a);
  return launched("logprob_forward");
}

srp_status logprob_backward(srp_queue* queue, const srp_logprob_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const dim3 grid = row_blocks(a->N);
  const int64_t targets = a->grad_logprob ? a->K : 0;
  const Scratch at_targets(queue, static_cast<size_t>(grid.x) * static_cast<size_t>(targets) * sizeof(double));
  SRP_TRY(at_targets.status());
  if (a->dtype == SRP_F32)
    launch_backward<float>(queue, grid, *a, at_targets.as<double>());
  else if (a->dtype == SRP_F16)
    launch_backward<Half>(queue, grid, *a, at_targets.as<double>());
  else
    launch_backward<BFloat16>(queue, grid, *a, at_targets.as<double>());
  return launched("logprob_backward");
}

srp_status logprob_partial(srp_queue* queue, const srp_logprob_partial_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const dim3 grid = row_blocks(a->N);
  if (a->dtype == SRP_F32)
    launch_partial<float>(queue, grid, *a);
  else if (a->dtype == SRP_F16)
    launch_partial<Half>(queue, grid, *a);
  else
    launch_partial<BFloat16>(queue, grid, *a);
  return launched("logprob_partial");
}

srp_status logprob_merge(srp_queue* queue, const srp_logprob_merge_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("logprob_merge", a->N / kMaxThreads + 1));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  SRP_LAUNCH(merge_kernel, blocks_for(a->N, kMaxThreads), kMaxThreads, 0, queue->stream, *a, queue->faults);
  return launched("logprob_merge");
}

}  // namespace srp::cuda
