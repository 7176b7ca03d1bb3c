// Quantile and top-k masks (contract: surprisal/select.h). A block takes a unit: it finds the key at a rank digit by digit,
// then strides over the unit once more to write the mask. Nothing is sorted or copied.
#include "backend.cuh"
#include "common.cuh"
#include "select_ranks.cuh"

namespace srp::cuda {
namespace {

constexpr int kRowThreads = 256;
// One block for the whole batch: as wide as a block can be.
constexpr int kAllThreads = 1024;

template <class F, class Args>
struct Candidates {
  using Key = decltype(order_key(F{}));
  const Args& a;
  Range range;

  __device__ bool has(int64_t i) const { return candidate(a.mask, i); }
  __device__ Key key(int64_t i) const { return order_key(static_cast<const F*>(a.values)[i]); }

  // The smallest key above `key`, which must exist.
  __device__ Key next(Key key) const {
    Key smallest = ~Key{0};
    each_candidate(*this, [&](Key other) {
      if (other > key && other < smallest) smallest = other;
    });
    return block_reduce(smallest, Min{});
  }
};

template <class F>
__device__ double threshold_of(const Candidates<F, srp_select_quantile_args>& candidates) {
  int64_t count = 0, nans = 0;
  each_candidate(candidates, [&](auto key) {
    ++count;
    nans += key == 0;
  });
  count = block_sum(count);
  nans = block_sum(nans);
  if (count == 0 || nans > 0) return NAN;
  const QuantileRank rank = quantile_rank(candidates.a.q, count);
  const auto low = key_at_rank(candidates, rank.lower);
  const bool last_of_equals = rank.lower + 1 == low.below + low.equal;
  const auto high = rank.fraction > 0 && last_of_equals ? candidates.next(low.key) : low.key;
  return interpolate(key_value(low.key), key_value(high), rank.fraction);
}

template <class F>
__global__ void quantile_kernel(srp_select_quantile_args a, uint32_t* faults) {
  const Range range = unit_range(a, blockIdx.x);
  if (!range.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  const double threshold = threshold_of(Candidates<F, srp_select_quantile_args>{a, range});
  if (a.threshold && threadIdx.x == 0) a.threshold[blockIdx.x] = threshold;
  if (!a.selected) return;
  const F* const values = static_cast<const F*>(a.values);
  for (int64_t i = range.begin + threadIdx.x; i < range.end; i += blockDim.x)
    a.selected[i] = candidate(a.mask, i) && load(values, i) >= threshold;
}

template <class F>
__global__ void top_kernel(srp_select_top_args a, uint32_t* faults) {
  const Range range = unit_range(a, blockIdx.x);
  if (!range.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  const Candidates<F, srp_select_top_args> candidates{a, range};
  const int64_t count = count_candidates(candidates), k = top_count(a, count);
  if (a.count && threadIdx.x == 0) a.count[blockIdx.x] = static_cast<int32_t>(k);
  mark_top(candidates, count, k, a.selected);
}

template <class Args, class Launch>
srp_status launch_units(srp_queue* queue, const Args* a, const char* op, Launch launch) {
  SRP_TRY(check(a));
  const int64_t units = unit_count(*a);
  SRP_TRY(check_grid(op, units));
  SRP_TRY(enter(queue));
  if (units == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  launch(dim3(static_cast<unsigned>(units)), dim3(a->over == SRP_OVER_ALL ? kAllThreads : kRowThreads));
  return launched(op);
}

}  // namespace

srp_status select_quantile(srp_queue* queue, const srp_select_quantile_args* a) {
  return launch_units(queue, a, "select_quantile", [&](dim3 grid, dim3 block) {
    if (a->dtype == SRP_F64)
      SRP_LAUNCH(quantile_kernel<double>, grid, block, 0, queue->stream, *a, queue->faults);
    else
      SRP_LAUNCH(quantile_kernel<float>, grid, block, 0, queue->stream, *a, queue->faults);
  });
}

srp_status select_top(srp_queue* queue, const srp_select_top_args* a) {
  return launch_units(queue, a, "select_top", [&](dim3 grid, dim3 block) {
    if (a->dtype == SRP_F64)
      SRP_LAUNCH(top_kernel<double>, grid, block, 0, queue->stream, *a, queue->faults);
    else
      SRP_LAUNCH(top_kernel<float>, grid, block, 0, queue->stream, *a, queue->faults);
  });
}

}  // namespace srp::cuda
