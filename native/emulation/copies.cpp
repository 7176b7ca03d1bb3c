// Copies and fills, in stream order. From pageable memory a copy is taken before the call returns, and a copy to it has
// ended by then; pinned memory is read and written when the stream comes to it, as a device's copy engine would.
#include <cstring>
#include <memory>
#include <vector>

#include "capture.h"
#include "injection.h"
#include "registry.h"
#include "stream.h"

using namespace srp::emulation;

namespace {

bool on_host(Place place) { return place == Place::pageable || place == Place::pinned; }

// Whether both ends of a copy lie where its kind says.
bool legal(Place to, Place from, cudaMemcpyKind kind) {
  const bool to_device = to == Place::device, from_device = from == Place::device;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return on_host(to) && on_host(from);
    case cudaMemcpyHostToDevice:
      return to_device && on_host(from);
    case cudaMemcpyDeviceToHost:
      return on_host(to) && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    case cudaMemcpyDefault:
      return (to_device || on_host(to)) && (from_device || on_host(from));
  }
  return false;
}

Fault freed(const char* what) {
  return {cudaErrorIllegalAddress, std::string(what) + " uses memory that was freed before its turn came"};
}

Fault move(void* to, const void* from, size_t bytes) {
  for (const void* end : {static_cast<const void*>(to), from}) {
    const Place place = locate(end, bytes, true).place;
    if (place == Place::freed || place == Place::past_the_end) return freed("a copy");
  }
  memmove(to, from, bytes);  // copies within one allocation may overlap; the runtime leaves the result open
  return {};
}

struct Copy {
  Place to, from;
  Stream::Ticket ticket;  // 0: captured, or nothing to do
};

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const StreamRef& stream, Copy& made) {
  if (const cudaError_t error = pending(); error != cudaSuccess) return error;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  made.ticket = 0;
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return cudaErrorInvalidValue;
  made.to = locate(to, bytes).place;
  made.from = locate(from, bytes).place;
  if (!legal(made.to, made.from, kind)) return cudaErrorInvalidValue;
  // A graph would read or write memory of the host whenever it runs; only pinned memory can be meant.
  if (made.to == Place::pageable || made.from == Place::pageable)
    if (const cudaError_t error = refuse_captured(stream); error != cudaSuccess) return error;
  std::function<Fault()> work = [to, from, bytes] { return move(to, from, bytes); };
  if (made.from == Place::pageable) {
    const auto* begin = static_cast<const char*>(from);
    auto staged = std::make_shared<const std::vector<char>>(begin, begin + bytes);
    work = [to, staged = std::move(staged)] { return move(to, staged->data(), staged->size()); };
  }
  return enqueue(stream, {std::move(work), false}, &made.ticket);
}

cudaError_t fill(void* pointer, int value, size_t bytes, const StreamRef& stream) {
  if (const cudaError_t error = pending(); error != cudaSuccess) return error;
  if (bytes == 0) return cudaSuccess;
  if (locate(pointer, bytes).place != Place::device) return cudaErrorInvalidValue;
  const auto work = [pointer, value, bytes]() -> Fault {
    if (locate(pointer, bytes, true).place != Place::device) return freed("a fill");
    memset(pointer, value, bytes);
    return {};
  };
  return enqueue(stream, {work, false});
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  SRP_BEGIN("cudaMemcpy");
  const StreamRef stream = find_stream(nullptr);
  Copy made;
  if (const cudaError_t error = copy(to, from, bytes, kind, stream, made); error != cudaSuccess) return record(error);
  const bool on_device = made.ticket != 0 && made.to == Place::device && made.from == Place::device;
  return made.ticket == 0 || on_device ? cudaSuccess : settle(stream, made.ticket);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  SRP_BEGIN("cudaMemcpyAsync");
  const StreamRef stream = find_stream(handle);
  if (!stream) return record(cudaErrorInvalidResourceHandle);
  Copy made;
  if (const cudaError_t error = copy(to, from, bytes, kind, stream, made); error != cudaSuccess) return record(error);
  return made.ticket != 0 && made.to == Place::pageable ? settle(stream, made.ticket) : cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  SRP_BEGIN("cudaMemset");
  return record(fill(pointer, value, bytes, find_stream(nullptr)));
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t handle) {
  SRP_BEGIN("cudaMemsetAsync");
  const StreamRef stream = find_stream(handle);
  return record(stream ? fill(pointer, value, bytes, stream) : cudaErrorInvalidResourceHandle);
}
