#include "errors.h"

#include <cstdio>

namespace {

// Plain storage, so that a host thread's end runs no destructor in a library that may be gone by then.
__thread cudaError_t last_error = cudaSuccess;
__thread char launch_text[2048] = "";

struct Entry {
  cudaError_t code;
  const char* name;
  const char* text;
};

// Names and texts as the CUDA runtime gives them.
#define SRP_ERROR(code, text) {code, #code, text}
constexpr Entry kErrors[] = {
    SRP_ERROR(cudaSuccess, "no error"),
    SRP_ERROR(cudaErrorInvalidValue, "invalid argument"),
    SRP_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    SRP_ERROR(cudaErrorInitializationError, "initialization error"),
    SRP_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SRP_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    SRP_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    SRP_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    SRP_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SRP_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SRP_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    SRP_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SRP_ERROR(cudaErrorNotReady, "device not ready"),
    SRP_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SRP_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SRP_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    SRP_ERROR(cudaErrorNotSupported, "operation not supported"),
    SRP_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef SRP_ERROR

const Entry* find(cudaError_t code) {
  for (const Entry& entry : kErrors)
    if (entry.code == code) return &entry;
  return nullptr;
}

}  // namespace

namespace srp::emulation {

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void record_launch_failure(const std::string& text) {
  snprintf(launch_text, sizeof launch_text, "%s", text.c_str());
  last_error = cudaErrorLaunchFailure;
}

cudaError_t pending() { return last_error == cudaErrorLaunchFailure ? last_error : cudaSuccess; }

}  // namespace srp::emulation

cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const Entry* entry = find(error);
  return entry ? entry->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorLaunchFailure && launch_text[0] != '\0') return launch_text;
  const Entry* entry = find(error);
  return entry ? entry->text : "unrecognized error code";
}

extern "C" const char* srp_emulation_error() { return launch_text; }
