#include "sharing.cuh"

#include <cstring>

#include "device.cuh"

namespace srp::cuda {
namespace {

srp_status check_byte(const srp_queue* queue, const void* pointer) {
  cudaPointerAttributes attributes = {};
  SRP_TRY(check_cuda(cudaPointerGetAttributes(&attributes, pointer), "pointer_check"));
  const bool ours = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  if (ours && (attributes.device == queue->device || attributes.type == cudaMemoryTypeManaged)) return SRP_OK;
  if (ours)
    return fail(SRP_BAD_ARGUMENT, "pointer_check: %p lies on device %d, expected device %d", pointer, attributes.device,
                queue->device);
  return fail(SRP_BAD_ARGUMENT, "pointer_check: %p is %s, expected memory of device %d", pointer,
              attributes.type == cudaMemoryTypeHost ? "host memory" : "no memory that the device knows", queue->device);
}

}  // namespace

srp_status ipc_export(srp_queue* queue, const void* pointer, uint8_t handle[SRP_IPC_HANDLE_BYTES], int64_t* offset) {
  SRP_TRY(enter(queue));
  if (!handle || !offset) return fail(SRP_BAD_ARGUMENT, "ipc_export: handle or offset is NULL");
  char* base;
  size_t size;
  {
    const std::lock_guard<std::mutex> lock(queue->home->mutex);
    const Block* const block = queue->home->memory.around(pointer);
    if (!block || !block->lent)
      return fail(SRP_BAD_ARGUMENT, "ipc_export: %p is not memory that alloc() lent", pointer);
    base = block->pointer;
    size = block->bytes;
  }
  if (size % SRP_IPC_BYTES)
    return fail(SRP_BAD_ARGUMENT,
                "the array lies in a piece of %zu bytes that the driver may keep beside other memory: make it with "
                "deviceEmpty or toDevice, shared: true",
                size);
  cudaIpcMemHandle_t exported;
  static_assert(sizeof exported == SRP_IPC_HANDLE_BYTES, "an IPC handle has 64 bytes");
  SRP_TRY(check_cuda(cudaIpcGetMemHandle(&exported, base), "ipc_export"));
  memcpy(handle, &exported, sizeof exported);
  *offset = static_cast<const char*>(pointer) - base;
  return SRP_OK;
}

srp_status ipc_open(srp_queue* queue, const uint8_t handle[SRP_IPC_HANDLE_BYTES], void** out) {
  SRP_TRY(enter(queue));
  if (!handle || !out) return fail(SRP_BAD_ARGUMENT, "ipc_open: handle or out is NULL");
  *out = nullptr;
  cudaIpcMemHandle_t exported;
  memcpy(&exported, handle, sizeof exported);
  return check_cuda(cudaIpcOpenMemHandle(out, exported, cudaIpcMemLazyEnablePeerAccess), "ipc_open");
}

srp_status ipc_close(srp_queue* queue, void* pointer) {
  SRP_TRY(enter(queue));
  SRP_TRY(refuse_capture(queue, "ipc_close"));
  SRP_TRY(check_cuda(cudaStreamSynchronize(queue->stream), "ipc_close"));
  return check_cuda(cudaIpcCloseMemHandle(pointer), "ipc_close");
}

srp_status pointer_check(srp_queue* queue, const void* pointer, size_t bytes) {
  SRP_TRY(enter(queue));
  SRP_TRY(check_pointer("pointer", pointer, static_cast<int64_t>(bytes)));
  if (bytes == 0) return SRP_OK;
  SRP_TRY(check_byte(queue, pointer));
  return check_byte(queue, static_cast<const char*>(pointer) + (bytes - 1));
}

srp_status queue_lend(srp_queue* queue, srp_lent_work work, void* data, int32_t* result) {
  SRP_TRY(enter(queue));
  SRP_TRY(refuse_capture(queue, "queue_lend"));
  if (!work || !result) return fail(SRP_BAD_ARGUMENT, "queue_lend: work or result is NULL");
  *result = work(queue->stream, data);
  return SRP_OK;
}

}  // namespace srp::cuda
