/* What a backend with memory of its own offers beside its ops: a cache of memory, order between queues, recorded work, and
 * memory shared with other processes and libraries. The backend table's `device` points to it; NULL where arrays lie in host memory.
 *
 * memory    alloc() and free() of the backend table keep what is freed. Sizes are rounded up by at most an eighth (512 bytes
 *           at least); memory freed on a queue serves the next alloc() of its size on that queue at once, since the new work runs
 *           after the old, and on another queue after an event that is recorded there. Neither blocks the host unless
 *           more memory is needed from the driver. Where the driver has none left, or the limit is reached, alloc() returns all
 *           kept memory to the driver, waits for the queues and tries once more before it returns SRP_OUT_OF_MEMORY. A pointer
 *           that alloc() did not return, or that was freed already, is SRP_BAD_ARGUMENT
 *           SURPRISAL_DEVICE_CACHE=0 in the environment, read at the first use of a device: nothing is kept and nothing
 *           rounded up, for tools that look for accesses past the end
 * copies    of host memory go through page-locked memory of the backend, 4 MiB at a time
 * order     a queue belongs to one thread at a time; everything else here may be used by any thread. Memory used on two queues
 *           needs an event between the two uses, which the caller records and waits for
 * capture   between capture_begin and capture_end the work given to a queue is recorded and does not run. Memory that is
 *           allocated or freed meanwhile belongs to the graph until it is destroyed, so that every launch writes the same
 *           addresses. A copy from host memory reads it while it is recorded: every launch writes those bytes again.
 *           Calls that wait for the queue, read to the host or need another queue return SRP_BAD_ARGUMENT meanwhile
 * errors    SRP_DEVICE_LOST stays: after an illegal address, a failed launch or an uncorrectable memory error every later call
 *           on the device returns it at once, without a call of the driver. Other devices and backends go on
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
  int64_t in_use;   /* from alloc(), with scratch memory of ops under way and the memory that graphs hold */
  int64_t reserved; /* from the driver: in use, and kept */
  int64_t peak_in_use;
  int64_t limit;        /* of `reserved`; 0 = none */
  int64_t allocations;  /* successful calls of alloc(), and of ops for scratch memory */
  int64_t reused;       /* those that got kept memory */
  int64_t driver_calls; /* to get and to return memory */
} srp_memory_stats;

enum {
  SRP_EVENT_TIMED = 1,   /* event_elapsed takes it */
  SRP_EVENT_SLEEPING = 2 /* event_sync sleeps instead of polling */
};

/* Work that another library puts on a stream (CUDA: cudaStream_t). What it returns goes back to the caller. */
typedef int32_t (*srp_lent_work)(void* stream, void* data);

#define SRP_IPC_HANDLE_BYTES 64
/* The driver cuts smaller allocations out of pieces of this size, and another process would see all of the piece. */
#define SRP_IPC_BYTES (2 << 20)

typedef struct {
  uint32_t size;

  srp_status (*memory_stats)(srp_queue*, srp_memory_stats* out); /* out->size set by the caller */
  /* 0 = none. Kept memory goes back to the driver where `reserved` is above the limit. */
  srp_status (*memory_limit)(srp_queue*, int64_t bytes);
  /* Waits, and returns kept memory to the driver, page-locked memory too. Not during a capture. */
  srp_status (*memory_trim)(srp_queue*);

  srp_status (*queue_query)(srp_queue*, int32_t* done); /* 1: all its work has run */
  srp_status (*queue_capturing)(srp_queue*, int32_t* capturing);

  srp_status (*event_create)(srp_queue*, int32_t flags, srp_event** out);
  srp_status (*event_record)(srp_queue*, srp_event*);   /* behind all work of the queue so far; again: moves it */
  srp_status (*event_wait)(srp_queue*, srp_event*);     /* later work of the queue runs after it; both of one device */
  srp_status (*event_sync)(srp_event*);                 /* waits on this thread */
  srp_status (*event_query)(srp_event*, int32_t* done); /* 1: past, or never recorded */
  srp_status (*event_elapsed)(srp_event* from, srp_event* to, double* milliseconds); /* both timed, recorded and past */
  void (*event_destroy)(srp_event*); /* NULL is allowed; work that waits for it goes on waiting */

  /* A mark behind all work of the queue so far, with a copy of the `bytes` at `from` as they are then (0 and NULL: none). */
  srp_status (*fence_create)(srp_queue*, const void* from, size_t bytes, srp_fence** out);
  srp_status (*fence_wait)(
      srp_fence*); /* once, on any thread: waits, then returns what sync() would have returned there */
  /* After fence_wait returned SRP_OK: the copy, in host memory until the fence is destroyed. */
  const void* (*fence_data)(srp_fence*);
  void (*fence_destroy)(srp_fence*); /* waits, unless fence_wait has. NULL is allowed */

  srp_status (*capture_begin)(srp_queue*);                /* waits for the queue first */
  srp_status (*capture_end)(srp_queue*, srp_graph** out); /* ends the capture, also on failure */
  srp_status (*graph_launch)(srp_graph*, srp_queue*); /* any queue of its device; launches of one graph run in order */
  /* Waits for its launches. The caller still frees memory that the capture allocated and did not free. NULL is allowed. */
  void (*graph_destroy)(srp_graph*);

  /* A handle by which another process can open memory from alloc(): of the whole allocation, which begins *offset bytes before
   * the pointer. SRP_BAD_ARGUMENT unless alloc() was asked for a multiple of SRP_IPC_BYTES: so nothing else is shown. It must not be freed while the other has it open. This does not wait: the caller waits for work that writes
   * there (sync or fence_wait) before it sends the handle. SRP_UNSUPPORTED where the device does not offer it. */
  srp_status (*ipc_export)(srp_queue*, const void* pointer, uint8_t handle[SRP_IPC_HANDLE_BYTES], int64_t* offset);
  srp_status (*ipc_open)(srp_queue*, const uint8_t handle[SRP_IPC_HANDLE_BYTES], void** out); /* not of this process */
  srp_status (*ipc_close)(srp_queue*, void* pointer);                                         /* waits for the queue */
  /* SRP_OK when all bytes there can be read and written on the queue's device, no matter which library allocated them. */
  srp_status (*pointer_check)(srp_queue*, const void* pointer, size_t bytes);
  /* Calls `work` at once, on this thread, with the queue's stream and with its device current, and leaves what it returned in
   * *result. What it puts on the stream is work of the queue. Not during a capture. */
  srp_status (*queue_lend)(srp_queue*, srp_lent_work work, void* data, int32_t* result);
} srp_device_functions;

#endif
