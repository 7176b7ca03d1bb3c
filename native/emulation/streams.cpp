// Streams and events. Nothing is ever in flight, so a stream is only an identity, and an event a moment.
#include <chrono>
#include <mutex>
#include <new>
#include <set>

#include "errors.h"
#include "process_wide.h"

using namespace srp::emulation;

struct CUstream_st {};

struct CUevent_st {
  std::chrono::steady_clock::time_point moment;
  bool recorded = false;
  bool timed = true;
};

namespace {

// Which handles are alive: a stale one is refused, not followed.
template <class Handle>
class Handles {
 public:
  cudaError_t add(Handle* out, Handle handle) {
    if (!handle) return cudaErrorMemoryAllocation;
    std::lock_guard<std::mutex> lock(mutex_);
    alive_.insert(handle);
    *out = handle;
    return cudaSuccess;
  }
  bool has(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    return alive_.count(handle) != 0;
  }
  cudaError_t remove(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (alive_.erase(handle) == 0) return cudaErrorInvalidResourceHandle;
    delete handle;
    return cudaSuccess;
  }

 private:
  std::mutex mutex_;
  std::set<Handle> alive_;
};

Handles<cudaStream_t>& streams() { return process_wide<Handles<cudaStream_t>>(); }
Handles<cudaEvent_t>& events() { return process_wide<Handles<cudaEvent_t>>(); }

}  // namespace

bool srp::emulation::is_stream(cudaStream_t stream) { return stream == nullptr || streams().has(stream); }

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (!stream || flags > cudaStreamNonBlocking) return record(cudaErrorInvalidValue);
  return record(streams().add(stream, new (std::nothrow) CUstream_st));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) { return record(streams().remove(stream)); }

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return is_stream(stream) ? pending() : record(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return record(is_stream(stream) && events().has(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (!event) return record(cudaErrorInvalidValue);
  auto* made = new (std::nothrow) CUevent_st;
  if (made) made->timed = (flags & cudaEventDisableTiming) == 0;
  return record(events().add(event, made));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!events().has(event) || !is_stream(stream)) return record(cudaErrorInvalidResourceHandle);
  event->moment = std::chrono::steady_clock::now();
  event->recorded = true;
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return events().has(event) ? pending() : record(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!milliseconds) return record(cudaErrorInvalidValue);
  for (const cudaEvent_t event : {start, end})
    if (!events().has(event) || !event->recorded || !event->timed) return record(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->moment - start->moment).count();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) { return record(events().remove(event)); }
