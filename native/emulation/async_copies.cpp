#include "async_copies.h"

#include "block.h"

namespace srp::emulation {

namespace {
std::string number(size_t n) { return std::to_string(n); }
}  // namespace

void AsyncCopies::reset(const char* memory, size_t bytes, unsigned threads) {
  if (!used_ && memory == memory_ && threads <= threads_.size()) return;  // most kernels copy nothing
  used_ = false;
  memory_ = memory;
  bytes_ = bytes;
  places_.assign(bytes / kPlace, Place{{kNever, kNever, kNever, kNever}, kNever, 0, kNever, 0, false, 0, 0});
  threads_.assign(threads, Asked{});
}

bool AsyncCopies::inside(const void* place, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(memory_), at = reinterpret_cast<uintptr_t>(place);
  return at >= begin && at + bytes <= begin + bytes_;
}

unsigned AsyncCopies::asker_of(const void* at, size_t bytes, unsigned but) const {
  const size_t first = static_cast<size_t>(static_cast<const char*>(at) - memory_);
  for (size_t byte = first; byte < first + bytes; byte += 4) {
    const unsigned asker = places_[byte / kPlace].askers[byte % kPlace / 4];
    if (asker != kNever && asker != but) return asker;
  }
  return kNever;
}

void AsyncCopies::set_asker(const void* at, size_t bytes, unsigned thread) {
  const size_t first = static_cast<size_t>(static_cast<const char*>(at) - memory_);
  for (size_t byte = first; byte < first + bytes; byte += 4) places_[byte / kPlace].askers[byte % kPlace / 4] = thread;
}

std::string AsyncCopies::begin(const AsyncCopy& copy, unsigned thread, unsigned phase) {
  const size_t bytes = copy.bytes;
  if (bytes != 4 && bytes != 8 && bytes != 16) return "copies " + number(bytes) + " bytes, expected 4, 8 or 16";
  if (copy.zeros > bytes) return "fills " + number(copy.zeros) + " of " + number(bytes) + " bytes with zeros";
  if (!inside(copy.to, bytes)) return "copies to what is not shared memory";
  if (reinterpret_cast<uintptr_t>(copy.to) % bytes != 0 || reinterpret_cast<uintptr_t>(copy.from) % bytes != 0)
    return "copies " + number(bytes) + " bytes from or to an address that is no multiple of them";
  used_ = true;
  Place& place = place_of(copy.to);
  const unsigned warp = thread / warpSize;
  const unsigned other = asker_of(copy.to, bytes, thread);
  if (other != kNever) return "copies to where a copy of thread " + number(other) + " is under way";
  if (place.reading > 0)
    return "copies over what products of warp " + number(place.read_by) + " read, which it has not waited for";
  if (place.read == phase && (place.readers & ~(1u << warp)) != 0)
    return "copies over what warp " + number(static_cast<size_t>(__builtin_ctz(place.readers & ~(1u << warp)))) +
           " has read since the last __syncthreads";
  set_asker(copy.to, bytes, thread);
  threads_[thread].copies.push_back(copy);
  ++threads_[thread].open;
  return {};
}

std::string AsyncCopies::read(const void* at, unsigned warp, unsigned phase) {
  if (!inside(at, kPlace)) return "reads what is not shared memory";
  if (reinterpret_cast<uintptr_t>(at) % kPlace != 0) return "reads a row that does not begin at a multiple of 16 bytes";
  used_ = true;
  Place& place = place_of(at);
  const unsigned asker = asker_of(at, kPlace, kNever);
  if (asker != kNever) return "reads what a copy of thread " + number(asker) + " has not brought yet";
  if (place.arrived == phase && place.arrived_by != warp)
    return "reads what a copy of warp " + number(place.arrived_by) + " brought, without a __syncthreads between";
  if (place.read != phase) place.readers = 0;
  place.read = phase;
  place.readers |= 1u << warp;
  return {};
}

std::string AsyncCopies::begin_read(const void* at, unsigned warp, unsigned phase) {
  const std::string broken = read(at, warp, phase);
  if (!broken.empty()) return broken;
  Place& place = place_of(at);
  if (place.arrived != kNever && !place.fenced)
    return "reads what a copy of warp " + number(place.arrived_by) + " brought, without its fence.proxy.async";
  ++place.reading;
  place.read_by = warp;
  return {};
}

void AsyncCopies::end_read(const void* at, unsigned warp, unsigned phase) {
  Place& place = place_of(at);
  --place.reading;
  if (place.read != phase) place.readers = 0;
  place.read = phase;
  place.readers |= 1u << warp;
}

std::string AsyncCopies::on_return(unsigned thread) const {
  if (thread >= threads_.size() || threads_[thread].copies.empty()) return {};
  return "returned while " + number(threads_[thread].copies.size()) +
         " of its copies to shared memory are under way, the first by __pipeline_memcpy_async " +
         describe(threads_[thread].copies.front().site);
}

void AsyncCopies::commit(unsigned thread) {
  used_ = true;
  Asked& mine = threads_[thread];
  mine.groups.push_back(mine.open);
  mine.open = 0;
}

void AsyncCopies::fence(unsigned thread) {
  if (thread >= threads_.size()) return;
  for (const char* at : threads_[thread].unfenced) place_of(at).fenced = true;
  threads_[thread].unfenced.clear();
}

const AsyncCopy* AsyncCopies::due(unsigned thread, size_t groups, unsigned phase) {
  if (thread >= threads_.size()) return nullptr;
  Asked& mine = threads_[thread];
  while (mine.groups.size() > groups) {
    if (mine.groups.front() == 0) {
      mine.groups.pop_front();
      continue;
    }
    --mine.groups.front();
    mine.done = mine.copies.front();
    mine.copies.pop_front();
    Place& place = place_of(mine.done.to);
    set_asker(mine.done.to, mine.done.bytes, kNever);
    place.arrived = phase;
    place.arrived_by = thread / warpSize;
    place.fenced = false;
    mine.unfenced.push_back(mine.done.to);
    return &mine.done;
  }
  return nullptr;
}

}  // namespace srp::emulation
