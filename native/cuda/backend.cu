// The table of the CUDA backend: device, queue and memory functions. The emulated backend compiles the same
// sources against the fake runtime of native/emulation.
#include "backend.cuh"

#include <mutex>
#include <new>

#include "common.cuh"
#include "context.cuh"
#include "copy.cuh"
#include "device.cuh"
#include "event.cuh"
#include "fence.cuh"
#include "graph.cuh"
#include "sharing.cuh"

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
    cudaGetLastError();  // this call reports the refusal, so a later op must not find it
    return SRP_OK;
  }
  out->device_count = count;
  if (device < 0 || device >= count) {
    snprintf(out->reason, sizeof out->reason, "device %d does not exist: %d device(s), numbered from 0", device, count);
    return SRP_OK;
  }
  if (check_lost(device) != SRP_OK) {
    snprintf(out->reason, sizeof out->reason, "%.255s", failure_text);
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
  srp_graph* unfinished = nullptr;
  if (queue->graph && capture_end(queue, &unfinished) == SRP_OK) graph_destroy(unfinished);
  if (enter(queue) == SRP_OK && queue->stream) ignore_cuda(cudaStreamSynchronize(queue->stream));
  if (queue->faults) give_memory(queue, queue->faults);
  queue->home->remove(queue);
  if (queue->stream && check_lost(queue->device) == SRP_OK) ignore_cuda(cudaStreamDestroy(queue->stream));
  delete queue;
}

srp_status open_queue(srp_queue* queue) {
  SRP_TRY(enter(queue));
  SRP_TRY(check_cuda(cudaDeviceGetAttribute(&queue->multiprocessors, cudaDevAttrMultiProcessorCount, queue->device),
                     "cudaDeviceGetAttribute"));
  SRP_TRY(check_cuda(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking), "cudaStreamCreate"));
  queue->home->add(queue);
  void* faults = nullptr;
  SRP_TRY(take_memory(queue, kFlagBytes, &faults));
  queue->faults = static_cast<uint32_t*>(faults);
  return check_cuda(cudaMemsetAsync(queue->faults, 0, kFlagBytes, queue->stream), "cudaMemset");
}

srp_status queue_create(int32_t device, srp_queue** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "queue_create: out is NULL");
  *out = nullptr;
  SRP_TRY(check_lost(device));
  srp_description description = {};
  description.size = sizeof description;
  SRP_TRY(describe(device, &description));
  if (!description.available) return fail(SRP_UNAVAILABLE, "%s", description.reason);
  Device* const home = device_of(device);
  srp_queue* const queue =
      home ? new (std::nothrow) srp_queue{device, 1, nullptr, nullptr, home, nullptr, nullptr} : nullptr;
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
  return take_memory(queue, bytes, out);
}

srp_status release(srp_queue* queue, void* pointer) {
  if (!pointer) return SRP_OK;
  if (!queue) return fail(SRP_BAD_ARGUMENT, "queue is NULL");
  SRP_TRY(check_lost(queue->device));
  const srp_status entered = enter(queue);  // even if this fails, the memory is freed
  const srp_status given = give_memory(queue, pointer);
  return given == SRP_OK ? entered : given;
}

srp_status copy(srp_queue* queue, void* to, const void* from, size_t bytes, srp_direction direction) {
  SRP_TRY(enter(queue));
  SRP_TRY(check_enum("direction", direction, SRP_ON_DEVICE));
  if (bytes == 0) return SRP_OK;
  if (!to || !from) return fail(SRP_BAD_ARGUMENT, "copy: a pointer is NULL");
  if (direction == SRP_TO_DEVICE) return copy_to_device(queue, to, from, bytes);
  if (direction == SRP_TO_HOST) return copy_to_host(queue, to, from, bytes);
  return check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue->stream), "copy");
}

srp_status memory_stats(srp_queue* queue, srp_memory_stats* out) {
  if (!out || out->size < sizeof(srp_memory_stats))
    return fail(SRP_BAD_ARGUMENT, "memory_stats: out is NULL or too small");
  SRP_TRY(enter(queue));
  const std::lock_guard<std::mutex> lock(queue->home->mutex);
  queue->home->memory.stats(out);
  return SRP_OK;
}

srp_status memory_limit(srp_queue* queue, int64_t bytes) {
  SRP_TRY(enter(queue));
  if (bytes < 0) return fail(SRP_BAD_ARGUMENT, "memory_limit: bytes is %lld", static_cast<long long>(bytes));
  const std::lock_guard<std::mutex> lock(queue->home->mutex);
  return queue->home->memory.limit(*queue->home, static_cast<size_t>(bytes));
}

srp_status memory_trim(srp_queue* queue) {
  SRP_TRY(enter(queue));
  const std::lock_guard<std::mutex> lock(queue->home->mutex);
  SRP_TRY(queue->home->memory.trim(*queue->home));
  queue->home->pinned.trim();
  return SRP_OK;
}

srp_status queue_capturing(srp_queue* queue, int32_t* capturing) {
  if (!queue || !capturing) return fail(SRP_BAD_ARGUMENT, "queue_capturing: an argument is NULL");
  *capturing = queue->graph != nullptr;
  return SRP_OK;
}

}  // namespace

static const srp_device_functions kDevice = {
    sizeof(srp_device_functions), restoring<memory_stats>,  restoring<memory_limit>, restoring<memory_trim>,
    restoring<queue_query>,       queue_capturing,          restoring<event_create>, restoring<event_record>,
    restoring<event_wait>,        restoring<event_sync>,    restoring<event_query>,  restoring<event_elapsed>,
    restoring<event_destroy>,     restoring<fence_create>,  restoring<fence_wait>,   fence_data,
    restoring<fence_destroy>,     restoring<capture_begin>, restoring<capture_end>,  restoring<graph_launch>,
    restoring<graph_destroy>,     restoring<ipc_export>,    restoring<ipc_open>,     restoring<ipc_close>,
    restoring<pointer_check>,     restoring<queue_lend>};

static srp_backend make_table() {
  srp_backend table = {};
  table.size = sizeof table;
  table.abi = SRP_ABI;
  table.name = kName;
  table.describe = restoring<describe>;
  table.last_error = last_error;
  table.queue_create = restoring<queue_create>;
  table.queue_destroy = restoring<queue_destroy>;
  table.alloc = restoring<alloc>;
  table.free = restoring<release>;
  table.copy = restoring<copy>;
  table.sync = restoring<sync>;
#define SRP_ENTER(op) table.op = restoring<op>;
  SRP_FOR_EACH_OP(SRP_ENTER)
#undef SRP_ENTER
  table.device = &kDevice;
  return table;
}

}  // namespace srp::cuda

extern "C" const srp_backend* srp_backend_get(uint32_t abi) {
  static const srp_backend table = srp::cuda::make_table();
  if (abi == SRP_ABI) return &table;
  srp::fail(SRP_UNSUPPORTED, "ABI %08x asked, %08x offered", abi, SRP_ABI);
  return nullptr;
}
