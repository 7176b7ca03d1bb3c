// loss_logits with rows that stay in shared memory between their two readings: memory is read once.
//
// A block keeps the slices of its row (logprob_sums.cuh), one or two a warp; where a row is larger than half of a multiprocessor's shared
// memory, the blocks of a cluster share it. A thread copies, sums and replaces the same 16 bytes of the row, so that it waits for its
// own copies alone; what the warps have found is stored to every block of the cluster, and each of them forms the token's loss for itself.
// When a thread has written the gradient of its 16 bytes, it begins to copy those of the next row to where they were: memory works
// while the others compute, and two blocks or more share a multiprocessor.
//
// Rows of 16-byte pieces only, without softcap; other rows are read twice (loss_logits.cu).
#include "loss_logits.cuh"

#include "launch.cuh"

namespace srp::cuda {
namespace {

constexpr int kMostWarps = 10;  // of a block, as registers have room for in two of them
constexpr uint32_t kMostCluster = 8;  // blocks; more of them not every card with clusters has

// How a row is cut.
struct Cut {
  uint32_t slices, per_block, blocks;  // blocks: of a cluster
  size_t bytes;  // of shared memory, of a block

  SRP_HD int warps() const { return static_cast<int>(per_block <= kMostWarps ? per_block : (per_block + 1) / 2); }
  SRP_HD int threads() const { return warps() * kWarp; }
};

// The fewest blocks a row of which two find room on a multiprocessor; 0 blocks if there are none.
template <class T>
Cut cut_row(int64_t V, size_t most_bytes, uint32_t most_blocks) {
  Cut cut = {slices_of<T>(V), 0, 1, 0};
  for (; cut.blocks <= most_blocks; cut.blocks *= 2) {
    cut.per_block = (cut.slices + cut.blocks - 1) / cut.blocks;
    constexpr int64_t kPiece = kChunk<T>;
    const int64_t ids = cut.slices == 1 ? (V + kPiece - 1) / kPiece * kPiece : int64_t{cut.per_block} * kSlice<T>;
    cut.bytes = 2 * cut.slices * sizeof(RowSums) + static_cast<size_t>(ids) * sizeof(T);
    if (cut.bytes <= most_bytes && cut.warps() <= kMostWarps) return cut;
  }
  cut.blocks = 0;
  return cut;
}

// This thread's part of a row, in shared memory: whole chunks, in which what lies behind the row is -infinity.
template <class T>
struct HeldRow {
  static constexpr uint32_t kCount = Vector<T>::kCount;

  T* held;
  uint32_t first, end, V;  // slices of the block; ids of the row

  // Calls slice(s, at) for this warp's slices, of which the thread has the vectors from `at` on.
  template <class Slices>
  __device__ __forceinline__ void each_slice(const Slices& slice) const {
    const uint32_t warp = threadIdx.x / kWarp, own = threadIdx.x % kWarp * kCount;
    for (uint32_t s = first + warp; s < end; s += blockDim.x / kWarp) slice(s, held + (s - first) * kSlice<T> + own);
  }

  // Calls chunk(j, at) for their chunks: the thread has the vectors from id j on in every kStep, which lie from `at` on.
  template <class Chunks>
  __device__ __forceinline__ void each_chunk(const Chunks& chunk) const {
    each_slice([&](uint32_t s, T* at) {
      const uint32_t begin = s * kSlice<T> + threadIdx.x % kWarp * kCount;
      for (uint32_t c = 0; c < chunks_of<T>(s, V); ++c) chunk(begin + c * kChunk<T>, at + c * kChunk<T>);
    });
  }

  // Whether all vectors of a warp's chunk have ids; j is the thread's.
  __device__ __forceinline__ bool whole(uint32_t j) const { return j - threadIdx.x % kWarp * kCount + kChunk<T> <= V; }

  // Whether this thread has id j.
  __device__ __forceinline__ bool has(int32_t j) const {
    const uint32_t id = static_cast<uint32_t>(j), slice = id / kSlice<T>;
    return slice >= first && slice < end && (slice - first) % (blockDim.x / kWarp) == threadIdx.x / kWarp &&
           id / kCount % kWarp == threadIdx.x % kWarp;
  }

  __device__ __forceinline__ void copy(const T* x, uint32_t j, T* at) const {
    if (whole(j)) {
      SRP_UNROLL
      for (int p = 0; p < kParts; ++p) __pipeline_memcpy_async(at + p * kStep<T>, x + j + p * kStep<T>, 16);
    } else {
      SRP_UNROLL
      for (int p = 0; p < kParts; ++p)
        if (j + p * kStep<T> < V) __pipeline_memcpy_async(at + p * kStep<T>, x + j + p * kStep<T>, 16);
    }
  }

  __device__ __forceinline__ void copy_all(const T* x) const {
    each_chunk([&](uint32_t j, T* at) { copy(x, j, at); });
    __pipeline_commit();
  }

  // Of the row's last chunk what has no ids at all, once.
  __device__ __forceinline__ void begin() const {
    each_chunk([&](uint32_t j, T* at) {
      for (int p = 0; p < kParts; ++p)
        if (j + p * kStep<T> >= V) store_shared(at + p * kStep<T>, load_pieces(at, 0, 0));
    });
  }

  // When the copies have come: where a vector ends behind the row.
  __device__ __forceinline__ void end_row() const {
    if (V % kCount == 0 || !has(static_cast<int32_t>(V - 1))) return;
    T* const at = held + (V / kCount * kCount - first * kSlice<T>);
    store_shared(at, load_pieces(at, 0, V % kCount));
  }
};

template <class T>
__device__ __forceinline__ Vector<T> held_vector(const T* at) {
  return *reinterpret_cast<const Vector<T>*>(at);
}

// The sums of this warp's slices, to `states` of every block.
template <class T, bool kClusters>
__device__ __forceinline__ void sum_held(const LogitMap& map, const HeldRow<T>& held, uint32_t blocks,
                                         RowSums* states) {
  held.each_slice([&](uint32_t slice, const T* at) {
    const RowSums found =
        sum_slice<T, false, true>(map, HeldSlice<T>{at}, chunks_of<T>(slice, held.V), [](uint32_t) {});
    const uint32_t lane = threadIdx.x % kWarp;
    if (!kClusters && lane == 0) states[slice] = found;
    if (kClusters && lane < blocks) store_to_block(states + slice, lane, found);
  });
}

// The gradient of this thread's ids; when it has written those of a chunk, the copies of the next row's begin (`next` NULL: there is none).
template <class T>
__device__ __forceinline__ void write_held(const LogitMap& map, const HeldRow<T>& held, const RowSlopes& row, T* grad,
                                           const T* next) {
  const RowGradient<T, false> gradient(map, row);
  held.each_chunk([&](uint32_t j, T* at) {
    if (held.whole(j)) {
      SRP_UNROLL
      for (int p = 0; p < kParts; ++p) store_vector(grad + j + p * kStep<T>, gradient(held_vector(at + p * kStep<T>)));
    } else {
      for (int p = 0; p < kParts; ++p)
        if (j + p * kStep<T> < held.V) store_vector(grad + j + p * kStep<T>, gradient(held_vector(at + p * kStep<T>)));
    }
    if (next) held.copy(next, j, at);
  });
  __pipeline_commit();
}

// All threads of the block, or of the cluster, meet; behind it they see each other's states.
template <bool kClusters>
__device__ __forceinline__ void meet() {
  if constexpr (kClusters)
    cluster_sync();
  else
    __syncthreads();
}

// ledger    loss_logits
// bytes     2 s stride N + 4 N + 8 N inputs + 4 N outputs
// limit     memory
// threads   320
// shared    84400
// notes     a row is read once, by a block or a cluster of up to 8: 425,984 ids of 16 bits at most where a block has 227 KB, 53,248
//           without clusters; others are left to loss_logits_kernel
// variants  clusters since sm_90; a block alone elsewhere, and where a row fits one
// turn      32 of held_kernel<BFloat16, true>: 16 shared, no special + 16 shared, 32 special + 16 shared, 64 loaded, 64 stored, 32
//           special; 4 bytes; at most 27.7; must 0.8; before 46.6
// sm_89     32 of held_kernel<BFloat16, false>: 16 shared, no special + 16 shared, 32 special + 16 shared, 64 loaded, 64 stored, 32
//           special; 4 bytes; at most 27.8; must 0.8; before 46.5
// measured  0.50 to 0.61 of a copy, by loss_logits_kernel; no card has run this one yet
template <class T, bool kClusters>
__global__ void __launch_bounds__(kMostWarps* kWarp, 2)
    held_kernel(LossLogitsArgs a, LossArgs tokens, LossParameters p, Cut cut, uint32_t* faults) {
  if constexpr (kClusters && SRP_CLUSTERS == 0) return;
  SRP_DYN_SHARED(RowSums, memory);
  SRP_SHARED(RowLoss, found, 1);
  const LogitMap map = map_of<false>(a);
  const uint32_t rank = kClusters ? cluster_rank() : 0, blocks = kClusters ? cut.blocks : 1;
  const int64_t step = gridDim.x / blocks;
  // This block's slices: a row's last blocks may have fewer than the others, or none.
  const uint32_t first = !kClusters ? 0 : rank * cut.per_block < cut.slices ? rank * cut.per_block : cut.slices;
  const uint32_t end = !kClusters || first + cut.per_block > cut.slices ? cut.slices : first + cut.per_block;
  const HeldRow<T> held = {reinterpret_cast<T*>(memory + 2 * cut.slices), first, end, static_cast<uint32_t>(a.V)};
  // Of a row, what this block writes: its ids, and the last one what lies behind them.
  const int64_t begin_ids = int64_t{first} * kSlice<T>,
                end_ids = int64_t{end} * kSlice<T> < a.V ? int64_t{end} * kSlice<T> : a.V;
  const auto fill_rest = [&](T* grad, int64_t begin) {
    if (end == cut.slices && first < end) fill_row(grad, begin, a.stride, 0.0f, true);
  };
  const auto fill = [&](T* grad, float value) {
    fill_row(grad, begin_ids, end_ids, value, true);
    fill_rest(grad, a.V);
  };
  // The next row from n on that is kept; those before it are done with.
  const auto kept_from = [&](int64_t n) {
    for (; n < a.N && !kept(a.mask, n); n += step) {
      if (rank == 0 && threadIdx.x == 0) clear_token(a, n);
      fill(static_cast<T*>(a.grad_logits) + n * a.stride, 0.0f);
    }
    return n;
  };
  LossLogitsArgs mine = a;  // one block of the cluster stores what belongs to the token
  if (rank != 0)
    mine.log_probs = mine.entropies = mine.log_sum_exps = mine.max_logits = mine.log1p_sums = mine.mean_gaps =
        mine.sum_squares = nullptr;

  const T* const logits = static_cast<const T*>(a.logits);
  int64_t n = kept_from(blockIdx.x / blocks);
  held.begin();
  if (kClusters) cluster_sync();  // all blocks have begun
  if (n < a.N) held.copy_all(logits + n * a.stride);
  for (uint32_t turn = 0; n < a.N; ++turn) {
    const T* const x = logits + n * a.stride;
    T* const grad = static_cast<T*>(a.grad_logits) + n * a.stride;
    // Read before the cluster meets: behind that another block may overwrite it.
    const auto inside = [&](int32_t id) { return id >= 0 && id < a.V; };
    const int32_t target = a.targets[n];
    const float logit = threadIdx.x == 0 && inside(target) ? static_cast<float>(load(x, target)) : NAN;
    const int64_t next = kept_from(n + step);
    const T* const next_x = next < a.N ? logits + next * a.stride : nullptr;
    // Two, in turn: others may store what they found in the next row while this one's is read.
    RowSums* const states = memory + turn % 2 * cut.slices;
    __pipeline_wait_prior(0);
    held.end_row();
    sum_held<T, kClusters>(map, held, blocks, states);
    meet<kClusters>();
    if (threadIdx.x < kWarp) {
      const RowSums sums = merge_slices<false>(map, no_sums(-INFINITY), states, cut.slices);
      if (threadIdx.x == 0) {
        if (!inside(a.targets[n])) raise(faults, SRP_FAULT_INDEX);
        found[0] = lose(mine, tokens, p, map, n, sums, logit);
      }
    }
    __syncthreads();
    const RowSlopes row = found[0].row;
    if (fabs(row.max_logit) < INFINITY) {
      write_held(map, held, row, grad, next_x);
      fill_rest(grad, (a.V + Vector<T>::kCount - 1) / Vector<T>::kCount * Vector<T>::kCount);
      const int32_t id = a.targets[n];
      if (inside(id) && held.has(id)) store(grad, id, found[0].at_target);
    } else {
      fill(grad, row.max_logit == -INFINITY ? 0.0f : NAN);
      if (next_x) held.copy_all(next_x);
    }
    n = next;
  }
}

template <class T>
bool in_vectors(const LossLogitsArgs& a) {
  return a.stride % Vector<T>::kCount == 0 && aligned16(a.logits) && aligned16(a.grad_logits);
}

}  // namespace

template <class T>
srp_status launch_held(srp_queue* queue, const LossLogitsArgs& a, bool* launched) {
  *launched = false;
  if (a.softcap != 0 || a.V == 0 || !in_vectors<T>(a)) return SRP_OK;
  int most_bytes = 0;
  SRP_TRY(check_cuda(cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, queue->device),
                     "cudaDeviceGetAttribute"));
  constexpr int kBeside = 1024 + sizeof(RowLoss);  // a block's own, and what the kernel has
  const size_t most = static_cast<size_t>(most_bytes / 2 - kBeside);
  const Cut cut = cut_row<T>(a.V, most, kMostCluster);
  if (cut.blocks == 0) return SRP_OK;
  const auto kernel = cut.blocks > 1 ? held_kernel<T, true> : held_kernel<T, false>;
  SRP_TRY(allow_shared(kernel, most));
  int64_t at_work = 0;  // rows
  SRP_TRY(clusters_at_work(queue, kernel, cut.threads(), cut.blocks, cut.bytes, &at_work));
  if (at_work == 0) return SRP_OK;
  const int64_t rows = a.N < at_work ? a.N : at_work;
  SRP_LAUNCH_CLUSTERS(kernel, dim3(static_cast<unsigned>(rows * cut.blocks)),
                      dim3(static_cast<unsigned>(cut.threads())), cut.blocks, cut.bytes, queue->stream, a,
                      token_args(a), loss_parameters(a.parameters), cut, queue->faults);
  *launched = true;
  return SRP_OK;
}

template srp_status launch_held<float>(srp_queue*, const LossLogitsArgs&, bool*);
template srp_status launch_held<Half>(srp_queue*, const LossLogitsArgs&, bool*);
template srp_status launch_held<BFloat16>(srp_queue*, const LossLogitsArgs&, bool*);

}  // namespace srp::cuda
