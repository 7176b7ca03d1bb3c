// Arrays on a device: making, filling, reading, and how much memory they take.
#include "device.h"

namespace srp::binding {

Napi::Value device_alloc(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  int32_t dtype = 0;
  const int64_t bytes = call.bytes(1, 2, &dtype);
  if (!call.good()) return call.status();
  void* pointer = nullptr;
  const bool shared = info[3].ToBoolean();
  const int64_t room = shared ? (bytes / SRP_IPC_BYTES + 1) * SRP_IPC_BYTES : bytes;
  call.check(call.queue->backend().alloc(call.queue->get(), static_cast<size_t>(room), &pointer));
  if (!call.good()) return call.status();
  const auto owner = std::make_shared<Owner>(Origin::kAllocated, pointer, call.queue);
  if (call.queue->capture) call.queue->capture->adopt(owner);
  return new_array(info.Env(), owner, owner->pointer(), bytes, dtype);
}

Napi::Value device_view(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const Handle* const handle = arguments.array(0, nullptr);
  const int64_t offset = arguments.integer(1);
  int32_t dtype = 0;
  const int64_t bytes = arguments.bytes(2, 3, &dtype);
  if (!arguments.good()) return arguments.status();
  const int64_t all = static_cast<int64_t>(handle->bytes);
  if (offset > all || bytes > all - offset)
    arguments.refuse(SRP_BAD_SHAPE, "bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
                                        " of an array of " + std::to_string(all));
  else if (reinterpret_cast<uintptr_t>(handle->pointer + offset) % static_cast<uintptr_t>(srp_dtype_size(dtype)) != 0)
    arguments.refuse(SRP_BAD_SHAPE, "byte " + std::to_string(offset) + " is not the beginning of an element");
  if (!arguments.good()) return arguments.status();
  return new_array(info.Env(), handle->owner, handle->pointer + offset, bytes, dtype);
}

Napi::Value device_release(const Napi::CallbackInfo& info) {
  if (Handle* const handle = unwrap<Handle>(info.Env(), info[0])) handle->owner.reset();
  return info.Env().Undefined();
}

Napi::Value device_write(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const Handle* const to = call.array(1);
  const void* const from = to ? call.host(2, *to) : nullptr;
  if (from) call.check(call.queue->backend().copy(call.queue->get(), to->pointer, from, to->bytes, SRP_TO_DEVICE));
  return call.status();
}

Napi::Value device_read(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const Handle* const from = call.array(1);
  void* const to = from ? call.host(2, *from) : nullptr;
  // A fault found on the device must leave the array as it was.
  if (to) call.check(call.queue->backend().sync(call.queue->get()));
  if (call.good())
    call.check(call.queue->backend().copy(call.queue->get(), to, from->pointer, from->bytes, SRP_TO_HOST));
  return call.status();
}

Napi::Value device_copy(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const Handle* const to = call.array(1);
  const Handle* const from = to ? call.array(2) : nullptr;
  if (!from) return call.status();
  const bool apart = to->pointer + to->bytes <= from->pointer || from->pointer + from->bytes <= to->pointer;
  if (to->dtype != from->dtype)
    call.refuse(SRP_BAD_DTYPE, "the arrays have different dtypes");
  else if (to->bytes != from->bytes)
    call.refuse(SRP_BAD_SHAPE,
                "one array has " + std::to_string(to->bytes) + " bytes, the other " + std::to_string(from->bytes));
  else if (!apart && to->pointer != from->pointer)
    call.refuse(SRP_BAD_ARGUMENT, "the arrays overlap");
  else if (to->pointer != from->pointer)
    call.check(call.queue->backend().copy(call.queue->get(), to->pointer, from->pointer, to->bytes, SRP_ON_DEVICE));
  return call.status();
}

Napi::Value memory_stats(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  srp_memory_stats stats = {};
  stats.size = sizeof stats;
  if (call.queue) call.check(call.queue->functions()->memory_stats(call.queue->get(), &stats));
  if (!call.good()) return call.status();
  Napi::Object out = Napi::Object::New(info.Env());
  out["inUse"] = static_cast<double>(stats.in_use);
  out["reserved"] = static_cast<double>(stats.reserved);
  out["peakInUse"] = static_cast<double>(stats.peak_in_use);
  out["limit"] = static_cast<double>(stats.limit);
  out["allocations"] = static_cast<double>(stats.allocations);
  out["reused"] = static_cast<double>(stats.reused);
  out["driverCalls"] = static_cast<double>(stats.driver_calls);
  return out;
}

Napi::Value memory_limit(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  const int64_t bytes = call.integer(1);
  if (call.good()) call.check(call.queue->functions()->memory_limit(call.queue->get(), bytes));
  return call.status();
}

Napi::Value memory_trim(const Napi::CallbackInfo& info) {
  QueueArguments call(info);
  if (call.queue) call.check(call.queue->functions()->memory_trim(call.queue->get()));
  return call.status();
}

}  // namespace srp::binding
