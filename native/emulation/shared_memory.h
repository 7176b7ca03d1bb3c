// The shared memory of one block: arrays are placed when a thread first names them, with red zones between them.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "machine.h"

namespace srp::emulation {

class SharedMemory {
 public:
  // What a kernel gets on every device without opting in to more: static and dynamic together.
  static constexpr size_t kLimit = 48 << 10;
  // What it gets where it has (functions.cpp), as on sm_90.
  static constexpr size_t kMost = 227 << 10;

  SharedMemory();  // throws std::bad_alloc
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // A new block: nothing placed but the launch's dynamic bytes, every byte a NaN's. `limit`: of all arrays.
  void reset(size_t dynamic_bytes, size_t limit);
  // The storage of this array, the same for every thread. Null when limit() is passed.
  void* find(const SharedArray& array, size_t bytes, size_t alignment);
  void* dynamic() const { return regions_.front().begin; }
  size_t used() const { return used_; }
  size_t limit() const { return limit_; }
  // Of all arrays, with what lies between them.
  const char* begin() const { return arena_; }
  size_t bytes() const;
  // The name of an array behind whose end a thread wrote, or empty. ASan stops at the write itself, and at reads too.
  std::string overrun() const;

 private:
  struct Region {
    const SharedArray* array;  // null: the dynamic memory
    char* begin;
    size_t bytes;
  };
  char* place(const SharedArray* array, size_t bytes, size_t alignment);

  char* arena_;
  char* free_;       // first byte behind the last region's red zone
  size_t used_ = 0;  // bytes of all regions
  size_t limit_ = kLimit;
  std::vector<Region> regions_;
};

}  // namespace srp::emulation
