// Events (surprisal/device.h).
#pragma once
#include "queue.cuh"

namespace srp::cuda {

srp_status queue_query(srp_queue* queue, int32_t* done);
srp_status event_create(srp_queue* queue, int32_t flags, srp_event** out);
srp_status event_record(srp_queue* queue, srp_event* event);
srp_status event_wait(srp_queue* queue, srp_event* event);
srp_status event_sync(srp_event* event);
srp_status event_query(srp_event* event, int32_t* done);
srp_status event_elapsed(srp_event* from, srp_event* to, double* milliseconds);
void event_destroy(srp_event* event);

}  // namespace srp::cuda
