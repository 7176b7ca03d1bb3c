// Kernels with one bug each. `planted NAME` runs it in each thread order and prints what the emulation says: an error, or
// that the result is right or wrong. `planted NAME as-is` runs it once and leaves order and threads to the environment.
// Sanitizers end the program with a report of their own.
#include <cstring>

#include "../../../native/shared/number.h"
#include "support.cuh"

constexpr int kThreads = 128;
constexpr int kCluster = 4;  // blocks

// A thread reads its left neighbour's value before it is sure to be there. Forward order hides it.
__global__ void missing_barrier_kernel(int* out) {
  SRP_SHARED(int, value, kThreads);
  value[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = threadIdx.x == 0 ? 0 : value[threadIdx.x - 1] + 1;  // BUG missing-barrier
}

// The buffer is written again while slower threads still read it.
__global__ void missing_second_barrier_kernel(int* out) {
  SRP_SHARED(int, value, kThreads);
  int mine = threadIdx.x;
  for (int turn = 0; turn < 3; ++turn) {
    value[threadIdx.x] = mine;  // BUG missing-second-barrier
    __syncthreads();
    mine = value[(threadIdx.x + 1) % kThreads];
  }
  out[threadIdx.x] = mine;
}

// The same long after the slower threads should have read: only where a warp runs ahead of the others have they not.
__global__ void missing_late_barrier_kernel(int* out) {
  SRP_SHARED(int, value, kThreads);
  value[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const bool last = threadIdx.x / 32 == kThreads / 32 - 1;
  for (int step = 0; step < (last ? 60 : 40); ++step) __syncwarp();
  if (last) value[0] = 1;  // BUG missing-late-barrier
  out[threadIdx.x] = threadIdx.x + (last ? 0 : value[0]);
}

__global__ void missing_syncwarp_kernel(int* out) {
  SRP_SHARED(int, value, kThreads);
  value[threadIdx.x] = threadIdx.x;
  __shfl_sync(0xffffffffu, 0, 0);  // meets the other lanes, but orders no memory
  out[threadIdx.x] = value[threadIdx.x ^ 1] ^ 1;  // BUG missing-syncwarp
}

__global__ void divergent_barrier_kernel(int* out) {
  if (threadIdx.x < 64) __syncthreads();  // BUG divergent-barrier
  out[threadIdx.x] = threadIdx.x;
}

__global__ void two_barriers_kernel(int* out) {
  if (threadIdx.x < 64) {
    __syncthreads();
  } else {
    __syncthreads();  // BUG two-barriers
  }
  out[threadIdx.x] = threadIdx.x;
}

// Half of a warp waits for the block, the other half for the warp.
__global__ void deadlock_kernel(int* out) {
  if (threadIdx.x % 32 < 16) __syncthreads();  // BUG deadlock
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
}

__global__ void foreign_mask_kernel(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, threadIdx.x, 1);  // BUG foreign-mask
}

__global__ void absent_lane_kernel(int* out) {
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, threadIdx.x, 20);  // BUG absent-lane
}

__global__ void disagreeing_masks_kernel(int* out) {
  const unsigned mask = threadIdx.x % 32 == 5 ? 0xffffffffu : 0x0000ffffu;
  if (threadIdx.x % 32 < 16)
    out[threadIdx.x] = __ballot_sync(mask, 1);  // BUG disagreeing-masks
  else if (threadIdx.x % 32 == 20)
    out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
}

__global__ void bad_width_kernel(int* out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, threadIdx.x, 1, 12);  // BUG bad-width
}

__global__ void shared_write_kernel(int* out) {
  SRP_SHARED(int, first, kThreads);
  SRP_SHARED(int, second, 1);
  first[threadIdx.x] = second[0] = 0;
  int* beyond = first;
  if (threadIdx.x == 7) beyond[blockDim.x] = 1;  // BUG shared-write
  out[threadIdx.x] = first[threadIdx.x];
}

__global__ void shared_read_kernel(int* out) {
  SRP_DYN_SHARED(int, line);
  line[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = line[threadIdx.x + 1];  // BUG shared-read
}

__global__ void shared_limit_kernel(int* out) {
  SRP_SHARED(int, large, 12 << 10);
  SRP_SHARED(int, more, 1);  // BUG shared-limit
  large[threadIdx.x] = more[0] = 0;
  out[threadIdx.x] = large[threadIdx.x];
}

__global__ void global_read_kernel(int* out) {
  out[threadIdx.x] = out[threadIdx.x + 1];  // BUG global-read
}

__global__ void unset_kernel(float* out) {
  SRP_SHARED(float, never_written, kThreads);
  out[threadIdx.x] = never_written[threadIdx.x];
}

// Blocks have no order: a block must not read what another has written.
__global__ void between_blocks_kernel(int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x == 0 ? 0 : out[blockIdx.x - 1] + 1;  // BUG between-blocks
}

// ---- copies beside the computation, and matrices

struct alignas(16) Row {
  int words[4];
};

__device__ void copy_row(Row* rows, const int* from) {
  __pipeline_memcpy_async(&rows[threadIdx.x], from + threadIdx.x / 4 * 4, sizeof(Row));
  __pipeline_commit();
}

__global__ void copy_unawaited_kernel(int* out) {
  SRP_SHARED(Row, rows, kThreads);
  uint32_t words[4];
  copy_row(rows, out);
  __syncthreads();
  srp::ldmatrix_x4(words, &rows[threadIdx.x]);  // BUG copy-unawaited
}

// Each thread waits for its own copies alone.
__global__ void copy_without_barrier_kernel(int* out) {
  SRP_SHARED(Row, rows, kThreads);
  uint32_t words[4];
  copy_row(rows, out);
  __syncthreads();
  __pipeline_wait_prior(0);
  srp::ldmatrix_x4(words, &rows[(threadIdx.x + 32) % kThreads]);  // BUG copy-without-barrier
}

// The next rows come before slower warps have read these.
__global__ void copy_over_read_kernel(int* out) {
  SRP_SHARED(Row, rows, kThreads);
  uint32_t words[4];
  copy_row(rows, out);
  __pipeline_wait_prior(0);
  __syncthreads();
  srp::ldmatrix_x4(words, &rows[(threadIdx.x + kThreads - 32) % kThreads]);
  __pipeline_memcpy_async(&rows[threadIdx.x], out, sizeof(Row));  // BUG copy-over-read
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

__global__ void copy_left_kernel(int* out) {
  SRP_SHARED(Row, rows, kThreads);
  __pipeline_memcpy_async(&rows[threadIdx.x], out, sizeof(Row));  // BUG copy-left
  __pipeline_commit();
}

// Four threads may each bring 4 bytes of a row, but not two the same 4.
__global__ void copy_twice_kernel(int* out) {
  SRP_SHARED(Row, rows, kThreads / 4);
  const unsigned word = threadIdx.x % 4 == 1 ? 0 : threadIdx.x % 4;
  __pipeline_memcpy_async(&rows[threadIdx.x / 4].words[word], out, sizeof(int));  // BUG copy-twice
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
}

__global__ void copy_uneven_kernel(int* out) {
  SRP_SHARED(Row, rows, kThreads);
  __pipeline_memcpy_async(&rows[threadIdx.x], out + 1, sizeof(Row));  // BUG copy-uneven
}

__global__ void half_a_warp_kernel(int*) {
  float sums[4] = {};
  const uint32_t a[4] = {};
  if (threadIdx.x % 32 < 16) srp::mma_m16n8k16(sums, a, 0, 0, srp::Half{});  // BUG half-a-warp
}

// ---- products of a warpgroup: 64 lines of zeros times 128, whose sums are 0

constexpr size_t kLineBytes = 128, kLines = 64 + 128, kAlignment = 1024;
constexpr size_t kProductBytes = kLines * kLineBytes + kAlignment;
using GroupSums = float[2][8][4];

__device__ char* lines_of(char* memory) { return memory + (kAlignment - srp::shared_address(memory) % kAlignment); }

__device__ void copy_lines(char* lines, const int* from) {
  for (size_t piece = threadIdx.x; piece < kLines * kLineBytes / 16; piece += kThreads)
    __pipeline_memcpy_async(lines + piece * 16, from, 16, 16);
  __pipeline_commit();
}

__device__ char* copied_lines(char* memory, const int* from) {
  char* const lines = lines_of(memory);
  copy_lines(lines, from);
  __pipeline_wait_prior(0);
  srp::fence_for_wgmma();
  __syncthreads();
  return lines;
}

__global__ void product_unawaited_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = lines_of(memory);
  copy_lines(lines, out);
  __syncthreads();
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});  // BUG product-unawaited
}

// Copies are seen by threads; products look past them.
__global__ void product_unfenced_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = lines_of(memory);
  copy_lines(lines, out);
  __pipeline_wait_prior(0);
  __syncthreads();
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});  // BUG product-unfenced
}

// The sums may still be on their way to where the product adds to them.
__global__ void product_unordered_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = copied_lines(memory, out);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});  // BUG product-unordered
}

__global__ void product_unaligned_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = copied_lines(memory, out);
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 60 * kLineBytes, true, srp::Half{});  // BUG product-unaligned
}

__global__ void product_of_three_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = copied_lines(memory, out);
  if (threadIdx.x / 32 == 2) return;
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});  // BUG product-of-three
  srp::wgmma_commit();
  srp::wgmma_wait<0>();
}

__global__ void product_left_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = copied_lines(memory, out);
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});  // BUG product-left
  srp::wgmma_commit();
}

// The next lines come while the product reads these.
__global__ void copy_over_product_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = copied_lines(memory, out);
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});
  srp::wgmma_commit();
  __pipeline_memcpy_async(lines + 64 * kLineBytes + threadIdx.x * 16, out, 16);  // BUG copy-over-product
  srp::wgmma_wait<0>();
}

__global__ void sums_read_early_kernel(int* out) {
  SRP_DYN_SHARED(char, memory);
  GroupSums sums = {};
  char* const lines = copied_lines(memory, out);
  srp::wgmma_begin(sums);
  srp::wgmma_m64n128k16<0, 0>(sums, lines, lines + 64 * kLineBytes, true, srp::Half{});
  srp::wgmma_commit();
  const float early = sums[1][7][3];  // BUG sums-read-early
  srp::wgmma_wait<0>();
  out[threadIdx.x] = threadIdx.x + (early == sums[1][7][3] ? 0 : 1);
}

// ---- clusters of four blocks, which tell each other a number a block

constexpr size_t kClusterBytes = kCluster * sizeof(double);

// Each block to all: its number.
__device__ void tell(double* memory) {
  const double number = static_cast<double>(srp::cluster_rank());
  if (threadIdx.x < kCluster) srp::store_to_block(memory + srp::cluster_rank(), threadIdx.x, number);
}

__device__ bool told(const double* memory) {
  bool right = true;
  for (int rank = 0; rank < kCluster; ++rank) right = right && memory[rank] == static_cast<double>(rank);
  return right;
}

__global__ void store_before_begin_kernel(int*) {
  SRP_DYN_SHARED(double, memory);
  const double number = 1;
  if (threadIdx.x < kCluster) srp::store_to_block(memory, threadIdx.x, number);  // BUG store-before-begin
  srp::cluster_sync();
}

__global__ void store_left_kernel(int*) {
  SRP_DYN_SHARED(double, memory);
  srp::cluster_sync();
  const double number = 1;
  if (threadIdx.x == 0 && srp::cluster_rank() == 0) srp::store_to_block(memory, 0, number);  // BUG store-left
}

// The others may be gone.
__global__ void store_after_end_kernel(int*) {
  SRP_DYN_SHARED(double, memory);
  srp::cluster_sync();
  const double number = 1;
  const unsigned rank = srp::cluster_rank();
  if (rank < 2 && threadIdx.x == 0) srp::store_to_block(memory, 1 - rank, number);  // BUG store-after-end
}

__global__ void store_outside_kernel(int*) {
  SRP_DYN_SHARED(double, memory);
  srp::cluster_sync();
  const double number = 1;
  if (threadIdx.x == 0) srp::store_to_block(memory + kCluster, 0, number);  // BUG store-outside
  srp::cluster_sync();
}

__global__ void store_to_nobody_kernel(int*) {
  SRP_DYN_SHARED(double, memory);
  srp::cluster_sync();
  const double number = 1;
  if (threadIdx.x == 0) srp::store_to_block(memory, kCluster, number);  // BUG store-to-nobody
  srp::cluster_sync();
}

// The barrier of a block is none of the cluster.
__global__ void missing_cluster_sync_kernel(int* out) {
  SRP_DYN_SHARED(double, memory);
  srp::cluster_sync();
  tell(memory);
  __syncthreads();
  const bool right = told(memory);  // BUG missing-cluster-sync
  srp::cluster_sync();
  if (blockIdx.x == 0) out[threadIdx.x] = right ? threadIdx.x : 0;
}

// A block tells the next number while others read the one before.
__global__ void missing_second_cluster_sync_kernel(int* out) {
  SRP_DYN_SHARED(double, memory);
  srp::cluster_sync();
  tell(memory);
  srp::cluster_sync();
  const bool right = told(memory);
  const double next = 7;
  __syncthreads();
  double* const place = memory + srp::cluster_rank();
  if (threadIdx.x < kCluster) srp::store_to_block(place, threadIdx.x, next);  // BUG missing-second-cluster-sync
  srp::cluster_sync();
  if (blockIdx.x == 0) out[threadIdx.x] = right ? threadIdx.x : 0;
}

__global__ void divergent_cluster_sync_kernel(int*) {
  if (srp::cluster_rank() < 2) srp::cluster_sync();  // BUG divergent-cluster-sync
}

__global__ void two_cluster_syncs_kernel(int*) {
  if (srp::cluster_rank() < 2) {
    srp::cluster_sync();
  } else {
    srp::cluster_sync();  // BUG two-cluster-syncs
  }
}

// Half of a warp waits for the cluster, the other half for the warp.
__global__ void cluster_deadlock_kernel(int* out) {
  if (srp::cluster_rank() != 0 || threadIdx.x % 32 < 16) srp::cluster_sync();  // BUG cluster-deadlock
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
}

struct Bug {
  const char* name;
  void (*kernel)(int*);
  int blocks;
  size_t shared_bytes;
  int cluster = 1;
};
static const Bug kBugs[] = {
    {"missing-barrier", missing_barrier_kernel, 1, 0},
    {"missing-second-barrier", missing_second_barrier_kernel, 1, 0},
    {"missing-late-barrier", missing_late_barrier_kernel, 1, 0},
    {"missing-syncwarp", missing_syncwarp_kernel, 1, 0},
    {"divergent-barrier", divergent_barrier_kernel, 1, 0},
    {"two-barriers", two_barriers_kernel, 1, 0},
    {"deadlock", deadlock_kernel, 1, 0},
    {"foreign-mask", foreign_mask_kernel, 1, 0},
    {"absent-lane", absent_lane_kernel, 1, 0},
    {"disagreeing-masks", disagreeing_masks_kernel, 1, 0},
    {"bad-width", bad_width_kernel, 1, 0},
    {"shared-write", shared_write_kernel, 1, 0},
    {"shared-read", shared_read_kernel, 1, kThreads * sizeof(int)},
    {"shared-limit", shared_limit_kernel, 1, 0},
    {"copy-unawaited", copy_unawaited_kernel, 1, 0},
    {"copy-without-barrier", copy_without_barrier_kernel, 1, 0},
    {"copy-over-read", copy_over_read_kernel, 1, 0},
    {"copy-left", copy_left_kernel, 1, 0},
    {"copy-twice", copy_twice_kernel, 1, 0},
    {"copy-uneven", copy_uneven_kernel, 1, 0},
    {"half-a-warp", half_a_warp_kernel, 1, 0},
    {"product-unawaited", product_unawaited_kernel, 1, kProductBytes},
    {"product-unfenced", product_unfenced_kernel, 1, kProductBytes},
    {"product-unordered", product_unordered_kernel, 1, kProductBytes},
    {"product-unaligned", product_unaligned_kernel, 1, kProductBytes},
    {"product-of-three", product_of_three_kernel, 1, kProductBytes},
    {"product-left", product_left_kernel, 1, kProductBytes},
    {"copy-over-product", copy_over_product_kernel, 1, kProductBytes},
    {"sums-read-early", sums_read_early_kernel, 1, kProductBytes},
    {"global-read", global_read_kernel, 1, 0},
    {"between-blocks", between_blocks_kernel, kThreads, 0},
    {"store-before-begin", store_before_begin_kernel, kCluster, kClusterBytes, kCluster},
    {"store-left", store_left_kernel, kCluster, kClusterBytes, kCluster},
    {"store-after-end", store_after_end_kernel, kCluster, kClusterBytes, kCluster},
    {"store-outside", store_outside_kernel, kCluster, kClusterBytes, kCluster},
    {"store-to-nobody", store_to_nobody_kernel, kCluster, kClusterBytes, kCluster},
    {"missing-cluster-sync", missing_cluster_sync_kernel, kCluster, kClusterBytes, kCluster},
    {"missing-second-cluster-sync", missing_second_cluster_sync_kernel, kCluster, kClusterBytes, kCluster},
    {"divergent-cluster-sync", divergent_cluster_sync_kernel, kCluster, 0, kCluster},
    {"two-cluster-syncs", two_cluster_syncs_kernel, kCluster, 0, kCluster},
    {"cluster-deadlock", cluster_deadlock_kernel, kCluster, 0, kCluster},
};

// What a right kernel would have left: out[i] = i, save where the bug's own comment says otherwise.
static bool right(const char* name, const std::vector<int>& got) {
  for (int i = 0; i < kThreads; ++i) {
    const int want = strcmp(name, "missing-second-barrier") == 0 ? (i + 3) % kThreads : i;
    if (got[i] != want) return false;
  }
  return true;
}

static void run_once(const Bug& bug) {
  DeviceBuffer<int> out(kThreads);
  SRP_LAUNCH_CLUSTERS(bug.kernel, bug.blocks, kThreads, bug.cluster, bug.shared_bytes, nullptr, out.get());
  cudaDeviceSynchronize();
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  else
    printf("%s\n", right(bug.name, out.read()) ? "right" : "wrong");
}

static void run(const Bug& bug, bool as_is) {
  if (as_is) return run_once(bug);
  for (int order = 0; order < kOrders; ++order) {
    set_order(order);
    run_once(bug);
  }
}

static void run_unset() {
  DeviceBuffer<float> out(kThreads);
  SRP_LAUNCH(unset_kernel, 1, kThreads, 0, nullptr, out.get());
  int numbers = 0;
  for (const float value : out.read()) numbers += value == value;
  printf("%d of %d values are numbers\n", numbers, kThreads);
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const bool as_is = argc > 2 && strcmp(argv[2], "as-is") == 0;
  for (const Bug& bug : kBugs)
    if (strcmp(bug.name, name) == 0) return run(bug, as_is), 0;
  if (strcmp(name, "unset") == 0) return run_unset(), 0;
  fprintf(stderr, "usage: planted NAME\n");
  return 2;
}
