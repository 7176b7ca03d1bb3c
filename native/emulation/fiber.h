// A stack that can be left in the middle of a call and resumed later.
#pragma once
#include <cstddef>

#include "context.h"

namespace srp::emulation {

class Fiber {
 public:
  Fiber();  // throws std::bad_alloc where the system has no memory for a stack
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() calls body(argument).
  void start(void (*body)(void*), void* argument);
  // Called by the owner: runs the body until it suspends or returns.
  void resume();
  // Called by the body: back to the owner.
  void suspend();
  // Called by the owner, of a body that is suspended and shall never go on. Its destructors do not run, which kernels do
  // not have, and no exception needs to travel through them. What it did so far is released to `tag` (sanitizer.h).
  void abandon(void* tag);

 private:
  static void enter(void* self);
  void leave(bool for_ever);

  char* mapping_;  // guard page, then the stack
  char* stack_;
  size_t size_;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  Context own_, owner_;
  // Book-keeping of the sanitizers; null without them.
  void* tsan_fiber_ = nullptr;
  void* tsan_owner_ = nullptr;
  void* fake_stack_ = nullptr;
  void* owner_fake_stack_ = nullptr;
  const void* owner_stack_ = nullptr;
  size_t owner_stack_size_ = 0;
};

}  // namespace srp::emulation
