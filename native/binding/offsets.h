// What JavaScript asks of offsets.
#ifndef SURPRISAL_BINDING_OFFSETS_H
#define SURPRISAL_BINDING_OFFSETS_H

#include <napi.h>

namespace srp::binding {

// (Int32Array) → srp_cpu_spacing(); of anything else, or of no offsets, undefined.
Napi::Value spacing_of(const Napi::CallbackInfo& info);

}  // namespace srp::binding

#endif
