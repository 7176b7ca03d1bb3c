#include "context.h"

#include <cstdint>

#if defined(SRP_FIBER_ASSEMBLER)

extern "C" void srp_context_switch(void** save_stack_pointer, void* load_stack_pointer);
extern "C" void srp_context_start();

#if defined(__x86_64__)
// Callee-saved registers of the System V ABI. MXCSR and the x87 control word are left alone: kernels do not change them.
// A new stack is made to look as if it had been switched away from: r12 holds the argument, r13 the entry.
asm(R"(
.text
.p2align 4
.globl srp_context_switch
.hidden srp_context_switch
.type srp_context_switch, @function
srp_context_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size srp_context_switch, .-srp_context_switch

.p2align 4
.globl srp_context_start
.hidden srp_context_start
.type srp_context_start, @function
srp_context_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
.size srp_context_start, .-srp_context_start
)");

namespace {
// What the pops above take from a stack, lowest address first.
struct Frame {
  void *r15, *r14, *r13, *r12, *rbx, *rbp, *return_address;
};
}  // namespace

static void fill(Frame& frame, void (*entry)(void*), void* argument) {
  frame.r13 = reinterpret_cast<void*>(entry);
  frame.r12 = argument;
  frame.return_address = reinterpret_cast<void*>(&srp_context_start);
}

#else
// Callee-saved registers of the AArch64 procedure call standard, of the vector registers the low halves d8-d15.
// x19 holds the argument of a new stack, x20 the entry; the switch returns to x30.
asm(R"(
.text
.p2align 4
.globl srp_context_switch
.hidden srp_context_switch
.type srp_context_switch, %function
srp_context_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size srp_context_switch, .-srp_context_switch

.p2align 4
.globl srp_context_start
.hidden srp_context_start
.type srp_context_start, %function
srp_context_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
.size srp_context_start, .-srp_context_start
)");

namespace {
struct Frame {
  void *x19, *x20, *x21, *x22, *x23, *x24, *x25, *x26, *x27, *x28, *x29, *x30;
  uint64_t d8_to_d15[8];
};
}  // namespace
static_assert(sizeof(Frame) == 160, "the assembler above moves the stack pointer by 160");

static void fill(Frame& frame, void (*entry)(void*), void* argument) {
  frame.x19 = argument;
  frame.x20 = reinterpret_cast<void*>(entry);
  frame.x30 = reinterpret_cast<void*>(&srp_context_start);
}
#endif

namespace srp::emulation {

void make_context(Context& context, char* stack, size_t size, void (*entry)(void*), void* argument) {
  // Both ABIs want 16-byte alignment at the call in srp_context_start, where the frame has just been popped.
  const uintptr_t top = reinterpret_cast<uintptr_t>(stack + size) & ~uintptr_t{15};
  auto* frame = reinterpret_cast<Frame*>(top - sizeof(Frame));
  *frame = Frame{};  // a zero frame pointer ends the walk of debuggers and sanitizers
  fill(*frame, entry, argument);
  context.stack_pointer = frame;
}

void switch_context(Context& save, Context& load) { srp_context_switch(&save.stack_pointer, load.stack_pointer); }

}  // namespace srp::emulation

#else

// makecontext passes ints only: a pointer goes as two halves.
static void start(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low) {
  const auto join = [](unsigned high, unsigned low) { return static_cast<uintptr_t>(uint64_t{high} << 32 | low); };
  reinterpret_cast<void (*)(void*)>(join(entry_high, entry_low))(
      reinterpret_cast<void*>(join(argument_high, argument_low)));
}

namespace srp::emulation {

void make_context(Context& context, char* stack, size_t size, void (*entry)(void*), void* argument) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = size;
  context.state.uc_link = nullptr;
  const uint64_t e = reinterpret_cast<uintptr_t>(entry), a = reinterpret_cast<uintptr_t>(argument);
  makecontext(&context.state, reinterpret_cast<void (*)()>(start), 4, static_cast<unsigned>(e >> 32),
              static_cast<unsigned>(e), static_cast<unsigned>(a >> 32), static_cast<unsigned>(a));
}

void switch_context(Context& save, Context& load) { swapcontext(&save.state, &load.state); }

}  // namespace srp::emulation

#endif
