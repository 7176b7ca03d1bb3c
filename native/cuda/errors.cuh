// From the runtime's error numbers to statuses, and devices that are lost.
#pragma once
#include "cuda.cuh"
#include "shared/checks.h"

namespace srp::cuda {

constexpr int kMaxDevices = 64;

// The device that enter() chose for this thread: whose error it is.
inline thread_local int current_device = 0;

// Takes the error away from the runtime, or marks the current device as lost where it cannot be taken away.
srp_status failed_cuda(cudaError_t error, const char* what);

inline srp_status check_cuda(cudaError_t error, const char* what) {
  return error == cudaSuccess ? SRP_OK : failed_cuda(error, what);
}

// SRP_DEVICE_LOST with the text of what ended the device.
srp_status check_lost(int device);

// After a call whose failure means no more than "not yet" or "not here": a later launch must not find it.
inline void forget_error() { cudaGetLastError(); }

// Of a call that gives something back: nobody is left to be told.
inline void ignore_cuda(cudaError_t error) {
  if (error != cudaSuccess) forget_error();
}

}  // namespace srp::cuda
