// The one header that knows which compiler reads a kernel file: CUDA under nvcc, the emulation under a host compiler.
// Everything else in a .cu file is plain CUDA C++; only these spellings differ and are macros on both sides:
//
//   SRP_LAUNCH(kernel, grid, block, shared_bytes, stream, args...);   a template-id with commas goes in parentheses
//   SRP_LAUNCH_CLUSTERS(kernel, grid, block, cluster, ...);           the same in clusters of that many blocks; 1: in none
//   SRP_SHARED(T, name, N);                                           __shared__ T name[N]
//   SRP_DYN_SHARED(T, name);                                          T* name, the launch's shared_bytes, 16-byte aligned
//   SRP_UNROLL                                                        before a loop: #pragma unroll
//   SRP_KEEP_ROLLED                                                   before a loop: #pragma unroll 1
#pragma once

#if defined(__CUDACC__)
#include <cuda.h>
#include <cuda_runtime.h>

#define SRP_SHARED(T, name, N) __shared__ T name[N]
#define SRP_DYN_SHARED(T, name)                                       \
  extern __shared__ __align__(16) unsigned char srp_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(srp_dynamic_shared)
// After a refused launch nothing is launched until launched() has reported it: the next kernel would read memory that was never
// written, and could use it as addresses.
#define SRP_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                                \
  do {                                                                                                            \
    if (cudaPeekAtLastError() == cudaSuccess) kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__); \
  } while (0)
#define SRP_LAUNCH_CLUSTERS(kernel, grid, block, cluster, shared_bytes, stream, ...)                                \
  do {                                                                                                              \
    if (cudaPeekAtLastError() != cudaSuccess) break;                                                                \
    cudaLaunchAttribute srp_cluster = {};                                                                           \
    srp_cluster.id = cudaLaunchAttributeClusterDimension;                                                           \
    srp_cluster.val.clusterDim = {(cluster), 1, 1};                                                                 \
    const cudaLaunchConfig_t srp_launch = {(grid), (block), (shared_bytes), (stream), &srp_cluster, (cluster) > 1}; \
    cudaLaunchKernelEx(&srp_launch, (kernel), __VA_ARGS__);                                                         \
  } while (0)
#define SRP_UNROLL _Pragma("unroll")
#define SRP_KEEP_ROLLED _Pragma("unroll 1")

#elif defined(SRP_EMULATED)
#include "../emulation/emulation.h"
#include "../emulation/runtime.h"

#else
#error "compile kernel files with nvcc, or with a host compiler and -DSRP_EMULATED=1"
#endif
