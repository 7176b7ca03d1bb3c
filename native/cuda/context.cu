#include "context.cuh"

#include "errors.cuh"

namespace srp::cuda {
namespace {

// The driver comes with the machine, so its functions are asked for by name. They are NULL where there is no driver.
struct Driver {
  CUresult (*get_current)(CUcontext*);
  CUresult (*set_current)(CUcontext);
};

void* driver_function(const char* name) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  ignore_cuda(cudaGetDriverEntryPointByVersion(name, &found, 4000, cudaEnableDefault, nullptr));
#else
  ignore_cuda(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, nullptr));
#endif
  return found;
}

const Driver& driver() {
  static const Driver found = {reinterpret_cast<CUresult (*)(CUcontext*)>(driver_function("cuCtxGetCurrent")),
                               reinterpret_cast<CUresult (*)(CUcontext)>(driver_function("cuCtxSetCurrent"))};
  return found;
}

}  // namespace

CallersContext::CallersContext() {
  const Driver& d = driver();
  known_ = d.get_current && d.set_current && d.get_current(&context_) == CUDA_SUCCESS;
}

CallersContext::~CallersContext() {
  if (known_) driver().set_current(context_);
}

}  // namespace srp::cuda
