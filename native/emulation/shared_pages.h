// Device memory that another process can open: pages of a file without a name, which the other one finds among the open
// files of its owner. Only with SURPRISAL_EMULATION_IPC: such memory has no red zones under ASan.
#pragma once
#include <cstddef>

#include "runtime.h"

namespace srp::emulation {

// Pages mapped into this process. The owner keeps the file open; a process that opened a handle has no file.
struct SharedPages {
  char* begin = nullptr;
  size_t bytes = 0;  // whole pages
  int file = -1;
};

// Both leave `pages` empty where they fail.
bool make_pages(size_t bytes, SharedPages& pages);
// Maps `bytes` of another process's memory by its handle; false for a handle of this process, or a stale one.
bool open_pages(const cudaIpcMemHandle_t& handle, SharedPages& pages, size_t& bytes);
void drop_pages(SharedPages& pages);

cudaIpcMemHandle_t handle_of(const SharedPages& pages, size_t bytes);

}  // namespace srp::emulation
