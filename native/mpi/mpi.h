/* What the addon asks of an MPI library. A small library of its own implements it, without MPI's headers: it finds the MPI library
 * when it is opened, so that one build runs on Open MPI, on MPICH and its kin, and on the standard ABI of MPI 5.
 *
 * All functions are called from one thread, the one that called open. Texts live until the next call. */
#ifndef SURPRISAL_MPI_H
#define SURPRISAL_MPI_H

#include <stdint.h>

enum {
  SRP_MPI_DUPLICATE, /* makes a communicator of the same ranks; of all ranks where `comm` is SRP_MPI_ALL */
  SRP_MPI_GATHER, /* the bytes of each rank, to all: recv is [ranks, bytes] */
  SRP_MPI_BROADCAST, /* the bytes of `root`, to all: recv is [bytes], and what is sent at the root */
  SRP_MPI_BARRIER
};

#define SRP_MPI_ALL (-1)

typedef struct srp_mpi_request {
  uint64_t handle; /* the library's own */
  int32_t made; /* number of the communicator that SRP_MPI_DUPLICATE makes */
} srp_mpi_request;

typedef struct srp_mpi {
  uint32_t size; /* sizeof(srp_mpi) */
  /* Opens the library of this name, or NULL: the first one there is, and begins MPI. NULL, or why not. */
  const char* (*open)(const char* library);
  /* What the library says that it is. */
  const char* (*version)(void);
  void (*shape)(int32_t comm, int32_t* rank, int32_t* size);
  /* 0, or an error of MPI. The memory must stay until test says done. */
  int32_t (*start)(int32_t kind, int32_t comm, const void* send, void* recv, int32_t bytes, int32_t root,
                   srp_mpi_request* request);
  int32_t (*test)(srp_mpi_request* request, int32_t* done);
  /* A communicator of some ranks of another, called by those alone. Waits until all have. */
  int32_t (*group)(int32_t comm, const int32_t* ranks, int32_t count, int32_t tag, int32_t* made);
  const char* (*error)(int32_t code);
  /* Does nothing where another part of the process began MPI. */
  void (*finish)(void);
  /* Ends all processes of the job. */
  void (*abort)(int32_t code);
} srp_mpi;

/* What the library exports. */
const srp_mpi* srp_mpi_get(void);

#endif
