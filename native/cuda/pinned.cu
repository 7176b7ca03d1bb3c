#include "pinned.cuh"

#include <new>

namespace srp::cuda {
namespace {

constexpr int kSmallestClass = 16;  // 64 KiB
constexpr int kLargestClass = 22;   // 4 MiB; all larger sizes share one class
constexpr size_t kLarge = size_t{1} << kLargestClass;

int class_of(size_t bytes) {
  int exponent = kSmallestClass;
  while (exponent <= kLargestClass && size_t{1} << exponent < bytes) ++exponent;
  return exponent;
}

// A power of two, or a multiple of the largest one.
size_t rounded(size_t bytes) {
  return bytes > kLarge ? (bytes + kLarge - 1) / kLarge * kLarge : size_t{1} << class_of(bytes);
}

}  // namespace

// Takes the oldest of its size, if its copies are done or if `any` is true. NULL = there is none.
Pinned* PinnedMemory::pop(size_t size, bool any) {
  Pinned** link = &kept_[class_of(size)];
  while (*link && (*link)->bytes != size) link = &(*link)->next;
  Pinned* const memory = *link;
  if (!memory) return nullptr;
  if (!any && cudaEventQuery(memory->event) != cudaSuccess) {
    forget_error();
    return nullptr;
  }
  *link = memory->next;
  return memory;
}

srp_status PinnedMemory::make(size_t bytes, Pinned** out) {
  *out = nullptr;
  const size_t size = rounded(bytes);
  Pinned* const memory = new (std::nothrow) Pinned{};
  void* pointer = nullptr;
  if (!memory || cudaHostAlloc(&pointer, size, cudaHostAllocPortable) != cudaSuccess ||
      cudaEventCreateWithFlags(&memory->event, cudaEventDisableTiming | cudaEventBlockingSync) != cudaSuccess) {
    forget_error();
    if (pointer) ignore_cuda(cudaFreeHost(pointer));
    delete memory;
    return fail(SRP_OUT_OF_MEMORY, "no page-locked memory: %zu bytes", size);
  }
  memory->pointer = static_cast<unsigned char*>(pointer);
  memory->bytes = size;
  const std::lock_guard<std::mutex> lock(mutex_);
  total_ += size;
  *out = memory;
  return SRP_OK;
}

srp_status PinnedMemory::borrow(size_t bytes, Pinned** out) {
  const size_t size = rounded(bytes);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool enough = total_ + size > kEnough;
    *out = pop(size, enough);
  }
  if (!*out) {
    if (make(bytes, out) == SRP_OK) return SRP_OK;
    const std::lock_guard<std::mutex> lock(mutex_);
    *out = pop(size, true);
  }
  if (!*out) return SRP_OK;
  const srp_status status = check_cuda(cudaEventSynchronize((*out)->event), "staging");
  if (status != SRP_OK) {
    destroy(*out);
    *out = nullptr;
  }
  return status;
}

srp_status PinnedMemory::give_back(Pinned* memory, cudaStream_t stream) {
  const srp_status status = stream ? check_cuda(cudaEventRecord(memory->event, stream), "staging") : SRP_OK;
  if (status != SRP_OK)
    ignore_cuda(cudaStreamSynchronize(stream));  // without its event no later user could wait for the copy
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stream || total_ <= kEnough) {
      Pinned** link = &kept_[class_of(memory->bytes)];
      while (*link) link = &(*link)->next;
      memory->next = nullptr;
      *link = memory;
      return status;
    }
  }
  destroy(memory);
  return status;
}

void PinnedMemory::destroy(Pinned* memory) {
  ignore_cuda(cudaFreeHost(memory->pointer));
  ignore_cuda(cudaEventDestroy(memory->event));
  const std::lock_guard<std::mutex> lock(mutex_);
  total_ -= memory->bytes;
  delete memory;
}

void PinnedMemory::trim() {
  Pinned* unused = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Pinned*& list : kept_)
      while (Pinned* const memory = list) {
        list = memory->next;
        memory->next = unused;
        unused = memory;
      }
  }
  while (Pinned* const memory = unused) {
    unused = memory->next;
    ignore_cuda(cudaEventSynchronize(memory->event));
    destroy(memory);
  }
}

}  // namespace srp::cuda
