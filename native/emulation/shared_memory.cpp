#include "shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sanitizer.h"

namespace srp::emulation {

namespace {
constexpr size_t kRedZone = 32;
constexpr size_t kArena = SharedMemory::kMost + (32 << 10);  // red zones and alignment of several hundred arrays
constexpr size_t kAlignment = 16;                             // what CUDA gives to every shared array
// All bits set: a NaN as float, double and half, -1 as an integer. Uninitialised memory shows in the result.
constexpr int kPoison = 0xff;
}  // namespace

SharedMemory::SharedMemory() {
  arena_ = static_cast<char*>(std::aligned_alloc(128, kArena));
  if (!arena_) throw std::bad_alloc();
  free_ = arena_ + kArena;  // so that the first reset fills all of it
}

SharedMemory::~SharedMemory() {
  unpoison(arena_, kArena);
  std::free(arena_);
}

// Runs between blocks, never while threads of one block are alive: TSan sees this memset and must find it ordered.
void SharedMemory::reset(size_t dynamic_bytes, size_t limit) {
  unpoison(arena_, kArena);
  memset(arena_, kPoison, static_cast<size_t>(free_ - arena_));
  poison(arena_, kArena);
  regions_.clear();
  used_ = 0;
  limit_ = limit;
  free_ = arena_ + kRedZone;
  place(nullptr, dynamic_bytes, kAlignment);
}

size_t SharedMemory::bytes() const { return kArena; }

char* SharedMemory::place(const SharedArray* array, size_t bytes, size_t alignment) {
  const size_t offset = static_cast<size_t>(free_ - arena_);
  const size_t align = std::max(alignment, kAlignment);
  const size_t begin = (offset + align - 1) / align * align;
  if (used_ + bytes > limit_ || begin + bytes + kRedZone > kArena) return nullptr;
  used_ += bytes;
  free_ = arena_ + begin + bytes + kRedZone;
  unpoison(arena_ + begin, bytes);
  regions_.push_back({array, arena_ + begin, bytes});
  return arena_ + begin;
}

void* SharedMemory::find(const SharedArray& array, size_t bytes, size_t alignment) {
  for (const Region& region : regions_)
    if (region.array == &array) return region.begin;
  return place(&array, bytes, alignment);
}

std::string SharedMemory::overrun() const {
  if (has_asan()) return {};
  for (const Region& region : regions_) {
    const char* end = region.begin + region.bytes;
    const auto poisoned = [](char c) { return c == static_cast<char>(kPoison); };
    if (std::all_of(end, end + kRedZone, poisoned)) continue;
    if (!region.array) return "the dynamic shared memory of " + std::to_string(region.bytes) + " bytes";
    return std::string("shared array ") + region.array->name + " (" + region.array->site.file + ":" +
           std::to_string(region.array->site.line) + ")";
  }
  return {};
}

}  // namespace srp::emulation
