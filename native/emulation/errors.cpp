#include "errors.h"

#include <cstdio>
#include <mutex>

#include "process_wide.h"
#include "settings.h"

namespace {

// Plain storage, so that a host thread's end runs no destructor in a library that may be gone by then.
__thread cudaError_t last_error = cudaSuccess;
__thread char fault_text[2048] = "";
__thread cudaError_t fault_of_text = cudaSuccess;

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
    SRP_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    SRP_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SRP_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    SRP_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    SRP_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    SRP_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SRP_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SRP_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    SRP_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SRP_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    SRP_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    SRP_ERROR(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution"),
    SRP_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    SRP_ERROR(cudaErrorNotReady, "device not ready"),
    SRP_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SRP_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SRP_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    SRP_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    SRP_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    SRP_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    SRP_ERROR(cudaErrorAssert, "device-side assert triggered"),
    SRP_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    SRP_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    SRP_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    SRP_ERROR(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    SRP_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    SRP_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    SRP_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    SRP_ERROR(cudaErrorNotSupported, "operation not supported"),
    SRP_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    SRP_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    SRP_ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    SRP_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    SRP_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    SRP_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    SRP_ERROR(cudaErrorStreamCaptureImplicit,
              "operation would make the legacy stream depend on a capturing blocking stream"),
    SRP_ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    SRP_ERROR(cudaErrorStreamCaptureWrongThread,
              "attempt to terminate a thread-local capture sequence from another thread"),
    SRP_ERROR(cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration"),
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

namespace {

struct Devices {
  std::mutex mutex;
  Fault lost[kMostDevices];
};

}  // namespace

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t record(const Fault& fault) {
  if (!fault) return cudaSuccess;
  snprintf(fault_text, sizeof fault_text, "%s", fault.text.c_str());
  fault_of_text = fault.text.empty() ? cudaSuccess : fault.code;
  return record(fault.code);
}

cudaError_t pending() { return stays(last_error) ? last_error : cudaSuccess; }

bool stays(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalAddress:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void lose_device(int device, const Fault& fault) {
  if (!stays(fault.code) || !current_settings().sticky) return;
  auto& d = process_wide<Devices>();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (!d.lost[device]) d.lost[device] = fault;
}

Fault lost(int device) {
  auto& d = process_wide<Devices>();
  std::lock_guard<std::mutex> lock(d.mutex);
  return d.lost[device];
}

void heal_devices() {
  auto& d = process_wide<Devices>();
  std::lock_guard<std::mutex> lock(d.mutex);
  for (Fault& fault : d.lost) fault = {};
}

cudaError_t error_called(const std::string& text) {
  for (const Entry& entry : kErrors)
    if (text == entry.name || text == std::to_string(static_cast<int>(entry.code))) return entry.code;
  return cudaSuccess;
}

}  // namespace srp::emulation

using namespace srp::emulation;

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
  if (error != cudaSuccess && error == fault_of_text) return fault_text;
  const Entry* entry = find(error);
  return entry ? entry->text : "unrecognized error code";
}

extern "C" const char* srp_emulation_error() { return fault_text; }
