// What the addon exports: opening and describing backends, and every op with the names of its fields.
#include <napi.h>

#include "call.h"
#include "session.h"

namespace srp::binding {
namespace {

Napi::Object op_object(const Napi::Env& env, const Op& op) {
  Napi::Object out = Napi::Object::New(env);
  Napi::Array fields = Napi::Array::New(env, op.fields.size());
  for (size_t i = 0; i < op.fields.size(); ++i) fields[static_cast<uint32_t>(i)] = camel_case(op.fields[i].name);
  out["fields"] = fields;
  napi_value sync = nullptr, async = nullptr;
  void* const data = const_cast<Op*>(&op);  // read only; napi takes a plain pointer
  napi_create_function(env, op.name.c_str(), NAPI_AUTO_LENGTH, call_sync, data, &sync);
  napi_create_function(env, op.name.c_str(), NAPI_AUTO_LENGTH, call_async, data, &async);
  out["call"] = sync;
  out["callAsync"] = async;
  return out;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  napi_set_instance_data(
      env, new Environment, [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); }, nullptr);
  exports["abi"] = Napi::Number::New(env, SRP_ABI_VERSION);
  exports["openCpu"] = Napi::Function::New(env, open_cpu);
  exports["openLibrary"] = Napi::Function::New(env, open_library);
  exports["describe"] = Napi::Function::New(env, describe);
  exports["lastError"] = Napi::Function::New(env, last_error);
  Napi::Object ops = Napi::Object::New(env);
  for (const Op& op : all_ops()) ops[op.name] = op_object(env, op);
  exports["ops"] = ops;
  return exports;
}

}  // namespace
}  // namespace srp::binding

static Napi::Object surprisal_init(Napi::Env env, Napi::Object exports) { return srp::binding::init(env, exports); }

NODE_API_MODULE(NODE_GYP_MODULE_NAME, surprisal_init)
