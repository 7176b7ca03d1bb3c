/* What a backend with memory of its own offers beside its ops: a cache of memory, order between queues, recorded work,
 * memory of others. The backend table's `device` points to it; NULL where arrays lie in host memory.
 *
 * memory    alloc() and free() of the backend table keep what is freed. Sizes are rounded up by at most an eighth (512 bytes
 *           at least); memory freed on a queue serves the next alloc() of its size on that queue at once, since the new work runs
 *           after the old, and on another queue after an event that is recorded there. Neither blocks the host, but where the
 *           driver has to lend more. Where it has none, or the limit stands in the way, everything kept is given back, the
 *           queues are waited for, and it is tried once more before SRP_OUT_OF_MEMORY. A pointer that alloc() did not give, or
 *           that is freed twice, is SRP_BAD_ARGUMENT
 *           SURPRISAL_DEVICE_CACHE=0 in the environment, read at the first use of a device: nothing is kept and nothing
 *           rounded up, for tools that look for accesses past the end
 * copies    of host memory go through page-locked memory of the backend, 4 MiB at a time
 * order     a queue belongs to one thread at a time, all else here may be used by any thread. Memory used on two queues needs an
 *           event between them: nothing here knows who uses it
 * capture   between capture_begin and capture_end what is asked of a queue is recorded and does not run. Memory from alloc()
 *           then, and memory freed then, stays with the graph until it is destroyed, so that every launch writes the same
 *           addresses. Host memory copied to the device is copied when it is asked for: a launch writes those bytes again.
 *           What waits for the queue, reads to the host or needs another queue is SRP_BAD_ARGUMENT meanwhile
 * errors    SRP_DEVICE_LOST stays: an illegal address, a failed launch, an uncorrectable memory error end the device for this
 *           process, and every later call on it answers so at once, without a call of the driver. Other devices and
 *           backends go on
 * sizes     structs begin with their size, as everywhere; the table grows at its end */
#ifndef SURPRISAL_DEVICE_H
#define SURPRISAL_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "surprisal/status.h"

typedef struct srp_queue srp_queue; /* backend.h: a stream of one device */
typedef struct srp_event srp_event; /* a mark in the work of a queue */
typedef struct srp_fence srp_fence; /* a mark that also reports, and may carry a copy of device memory */
typedef struct srp_graph srp_graph; /* recorded work */

/* Memory of one device, of all queues. The first four in bytes, as rounded. */
typedef struct {
  uint32_t size;
  int64_t in_use;   /* lent by alloc(), scratch memory of ops under way and what graphs hold included */
  int64_t reserved; /* from the driver: in use, and kept */
  int64_t peak_in_use;
  int64_t limit;        /* of `reserved`; 0 = none */
  int64_t allocations;  /* calls of alloc(), and of ops for scratch memory, that got some */
  int64_t reused;       /* those served from what was kept */
  int64_t driver_calls; /* to get and to return memory */
} srp_memory_stats;

enum {
  SRP_EVENT_TIMED = 1,   /* event_elapsed takes it */
  SRP_EVENT_SLEEPING = 2 /* event_sync gives the core away instead of asking again and again */
};

#define SRP_IPC_HANDLE_BYTES 64

typedef struct {
  uint32_t size;

  srp_status (*memory_stats)(srp_queue*, srp_memory_stats* out); /* out->size set by the caller */
  srp_status (*memory_limit)(srp_queue*,
                             int64_t bytes); /* 0 = none; kept memory goes back where `reserved` is above it */
  srp_status (*memory_trim)(
      srp_queue*); /* waits, and returns to the driver what is kept, of page-locked memory as well. Not during a capture */

  srp_status (*queue_query)(srp_queue*, int32_t* done); /* 1: everything asked for has run */
  srp_status (*queue_capturing)(srp_queue*, int32_t* capturing);

  srp_status (*event_create)(srp_queue*, int32_t flags, srp_event** out);
  srp_status (*event_record)(srp_queue*, srp_event*); /* behind everything asked of the queue so far; again: moves it */
  srp_status (*event_wait)(srp_queue*,
                           srp_event*); /* what is asked of the queue from now on runs after it. One device */
  srp_status (*event_sync)(srp_event*); /* waits on this thread */
  srp_status (*event_query)(srp_event*, int32_t* done);                              /* 1: past, or never recorded */
  srp_status (*event_elapsed)(srp_event* from, srp_event* to, double* milliseconds); /* both timed, recorded and past */
  void (*event_destroy)(srp_event*); /* NULL is allowed; work that waits for it goes on waiting */

  /* A mark behind everything asked of the queue so far, and the `bytes` at `from` as they are then (0 and NULL: none). */
  srp_status (*fence_create)(srp_queue*, const void* from, size_t bytes, srp_fence** out);
  srp_status (*fence_wait)(srp_fence*); /* waits, on any thread, then answers as sync() would have there. Once */
  const void* (*fence_data)(
      srp_fence*);                   /* after fence_wait said SRP_OK: the bytes, in host memory until it is destroyed */
  void (*fence_destroy)(srp_fence*); /* waits if nobody has. NULL is allowed */

  srp_status (*capture_begin)(srp_queue*);                /* waits for the queue first */
  srp_status (*capture_end)(srp_queue*, srp_graph** out); /* the capture is over in any case */
  srp_status (*graph_launch)(srp_graph*, srp_queue*); /* any queue of its device; launches of one graph run in order */
  void (*graph_destroy)(
      srp_graph*); /* waits for its launches. Memory that was not freed yet is the caller's to free. NULL is allowed */

  /* Memory from alloc() that another process can open: of the whole allocation, which begins *offset bytes before the
   * pointer. It must not be freed while the other has it open. Waits for nothing: the other process sees what work of this
   * one leaves there once that has run, so the caller waits (sync, or fence_wait) before it hands the handle over.
   * SRP_UNSUPPORTED where the device does not offer it. */
  srp_status (*ipc_export)(srp_queue*, const void* pointer, uint8_t handle[SRP_IPC_HANDLE_BYTES], int64_t* offset);
  srp_status (*ipc_open)(srp_queue*, const uint8_t handle[SRP_IPC_HANDLE_BYTES], void** out); /* not of this process */
  srp_status (*ipc_close)(srp_queue*, void* pointer);                                         /* waits for the queue */
  /* SRP_OK when all bytes there can be read and written on the queue's device, whoever allocated them. */
  srp_status (*pointer_check)(srp_queue*, const void* pointer, size_t bytes);
} srp_device_functions;

#endif
