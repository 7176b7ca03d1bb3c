// Device memory: the host's heap with a registry. Under ASan each allocation has the heap's own red zones.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "errors.h"
#include "process_wide.h"

using namespace srp::emulation;

namespace {

constexpr size_t kAlignment = 256;  // of cudaMalloc
constexpr int kFresh = 0xff;        // all bits set: NaN, or -1
constexpr uintptr_t kNowhere = 0;

struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, size_t> device, pinned;  // begin -> bytes
  size_t used = 0;                             // bytes of `device`
};

size_t total_bytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

uintptr_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

enum class Where { host, device, past_the_end };

Where where(const void* pointer, size_t bytes) {
  auto& r = process_wide<Registry>();
  std::lock_guard<std::mutex> lock(r.mutex);
  auto next = r.device.upper_bound(address(pointer));
  if (next == r.device.begin()) return Where::host;
  const auto& [begin, size] = *--next;
  const size_t offset = address(pointer) - begin;
  if (offset >= size) return Where::host;
  return bytes <= size - offset ? Where::device : Where::past_the_end;
}

bool goes(Where is, bool device) { return is == (device ? Where::device : Where::host); }

// Whether both ends of a copy lie where its kind says.
bool legal(Where to, Where from, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return goes(to, false) && goes(from, false);
    case cudaMemcpyHostToDevice:
      return goes(to, true) && goes(from, false);
    case cudaMemcpyDeviceToHost:
      return goes(to, false) && goes(from, true);
    case cudaMemcpyDeviceToDevice:
      return goes(to, true) && goes(from, true);
    case cudaMemcpyDefault:
      return to != Where::past_the_end && from != Where::past_the_end;
  }
  return false;
}

void* take(size_t bytes, std::map<uintptr_t, size_t> Registry::* where, bool device) {
  auto& r = process_wide<Registry>();
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    if (bytes > total_bytes() - r.used) return nullptr;
    if (device) r.used += bytes;
  }
  void* pointer = nullptr;
  const bool got = posix_memalign(&pointer, kAlignment, bytes) == 0;
  if (got) memset(pointer, kFresh, bytes);
  std::lock_guard<std::mutex> lock(r.mutex);
  if (got)
    (r.*where)[address(pointer)] = bytes;
  else if (device)
    r.used -= bytes;
  return got ? pointer : nullptr;
}

bool give_back(void* pointer, std::map<uintptr_t, size_t> Registry::* where, bool device) {
  auto& r = process_wide<Registry>();
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    const auto found = (r.*where).find(address(pointer));
    if (found == (r.*where).end()) return false;
    if (device) r.used -= found->second;
    (r.*where).erase(found);
  }
  free(pointer);
  return true;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (!pointer) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = take(bytes, &Registry::device, true);
  return record(*pointer ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  if (!is_stream(stream)) return record(cudaErrorInvalidResourceHandle);
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  return record(give_back(pointer, &Registry::device, true) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (!is_stream(stream)) return record(cudaErrorInvalidResourceHandle);
  return cudaFree(pointer);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  if (!pointer) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = take(bytes, &Registry::pinned, false);
  return record(*pointer ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (!pointer) return cudaSuccess;
  return record(give_back(pointer, &Registry::pinned, false) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = pending()) return error;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return record(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  if (address(to) == kNowhere || address(from) == kNowhere) return record(cudaErrorInvalidValue);
  if (!legal(where(to, bytes), where(from, bytes), kind)) return record(cudaErrorInvalidValue);
  memmove(to, from, bytes);  // copies within one allocation may overlap; the runtime leaves the result open
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_stream(stream)) return record(cudaErrorInvalidResourceHandle);
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  if (const cudaError_t error = pending()) return error;
  if (bytes == 0) return cudaSuccess;
  if (where(pointer, bytes) != Where::device) return record(cudaErrorInvalidValue);
  memset(pointer, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (!is_stream(stream)) return record(cudaErrorInvalidResourceHandle);
  return cudaMemset(pointer, value, bytes);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  auto& r = process_wide<Registry>();
  std::lock_guard<std::mutex> lock(r.mutex);
  *total = total_bytes();
  *free = *total - r.used;
  return cudaSuccess;
}
