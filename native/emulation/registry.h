// Which memory there is: of devices, from cudaMalloc and from pools, and pinned. Memory of the host's heap, so that under
// ASan each allocation has the heap's own red zones.
//
// What is given back stays for a while, filled with NaNs and closed to ASan: a kernel that is handed its address is
// refused, and who writes to it is found when it is used again.
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
  // Where it was given back: work behind that ticket may have it again.
  StreamRef stream;
  Stream::Ticket ticket = 0;
};

using AllocationRef = std::shared_ptr<Allocation>;

// Null where the device has not as much. Fresh bytes are all ones.
AllocationRef take(Kind kind, int device, size_t bytes);
// From a pool: memory that this stream, or one that is done with it, gave back, or fresh memory. Not usable before
// open_memory() is called in stream order.
AllocationRef take_from_pool(const StreamRef& stream, size_t bytes);
AllocationRef pin(void* pointer, size_t bytes);
// Memory of another process; null where the handle stands for none.
AllocationRef adopt(const cudaIpcMemHandle_t& handle, int device);

// The block that begins there, if its caller still owns it.
AllocationRef owned_allocation(const void* pointer);
// Takes it away from its caller. What streams still do with it may go on.
void disown(const AllocationRef& block, const StreamRef& stream, Stream::Ticket ticket);
// From here on nobody may use it.
void close_memory(const AllocationRef& block);
// The pool's memory begins a new life. Says if somebody wrote to it between the two.
Fault open_memory(const AllocationRef& block);

enum class Place { pageable, pinned, device, past_the_end, freed };

struct Where {
  Place place = Place::pageable;
  AllocationRef block;
};
// Where these bytes lie. `usable`: as a stream's work sees it, else as the caller does.
Where locate(const void* pointer, size_t bytes, bool usable = false);

// Looks at the arguments of a kernel for addresses of memory that is not the device's, or that was freed.
std::string misplaced_argument(const void* arguments, size_t bytes, int device);

size_t memory_of(int device);  // bytes that it has
size_t used_of(int device);
size_t owned_bytes(bool pinned);

}  // namespace srp::emulation
