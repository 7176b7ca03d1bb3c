// The linear head (contract: surprisal/linear.h): which way a call goes, and what both ways share. On tensor cores where the card has
// them and numbers are 16 bits wide, or float32 and may come in parts (linear_tensor.cu, linear_products.cu), else on the plain pipes
// (linear_plain.cu). Forward leaves the sums of strips of 1024 ids, which merge here in their order.
#include "linear_parts.cuh"
#include "warpgroup_tiles.cuh"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;

// ledger    linear_forward
// bytes     40 N V / 1024 + N outputs
// limit     latency
// notes     a warp or a thread a row merges its strips
template <class T>
__global__ void finish_kernel(srp_linear_forward_args a, Strips use, uint32_t* faults) {
  const int64_t n = use.first_row + blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (n >= a.N || n >= use.first_row + use.rows) return;
  if (!kept(a.mask, n)) return clear_linear<T>(a, n);
  const LogitMap map = LogitMap::of(a);
  RowSums sums = no_sums(-INFINITY);
  for (int64_t strip = 0; strip < use.strips; ++strip) {
    const double* const s = use.state(n, strip);
    sums = merge_sums(map, sums, {s[0], s[1], s[2], s[3]});
  }
  const RowResult row = finish_row(map, sums);
  const bool inside = a.log_probs && a.targets[n] >= 0 && a.targets[n] < a.V;
  if (a.log_probs && !inside) raise(faults, SRP_FAULT_INDEX);
  store_linear<T>(a, n, row, inside ? target_logprob(map, row, use.at_target[n - use.first_row]) : NAN);
}

// ledger    linear_backward
// bytes     w count
// limit     memory
// notes     zeroes what is added up
// turn      1 of clear_kernel<float>: whole, 4 stored; 4 bytes; at most 16.1, 13.1 on sm_89
template <class Number>
__global__ void clear_kernel(Number* to, int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < count) to[i] = 0;
}

// ledger    linear_backward
// bytes     4 N
// limit     latency
// notes     looks for targets out of range
__global__ void targets_kernel(srp_linear_backward_args a, uint32_t* faults) {
  const int64_t n = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (n < a.N && kept(a.mask, n) && (a.targets[n] < 0 || a.targets[n] >= a.vocab_size)) raise(faults, SRP_FAULT_INDEX);
}

// ---- launchers

// What takes these numbers.
template <class T>
srp_status cores_for(const srp_queue* queue, int32_t sums, TensorCores* cores) {
  *cores = TensorCores::none;
  return sizeof(T) == 2 || (kInParts<T> && sums == SRP_SUMS_BFLOAT16X3) ? tensor_cores(queue, cores) : SRP_OK;
}

// What chunks are made of.
constexpr int64_t rows_of_tile(TensorCores cores) {
  if (cores == TensorCores::none) return kPlainRows;
  return cores == TensorCores::of_warpgroups ? WarpgroupTiles::kRows : WarpTiles::kRows;
}

template <class T>
srp_status launch_strips(srp_queue* queue, const srp_linear_forward_args& a, const Strips& use, TensorCores cores) {
  if constexpr (sizeof(T) <= 4) {
    if (cores != TensorCores::none) return launch_tensor_strips<T>(queue, cores, a, use);
  }
  launch_plain_strips<T>(queue, a, use);
  return SRP_OK;
}

template <class T>
srp_status forward(srp_queue* queue, const srp_linear_forward_args& a) {
  TensorCores cores = TensorCores::none;
  SRP_TRY(cores_for<T>(queue, a.sums, &cores));
  const int64_t rows = chunk_rows(a.chunk_rows, kChunk, rows_of_tile(cores), a.N);
  const int64_t strips = (a.V + kStrip - 1) / kStrip;
  SRP_TRY(check_grid("linear_forward", rows / kPlainRows * strips));
  const Scratch memory(queue, static_cast<size_t>(rows * (strips * kStateSums + 1)) * sizeof(double));
  SRP_TRY(memory.status());
  double* const states = memory.as<double>();
  for (int64_t first = 0; first < a.N; first += rows) {
    const Strips use = {states, states + rows * strips * kStateSums, first, rows, strips};
    SRP_TRY(launch_strips<T>(queue, a, use, cores));
    SRP_LAUNCH((finish_kernel<T>), blocks_for(rows, kThreads), kThreads, 0, queue->stream, a, use, queue->faults);
  }
  return launched("linear_forward");
}

template <class T>
srp_status form_gradients(srp_queue* queue, const srp_linear_backward_args& a) {
  const bool of_hidden = a.grad_hidden && a.N > 0 && a.D > 0, of_head = a.grad_weight || a.grad_bias;
  TensorCores cores = TensorCores::none;
  SRP_TRY(cores_for<T>(queue, a.sums, &cores));
  if constexpr (sizeof(T) <= 4) {
    if (cores != TensorCores::none) return tensor_backward<T>(queue, cores, a, of_hidden, of_head);
  }
  return plain_backward<T>(queue, a, of_hidden, of_head);
}

template <class T>
void clear_from(srp_queue* queue, void* out, int64_t begin, int64_t end) {
  if (begin == end) return;
  SRP_LAUNCH((clear_kernel<Wide<T>>), blocks_for(end - begin, kThreads), kThreads, 0, queue->stream,
             static_cast<Wide<T>*>(out) + begin, end - begin);
}

template <class T>
srp_status backward(srp_queue* queue, const srp_linear_backward_args& a) {
  SRP_TRY(check_grid("linear_backward", (a.padded - a.V) * (a.D > 0 ? a.D : 1) / kThreads + 1));
  SRP_TRY(check_grid("linear_backward", a.N / kThreads + 1));
  SRP_TRY(form_gradients<T>(queue, a));
  if (a.grad_log_probs && a.N > 0)
    SRP_LAUNCH(targets_kernel, blocks_for(a.N, kThreads), kThreads, 0, queue->stream, a, queue->faults);
  if (a.grad_weight && !a.accumulate) clear_from<T>(queue, a.grad_weight, a.V * a.D, a.padded * a.D);
  if (a.grad_bias && !a.accumulate) clear_from<T>(queue, a.grad_bias, a.V, a.padded);
  return launched("linear_backward");
}

template <class Args>
srp_status check_sums(const Args& a) {
  if (a.sums != SRP_SUMS_FLOAT64 || a.dtype == SRP_F64) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT,
              "sums is float64: on a device of float64 numbers alone; convert hidden and weight, or take the CPU");
}

}  // namespace

srp_status linear_forward(srp_queue* queue, const srp_linear_forward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_sums(*a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  if (a->dtype == SRP_F32) return forward<float>(queue, *a);
  if (a->dtype == SRP_F64) return forward<double>(queue, *a);
  return a->dtype == SRP_F16 ? forward<Half>(queue, *a) : forward<BFloat16>(queue, *a);
}

srp_status linear_backward(srp_queue* queue, const srp_linear_backward_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_sums(*a));
  SRP_TRY(enter(queue));
  if (a->dtype == SRP_F32) return backward<float>(queue, *a);
  if (a->dtype == SRP_F64) return backward<double>(queue, *a);
  return a->dtype == SRP_F16 ? backward<Half>(queue, *a) : backward<BFloat16>(queue, *a);
}

}  // namespace srp::cuda
