// Waiting for a device off the event loop: the fence is made on the JavaScript thread, which owns the queue, and waited for on
// another.
#include <string.h>

#include "device.h"
#include "hold.h"
#include "outcome.h"

namespace srp::binding {
namespace {

struct Waiting {
  std::shared_ptr<Queue> queue;
  srp_fence* fence = nullptr;
  void* to = nullptr;  // NULL = nothing is read
  size_t bytes = 0;
  bool shared = false;  // `to` lies in memory that nothing takes away
  std::shared_ptr<void> share;  // in other memory; without it `to` is filled on the JavaScript thread
  srp_status status = SRP_OK;
  std::string error;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
  napi_ref array = nullptr;  // keeps the memory of `to`

  bool stays() const { return shared || share; }

  ~Waiting() {
    if (fence) queue->functions()->fence_destroy(fence);
  }
};

// libuv thread: no napi_env in here.
void wait(napi_env, void* data) {
  Waiting& waiting = *static_cast<Waiting*>(data);
  const srp_device_functions& device = *waiting.queue->functions();
  waiting.status = device.fence_wait(waiting.fence);
  if (waiting.status != SRP_OK)
    waiting.error = waiting.queue->backend().last_error();
  else if (waiting.bytes > 0 && waiting.stays())
    memcpy(waiting.to, device.fence_data(waiting.fence), waiting.bytes);
}

// JavaScript thread: fills what could not be held, if it still has memory.
void fill(napi_env env, const Waiting& waiting) {
  napi_value array = nullptr;
  void* to = nullptr;
  size_t length = 0;
  napi_get_reference_value(env, waiting.array, &array);
  napi_get_typedarray_info(env, array, nullptr, &length, &to, nullptr, nullptr);
  if (to && length > 0) memcpy(to, waiting.queue->functions()->fence_data(waiting.fence), waiting.bytes);
}

// JavaScript thread.
void settle(napi_env env, napi_status, void* data) {
  const std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(data));
  if (waiting->status == SRP_OK && waiting->bytes > 0 && !waiting->stays()) fill(env, *waiting);
  napi_resolve_deferred(env, waiting->deferred, outcome(env, waiting->status, waiting->error));
  if (waiting->array) napi_delete_reference(env, waiting->array);
  napi_delete_async_work(env, waiting->work);
}

Napi::Value start(Arguments& arguments, std::unique_ptr<Waiting> waiting, const void* from, napi_value array) {
  const Napi::Env env = arguments.env();
  const Queue& queue = *waiting->queue;
  arguments.check(queue.functions()->fence_create(queue.get(), from, waiting->bytes, &waiting->fence), queue);
  if (!arguments.good()) return arguments.status();
  napi_value promise = nullptr, name = nullptr;
  napi_create_string_utf8(env, "surprisal", NAPI_AUTO_LENGTH, &name);
  if ((array && napi_create_reference(env, array, 1, &waiting->array) != napi_ok) ||
      napi_create_async_work(env, nullptr, name, wait, settle, waiting.get(), &waiting->work) != napi_ok ||
      napi_create_promise(env, &waiting->deferred, &promise) != napi_ok ||
      napi_queue_async_work(env, waiting->work) != napi_ok) {
    arguments.refuse(SRP_OUT_OF_MEMORY, "the call could not be queued");
    return arguments.status();
  }
  waiting.release();  // settle() owns it now
  return Napi::Value(env, promise);
}

void hold_array(napi_env env, napi_value array, Waiting& waiting) {
  napi_value buffer = nullptr;
  bool own = true;
  napi_get_typedarray_info(env, array, nullptr, nullptr, nullptr, &buffer, nullptr);
  napi_is_arraybuffer(env, buffer, &own);
  waiting.shared = !own;
  if (own) waiting.share = hold(env, buffer);
}

}  // namespace

Napi::Value device_read_async(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  auto waiting = std::make_unique<Waiting>();
  waiting->queue = arguments.queue(0);
  const Handle* const from = waiting->queue ? arguments.array(1, waiting->queue) : nullptr;
  waiting->to = from ? arguments.host(2, *from) : nullptr;
  if (!waiting->to) return arguments.status();
  waiting->bytes = from->bytes;
  hold_array(info.Env(), info[2], *waiting);
  return start(arguments, std::move(waiting), from->pointer, info[2]);
}

Napi::Value stream_sync_async(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  auto waiting = std::make_unique<Waiting>();
  waiting->queue = arguments.queue(0);
  if (!waiting->queue) return arguments.status();
  return start(arguments, std::move(waiting), nullptr, nullptr);
}

}  // namespace srp::binding
