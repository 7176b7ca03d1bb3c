// Which kernels have run, by their names in SRP_LAUNCH: tests check that none is missing.
#pragma once
#include <cstddef>

namespace srp::emulation {

void note_kernel(const char* name);

}  // namespace srp::emulation

// Writes the names so far, one on each line, as many as fit. Returns how many bytes all of them need, with the final 0.
extern "C" __attribute__((visibility("default"))) size_t srp_emulation_kernels(char* out, size_t bytes);
