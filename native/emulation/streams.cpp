// The stream functions of the runtime: handles, waiting, the legacy stream.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "capture.h"
#include "handles.h"
#include "injection.h"
#include "process_wide.h"
#include "stream.h"

using namespace srp::emulation;

namespace {

using StreamHandles = Handles<cudaStream_t, Stream>;
StreamHandles& handles() { return process_wide<StreamHandles>(); }

// Streams whose handle is gone but whose work is not done: calls that wait for a device wait for them, too.
struct Ending {
  std::mutex mutex;
  std::vector<StreamRef> streams;
};

void add_ending(const StreamRef& stream) {
  auto& ending = process_wide<Ending>();
  std::lock_guard<std::mutex> lock(ending.mutex);
  ending.streams.push_back(stream);
}

std::vector<StreamRef> ending_of(int device) {
  auto& ending = process_wide<Ending>();
  std::lock_guard<std::mutex> lock(ending.mutex);
  auto& streams = ending.streams;
  const auto ended = [](const StreamRef& stream) { return stream->done(stream->last()); };
  streams.erase(std::remove_if(streams.begin(), streams.end(), ended), streams.end());
  std::vector<StreamRef> found;
  for (const StreamRef& stream : streams)
    if (stream->device() == device) found.push_back(stream);
  return found;
}

// The stream behind the null handle, of each device, made at its first use.
struct Legacy {
  std::mutex mutex;
  StreamRef streams[kMostDevices];
};

StreamRef legacy_of(int device) {
  auto& legacy = process_wide<Legacy>();
  std::lock_guard<std::mutex> lock(legacy.mutex);
  StreamRef& stream = legacy.streams[device];
  if (!stream) stream = std::make_shared<Stream>(device, true, static_cast<uint64_t>(device));
  return stream;
}

void submit_wait(const StreamRef& stream, const StreamRef& other) {
  const Stream::Ticket ticket = other->last();
  if (other == stream || other->done(ticket)) return;
  stream->submit({[other, ticket] {
                    other->wait(ticket);
                    return Fault{};
                  },
                  true});
}

}  // namespace

namespace srp::emulation {

StreamRef find_stream(cudaStream_t handle) { return handle ? handles().find(handle) : legacy_of(current_device()); }

bool is_legacy(const StreamRef& stream) { return stream == legacy_of(stream->device()); }

std::vector<StreamRef> streams_of(int device) {
  std::vector<StreamRef> found = ending_of(device);
  found.push_back(legacy_of(device));
  handles().each([&](const StreamRef& stream) {
    if (stream->device() == device) found.push_back(stream);
  });
  return found;
}

size_t live_streams() { return handles().count(); }

cudaError_t enqueue(const StreamRef& stream, Task task, Stream::Ticket* ticket) {
  bool captured = false;
  if (const cudaError_t error = capture_task(stream, task, captured); captured) return error;
  if (is_legacy(stream)) {
    if (const cudaError_t error = refuse_implicit(stream->device()); error != cudaSuccess) return error;
    for (const StreamRef& other : streams_of(stream->device()))
      if (other->blocking()) submit_wait(stream, other);
  } else if (stream->blocking()) {
    submit_wait(stream, legacy_of(stream->device()));
  }
  const Stream::Ticket given = stream->submit(std::move(task));
  if (ticket) *ticket = given;
  return current_settings().streams == Streams::sync ? settle(stream, given) : cudaSuccess;
}

cudaError_t settle(const StreamRef& stream, Stream::Ticket ticket) {
  stream->wait(ticket);
  const Fault fault = stream->take_fault();
  return fault ? record(fault) : pending();
}

cudaError_t settle_device(int device) {
  cudaError_t first = cudaSuccess;
  for (const StreamRef& stream : streams_of(device)) {
    const cudaError_t error = settle(stream, stream->last());
    if (first == cudaSuccess) first = error;
  }
  return first;
}

}  // namespace srp::emulation

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  SRP_BEGIN("cudaStreamCreate");
  if (!stream || flags > cudaStreamNonBlocking) return record(cudaErrorInvalidValue);
  static std::atomic<uint64_t> made{kMostDevices};
  *stream = handles().add(std::make_shared<Stream>(current_device(), flags == cudaStreamDefault, made++));
  return cudaSuccess;
}

// Work that is left in it is done; this call does not wait for it.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const Release release("cudaStreamDestroy");
  const StreamRef stream = handle ? handles().remove(handle) : nullptr;
  if (!stream) return release.end(cudaErrorInvalidResourceHandle);
  if (const CaptureRef capture = capture_of(stream.get())) {
    Graph dropped;
    invalidate(capture);
    end_capture(stream, dropped);
  }
  stream->close();
  add_ending(stream);
  return release.end(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const Release release("cudaStreamSynchronize");
  const StreamRef stream = find_stream(handle);
  if (!stream) return release.end(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = refuse_captured(stream); error != cudaSuccess) return release.end(error);
  SRP_SAFE();
  return release.end(settle(stream, stream->last()));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  SRP_BEGIN("cudaStreamQuery");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = refuse_captured(stream); error != cudaSuccess) return record(error);
  SRP_SAFE();
  const Stream::Ticket last = stream->last();
  return stream->done(last) ? settle(stream, last) : record(cudaErrorNotReady);
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  SRP_BEGIN("cudaStreamGetDevice");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  *device = stream->device();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const Release release("cudaDeviceSynchronize");
  SRP_SAFE();
  return release.end(settle_device(current_device()));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  SRP_BEGIN("cudaLaunchHostFunc");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  if (!function) return record(cudaErrorInvalidValue);
  return record(enqueue(stream, {[function, data] {
                                   function(data);
                                   return Fault{};
                                 },
                                 false}));
}
