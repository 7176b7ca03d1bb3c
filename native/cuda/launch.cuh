// What a launcher asks of the device for a kernel with more shared memory than every card has, or in clusters.
#pragma once
#include "queue.cuh"

namespace srp::cuda {

// Lets blocks of a kernel have more than 48 KiB of dynamic shared memory. The same bytes at every launch of it: another thread may launch
// it with more at the same time.
template <class Kernel>
srp_status allow_shared(Kernel* kernel, size_t bytes) {
  return check_cuda(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                    "cudaFuncSetAttribute");
}

// How many clusters of `blocks` blocks with so many threads and bytes of dynamic shared memory are under way at a time; 0 where the
// device has no room for one, or no clusters, or the library no code for them. A block alone is a cluster of one.
template <class Kernel>
srp_status clusters_at_work(const srp_queue* queue, Kernel* kernel, int threads, unsigned blocks, size_t bytes,
                            int64_t* out) {
  const void* const function = reinterpret_cast<const void*>(kernel);
  int found = 0;
  *out = 0;
  if (blocks == 1) {
    SRP_TRY(check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, function, threads, bytes),
                       "cudaOccupancyMaxActiveBlocksPerMultiprocessor"));
    *out = int64_t{found} * queue->multiprocessors;
    return SRP_OK;
  }
  cudaFuncAttributes of = {};
  SRP_TRY(check_cuda(cudaFuncGetAttributes(&of, function), "cudaFuncGetAttributes"));
  if (of.ptxVersion < 90) return SRP_OK;
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  SRP_TRY(check_cuda(cudaOccupancyMaxActiveClusters(&found, function, &config), "cudaOccupancyMaxActiveClusters"));
  *out = found;
  return SRP_OK;
}

}  // namespace srp::cuda
