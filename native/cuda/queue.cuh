// The queue of the CUDA backend, and what every launcher needs: entering the device, scratch memory, the launch check.
#pragma once
#include "cuda.cuh"
#include "surprisal/backend.h"
#include "surprisal/checks.h"

// Bits of the queue's sticky flag. Kernels raise them; sync() reports and clears them.
enum SrpFault : uint32_t {
  SRP_FAULT_OFFSETS = 1,  // row, group or span offsets that go down or past the end
  SRP_FAULT_INDEX = 2,    // an id, a member or a span outside its array
};

struct srp_queue {
  int device;
  cudaStream_t stream;
  uint32_t* faults;  // device memory
};

namespace srp::cuda {

inline srp_status check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return SRP_OK;
  const srp_status status = error == cudaErrorMemoryAllocation ? SRP_OUT_OF_MEMORY : SRP_DEVICE;
  return fail(status, "%s: CUDA error %d, %s", what, static_cast<int>(error), cudaGetErrorString(error));
}

// Makes the queue's device current for the calling thread: an async call arrives on a thread that never chose one.
inline srp_status enter(const srp_queue* queue) {
  if (!queue) return fail(SRP_BAD_ARGUMENT, "queue is NULL");
  return check_cuda(cudaSetDevice(queue->device), "cudaSetDevice");
}

// After the launches of an op: reports a launch that was refused. What a kernel does wrong later comes out of sync().
inline srp_status launched(const char* op) { return check_cuda(cudaGetLastError(), op); }

// Temporary device memory in stream order: freed after the kernels that were launched before the destructor ran.
class Scratch {
 public:
  Scratch(const srp_queue* queue, size_t bytes) : stream_(queue->stream) {
    status_ = check_cuda(cudaMallocAsync(&pointer_, bytes ? bytes : 1, stream_), "scratch memory");
  }
  ~Scratch() {
    if (status_ == SRP_OK) cudaFreeAsync(pointer_, stream_);
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
  cudaStream_t stream_;
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
