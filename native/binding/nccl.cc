// The addon's functions for ranks that meet over NCCL. None of them waits but nccl_wait, which looks at the clock: a communicator is
// made and used without blocking, and asked after until what was begun has ended. A text where something else stands says what failed.
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "device.h"
#include "nccl_library.h"

namespace srp::binding {
namespace {

const NcclLibrary* library;  // of the process: set by nccl_open, and then the same for ever

// Of one list of ranks. Without comm: given back.
struct Ranks {
  std::shared_ptr<Queue> queue;
  NcclComm comm = nullptr;

  ~Ranks() { give_back(&NcclLibrary::comm_abort); }
  void give_back(int (*NcclLibrary::*how)(NcclComm));
  static constexpr napi_type_tag tag = {0x7372705f6e63636c, 0x5f72616e6b735f31};
};

// Runs `work` with the queue's device current. The status of the backend; what NCCL said in *code.
srp_status lend(const Queue& queue, int* code, std::function<int(void* stream)> work) {
  int32_t result = 0;
  const auto call = [](void* stream, void* data) -> int32_t {
    return (*static_cast<std::function<int(void*)>*>(data))(stream);
  };
  const srp_status status = queue.functions()->queue_lend(queue.get(), call, &work, &result);
  *code = result;
  return status;
}

void Ranks::give_back(int (*NcclLibrary::*how)(NcclComm)) {
  if (!comm) return;
  int code = 0;
  const NcclComm given = comm;
  comm = nullptr;
  lend(*queue, &code, [&](void*) { return (library->*how)(given); });
}

Napi::Value text(const Napi::Env& env, const std::string& value) { return Napi::String::New(env, value); }

bool began(int code) { return code == kNcclSuccess || code == kNcclInProgress; }

double number(const Napi::Value& value) { return value.As<Napi::Number>().DoubleValue(); }

// Whether what was begun has ended: 1, 0, or −1 and a text.
int look(const Ranks& ranks, const Event* event, std::string* why) {
  if (!ranks.comm) {
    *why = "the communicator was given back";
    return -1;
  }
  int state = kNcclSuccess;
  const int code = library->comm_get_async_error(ranks.comm, &state);
  if (code != kNcclSuccess || !began(state)) {
    *why = library->text_of(code != kNcclSuccess ? code : state, ranks.comm);
    return -1;
  }
  if (state == kNcclInProgress) return 0;
  if (!event) return 1;
  int32_t done = 0;
  if (event->queue->functions()->event_query(event->event, &done) == SRP_OK) return done != 0 ? 1 : 0;
  *why = event->queue->backend().last_error();
  return -1;
}

struct Looked {
  const Ranks* ranks;
  const Event* event;
};

Looked what_to_look_at(const Napi::CallbackInfo& info) {
  return {unwrap<Ranks>(info.Env(), info[0]), unwrap<Event>(info.Env(), info[1])};
}

Napi::Value seen(const Napi::Env& env, int state, const std::string& why) {
  if (state < 0) return text(env, why);
  return Napi::Boolean::New(env, state > 0);
}

}  // namespace

Napi::Value nccl_open(const Napi::CallbackInfo& info) {
  std::string why;
  const NcclLibrary* const opened = open_nccl(info[0].As<Napi::String>().Utf8Value(), &why);
  if (!opened) return text(info.Env(), why);
  library = opened;
  return Napi::Number::New(info.Env(), opened->version);
}

Napi::Value nccl_unique_id(const Napi::CallbackInfo& info) {
  NcclUniqueId id = {};
  if (const int code = library->get_unique_id(&id)) return text(info.Env(), library->text_of(code, nullptr));
  Napi::Uint8Array out = Napi::Uint8Array::New(info.Env(), sizeof id.bytes);
  std::copy(id.bytes, id.bytes + sizeof id.bytes, out.Data());
  return out;
}

Napi::Value nccl_join(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const int64_t size = call.integer(2), rank = call.integer(3);
  if (!info[1].IsTypedArray() || info[1].As<Napi::TypedArray>().ByteLength() != sizeof(NcclUniqueId))
    call.refuse(SRP_BAD_SHAPE, "an id of NCCL is a Uint8Array of 128 bytes");
  if (!call.good()) return call.status();
  NcclUniqueId id;
  const uint8_t* const bytes = info[1].As<Napi::Uint8Array>().Data();
  std::copy(bytes, bytes + sizeof id.bytes, id.bytes);
  auto ranks = std::make_unique<Ranks>();
  ranks->queue = call.queue;
  int code = 0;
  call.check(lend(*call.queue, &code, [&](void*) {
    NcclConfig config;
    return library->comm_init_rank_config(&ranks->comm, int(size), id, int(rank), &config);
  }));
  if (!call.good()) return call.status();
  if (!began(code)) return text(info.Env(), library->text_of(code, ranks->comm));
  return wrap(info.Env(), std::move(ranks));
}

Napi::Value nccl_gather(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const Ranks* const ranks = unwrap<Ranks>(info.Env(), info[1]);
  const Handle* const sent = call.array(2);
  const Handle* const received = sent ? call.array(3) : nullptr;
  if (!received) return call.status();
  int code = 0;
  call.check(lend(*call.queue, &code, [&](void* stream) {
    return library->all_gather(sent->pointer, received->pointer, sent->bytes, kNcclUint8, ranks->comm, stream);
  }));
  if (!call.good()) return call.status();
  return began(code) ? Napi::Number::New(info.Env(), 0) : text(info.Env(), library->text_of(code, ranks->comm));
}

Napi::Value nccl_broadcast(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const Ranks* const ranks = unwrap<Ranks>(info.Env(), info[1]);
  const Handle* const sent = call.array(2);
  const Handle* const received = sent ? call.array(3) : nullptr;
  const int64_t root = call.integer(4);
  if (!call.good()) return call.status();
  int code = 0;
  call.check(lend(*call.queue, &code, [&](void* stream) {
    return library->broadcast(sent->pointer, received->pointer, sent->bytes, kNcclUint8, int(root), ranks->comm,
                              stream);
  }));
  if (!call.good()) return call.status();
  return began(code) ? Napi::Number::New(info.Env(), 0) : text(info.Env(), library->text_of(code, ranks->comm));
}

Napi::Value nccl_test(const Napi::CallbackInfo& info) {
  const auto [ranks, event] = what_to_look_at(info);
  std::string why;
  return seen(info.Env(), look(*ranks, event, &why), why);
}

Napi::Value nccl_wait(const Napi::CallbackInfo& info) {
  using Clock = std::chrono::steady_clock;
  const auto [ranks, event] = what_to_look_at(info);
  const double milliseconds = number(info[2]);
  const auto start = Clock::now();
  std::string why;
  int state = look(*ranks, event, &why);
  for (int looks = 1; state == 0; ++looks) {
    if (std::chrono::duration<double, std::milli>(Clock::now() - start).count() >= milliseconds) break;
    // At once while it may end within microseconds, then between other threads' turns, then ever more rarely.
    if (looks > 512)
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(1000, 20 * (looks - 512))));
    else if (looks > 64)
      std::this_thread::yield();
    state = look(*ranks, event, &why);
  }
  return seen(info.Env(), state, why);
}

Napi::Value nccl_finalize(const Napi::CallbackInfo& info) {
  const Ranks* const ranks = unwrap<Ranks>(info.Env(), info[0]);
  int code = 0;
  lend(*ranks->queue, &code, [&](void*) { return library->comm_finalize(ranks->comm); });
  return began(code) ? Napi::Number::New(info.Env(), 0) : text(info.Env(), library->text_of(code, ranks->comm));
}

Napi::Value nccl_destroy(const Napi::CallbackInfo& info) {
  unwrap<Ranks>(info.Env(), info[0])->give_back(&NcclLibrary::comm_destroy);
  return info.Env().Undefined();
}

Napi::Value nccl_abort(const Napi::CallbackInfo& info) {
  unwrap<Ranks>(info.Env(), info[0])->give_back(&NcclLibrary::comm_abort);
  return info.Env().Undefined();
}

}  // namespace srp::binding
