// Copies to shared memory that run beside the threads that asked for them, as one block sees them.
//
// What a copy will bring is 0xff until its thread waits for it. The rules are those of cp.async: only the thread that asked can
// wait, others see the copy behind the next __syncthreads; a place that others have read since the last one must not be copied
// to. Matrix loads (matrix.h) tell which places were read.
#pragma once
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "machine.h"

namespace srp::emulation {

class AsyncCopies {
 public:
  // A new block of `threads`, whose shared memory is [memory, memory + bytes).
  void reset(const char* memory, size_t bytes, unsigned threads);

  // Each returns the rule that was broken, or nothing. `phase`: how many __syncthreads the block has passed.
  std::string begin(const AsyncCopy& copy, unsigned thread, unsigned phase);
  std::string read(const void* place, unsigned warp, unsigned phase);
  // The same by a product of a warpgroup, which goes on reading until `end_read`.
  std::string begin_read(const void* place, unsigned warp, unsigned phase);
  void end_read(const void* place, unsigned warp, unsigned phase);
  std::string on_return(unsigned thread) const;

  void commit(unsigned thread);
  void fence(unsigned thread);
  // The thread's next copy that must be done so that no more than `groups` are under way. Null: none.
  const AsyncCopy* due(unsigned thread, size_t groups, unsigned phase);

 private:
  static constexpr size_t kPlace = 16;  // bytes
  struct Place {
    std::array<unsigned, 4> askers;  // of each 4 bytes: the thread whose copy is under way, or kNever
    unsigned arrived, arrived_by;  // phase in which a copy came, and its warp
    unsigned read;  // phase in which it was read
    uint32_t readers;  // warps
    bool fenced;  // what arrived is there for products of warpgroups, too
    unsigned reading, read_by;  // products that are not waited for, and the warp of the last
  };
  struct Asked {
    std::deque<AsyncCopy> copies;
    std::deque<size_t> groups;  // copies of each committed group that is under way
    size_t open = 0;  // copies that are in no group yet
    std::vector<const char*> unfenced;  // where its copies arrived
    AsyncCopy done{};
  };
  static constexpr unsigned kNever = ~0u;

  // The thread of a copy that is under way to some of these bytes, other than `but`; kNever without one.
  unsigned asker_of(const void* at, size_t bytes, unsigned but) const;
  void set_asker(const void* at, size_t bytes, unsigned thread);
  bool inside(const void* place, size_t bytes) const;
  Place& place_of(const void* at) {
    return places_[static_cast<size_t>(static_cast<const char*>(at) - memory_) / kPlace];
  }

  const char* memory_ = nullptr;
  size_t bytes_ = 0;
  bool used_ = true;
  std::vector<Place> places_;
  std::vector<Asked> threads_;
};

}  // namespace srp::emulation
