// Saves where one stack stands and continues another: the whole of a context switch.
//
// Assembler on x86-64 and AArch64 (ELF): only the registers a callee must preserve, no system call. ucontext elsewhere:
// it saves the signal mask with a system call at each switch, which makes it about ten times slower.
#pragma once
#include <cstddef>

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(SRP_FIBER_UCONTEXT)
#define SRP_FIBER_ASSEMBLER 1
#else
#include <ucontext.h>
#endif

namespace srp::emulation {

struct Context {
#if defined(SRP_FIBER_ASSEMBLER)
  void* stack_pointer = nullptr;
#else
  ucontext_t state;
#endif
};

// The first switch to the context calls entry(argument) on the given stack. entry must never return.
void make_context(Context& context, char* stack, size_t size, void (*entry)(void*), void* argument);
void switch_context(Context& save, Context& load);

}  // namespace srp::emulation
