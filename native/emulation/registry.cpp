#include "registry.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "process_wide.h"
#include "sanitizer.h"
#include "settings.h"

namespace srp::emulation {

namespace {

constexpr size_t kAlignment = 256;         // of cudaMalloc
constexpr int kFresh = 0xff;               // all bits set: NaN, or -1
constexpr size_t kMostFilled =
    size_t{1} << 30;  // of cudaMalloc: the host has pages for the written parts of larger ones alone
constexpr size_t kMostKept = size_t{32} << 20;  // bytes that were freed and stay poisoned
constexpr size_t kPage = 4096;                  // the least that a block of pages takes

struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, AllocationRef> blocks;  // by their begin
  std::deque<AllocationRef> closed;           // oldest first
  size_t closed_bytes = 0;
  size_t used[kMostDevices] = {};
  size_t pinned = 0;
};

Registry& registry() { return process_wide<Registry>(); }

uintptr_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The block that has this byte. The caller holds the lock.
AllocationRef allocation_with(uintptr_t byte) {
  auto& r = registry();
  auto next = r.blocks.upper_bound(byte);
  if (next == r.blocks.begin()) return nullptr;
  const AllocationRef& block = (--next)->second;
  return byte - address(block->begin) < block->bytes ? block : nullptr;
}

bool has_room(int device, size_t bytes) {
  const size_t all = memory_of(device), used = registry().used[device];
  return used <= all && bytes <= all - used;
}

size_t taken_by(const Allocation& block) { return std::max(block.bytes, kPage); }

// Releases the blocks that were freed longest ago. The caller holds the lock, and must drop them after releasing it.
std::deque<AllocationRef> surplus() {
  auto& r = registry();
  std::deque<AllocationRef> gone;
  while (r.closed_bytes > kMostKept && !r.closed.empty()) {
    r.closed_bytes -= taken_by(*r.closed.front());
    r.blocks.erase(address(r.closed.front()->begin));
    gone.push_back(std::move(r.closed.front()));
    r.closed.pop_front();
  }
  return gone;
}

void fill_fresh(Kind kind, void* memory, size_t bytes) {
  if (kind == Kind::pool || bytes <= kMostFilled) memset(memory, kFresh, bytes);
}

// Under ASan the heap, which has red zones. Otherwise pages of their own, far up: the heap of a program that is not
// position-independent, as Node's, lies between 0 and a few GiB, where numbers among a kernel's arguments would look like addresses.
char* fresh_memory(size_t bytes) {
  void* memory = nullptr;
  if (has_asan()) return posix_memalign(&memory, kAlignment, bytes) == 0 ? static_cast<char*>(memory) : nullptr;
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

void drop_memory(char* begin, size_t bytes) {
  if (has_asan())
    std::free(begin);
  else
    munmap(begin, bytes);
}

const char* described(const Allocation& block) {
  return block.kind == Kind::pinned ? "pinned memory" : "device memory";
}

}  // namespace

Allocation::~Allocation() {
  if (begin && !foreign) unpoison(begin, bytes);
  if (pages.begin)
    drop_pages(pages);
  else if (begin && !foreign)
    drop_memory(begin, bytes);
}

size_t memory_of(int) {
  const size_t limit = current_settings().memory;
  if (limit != 0) return limit;
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t used_of(int device) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  return r.used[device];
}

size_t owned_bytes(bool pinned) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  size_t all = 0;
  for (const size_t used : r.used) all += used;
  return pinned ? r.pinned : all;
}

AllocationRef take(Kind kind, int device, size_t bytes) {
  auto& r = registry();
  const bool pinned = kind == Kind::pinned;
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    if (pinned ? bytes > memory_of(device) : !has_room(device, bytes)) return nullptr;
    (pinned ? r.pinned : r.used[device]) += bytes;
  }
  auto block = std::make_shared<Allocation>(kind, device, bytes);
  if (kind == Kind::device && current_settings().ipc) {
    if (make_pages(bytes, block->pages)) block->begin = block->pages.begin;
  } else {
    block->begin = fresh_memory(bytes);
  }
  if (block->begin) fill_fresh(kind, block->begin, bytes);
  std::lock_guard<std::mutex> lock(r.mutex);
  if (!block->begin) {
    (pinned ? r.pinned : r.used[device]) -= bytes;
    return nullptr;
  }
  r.blocks[address(block->begin)] = block;
  return block;
}

AllocationRef take_from_pool(const StreamRef& stream, size_t bytes) {
  auto& r = registry();
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    const auto fits = [&](const AllocationRef& block) {
      return block->kind == Kind::pool && block->device == stream->device() && block->bytes == bytes &&
             (block->stream == stream || block->stream->done(block->ticket));
    };
    const auto found = std::find_if(r.closed.rbegin(), r.closed.rend(), fits);
    if (found != r.closed.rend() && has_room(stream->device(), bytes)) {
      const AllocationRef block = *found;
      r.closed.erase(std::next(found).base());
      r.closed_bytes -= taken_by(*block);
      r.used[block->device] += bytes;
      block->owned = true;
      block->stream = nullptr;
      return block;
    }
  }
  const AllocationRef fresh = take(Kind::pool, stream->device(), bytes);
  if (fresh) {
    std::lock_guard<std::mutex> lock(r.mutex);
    fresh->usable = false;
    poison(fresh->begin, fresh->bytes);
  }
  return fresh;
}

AllocationRef pin(void* pointer, size_t bytes) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  const auto next = r.blocks.lower_bound(address(pointer));
  if (allocation_with(address(pointer)) || (next != r.blocks.end() && next->first < address(pointer) + bytes))
    return nullptr;
  auto block = std::make_shared<Allocation>(Kind::pinned, 0, bytes);
  block->begin = static_cast<char*>(pointer);
  block->foreign = true;
  r.blocks[address(pointer)] = block;
  r.pinned += bytes;
  return block;
}

AllocationRef adopt(const cudaIpcMemHandle_t& handle, int device) {
  SharedPages pages;
  size_t bytes = 0;
  if (!open_pages(handle, pages, bytes)) return nullptr;
  auto block = std::make_shared<Allocation>(Kind::device, device, bytes);
  block->begin = pages.begin;
  block->foreign = true;
  block->pages = pages;
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.used[device] += bytes;
  r.blocks[address(pages.begin)] = block;
  return block;
}

AllocationRef owned_allocation(const void* pointer) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  const auto found = r.blocks.find(address(pointer));
  return found != r.blocks.end() && found->second->owned ? found->second : nullptr;
}

void disown(const AllocationRef& block, const StreamRef& stream, Stream::Ticket ticket) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  block->owned = false;
  (block->kind == Kind::pinned ? r.pinned : r.used[block->device]) -= block->bytes;
  if (block->foreign) {
    r.blocks.erase(address(block->begin));
    return;
  }
  block->stream = stream;
  block->ticket = ticket;
  r.closed.push_back(block);
  r.closed_bytes += taken_by(*block);
}

void close_memory(const AllocationRef& block) {
  std::deque<AllocationRef> gone;
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  block->usable = false;
  if (!block->foreign) {
    fill_fresh(block->kind, block->begin, block->bytes);
    poison(block->begin, block->bytes);
  }
  gone = surplus();
}

Fault open_memory(const AllocationRef& block) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  unpoison(block->begin, block->bytes);
  block->usable = true;
  const auto fresh = [](char byte) { return byte == static_cast<char>(kFresh); };
  const char* const end = block->begin + block->bytes;
  const char* const written = std::find_if_not(static_cast<const char*>(block->begin), end, fresh);
  if (written == end) return {};
  std::memset(block->begin, kFresh, block->bytes);
  return {cudaErrorIllegalAddress, "byte " + std::to_string(written - block->begin) + " of " +
                                       std::to_string(block->bytes) +
                                       " was written after cudaFreeAsync gave them back"};
}

Where locate(const void* pointer, size_t bytes, bool usable) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  const AllocationRef block = allocation_with(address(pointer));
  if (!block) return {};
  if (!(usable ? block->usable : block->owned)) return {Place::freed, block};
  const size_t offset = address(pointer) - address(block->begin);
  if (bytes > block->bytes - offset) return {Place::past_the_end, block};
  return {block->kind == Kind::pinned ? Place::pinned : Place::device, block};
}

// Looks at every aligned word. A number that equals one of these few addresses by chance is not to be expected.
std::string misplaced_argument(const void* arguments, size_t bytes, int device) {
  auto& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
    uintptr_t word;
    memcpy(&word, static_cast<const char*>(arguments) + at, sizeof word);
    const AllocationRef block = allocation_with(word);
    if (!block) continue;
    const std::string what =
        "an argument points into " + std::to_string(block->bytes) + " bytes of " + described(*block);
    if (!block->usable) return what + (block->owned ? " that its stream has not allocated yet" : " that were freed");
    if (block->kind != Kind::pinned && block->device != device)
      return what + " of device " + std::to_string(block->device) + " while the kernel runs on device " +
             std::to_string(device);
  }
  return {};
}

}  // namespace srp::emulation
