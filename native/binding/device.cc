// Arguments of the functions of device.h, and their names in JavaScript.
#include "device.h"

#include <math.h>

#include "typed_array.h"

namespace srp::binding {

void Arguments::refuse(srp_status status, const std::string& error) {
  if (status_ != SRP_OK) return;  // the first reason is the one to tell
  status_ = status;
  environment_.error = error;
}

void Arguments::check(srp_status status, const Queue& queue) {
  if (status != SRP_OK) refuse(status, queue.backend().last_error());
}

Napi::Value Arguments::status() { return Napi::Number::New(env(), status_); }

std::shared_ptr<Queue> Arguments::open_queue(size_t i) {
  Session* const session = find_session(env(), info_[i]);
  if (!session) {
    status_ = SRP_BAD_ARGUMENT;  // find_session left the text
    return nullptr;
  }
  if (session->host_memory) {
    refuse(SRP_UNSUPPORTED, std::string("the ") + session->backend->name + " backend has no memory of its own");
    return nullptr;
  }
  const srp_status ready = ensure_queue(*session);
  if (ready != SRP_OK) {
    refuse(ready, session->backend->last_error());
    return nullptr;
  }
  if (!session->queue->functions()) {
    refuse(SRP_UNSUPPORTED,
           std::string("the ") + session->backend->name + " library is older than arrays on the device");
    return nullptr;
  }
  return session->queue;
}

Handle* Arguments::array(size_t i, const std::shared_ptr<Queue>& queue) {
  Handle* const handle = unwrap<Handle>(env(), info_[i]);
  if (!handle || !handle->owner) {
    refuse(SRP_BAD_ARGUMENT, handle ? "the array on the device was released" : "not an array on a device");
    return nullptr;
  }
  if (!queue) return handle;
  if (!queue->same_device(handle->owner->queue())) {
    refuse(SRP_BAD_ARGUMENT, "the array lies on another device");
    return nullptr;
  }
  std::string error;
  const srp_status status = Owner::use(handle->owner, queue, &error);
  if (status == SRP_OK) return handle;
  refuse(status, "the array " + error);
  return nullptr;
}

int64_t Arguments::integer(size_t i) {
  const double number = info_[i].IsNumber() ? info_[i].As<Napi::Number>().DoubleValue() : -1;
  if (number >= 0 && number <= 9007199254740991.0 && number == trunc(number)) return static_cast<int64_t>(number);
  refuse(SRP_BAD_ARGUMENT, "a number of bytes is " + std::to_string(number) + ", expected an integer, 0 or more");
  return -1;
}

int64_t Arguments::bytes(size_t i, size_t dtype_at, int32_t* dtype) {
  const int64_t count = integer(i);
  *dtype = info_[dtype_at].IsNumber() ? info_[dtype_at].As<Napi::Number>().Int32Value() : 0;
  const int64_t size = srp_dtype_size(*dtype);
  if (size == 0)
    refuse(SRP_BAD_DTYPE, "no dtype has the number " + std::to_string(*dtype));
  else if (count >= 0 && count % size != 0)
    refuse(SRP_BAD_SHAPE, std::to_string(count) + " bytes are not a whole number of elements");
  return good() ? count : -1;
}

void* Arguments::host(size_t i, const Handle& like) {
  static unsigned char nothing[16];
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env(), info_[i], &type, &length, &data, nullptr, nullptr) != napi_ok ||
      !same_storage(dtype_of(type), like.dtype)) {
    refuse(SRP_BAD_DTYPE, "the array in host memory has another element type than the one on the device");
    return nullptr;
  }
  const size_t bytes = length * static_cast<size_t>(srp_dtype_size(like.dtype));
  if (bytes == like.bytes) return data ? data : nothing;
  refuse(SRP_BAD_SHAPE, "the array in host memory has " + std::to_string(bytes) + " bytes, the one on the device " +
                            std::to_string(like.bytes));
  return nullptr;
}

napi_value new_array(napi_env env, std::shared_ptr<Owner> owner, unsigned char* pointer, int64_t bytes, int32_t dtype) {
  return wrap(env, std::unique_ptr<Handle>(new Handle{std::move(owner), pointer, static_cast<size_t>(bytes), dtype}));
}

void export_device(Napi::Env env, Napi::Object exports) {
#define SRP_FUNCTION(name, function) exports[#name] = Napi::Function::New(env, function, #name);
#include "device_functions.inc"
#undef SRP_FUNCTION
}

}  // namespace srp::binding
