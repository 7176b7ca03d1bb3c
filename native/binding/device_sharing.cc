// Memory that others see: other processes, and other libraries of this one.
#include "device.h"

namespace srp::binding {
namespace {

// An array over memory, which must be usable by the queue's device as far as the backend can tell.
Napi::Value adopt(Arguments& arguments, const std::shared_ptr<Owner>& owner, const Queue& queue, int64_t offset,
                  int64_t bytes, int32_t dtype) {
  unsigned char* const pointer = owner->pointer() + offset;
  if (reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(srp_dtype_size(dtype)) != 0)
    arguments.refuse(SRP_BAD_ARGUMENT, "the address is not that of an element of its dtype");
  else
    arguments.check(queue.functions()->pointer_check(queue.get(), pointer, static_cast<size_t>(bytes)), queue);
  if (!arguments.good()) return arguments.status();
  return new_array(arguments.env(), owner, pointer, bytes, dtype);
}

}  // namespace

Napi::Value ipc_export(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const Handle* const handle = call.array(1);
  if (!handle) return call.status();
  uint8_t exported[SRP_IPC_HANDLE_BYTES];
  int64_t offset = 0;
  call.check(call.queue->functions()->ipc_export(call.queue->get(), handle->pointer, exported, &offset));
  if (!call.good()) return call.status();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), SRP_IPC_HANDLE_BYTES);
  std::copy(exported, exported + SRP_IPC_HANDLE_BYTES, bytes.Data());
  Napi::Object out = Napi::Object::New(info.Env());
  out["handle"] = bytes;
  out["byteOffset"] = static_cast<double>(offset);
  return out;
}

Napi::Value ipc_open(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const int64_t offset = call.integer(2);
  int32_t dtype = 0;
  const int64_t bytes = call.bytes(3, 4, &dtype);
  const bool is_handle = info[1].IsTypedArray() &&
                         info[1].As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array &&
                         info[1].As<Napi::TypedArray>().ByteLength() == SRP_IPC_HANDLE_BYTES;
  if (!is_handle) call.refuse(SRP_BAD_SHAPE, "a handle is a Uint8Array of 64 bytes");
  if (!call.good()) return call.status();
  void* base = nullptr;
  const uint8_t* const handle = info[1].As<Napi::Uint8Array>().Data();
  call.check(call.queue->functions()->ipc_open(call.queue->get(), handle, &base));
  if (!call.good()) return call.status();
  return adopt(call, std::make_shared<Owner>(Origin::kOpened, base, call.queue), *call.queue, offset, bytes, dtype);
}

Napi::Value from_pointer(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  int32_t dtype = 0;
  const int64_t bytes = call.bytes(2, 3, &dtype);
  uint64_t address = 0;
  bool lossless = false;
  if (napi_get_value_bigint_uint64(info.Env(), info[1], &address, &lossless) != napi_ok || !lossless)
    call.refuse(SRP_BAD_ARGUMENT, "an address is a BigInt of 64 bits");
  if (!call.good()) return call.status();
  void* const pointer = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  return adopt(call, std::make_shared<Owner>(Origin::kForeign, pointer, call.queue), *call.queue, 0, bytes, dtype);
}

Napi::Value pointer_of(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const Handle* const handle = arguments.array(0, nullptr);
  if (!handle) return arguments.status();
  return Napi::BigInt::New(info.Env(), static_cast<uint64_t>(reinterpret_cast<uintptr_t>(handle->pointer)));
}

}  // namespace srp::binding
