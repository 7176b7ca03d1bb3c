// State that the queues of one device share. Made at the first use of the device and never destroyed: a finalizer may still free
// memory while the process ends.
#pragma once
#include <mutex>

#include "memory.cuh"
#include "pinned.cuh"

namespace srp::cuda {

struct Device {
  int index;
  std::mutex mutex;  // guards all below but `pinned`, which has a mutex of its own
  Memory memory;
  srp_queue* queues = nullptr;  // all of them, linked by `next`
  int captures = 0;  // in progress
  PinnedMemory pinned;

  void add(srp_queue* queue);
  void remove(srp_queue* queue);
  // Waits for everything enqueued. Call it with the lock held, and not during a capture.
  srp_status wait_for_queues() const;
};

// NULL when out of host memory, or index is not in 0 ... kMaxDevices - 1.
Device* device_of(int index);

}  // namespace srp::cuda
