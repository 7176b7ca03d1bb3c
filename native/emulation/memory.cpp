// Allocating memory, giving it back, and asking where it lies.
#include "capture.h"
#include "injection.h"
#include "registry.h"
#include "settings.h"
#include "stream.h"

using namespace srp::emulation;

namespace {

// At once for the host; in stream order for all streams.
cudaError_t give_back(const AllocationRef& block, const StreamRef& stream) {
  Stream::Ticket ticket = 0;
  const auto close = [block] {
    close_memory(block);
    return Fault{};
  };
  if (const cudaError_t error = enqueue(stream, {close, true}, &ticket); error != cudaSuccess && !stays(error))
    return error;
  disown(block, stream, ticket);
  return cudaSuccess;
}

cudaError_t pinned_memory(const char* function, void** pointer, size_t bytes) {
  SRP_BEGIN(function);
  if (!pointer) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  SRP_SAFE();
  if (bytes == 0) return cudaSuccess;
  const AllocationRef block = take(Kind::pinned, current_device(), bytes);
  if (!block) return record(cudaErrorMemoryAllocation);
  *pointer = block->begin;
  return cudaSuccess;
}

// Memory outside the order of a stream is freed when every stream has done its work.
cudaError_t give_back_now(const Release& release, void* pointer, bool pinned, bool foreign) {
  if (!pointer && !foreign) return release.end(cudaSuccess);
  const AllocationRef block = owned_allocation(pointer);
  if (!block || (block->kind == Kind::pinned) != pinned || block->foreign != foreign)
    return release.end(pinned && foreign ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue);
  if (any_capture()) return release.end(cudaErrorStreamCaptureUnsupported);
  const cudaError_t error = settle_device(block->device);
  if (block->kind == Kind::pool) {
    // cudaFree of stream-ordered memory is allowed; it is then ordered behind all streams.
    const StreamRef legacy = find_stream(nullptr);
    give_back(block, legacy);
  } else {
    close_memory(block);
    disown(block, nullptr, 0);
  }
  return release.end(error);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  SRP_BEGIN("cudaMalloc");
  if (!pointer) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  SRP_SAFE();
  if (bytes == 0) return cudaSuccess;
  const AllocationRef block = take(Kind::device, current_device(), bytes);
  if (!block) return record(cudaErrorMemoryAllocation);
  *pointer = block->begin;
  return cudaSuccess;
}

// A capture keeps what is allocated in it: the graph's work has its address.
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t handle) {
  SRP_BEGIN("cudaMallocAsync");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  if (!pointer) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (capture_of(stream.get())) return record(cudaErrorNotSupported);
  const AllocationRef block = take_from_pool(stream, bytes);
  if (!block) return record(cudaErrorMemoryAllocation);
  const auto open = [block] { return open_memory(block); };
  if (const cudaError_t error = enqueue(stream, {open, true}); error != cudaSuccess) {
    disown(block, stream, 0);
    return record(error);
  }
  *pointer = block->begin;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  const Release release("cudaFree");
  return give_back_now(release, pointer, false, false);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  const Release release("cudaFreeAsync");
  const StreamRef stream = find_stream(handle);
  if (!stream) return release.end(cudaErrorInvalidResourceHandle);
  if (!pointer) return release.end(cudaSuccess);
  const AllocationRef block = owned_allocation(pointer);
  if (!block || block->kind != Kind::pool) return release.end(cudaErrorInvalidValue);
  if (const cudaError_t error = refuse_captured(stream); error != cudaSuccess) return release.end(error);
  return release.end(give_back(block, stream));
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return pinned_memory("cudaMallocHost", pointer, bytes); }

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~kKnown) != 0) return record(cudaErrorInvalidValue);
  return pinned_memory("cudaHostAlloc", pointer, bytes);
}

cudaError_t cudaFreeHost(void* pointer) {
  const Release release("cudaFreeHost");
  return give_back_now(release, pointer, true, false);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  SRP_BEGIN("cudaHostRegister");
  if (!pointer || bytes == 0 || flags > cudaHostRegisterPortable) return record(cudaErrorInvalidValue);
  SRP_SAFE();
  return record(pin(pointer, bytes) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  const Release release("cudaHostUnregister");
  return give_back_now(release, pointer, true, true);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  SRP_BEGIN("cudaMemGetInfo");
  if (!free || !total) return record(cudaErrorInvalidValue);
  *total = memory_of(current_device());
  const size_t used = used_of(current_device());
  *free = used < *total ? *total - used : 0;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  SRP_BEGIN("cudaPointerGetAttributes");
  if (!attributes) return record(cudaErrorInvalidValue);
  *attributes = {};
  attributes->device = -2;  // as the runtime reports memory that it did not allocate
  const Where where = locate(pointer, 1);
  if (where.place == Place::pageable || where.place == Place::freed) return cudaSuccess;
  const bool pinned = where.place == Place::pinned;
  attributes->type = pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  attributes->device = where.block->device;
  attributes->devicePointer = const_cast<void*>(pointer);
  attributes->hostPointer = pinned ? const_cast<void*>(pointer) : nullptr;
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  SRP_BEGIN("cudaIpcGetMemHandle");
  if (!current_settings().ipc) return record(cudaErrorNotSupported);
  const AllocationRef block = owned_allocation(pointer);
  if (!handle || !block || block->foreign || !block->pages.begin) return record(cudaErrorInvalidValue);
  *handle = handle_of(block->pages, block->bytes);
  return cudaSuccess;
}

// CUDA refuses a handle of the same process, and so does this.
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  SRP_BEGIN("cudaIpcOpenMemHandle");
  if (!pointer) return record(cudaErrorInvalidValue);
  if (!current_settings().ipc) return record(cudaErrorNotSupported);
  const AllocationRef block = adopt(handle, current_device());
  if (!block) return record(cudaErrorInvalidResourceHandle);
  *pointer = block->begin;
  return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  const Release release("cudaIpcCloseMemHandle");
  return give_back_now(release, pointer, false, true);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  SRP_BEGIN("cudaIpcGetEventHandle");
  return record(cudaErrorNotSupported);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  SRP_BEGIN("cudaIpcOpenEventHandle");
  return record(cudaErrorNotSupported);
}

extern "C" int64_t srp_emulation_live(const char* what) {
  const std::string name = what ? what : "";
  if (name == "device" || name == "pinned") return static_cast<int64_t>(owned_bytes(name == "pinned"));
  if (name == "streams") return static_cast<int64_t>(live_streams());
  if (name == "events") return static_cast<int64_t>(live_events());
  if (name == "graphs") return static_cast<int64_t>(live_graphs());
  if (name == "contexts") return live_contexts();
  return -1;
}
