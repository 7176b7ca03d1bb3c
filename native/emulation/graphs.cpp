// Capturing the work of a stream, and replaying it.
#include <mutex>

#include "capture.h"
#include "handles.h"
#include "injection.h"
#include "process_wide.h"
#include "stream.h"

using namespace srp::emulation;

namespace {

// A graph that can be launched. Its launches follow one another, in whichever streams.
struct Executable {
  explicit Executable(std::shared_ptr<Graph> graph_) : graph(std::move(graph_)) {}
  const std::shared_ptr<Graph> graph;
  std::mutex mutex;
  StreamRef stream;
  Stream::Ticket ticket = 0;
};

using GraphHandles = Handles<cudaGraph_t, Graph>;
using ExecutableHandles = Handles<cudaGraphExec_t, Executable>;
GraphHandles& graphs() { return process_wide<GraphHandles>(); }
ExecutableHandles& executables() { return process_wide<ExecutableHandles>(); }

Fault replay(const Graph& graph) {
  for (const Task& task : graph.tasks)
    if (Fault fault = task.work()) return fault;
  return {};
}

}  // namespace

size_t srp::emulation::live_graphs() { return graphs().count() + executables().count(); }

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  SRP_BEGIN("cudaStreamBeginCapture");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return record(cudaErrorInvalidValue);
  if (is_legacy(stream)) return record(cudaErrorStreamCaptureUnsupported);
  return record(begin_capture(stream, mode) ? cudaSuccess : cudaErrorIllegalState);
}

// Ends the capture even if it fails.
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const Release release("cudaStreamEndCapture");
  if (!graph) return release.end(cudaErrorInvalidValue);
  *graph = nullptr;
  const StreamRef stream = find_stream(handle);
  if (!stream) return release.end(cudaErrorInvalidResourceHandle);
  const auto made = std::make_shared<Graph>();
  const cudaError_t error = end_capture(stream, *made);
  if (error == cudaSuccess && !release.refused()) *graph = graphs().add(made);
  return release.end(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  SRP_BEGIN("cudaStreamIsCapturing");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  const CaptureRef capture = capture_of(stream.get());
  *status = !capture           ? cudaStreamCaptureStatusNone
            : capture->invalid ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  SRP_BEGIN("cudaThreadExchangeStreamCaptureMode");
  if (*mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) return record(cudaErrorInvalidValue);
  exchange_capture_mode(*mode);
  return cudaSuccess;
}

// Returns only their number: nodes have no handles here.
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  SRP_BEGIN("cudaGraphGetNodes");
  const std::shared_ptr<Graph> graph = graphs().find(handle);
  if (!graph || !count) return record(cudaErrorInvalidValue);
  if (nodes) return record(cudaErrorNotSupported);
  *count = graph->tasks.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t handle, unsigned long long flags) {
  SRP_BEGIN("cudaGraphInstantiate");
  if (!executable) return record(cudaErrorInvalidValue);
  *executable = nullptr;
  const std::shared_ptr<Graph> graph = graphs().find(handle);
  if (!graph || flags != 0) return record(cudaErrorInvalidValue);
  *executable = executables().add(std::make_shared<Executable>(graph));
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
  SRP_BEGIN("cudaGraphUpload");
  return record(executables().find(handle) && find_stream(stream) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  SRP_BEGIN("cudaGraphLaunch");
  const std::shared_ptr<Executable> executable = executables().find(handle);
  const StreamRef stream = find_stream(stream_handle);
  if (!executable) return record(cudaErrorInvalidValue);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(executable->mutex);
  const auto run = [graph = executable->graph, before = executable->stream, ticket = executable->ticket] {
    if (before) before->wait(ticket);
    return replay(*graph);
  };
  Stream::Ticket ticket = 0;
  if (const cudaError_t error = enqueue(stream, {run, false}, &ticket); error != cudaSuccess) return record(error);
  if (ticket == 0) return cudaSuccess;  // captured, as a part of a larger graph
  executable->stream = stream;
  executable->ticket = ticket;
  return cudaSuccess;
}

// Launches in progress continue.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Release release("cudaGraphExecDestroy");
  return release.end(executables().remove(executable) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Release release("cudaGraphDestroy");
  return release.end(graphs().remove(graph) ? cudaSuccess : cudaErrorInvalidValue);
}
