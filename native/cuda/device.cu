#include "device.cuh"

#include <cstdlib>
#include <cstring>
#include <new>

namespace srp::cuda {

void Device::add(srp_queue* queue) {
  const std::lock_guard<std::mutex> lock(mutex);
  queue->next = queues;
  queues = queue;
}

void Device::remove(srp_queue* queue) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (srp_queue** link = &queues; *link; link = &(*link)->next)
    if (*link == queue) {
      *link = queue->next;
      break;
    }
  memory.forget(queue);
}

srp_status Device::wait_for_queues() const {
  for (const srp_queue* queue = queues; queue; queue = queue->next)
    SRP_TRY(check_cuda(cudaStreamSynchronize(queue->stream), "waiting for the device"));
  return SRP_OK;
}

Device* device_of(int index) {
  static std::mutex mutex;
  static Device* devices[kMaxDevices];
  if (index < 0 || index >= kMaxDevices) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!devices[index]) {
    Device* const made = new (std::nothrow) Device;
    if (!made) return nullptr;
    made->index = index;
    const char* const cache = getenv("SURPRISAL_DEVICE_CACHE");
    made->memory.caching = !cache || strcmp(cache, "0") != 0;
    devices[index] = made;
  }
  return devices[index];
}

}  // namespace srp::cuda
