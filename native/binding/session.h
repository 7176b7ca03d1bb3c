// Open backends. A Session is one backend on one device as one JavaScript environment (the main thread or a worker) sees
// it, with a queue of that environment's thread. JavaScript holds sessions by number; numbers are checked.
#ifndef SURPRISAL_BINDING_SESSION_H
#define SURPRISAL_BINDING_SESSION_H

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "queue.h"

namespace srp::binding {

struct Session {
  const srp_backend* backend;
  int32_t device;
  bool host_memory;
  std::shared_ptr<Queue> queue;  // NULL until the first op; of the environment's own thread
  bool closed = false;  // calls with its number are refused
};

constexpr size_t kMaxFields = 48;

// Per environment, as napi instance data: worker threads each have their own.
struct Environment {
  std::vector<Session> sessions;
  std::string error;  // of the last call that did not return SRP_OK
  double* numbers =
      nullptr;  // kMaxFields + 1 of them: those of the next call, which JavaScript writes and a call reads, and which arrays there are
  std::shared_ptr<void> mpi;  // mpi.cc's own
  int32_t threads = 0;  // that a call in host memory may use, as srp_cpu_use_threads takes it
};

Environment& environment(napi_env env);

// The session of a JavaScript number, or NULL with the environment's error set.
Session* find_session(napi_env env, napi_value number);

// Creates the queue on first use; SRP_OK with the queue in place, else the backend's refusal.
srp_status ensure_queue(Session& session);

Napi::Value open_cpu(const Napi::CallbackInfo& info);  // () → session number
Napi::Value open_library(const Napi::CallbackInfo& info);  // (path, device) → session number, or a text: why not
Napi::Value describe(const Napi::CallbackInfo& info);  // (session) → description
Napi::Value use_threads(const Napi::CallbackInfo& info);  // (number): 0 = those available. → threads available
Napi::Value last_error(const Napi::CallbackInfo& info);  // () → text

}  // namespace srp::binding

#endif
