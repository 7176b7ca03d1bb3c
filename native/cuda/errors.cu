#include "errors.cuh"

#include <atomic>
#include <mutex>

namespace srp::cuda {
namespace {

struct Lost {
  std::atomic<bool> lost{false};
  char text[sizeof failure_text] = "";  // written before `lost`, and never again
};

Lost& lost(int device) {
  static Lost devices[kMaxDevices];  // has nothing to destroy
  return devices[device >= 0 && device < kMaxDevices ? device : 0];
}

// After one of these errors the runtime returns nothing else until the process ends.
bool is_fatal(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void lose(int device, const char* text) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  Lost& entry = lost(device);
  if (entry.lost) return;  // keep the first failure
  snprintf(entry.text, sizeof entry.text, "%s", text);
  entry.lost.store(true, std::memory_order_release);
}

srp_status status_of(cudaError_t error) {
  if (is_fatal(error)) return SRP_DEVICE_LOST;
  if (error == cudaErrorMemoryAllocation) return SRP_OUT_OF_MEMORY;
  return error == cudaErrorNotSupported ? SRP_UNSUPPORTED : SRP_DEVICE;
}

}  // namespace

srp_status failed_cuda(cudaError_t error, const char* what) {
  const srp_status status =
      fail(status_of(error), "%s: CUDA error %d, %s", what, static_cast<int>(error), cudaGetErrorString(error));
  if (status != SRP_DEVICE_LOST)
    forget_error();
  else
    lose(current_device, failure_text);
  return status;
}

srp_status check_lost(int device) {
  const Lost& entry = lost(device);
  if (!entry.lost.load(std::memory_order_acquire)) return SRP_OK;
  return fail(SRP_DEVICE_LOST, "device %d is lost until this process ends: %s", device, entry.text);
}

}  // namespace srp::cuda
