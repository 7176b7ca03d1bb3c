// The devices of the emulation, all alike. They describe themselves; their limits are those that the machine enforces.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "errors.h"
#include "injection.h"
#include "registry.h"
#include "settings.h"
#include "shared_memory.h"

using namespace srp::emulation;

struct CUctx_st {
  int device;
};

namespace {
constexpr int kApiVersion = 13000;  // the CUDA release whose functions these imitate

__thread int chosen = 0;
__thread CUcontext current = nullptr;

std::atomic<bool> made[kMostDevices];  // contexts

CUcontext context_of(int device) {
  static auto contexts = [] {
    std::array<CUctx_st, kMostDevices> all;
    for (int i = 0; i < kMostDevices; ++i) all[i].device = i;
    return all;
  }();
  made[device] = true;
  return &contexts[device];
}

bool exists(int device) { return device >= 0 && device < current_settings().devices; }

}  // namespace

int srp::emulation::current_device() { return current ? current->device : chosen; }

void srp::emulation::use_device() {
  if (!current) current = context_of(chosen);
}

int srp::emulation::live_contexts() {
  int live = 0;
  for (const auto& one : made) live += one;
  return live;
}

static CUresult current_context(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}

static CUresult set_current_context(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, unsigned long long, void*) {
  *found = nullptr;
  if (!strcmp(name, "cuCtxGetCurrent")) *found = reinterpret_cast<void*>(current_context);
  if (!strcmp(name, "cuCtxSetCurrent")) *found = reinterpret_cast<void*>(set_current_context);
  return cudaSuccess;
}

extern "C" int srp_emulation_context() { return current ? current->device : -1; }

extern "C" void srp_emulation_set_context(int device) { current = exists(device) ? context_of(device) : nullptr; }

cudaError_t cudaGetDeviceCount(int* count) {
  SRP_BEGIN("cudaGetDeviceCount", Needs::nothing);
  *count = current_settings().devices;
  return record(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  SRP_BEGIN("cudaSetDevice", Needs::nothing);
  if (!exists(device)) return record(cudaErrorInvalidDevice);
  chosen = device;
  current = context_of(device);
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  SRP_BEGIN("cudaGetDevice", Needs::nothing);
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  SRP_BEGIN("cudaRuntimeGetVersion", Needs::nothing);
  *version = kApiVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  SRP_BEGIN("cudaDriverGetVersion", Needs::nothing);
  *version = kApiVersion;
  return cudaSuccess;
}

// Kernels of a device can use only its own memory; copies between two devices work.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  SRP_BEGIN("cudaDeviceCanAccessPeer", Needs::nothing);
  if (!exists(device) || !exists(peer)) return record(cudaErrorInvalidDevice);
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  SRP_BEGIN("cudaDeviceEnablePeerAccess");
  return record(exists(peer) ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  SRP_BEGIN("cudaGetDeviceProperties", Needs::nothing);
  if (!exists(device)) return record(cudaErrorInvalidDevice);
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "emulated device");
  properties->totalGlobalMem = memory_of(device);
  properties->sharedMemPerBlock = SharedMemory::kLimit;
  properties->sharedMemPerBlockOptin = SharedMemory::kMost;
  properties->warpSize = warpSize;
  properties->maxThreadsPerBlock = kMaxThreads;
  for (int i = 0; i < 3; ++i) {
    properties->maxThreadsDim[i] = static_cast<int>(kMaxBlock[i]);
    properties->maxGridSize[i] = static_cast<int>(kMaxGrid[i]);
  }
  properties->major = current_settings().capability / 10;
  properties->minor = current_settings().capability % 10;
  properties->multiProcessorCount = current_settings().multiprocessors;
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
