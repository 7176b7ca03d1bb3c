// Arrays beside a page that nobody may touch: the processor itself stops what reaches over their end, masked vector loads and
// stores too, which no sanitizer sees, and in code that is compiled as it is shipped.
#pragma once
#include <cstddef>

namespace srp::test {

// Which end of an array has the page.
enum class Fence { kNone, kFront, kBehind };

// SURPRISAL_KERNELS_FENCE=front|behind. Of such a run a first line names the case that went astray.
Fence asked_fence();

class FencedArray {
 public:
  FencedArray(size_t bytes, Fence side);
  ~FencedArray();
  FencedArray(const FencedArray&) = delete;
  FencedArray& operator=(const FencedArray&) = delete;

  unsigned char* data() const { return data_; }
  // From now on writing is going astray as well.
  void forbid_writing() const;

 private:
  size_t page_, inner_;  // bytes of a page, and of the pages between the two forbidden ones
  unsigned char* memory_;  // the first forbidden page
  unsigned char* data_;
};

}  // namespace srp::test
