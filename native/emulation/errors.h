// State that runtime functions leave behind: the last error of each host thread, and the devices that are lost.
#pragma once
#include <string>

#include "runtime.h"

namespace srp::emulation {

// What went wrong in a stream. The text is the machine's if it is more precise than CUDA's.
struct Fault {
  cudaError_t code = cudaSuccess;
  std::string text;
  explicit operator bool() const { return code != cudaSuccess; }
};

// Keeps a failure for cudaGetLastError() and passes it on; success changes nothing.
cudaError_t record(cudaError_t error);
cudaError_t record(const Fault& fault);
// The launch failure that no call has returned yet, for calls that wait for earlier work.
cudaError_t pending();

// Errors after which every call on a device fails until the process ends.
bool stays(cudaError_t error);
// If settings make faults sticky: from now on every call on this device returns this one.
void lose_device(int device, const Fault& fault);
Fault lost(int device);
void heal_devices();

int current_device();
// Makes the context of the current device, and makes it current, where this thread has none: what any use of a device does.
void use_device();
int live_contexts();

// An error by its number or its name; cudaSuccess if it is unknown.
cudaError_t error_called(const std::string& text);

// Limits of the emulated device.
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxBlock[3] = {1024, 1024, 64};
constexpr unsigned kMaxGrid[3] = {2147483647, 65535, 65535};

}  // namespace srp::emulation
