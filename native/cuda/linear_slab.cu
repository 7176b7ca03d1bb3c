// The gradient of a head's logits, formed anew on tensor cores, a slab of rows and ids at a time (contract: surprisal/linear.h): float32
// arithmetic but for a row's target, whose 1 - p only float64 holds. And what is a sum over a slab's rows alone: that of the bias.
#include "linear_logits.cuh"
#include "linear_slab.cuh"
#include "logprob_gap.cuh"

namespace srp::cuda {
namespace {

// A row's constants, ready-made, for ids that are not its target.
template <bool kCapped>
class RowSlope {
 public:
  __device__ RowSlope(const LogitMap& map, const RowGradient& row) : map_(map), gap_(map) {
    const float top = static_cast<float>(row.max_logit);
    gap_.set_top(top);
    // What rounding the largest logit moves: z(top) - z(max).
    const double moved = fabsf(top) < INFINITY ? map.below_max(static_cast<double>(top), row.max_logit) : 0;
    const double factor = kCapped ? 1 : map.slope, mean = (row.mean_gap + moved) / kLn2;
    scale_ = static_cast<float>(row.max_logit < INFINITY ? exp(moved - row.log1p_sum) : NAN);
    mean_high_ = static_cast<float>(mean);
    mean_low_ = static_cast<float>(mean - mean_high_);
    constant_ = static_cast<float>(-row.of_logprob * factor);
    per_power_ = static_cast<float>(-row.of_entropy * kLn2 * factor);
  }

  __device__ __forceinline__ float operator()(float x) const {
    const Gap gap = gap_(x);
    float p = gap.term() * scale_;
    if constexpr (kCapped) p *= static_cast<float>(map_.derivative(x == -INFINITY ? 0.0 : static_cast<double>(x)));
    const float over_mean = (gap.finite_arg() + mean_high_) + (gap.finite_low() + mean_low_);
    return p == 0 ? 0.0f : p * fmaf(per_power_, over_mean, constant_);
  }

 private:
  const LogitMap& map_;
  GapFrom<float, kCapped> gap_;
  float scale_, mean_high_, mean_low_, constant_, per_power_;
};

// Two neighbouring ids of a row.
__device__ __forceinline__ void store_pair(const Slab& slab, int64_t at, float first, float second) {
  const uint32_t near = rounded_pair(first, second, BFloat16{});
  const float left = first - low_of(near, BFloat16{}), right = second - high_of(near, BFloat16{});
  *reinterpret_cast<uint32_t*>(slab.part(0) + at) = near;
  *reinterpret_cast<uint32_t*>(slab.part(1) + at) = rounded_pair(left, right, BFloat16{});
}

__device__ __forceinline__ void store_one(const Slab& slab, int64_t at, float x) {
  const BFloat16 near = to_bfloat16(x);
  slab.part(0)[at] = near.bits;
  slab.part(1)[at] = to_bfloat16(x - to_float(near)).bits;
}

// Ids behind the last one are 0, as the products want them.
//
// ledger    linear_backward
// bytes     s D (N + V) + 4 N V
// limit     issue
// threads   256
// shared    49152
// notes     forms g of a slab of rows and ids anew, the logits on tensor cores; once for all gradients
// variants  as tensor_strip_kernel
// turn      128 of slab_kernel<BFloat16, false, WarpgroupTiles>: 64 warpgroup, 112 loaded; 0.833 bytes; at most 1.17; threads 384;
//           shared 218112
// sm_89     64 of slab_kernel<BFloat16, false, WarpTiles>: 32 tensor, 64 loaded; 1 bytes; at most 1.91
template <class T, bool kCapped, class Way>
__global__ void __launch_bounds__(Way::kThreads, 1)
    slab_kernel(srp_linear_backward_args a, LogitMap given_map, Slab slab) {
  if constexpr (Way::kOfGroups && SRP_WARPGROUP_INSTRUCTIONS == 0) return;
  SRP_DYN_SHARED(char, memory);
  char* const ring = ring_of<Way>(memory);
  const int64_t tiles = (slab.rows + Way::kRows - 1) / Way::kRows;
  const int64_t tile_row = blockIdx.x % tiles * Way::kRows, tile_id = blockIdx.x / tiles * kTensorTile;
  const int64_t first_row = slab.first_row + tile_row, first_id = slab.first_id + tile_id;
  const LogitMap map = given<kCapped>(given_map);
  TensorSums x;
  clear_sums(x);
  if (any_kept(a, first_row, Way::kRows))  // the whole block
    form_logits<T, Way>(a, ring, first_row, first_id, {slab.first_row, slab.first_id}, x);
  add_bias<T, Way>(a, first_id, x);
  SRP_UNROLL
  for (int r = 0; r < 2 * kSumRows; ++r) {
    const int row = Way::row(r / 2) + r % 2 * 8 + tensor_lane() / 4,
              column = Way::column(r / 2) + tensor_lane() % 4 * 2;
    if (tile_row + row >= slab.rows) continue;
    const int64_t n = first_row + row, j = first_id + column;
    const bool live = n < a.N && kept(a.mask, n);
    const RowGradient of = gradient_of<T>(a, n);
    const bool some = live && of.max_logit != -INFINITY;
    const RowSlope<kCapped> slope(map, of);
    const int64_t ahead = of.target < 0 ? -1 : of.target - j;
    const bool mine = some && ahead >= 0 && ahead < 64 && ahead % 8 < 2;  // this thread has the target
    const int own = mine ? static_cast<int>(ahead) : -1;
    float at_target = 0;
    SRP_UNROLL
    for (int c = 0; c < kSumColumns; ++c) {
      const float first = x[r / 2][c][r % 2 * 2], second = x[r / 2][c][r % 2 * 2 + 1];
      if (own == c * 8) at_target = first;
      if (own == c * 8 + 1) at_target = second;
      store_pair(slab, slab.place(tile_row + row, tile_id + column + c * 8), some ? slope(first) : 0.0f,
                 some ? slope(second) : 0.0f);
    }
    if (own >= 0)
      store_one(slab, slab.place(tile_row + row, tile_id + column + own),
                static_cast<float>(of.at(map, static_cast<double>(at_target), of.target)));
  }
}

// A thread an id and kTensorRows rows, whose sums are then added in their order.
//
// ledger    linear_backward
// bytes     4 N V + w V
// limit     memory
// threads   256
// notes     sums columns of g
// turn      4 of slab_bias_kernel<BFloat16>: 8 loads, 8 float64; 4 bytes; at most 12.1
template <class T>
__global__ void slab_bias_kernel(srp_linear_backward_args a, Slab slab, double* waiting) {
  SRP_SHARED(double, sums, kSlabRows / kTensorRows * kPanel);
  const int64_t id = blockIdx.x * kPanel + threadIdx.x % kPanel, part = threadIdx.x / kPanel;
  double sum = 0;
  for (int64_t row = part * kTensorRows; row < (part + 1) * kTensorRows && row < slab.rows; ++row) {
    const int64_t at = slab.place(row, id);
    sum += static_cast<double>(to_float(BFloat16{slab.part(0)[at]})) +
           static_cast<double>(to_float(BFloat16{slab.part(1)[at]}));
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (part > 0 || id >= slab.ids) return;
  double whole = slab.first_row == 0 ? 0 : waiting[id];
  for (int64_t p = 0; p < kSlabRows / kTensorRows; ++p) whole += sums[p * kPanel + id % kPanel];
  if (slab.first_row + slab.rows < a.N)
    waiting[id] = whole;
  else
    store_sum<T>(a, a.grad_bias, slab.first_id + id, whole);
}

}  // namespace

template <class T>
srp_status launch_slab(srp_queue* queue, TensorCores cores, const srp_linear_backward_args& given, const Slab& slab,
                       BFloat16* parts) {
  srp_linear_backward_args a = given;
  if constexpr (kInParts<T>) {
    const int64_t left = a.N - slab.first_row, tiles = part_rows(slab.rows);
    const int64_t rows = left < tiles ? left : tiles, D = parts_width(a.D);
    launch_logit_parts(queue, static_cast<const float*>(a.hidden) + slab.first_row * a.D,
                       a.mask ? a.mask + slab.first_row : nullptr, rows, a.D, Operand::hidden, parts);
    launch_logit_parts(queue, static_cast<const float*>(a.weight) + slab.first_id * a.D, nullptr, slab.ids, a.D,
                       Operand::weight, parts + rows * D);
    a = in_parts(given, parts, parts + rows * D);
  }
  return with_tiles_of<T>(cores, a, [&](auto way) {
    using Way = decltype(way);
    const auto kernel = a.softcap != 0 ? slab_kernel<T, true, Way> : slab_kernel<T, false, Way>;
    const int64_t tiles = (slab.rows + Way::kRows - 1) / Way::kRows;
    const unsigned blocks = static_cast<unsigned>(tiles * ((slab.ids + kTensorTile - 1) / kTensorTile));
    if (blocks == 0) return SRP_OK;
    SRP_TRY(allow_shared(kernel, Way::kRingBytes));
    SRP_LAUNCH(kernel, blocks, Way::kThreads, Way::kRingBytes, queue->stream, a, LogitMap::of(a), slab);
    return SRP_OK;
  });
}

template <class T>
void launch_slab_bias(srp_queue* queue, const srp_linear_backward_args& a, const Slab& slab, double* waiting) {
  constexpr int kThreads = kSlabRows / kTensorRows * kPanel;
  const unsigned blocks = static_cast<unsigned>((slab.ids + kPanel - 1) / kPanel);
  if (blocks > 0) SRP_LAUNCH((slab_bias_kernel<T>), blocks, kThreads, 0, queue->stream, a, slab, waiting);
}

template srp_status launch_slab<float>(srp_queue*, TensorCores, const srp_linear_backward_args&, const Slab&,
                                       BFloat16*);
template srp_status launch_slab<Half>(srp_queue*, TensorCores, const srp_linear_backward_args&, const Slab&, BFloat16*);
template srp_status launch_slab<BFloat16>(srp_queue*, TensorCores, const srp_linear_backward_args&, const Slab&,
                                          BFloat16*);
template void launch_slab_bias<float>(srp_queue*, const srp_linear_backward_args&, const Slab&, double*);
template void launch_slab_bias<Half>(srp_queue*, const srp_linear_backward_args&, const Slab&, double*);
template void launch_slab_bias<BFloat16>(srp_queue*, const srp_linear_backward_args&, const Slab&, double*);

}  // namespace srp::cuda
