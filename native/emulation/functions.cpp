#include "functions.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "errors.h"
#include "injection.h"
#include "cluster.h"
#include "process_wide.h"
#include "settings.h"
#include "shared_memory.h"

using namespace srp::emulation;

namespace {

struct Allowed {
  std::mutex mutex;
  std::map<std::pair<int, const void*>, size_t> bytes;  // by device
};

// On one multiprocessor. A block takes a kilobyte beside its own.
size_t blocks_at_work(size_t threads, size_t shared_bytes) {
  constexpr size_t kAll = SharedMemory::kMost + 1024, kThreads = 2048, kBlocks = 32;
  return std::min({kBlocks, kThreads / std::max<size_t>(threads, 1), kAll / (shared_bytes + 1024)});
}

}  // namespace

size_t srp::emulation::shared_bytes_allowed(const void* function) {
  Allowed& all = process_wide<Allowed>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.bytes.find({current_device(), function});
  return found == all.bytes.end() ? SharedMemory::kLimit : found->second;
}

size_t srp::emulation::shared_bytes_in_all(const void* function) {
  Allowed& all = process_wide<Allowed>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.bytes.count({current_device(), function}) ? SharedMemory::kMost : SharedMemory::kLimit;
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

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  SRP_BEGIN("cudaFuncGetAttributes");
  *attributes = {current_settings().capability};
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared_bytes) {
  SRP_BEGIN("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (threads < 1 || threads > static_cast<int>(kMaxThreads)) return record(cudaErrorInvalidValue);
  const bool fits = shared_bytes <= shared_bytes_allowed(function);
  *blocks = fits ? static_cast<int>(blocks_at_work(static_cast<size_t>(threads), shared_bytes)) : 0;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  SRP_BEGIN("cudaOccupancyMaxActiveClusters");
  const unsigned blocks = config->numAttrs == 1 ? config->attrs[0].val.clusterDim.x : 1;
  if (current_settings().capability < 90) return record(cudaErrorNotSupported);
  if (blocks < 1 || blocks > kMostOfCluster) return record(cudaErrorInvalidClusterSize);
  const bool fits = config->dynamicSmemBytes <= shared_bytes_allowed(function);
  const size_t most = fits ? blocks_at_work(config->blockDim.x, config->dynamicSmemBytes) : 0;
  *clusters = static_cast<int>(most * static_cast<size_t>(current_settings().multiprocessors) / blocks);
  return cudaSuccess;
}
