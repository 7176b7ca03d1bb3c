// The forward pass of a linear head on tensor cores (contract: surprisal/linear.h), of 16-bit numbers or of float32 numbers in parts: a
// block makes the logits of some rows and 128 ids at a time, and its warps take their own through shared memory, 32 ids a lane.
#include "linear_logits.cuh"
#include "logprob_gap.cuh"

namespace srp::cuda {
namespace {

constexpr int kSide = 32;  // lines and ids that a warp looks at together
constexpr int kPitch = kSide + 1;
constexpr int kRounds = 2;  // of 32 ids, which make the 64 of a line

// Line l of a warp: 64 ids of a row of its tile.
template <class Way>
__device__ __forceinline__ int row_of_line(int line) {
  return Way::row(line / 16) + line % 16;
}
template <class Way>
__device__ __forceinline__ int column_of_line(int line) {
  return Way::column(line / 16);
}

// What a tile's warp looks at: [kSide, kPitch] float32 of shared memory, its own.
__device__ __forceinline__ float* warp_area(char* ring) {
  return reinterpret_cast<float*>(ring) + tensor_warp() * kSide * kPitch;
}

// The 32 ids of a round.
__device__ __forceinline__ void show_round(const TensorSums& x, int round, float* area) {
  const int lane = tensor_lane();
  SRP_UNROLL
  for (int m = 0; m < kSumRows; ++m) {
    SRP_UNROLL
    for (int n = 0; n < 4; ++n) {
      SRP_UNROLL
      for (int i = 0; i < 4; ++i)
        area[(m * 16 + i / 2 * 8 + lane / 4) * kPitch + n * 8 + lane % 4 * 2 + i % 2] = x[m][round * 4 + n][i];
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

// What a line's ids have come to lies behind the ring: registers have other sums to hold.
template <class Way>
constexpr size_t kStripBytes = Way::kRingBytes + Way::kThreads * sizeof(RowSums);

// Blocks of the same strip follow each other: they read the same weights.
//
// ledger    linear_forward
// bytes     s D (N + V) + 40 N V / 1024
// limit     issue
// threads   256
// shared    49152
// notes     2 N V D operations on tensor cores, of warps, or on sm_90 of warpgroups with 384 threads and 218112 bytes. A tile of 192 x 128
//           reads 53 bytes from L2 for 2,048 products, which holds an H200 back before its tensor cores do: more needs tiles that
//           several blocks share
// variants  warpgroups on sm_90, warps elsewhere; caps take a tanh an id
// turn      128 of tensor_strip_kernel<BFloat16, false, WarpgroupTiles>: 64 warpgroup, 112 loaded; 0.833 bytes; at most 1.17; must
//           0.5; before 2.4; threads 384; shared 218112
// sm_89     64 of tensor_strip_kernel<BFloat16, false, WarpTiles>: 32 tensor, 64 loaded; 1 bytes; at most 1.92; must 0.5; before
//           2.4
// short     53 bytes from L2 for 2,048 products, at the 5.5 TB/s that an H200 is reckoned with. More takes tiles that a cluster of
//           blocks shares by multicast copies: 128 x 256 with the float32 sums beside the accumulators are 256 registers a thread.
//           Measured, it reads faster than that, and has 0.49 of the speed of torch's product alone (docs/notes/gpu-h200.md)
template <class T, bool kCapped, class Way>
__global__ void __launch_bounds__(Way::kThreads, 1)
    tensor_strip_kernel(srp_linear_forward_args a, LogitMap given_map, Strips use) {
  if constexpr (Way::kOfGroups && SRP_WARPGROUP_INSTRUCTIONS == 0) return;
  SRP_DYN_SHARED(char, memory);
  char* const ring = ring_of<Way>(memory);
  const unsigned tiles = static_cast<unsigned>((use.rows + Way::kRows - 1) / Way::kRows);
  const unsigned strip = blockIdx.x / tiles + (kInParts<T> ? use.first_strip : 0);
  const int64_t first_row = use.first_row + static_cast<int>(blockIdx.x % tiles) * Way::kRows;
  const int64_t end_row = use.first_row + use.rows < a.N ? use.first_row + use.rows : a.N;
  if (!any_kept(a, first_row, Way::kRows)) return;  // the whole block
  const LogitMap map = given<kCapped>(given_map);
  GapFrom<float, kCapped> gap(map);
  const int row_of_tile = row_of_line<Way>(tensor_lane()), column = column_of_line<Way>(tensor_lane());
  RowSums& own = reinterpret_cast<RowSums*>(memory + Way::kRingBytes)[threadIdx.x];
  own = no_sums(-INFINITY);
  SRP_KEEP_ROLLED
  for (int tile = 0; tile < kStrip; tile += kTensorTile) {
    const int64_t first_id = strip * kStrip + tile;
    if (first_id >= a.V) break;
    TensorSums x;
    form_logits<T, Way>(a, ring, first_row, first_id, {use.first_row, use.first_strip * int64_t{kStrip}}, x);
    add_bias<T, Way>(a, first_id, x);
    __syncthreads();  // all warps are done with the ring
    float* const area = warp_area(ring);
    const int64_t row =
        first_row + row_of_tile;  // looked up anew for each tile, so that it takes no register beside the sums
    const int64_t target = a.log_probs && row < end_row && kept(a.mask, row) ? a.targets[row] - first_id - column : -1;
    const int ahead = target >= 0 && target < kTensorTile / 2 ? static_cast<int>(target) : -1;
    SRP_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      show_round(x, round, area);
      __syncwarp();
      const float* const logits = area + tensor_lane() * kPitch;
      own = merge_sums(map, own, sums_of(gap, logits));
      const int at = ahead - round * kSide;
      if (at >= 0 && at < kSide) use.at_target[row - use.first_row] = static_cast<double>(logits[at]);
      __syncwarp();
    }
  }
  RowSums* const found = reinterpret_cast<RowSums*>(ring);  // [2, rows], of lines of the same row
  __syncthreads();
  found[column / 64 * Way::kRows + row_of_tile] = own;
  __syncthreads();
  const int line = static_cast<int>(threadIdx.x);
  if (line >= Way::kRows || first_row + line >= end_row) return;
  store_state(use.state(first_row + line, strip), merge_sums(map, found[line], found[Way::kRows + line]));
}

}  // namespace

srp_status tensor_cores(const srp_queue* queue, TensorCores* cores) {
  int major = 0;
  SRP_TRY(check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, queue->device),
                     "cudaDeviceGetAttribute"));
  *cores = major < 8                         ? TensorCores::none
           : major == 9 && kCompiledForWgmma ? TensorCores::of_warpgroups
                                             : TensorCores::of_warps;
  return SRP_OK;
}

namespace {

// `count` of them.
template <class T>
srp_status launch_strips_of(srp_queue* queue, TensorCores cores, const srp_linear_forward_args& a, const Strips& use,
                            int64_t count) {
  return with_tiles_of<T>(cores, a, [&](auto way) {
    using Way = decltype(way);
    const auto kernel = a.softcap != 0 ? tensor_strip_kernel<T, true, Way> : tensor_strip_kernel<T, false, Way>;
    const unsigned blocks = static_cast<unsigned>((use.rows + Way::kRows - 1) / Way::kRows * count);
    if (blocks == 0) return SRP_OK;
    SRP_TRY(allow_shared(kernel, kStripBytes<Way>));
    SRP_LAUNCH(kernel, blocks, Way::kThreads, kStripBytes<Way>, queue->stream, a, LogitMap::of(a), use);
    return SRP_OK;
  });
}

// Ids whose weights are in parts at a time: with the tiles of kChunk rows, as many blocks as the device has multiprocessors. No bit depends
// on it.
int64_t ids_in_parts(const srp_queue* queue) {
  constexpr int64_t kTiles = (kChunk + WarpgroupTiles::kRows - 1) / WarpgroupTiles::kRows;
  const int64_t strips = queue->multiprocessors / kTiles;
  return (strips < 1 ? 1 : strips) * kStrip;
}

srp_status launch_strips_in_parts(srp_queue* queue, TensorCores cores, const srp_linear_forward_args& a,
                                  const Strips& use) {
  const int64_t left = a.N - use.first_row, rows = left < use.rows ? left : use.rows, D = parts_width(a.D);
  const int64_t most = ids_in_parts(queue);
  SRP_TRY(check_grid("linear_forward", (most + rows) * D / 3 / 256 + 1));
  const Scratch memory(queue, static_cast<size_t>((rows + (a.V < most ? a.V : most)) * D) * sizeof(BFloat16));
  SRP_TRY(memory.status());
  BFloat16 *const hidden = memory.as<BFloat16>(), *const weight = hidden + rows * D;
  launch_logit_parts(queue, static_cast<const float*>(a.hidden) + use.first_row * a.D,
                     a.mask ? a.mask + use.first_row : nullptr, rows, a.D, Operand::hidden, hidden);
  for (int64_t id = 0; id < a.V; id += most) {
    const int64_t ids = a.V - id < most ? a.V - id : most;
    launch_logit_parts(queue, static_cast<const float*>(a.weight) + id * a.D, nullptr, ids, a.D, Operand::weight,
                       weight);
    Strips own = use;
    own.first_strip = static_cast<unsigned>(id / kStrip);
    SRP_TRY(launch_strips_of<float>(queue, cores, in_parts(a, hidden, weight), own, (ids + kStrip - 1) / kStrip));
  }
  return SRP_OK;
}

}  // namespace

template <class T>
srp_status launch_tensor_strips(srp_queue* queue, TensorCores cores, const srp_linear_forward_args& a,
                                const Strips& use) {
  if constexpr (kInParts<T>)
    return launch_strips_in_parts(queue, cores, a, use);
  else
    return launch_strips_of<T>(queue, cores, a, use, use.strips);
}

template srp_status launch_tensor_strips<float>(srp_queue*, TensorCores, const srp_linear_forward_args&, const Strips&);
template srp_status launch_tensor_strips<Half>(srp_queue*, TensorCores, const srp_linear_forward_args&, const Strips&);
template srp_status launch_tensor_strips<BFloat16>(srp_queue*, TensorCores, const srp_linear_forward_args&,
                                                   const Strips&);

}  // namespace srp::cuda
