// A capture in progress: streams whose work goes into a graph instead of being done.
//
// A replay does the work in the order in which it was captured, on one stream. That order is one that the dependencies
// allow, and forgotten ones between streams of a capture are found when it ends, as work that was not joined.
#pragma once
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "registry.h"
#include "stream.h"

namespace srp::emulation {

// What a graph does and what it owns. Memory that was allocated while capturing keeps its address from replay to replay.
struct Graph {
  std::vector<Task> tasks;
  std::vector<AllocationRef> memory;
};

// How much of each stream's captured work lies before a point.
using Clock = std::map<const Stream*, size_t>;

class Capture {
 public:
  Capture(const StreamRef& origin, cudaStreamCaptureMode mode)
      : origin_(origin.get()), mode_(mode), thread_(std::this_thread::get_id()) {
    clocks_[origin_] = {};
  }

  cudaStreamCaptureMode mode() const { return mode_; }
  bool begun_here() const { return thread_ == std::this_thread::get_id(); }
  bool begun_in(const Stream* stream) const { return stream == origin_; }
  bool holds(const Stream* stream) const { return clocks_.count(stream) != 0; }
  // Whether the work of every stream comes before the end of the stream that began the capture.
  bool joined() const;

  void add(const Stream* stream, Task task);
  const Clock& clock(const Stream* stream) const { return clocks_.at(stream); }
  // The stream goes on after that point; it takes part in the capture from now on.
  void wait(const Stream* stream, const Clock& point);

  Graph graph;
  bool invalid = false;

 private:
  const Stream* origin_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_;
  std::map<const Stream*, Clock> clocks_;
};

using CaptureRef = std::shared_ptr<Capture>;

// All of the following are safe to call from any thread.

bool begin_capture(const StreamRef& stream, cudaStreamCaptureMode mode);  // false: the stream captures already
cudaError_t end_capture(const StreamRef& stream, Graph& graph);
// The capture that the stream takes part in, or null.
CaptureRef capture_of(const Stream* stream);
bool any_capture();
void invalidate(const CaptureRef& capture);
// Moves the task into the graph that the stream captures, if it does.
cudaError_t capture_task(const StreamRef& stream, Task& task, bool& captured);
// Where the stream is in its capture; false if it is in none.
bool clock_of(const StreamRef& stream, CaptureRef& capture, Clock& clock);
cudaError_t join_capture(const StreamRef& stream, const CaptureRef& capture, const Clock& point);

// Where the stream captures: invalidates the capture and returns the error. For calls that cannot be captured.
cudaError_t refuse_captured(const StreamRef& stream);
// For work of the legacy stream, for which a capturing blocking stream would have to wait.
cudaError_t refuse_implicit(int device);
// For calls that CUDA calls potentially unsafe: whether a capture forbids them to this thread. Invalidates that capture.
cudaError_t refuse_unsafe();
// The capture mode of this thread (cudaThreadExchangeStreamCaptureMode).
void exchange_capture_mode(cudaStreamCaptureMode& mode);

// The first statement, behind SRP_BEGIN, of a function that is potentially unsafe during a capture.
#define SRP_SAFE()                                                                           \
  if (const cudaError_t unsafe_ = ::srp::emulation::refuse_unsafe(); unsafe_ != cudaSuccess) \
  return ::srp::emulation::record(unsafe_)

}  // namespace srp::emulation
