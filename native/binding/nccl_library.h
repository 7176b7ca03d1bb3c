// NCCL, opened when it is first asked for. Its few functions are declared here, so that no header of it is needed: what they take
// has been the same since 2.14, the first version whose communicators do not wait.
#ifndef SURPRISAL_BINDING_NCCL_LIBRARY_H
#define SURPRISAL_BINDING_NCCL_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <string>

namespace srp::binding {

constexpr int kNcclSuccess = 0;
constexpr int kNcclInProgress = 7;
constexpr int kNcclUint8 = 1;  // ncclDataType_t
constexpr int kNcclOldest = 21400;

using NcclComm = void*;

struct NcclUniqueId {
  unsigned char bytes[128];
};

// As of 2.14. Later versions read no more of it than its size says, and take their defaults for the rest.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = kNcclOldest;
  int blocking = 0;
};

struct NcclLibrary {
  int (*get_version)(int*);
  int (*get_unique_id)(NcclUniqueId*);
  int (*comm_init_rank_config)(NcclComm*, int size, NcclUniqueId, int rank, NcclConfig*);
  int (*comm_finalize)(NcclComm);
  int (*comm_destroy)(NcclComm);
  int (*comm_abort)(NcclComm);
  int (*comm_get_async_error)(NcclComm, int*);
  const char* (*get_error_string)(int);
  const char* (*get_last_error)(NcclComm);
  int (*all_gather)(const void* sent, void* received, size_t count, int type, NcclComm, void* stream);
  int (*broadcast)(const void* sent, void* received, size_t count, int type, int root, NcclComm, void* stream);
  int version;

  // What NCCL says of an error, and of what led to it.
  std::string text_of(int code, NcclComm comm) const;
};

// The library of that name, or NULL and why not. The first one that opens is that of the process.
const NcclLibrary* open_nccl(const std::string& name, std::string* why);

}  // namespace srp::binding

#endif
