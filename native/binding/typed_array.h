// Typed arrays of JavaScript and the dtypes that they can hold.
#ifndef SURPRISAL_BINDING_TYPED_ARRAY_H
#define SURPRISAL_BINDING_TYPED_ARRAY_H

#include <node_api.h>

#include "surprisal/dtype.h"

namespace srp::binding {

// 0 = no dtype has such elements.
inline int32_t dtype_of(napi_typedarray_type type) {
  switch (type) {
    case napi_float32_array:
      return SRP_F32;
    case napi_float64_array:
      return SRP_F64;
    case napi_int32_array:
      return SRP_I32;
    case napi_uint8_array:
    case napi_uint8_clamped_array:
      return SRP_U8;
    case napi_uint16_array:
      return SRP_F16;  // bits of either half type
    case napi_bigint64_array:
      return SRP_I64;
    default:
      return 0;
  }
}

inline bool same_storage(int32_t given, int32_t wanted) {
  return given == wanted || (given == SRP_F16 && wanted == SRP_BF16);
}

}  // namespace srp::binding

#endif
