// What was asked for a kernel.
#pragma once
#include <cstddef>

namespace srp::emulation {

// Bytes of dynamic shared memory that it may be launched with on the current device.
size_t shared_bytes_allowed(const void* function);
// Bytes of all its shared memory, static and dynamic: more than usual where some dynamic bytes were asked for.
size_t shared_bytes_in_all(const void* function);

}  // namespace srp::emulation
