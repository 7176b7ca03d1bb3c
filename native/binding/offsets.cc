#include "offsets.h"

#include "surprisal/cpu.h"
#include "typed_array.h"

namespace srp::binding {

Napi::Value spacing_of(const Napi::CallbackInfo& info) {
  TypedArray array;
  if (!read_typed_array(info.Env(), info[0], &array) || array.dtype != SRP_I32 || array.length == 0)
    return info.Env().Undefined();
  const int64_t count = static_cast<int64_t>(array.length) - 1;
  return Napi::Number::New(info.Env(), srp_cpu_spacing(static_cast<const int32_t*>(array.data), count));
}

}  // namespace srp::binding
