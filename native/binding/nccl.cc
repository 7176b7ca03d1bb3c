// The addon's functions for ranks that meet over NCCL. None of them waits but nccl_wait, which looks at the clock: a communicator is
// made and used without blocking, and asked after until what was begun has ended. A text where something else stands says what failed.
#include <chrono>
#include <cmath>
#include <functional>

#include "back_off.h"
#include "device.h"
#include "nccl_library.h"

namespace srp::binding {
namespace {

const NcclLibrary* library;  // of the process: set by nccl_open, and then the same for ever

// Of one list of ranks. Without comm: given back.
struct Ranks {
  std::shared_ptr<Queue> queue;
  NcclComm comm = nullptr;
  int64_t size = 0;

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

constexpr const char* kNotOpen = "no communicator, or one that was given back";
constexpr const char* kNoLibrary = "no library of NCCL has been opened";

bool is_open(const Ranks* ranks) { return ranks && ranks->comm; }

Napi::Value text(const Napi::Env& env, const std::string& value) { return Napi::String::New(env, value); }

bool began(int code) { return code == kNcclSuccess || code == kNcclInProgress; }

// 0 where there is no number.
double number(const Napi::Value& value) { return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : 0; }

// (session, ranks, sent array, received array): from what is sent here to what is received, of one rank or of each.
struct Move {
  QueueArguments call;
  const Ranks* const ranks;
  const Handle* const sent;
  const Handle* const received;

  Move(const Napi::CallbackInfo& info, bool of_each)
      : call(info),
        ranks(unwrap<Ranks>(info.Env(), info[1])),
        sent(call.array(2)),
        received(sent ? call.array(3) : nullptr) {
    if (!received) return;
    if (!is_open(ranks)) {
      call.refuse(SRP_BAD_ARGUMENT, kNotOpen);
      return;
    }
    const size_t copies = of_each ? size_t(ranks->size) : 1;
    if (received->bytes / copies < sent->bytes)
      call.refuse(SRP_BAD_SHAPE, "what is received would not fit into its array");
  }

  // The status of the backend, 0, or what NCCL said.
  Napi::Value begin(std::function<int(void* stream)> work) {
    int code = 0;
    if (call.good()) call.check(lend(*call.queue, &code, std::move(work)));
    if (!call.good()) return call.status();
    return began(code) ? Napi::Number::New(call.env(), 0) : text(call.env(), library->text_of(code, ranks->comm));
  }
};

// Whether what was begun has ended: 1, 0, or −1 and a text.
int look(const Ranks* ranks, const Event* event, std::string* why) {
  if (!is_open(ranks)) {
    *why = kNotOpen;
    return -1;
  }
  int state = kNcclSuccess;
  const int code = library->comm_get_async_error(ranks->comm, &state);
  if (code != kNcclSuccess || !began(state)) {
    *why = library->text_of(code != kNcclSuccess ? code : state, ranks->comm);
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
  if (!info[0].IsString()) return text(info.Env(), "the name of a library is text");
  std::string why;
  const NcclLibrary* const opened = open_nccl(info[0].As<Napi::String>().Utf8Value(), &why);
  if (!opened) return text(info.Env(), why);
  library = opened;
  return Napi::Number::New(info.Env(), opened->version);
}

Napi::Value nccl_unique_id(const Napi::CallbackInfo& info) {
  if (!library) return text(info.Env(), kNoLibrary);
  NcclUniqueId id = {};
  if (const int code = library->get_unique_id(&id)) return text(info.Env(), library->text_of(code, nullptr));
  Napi::Uint8Array out = Napi::Uint8Array::New(info.Env(), sizeof id.bytes);
  std::copy(id.bytes, id.bytes + sizeof id.bytes, out.Data());
  return out;
}

Napi::Value nccl_join(const Napi::CallbackInfo& info) {
  if (!library) return text(info.Env(), kNoLibrary);
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
  ranks->size = size;
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
  Move move(info, true);
  return move.begin([&](void* stream) {
    return library->all_gather(move.sent->pointer, move.received->pointer, move.sent->bytes, kNcclUint8,
                               move.ranks->comm, stream);
  });
}

Napi::Value nccl_broadcast(const Napi::CallbackInfo& info) {
  Move move(info, false);
  const int64_t root = move.call.integer(4);
  if (move.call.good() && (root < 0 || root >= move.ranks->size))
    move.call.refuse(SRP_BAD_ARGUMENT, "root is no rank of the communicator");
  return move.begin([&](void* stream) {
    return library->broadcast(move.sent->pointer, move.received->pointer, move.sent->bytes, kNcclUint8, int(root),
                              move.ranks->comm, stream);
  });
}

Napi::Value nccl_test(const Napi::CallbackInfo& info) {
  const auto [ranks, event] = what_to_look_at(info);
  std::string why;
  return seen(info.Env(), look(ranks, event, &why), why);
}

Napi::Value nccl_wait(const Napi::CallbackInfo& info) {
  using Clock = std::chrono::steady_clock;
  const auto [ranks, event] = what_to_look_at(info);
  const double milliseconds = number(info[2]);
  const auto start = Clock::now();
  std::string why;
  int state = look(ranks, event, &why);
  BackOff back_off;  // NCCL moves bytes on its own
  while (state == 0 && std::chrono::duration<double, std::milli>(Clock::now() - start).count() < milliseconds) {
    back_off.pause();
    state = look(ranks, event, &why);
  }
  return seen(info.Env(), state, why);
}

Napi::Value nccl_finalize(const Napi::CallbackInfo& info) {
  const Ranks* const ranks = unwrap<Ranks>(info.Env(), info[0]);
  if (!is_open(ranks)) return text(info.Env(), kNotOpen);
  int code = 0;
  lend(*ranks->queue, &code, [&](void*) { return library->comm_finalize(ranks->comm); });
  return began(code) ? Napi::Number::New(info.Env(), 0) : text(info.Env(), library->text_of(code, ranks->comm));
}

Napi::Value nccl_destroy(const Napi::CallbackInfo& info) {
  if (Ranks* const ranks = unwrap<Ranks>(info.Env(), info[0])) ranks->give_back(&NcclLibrary::comm_destroy);
  return info.Env().Undefined();
}

Napi::Value nccl_abort(const Napi::CallbackInfo& info) {
  if (Ranks* const ranks = unwrap<Ranks>(info.Env(), info[0])) ranks->give_back(&NcclLibrary::comm_abort);
  return info.Env().Undefined();
}

}  // namespace srp::binding
