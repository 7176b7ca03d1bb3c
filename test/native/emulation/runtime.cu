// The runtime functions and the launch's own checks, as host code meets them; launches from several host threads.
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "support.cuh"

__global__ void fill_kernel(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void diverge_kernel() {
  if (threadIdx.x == 0) __syncthreads();
}
__global__ void square_sum_kernel(const int* x, int* out) {
  int v = x[threadIdx.x] * x[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  SRP_SHARED(int, parts, 2);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (const int part : parts) sum += part;
    out[blockIdx.x] = sum;
  }
}

static bool answers(cudaError_t got, cudaError_t want) {
  const cudaError_t last = cudaGetLastError();
  if (got != want) printf("got %s, expected %s\n", cudaGetErrorName(got), cudaGetErrorName(want));
  return got == want && last == want;  // a failure is also the last error, once
}

static void launches(Checks& checks) {
  DeviceBuffer<int> out(1024);
  const auto after = [&](dim3 grid, dim3 block, size_t shared_bytes) {
    SRP_LAUNCH(fill_kernel, grid, block, shared_bytes, nullptr, out.get(), 1);
    return cudaGetLastError();
  };
  checks.that(after(0, 32, 0) == cudaErrorInvalidConfiguration, "an empty grid is refused");
  checks.that(after(1, 0, 0) == cudaErrorInvalidConfiguration, "an empty block is refused");
  checks.that(after(1, dim3(32, 33), 0) == cudaErrorInvalidConfiguration, "more than 1024 threads are refused");
  checks.that(after(1, dim3(1, 1, 65), 0) == cudaErrorInvalidConfiguration, "a block 65 deep is refused");
  checks.that(after(dim3(1, 65536), 1, 0) == cudaErrorInvalidConfiguration, "a grid of 65536 rows is refused");
  checks.that(after(1, 32, (48 << 10) + 1) == cudaErrorInvalidValue, "more than 48 KiB of shared memory are refused");
  checks.that(out.read()[0] == -1, "a refused launch has written nothing, and fresh memory is all ones");
  SRP_LAUNCH(fill_kernel, 0, 32, 0, nullptr, out.get(), 1);
  checks.that(after(1, 32, 0) == cudaErrorInvalidConfiguration && out.read()[0] == -1,
              "behind a refused launch nothing is launched until somebody has asked for the error");
  checks.that(after(1, 1024, 48 << 10) == cudaSuccess && out.read()[1023] == 1, "the limits themselves are served");
}

static void clusters(Checks& checks) {
  DeviceBuffer<int> out(256);
  const auto after = [&](unsigned blocks, unsigned cluster) {
    SRP_LAUNCH_CLUSTERS(fill_kernel, blocks, 32, cluster, 0, nullptr, out.get(), 1);
    return cudaGetLastError();
  };
  checks.that(after(6, 4) == cudaErrorInvalidClusterSize, "a grid that is not made of clusters is refused");
  checks.that(after(9, 9) == cudaErrorInvalidClusterSize, "a cluster of nine blocks is refused");
  checks.that(after(0, 0) == cudaErrorInvalidClusterSize || after(4, 0) == cudaErrorInvalidClusterSize,
              "a cluster of no blocks is refused");
  checks.that(out.read()[0] == -1 && after(8, 8) == cudaSuccess && out.read()[255] == 1, "one of eight is served");

  const void* const kernel = reinterpret_cast<const void*>(fill_kernel);
  int blocks = -1, at_work = -1, multiprocessors = 0;
  checks.that(answers(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess),
              "the device has multiprocessors");
  checks.that(
      answers(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0), cudaSuccess) && blocks == 2,
      "two of the largest blocks find room on one");
  checks.that(
      answers(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 48 << 10), cudaSuccess) && blocks == 4,
      "and four with 48 KiB of shared memory");
  checks.that(
      answers(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, (48 << 10) + 1), cudaSuccess) &&
          blocks == 0,
      "none with more than the kernel was allowed");
  checks.that(answers(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1025, 0), cudaErrorInvalidValue),
              "a block that is too large is refused");
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {8, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(1024);
  config.attrs = &cluster;
  config.numAttrs = 1;
  checks.that(answers(cudaOccupancyMaxActiveClusters(&at_work, kernel, &config), cudaSuccess) &&
                  at_work == 2 * multiprocessors / 8,
              "as many clusters as their blocks have room for");
  cluster.val.clusterDim.x = 9;
  checks.that(answers(cudaOccupancyMaxActiveClusters(&at_work, kernel, &config), cudaErrorInvalidClusterSize),
              "and none of nine");
  cudaFuncAttributes of = {};
  checks.that(answers(cudaFuncGetAttributes(&of, kernel), cudaSuccess) && of.ptxVersion == 90,
              "a kernel's code is the device's");
}

static void failures(Checks& checks) {
  DeviceBuffer<int> out(32);
  SRP_LAUNCH(diverge_kernel, 1, 32, 0, nullptr);
  checks.that(cudaStreamSynchronize(nullptr) == cudaErrorLaunchFailure, "a broken rule is a launch failure");
  checks.that(cudaPeekAtLastError() == cudaErrorLaunchFailure, "which stays");
  int host[32];
  checks.that(cudaMemcpy(host, out.get(), sizeof host, cudaMemcpyDeviceToHost) == cudaErrorLaunchFailure,
              "copying reports it");
  const std::string text = cudaGetErrorString(cudaGetLastError());
  checks.that(text.find("kernel diverge_kernel: ") == 0 && text == srp_emulation_error(), "its text names the kernel");
  checks.that(cudaGetLastError() == cudaSuccess, "taken once, it is gone");
  SRP_LAUNCH(fill_kernel, 1, 32, 0, nullptr, out.get(), 5);
  checks.that(cudaGetLastError() == cudaSuccess && out.read()[31] == 5, "the next launch is served");
}

static void memory(Checks& checks) {
  int* p = nullptr;
  int host[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  size_t free_before = 0, free_now = 0, total = 0;
  cudaMemGetInfo(&free_before, &total);
  checks.that(cudaMalloc(&p, sizeof host) == cudaSuccess && p, "memory is allocated");
  void* pinned = nullptr;
  checks.that(cudaHostAlloc(&pinned, sizeof host, cudaHostAllocDefault) == cudaSuccess && pinned,
              "so is pinned memory");
  const auto far_up = [](const void* memory) { return reinterpret_cast<uintptr_t>(memory) >> 40 != 0; };
  checks.that(far_up(p) && far_up(pinned),
              "both where no number among a kernel's arguments looks like their addresses");
  cudaFreeHost(pinned);
  cudaMemGetInfo(&free_now, &total);
  checks.that(free_before - free_now == sizeof host && free_now < total, "and counted");
  checks.that(answers(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess), "a copy that fits goes");
  checks.that(answers(cudaMemcpy(p + 1, host, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue),
              "a copy past the end is refused");
  checks.that(answers(cudaMemcpy(host, host, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue),
              "host memory is not device memory");
  checks.that(answers(cudaMemset(p + 7, 0, 8), cudaErrorInvalidValue), "so is a fill past the end");
  checks.that(answers(cudaFree(p + 1), cudaErrorInvalidValue), "an inner pointer is not freed");
  checks.that(answers(cudaFree(host), cudaErrorInvalidValue), "nor is the host's");
  checks.that(answers(cudaFree(p), cudaSuccess), "an allocation is freed");
  checks.that(answers(cudaFree(p), cudaErrorInvalidValue), "once");
  checks.that(answers(cudaFree(nullptr), cudaSuccess), "freeing nothing is allowed");
  checks.that(answers(cudaMalloc(&p, size_t{1} << 60), cudaErrorMemoryAllocation) && !p, "an exabyte is refused");
}

static void streams(Checks& checks) {
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, end = nullptr;
  float ms = -1;
  int* p = nullptr;
  checks.that(answers(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess), "a stream is made");
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  checks.that(answers(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle),
              "events that were not recorded have no distance");
  cudaEventRecord(start, stream);
  checks.that(cudaMallocAsync(&p, 64, stream) == cudaSuccess, "memory comes in stream order");
  SRP_LAUNCH(fill_kernel, 1, 16, 0, stream, p, 3);
  checks.that(cudaFreeAsync(p, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess, "and goes");
  cudaEventRecord(end, stream);
  checks.that(
      cudaEventSynchronize(end) == cudaSuccess && cudaEventElapsedTime(&ms, start, end) == cudaSuccess && ms >= 0,
      "time passes between events");
  cudaEventDestroy(start);
  checks.that(answers(cudaEventRecord(start, stream), cudaErrorInvalidResourceHandle), "a destroyed event is refused");
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
  SRP_LAUNCH(fill_kernel, 1, 16, 0, stream, p, 3);
  checks.that(cudaGetLastError() == cudaErrorInvalidResourceHandle, "a launch on a destroyed stream is refused");
}

static void device(Checks& checks) {
  int count = 0, value = 0;
  cudaDeviceProp properties;
  checks.that(cudaGetDeviceCount(&count) == cudaSuccess && count == 1, "there is one device");
  checks.that(cudaGetDeviceProperties(&properties, 0) == cudaSuccess && !strcmp(properties.name, "emulated device"),
              "which says that it is emulated");
  checks.that(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) == cudaSuccess && value == 32,
              "warps have 32 lanes");
  checks.that(answers(cudaSetDevice(1), cudaErrorInvalidDevice), "there is no second");
  checks.that(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"), "errors have names");
}

// Host threads launch at the same time, one of them kernels that fail: each sees its own results and its own errors. Memory is
// freed behind them all: cudaFree waits for the whole device, and tells whoever calls it what went wrong there.
static void concurrent(Checks& checks) {
  constexpr int kHosts = 4, kLaunches = 25, kBlocks = 5;
  struct Host {
    explicit Host(int value) : in(std::vector<int>(64, value)), out(kBlocks) {}
    DeviceBuffer<int> in, out;
    int wrong = 0;
    std::thread thread;
  };
  std::deque<Host> hosts;
  for (int h = 0; h < kHosts; ++h) hosts.emplace_back(h + 1);
  for (int h = 0; h < kHosts; ++h) {
    hosts[h].thread = std::thread([h, &host = hosts[h]] {
      cudaStream_t stream = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      for (int n = 0; n < kLaunches; ++n) {
        const bool fails = h == 0 && n % 5 == 0;
        if (fails) SRP_LAUNCH(diverge_kernel, 1, 32, 0, stream);
        cudaStreamSynchronize(stream);
        host.wrong += cudaGetLastError() != (fails ? cudaErrorLaunchFailure : cudaSuccess);
        SRP_LAUNCH(square_sum_kernel, kBlocks, 64, 0, stream, host.in.get(), host.out.get());
        cudaStreamSynchronize(stream);
        for (const int sum : host.out.read()) host.wrong += sum != 64 * (h + 1) * (h + 1);
      }
      cudaStreamDestroy(stream);
    });
  }
  int all = 0;
  for (Host& host : hosts) {
    host.thread.join();
    all += host.wrong;
  }
  checks.that(all == 0, "host threads launch side by side");
}

int main() {
  Checks checks;
  launches(checks);
  clusters(checks);
  failures(checks);
  memory(checks);
  streams(checks);
  device(checks);
  concurrent(checks);
  printf("%d failed\n", checks.failed);
  return checks.failed != 0;
}
