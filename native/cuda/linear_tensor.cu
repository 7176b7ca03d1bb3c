// Logits of a linear head of 16-bit numbers on tensor cores, and what forward and backward make of them (contract: surprisal/linear.h):
// a block makes the logits of 128 rows and 128 ids (tensor_tiles.cuh), and its warps take their own 32 rows of 32 ids at a time through
// shared memory, a row a lane or an id a lane.
#include "linear.cuh"
#include "logprob_gap.cuh"
#include "tensor_tiles.cuh"
#include "vector.cuh"

namespace srp::cuda {
namespace {

constexpr int kSide = 32;  // rows and ids that a warp looks at together
constexpr int kPitch = kSide + 1;
constexpr int kRounds = 2;  // of 32 rows, which make the 64 of a warp

// Logits without their bias.
template <class T, class Args>
__device__ __forceinline__ void form_logits(const Args& a, TensorStage* ring, int64_t first_row, int64_t first_id,
                                            TensorSums& x) {
  const T *const hidden = static_cast<const T*>(a.hidden), *const weight = static_cast<const T*>(a.weight);
  const auto row = [&](int line) -> const T* {
    const int64_t n = first_row + line;
    return n < a.N && kept(a.mask, n) ? hidden + n * a.D : nullptr;
  };
  const auto id = [&](int line) -> const T* {
    const int64_t j = first_id + line;
    return j < a.V ? weight + j * a.D : nullptr;
  };
  const bool aligned = a.D % kPieceTerms == 0 && aligned16(hidden) && aligned16(weight);
  multiply_tiles<T>(ring, TensorLines<T>::of(row), TensorLines<T>::of(id), hidden, a.D, aligned, x);
}

// What a tile's warp looks at: [kSide, kPitch] float32 of shared memory, its own.
__device__ __forceinline__ float* warp_area(TensorStage* ring) {
  return reinterpret_cast<float*>(ring) + tensor_warp() * kSide * kPitch;
}

// The bias of the four pairs of ids of a lane; an id that is not there has a logit of -infinity.
template <class T, class Args>
__device__ __forceinline__ void load_shifts(const Args& a, int64_t first_id, float (&shifts)[4][2]) {
  const T* const bias = static_cast<const T*>(a.bias);
  SRP_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int64_t j = first_id + warp_column() + i / 2 * 8 + tensor_lane() % 4 * 2 + i % 2;
    shifts[i / 2][i % 2] = j >= a.V ? -INFINITY : bias ? to_float(bias[j]) : 0.0f;
  }
}

// The 32 rows of a round, with their bias.
__device__ __forceinline__ void show_round(const TensorSums& x, const float (&shifts)[4][2], int round, float* area) {
  const int lane = tensor_lane();
  SRP_UNROLL
  for (int m = 0; m < 2; ++m) {
    SRP_UNROLL
    for (int n = 0; n < 4; ++n) {
      SRP_UNROLL
      for (int i = 0; i < 4; ++i)
        area[(m * 16 + i / 2 * 8 + lane / 4) * kPitch + n * 8 + lane % 4 * 2 + i % 2] =
            (round == 0 ? x[m][n][i] : x[m + 2][n][i]) + shifts[n][i % 2];
    }
  }
}

// Of 32 logits. A NaN reaches `rest`.
template <bool kCapped>
__device__ RowSums sums_of(GapFrom<float, kCapped>& gap_of, const float* x) {
  float top = x[0];
  for (int i = 1; i < kSide; ++i) top = fmaxf(top, x[i]);
  gap_of.set_top(top);
  float rest = 0, weighted = 0, squares = 0;
  int equals = -1;
  for (int i = 0; i < kSide; ++i) {
    if (x[i] >= top) {
      ++equals;
      continue;
    }
    const Gap gap = gap_of(x[i]);
    const float term = gap.term();
    rest += term;
    weighted = fmaf(term, gap.finite_arg(), weighted);
    squares = fmaf(term, term, squares);
  }
  if (rest != rest) return no_sums(NAN);
  if (!(fabsf(top) < INFINITY)) return no_sums(top);
  return {top, static_cast<double>(rest) + equals, weighted * kLn2, static_cast<double>(squares) + equals};
}

// Blocks of the same strip follow each other: they read the same weights.
//
// ledger    linear_forward
// bytes     s D (N + V) + 40 N V / 1024
// limit     issue
// threads   256
// shared    49152
// notes     2 N V D operations on tensor cores; a tile of 128 x 128 reads 64 bytes from L2 for 2,048 products, which holds an H200 back before its
//           tensor cores do: more needs tiles that several blocks share
// turn      64 of tensor_strip_kernel<BFloat16, false>: 32 tensor, 64 loaded; 1 bytes; at most 3; must 0.5
// short     64 bytes from L2 for 2,048 products. A tile of 128 x 256 would read 48 and leave 0.49, but its accumulators with the float32
//           sums beside them are 256 registers a thread. More takes tiles that a cluster of blocks shares by multicast copies, and
//           wgmma. An H200 reached 0.21 of the speed of torch's product alone: two warps a scheduler wait for shared memory
template <class T, bool kCapped>
__global__ void __launch_bounds__(kTensorThreads, 1) tensor_strip_kernel(srp_linear_forward_args a, Strips use) {
  SRP_DYN_SHARED(TensorStage, ring);
  const int64_t tiles = use.rows / kTensorTile, strip = blockIdx.x / tiles;
  const int64_t first_row = use.first_row + blockIdx.x % tiles * kTensorTile;
  if (!any_kept(a, first_row, kTensorTile)) return;  // the whole block
  const LogitMap map = map_of<kCapped>(a);
  GapFrom<float, kCapped> gap(map);
  const int mine = warp_row() + tensor_lane();  // and kSide behind it
  RowSums own[kRounds] = {no_sums(-INFINITY), no_sums(-INFINITY)};
  const int64_t end = (strip + 1) * kStrip < a.V ? (strip + 1) * kStrip : a.V;
  for (int64_t first_id = strip * kStrip; first_id < end; first_id += kTensorTile) {
    TensorSums x;
    float shifts[4][2];
    form_logits<T>(a, ring, first_row, first_id, x);
    load_shifts<T>(a, first_id, shifts);
    __syncthreads();  // all warps are done with the stages
    float* const area = warp_area(ring);
    SRP_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      show_round(x, shifts, round, area);
      __syncwarp();
      const float* const logits = area + tensor_lane() * kPitch;
      own[round] = merge_sums(map, own[round], sums_of(gap, logits));
      const int64_t n = first_row + mine + round * kSide;
      if (a.log_probs && n < a.N && kept(a.mask, n)) {
        const int64_t at = a.targets[n] - first_id - warp_column();
        if (at >= 0 && at < kSide) use.at_target[n - use.first_row] = static_cast<double>(logits[at]);
      }
      __syncwarp();
    }
  }
  RowSums* const found = reinterpret_cast<RowSums*>(ring);  // [4, kTensorTile], of warps with the same rows
  __syncthreads();
  SRP_UNROLL
  for (int round = 0; round < kRounds; ++round)
    found[tensor_warp() % 4 * kTensorTile + mine + round * kSide] = own[round];
  __syncthreads();
  const int line = static_cast<int>(threadIdx.x);
  if (line >= kTensorTile || first_row + line >= a.N) return;
  RowSums whole = found[line];
  for (int w = 1; w < 4; ++w) whole = merge_sums(map, whole, found[w * kTensorTile + line]);
  store_state(use.state(first_row + line, strip), whole);
}

// ledger    linear_backward
// bytes     s D (N + V) + w N V
// limit     issue
// threads   256
// shared    49152
// notes     forms g of a chunk of rows and a strip of ids anew, the logits on tensor cores
template <class T>
__global__ void __launch_bounds__(kTensorThreads, 1)
    tensor_gradient_kernel(srp_linear_backward_args a, Gradients<float> to) {
  SRP_DYN_SHARED(TensorStage, ring);
  const int64_t tiles = to.rows / kTensorTile;
  const int64_t tile_row = blockIdx.x % tiles * kTensorTile, tile_id = blockIdx.x / tiles * kTensorTile;
  const int64_t first_row = to.first_row + tile_row, first_id = to.first_id + tile_id;
  const LogitMap map = LogitMap::of(a);
  TensorSums x;
  float shifts[4][2];
  clear_sums(x);
  if (any_kept(a, first_row, kTensorTile)) form_logits<T>(a, ring, first_row, first_id, x);  // the whole block
  load_shifts<T>(a, first_id, shifts);
  __syncthreads();  // all warps are done with the stages
  float* const area = warp_area(ring);
  const int64_t column = warp_column() + tensor_lane(), j = first_id + column;
  SRP_UNROLL
  for (int round = 0; round < kRounds; ++round) {
    show_round(x, shifts, round, area);
    __syncwarp();
    for (int line = 0; line < kSide; ++line) {
      const int64_t row = warp_row() + round * kSide + line;
      const RowGradient of = gradient_of<T>(a, first_row + row);
      const double g = j < a.V ? of.at(map, static_cast<double>(area[line * kPitch + tensor_lane()]), j) : 0;
      to.g[(tile_row + row) * kStrip + tile_id + column] = static_cast<float>(g);
    }
    __syncwarp();
  }
}

}  // namespace

srp_status has_tensor_cores(const srp_queue* queue, bool* has) {
  int major = 0;
  SRP_TRY(check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, queue->device),
                     "cudaDeviceGetAttribute"));
  *has = major >= 8;
  return SRP_OK;
}

template <class T>
void launch_tensor_strips(srp_queue* queue, const srp_linear_forward_args& a, const Strips& use) {
  const auto kernel = a.softcap != 0 ? tensor_strip_kernel<T, true> : tensor_strip_kernel<T, false>;
  const unsigned blocks = static_cast<unsigned>(use.rows / kTensorTile * use.strips);
  if (blocks > 0) SRP_LAUNCH(kernel, blocks, kTensorThreads, kTensorBytes, queue->stream, a, use);
}

template <class T>
void launch_tensor_gradients(srp_queue* queue, const srp_linear_backward_args& a, const Gradients<float>& g) {
  const unsigned blocks = static_cast<unsigned>(g.rows / kTensorTile * ((g.ids + kTensorTile - 1) / kTensorTile));
  if (blocks > 0) SRP_LAUNCH((tensor_gradient_kernel<T>), blocks, kTensorThreads, kTensorBytes, queue->stream, a, g);
}

template void launch_tensor_strips<Half>(srp_queue*, const srp_linear_forward_args&, const Strips&);
template void launch_tensor_strips<BFloat16>(srp_queue*, const srp_linear_forward_args&, const Strips&);
template void launch_tensor_gradients<Half>(srp_queue*, const srp_linear_backward_args&, const Gradients<float>&);
template void launch_tensor_gradients<BFloat16>(srp_queue*, const srp_linear_backward_args&, const Gradients<float>&);

}  // namespace srp::cuda
