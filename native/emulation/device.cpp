// The one device of the emulation. It says what it is, and its limits are those that the machine enforces.
#include <cstdio>
#include <cstring>

#include "errors.h"
#include "settings.h"
#include "shared_memory.h"

using namespace srp::emulation;

namespace {
constexpr int kApiVersion = 13000;  // the CUDA release whose functions these imitate
constexpr int kMajor = 7, kMinor = 5;  // the oldest compute capability that CUDA 13 compiles for
}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return record(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kApiVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kApiVersion;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() { return pending(); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return record(cudaErrorInvalidDevice);
  size_t free_bytes = 0;
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "emulated device");
  cudaMemGetInfo(&free_bytes, &properties->totalGlobalMem);
  properties->sharedMemPerBlock = properties->sharedMemPerBlockOptin = SharedMemory::kLimit;
  properties->warpSize = warpSize;
  properties->maxThreadsPerBlock = kMaxThreads;
  for (int i = 0; i < 3; ++i) {
    properties->maxThreadsDim[i] = static_cast<int>(kMaxBlock[i]);
    properties->maxGridSize[i] = static_cast<int>(kMaxGrid[i]);
  }
  properties->major = kMajor;
  properties->minor = kMinor;
  properties->multiProcessorCount = static_cast<int>(current_settings().threads);
  properties->maxThreadsPerMultiProcessor = kMaxThreads;  // one block at a time
  properties->integrated = 1;
  properties->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxBlockDimX:
      *value = p.maxThreadsDim[0];
      break;
    case cudaDevAttrMaxBlockDimY:
      *value = p.maxThreadsDim[1];
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = p.maxThreadsDim[2];
      break;
    case cudaDevAttrMaxGridDimX:
      *value = p.maxGridSize[0];
      break;
    case cudaDevAttrMaxGridDimY:
      *value = p.maxGridSize[1];
      break;
    case cudaDevAttrMaxGridDimZ:
      *value = p.maxGridSize[2];
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = p.memoryPoolsSupported;
      break;
    default:
      return record(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
