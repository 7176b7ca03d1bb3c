// What the C and C++ libraries would ask a system for, and there is none: so the module imports nothing.
#include <stdint.h>
#include <stdlib.h>

#include <__verbose_abort>

// There is no environment to name a level in.
extern "C" char* getenv(const char*) { return nullptr; }

// Messages would go to standard error: of libc++, and of printf for a long double.
[[noreturn]] void std::__libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }

constexpr int32_t kBadFile = 8;  // WASI's errno
extern "C" int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t, int32_t, int32_t, int32_t) { return kBadFile; }
extern "C" int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t, int64_t, int32_t, int32_t) { return kBadFile; }
extern "C" int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t) { return kBadFile; }
