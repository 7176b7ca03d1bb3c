// Memory shared with other processes and other libraries (surprisal/device.h).
#pragma once
#include "queue.cuh"

namespace srp::cuda {

srp_status ipc_export(srp_queue* queue, const void* pointer, uint8_t handle[SRP_IPC_HANDLE_BYTES], int64_t* offset);
srp_status ipc_open(srp_queue* queue, const uint8_t handle[SRP_IPC_HANDLE_BYTES], void** out);
srp_status ipc_close(srp_queue* queue, void* pointer);
srp_status pointer_check(srp_queue* queue, const void* pointer, size_t bytes);
srp_status queue_lend(srp_queue* queue, srp_lent_work work, void* data, int32_t* result);

}  // namespace srp::cuda
