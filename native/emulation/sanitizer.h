// Hooks that inform the sanitizers: which stack is in use, which memory is out of bounds, which work happens before which.
//
// The hooks are weak: absent, they are null and cost a test. So one text serves plain, ASan and TSan programs, and it is
// the linked runtime that decides. Never compile native/emulation with -fsanitize=thread: TSan would report the scheduler
// for reading the threads that it schedules, and the scheduler's returns would unbalance their stacks.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#error "compile native/emulation/*.cpp without -fsanitize=thread; link with it"
#endif

#define SRP_WEAK __attribute__((weak))
extern "C" {
SRP_WEAK void __asan_poison_memory_region(const volatile void* begin, size_t size);
SRP_WEAK void __asan_unpoison_memory_region(const volatile void* begin, size_t size);
SRP_WEAK void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom, size_t size);
SRP_WEAK void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old, size_t* size_old);
SRP_WEAK void* __tsan_get_current_fiber(void);
SRP_WEAK void* __tsan_create_fiber(unsigned flags);
SRP_WEAK void __tsan_destroy_fiber(void* fiber);
SRP_WEAK void __tsan_switch_to_fiber(void* fiber, unsigned flags);
SRP_WEAK void __tsan_release(void* address);
SRP_WEAK void __tsan_acquire(void* address);
}
#undef SRP_WEAK

namespace srp::emulation {

inline bool has_asan() { return __asan_poison_memory_region != nullptr; }

inline void poison(const void* begin, size_t size) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(begin, size);
}
inline void unpoison(const void* begin, size_t size) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(begin, size);
}

// All that came before release(tag) in one CUDA thread happens before all that follows acquire(tag) in another.
inline void release(void* tag) {
  if (__tsan_release) __tsan_release(tag);
}
inline void acquire(void* tag) {
  if (__tsan_acquire) __tsan_acquire(tag);
}

}  // namespace srp::emulation
