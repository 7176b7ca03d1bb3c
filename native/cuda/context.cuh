// The calling thread's context. A call of the table leaves the one that it found.
#pragma once
#include "cuda.cuh"

namespace srp::cuda {

// Notes which context is current on this thread, and makes it current again at its end. The driver is asked for it: the runtime
// names device 0 for a thread that has none, and choosing that device would make a context there.
class CallersContext {
 public:
  CallersContext();
  ~CallersContext();
  CallersContext(const CallersContext&) = delete;
  CallersContext& operator=(const CallersContext&) = delete;

 private:
  CUcontext context_ = nullptr;  // NULL: none
  bool known_;
};

template <auto function>
struct Restoring;

template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Restoring<function> {
  static Result call(Arguments... arguments) {
    const CallersContext callers;
    return function(arguments...);
  }
};

// The function as the table offers it.
template <auto function>
constexpr auto restoring = &Restoring<function>::call;

}  // namespace srp::cuda
