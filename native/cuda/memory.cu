#include "memory.cuh"

#include <new>

#include "device.cuh"
#include "graph.cuh"

namespace srp::cuda {
namespace {

constexpr size_t kSmallest = 512;
constexpr size_t kLargest =
    size_t{1} << 60;  // more than any device has; smaller sizes can be rounded up without overflow

#if defined(SRP_EMULATED)
constexpr bool kPoison = true;  // memory is filled with NaNs when it is lent again
#else
constexpr bool kPoison = false;
#endif

// Eight sizes between a power of two and the next.
size_t rounded(size_t bytes) {
  size_t step = kSmallest;
  while (step * 16 <= bytes) step *= 2;
  return bytes == 0 ? step : (bytes + step - 1) / step * step;
}

int class_of(size_t size) {
  int exponent = 0;
  while (size >> (exponent + 1)) ++exponent;
  return exponent * 8 + static_cast<int>((size >> (exponent - 3)) & 7);
}

double mib(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

Block* Memory::around(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  Block* const block = (--next)->second;
  return address - next->first < block->bytes ? block : nullptr;
}

srp_status Memory::refuse(const Device& device, size_t size) {
  char limit[48] = "no limit";
  if (limit_) snprintf(limit, sizeof limit, "limit %.1f MiB", mib(limit_));
  return fail(SRP_OUT_OF_MEMORY, "out of memory on device %d: %.1f MiB asked, %.1f MiB in use, %.1f MiB reserved, %s",
              device.index, mib(size), mib(in_use_), mib(reserved_), limit);
}

// Allocates from the driver, without a second try.
srp_status Memory::lend(Device& device, size_t size, Block** out) {
  if (limit_ && (size > limit_ || reserved_ > limit_ - size)) return refuse(device, size);
  Block* const block = new (std::nothrow) Block{};
  if (!block) return fail(SRP_OUT_OF_MEMORY, "out of host memory");
  void* pointer = nullptr;
  ++driver_calls_;
  const cudaError_t error = cudaMalloc(&pointer, size);
  if (error != cudaSuccess) {
    delete block;
    if (error != cudaErrorMemoryAllocation) return check_cuda(error, "device memory");
    forget_error();
    return refuse(device, size);
  }
  block->pointer = static_cast<char*>(pointer);
  block->bytes = size;
  try {
    blocks_[reinterpret_cast<uintptr_t>(pointer)] = block;
  } catch (const std::bad_alloc&) {
    ignore_cuda(cudaFree(pointer));
    delete block;
    return fail(SRP_OUT_OF_MEMORY, "out of host memory");
  }
  reserved_ += size;
  *out = block;
  return SRP_OK;
}

// Prefers a block that the same queue freed, which needs no wait.
Block* Memory::find_kept(const srp_queue* queue, size_t size) {
  Block* other = nullptr;
  for (Block* block = kept_[class_of(size)]; block; block = block->next) {
    if (!block->queue || block->queue == queue) return block;
    // An event cannot be recorded while the block's queue is being captured.
    if (!other && (block->marked || !block->queue->graph)) other = block;
  }
  return other;
}

// Finds a block that was freed while the same graph was recorded: its earlier uses come first in every launch.
Block* Memory::find_in_graph(srp_graph* graph, size_t size) {
  for (Block* block = graph->blocks; block; block = block->graph_next)
    if (!block->lent && block->bytes == size && block->from_capture) return block;
  return nullptr;
}

// Takes a kept block out of its list, and orders the queue behind the block's last use.
srp_status Memory::hand_over(Block* block, srp_queue* queue) {
  if (block->queue && block->queue != queue) {
    if (!block->marked) SRP_TRY(mark(block));
    SRP_TRY(check_cuda(cudaStreamWaitEvent(queue->stream, block->event, 0), "cudaStreamWaitEvent"));
  }
  Block** link = &kept_[class_of(block->bytes)];
  while (*link != block) link = &(*link)->next;
  *link = block->next;
  return SRP_OK;
}

srp_status Memory::take(srp_queue* queue, size_t bytes, void** out) {
  Device& device = *queue->home;
  *out = nullptr;
  if (bytes > kLargest) return refuse(device, bytes);
  const size_t size = caching ? rounded(bytes) : bytes + (bytes == 0);
  Block* block = nullptr;
  if (queue->graph)
    block = find_in_graph(queue->graph, size);
  else if (caching && (block = find_kept(queue, size)) != nullptr)
    SRP_TRY(hand_over(block, queue));
  const bool known = block != nullptr;
  if (!known) {
    srp_status status = lend(device, size, &block);
    if (status == SRP_OUT_OF_MEMORY && device.captures == 0) {
      SRP_TRY(trim(device));
      status = lend(device, size, &block);
    }
    if (status != SRP_OK) return status;
    if (queue->graph) queue->graph->add(block);
  }
  if (!block->graph || !known) in_use_ += size;  // a graph's blocks stay in use
  if (in_use_ > peak_) peak_ = in_use_;
  ++allocations_;
  reused_ += known;
  block->lent = true;
  if (known && kPoison) {
    const srp_status poisoned = check_cuda(cudaMemsetAsync(block->pointer, 0xff, size, queue->stream), "device memory");
    if (poisoned != SRP_OK) {
      give(queue, block->pointer);
      return poisoned;
    }
  }
  *out = block->pointer;
  return SRP_OK;
}

srp_status Memory::give(srp_queue* queue, void* pointer) {
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == blocks_.end() || !found->second->lent)
    return fail(SRP_BAD_ARGUMENT, "free: %p is not memory that alloc() lent, or was freed before", pointer);
  Block* const block = found->second;
  block->lent = false;
  if (block->graph) return SRP_OK;
  if (queue->graph) {
    queue->graph->add(block);
    block->from_capture = false;  // work from before the capture may still use it, so this graph must not take it again
    return SRP_OK;
  }
  in_use_ -= block->bytes;
  return keep(block, queue);
}

void Memory::give_idle(void* pointer) {
  Block* const block = around(pointer);
  block->lent = false;
  in_use_ -= block->bytes;
  keep(block, nullptr);
}

// Records an event behind the last use of a kept block, on the queue that it was freed on.
srp_status Memory::mark(Block* block) {
  if (!block->event)
    SRP_TRY(check_cuda(cudaEventCreateWithFlags(&block->event, cudaEventDisableTiming), "cudaEventCreate"));
  SRP_TRY(check_cuda(cudaEventRecord(block->event, block->queue->stream), "cudaEventRecord"));
  block->marked = true;
  return SRP_OK;
}

// `queue` may still use the block; NULL = nothing uses it.
srp_status Memory::keep(Block* block, srp_queue* queue) {
  if (!caching) {
    const srp_status waited = queue ? check_cuda(cudaStreamSynchronize(queue->stream), "free") : SRP_OK;
    const srp_status returned = return_block(block);
    return waited == SRP_OK ? returned : waited;
  }
  block->queue = queue;
  block->marked = false;
  Block*& list = kept_[class_of(block->bytes)];
  block->next = list;
  list = block;
  // With several queues the event is recorded now, so that another queue waits for this use alone.
  const bool alone = !queue || (queue->home->queues == queue && !queue->next);
  return alone ? SRP_OK : mark(block);
}

// Returns a block to the driver. It must be in no list any more.
srp_status Memory::return_block(Block* block) {
  ++driver_calls_;
  reserved_ -= block->bytes;
  blocks_.erase(reinterpret_cast<uintptr_t>(block->pointer));
  const cudaError_t error = cudaFree(block->pointer);
  if (block->event) ignore_cuda(cudaEventDestroy(block->event));
  delete block;
  return check_cuda(error, "cudaFree");
}

srp_status Memory::trim(Device& device) {
  if (device.captures > 0)
    return fail(SRP_BAD_ARGUMENT, "memory_trim: a queue is being captured; end the capture first");
  SRP_TRY(device.wait_for_queues());
  for (Block*& list : kept_)
    while (Block* const block = list) {
      list = block->next;
      SRP_TRY(return_block(block));
    }
  return SRP_OK;
}

srp_status Memory::limit(Device& device, size_t bytes) {
  limit_ = bytes;
  return limit_ && reserved_ > limit_ && device.captures == 0 ? trim(device) : SRP_OK;
}

void Memory::stats(srp_memory_stats* out) const {
  const uint32_t size = out->size;
  *out = {size,
          static_cast<int64_t>(in_use_),
          static_cast<int64_t>(reserved_),
          static_cast<int64_t>(peak_),
          static_cast<int64_t>(limit_),
          allocations_,
          reused_,
          driver_calls_};
}

void Memory::forget(const srp_queue* queue) {
  for (Block* list : kept_)
    for (Block* block = list; block; block = block->next)
      if (block->queue == queue) block->queue = nullptr;
}

void Memory::release(srp_graph* graph) {
  while (Block* const block = graph->blocks) {
    graph->blocks = block->graph_next;
    block->graph = nullptr;
    if (block->lent) continue;  // the caller still owns it, as any other block from now on
    in_use_ -= block->bytes;
    keep(block, nullptr);  // cannot fail, since nothing is enqueued for it
  }
}

srp_status take_memory(srp_queue* queue, size_t bytes, void** out) {
  const std::lock_guard<std::mutex> lock(queue->home->mutex);
  return queue->home->memory.take(queue, bytes, out);
}

srp_status give_memory(srp_queue* queue, void* pointer) {
  const std::lock_guard<std::mutex> lock(queue->home->mutex);
  return queue->home->memory.give(queue, pointer);
}

}  // namespace srp::cuda
