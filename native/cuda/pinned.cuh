// Page-locked host memory, through which host arrays travel. It is kept, since the driver is slow to lend it.
#pragma once
#include <cstddef>
#include <mutex>

#include "errors.cuh"

namespace srp::cuda {

struct Pinned {
  unsigned char* pointer;
  size_t bytes;
  cudaEvent_t event;  // behind the last copy from or to it
  Pinned* next;
};

class PinnedMemory {
 public:
  // At least `bytes`, with nothing under way. Where the copies before have all of it, waits for the oldest. NULL in *out
  // with SRP_OK: the driver has none; copy without it.
  srp_status borrow(size_t bytes, Pinned** out);
  // Memory that will not come back before a graph ends: never waits.
  srp_status make(size_t bytes, Pinned** out);
  // `stream`: whose copies use it; NULL = they are over.
  srp_status give_back(Pinned* memory, cudaStream_t stream);
  // To the driver: one, or all that is kept.
  void destroy(Pinned* memory);
  void trim();

 private:
  static constexpr int kClasses = 24;
  // Kept, or lent for a copy: chunks on their way, and reads off the event loop. More is lent, and goes back at once.
  static constexpr size_t kEnough = size_t{256} << 20;

  Pinned* pop(size_t size, bool any);

  std::mutex mutex_;
  Pinned* kept_[kClasses] = {};  // by size, oldest first
  size_t total_ = 0;
};

}  // namespace srp::cuda
