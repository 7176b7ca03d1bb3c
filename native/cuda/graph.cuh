// Recorded work and the memory that must outlive it (surprisal/device.h).
#pragma once
#include "memory.cuh"
#include "pinned.cuh"

struct srp_graph {
  srp::cuda::Device* home;
  cudaGraphExec_t launchable;
  cudaEvent_t launched;       // behind the last launch
  uint32_t* faults;           // the flag that the recorded kernels raise
  uint32_t* queue_faults;     // during recording: the queue's own flag
  srp::cuda::Block* blocks;   // memory that the recorded work uses
  srp::cuda::Pinned* pinned;  // memory that it copies from

  void add(srp::cuda::Block* block) {
    block->graph = this;
    block->from_capture = true;
    block->graph_next = blocks;
    blocks = block;
  }
  void add(srp::cuda::Pinned* memory) {
    memory->next = pinned;
    pinned = memory;
  }
};

namespace srp::cuda {

srp_status capture_begin(srp_queue* queue);
srp_status capture_end(srp_queue* queue, srp_graph** out);
srp_status graph_launch(srp_graph* graph, srp_queue* queue);
void graph_destroy(srp_graph* graph);

}  // namespace srp::cuda
