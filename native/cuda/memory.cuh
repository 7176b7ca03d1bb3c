// The cache of device memory: what surprisal/device.h says of alloc() and free().
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

#include "queue.cuh"

namespace srp::cuda {

// One allocation of the driver. It is lent to a caller, kept for the next request of its size, or held by a graph.
struct Block {
  char* pointer;
  size_t bytes;
  bool lent;
  srp_graph* graph;    // the graph whose launches use it; NULL = none
  Block* graph_next;   // of the same graph
  bool from_capture;   // lent while the graph was recorded, so no earlier work uses it
  srp_queue* queue;    // kept: the queue that may still use it; NULL = none
  cudaEvent_t event;   // made when first needed
  bool marked;         // kept: the event is recorded behind the last use
  Block* next;         // the next kept block of the same size
};

// Every function is called with the device's lock held, and the device entered.
class Memory {
 public:
  srp_status take(srp_queue* queue, size_t bytes, void** out);
  srp_status give(srp_queue* queue, void* pointer);
  srp_status trim(Device& device);
  srp_status limit(Device& device, size_t bytes);
  void stats(srp_memory_stats* out) const;

  // Call it when `queue` has ended, with all its work done.
  void forget(const srp_queue* queue);
  // Call it when `graph` has ended, and all its launches.
  void release(srp_graph* graph);
  // As give(), for memory that nothing uses any more.
  void give_idle(void* pointer);
  // The block around an address, lent or not; NULL = not allocated here.
  Block* around(const void* pointer);

  bool caching = true;

 private:
  static constexpr int kClasses = 64 * 8;

  srp_status lend(Device& device, size_t size, Block** out);
  Block* find_kept(const srp_queue* queue, size_t size);
  Block* find_in_graph(srp_graph* graph, size_t size);
  srp_status hand_over(Block* block, srp_queue* queue);
  srp_status mark(Block* block);
  srp_status keep(Block* block, srp_queue* queue);
  srp_status return_block(Block* block);
  srp_status refuse(const Device& device, size_t size);

  std::map<uintptr_t, Block*> blocks_;  // by address
  Block* kept_[kClasses] = {};
  size_t in_use_ = 0, reserved_ = 0, peak_ = 0, limit_ = 0;
  int64_t allocations_ = 0, reused_ = 0, driver_calls_ = 0;
};

}  // namespace srp::cuda
