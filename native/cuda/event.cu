#include "event.cuh"

#include <initializer_list>
#include <new>

struct srp_event {
  int device;
  cudaEvent_t event;
  bool timed;
  bool recorded;
};

namespace srp::cuda {
namespace {

srp_status enter_event(const srp_event* event) {
  if (!event) return fail(SRP_BAD_ARGUMENT, "event is NULL");
  SRP_TRY(check_lost(event->device));
  current_device = event->device;
  return check_cuda(cudaSetDevice(event->device), "cudaSetDevice");
}

// cudaErrorNotReady is a result here, not a failure.
srp_status answer(cudaError_t error, const char* what, int32_t* done) {
  *done = error == cudaSuccess;
  if (error != cudaErrorNotReady) return check_cuda(error, what);
  forget_error();
  return SRP_OK;
}

}  // namespace

srp_status queue_query(srp_queue* queue, int32_t* done) {
  if (!done) return fail(SRP_BAD_ARGUMENT, "queue_query: done is NULL");
  SRP_TRY(enter(queue));
  SRP_TRY(refuse_capture(queue, "queue_query"));
  return answer(cudaStreamQuery(queue->stream), "queue_query", done);
}

srp_status event_create(srp_queue* queue, int32_t flags, srp_event** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "event_create: out is NULL");
  *out = nullptr;
  SRP_TRY(enter(queue));
  SRP_TRY(check_enum("flags", flags, SRP_EVENT_TIMED | SRP_EVENT_SLEEPING));
  const bool timed = flags & SRP_EVENT_TIMED;
  srp_event* const event = new (std::nothrow) srp_event{queue->device, nullptr, timed, false};
  if (!event) return fail(SRP_OUT_OF_MEMORY, "event_create: out of host memory");
  const unsigned options = (timed ? 0u : unsigned{cudaEventDisableTiming}) |
                           (flags & SRP_EVENT_SLEEPING ? unsigned{cudaEventBlockingSync} : 0u);
  const srp_status status = check_cuda(cudaEventCreateWithFlags(&event->event, options), "event_create");
  if (status != SRP_OK) {
    delete event;
    return status;
  }
  *out = event;
  return SRP_OK;
}

srp_status event_record(srp_queue* queue, srp_event* event) {
  SRP_TRY(enter(queue));
  if (!event) return fail(SRP_BAD_ARGUMENT, "event_record: event is NULL");
  SRP_TRY(refuse_capture(queue, "event_record"));
  if (event->device != queue->device)
    return fail(SRP_BAD_ARGUMENT, "event_record: the event is of device %d, the queue of device %d", event->device,
                queue->device);
  SRP_TRY(check_cuda(cudaEventRecord(event->event, queue->stream), "event_record"));
  event->recorded = true;
  return SRP_OK;
}

srp_status event_wait(srp_queue* queue, srp_event* event) {
  SRP_TRY(enter(queue));
  if (!event) return fail(SRP_BAD_ARGUMENT, "event_wait: event is NULL");
  SRP_TRY(refuse_capture(queue, "event_wait"));
  if (event->device != queue->device)
    return fail(SRP_BAD_ARGUMENT, "event_wait: the event is of device %d, the queue of device %d", event->device,
                queue->device);
  return check_cuda(cudaStreamWaitEvent(queue->stream, event->event, 0), "event_wait");
}

srp_status event_sync(srp_event* event) {
  SRP_TRY(enter_event(event));
  return check_cuda(cudaEventSynchronize(event->event), "event_sync");
}

srp_status event_query(srp_event* event, int32_t* done) {
  if (!done) return fail(SRP_BAD_ARGUMENT, "event_query: done is NULL");
  SRP_TRY(enter_event(event));
  return answer(cudaEventQuery(event->event), "event_query", done);
}

srp_status event_elapsed(srp_event* from, srp_event* to, double* milliseconds) {
  if (!milliseconds) return fail(SRP_BAD_ARGUMENT, "event_elapsed: milliseconds is NULL");
  SRP_TRY(enter_event(from));
  SRP_TRY(enter_event(to));
  for (const srp_event* event : {from, to})
    if (!event->timed || !event->recorded)
      return fail(SRP_BAD_ARGUMENT, "event_elapsed: an event was %s",
                  event->timed ? "never recorded" : "made without SRP_EVENT_TIMED");
  float elapsed = 0;
  const cudaError_t error = cudaEventElapsedTime(&elapsed, from->event, to->event);
  if (error == cudaErrorNotReady) {
    forget_error();
    return fail(SRP_BAD_ARGUMENT, "event_elapsed: an event is not past; wait for it first");
  }
  SRP_TRY(check_cuda(error, "event_elapsed"));
  *milliseconds = static_cast<double>(elapsed);
  return SRP_OK;
}

void event_destroy(srp_event* event) {
  if (!event) return;
  if (enter_event(event) == SRP_OK) ignore_cuda(cudaEventDestroy(event->event));
  delete event;
}

}  // namespace srp::cuda
