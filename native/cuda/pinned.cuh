// Page-locked host memory, through which host arrays travel. It is kept, since the driver is slow to allocate it.
#pragma once
#include <cstddef>
#include <mutex>

#include "errors.cuh"

namespace srp::cuda {

struct Pinned {
  unsigned char* pointer;
  size_t bytes;
  cudaEvent_t event;  // recorded behind the last copy from or to it
  Pinned* next;
};

class PinnedMemory {
 public:
  // Lends at least `bytes`, which no copy uses. If copies use all there is, it waits for the oldest. NULL in *out with SRP_OK:
  // the driver has none; copy without it.
  srp_status borrow(size_t bytes, Pinned** out);
  // Lends memory until a graph ends; it never waits.
  srp_status make(size_t bytes, Pinned** out);
  // `stream`: the one whose copies use it; NULL = they are done.
  srp_status give_back(Pinned* memory, cudaStream_t stream);
  // Returns memory to the driver: one piece, or all that is kept.
  void destroy(Pinned* memory);
  void trim();

 private:
  static constexpr int kClasses = 24;
  // Bytes to keep, lent or not. Memory beyond it is returned to the driver as soon as it is given back.
  static constexpr size_t kEnough = size_t{256} << 20;

  Pinned* pop(size_t size, bool any);

  std::mutex mutex_;
  Pinned* kept_[kClasses] = {};  // by size, oldest first
  size_t total_ = 0;
};

}  // namespace srp::cuda
