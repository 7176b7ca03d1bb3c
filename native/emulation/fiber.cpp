#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "sanitizer.h"

namespace srp::emulation {

namespace {
// Only pages that are touched cost memory. Under ASan frames are several times larger, for red zones around every local.
constexpr size_t kStackSize = 64 << 10;
constexpr size_t kStackSizeAsan = 256 << 10;
// For TSan a switch does not synchronise; the barriers declare what they order.
constexpr unsigned kNoSync = 1;
}  // namespace

Fiber::Fiber() : size_(has_asan() ? kStackSizeAsan : kStackSize) {
  const size_t guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mapping =
      mmap(nullptr, guard + size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  stack_ = mapping_ + guard;
  if (mprotect(mapping_, guard, PROT_NONE) != 0) {  // each guard is a mapping of its own, and those are limited
    munmap(mapping_, guard + size_);
    throw std::bad_alloc();
  }
}

Fiber::~Fiber() {
  if (tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
  unpoison(stack_, size_);
  munmap(mapping_, static_cast<size_t>(stack_ - mapping_) + size_);
}

void Fiber::start(void (*body)(void*), void* argument) {
  if (__tsan_create_fiber && !tsan_fiber_) tsan_fiber_ = __tsan_create_fiber(0);
  body_ = body;
  argument_ = argument;
  make_context(own_, stack_, size_, &Fiber::enter, this);
}

void Fiber::resume() {
  if (tsan_fiber_) tsan_owner_ = __tsan_get_current_fiber();
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&owner_fake_stack_, stack_, size_);
  if (tsan_fiber_) __tsan_switch_to_fiber(tsan_fiber_, kNoSync);
  switch_context(owner_, own_);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(owner_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() {
  leave(false);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake_stack_, &owner_stack_, &owner_stack_size_);
}

void Fiber::abandon(void* tag) {
  unpoison(stack_, size_);  // the frames that are left on it
  fake_stack_ = nullptr;
  if (!tsan_fiber_) return;
  // TSan keeps the calls that have not returned with the fiber, so it cannot be used again. Speaking in its name for a
  // moment, without its stack, is enough to release what it did.
  void* me = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, kNoSync);
  release(tag);
  __tsan_switch_to_fiber(me, kNoSync);
  __tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = nullptr;
}

// Null in place of the fake stack tells ASan that this stack will not be taken up again.
void Fiber::leave(bool for_ever) {
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake_stack_, owner_stack_, owner_stack_size_);
  if (tsan_fiber_) __tsan_switch_to_fiber(tsan_owner_, kNoSync);
  switch_context(own_, owner_);
}

void Fiber::enter(void* self) {
  auto* fiber = static_cast<Fiber*>(self);
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(nullptr, &fiber->owner_stack_, &fiber->owner_stack_size_);
  fiber->body_(fiber->argument_);
  fiber->leave(true);
}

}  // namespace srp::emulation
