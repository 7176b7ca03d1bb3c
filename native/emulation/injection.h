// Failures on order: SURPRISAL_EMULATION_FAIL and srp_emulation_fail() (runtime.h).
//
// The variable is read again at each call if it was there at the first one, so that a program in Node can order a failure
// by process.env in the middle of its run; "off" orders none.
#pragma once
#include "errors.h"

namespace srp::emulation {

// Which state a runtime function needs: that of its device, which may be lost, or none.
enum class Needs { device, nothing };

// Begins a runtime function: counts the call, and returns the error that it must fail with, or cudaSuccess.
cudaError_t begin_call(const char* function, Needs needs = Needs::device);

// For functions that release something. They do so even if they return an error, as CUDA's do.
class Release {
 public:
  explicit Release(const char* function) : refused_(begin_call(function)) {}
  cudaError_t end(cudaError_t result) const { return record(refused_ != cudaSuccess ? refused_ : result); }
  bool refused() const { return refused_ != cudaSuccess; }

 private:
  cudaError_t refused_;
};

}  // namespace srp::emulation

// The first statement of a runtime function that does nothing where it fails.
#define SRP_BEGIN(...)                                                                                 \
  if (const cudaError_t refused_ = ::srp::emulation::begin_call(__VA_ARGS__); refused_ != cudaSuccess) \
  return ::srp::emulation::record(refused_)
