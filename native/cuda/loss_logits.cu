// From the logits of tokens to their gradient (contract: surprisal/loss.h, loss_logits): one block a row, whose warps form the
// sums (logprob_sums.cuh), whose first thread the token's loss, and which reads the row once more for the gradient
// (logprob_gradient.cuh). Rows that shared memory holds are read once: loss_logits_held.cu; here are those that are too long, not made
// of 16-byte pieces, or have a softcap.
//
// A row's two readings and the loss between them wait for each other, so that several rows share a multiprocessor: a warp a row of two
// slices, up to eight warps for longer ones, sixteen warps in all. The second reading comes from L2 where the rows in work fit there.
//
// Minimum bytes: 2 s stride N (logits, gradient) + 4 N (targets) + 4 or 8 bytes a token and input, 4 a token and output.
#include "loss_logits.cuh"

#include "launch.cuh"

namespace srp::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr int kBlocksAtWork = 2;  // of that many threads
template <bool kCapped>
constexpr int kSteps = kCapped ? 1 : 4;  // vectors of a thread on their way for the gradient
constexpr uint32_t kPage = 128;  // slices whose sums lie in shared memory at a time
constexpr int64_t kMostBlocks = int64_t{1} << 30;

// `room`: a warp's place for slices on their way.
template <class T, bool kCapped>
__device__ __forceinline__ RowSums sum_row(const LogitMap& map, const T* x, uint32_t V, RowSums* states, char* room) {
  const uint32_t warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const uint32_t slices = slices_of<T>(V);
  SliceStream<T, kCapped, true> stream(map, V, room, 1);
  stream.begin({x, warp});
  RowSums sums = no_sums(-INFINITY);
  for (uint32_t page = 0; page < slices; page += kPage) {
    const uint32_t end = page + kPage < slices ? page + kPage : slices;
    __syncthreads();  // the previous page, or the previous row, has been merged
    sum_slices(stream, x, page + warp, end, warps, page, states);
    __syncthreads();
    if (warp == 0) sums = merge_slices<false>(map, sums, states, end - page);
  }
  return sums;  // of the first warp
}

template <class T, bool kCapped>
__device__ __forceinline__ void write_gradient(const LogitMap& map, const T* x, int64_t V, int64_t stride,
                                               const RowSlopes& row, int64_t target, double at_target, T* grad) {
  constexpr int kCount = Vector<T>::kCount;
  const RowGradient<T, kCapped> gradient(map, row);
  const bool aligned = aligned16(x) && aligned16(grad);
  const int64_t step = int64_t{blockDim.x} * kCount, tile = kSteps<kCapped> * step;
  // Backwards: the end was read last and is the most likely to be in L2.
  const int64_t own = static_cast<int64_t>(threadIdx.x) * kCount;
  int64_t first = (stride - 1) / tile * tile;
  TileLogits<T, kSteps<kCapped>> next;
  next.load(x, first, first + own, step, V, aligned);
  for (; first >= 0; first -= tile) {
    const int64_t begin = first + own;
    const TileLogits<T, kSteps<kCapped>> from = next;
    if (first > 0) next.load(x, first - tile, begin - tile, step, V, aligned);
    SRP_UNROLL
    for (int s = 0; s < kSteps<kCapped>; ++s) {
      const int64_t j = begin + s * step;
      const Vector<T> to = gradient(from.parts[s]);  // behind V: -infinity gave 0
      if (aligned && j + kCount <= stride)
        store_vector(grad + j, to);
      else
        store_pieces(grad, j, stride, to);
    }
  }
  // By the thread that has just written there.
  if (target >= 0 && target / kCount % blockDim.x == threadIdx.x) store(grad, target, at_target);
}

// ledger    loss_logits
// bytes     2 s stride N + 4 N + 8 N inputs + 4 N outputs
// limit     memory
// notes     the second reading of a row comes from L2 where the rows in work fit there: 3 s stride N of traffic, 2 from
//           memory, and the 6 bytes an id at 5.5 TB/s leave 0.85 of the memory's speed
// shared    69632
// variants  rows that no shared memory holds; caps take a tanh an id. Others: held_kernel
// turn      32 of loss_logits_kernel<BFloat16, false>: 16 shared, no special + 16 shared, 64 loaded, 32 special + 64 loaded, 64
//           stored, 32 special; 4 bytes; at most 31.5; must 0.8; before 46.6, 46.5 on sm_89
// measured  0.50 to 0.61 of a copy, with another loop for the sums: the second pass is half of it, instructions that are not in the
//           cache a tenth
template <class T, bool kCapped>
__global__ void __launch_bounds__(kMostThreads, kBlocksAtWork)
    loss_logits_kernel(LossLogitsArgs a, LossArgs tokens, LossParameters p, uint32_t* faults) {
  SRP_DYN_SHARED(uint4, rooms);
  SRP_SHARED(RowSums, states, kPage);
  SRP_SHARED(RowLoss, found, 1);
  const LogitMap map = map_of<kCapped>(a);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    const T* const x = static_cast<const T*>(a.logits) + n * a.stride;
    T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
    const bool aligned = aligned16(grad);
    if (!kept(a.mask, n)) {
      if (threadIdx.x == 0) clear_token(a, n);
      fill_row(grad, 0, a.stride, 0.0f, aligned);
      continue;
    }
    char* const room = reinterpret_cast<char*>(rooms) + threadIdx.x / kWarp * SliceStream<T, kCapped, true>::kBytes;
    const RowSums sums = sum_row<T, kCapped>(map, x, static_cast<uint32_t>(a.V), states, room);
    const int64_t target = a.targets[n];
    const bool inside = target >= 0 && target < a.V;
    if (threadIdx.x == 0) {
      if (!inside) raise(faults, SRP_FAULT_INDEX);
      found[0] = lose(a, tokens, p, map, n, sums, inside ? load(x, target) : NAN);
    }
    __syncthreads();
    const RowSlopes row = found[0].row;
    if (fabs(row.max_logit) < INFINITY) {
      write_gradient<T, kCapped>(map, x, a.V, a.stride, row, inside ? target : -1, found[0].at_target, grad);
    } else {
      fill_row(grad, 0, a.V, row.max_logit == -INFINITY ? 0.0f : NAN, aligned);
      fill_row(grad, a.V, a.stride, 0.0f, aligned);
    }
    __syncthreads();  // the next row overwrites the shared results
  }
}

// Two slices a warp, and no more warps than a block takes and has room for.
template <class T>
int threads_for(int64_t V, size_t room) {
  int threads = kWarp;
  while (threads < kMostThreads && V > int64_t{threads} / kWarp * 2 * kSlice<T> &&
         2 * size_t{kSliceBytes} * static_cast<size_t>(threads / kWarp) <= room)
    threads *= 2;
  return threads;
}

template <class T, bool kCapped>
srp_status launch_rows(srp_queue* queue, const LossLogitsArgs& a) {
  constexpr size_t kBytes = SliceStream<T, kCapped, true>::kBytes * (kMostThreads / kWarp);
  constexpr size_t kBeside = kPage * sizeof(RowSums) + sizeof(RowLoss);
  int most_bytes = 0;
  SRP_TRY(check_cuda(cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, queue->device),
                     "cudaDeviceGetAttribute"));
  const size_t room = static_cast<size_t>(most_bytes) - kBeside;
  const auto kernel = loss_logits_kernel<T, kCapped>;
  SRP_TRY(allow_shared(kernel, kBytes < room ? kBytes : room));
  const int threads = threads_for<T>(a.V, room);
  const size_t bytes = SliceStream<T, kCapped, true>::kBytes * static_cast<size_t>(threads / kWarp);
  const dim3 grid(static_cast<unsigned>(a.N < kMostBlocks ? a.N : kMostBlocks)), block(static_cast<unsigned>(threads));
  SRP_LAUNCH(kernel, grid, block, bytes, queue->stream, a, token_args(a), loss_parameters(a.parameters), queue->faults);
  return SRP_OK;
}

template <class T>
srp_status launch(srp_queue* queue, const LossLogitsArgs& a) {
  bool held = false;
  SRP_TRY(launch_held<T>(queue, a, &held));
  if (held) return SRP_OK;
  return a.softcap != 0 ? launch_rows<T, true>(queue, a) : launch_rows<T, false>(queue, a);
}

}  // namespace

srp_status loss_logits(srp_queue* queue, const srp_loss_logits_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  SRP_TRY(a->dtype == SRP_F32   ? launch<float>(queue, *a)
          : a->dtype == SRP_F16 ? launch<Half>(queue, *a)
                                : launch<BFloat16>(queue, *a));
  return launched("loss_logits");
}

}  // namespace srp::cuda
