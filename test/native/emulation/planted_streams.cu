// Host code with one bug each in the order of its streams. `planted_streams NAME` runs it under the delays of some seeds
// and prints what comes of each: a fault, or that the result is right or wrong. `NAME mended` runs it without its bug.
#include <algorithm>
#include <cstring>

#include "support.cuh"

constexpr int kCount = 128, kSeeds = 12;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void set_kernel(int* out, int value) { out[threadIdx.x] = value; }
__global__ void copy_kernel(int* out, const int* in) { out[threadIdx.x] = in[threadIdx.x]; }
// The address comes from memory, where no look at the arguments finds it.
__global__ void set_through_kernel(int* const* out, int value) {
  (*out)[threadIdx.x] = value;  // BUG write-after-free
}

struct Streams {
  Streams() {
    for (cudaStream_t& stream : both) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  ~Streams() {
    for (const cudaStream_t stream : both) cudaStreamDestroy(stream);
    cudaEventDestroy(event);
  }
  // The second stream goes on behind what the first has now, or the first behind the second.
  void order(int before, int after) {
    cudaEventRecord(event, both[before]);
    cudaStreamWaitEvent(both[after], event);
  }
  cudaStream_t both[2] = {};
  cudaEvent_t event = nullptr;
};

// Ends in out[i] = 7 when right.
using Bug = void (*)(Streams& s, int* out, bool mended);

static void missing_stream_wait(Streams& s, int* out, bool mended) {
  int* p = nullptr;
  cudaMalloc(&p, kBytes);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[0], p, 7);
  if (mended) s.order(0, 1);
  SRP_LAUNCH(copy_kernel, 1, kCount, 0, s.both[1], out, p);
  cudaFree(p);
}

// The buffer that a copy reads from is filled again before the copy has read it.
static void early_refill(Streams& s, int* out, bool mended) {
  int* pinned = nullptr;
  cudaHostAlloc(reinterpret_cast<void**>(&pinned), kBytes, cudaHostAllocDefault);
  std::fill_n(pinned, kCount, 7);
  cudaMemcpyAsync(out, pinned, kBytes, cudaMemcpyHostToDevice, s.both[0]);
  if (mended) cudaStreamSynchronize(s.both[0]);
  std::fill_n(pinned, kCount, 8);
  cudaFreeHost(pinned);
}

// The buffer that a copy writes to is read before the copy has written it.
static void early_read(Streams& s, int* out, bool mended) {
  int *pinned = nullptr, *p = nullptr;
  cudaMalloc(&p, kBytes);
  cudaHostAlloc(reinterpret_cast<void**>(&pinned), kBytes, cudaHostAllocDefault);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[0], p, 7);
  cudaMemcpyAsync(pinned, p, kBytes, cudaMemcpyDeviceToHost, s.both[0]);
  if (mended) cudaStreamSynchronize(s.both[0]);
  const std::vector<int> read(pinned, pinned + kCount);
  cudaMemcpy(out, read.data(), kBytes, cudaMemcpyHostToDevice);
  cudaFreeHost(pinned);
  cudaFree(p);
}

// One stream gives memory back while another has still to read it.
static void use_after_free(Streams& s, int* out, bool mended) {
  int* p = nullptr;
  cudaMallocAsync(&p, kBytes, s.both[0]);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[0], p, 7);
  s.order(0, 1);
  SRP_LAUNCH(copy_kernel, 1, kCount, 0, s.both[1], out, p);
  if (mended) s.order(1, 0);
  cudaFreeAsync(p, s.both[0]);
}

// The same, and the memory has a new owner by then.
static void use_after_reuse(Streams& s, int* out, bool mended) {
  int *p = nullptr, *q = nullptr;
  cudaMallocAsync(&p, kBytes, s.both[0]);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[0], p, 7);
  s.order(0, 1);
  SRP_LAUNCH(copy_kernel, 1, kCount, 0, s.both[1], out, p);
  if (mended) s.order(1, 0);
  cudaFreeAsync(p, s.both[0]);
  cudaMallocAsync(&q, kBytes, s.both[0]);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[0], q, 8);
  cudaDeviceSynchronize();
  cudaFreeAsync(q, s.both[0]);
}

static void use_before_allocation(Streams& s, int* out, bool mended) {
  int* p = nullptr;
  cudaMallocAsync(&p, kBytes, s.both[0]);
  if (mended) s.order(0, 1);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[1], p, 7);
  SRP_LAUNCH(copy_kernel, 1, kCount, 0, s.both[1], out, p);
  s.order(1, 0);
  cudaFreeAsync(p, s.both[0]);
}

// Found when the memory is handed out again; by ASan at the write.
static void write_after_free(Streams& s, int* out, bool mended) {
  int *p = nullptr, *q = nullptr, **table = nullptr;
  cudaMalloc(&table, sizeof p);
  cudaMallocAsync(&p, kBytes, s.both[0]);
  cudaMemcpyAsync(table, &p, sizeof p, cudaMemcpyHostToDevice, s.both[0]);
  if (!mended) cudaFreeAsync(p, s.both[0]);
  SRP_LAUNCH(set_through_kernel, 1, kCount, 0, s.both[0], table, 9);
  if (mended) cudaFreeAsync(p, s.both[0]);
  cudaMallocAsync(&q, kBytes, s.both[0]);
  SRP_LAUNCH(set_kernel, 1, kCount, 0, s.both[0], q, 7);
  SRP_LAUNCH(copy_kernel, 1, kCount, 0, s.both[0], out, q);
  cudaFreeAsync(q, s.both[0]);
  cudaStreamSynchronize(s.both[0]);
  cudaFree(table);
}

static const struct {
  const char* name;
  Bug run;
} kBugs[] = {
    {"missing-stream-wait", missing_stream_wait},
    {"early-refill", early_refill},
    {"early-read", early_read},
    {"use-after-free", use_after_free},
    {"use-after-reuse", use_after_reuse},
    {"use-before-allocation", use_before_allocation},
    {"write-after-free", write_after_free},
};

static void run_once(Bug bug, bool mended) {
  Streams s;
  DeviceBuffer<int> out(kCount);
  bug(s, out.get(), mended);
  cudaDeviceSynchronize();
  const cudaError_t error = cudaGetLastError();
  const std::vector<int> got = out.read();
  if (error != cudaSuccess)
    printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  else
    printf("%s\n", std::count(got.begin(), got.end(), 7) == kCount ? "right" : "wrong");
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const bool mended = argc > 2 && strcmp(argv[2], "mended") == 0;
  for (const auto& bug : kBugs) {
    if (strcmp(bug.name, name) != 0) continue;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      set_delays(static_cast<unsigned>(seed));
      run_once(bug.run, mended);
    }
    return 0;
  }
  fprintf(stderr, "usage: planted_streams NAME [mended]\n");
  return 2;
}
