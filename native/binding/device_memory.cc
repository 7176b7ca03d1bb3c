// Arrays on a device: making, filling, reading, and how much memory they take.
#include "device.h"

namespace srp::binding {

Napi::Value device_alloc(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  int32_t dtype = 0;
  const int64_t bytes = arguments.bytes(1, 2, &dtype);
  if (!arguments.good()) return arguments.status();
  void* pointer = nullptr;
  arguments.check(queue->backend().alloc(queue->get(), static_cast<size_t>(bytes), &pointer), *queue);
  if (!arguments.good()) return arguments.status();
  const auto owner = std::make_shared<Owner>(Origin::kAllocated, pointer, queue);
  if (queue->capture) queue->capture->adopt(owner);
  return Napi::Value(info.Env(), new_array(info.Env(), owner, owner->pointer(), bytes, dtype));
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
  return Napi::Value(info.Env(), new_array(info.Env(), handle->owner, handle->pointer + offset, bytes, dtype));
}

Napi::Value device_release(const Napi::CallbackInfo& info) {
  if (Handle* const handle = unwrap<Handle>(info.Env(), info[0])) handle->owner.reset();
  return info.Env().Undefined();
}

Napi::Value device_write(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  const Handle* const to = queue ? arguments.array(1, queue) : nullptr;
  const void* const from = to ? arguments.host(2, *to) : nullptr;
  if (from) arguments.check(queue->backend().copy(queue->get(), to->pointer, from, to->bytes, SRP_TO_DEVICE), *queue);
  return arguments.status();
}

Napi::Value device_read(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  const Handle* const from = queue ? arguments.array(1, queue) : nullptr;
  void* const to = from ? arguments.host(2, *from) : nullptr;
  // A fault found on the device must leave the array as it was.
  if (to) arguments.check(queue->backend().sync(queue->get()), *queue);
  if (arguments.good())
    arguments.check(queue->backend().copy(queue->get(), to, from->pointer, from->bytes, SRP_TO_HOST), *queue);
  return arguments.status();
}

Napi::Value device_copy(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  const Handle* const to = queue ? arguments.array(1, queue) : nullptr;
  const Handle* const from = to ? arguments.array(2, queue) : nullptr;
  if (!from) return arguments.status();
  const bool apart = to->pointer + to->bytes <= from->pointer || from->pointer + from->bytes <= to->pointer;
  if (to->dtype != from->dtype)
    arguments.refuse(SRP_BAD_DTYPE, "the arrays have different dtypes");
  else if (to->bytes != from->bytes)
    arguments.refuse(SRP_BAD_SHAPE,
                     "one array has " + std::to_string(to->bytes) + " bytes, the other " + std::to_string(from->bytes));
  else if (!apart && to->pointer != from->pointer)
    arguments.refuse(SRP_BAD_ARGUMENT, "the arrays overlap");
  else if (to->pointer != from->pointer)
    arguments.check(queue->backend().copy(queue->get(), to->pointer, from->pointer, to->bytes, SRP_ON_DEVICE), *queue);
  return arguments.status();
}

Napi::Value memory_stats(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  srp_memory_stats stats = {};
  stats.size = sizeof stats;
  if (queue) arguments.check(queue->functions()->memory_stats(queue->get(), &stats), *queue);
  if (!arguments.good()) return arguments.status();
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
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  const int64_t bytes = arguments.integer(1);
  if (arguments.good()) arguments.check(queue->functions()->memory_limit(queue->get(), bytes), *queue);
  return arguments.status();
}

Napi::Value memory_trim(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  if (queue) arguments.check(queue->functions()->memory_trim(queue->get()), *queue);
  return arguments.status();
}

}  // namespace srp::binding
