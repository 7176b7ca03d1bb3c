// Memory of large arrays on the host.
#ifndef SURPRISAL_BINDING_HOST_MEMORY_H
#define SURPRISAL_BINDING_HOST_MEMORY_H

#include <napi.h>

namespace srp::binding {

// (array) → bytes of it that lie in huge pages now. The array is new: all zeros, and nobody has it yet.
Napi::Value use_huge_pages(const Napi::CallbackInfo& info);

}  // namespace srp::binding

#endif
