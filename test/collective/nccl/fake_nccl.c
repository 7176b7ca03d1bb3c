/* The functions of NCCL that the package calls, over a file that all ranks map, on the host memory of the emulated backend: threads or
 * processes of one machine. As NCCL's, its communicators do not block: a call begins something, and ncclCommGetAsyncError moves it on.
 *
 *   FAKE_NCCL_FOLDER   where communicators have their files; needed
 *   FAKE_NCCL_VERSION  what ncclGetVersion says; 22304
 *   FAKE_NCCL_FAIL     number of a transfer, from 1: it fails with ncclSystemError on rank 0
 *   FAKE_NCCL_STALL    number of a transfer: rank 0 never comes to it */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { RANKS = 16, ROOM = 4 << 20, IDLE = 0, JOINING, MOVING, FINISHING };

typedef struct {
  char bytes[128];
} Id;

typedef struct {
  size_t size;
  unsigned magic, version;
  int blocking;
} Config;

typedef struct {
  _Atomic int gone; /* a rank has aborted */
  _Atomic uint64_t joined[RANKS], arrived[RANKS];
  unsigned char slots[2][RANKS][ROOM];
} Shared;

typedef struct {
  Shared* shared;
  int rank, size, doing, root, failed;
  uint64_t calls;
  const void* sent;
  void* received;
  size_t bytes;
} Comm;

static uint64_t setting(const char* name, uint64_t otherwise) {
  const char* const text = getenv(name);
  return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void note(const char* what, int rank) {
  const char* const folder = getenv("FAKE_NCCL_FOLDER");
  char path[1024], line[64];
  if (!folder) return;
  snprintf(path, sizeof path, "%s/log", folder);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int length = snprintf(line, sizeof line, "%s %d\n", what, rank);
  if (file >= 0 && write(file, line, (size_t)length) != length) abort();
  if (file >= 0) close(file);
}

int ncclGetVersion(int* version) {
  *version = (int)setting("FAKE_NCCL_VERSION", 22304);
  return SUCCESS;
}

int ncclGetUniqueId(Id* id) {
  static _Atomic unsigned made;
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "comm-%d-%u", (int)getpid(), made++);
  return SUCCESS;
}

const char* ncclGetErrorString(int code) {
  return code == SYSTEM_ERROR ? "unhandled system error" : code == REMOTE_ERROR ? "remote process exited" : "error";
}

const char* ncclGetLastError(Comm* comm) { return comm && comm->failed ? "as the test asked" : ""; }

int ncclCommInitRankConfig(Comm** out, int size, Id id, int rank, Config* config) {
  const char* const folder = getenv("FAKE_NCCL_FOLDER");
  if (!folder || config->size != sizeof *config || config->magic != 0xcafebeef || config->version < 21400 ||
      config->blocking != 0 || size > RANKS)
    return INVALID_ARGUMENT;
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, id.bytes);
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return SYSTEM_ERROR;
  Comm* const comm = calloc(1, sizeof *comm);
  comm->shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  comm->rank = rank;
  comm->size = size;
  comm->doing = JOINING;
  comm->shared->joined[rank] = 1;
  *out = comm;
  return IN_PROGRESS;
}

static int all_at(const Comm* comm, const _Atomic uint64_t* counts, uint64_t count) {
  for (int r = 0; r < comm->size; ++r)
    if (counts[r] < count) return 0;
  return 1;
}

/* Two rooms a rank, in turn: who begins a transfer has ended the one before, so all have read the one before that. */
static void move(Comm* comm) {
  Shared* const shared = comm->shared;
  unsigned char (*const slots)[ROOM] = shared->slots[comm->calls % 2];
  if (comm->rank == 0 && comm->calls == setting("FAKE_NCCL_STALL", 0)) return;
  if (comm->rank == 0 && comm->calls == setting("FAKE_NCCL_FAIL", 0)) {
    comm->failed = 1;
    return;
  }
  if (shared->arrived[comm->rank] < comm->calls) {
    memcpy(slots[comm->rank], comm->sent, comm->bytes);
    shared->arrived[comm->rank] = comm->calls;
  }
  if (!all_at(comm, shared->arrived, comm->calls)) return;
  for (int r = 0; r < comm->size; ++r) {
    unsigned char* const to = comm->received;
    if (comm->root < 0) memcpy(to + (size_t)r * comm->bytes, slots[r], comm->bytes);
    if (comm->root == r) memcpy(to, slots[r], comm->bytes);
  }
  comm->doing = IDLE;
}

int ncclCommGetAsyncError(Comm* comm, int* state) {
  if (comm->doing == JOINING && all_at(comm, comm->shared->joined, 1)) comm->doing = IDLE;
  if (comm->doing == MOVING) move(comm);
  if (comm->doing == FINISHING) comm->doing = IDLE;
  *state = comm->failed          ? SYSTEM_ERROR
           : comm->doing == IDLE ? SUCCESS
           : comm->shared->gone  ? REMOTE_ERROR
                                 : IN_PROGRESS;
  return SUCCESS;
}

static int begin(Comm* comm, const void* sent, void* received, size_t bytes, int type, int root) {
  if (type != 1 || bytes > ROOM || comm->doing != IDLE) return INVALID_ARGUMENT;
  comm->doing = MOVING;
  comm->sent = sent;
  comm->received = received;
  comm->bytes = bytes;
  comm->root = root;
  comm->calls++;
  return IN_PROGRESS;
}

int ncclAllGather(const void* sent, void* received, size_t count, int type, Comm* comm, void* stream) {
  return stream ? begin(comm, sent, received, count, type, -1) : INVALID_ARGUMENT;
}

int ncclBroadcast(const void* sent, void* received, size_t count, int type, int root, Comm* comm, void* stream) {
  return stream ? begin(comm, sent, received, count, type, root) : INVALID_ARGUMENT;
}

int ncclCommFinalize(Comm* comm) {
  note("finalize", comm->rank);
  comm->doing = FINISHING;
  return IN_PROGRESS;
}

static int leave(Comm* comm, const char* how) {
  note(how, comm->rank);
  munmap(comm->shared, sizeof(Shared));
  free(comm);
  return SUCCESS;
}

int ncclCommDestroy(Comm* comm) { return leave(comm, "destroy"); }

int ncclCommAbort(Comm* comm) {
  comm->shared->gone = 1;
  return leave(comm, "abort");
}
