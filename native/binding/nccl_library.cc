#include "nccl_library.h"

#include <mutex>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

namespace srp::binding {

std::string NcclLibrary::text_of(int code, NcclComm comm) const {
  std::string text = get_error_string(code);
  const char* const last = get_last_error(comm);
  if (last && *last) text += std::string(": ") + last;
  return text;
}

#if defined(_WIN32)

const NcclLibrary* open_nccl(const std::string&, std::string* why) {
  *why = "NCCL is not there on Windows";
  return nullptr;
}

#else

namespace {

std::string version_text(int code) {
  // 2.8 and older wrote major, minor and patch in a digit each.
  const int major = code < 10000 ? code / 1000 : code / 10000;
  const int minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

bool find_functions(void* handle, const std::string& name, NcclLibrary* library, std::string* why) {
  const struct {
    const char* name;
    void** at;
  } functions[] = {
      {"ncclGetVersion", reinterpret_cast<void**>(&library->get_version)},
      {"ncclGetUniqueId", reinterpret_cast<void**>(&library->get_unique_id)},
      {"ncclGetErrorString", reinterpret_cast<void**>(&library->get_error_string)},
      {"ncclGetLastError", reinterpret_cast<void**>(&library->get_last_error)},
      {"ncclCommInitRankConfig", reinterpret_cast<void**>(&library->comm_init_rank_config)},
      {"ncclCommFinalize", reinterpret_cast<void**>(&library->comm_finalize)},
      {"ncclCommDestroy", reinterpret_cast<void**>(&library->comm_destroy)},
      {"ncclCommAbort", reinterpret_cast<void**>(&library->comm_abort)},
      {"ncclCommGetAsyncError", reinterpret_cast<void**>(&library->comm_get_async_error)},
      {"ncclAllGather", reinterpret_cast<void**>(&library->all_gather)},
      {"ncclBroadcast", reinterpret_cast<void**>(&library->broadcast)},
  };
  for (const auto& function : functions) {
    *function.at = dlsym(handle, function.name);
    if (*function.at) continue;
    *why = name + " has no function " + function.name + ": it is no NCCL library, or older than NCCL 2.14";
    return false;
  }
  const int code = library->get_version(&library->version);
  if (code == kNcclSuccess && library->version >= kNcclOldest) return true;
  *why = code == kNcclSuccess
             ? name + " is NCCL " + version_text(library->version) + ", and 2.14 is the oldest that can be polled"
             : name + " does not tell its version: " + library->get_error_string(code);
  return false;
}

}  // namespace

const NcclLibrary* open_nccl(const std::string& name, std::string* why) {
  static std::mutex mutex;
  static NcclLibrary found;
  static bool done;
  const std::lock_guard<std::mutex> lock(mutex);
  if (done) return &found;
  // It has threads of its own, which must keep their code.
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    *why = dlerror();
    return nullptr;
  }
  done = find_functions(handle, name, &found, why);
  return done ? &found : nullptr;
}

#endif

}  // namespace srp::binding
