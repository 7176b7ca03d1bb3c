// The table's sync and fences (surprisal/device.h).
#pragma once
#include "queue.cuh"

namespace srp::cuda {

srp_status sync(srp_queue* queue);
srp_status fence_create(srp_queue* queue, const void* from, size_t bytes, srp_fence** out);
srp_status fence_wait(srp_fence* fence);
const void* fence_data(srp_fence* fence);
void fence_destroy(srp_fence* fence);

}  // namespace srp::cuda
