// The queue of the CUDA backend, and what every launcher needs: entering the device, scratch memory, the launch check.
#pragma once
#include "cuda.cuh"
#include "errors.cuh"
#include "shared/checks.h"
#include "surprisal/backend.h"

// Bits of the queue's sticky flag. Kernels raise them; sync() reports and clears them.
enum SrpFault : uint32_t {
  SRP_FAULT_OFFSETS = 1,  // row, group or span offsets that go down or past the end
  SRP_FAULT_INDEX = 2,    // an id, a member or a span outside its array
  SRP_FAULT_ROOM = 4,     // more spans found than a list has room for
  SRP_FAULT_FINITE = 8,   // a number that is not finite where the call asked for finite ones
};

namespace srp::cuda {
struct Device;
}

struct srp_queue {
  int device;
  int multiprocessors;  // of the device
  cudaStream_t stream;
  uint32_t* faults;  // device memory, kFlagBytes of it; while the queue captures, that of its graph
  srp::cuda::Device* home;
  srp_graph* graph;  // being captured, or NULL
  srp_queue* next;   // of its device
};

namespace srp::cuda {

// How many blocks of a launch can be told apart from the last one.
constexpr int64_t kQueueTickets = 1023;
constexpr size_t kFlagBytes = (1 + kQueueTickets) * sizeof(uint32_t);

// Counters by which blocks find out which of them comes last; they are 0 between launches. They lie behind the flag, so that
// recorded work has its own.
inline uint32_t* tickets_of(const srp_queue* queue) { return queue->faults + 1; }

// Makes the queue's device current for the calling thread: an async call arrives on a thread that never chose one.
inline srp_status enter(const srp_queue* queue) {
  if (!queue) return fail(SRP_BAD_ARGUMENT, "queue is NULL");
  SRP_TRY(check_lost(queue->device));
  current_device = queue->device;
  return check_cuda(cudaSetDevice(queue->device), "cudaSetDevice");
}

// Refuses a call that would wait or use another queue: it cannot be recorded.
inline srp_status refuse_capture(const srp_queue* queue, const char* what) {
  if (!queue->graph) return SRP_OK;
  return fail(SRP_BAD_ARGUMENT, "%s: the queue is being captured; end the capture first", what);
}

// After the launches of an op: reports a launch that was refused. sync() reports faults of the kernels themselves.
inline srp_status launched(const char* op) { return check_cuda(cudaGetLastError(), op); }

// The table's alloc and free, for callers that have entered the device (memory.cuh).
srp_status take_memory(srp_queue* queue, size_t bytes, void** out);
srp_status give_memory(srp_queue* queue, void* pointer);

// Temporary device memory in stream order: freed after the kernels that were launched before the destructor ran.
class Scratch {
 public:
  Scratch(srp_queue* queue, size_t bytes) : queue_(queue), status_(take_memory(queue, bytes, &pointer_)) {}
  ~Scratch() {
    if (status_ == SRP_OK) give_memory(queue_, pointer_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  srp_status status() const { return status_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(pointer_);
  }

 private:
  void* pointer_ = nullptr;
  srp_queue* queue_;
  srp_status status_;
};

// Grid sizes: x reaches 2^31 - 1, more items than that are refused rather than truncated.
inline srp_status check_grid(const char* op, int64_t blocks) {
  if (blocks <= 2147483647LL) return SRP_OK;
  return fail(SRP_BAD_SHAPE, "%s: %lld blocks, at most 2147483647", op, static_cast<long long>(blocks));
}

inline unsigned blocks_for(int64_t items, int threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

}  // namespace srp::cuda
