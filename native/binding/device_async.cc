// Waiting for a device off the event loop: the fence is made on the JavaScript thread, which owns the queue, and waited for on
// another.
#include <string.h>

#include "device.h"
#include "outcome.h"

namespace srp::binding {
namespace {

struct Waiting {
  std::shared_ptr<Queue> queue;
  srp_fence* fence = nullptr;
  void* to = nullptr;  // NULL = nothing is read
  size_t bytes = 0;
  srp_status status = SRP_OK;
  std::string error;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
  napi_ref array = nullptr;  // keeps the memory of `to`

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
  else if (waiting.bytes > 0)
    memcpy(waiting.to, device.fence_data(waiting.fence), waiting.bytes);
}

// JavaScript thread.
void settle(napi_env env, napi_status, void* data) {
  const std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(data));
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

}  // namespace

Napi::Value device_read_async(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  auto waiting = std::make_unique<Waiting>();
  waiting->queue = arguments.queue(0);
  const Handle* const from = waiting->queue ? arguments.array(1, waiting->queue) : nullptr;
  waiting->to = from ? arguments.host(2, *from) : nullptr;
  if (!waiting->to) return arguments.status();
  waiting->bytes = from->bytes;
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
