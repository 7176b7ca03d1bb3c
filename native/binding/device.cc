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

std::shared_ptr<Queue> Arguments::queue(size_t i) {
  const int64_t number = info_[i].IsNumber() ? info_[i].As<Napi::Number>().Int64Value() : -1;
  Session* const session = find_session(environment_, number);
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

Event* Arguments::event(size_t i) {
  Event* const event = unwrap<Event>(env(), info_[i]);
  if (!event) refuse(SRP_BAD_ARGUMENT, "not an event");
  return event;
}

Graph* Arguments::graph(size_t i) {
  Graph* const graph = unwrap<Graph>(env(), info_[i]);
  if (!graph) refuse(SRP_BAD_ARGUMENT, "not a graph");
  return graph;
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
  static constexpr struct {
    const char* name;
    Napi::Value (*function)(const Napi::CallbackInfo&);
  } kFunctions[] = {
      {"deviceAlloc", device_alloc},
      {"deviceView", device_view},
      {"deviceRelease", device_release},
      {"deviceWrite", device_write},
      {"deviceRead", device_read},
      {"deviceReadAsync", device_read_async},
      {"deviceCopy", device_copy},
      {"openStream", open_stream},
      {"closeStream", close_stream},
      {"streamSync", stream_sync},
      {"streamSyncAsync", stream_sync_async},
      {"streamDone", stream_done},
      {"eventRecord", event_record},
      {"eventWait", event_wait},
      {"eventSync", event_sync},
      {"eventDone", event_done},
      {"eventElapsed", event_elapsed},
      {"captureBegin", capture_begin},
      {"captureEnd", capture_end},
      {"graphLaunch", graph_launch},
      {"graphRelease", graph_release},
      {"memoryStats", memory_stats},
      {"memoryLimit", memory_limit},
      {"memoryTrim", memory_trim},
      {"ipcExport", ipc_export},
      {"ipcOpen", ipc_open},
      {"fromPointer", from_pointer},
      {"pointerOf", pointer_of},
  };
  for (const auto& [name, function] : kFunctions) exports[name] = Napi::Function::New(env, function, name);
}

}  // namespace srp::binding
