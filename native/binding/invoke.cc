// The two functions JavaScript calls for every op: at once, or on a libuv thread with a promise.
#include <memory>
#include <new>

#include "async_work.h"
#include "call.h"
#include "surprisal/cpu.h"
#include "typed_array.h"

namespace srp::binding {
namespace {

// The op is the callback's data; the arguments are the session number, a stop, and the arrays.
struct Request {
  const Op* op;
  napi_value values[kMaxFields + 2];
  size_t count;
  Environment* environment;
  Session* session;
};

// False if there is no call to make; for an unknown session it sets the environment's error.
bool unpack(napi_env env, napi_callback_info info, Request* request) {
  void* op = nullptr;
  request->count = kMaxFields + 2;
  request->environment = &environment(env);
  if (napi_get_cb_info(env, info, &request->count, request->values, nullptr, &op) != napi_ok) return false;
  request->op = static_cast<const Op*>(op);
  request->session = find_session(env, request->values[0]);
  return request->session && request->count >= 2;
}

napi_value number(napi_env env, srp_status status) {
  napi_value out = nullptr;
  napi_create_int32(env, status, &out);
  return out;
}

napi_value failed(napi_env env, srp_status status, const std::string& error) {
  environment(env).error = error;
  return number(env, status);
}

// The number of a stop, or NULL where none is given. JavaScript writes it while the call runs.
const int32_t* stop_of(napi_env env, napi_value stop) {
  TypedArray array;
  const bool given = read_typed_array(env, stop, &array) && array.dtype == SRP_I32 && array.length == 1;
  return given ? static_cast<const int32_t*>(array.data) : nullptr;
}

// Everything a call on another thread needs, and the promise it settles on the JavaScript thread.
struct Pending : AsyncWork {
  explicit Pending(const Op& op) : call(op) {}

  Call call;
  const srp_backend* backend = nullptr;
  int32_t device = 0;
  bool host_memory = false;
  int32_t threads = 0;
  const int32_t* stop = nullptr;
};

// libuv thread: no napi_env in here.
void execute(napi_env, void* data) {
  Pending& pending = *static_cast<Pending*>(data);
  srp_queue* queue = nullptr;  // a queue of its own: the environment's belongs to the JavaScript thread
  if (!pending.host_memory) pending.status = pending.backend->queue_create(pending.device, &queue);
  srp_cpu_use_threads(pending.threads);
  srp_cpu_use_stop(pending.stop);
  if (pending.status == SRP_OK) pending.status = pending.call.run(*pending.backend, pending.host_memory, queue);
  srp_cpu_use_stop(nullptr);
  pending.backend->queue_destroy(queue);
}

// JavaScript thread.
void copy_back(napi_env env, Pending& pending) {
  napi_value kept = nullptr, values[kMaxFields] = {};
  uint32_t count = 0;
  napi_get_reference_value(env, pending.kept, &kept);
  napi_get_array_length(env, kept, &count);
  for (uint32_t i = 2; i < count; ++i) napi_get_element(env, kept, i, &values[i - 2]);
  pending.call.copy_back(env, values);
}

// JavaScript thread.
void complete(napi_env env, napi_status, void* data) {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(data));
  if (pending->status == SRP_OK && pending->call.copied()) copy_back(env, *pending);
  settle(env, *pending, pending->call.error());
}

// On the session's queue, which is in place.
srp_status run_on(const Session& session, Call& call) {
  srp_queue* const queue = session.queue ? session.queue->get() : nullptr;
  if (call.on_device()) {
    if (session.host_memory)
      return call.refuse(SRP_BAD_ARGUMENT, "an array lies on a device, where this backend cannot reach it");
    return call.enqueue(session.queue);
  }
  if (session.queue && session.queue->capture)
    return call.refuse(SRP_BAD_ARGUMENT,
                       "the stream is being captured, and results in host memory would have to be waited for");
  return call.run(*session.backend, session.host_memory, queue);
}

}  // namespace

napi_value call_sync(napi_env env, napi_callback_info info) {
  Request request;
  if (!unpack(env, info, &request)) return number(env, SRP_BAD_ARGUMENT);
  Session& session = *request.session;
  const napi_value* const arrays = request.values + 2;
  Call call(*request.op);
  const srp_status read = call.read(env, request.environment->numbers, arrays, request.count - 2, false);
  if (read != SRP_OK) return failed(env, read, call.error());
  const srp_status ready = ensure_queue(session);
  if (ready != SRP_OK) return failed(env, ready, session.backend->last_error());
  srp_cpu_use_threads(request.environment->threads);
  const srp_status status = run_on(session, call);
  if (status != SRP_OK) return failed(env, status, call.error());
  call.copy_back(env, arrays);
  return number(env, SRP_OK);
}

napi_value call_async(napi_env env, napi_callback_info info) {
  Request request;
  if (!unpack(env, info, &request)) return number(env, SRP_BAD_ARGUMENT);
  const Session& session = *request.session;
  std::unique_ptr<Pending> pending(new (std::nothrow) Pending(*request.op));
  if (!pending) return failed(env, SRP_OUT_OF_MEMORY, "out of memory");
  Call& call = pending->call;
  srp_status status = call.read(env, request.environment->numbers, request.values + 2, request.count - 2, true);
  if (status == SRP_OK && call.on_device())
    status = call.refuse(SRP_BAD_ARGUMENT, "an array lies on a device, whose calls return before they run anyway");
  if (status != SRP_OK) return failed(env, status, call.error());
  pending->backend = session.backend;
  pending->device = session.device;
  pending->host_memory = session.host_memory;
  pending->threads = request.environment->threads;
  pending->stop = stop_of(env, request.values[1]);

  napi_value kept = nullptr;
  napi_create_array_with_length(env, request.count, &kept);
  for (size_t i = 0; i < request.count; ++i) napi_set_element(env, kept, static_cast<uint32_t>(i), request.values[i]);
  const napi_value promise = start_async(env, pending, kept, execute, complete);
  return promise ? promise : failed(env, SRP_OUT_OF_MEMORY, "the call could not be queued");
}

}  // namespace srp::binding
