// The addon's functions for MPI. What travels is copied: JavaScript's memory may go while MPI still holds a call.
#include "mpi.h"

#include <string.h>

#include <cmath>

#include "mpi_thread.h"
#include "session.h"

namespace srp::binding {
namespace {

Clock::time_point deadline_after(double milliseconds) {
  // Longer than a year is for ever.
  if (!(milliseconds < 3.2e10)) return Clock::time_point::max();
  return Clock::now() + std::chrono::microseconds(int64_t(std::ceil(milliseconds * 1e3)));
}

// An environment that has opened MPI. It leaves when it says so, or when it ends.
struct MpiUser {
  bool entered = false;

  void enter() {
    if (!entered) MpiThread::instance().enter();
    entered = true;
  }
  void leave(bool complete) {
    if (entered) MpiThread::instance().leave(complete);
    entered = false;
  }
};

MpiUser& user(const Napi::Env& env) {
  std::shared_ptr<void>& kept = environment(env).mpi;
  if (!kept) {
    kept = std::shared_ptr<void>(new MpiUser, [](void* one) { delete static_cast<MpiUser*>(one); });
    napi_add_env_cleanup_hook(env, [](void* one) { static_cast<MpiUser*>(one)->leave(true); }, kept.get());
  }
  return *static_cast<MpiUser*>(kept.get());
}

std::string text_of(const Napi::Value& value) { return value.IsString() ? value.As<Napi::String>().Utf8Value() : ""; }

// (file of the shim, library or null, milliseconds) → {comm, rank, size, library}, or a text: why not, empty: too late
Napi::Value mpi_open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  MpiThread& thread = MpiThread::instance();
  if (const char* const why = thread.load(text_of(info[0]))) return Napi::String::New(env, why);
  const auto job = std::make_shared<MpiJob>();
  job->kind = MpiJob::Kind::open;
  job->library = text_of(info[1]);
  job->deadline = deadline_after(info[2].ToNumber().DoubleValue());
  thread.hand_over(job);
  thread.wait(*job);
  if (job->outcome != MpiOutcome::done) return Napi::String::New(env, job->error);
  user(env).enter();
  Napi::Object out = Napi::Object::New(env);
  out["comm"] = job->made;
  out["rank"] = job->rank;
  out["size"] = job->size;
  out["library"] = thread.functions()->version();
  return out;
}

// (comm, Int32Array of ranks, tag, milliseconds) → number of a communicator, −1: too late, or a text: why not
Napi::Value mpi_group(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto ranks = info[1].As<Napi::Int32Array>();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(ranks.Data());
  const auto job = std::make_shared<MpiJob>();
  job->kind = MpiJob::Kind::group;
  job->comm = info[0].ToNumber().Int32Value();
  job->sent.assign(bytes, bytes + ranks.ByteLength());
  job->root = info[2].ToNumber().Int32Value();
  job->deadline = deadline_after(info[3].ToNumber().DoubleValue());
  MpiThread::instance().hand_over(job);
  MpiThread::instance().wait(*job);
  if (job->outcome == MpiOutcome::failed) return Napi::String::New(env, job->error);
  return Napi::Number::New(env, job->outcome == MpiOutcome::done ? job->made : -1);
}

// (comm, kind, Uint8Array sent, bytes to receive, root, milliseconds)
std::shared_ptr<MpiJob> transfer_of(const Napi::CallbackInfo& info) {
  const auto sent = info[2].As<Napi::Uint8Array>();
  const auto job = std::make_shared<MpiJob>();
  job->kind = MpiJob::Kind::transfer;
  job->comm = info[0].ToNumber().Int32Value();
  job->transfer = info[1].ToNumber().Int32Value();
  if (job->transfer == SRP_MPI_BROADCAST) {
    job->received.resize(size_t(info[3].ToNumber().Int64Value()));
    memcpy(job->received.data(), sent.Data(), std::min(sent.ByteLength(), job->received.size()));
  } else {
    job->sent.assign(sent.Data(), sent.Data() + sent.ByteLength());
    job->received.resize(size_t(info[3].ToNumber().Int64Value()));
  }
  job->root = info[4].ToNumber().Int32Value();
  job->deadline = deadline_after(info[5].ToNumber().DoubleValue());
  return job;
}

// What came of a transfer: the bytes, null: too late, or a text: why not.
napi_value result_of(napi_env env, const MpiJob& job) {
  napi_value result = nullptr;
  if (job.outcome == MpiOutcome::timed_out) {
    napi_get_null(env, &result);
  } else if (job.outcome == MpiOutcome::failed) {
    napi_create_string_utf8(env, job.error.c_str(), NAPI_AUTO_LENGTH, &result);
  } else {
    void* to = nullptr;
    napi_value buffer = nullptr;
    if (napi_create_arraybuffer(env, job.received.size(), &to, &buffer) != napi_ok) return nullptr;
    if (!job.received.empty()) memcpy(to, job.received.data(), job.received.size());
    napi_create_typedarray(env, napi_uint8_array, job.received.size(), buffer, 0, &result);
  }
  return result;
}

Napi::Value mpi_transfer(const Napi::CallbackInfo& info) {
  const auto job = transfer_of(info);
  MpiThread::instance().hand_over(job);
  MpiThread::instance().wait(*job);
  return {info.Env(), result_of(info.Env(), *job)};
}

struct Promised {
  std::shared_ptr<MpiJob> job;
  napi_deferred deferred;
};

Napi::Value mpi_transfer_async(const Napi::CallbackInfo& info) {
  const napi_env env = info.Env();
  const auto job = transfer_of(info);
  napi_value promise = nullptr, name = nullptr;
  napi_threadsafe_function notify = nullptr;
  auto* const promised = new Promised{job, nullptr};
  const auto settle = [](napi_env of, napi_value, void*, void* data) {
    auto* const one = static_cast<Promised*>(data);
    if (of) napi_resolve_deferred(of, one->deferred, result_of(of, *one->job));
    delete one;
  };
  napi_create_string_utf8(env, "surprisal", NAPI_AUTO_LENGTH, &name);
  if (napi_create_promise(env, &promised->deferred, &promise) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, settle, &notify) !=
          napi_ok) {
    delete promised;
    return {};
  }
  job->on_end = [notify, promised] {
    if (napi_call_threadsafe_function(notify, promised, napi_tsfn_nonblocking) == napi_ok)
      napi_release_threadsafe_function(notify, napi_tsfn_release);
  };
  MpiThread::instance().hand_over(job);
  return {env, promise};
}

// As mpiTransfer, of bytes that the others come for when they do, and whose answer nobody here reads.
Napi::Value mpi_post(const Napi::CallbackInfo& info) {
  MpiThread::instance().hand_over(transfer_of(info));
  return info.Env().Undefined();
}

// (whether every process of the job finishes MPI): this environment calls MPI no more.
Napi::Value mpi_leave(const Napi::CallbackInfo& info) {
  user(info.Env()).leave(info[0].ToBoolean().Value());
  return info.Env().Undefined();
}

// (): ends all processes of the job. Returns where MPI could not.
Napi::Value mpi_abort(const Napi::CallbackInfo& info) {
  const auto job = std::make_shared<MpiJob>();
  job->kind = MpiJob::Kind::abort;
  job->deadline = deadline_after(2000);
  MpiThread::instance().hand_over(job);
  MpiThread::instance().wait(*job);
  return info.Env().Undefined();
}

}  // namespace

void export_mpi(const Napi::Env& env, Napi::Object& exports) {
  exports["mpiOpen"] = Napi::Function::New(env, mpi_open);
  exports["mpiGroup"] = Napi::Function::New(env, mpi_group);
  exports["mpiTransfer"] = Napi::Function::New(env, mpi_transfer);
  exports["mpiTransferAsync"] = Napi::Function::New(env, mpi_transfer_async);
  exports["mpiPost"] = Napi::Function::New(env, mpi_post);
  exports["mpiLeave"] = Napi::Function::New(env, mpi_leave);
  exports["mpiAbort"] = Napi::Function::New(env, mpi_abort);
}

}  // namespace srp::binding
