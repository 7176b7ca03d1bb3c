// Selection by covariance (contract: surprisal/select.h). A block a row sums it up, one block adds the rows to the means; then a
// block a row compares, or one block ranks the whole batch, computing covariances anew in each pass.
#include "backend.cuh"
#include "select_ranks.cuh"
#include "surprisal/select_covariance.h"

namespace srp::cuda {
namespace {

// One block for the whole batch: as wide as a block can be.
constexpr int kAllThreads = 1024;

__device__ ChunkSums block_merge(ChunkSums mine) {
  mine.sum = block_sum(mine.sum);
  mine.low = block_reduce(mine.low, Min{});
  mine.high = block_reduce(mine.high, Max{});
  mine.count = block_sum(mine.count);
  return mine;
}

template <class F>
__global__ void pair_sums_kernel(srp_select_covariance_args a, PairSums* rows, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  const Pairs<F> pairs{a};
  PairSums mine;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kSumLanes)
    if (pairs.kept(i)) mine.add(pairs.advantage(b, i), pairs.current(i));
  mine = {block_merge(mine.advantage), block_merge(mine.current)};
  if (threadIdx.x == 0) rows[b] = mine;
}

__global__ void means_kernel(const PairSums* rows, int64_t B, double count_epsilon, PairMeans* means) {
  PairSums mine;
  for (int64_t b = threadIdx.x; b < B; b += kSumLanes) merge(mine, rows[b]);
  mine = {block_merge(mine.advantage), block_merge(mine.current)};
  if (threadIdx.x == 0) *means = means_of(mine, count_epsilon);
}

// `count` starts at 0, or is NULL.
template <class F>
__global__ void range_kernel(srp_select_covariance_args a, const PairMeans* means) {
  const int64_t b = blockIdx.x;
  const Range row = row_range(a.offsets, a.T, a.n, b);  // a bad one is reported by the kernel that sums up
  const Pairs<F> pairs{a};
  const PairMeans mean = *means;
  int selected = 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += kSumLanes) {
    const bool flag = pairs.candidate(i) && pairs.in_range(pairs.covariance(mean, b, i));
    a.selected[i] = flag;
    selected += flag;
  }
  selected = block_sum(selected);
  if (a.count && threadIdx.x == 0) atomicAdd(a.count, selected);  // integers: any order
}

// The row of token i. Inside [0, B), whatever the offsets say.
__device__ int64_t row_of(const srp_select_covariance_args& a, int64_t i) {
  if (!a.offsets) return static_cast<uint32_t>(i) / static_cast<uint32_t>(a.T);  // n, and so T, fit
  int64_t low = 0, high = a.B - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (a.offsets[middle] <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

template <class F>
struct Covariances {
  using Key = uint64_t;
  const Pairs<F> pairs;
  const PairMeans means;
  const Range range;

  __device__ bool has(int64_t i) const { return pairs.candidate(i); }
  __device__ Key key(int64_t i) const {
    return order_key(pairs.covariance(means, pairs.a.advantage_per_token ? 0 : row_of(pairs.a, i), i));
  }
};

template <class F>
__global__ void covariance_top_kernel(srp_select_covariance_args a, const PairMeans* means) {
  const Covariances<F> covariances{Pairs<F>{a}, *means, Range{0, a.n, true}};
  const int64_t count = count_candidates(covariances), k = top_count(a, count);
  if (a.count && threadIdx.x == 0) *a.count = static_cast<int32_t>(k);
  mark_top(covariances, count, k, a.selected);
}

template <class F>
srp_status covariance(srp_queue* queue, const srp_select_covariance_args& a) {
  const char* const op = "select_covariance";
  if (a.count) SRP_TRY(check_cuda(cudaMemsetAsync(a.count, 0, sizeof *a.count, queue->stream), op));
  if (a.B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const Scratch sums(queue, static_cast<size_t>(a.B) * sizeof(PairSums)), mean(queue, sizeof(PairMeans));
  SRP_TRY(sums.status());
  SRP_TRY(mean.status());
  PairSums* const rows = sums.as<PairSums>();
  PairMeans* const means = mean.as<PairMeans>();
  const dim3 each_row(static_cast<unsigned>(a.B)), lanes(kSumLanes);
  SRP_LAUNCH((pair_sums_kernel<F>), each_row, lanes, 0, queue->stream, a, rows, queue->faults);
  SRP_LAUNCH(means_kernel, dim3(1), lanes, 0, queue->stream, rows, a.B, a.count_epsilon, means);
  if (a.mode == SRP_COVARIANCE_RANGE)
    SRP_LAUNCH((range_kernel<F>), each_row, lanes, 0, queue->stream, a, means);
  else
    SRP_LAUNCH((covariance_top_kernel<F>), dim3(1), dim3(kAllThreads), 0, queue->stream, a, means);
  return launched(op);
}

}  // namespace

srp_status select_covariance(srp_queue* queue, const srp_select_covariance_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("select_covariance", a->B));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? covariance<double>(queue, *a) : covariance<float>(queue, *a);
}

}  // namespace srp::cuda
