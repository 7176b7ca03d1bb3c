// Events: a mark is a place in a stream's work, and an event the last mark that was recorded with it.
#include <chrono>
#include <mutex>

#include "capture.h"
#include "handles.h"
#include "injection.h"
#include "process_wide.h"
#include "stream.h"

using namespace srp::emulation;

namespace {

using Moment = std::chrono::steady_clock::time_point;

struct Mark {
  StreamRef stream;
  Stream::Ticket ticket = 0;
  Moment moment;  // written before the ticket is done, read after that
  // Whether it was recorded during a capture: the mark is then part of a graph and is never reached.
  CaptureRef capture;
  Clock clock;

  bool done() const { return stream->done(ticket); }
};

struct Event {
  Event(int device_, bool timed_) : device(device_), timed(timed_) {}
  const int device;
  const bool timed;
  std::mutex mutex;
  std::shared_ptr<Mark> last;

  std::shared_ptr<Mark> mark() {
    std::lock_guard<std::mutex> lock(mutex);
    return last;
  }
};

using EventHandles = Handles<cudaEvent_t, Event>;
EventHandles& handles() { return process_wide<EventHandles>(); }

constexpr unsigned kKnownFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

// The mark to wait for, or the error of a mark that cannot be waited for.
cudaError_t look(cudaEvent_t handle, std::shared_ptr<Mark>& mark) {
  const std::shared_ptr<Event> event = handles().find(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  mark = event->mark();
  if (!mark || !mark->capture) return refuse_unsafe();
  invalidate(mark->capture);
  return cudaErrorCapturedEvent;
}

}  // namespace

size_t srp::emulation::live_events() { return handles().count(); }

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  SRP_BEGIN("cudaEventCreate");
  if (!event || (flags & ~kKnownFlags) != 0) return record(cudaErrorInvalidValue);
  if (flags & cudaEventInterprocess) return record(cudaErrorNotSupported);
  *event = handles().add(std::make_shared<Event>(current_device(), (flags & cudaEventDisableTiming) == 0));
  return cudaSuccess;
}

// A record in progress continues without the event.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Release release("cudaEventDestroy");
  return release.end(handles().remove(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  SRP_BEGIN("cudaEventRecord");
  const std::shared_ptr<Event> event = handles().find(handle);
  const StreamRef stream = find_stream(stream_handle);
  if (!event || !stream || stream->device() != event->device) return record(cudaErrorInvalidResourceHandle);
  const auto mark = std::make_shared<Mark>();
  mark->stream = stream;
  if (clock_of(stream, mark->capture, mark->clock)) {
    if (mark->capture->invalid) return record(cudaErrorStreamCaptureInvalidated);
  } else {
    const auto stamp = [mark] {
      mark->moment = std::chrono::steady_clock::now();
      return Fault{};
    };
    if (const cudaError_t error = enqueue(stream, {stamp, true}, &mark->ticket); error != cudaSuccess)
      return record(error);
  }
  std::lock_guard<std::mutex> lock(event->mutex);
  event->last = mark;
  return cudaSuccess;
}

// Waits for the latest record so far; without one there is nothing to wait for.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned flags) {
  SRP_BEGIN("cudaStreamWaitEvent");
  const std::shared_ptr<Event> event = handles().find(handle);
  const StreamRef stream = find_stream(stream_handle);
  if (!event || !stream) return record(cudaErrorInvalidResourceHandle);
  if (flags != cudaEventWaitDefault) return record(cudaErrorInvalidValue);
  const std::shared_ptr<Mark> mark = event->mark();
  if (!mark) return cudaSuccess;
  if (mark->capture) return record(join_capture(stream, mark->capture, mark->clock));
  if (const CaptureRef capture = capture_of(stream.get())) {
    invalidate(capture);
    return record(cudaErrorStreamCaptureIsolation);
  }
  const auto wait = [mark] {
    mark->stream->wait(mark->ticket);
    return Fault{};
  };
  return mark->stream == stream ? cudaSuccess : record(enqueue(stream, {wait, true}));
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const Release release("cudaEventSynchronize");
  std::shared_ptr<Mark> mark;
  if (const cudaError_t error = look(handle, mark); error != cudaSuccess) return release.end(error);
  return release.end(mark ? settle(mark->stream, mark->ticket) : pending());
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  SRP_BEGIN("cudaEventQuery");
  std::shared_ptr<Mark> mark;
  if (const cudaError_t error = look(handle, mark); error != cudaSuccess) return record(error);
  if (!mark) return pending();
  return mark->done() ? settle(mark->stream, mark->ticket) : record(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  SRP_BEGIN("cudaEventElapsedTime");
  if (!milliseconds) return record(cudaErrorInvalidValue);
  Moment moments[2];
  const cudaEvent_t both[2] = {start, end};
  for (int i = 0; i < 2; ++i) {
    const std::shared_ptr<Event> event = handles().find(both[i]);
    const std::shared_ptr<Mark> mark = event ? event->mark() : nullptr;
    if (!mark || !event->timed || mark->capture) return record(cudaErrorInvalidResourceHandle);
    if (!mark->done()) return record(cudaErrorNotReady);
    moments[i] = mark->moment;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(moments[1] - moments[0]).count();
  return cudaSuccess;
}
