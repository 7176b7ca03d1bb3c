#include "capture.h"

#include <algorithm>
#include <mutex>

#include "process_wide.h"

namespace srp::emulation {

namespace {

struct Captures {
  std::mutex mutex;
  std::vector<CaptureRef> active;
};

Captures& captures() { return process_wide<Captures>(); }

__thread cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

// The caller holds the lock.
CaptureRef find(const Stream* stream) {
  for (const CaptureRef& capture : captures().active)
    if (capture->holds(stream)) return capture;
  return nullptr;
}

bool forbids(const Capture& capture) {
  if (thread_mode == cudaStreamCaptureModeRelaxed || capture.mode() == cudaStreamCaptureModeRelaxed) return false;
  if (capture.begun_here()) return true;
  return thread_mode == cudaStreamCaptureModeGlobal && capture.mode() == cudaStreamCaptureModeGlobal;
}

}  // namespace

bool Capture::joined() const {
  const Clock& end = clocks_.at(origin_);
  return std::all_of(clocks_.begin(), clocks_.end(), [&](const auto& entry) {
    const auto& [stream, clock] = entry;
    const auto own = clock.find(stream), seen = end.find(stream);
    return stream == origin_ || (seen != end.end() && (own == clock.end() || seen->second == own->second));
  });
}

void Capture::add(const Stream* stream, Task task) {
  ++clocks_[stream][stream];
  graph.tasks.push_back(std::move(task));
}

void Capture::wait(const Stream* stream, const Clock& point) {
  Clock& clock = clocks_[stream];
  for (const auto& [other, count] : point) clock[other] = std::max(clock[other], count);
  clock[stream];  // a stream that joins counts as work that must be joined again
}

CaptureRef capture_of(const Stream* stream) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  return find(stream);
}

void invalidate(const CaptureRef& capture) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  capture->invalid = true;
}

cudaError_t refuse_captured(const StreamRef& stream) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  const CaptureRef capture = find(stream.get());
  if (!capture) return cudaSuccess;
  const bool before = std::exchange(capture->invalid, true);
  return before ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnsupported;
}

cudaError_t refuse_unsafe() {
  std::lock_guard<std::mutex> lock(captures().mutex);
  cudaError_t error = cudaSuccess;
  for (const CaptureRef& capture : captures().active) {
    if (!forbids(*capture)) continue;
    capture->invalid = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t capture_task(const StreamRef& stream, Task& task, bool& captured) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  const CaptureRef capture = find(stream.get());
  captured = capture != nullptr;
  if (!captured) return cudaSuccess;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  capture->add(stream.get(), std::move(task));
  return cudaSuccess;
}

cudaError_t refuse_implicit(int device) {
  const std::vector<StreamRef> streams = streams_of(device);
  std::lock_guard<std::mutex> lock(captures().mutex);
  cudaError_t error = cudaSuccess;
  for (const StreamRef& stream : streams) {
    const CaptureRef capture = stream->blocking() ? find(stream.get()) : nullptr;
    if (!capture) continue;
    capture->invalid = true;
    error = cudaErrorStreamCaptureImplicit;
  }
  return error;
}

cudaError_t join_capture(const StreamRef& stream, const CaptureRef& capture, const Clock& point) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  const auto& active = captures().active;
  if (std::find(active.begin(), active.end(), capture) == active.end()) return cudaErrorInvalidValue;  // it has ended
  const CaptureRef own = find(stream.get());
  if (own && own != capture) {
    own->invalid = capture->invalid = true;
    return cudaErrorStreamCaptureMerge;
  }
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  capture->wait(stream.get(), point);
  return cudaSuccess;
}

bool clock_of(const StreamRef& stream, CaptureRef& capture, Clock& clock) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  capture = find(stream.get());
  if (capture) clock = capture->clock(stream.get());
  return capture != nullptr;
}

bool begin_capture(const StreamRef& stream, cudaStreamCaptureMode mode) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  if (find(stream.get())) return false;
  captures().active.push_back(std::make_shared<Capture>(stream, mode));
  return true;
}

cudaError_t end_capture(const StreamRef& stream, Graph& graph) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  const CaptureRef capture = find(stream.get());
  if (!capture) return cudaErrorIllegalState;
  if (!capture->begun_in(stream.get())) {
    capture->invalid = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode() != cudaStreamCaptureModeRelaxed && !capture->begun_here()) {
    capture->invalid = true;
    return cudaErrorStreamCaptureWrongThread;
  }
  auto& active = captures().active;
  active.erase(std::find(active.begin(), active.end(), capture));
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!capture->joined()) return cudaErrorStreamCaptureUnjoined;
  graph = std::move(capture->graph);
  return cudaSuccess;
}

bool any_capture() {
  std::lock_guard<std::mutex> lock(captures().mutex);
  return !captures().active.empty();
}

void exchange_capture_mode(cudaStreamCaptureMode& mode) { std::swap(mode, thread_mode); }

}  // namespace srp::emulation
