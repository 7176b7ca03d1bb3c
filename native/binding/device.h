// What the addon exports for the memory, streams and graphs of a device. Each function answers what it stands for, or a status
// whose text lastError() has; `session` is the number of a session of a backend with memory of its own.
#ifndef SURPRISAL_BINDING_DEVICE_H
#define SURPRISAL_BINDING_DEVICE_H

#include <napi.h>

#include <memory>
#include <string>

#include "handle.h"
#include "session.h"

namespace srp::binding {

// The arguments of one call, read one after the other. The first thing that is wrong is kept as status() and error().
class Arguments {
 public:
  explicit Arguments(const Napi::CallbackInfo& info) : info_(info), environment_(environment(info.Env())) {}

  // Of a session number: its queue, open, of a backend with memory of its own. NULL if not.
  std::shared_ptr<Queue> queue(size_t i);
  // An array that is not released, and `use`d on the queue unless that is NULL.
  Handle* array(size_t i, const std::shared_ptr<Queue>& queue);
  Event* event(size_t i);
  Graph* graph(size_t i);
  // A whole number of bytes of a dtype: its elements must fit. -1 if not.
  int64_t bytes(size_t i, size_t dtype_at, int32_t* dtype);
  int64_t integer(size_t i);
  // Host memory of a typed array with the dtype and size of an array on the device. NULL if not.
  void* host(size_t i, const Handle& like);

  bool good() const { return status_ == SRP_OK; }
  void refuse(srp_status status, const std::string& error);
  // A call of the backend went wrong.
  void check(srp_status status, const Queue& queue);

  // The status as JavaScript gets it, its text left for lastError().
  Napi::Value status();
  Napi::Env env() const { return info_.Env(); }

 private:
  const Napi::CallbackInfo& info_;
  Environment& environment_;
  srp_status status_ = SRP_OK;
};

// A new array on the device, of all the owner's memory or of a part of it; NULL as wrap().
napi_value new_array(napi_env env, std::shared_ptr<Owner> owner, unsigned char* pointer, int64_t bytes, int32_t dtype);

// All of what follows, by the names that lib/backend/addon.ts has.
void export_device(Napi::Env env, Napi::Object exports);

// device_memory.cc
Napi::Value device_alloc(const Napi::CallbackInfo& info);  // (session, bytes, dtype) → array
Napi::Value device_view(const Napi::CallbackInfo& info);  // (array, byteOffset, bytes, dtype) → array
Napi::Value device_release(const Napi::CallbackInfo& info);  // (array), more than once
Napi::Value device_write(const Napi::CallbackInfo& info);  // (session, array, typedArray), which may change at once
Napi::Value device_read(const Napi::CallbackInfo& info);  // (session, array, typedArray); waits
Napi::Value device_copy(const Napi::CallbackInfo& info);  // (session, to, from)
Napi::Value memory_stats(const Napi::CallbackInfo& info);  // (session) → figures
Napi::Value memory_limit(const Napi::CallbackInfo& info);  // (session, bytes)
Napi::Value memory_trim(const Napi::CallbackInfo& info);  // (session)
// device_async.cc: → a promise of null or {status, error}
Napi::Value device_read_async(const Napi::CallbackInfo& info);  // (session, array, typedArray)
Napi::Value stream_sync_async(const Napi::CallbackInfo& info);  // (session)
// device_stream.cc
Napi::Value open_stream(const Napi::CallbackInfo& info);  // (session) → session
Napi::Value close_stream(const Napi::CallbackInfo& info);  // (session): the number is of no use any more
Napi::Value stream_sync(const Napi::CallbackInfo& info);  // (session)
Napi::Value stream_done(const Napi::CallbackInfo& info);  // (session) → boolean
Napi::Value event_record(const Napi::CallbackInfo& info);  // (session) → event
Napi::Value event_wait(const Napi::CallbackInfo& info);  // (session, event)
Napi::Value event_sync(const Napi::CallbackInfo& info);  // (event)
Napi::Value event_done(const Napi::CallbackInfo& info);  // (event) → boolean
Napi::Value event_elapsed(const Napi::CallbackInfo& info);  // (from, to) → milliseconds; NaN = see lastError()
// device_graph.cc
Napi::Value capture_begin(const Napi::CallbackInfo& info);  // (session)
Napi::Value capture_end(const Napi::CallbackInfo& info);  // (session) → graph
Napi::Value graph_launch(const Napi::CallbackInfo& info);  // (session, graph)
Napi::Value graph_release(const Napi::CallbackInfo& info);  // (graph), more than once
// device_sharing.cc
Napi::Value ipc_export(const Napi::CallbackInfo& info);  // (session, array) → {handle, byteOffset}
Napi::Value ipc_open(const Napi::CallbackInfo& info);  // (session, handle, byteOffset, bytes, dtype) → array
Napi::Value from_pointer(const Napi::CallbackInfo& info);  // (session, bigint, bytes, dtype) → array
Napi::Value pointer_of(const Napi::CallbackInfo& info);  // (array) → bigint

}  // namespace srp::binding

#endif
