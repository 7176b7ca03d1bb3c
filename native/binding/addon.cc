// What the addon exports: opening and describing backends, what device.h lists, and every op.
#include <napi.h>

#include "call.h"
#include "device.h"
#include "host_memory.h"
#include "mpi.h"
#include "offsets.h"
#include "session.h"

namespace srp::binding {
namespace {

Napi::Object op_object(const Napi::Env& env, const Op& op) {
  Napi::Object out = Napi::Object::New(env);
  napi_value sync = nullptr, async = nullptr;
  void* const data = const_cast<Op*>(&op);  // read only; napi takes a plain pointer
  napi_create_function(env, op.name, NAPI_AUTO_LENGTH, call_sync, data, &sync);
  napi_create_function(env, op.name, NAPI_AUTO_LENGTH, call_async, data, &async);
  out["call"] = sync;
  out["callAsync"] = async;
  return out;
}

// Numbers of a call travel through one array of the environment's: a store each, where an argument costs a call.
Napi::Float64Array number_array(const Napi::Env& env, Environment& environment) {
  Napi::Float64Array numbers = Napi::Float64Array::New(env, kMaxFields + 1);
  napi_ref kept = nullptr;  // never released: the memory lives as long as the environment
  napi_create_reference(env, numbers, 1, &kept);
  environment.numbers = numbers.Data();
  return numbers;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  auto* const environment = new Environment;
  napi_set_instance_data(
      env, environment, [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); }, nullptr);
  exports["numbers"] = number_array(env, *environment);
  exports["contracts"] = Napi::String::New(env, contracts);
  exports["openCpu"] = Napi::Function::New(env, open_cpu);
  exports["openLibrary"] = Napi::Function::New(env, open_library);
  exports["describe"] = Napi::Function::New(env, describe);
  exports["useThreads"] = Napi::Function::New(env, use_threads);
  exports["useHugePages"] = Napi::Function::New(env, use_huge_pages);
  exports["spacingOf"] = Napi::Function::New(env, spacing_of);
  exports["lastError"] = Napi::Function::New(env, last_error);
  export_device(env, exports);
  export_mpi(env, exports);
  Napi::Object ops = Napi::Object::New(env);
  for (const Op& op : all_ops()) ops[op.name] = op_object(env, op);
  exports["ops"] = ops;
  return exports;
}

}  // namespace
}  // namespace srp::binding

static Napi::Object surprisal_init(Napi::Env env, Napi::Object exports) { return srp::binding::init(env, exports); }

NODE_API_MODULE(NODE_GYP_MODULE_NAME, surprisal_init)
