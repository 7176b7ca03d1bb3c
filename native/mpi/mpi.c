/* libsurprisal_mpi.so: mpi.h over the MPI library that is there at run time.
 *
 * The three families differ in what a handle is: a pointer to the library's own objects (Open MPI), an int (MPICH, Intel MPI,
 * MVAPICH), or a small number in a pointer (the standard ABI). All travel here as uint64_t. On the 64-bit little-endian machines
 * that this is built for, an int argument is the low half of its register, and an int that is written through a pointer is the low
 * half of the zero that stood there. */
#define _GNU_SOURCE
#include "mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !(defined(__x86_64__) || defined(__aarch64__))
#error "surprisal's MPI library is for x86-64 and arm64"
#endif

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t Handle;

enum { MAX_COMMS = 4096, MAX_TEXT = 8192, THREAD_FUNNELED = 1, THREAD_SERIALIZED = 2 };

static struct {
  int (*Get_library_version)(char*, int*);
  int (*Initialized)(int*);
  int (*Init_thread)(int*, char***, int, int*);
  int (*Query_thread)(int*);
  int (*Finalize)(void);
  int (*Abort)(Handle, int);
  int (*Error_string)(int, char*, int*);
  int (*Comm_create_errhandler)(void (*)(void*, int*, ...), Handle*);
  int (*Comm_set_errhandler)(Handle, Handle);
  int (*Comm_rank)(Handle, int*);
  int (*Comm_size)(Handle, int*);
  int (*Comm_group)(Handle, Handle*);
  int (*Comm_idup)(Handle, Handle*, Handle*);
  int (*Comm_create_group)(Handle, Handle, int, Handle*);
  int (*Group_incl)(Handle, int, const int*, Handle*);
  int (*Group_free)(Handle*);
  int (*Iallgather)(const void*, int, Handle, void*, int, Handle, Handle, Handle*);
  int (*Ibcast)(void*, int, Handle, int, Handle, Handle*);
  int (*Ibarrier)(Handle, Handle*);
  int (*Test)(Handle*, int*, void*);
} mpi;

static Handle world, byte_type, returns_errors, comms[MAX_COMMS];
static void* ignore_status;
static int32_t comm_count;
static int began_here, finished;
static char text[MAX_TEXT + 512], library_version[MAX_TEXT + 1];

/* Errors are returned on communicators of our own; nothing is set on that of the world, which others may use. */
static void leave_error(void* comm, int* code, ...) {
  (void)comm;
  (void)code;
}

static const char* find_functions(void* library, const char* name) {
  static const struct {
    const char* name;
    void** at;
  } functions[] = {
#define FUNCTION(f) {"MPI_" #f, (void**)&mpi.f}
      FUNCTION(Get_library_version),
      FUNCTION(Initialized),
      FUNCTION(Init_thread),
      FUNCTION(Query_thread),
      FUNCTION(Finalize),
      FUNCTION(Abort),
      FUNCTION(Error_string),
      FUNCTION(Comm_create_errhandler),
      FUNCTION(Comm_set_errhandler),
      FUNCTION(Comm_rank),
      FUNCTION(Comm_size),
      FUNCTION(Comm_group),
      FUNCTION(Comm_idup),
      FUNCTION(Comm_create_group),
      FUNCTION(Group_incl),
      FUNCTION(Group_free),
      FUNCTION(Iallgather),
      FUNCTION(Ibcast),
      FUNCTION(Ibarrier),
      FUNCTION(Test),
#undef FUNCTION
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    *functions[i].at = dlsym(library, functions[i].name);
    if (!*functions[i].at) {
      snprintf(text, sizeof text, "%s has no function %s: it is no MPI library, or older than MPI 3", name,
               functions[i].name);
      return text;
    }
  }
  return NULL;
}

/* Which handles the library takes. */
static const char* find_kind(void* library, const char* name) {
  int length = 0, major = -1, minor = 0;
  mpi.Get_library_version(library_version, &length);
  library_version[strcspn(library_version, "\r\n")] = 0;
  int (*const abi)(int*, int*) = (int (*)(int*, int*))dlsym(library, "MPI_Abi_get_version");
  if (abi && abi(&major, &minor) == 0 && major >= 1) {
    world = 0x101;
    byte_type = 0x247;
    ignore_status = NULL;
    return NULL;
  }
  if (strstr(library_version, "Open MPI")) {
    world = (Handle)dlsym(library, "ompi_mpi_comm_world");
    byte_type = (Handle)dlsym(library, "ompi_mpi_byte");
    ignore_status = NULL;
    if (world && byte_type) return NULL;
  } else if (strstr(library_version, "MPICH") || strstr(library_version, "Intel(R) MPI") ||
             strstr(library_version, "MVAPICH")) {
    world = 0x44000000;
    byte_type = 0x4c00010d;
    ignore_status = (void*)1;
    return NULL;
  }
  snprintf(text, sizeof text,
           "%s says that it is \"%.200s\", which is none of Open MPI, MPICH, Intel MPI, MVAPICH, MPI ABI", name,
           library_version);
  return text;
}

/* NODELETE, since its exit handlers must keep their code. GLOBAL, since Open MPI opens parts of itself that look for it. */
static void* open_library(const char* wanted, const char** name) {
  static const char* const names[] = {"libmpi_abi.so", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};
  const int how = RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE;
  if (wanted) {
    *name = wanted;
    void* const library = dlopen(wanted, how);
    if (!library) snprintf(text, sizeof text, "%.8000s", dlerror());
    return library;
  }
  size_t used = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    *name = names[i];
    void* const library = dlopen(names[i], how);
    if (library) return library;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.400s", used ? "; " : "", dlerror());
  }
  return NULL;
}

/* UCX, below MPICH and Open MPI, puts code of its own into mmap, brk and their kin, and handlers on SIGSEGV and its kin, which
 * Node needs. Threads of Node allocate while it does: the heap was seen to vanish under V8. Whoever sets these knows better. */
static void keep_out_of_memory(void) {
  setenv("UCX_MEM_EVENTS", "n", 0);
  setenv("UCX_HANDLE_ERRORS", "none", 0);
}

static const char* begin(void) {
  int initialized = 0, provided = 0;
  mpi.Initialized(&initialized);
  if (!initialized) {
    const int code = mpi.Init_thread(NULL, NULL, THREAD_FUNNELED, &provided);
    if (code) {
      snprintf(text, sizeof text, "MPI_Init_thread failed with error %d", code);
      return text;
    }
    began_here = 1;
  } else {
    mpi.Query_thread(&provided);
    if (provided < THREAD_SERIALIZED)
      return "MPI was begun by another part of this process, without MPI_THREAD_SERIALIZED, which another thread needs";
  }
  return mpi.Comm_create_errhandler(leave_error, &returns_errors) ? "MPI_Comm_create_errhandler failed" : NULL;
}

static const char* shim_open(const char* wanted) {
  static int done;
  static const char* failure; /* of an attempt after the library was found: there is no second one in a process */
  if (finished)
    return "the last thread of this process that used MPI has ended, and MPI with it: it cannot begin again";
  if (done) return failure;
  const char* name = NULL;
  keep_out_of_memory();
  void* const library = open_library(wanted, &name);
  if (!library) return text;
  const char* why = find_functions(library, name);
  if (!why) why = find_kind(library, name);
  if (why) return why;
  done = 1;
  return failure = begin();
}

static const char* shim_version(void) { return library_version; }

static Handle handle_of(int32_t comm) { return comm < 0 ? world : comms[comm]; }

static void shim_shape(int32_t comm, int32_t* rank, int32_t* size) {
  mpi.Comm_rank(handle_of(comm), rank);
  mpi.Comm_size(handle_of(comm), size);
}

static int32_t shim_start(int32_t kind, int32_t comm, const void* send, void* recv, int32_t bytes, int32_t root,
                          srp_mpi_request* request) {
  const Handle of = handle_of(comm);
  request->handle = 0;
  request->made = -1;
  switch (kind) {
    case SRP_MPI_DUPLICATE:
      if (comm_count == MAX_COMMS) return -1;
      request->made = comm_count++;
      comms[request->made] = 0;
      return mpi.Comm_idup(of, &comms[request->made], &request->handle);
    case SRP_MPI_GATHER:
      return mpi.Iallgather(send, bytes, byte_type, recv, bytes, byte_type, of, &request->handle);
    case SRP_MPI_BROADCAST:
      return mpi.Ibcast(recv, bytes, byte_type, root, of, &request->handle);
    default:
      return mpi.Ibarrier(of, &request->handle);
  }
}

static int32_t shim_test(srp_mpi_request* request, int32_t* done) {
  const int code = mpi.Test(&request->handle, done, ignore_status);
  return code == 0 && *done && request->made >= 0 ? mpi.Comm_set_errhandler(comms[request->made], returns_errors)
                                                  : code;
}

static int32_t shim_group(int32_t comm, const int32_t* ranks, int32_t count, int32_t tag, int32_t* made) {
  Handle whole = 0, part = 0;
  if (comm_count == MAX_COMMS) return -1;
  const int32_t number = comm_count++;
  comms[number] = 0;
  int code = mpi.Comm_group(handle_of(comm), &whole);
  if (code == 0) code = mpi.Group_incl(whole, count, ranks, &part);
  if (code == 0) code = mpi.Comm_create_group(handle_of(comm), part, tag, &comms[number]);
  if (code == 0) code = mpi.Comm_set_errhandler(comms[number], returns_errors);
  if (part) mpi.Group_free(&part);
  if (whole) mpi.Group_free(&whole);
  *made = number;
  return code;
}

static const char* shim_error(int32_t code) {
  int length = 0;
  if (code < 0) return "too many groups of ranks in this process";
  if (mpi.Error_string(code, text, &length) != 0) snprintf(text, sizeof text, "error %d", code);
  return text;
}

static void shim_finish(void) {
  if (began_here) mpi.Finalize();
  finished = began_here;
  began_here = 0;
}

static void shim_abort(int32_t code) { mpi.Abort(world, code); }

EXPORT const srp_mpi* srp_mpi_get(void) {
  static const srp_mpi table = {sizeof(srp_mpi), shim_open,  shim_version, shim_shape,  shim_start,
                                shim_test,       shim_group, shim_error,   shim_finish, shim_abort};
  return &table;
}
