#include "shared_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace srp::emulation {

namespace {

constexpr uint64_t kMark = 0x3130656c646e6168;  // "handle01"

// The inode tells whether the owner has closed the file and opened another under the same descriptor.
struct Handle {
  uint64_t mark, bytes, inode;
  int32_t process, file;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t), "it travels in a handle of CUDA's size");

bool map(int file, size_t bytes, SharedPages& pages) {
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (begin == MAP_FAILED) return false;
  pages.begin = static_cast<char*>(begin);
  pages.bytes = bytes;
  return true;
}

size_t whole_pages(size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

uint64_t inode_of(int file) {
  struct statx facts = {};  // fstat is a name of glibc 2.33
  return statx(file, "", AT_EMPTY_PATH, STATX_INO, &facts) == 0 ? facts.stx_ino : 0;
}

}  // namespace

bool make_pages(size_t bytes, SharedPages& pages) {
  const size_t size = whole_pages(bytes);
  const int file = memfd_create("emulated-device", MFD_CLOEXEC);
  if (file < 0) return false;
  if (ftruncate(file, static_cast<off_t>(size)) != 0 || !map(file, size, pages)) {
    close(file);
    return false;
  }
  pages.file = file;
  return true;
}

bool open_pages(const cudaIpcMemHandle_t& handle, SharedPages& pages, size_t& bytes) {
  Handle known;
  memcpy(&known, &handle, sizeof known);
  if (known.mark != kMark || known.process == static_cast<int32_t>(getpid())) return false;
  const std::string path = "/proc/" + std::to_string(known.process) + "/fd/" + std::to_string(known.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool mapped = inode_of(file) == known.inode && map(file, whole_pages(known.bytes), pages);
  close(file);  // the mapping keeps the pages
  bytes = known.bytes;
  return mapped;
}

void drop_pages(SharedPages& pages) {
  if (pages.begin) munmap(pages.begin, pages.bytes);
  if (pages.file >= 0) close(pages.file);
  pages = {};
}

cudaIpcMemHandle_t handle_of(const SharedPages& pages, size_t bytes) {
  const Handle known = {kMark, bytes, inode_of(pages.file), static_cast<int32_t>(getpid()), pages.file};
  cudaIpcMemHandle_t handle = {};
  memcpy(&handle, &known, sizeof known);
  return handle;
}

}  // namespace srp::emulation
