// The registry of memory: device memory from cudaMalloc and from pools, and pinned memory. Under ASan each allocation has the heap's
// red zones.
//
// Freed memory is kept for a while, filled with NaNs and poisoned for ASan: a kernel that is given its address is refused, and a
// write to it is found when the memory is used again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "shared_pages.h"
#include "stream.h"

namespace srp::emulation {

enum class Kind { device, pool, pinned };

struct Allocation {
  Allocation(Kind kind_, int device_, size_t bytes_) : kind(kind_), device(device_), bytes(bytes_) {}
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  const Kind kind;
  const int device;
  const size_t bytes;
  char* begin = nullptr;
  bool foreign = false;  // the caller's own, pinned by cudaHostRegister, or another process's
  SharedPages pages;  // where other processes see it, too
  bool owned = true;  // the caller has not given it back
  bool usable = true;  // by work of streams, in their order
  // The ticket of its release: work behind it may use the memory again.
  StreamRef stream;
  Stream::Ticket ticket = 0;
};

using AllocationRef = std::shared_ptr<Allocation>;

// Null if the device has too little. Fresh bytes are all ones, but for those of more than 1 GiB.
AllocationRef take(Kind kind, int device, size_t bytes);
// From a pool: memory that this stream, or one that is done with it, gave back, or fresh memory. Not usable before
// open_memory() is called in stream order.
AllocationRef take_from_pool(const StreamRef& stream, size_t bytes);
AllocationRef pin(void* pointer, size_t bytes);
// Memory of another process; null if the handle is stale.
AllocationRef adopt(const cudaIpcMemHandle_t& handle, int device);

// The block that begins there, if its caller still owns it.
AllocationRef owned_allocation(const void* pointer);
// Takes it away from its caller. What streams still do with it may go on.
void disown(const AllocationRef& block, const StreamRef& stream, Stream::Ticket ticket);
// From here on no work may use it.
void close_memory(const AllocationRef& block);
// Reuses memory of the pool. Returns an error if it was written after it was freed.
Fault open_memory(const AllocationRef& block);

enum class Place { pageable, pinned, device, past_the_end, freed };

struct Where {
  Place place = Place::pageable;
  AllocationRef block;
};
// Finds where these bytes lie: with `usable` as the work of a stream sees them, else as the caller does.
Where locate(const void* pointer, size_t bytes, bool usable = false);

// Searches the arguments of a kernel for addresses of memory that is not the device's, or that was freed.
std::string misplaced_argument(const void* arguments, size_t bytes, int device);

size_t memory_of(int device);  // bytes that it has
size_t used_of(int device);
size_t owned_bytes(bool pinned);

}  // namespace srp::emulation
