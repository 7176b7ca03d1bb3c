// Which kernels have run, by their names in SRP_LAUNCH: tests ask whether they forgot one.
#pragma once
#include <cstddef>

namespace srp::emulation {

void note_kernel(const char* name);

}  // namespace srp::emulation

// The names so far, a line each, as many as fit. Answers how many bytes all of them need, with the 0 at the end.
extern "C" __attribute__((visibility("default"))) size_t srp_emulation_kernels(char* out, size_t bytes);
