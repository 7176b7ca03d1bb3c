// Waiting for a queue, and reporting its faults. A fence lets another thread wait, and can bring a copy of device memory.
#include "fence.cuh"

#include <cstring>
#include <new>

#include "device.cuh"

struct srp_fence {
  srp::cuda::Device* home;
  srp::cuda::Pinned* memory;  // the data, then the flags; its event is the mark
  size_t bytes;
  bool waited;
};

namespace srp::cuda {
namespace {

srp_status report(uint32_t faults) {
  if (faults == 0) return SRP_OK;
  return fail(faults == SRP_FAULT_FINITE ? SRP_NOT_FINITE : SRP_OUT_OF_RANGE,
              "device data is not what it should be:%s%s%s%s",
              faults & SRP_FAULT_OFFSETS ? " offsets go down or past the end;" : "",
              faults & SRP_FAULT_INDEX ? " an id, member or span is out of range;" : "",
              faults & SRP_FAULT_ROOM ? " more spans were found than there is room for;" : "",
              faults & SRP_FAULT_FINITE ? " a number is not finite;" : "");
}

srp_status enter_fence(const srp_fence* fence) {
  SRP_TRY(check_lost(fence->home->index));
  current_device = fence->home->index;
  return check_cuda(cudaSetDevice(fence->home->index), "cudaSetDevice");
}

size_t flags_at(size_t bytes) { return (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t) * sizeof(uint32_t); }

// Flags are read and cleared in the order of the queue: a fault raised later belongs to the next fence.
srp_status enqueue(srp_queue* queue, const void* from, size_t bytes, Pinned* memory) {
  unsigned char* const flags = memory->pointer + flags_at(bytes);
  if (bytes)
    SRP_TRY(check_cuda(cudaMemcpyAsync(memory->pointer, from, bytes, cudaMemcpyDeviceToHost, queue->stream), "read"));
  SRP_TRY(check_cuda(cudaMemcpyAsync(flags, queue->faults, sizeof(uint32_t), cudaMemcpyDeviceToHost, queue->stream),
                     "fence"));
  SRP_TRY(check_cuda(cudaMemsetAsync(queue->faults, 0, sizeof(uint32_t), queue->stream), "fence"));
  return check_cuda(cudaEventRecord(memory->event, queue->stream), "fence");
}

}  // namespace

srp_status sync(srp_queue* queue) {
  SRP_TRY(enter(queue));
  SRP_TRY(refuse_capture(queue, "sync"));
  Pinned* memory = nullptr;
  SRP_TRY(queue->home->pinned.borrow(sizeof(uint32_t), &memory));
  if (!memory) return fail(SRP_OUT_OF_MEMORY, "sync: no page-locked memory for 4 bytes");
  srp_status status = enqueue(queue, nullptr, 0, memory);
  if (status == SRP_OK) status = check_cuda(cudaStreamSynchronize(queue->stream), "sync");
  uint32_t faults = 0;
  memcpy(&faults, memory->pointer, sizeof faults);
  queue->home->pinned.give_back(memory, nullptr);
  return status == SRP_OK ? report(faults) : status;
}

srp_status fence_create(srp_queue* queue, const void* from, size_t bytes, srp_fence** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "fence_create: out is NULL");
  *out = nullptr;
  SRP_TRY(enter(queue));
  SRP_TRY(refuse_capture(queue, "fence_create"));
  SRP_TRY(check_pointer("from", from, static_cast<int64_t>(bytes)));
  srp_fence* const fence = new (std::nothrow) srp_fence{queue->home, nullptr, bytes, false};
  if (!fence) return fail(SRP_OUT_OF_MEMORY, "fence_create: out of host memory");
  srp_status status = queue->home->pinned.borrow(flags_at(bytes) + sizeof(uint32_t), &fence->memory);
  if (status == SRP_OK && !fence->memory)
    status = fail(SRP_OUT_OF_MEMORY, "fence_create: no page-locked memory for %zu bytes", bytes);
  if (status == SRP_OK) {
    status = enqueue(queue, from, bytes, fence->memory);
    if (status != SRP_OK) queue->home->pinned.give_back(fence->memory, queue->stream);
  }
  if (status != SRP_OK) {
    delete fence;
    return status;
  }
  *out = fence;
  return SRP_OK;
}

srp_status fence_wait(srp_fence* fence) {
  if (!fence) return fail(SRP_BAD_ARGUMENT, "fence_wait: the fence is NULL");
  SRP_TRY(enter_fence(fence));
  SRP_TRY(check_cuda(cudaEventSynchronize(fence->memory->event), "fence_wait"));
  fence->waited = true;
  uint32_t faults = 0;
  memcpy(&faults, fence->memory->pointer + flags_at(fence->bytes), sizeof faults);
  return report(faults);
}

const void* fence_data(srp_fence* fence) { return fence ? fence->memory->pointer : nullptr; }

void fence_destroy(srp_fence* fence) {
  if (!fence) return;
  if (!fence->waited && enter_fence(fence) == SRP_OK) ignore_cuda(cudaEventSynchronize(fence->memory->event));
  fence->home->pinned.give_back(fence->memory, nullptr);
  delete fence;
}

}  // namespace srp::cuda
