#include "graph.cuh"

#include <new>

#include "device.cuh"

namespace srp::cuda {
namespace {

// Moves the faults that recorded kernels raised to the flag of the queue that ran them.
//
// ledger    sync and fences
// bytes     8
// limit     latency
// notes     hands the queue's fault word over and clears it
// threads   1
__global__ void move_faults_kernel(uint32_t* from, uint32_t* to) {
  const uint32_t faults = atomicExch(from, 0u);
  if (faults) atomicOr(to, faults);
}

srp_status prepare(srp_queue* queue, srp_graph* graph) {
  void* faults = nullptr;
  SRP_TRY(take_memory(queue, kFlagBytes, &faults));
  graph->faults = static_cast<uint32_t*>(faults);
  SRP_TRY(check_cuda(cudaEventCreateWithFlags(&graph->launched, cudaEventDisableTiming), "capture_begin"));
  SRP_TRY(check_cuda(cudaMemsetAsync(faults, 0, kFlagBytes, queue->stream), "capture_begin"));
  return check_cuda(cudaStreamSynchronize(queue->stream), "capture_begin");
}

}  // namespace

srp_status capture_begin(srp_queue* queue) {
  SRP_TRY(enter(queue));
  SRP_TRY(refuse_capture(queue, "capture_begin"));
  srp_graph* const graph = new (std::nothrow) srp_graph{};
  if (!graph) return fail(SRP_OUT_OF_MEMORY, "capture_begin: out of host memory");
  Device& device = *queue->home;
  graph->home = &device;
  srp_status status = prepare(queue, graph);
  if (status == SRP_OK) {
    const std::lock_guard<std::mutex> lock(device.mutex);
    status = check_cuda(cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeRelaxed), "capture_begin");
    if (status == SRP_OK) {
      queue->graph = graph;
      graph->queue_faults = queue->faults;
      queue->faults = graph->faults;
      ++device.captures;
    }
  }
  if (status != SRP_OK) graph_destroy(graph);
  return status;
}

srp_status capture_end(srp_queue* queue, srp_graph** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "capture_end: out is NULL");
  *out = nullptr;
  if (!queue || !queue->graph) return fail(SRP_BAD_ARGUMENT, "capture_end: the queue is not being captured");
  srp_graph* const graph = queue->graph;
  const srp_status entered = enter(queue);
  cudaGraph_t recorded = nullptr;
  srp_status status = entered;
  {
    const std::lock_guard<std::mutex> lock(queue->home->mutex);
    if (entered == SRP_OK) status = check_cuda(cudaStreamEndCapture(queue->stream, &recorded), "capture_end");
    queue->graph = nullptr;
    queue->faults = graph->queue_faults;
    --queue->home->captures;
  }
  if (status == SRP_OK) status = check_cuda(cudaGraphInstantiate(&graph->launchable, recorded, 0), "capture_end");
  if (recorded) ignore_cuda(cudaGraphDestroy(recorded));
  if (status != SRP_OK) {
    graph_destroy(graph);
    return status;
  }
  *out = graph;
  return SRP_OK;
}

srp_status graph_launch(srp_graph* graph, srp_queue* queue) {
  SRP_TRY(enter(queue));
  if (!graph) return fail(SRP_BAD_ARGUMENT, "graph_launch: graph is NULL");
  if (graph->home != queue->home)
    return fail(SRP_BAD_ARGUMENT, "graph_launch: the graph is of device %d, the queue of device %d", graph->home->index,
                queue->device);
  SRP_TRY(refuse_capture(queue, "graph_launch"));
  SRP_TRY(check_cuda(cudaGraphLaunch(graph->launchable, queue->stream), "graph_launch"));
  SRP_LAUNCH(move_faults_kernel, dim3(1), dim3(1), 0, queue->stream, graph->faults, queue->faults);
  SRP_TRY(launched("graph_launch"));
  return check_cuda(cudaEventRecord(graph->launched, queue->stream), "graph_launch");
}

void graph_destroy(srp_graph* graph) {
  if (!graph) return;
  Device& device = *graph->home;
  if (check_lost(device.index) == SRP_OK) {
    current_device = device.index;
    ignore_cuda(cudaSetDevice(device.index));
    if (graph->launched) {
      ignore_cuda(cudaEventSynchronize(graph->launched));  // returns at once if the graph was never launched
      ignore_cuda(cudaEventDestroy(graph->launched));
    }
    if (graph->launchable) ignore_cuda(cudaGraphExecDestroy(graph->launchable));
    while (Pinned* const memory = graph->pinned) {
      graph->pinned = memory->next;
      device.pinned.destroy(memory);
    }
    const std::lock_guard<std::mutex> lock(device.mutex);
    device.memory.release(graph);
    if (graph->faults) device.memory.give_idle(graph->faults);
  }
  delete graph;
}

}  // namespace srp::cuda
