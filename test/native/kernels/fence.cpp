#include "fence.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace srp::test {
namespace {

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(2);
}

}  // namespace

Fence asked_fence() {
  const char* const side = getenv("SURPRISAL_KERNELS_FENCE");
  if (!side || !*side) return Fence::kNone;
  if (!strcmp(side, "front")) return Fence::kFront;
  if (!strcmp(side, "behind")) return Fence::kBehind;
  fprintf(stderr, "SURPRISAL_KERNELS_FENCE is \"%s\", expected front or behind\n", side);
  exit(2);
}

FencedArray::FencedArray(size_t bytes, Fence side)
    : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), inner_((bytes / page_ + 1) * page_) {
  void* const all = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) fail("mmap");
  memory_ = static_cast<unsigned char*>(all);
  if (mprotect(memory_ + page_, inner_, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
  data_ = memory_ + page_ + (side == Fence::kBehind ? inner_ - bytes : 0);
}

FencedArray::~FencedArray() { munmap(memory_, inner_ + 2 * page_); }

void FencedArray::forbid_writing() const {
  if (mprotect(memory_ + page_, inner_, PROT_READ) != 0) fail("mprotect");
}

}  // namespace srp::test
