/* The table of functions that a backend exports: the whole ABI between surprisal and the code that computes.
 *
 * A backend library (libsurprisal_cuda.so, libsurprisal_emulated.so) exports one symbol, srp_backend_get. The CPU backend is
 * linked into the Node addon. Nothing here depends on Node: a C program or Python's ctypes can drive a library the same way.
 *
 * memory    every pointer in an args struct lies in the backend's own memory: host memory when describe() says
 *           host_memory 1, else memory from alloc() (or any pointer the same device can read); what memory, events and
 *           graphs of a device offer beyond this table is in device.h
 * queues    ops on one queue run in order; a device op may return before it ran, so read results after sync(). The CPU
 *           backend runs at once and takes NULL. A queue belongs to one thread at a time
 * errors    a status, never an exception, a print or an abort; last_error() returns the text of the calling thread's last
 *           failure. sync() returns faults of the data that a device found (an id out of range)
 * rows      of tokens lie in memory the same way for every family.
 *           padded: offsets NULL, row b is elements [b*T, (b+1)*T) of a [B,T] array, n == B*T
 *           packed: offsets [B+1], non-decreasing, from 0 to n; row b is elements [offsets[b], offsets[b+1]); T is not read
 * groups    members [n] or NULL = identity: a permutation of the items; offsets [G+1], non-decreasing, from 0 to n; group g is
 *           items members[offsets[g]] … members[offsets[g+1] - 1]. A CPU backend checks offsets and members before it writes.
 *           A device backend cannot check them on the host: a kernel that meets a bad one treats the row as empty and sets the
 *           queue's flag, for which the next sync() returns SRP_OUT_OF_RANGE. Where all that was found are numbers that are not finite,
 *           it returns SRP_NOT_FINITE
 * versions  a library and its caller are built from the same headers: SRP_ABI is a hash of them, and srp_backend_get refuses
 *           another. Structs begin with their size, and a library refuses one that is too small */
#ifndef SURPRISAL_BACKEND_H
#define SURPRISAL_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "surprisal/device.h"
#include "surprisal/ops.h"
#include "surprisal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t size;
  int32_t available;   /* 1: ops can run here and now */
  int32_t host_memory; /* 1: args point to ordinary host memory */
  int32_t device_count;
  int32_t driver_version;               /* CUDA: 1000 * major + 10 * minor, 0 = no driver. Others: 0 */
  int32_t runtime_version;              /* CUDA: of the linked runtime. Others: 0 */
  int32_t compute_major, compute_minor; /* CUDA: capability of the device */
  int32_t error;                        /* the platform's own error number behind `reason`, 0 if none */
  int64_t memory_bytes;                 /* of the device; 0 = unknown */
  char device[128];                     /* name of the device, or the instruction set */
  char reason[256];                     /* why not available; empty if it is */
} srp_description;

typedef enum { SRP_TO_DEVICE = 0, SRP_TO_HOST = 1, SRP_ON_DEVICE = 2 } srp_direction;

typedef struct {
  uint32_t size;                      /* sizeof this table */
  uint32_t abi;                       /* SRP_ABI */
  const char* name;                   /* "cpu", "cuda", "emulated" */
  const srp_device_functions* device; /* device.h; NULL where arrays lie in host memory */

  /* out->size set by the caller; never fails for lack of a device */
  srp_status (*describe)(int32_t device, srp_description* out);
  const char* (*last_error)(void); /* never NULL */
  srp_status (*queue_create)(int32_t device, srp_queue** out);
  void (*queue_destroy)(srp_queue*);                         /* waits for what is under way; NULL is allowed */
  srp_status (*alloc)(srp_queue*, size_t bytes, void** out); /* 0 bytes: a non-NULL pointer that may be freed */
  srp_status (*free)(srp_queue*, void*);
  /* to a device: `from` may change at once. To the host: waits, `to` is complete */
  srp_status (*copy)(srp_queue*, void* to, const void* from, size_t bytes, srp_direction);
  srp_status (*sync)(srp_queue*); /* waits, then returns and clears the first fault since the last call */

#define SRP_ENTRY(op) srp_status (*op)(srp_queue*, const srp_##op##_args*);
  SRP_FOR_EACH_OP(SRP_ENTRY)
#undef SRP_ENTRY
} srp_backend;

/* The one symbol of a backend library. NULL when abi is not the SRP_ABI that the library was built with. */
#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
const srp_backend* srp_backend_get(uint32_t abi);

/* The table of the CPU backend, for programs that link it in (the addon) instead of opening a library. */
const srp_backend* srp_cpu_backend(void);

#ifdef __cplusplus
}
#endif

#endif
