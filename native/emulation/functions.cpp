#include "functions.h"

#include <map>
#include <mutex>
#include <utility>

#include "errors.h"
#include "injection.h"
#include "process_wide.h"
#include "shared_memory.h"

using namespace srp::emulation;

namespace {

struct Allowed {
  std::mutex mutex;
  std::map<std::pair<int, const void*>, size_t> bytes;  // by device
};

}  // namespace

size_t srp::emulation::shared_bytes_allowed(const void* function) {
  Allowed& all = process_wide<Allowed>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.bytes.find({current_device(), function});
  return found == all.bytes.end() ? SharedMemory::kLimit : found->second;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  SRP_BEGIN("cudaFuncSetAttribute");
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<size_t>(value) > SharedMemory::kMost)
    return record(cudaErrorInvalidValue);
  Allowed& all = process_wide<Allowed>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.bytes[{current_device(), function}] = static_cast<size_t>(value);
  return cudaSuccess;
}
