// The table of the CUDA backend: device, queue and memory functions. The emulated backend is the same text over the
// fake runtime of native/emulation.
#include "backend.cuh"

#include <new>

#include "common.cuh"

namespace srp::cuda {
namespace {

#if defined(SRP_EMULATED)
constexpr const char* kName = "emulated";
#else
constexpr const char* kName = "cuda";
#endif

// Architectures below this have no code in the library (CUDA 13 dropped what came before Turing).
constexpr int kOldestMajor = 7, kOldestMinor = 5;

void explain(srp_description* out, cudaError_t error) {
  out->error = static_cast<int32_t>(error);
  const int driver = out->driver_version, runtime = out->runtime_version;
  if (driver == 0)
    snprintf(out->reason, sizeof out->reason,
             "no CUDA driver (runtime %d.%d needs one of that generation): install the NVIDIA driver, or give the "
             "container the GPU",
             runtime / 1000, runtime % 1000 / 10);
  else if (driver < runtime)
    snprintf(out->reason, sizeof out->reason, "CUDA driver %d.%d is older than runtime %d.%d: update the NVIDIA driver",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  else
    snprintf(out->reason, sizeof out->reason, "no usable device (driver %d.%d, runtime %d.%d): CUDA error %d, %s",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, static_cast<int>(error),
             cudaGetErrorString(error));
}

srp_status describe(int32_t device, srp_description* out) {
  if (!out || out->size < sizeof(srp_description)) return fail(SRP_BAD_ARGUMENT, "describe: out is NULL or too small");
  const uint32_t size = out->size;
  *out = srp_description{};
  out->size = size;
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  out->driver_version = driver;
  out->runtime_version = runtime;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    explain(out, error);
    cudaGetLastError();  // the refusal is reported here; a later op must not find it
    return SRP_OK;
  }
  out->device_count = count;
  if (device < 0 || device >= count) {
    snprintf(out->reason, sizeof out->reason, "device %d does not exist: %d device(s), numbered from 0", device, count);
    return SRP_OK;
  }
  cudaDeviceProp properties;
  const cudaError_t asked = cudaGetDeviceProperties(&properties, device);
  if (asked != cudaSuccess) {
    explain(out, asked);
    cudaGetLastError();
    return SRP_OK;
  }
  snprintf(out->device, sizeof out->device, "%.127s", properties.name);
  out->compute_major = properties.major;
  out->compute_minor = properties.minor;
  out->memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  if (properties.major < kOldestMajor || (properties.major == kOldestMajor && properties.minor < kOldestMinor)) {
    snprintf(out->reason, sizeof out->reason,
             "compute capability %d.%d of %.100s is below %d.%d, the oldest this build has code for", properties.major,
             properties.minor, properties.name, kOldestMajor, kOldestMinor);
    return SRP_OK;
  }
  out->available = 1;
  return SRP_OK;
}

const char* last_error() { return failure_text; }

void queue_destroy(srp_queue* queue) {
  if (!queue) return;
  if (cudaSetDevice(queue->device) == cudaSuccess) {
    if (queue->stream) {
      cudaStreamSynchronize(queue->stream);
      cudaStreamDestroy(queue->stream);
    }
    if (queue->faults) cudaFree(queue->faults);
  }
  delete queue;
}

srp_status open_queue(srp_queue* queue) {
  SRP_TRY(enter(queue));
  SRP_TRY(check_cuda(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking), "cudaStreamCreate"));
  SRP_TRY(check_cuda(cudaMalloc(&queue->faults, sizeof(uint32_t)), "cudaMalloc"));
  return check_cuda(cudaMemsetAsync(queue->faults, 0, sizeof(uint32_t), queue->stream), "cudaMemset");
}

srp_status queue_create(int32_t device, srp_queue** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "queue_create: out is NULL");
  *out = nullptr;
  srp_description description = {};
  description.size = sizeof description;
  SRP_TRY(describe(device, &description));
  if (!description.available) return fail(SRP_UNAVAILABLE, "%s", description.reason);
  srp_queue* const queue = new (std::nothrow) srp_queue{device, nullptr, nullptr};
  if (!queue) return fail(SRP_OUT_OF_MEMORY, "queue_create: out of host memory");
  const srp_status status = open_queue(queue);
  if (status != SRP_OK) {
    queue_destroy(queue);
    return status;
  }
  *out = queue;
  return SRP_OK;
}

srp_status alloc(srp_queue* queue, size_t bytes, void** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "alloc: out is NULL");
  *out = nullptr;
  SRP_TRY(enter(queue));
  return check_cuda(cudaMallocAsync(out, bytes ? bytes : 1, queue->stream), "device memory");
}

srp_status release(srp_queue* queue, void* pointer) {
  if (!pointer) return SRP_OK;
  SRP_TRY(enter(queue));
  return check_cuda(cudaFreeAsync(pointer, queue->stream), "cudaFree");
}

srp_status copy(srp_queue* queue, void* to, const void* from, size_t bytes, srp_direction direction) {
  SRP_TRY(enter(queue));
  SRP_TRY(check_enum("direction", direction, SRP_ON_DEVICE));
  if (bytes == 0) return SRP_OK;
  if (!to || !from) return fail(SRP_BAD_ARGUMENT, "copy: a pointer is NULL");
  const cudaMemcpyKind kind = direction == SRP_TO_DEVICE ? cudaMemcpyHostToDevice
                              : direction == SRP_TO_HOST ? cudaMemcpyDeviceToHost
                                                         : cudaMemcpyDeviceToDevice;
  return check_cuda(cudaMemcpyAsync(to, from, bytes, kind, queue->stream), "copy");
}

srp_status sync(srp_queue* queue) {
  SRP_TRY(enter(queue));
  uint32_t faults = 0;
  SRP_TRY(check_cuda(cudaMemcpyAsync(&faults, queue->faults, sizeof faults, cudaMemcpyDeviceToHost, queue->stream),
                     "sync"));
  SRP_TRY(check_cuda(cudaStreamSynchronize(queue->stream), "sync"));
  if (faults == 0) return SRP_OK;
  SRP_TRY(check_cuda(cudaMemsetAsync(queue->faults, 0, sizeof faults, queue->stream), "sync"));
  return fail(SRP_OUT_OF_RANGE, "device data points outside its array:%s%s",
              faults & SRP_FAULT_OFFSETS ? " offsets go down or past the end;" : "",
              faults & SRP_FAULT_INDEX ? " an id, member or span is out of range;" : "");
}

}  // namespace

// A function in the wrong place would not compile: every entry has a type of its own.
#define SRP_LIST(op) op,
static const srp_backend kTable = {
    sizeof(srp_backend), SRP_ABI_VERSION, kName,   describe, last_error, queue_create,
    queue_destroy,       alloc,           release, copy,     sync,       SRP_FOR_EACH_OP(SRP_LIST)};
#undef SRP_LIST

}  // namespace srp::cuda

extern "C" const srp_backend* srp_backend_get(uint32_t abi) {
  if (abi == SRP_ABI_VERSION) return &srp::cuda::kTable;
  srp::fail(SRP_UNSUPPORTED, "ABI version %u asked, %u offered", abi, SRP_ABI_VERSION);
  return nullptr;
}
