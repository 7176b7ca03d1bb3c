// What the addon exports for the memory, streams and graphs of a device. Each function returns what device_functions.inc lists, or a
// status; lastError() returns its text.
#ifndef SURPRISAL_BINDING_DEVICE_H
#define SURPRISAL_BINDING_DEVICE_H

#include <napi.h>

#include <memory>
#include <string>

#include "handle.h"
#include "session.h"

namespace srp::binding {

// The arguments of one call, read one after the other. status() and lastError() describe the first that is wrong.
class Arguments {
 public:
  explicit Arguments(const Napi::CallbackInfo& info) : info_(info), environment_(environment(info.Env())) {}

  // An array that is not released, and `use`d on the queue unless that is NULL.
  Handle* array(size_t i, const std::shared_ptr<Queue>& queue);
  Event* event(size_t i) { return need<Event>(i, "not an event"); }
  Graph* graph(size_t i) { return need<Graph>(i, "not a graph"); }
  // A whole number of bytes of a dtype: its elements must fit. -1 if not.
  int64_t bytes(size_t i, size_t dtype_at, int32_t* dtype);
  int64_t integer(size_t i);
  // Host memory of a typed array with the dtype and size of an array on the device. NULL if not.
  void* host(size_t i, const Handle& like);

  bool good() const { return status_ == SRP_OK; }
  std::nullptr_t refuse(srp_status status, const std::string& error);  // NULL, for what would have been read
  // Refuses where a call of the backend failed.
  void check(srp_status status, const Queue& queue);

  // The status as JavaScript gets it, its text left for lastError().
  Napi::Value status();
  Napi::Env env() const { return info_.Env(); }

 protected:
  // Of a session number: its queue, open, of a backend with memory of its own. NULL if not.
  std::shared_ptr<Queue> open_queue(size_t i);

 private:
  template <class T>
  T* need(size_t i, const char* refusal) {
    T* const value = unwrap<T>(env(), info_[i]);
    return value ? value : refuse(SRP_BAD_ARGUMENT, refusal);
  }

  const Napi::CallbackInfo& info_;
  Environment& environment_;
  srp_status status_ = SRP_OK;
};

// The arguments of a call on a queue: the first is the session's number.
class QueueArguments : public Arguments {
 public:
  explicit QueueArguments(const Napi::CallbackInfo& info) : Arguments(info), queue(open_queue(0)) {}

  const std::shared_ptr<Queue> queue;  // NULL if there is none

  Handle* array(size_t i) { return queue ? Arguments::array(i, queue) : nullptr; }
  void check(srp_status status) { Arguments::check(status, *queue); }
};

// A new array on the device, of all the owner's memory or of a part of it; empty as wrap().
Napi::Value new_array(napi_env env, std::shared_ptr<Owner> owner, unsigned char* pointer, int64_t bytes, int32_t dtype);

#define SRP_FUNCTION(name, function) Napi::Value function(const Napi::CallbackInfo& info);
#include "device_functions.inc"
#undef SRP_FUNCTION

// All of these.
void export_device(Napi::Env env, Napi::Object exports);

}  // namespace srp::binding

#endif
