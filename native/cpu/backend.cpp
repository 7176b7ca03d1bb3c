// The CPU backend's table: memory is the host's, everything runs at once on the calling thread.
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "level.h"
#include "surprisal/checks.h"

namespace srp::cpu {
namespace {

srp_status describe(int32_t, srp_description* out) {
  if (!out || out->size < sizeof(srp_description)) return fail(SRP_BAD_ARGUMENT, "describe: out is NULL or too small");
  const uint32_t size = out->size;
  *out = srp_description{};
  out->size = size;
  out->available = level_problem()[0] == 0;
  out->host_memory = 1;
  out->device_count = 1;
  snprintf(out->device, sizeof out->device, "%s", level_name());
  snprintf(out->reason, sizeof out->reason, "%s", level_problem());
  return SRP_OK;
}

const char* last_error() { return failure_text; }

srp_status queue_create(int32_t, srp_queue** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "queue_create: out is NULL");
  *out = nullptr;
  return SRP_OK;
}

void queue_destroy(srp_queue*) {}

srp_status alloc(srp_queue*, size_t bytes, void** out) {
  if (!out) return fail(SRP_BAD_ARGUMENT, "alloc: out is NULL");
  *out = malloc(bytes ? bytes : 1);
  return *out ? SRP_OK : fail(SRP_OUT_OF_MEMORY, "out of memory: %zu bytes", bytes);
}

srp_status release(srp_queue*, void* pointer) {
  free(pointer);
  return SRP_OK;
}

srp_status copy(srp_queue*, void* to, const void* from, size_t bytes, srp_direction) {
  if (bytes == 0) return SRP_OK;
  if (!to || !from) return fail(SRP_BAD_ARGUMENT, "copy: a pointer is NULL");
  memmove(to, from, bytes);
  return SRP_OK;
}

srp_status sync(srp_queue*) { return SRP_OK; }

}  // namespace

// A function in the wrong place would not compile: every entry has a type of its own.
#define SRP_LIST(op) op,
static const srp_backend kTable = {
    sizeof(srp_backend), SRP_ABI_VERSION, "cpu",   describe, last_error, queue_create,
    queue_destroy,       alloc,           release, copy,     sync,       SRP_FOR_EACH_OP(SRP_LIST)};
#undef SRP_LIST

}  // namespace srp::cpu

extern "C" const srp_backend* srp_cpu_backend(void) { return &srp::cpu::kTable; }
