// How a call off the event loop ends in JavaScript.
#ifndef SURPRISAL_BINDING_OUTCOME_H
#define SURPRISAL_BINDING_OUTCOME_H

#include <node_api.h>

#include <string>

#include "surprisal/status.h"

namespace srp::binding {

// null, or {status, error}: TypeScript makes the error.
inline napi_value outcome(napi_env env, srp_status status, const std::string& error) {
  napi_value result = nullptr, number = nullptr, text = nullptr;
  if (status == SRP_OK) {
    napi_get_null(env, &result);
    return result;
  }
  napi_create_object(env, &result);
  napi_create_int32(env, status, &number);
  napi_create_string_utf8(env, error.c_str(), NAPI_AUTO_LENGTH, &text);
  napi_set_named_property(env, result, "status", number);
  napi_set_named_property(env, result, "error", text);
  return result;
}

}  // namespace srp::binding

#endif
