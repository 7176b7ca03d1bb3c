// Copies between host arrays and the device, through page-locked memory.
#pragma once
#include "queue.cuh"

namespace srp::cuda {

// `from` may change when it returns.
srp_status copy_to_device(srp_queue* queue, void* to, const void* from, size_t bytes);
// `to` is complete when it returns.
srp_status copy_to_host(srp_queue* queue, void* to, const void* from, size_t bytes);

}  // namespace srp::cuda
