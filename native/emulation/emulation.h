// CUDA C++ for a host compiler: what a kernel file sees when it is compiled by g++ for the emulated backend.
// Included through native/cuda/cuda.cuh. docs/notes/emulation.md says what is covered and what is not.
#pragma once
#include "atomics.h"
#include "cluster_calls.h"
#include "device_math.h"
#include "machine.h"
#include "tensor.h"
#include "vector_types.h"
#include "warp.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// A reference to an array, so that sizeof and array bounds mean what they mean under nvcc.
#define SRP_SHARED(T, name, N)                                                                  \
  static const ::srp::emulation::SharedArray srp_shared_##name = {#name, {__FILE__, __LINE__}}; \
  T(&name)[N] = *static_cast<T(*)[N]>(::srp::emulation::shared_array(srp_shared_##name, sizeof(T) * (N), alignof(T)))

#define SRP_DYN_SHARED(T, name) T* const name = static_cast<T*>(::srp::emulation::dynamic_shared())

#define SRP_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  SRP_LAUNCH_CLUSTERS(kernel, grid, block, 1, shared_bytes, stream, ##__VA_ARGS__)
#define SRP_LAUNCH_CLUSTERS(kernel, grid, block, cluster, shared_bytes, stream, ...)                 \
  do {                                                                                               \
    if (cudaPeekAtLastError() == cudaSuccess)                                                        \
      ::srp::emulation::launch_kernel(#kernel, (kernel), (grid), (block), (cluster), (shared_bytes), \
                                      (stream), ##__VA_ARGS__);                                      \
  } while (0)

#define SRP_UNROLL
#define SRP_KEEP_ROLLED
