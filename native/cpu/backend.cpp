// The CPU backend's table: it works in host memory, and every call runs on the calling thread before it returns.
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "level.h"
#include "shared/checks.h"

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

static srp_backend make_table() {
  srp_backend table = {};  // `device` stays NULL: arrays lie in host memory
  table.size = sizeof table;
  table.abi = SRP_ABI;
  table.name = "cpu";
  table.describe = describe;
  table.last_error = last_error;
  table.queue_create = queue_create;
  table.queue_destroy = queue_destroy;
  table.alloc = alloc;
  table.free = release;
  table.copy = copy;
  table.sync = sync;
#define SRP_ENTER(op) table.op = op;
  SRP_FOR_EACH_OP(SRP_ENTER)
#undef SRP_ENTER
  return table;
}

}  // namespace srp::cpu

extern "C" const srp_backend* srp_cpu_backend(void) {
  static const srp_backend table = srp::cpu::make_table();
  return &table;
}
