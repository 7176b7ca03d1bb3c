// From the runtime's error numbers to statuses, and devices that are lost.
#pragma once
#include "cuda.cuh"
#include "shared/checks.h"

namespace srp::cuda {

constexpr int kMaxDevices = 64;

// The device that enter() chose for this thread. Errors are reported for it.
inline thread_local int current_device = 0;

// Clears the runtime's error, or marks the current device as lost if the error is one that cannot be cleared.
srp_status failed_cuda(cudaError_t error, const char* what);

inline srp_status check_cuda(cudaError_t error, const char* what) {
  return error == cudaSuccess ? SRP_OK : failed_cuda(error, what);
}

// SRP_DEVICE_LOST with the text of what ended the device.
srp_status check_lost(int device);

// For a call whose failure means only "not yet" or "not here": clears the error, so that the next launch does not report it.
inline void forget_error() { cudaGetLastError(); }

// For calls that release something: their failure is dropped, since no caller could act on it.
inline void ignore_cuda(cudaError_t error) {
  if (error != cudaSuccess) forget_error();
}

}  // namespace srp::cuda
