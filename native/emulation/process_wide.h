// One object of a type for the whole process, made at first use and never destroyed: a host thread may still launch, and
// a finalizer still free device memory, while the process ends.
#pragma once
#include "sanitizer.h"

namespace srp::emulation {

template <class T>
T& process_wide() {
  static T* const instance = [] {
    T* made = new T;
    release(made);
    return made;
  }();
  acquire(instance);  // the compiler's own guard orders this already, but here where TSan does not look
  return *instance;
}

}  // namespace srp::emulation
