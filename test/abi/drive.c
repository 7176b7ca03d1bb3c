/* A program without Node that drives a backend library through its C ABI: argv[1] is the library.
 * Prints "unavailable: REASON" and exits 3 when there is no device; "ok" and exits 0 when GAE gave the known numbers. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "surprisal/backend.h"

static const srp_backend* table;
static srp_queue* queue;

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, table->last_error());
  return 1;
}

static void* upload(const void* host, size_t bytes) {
  void* device = NULL;
  if (table->alloc(queue, bytes, &device) != SRP_OK) return NULL;
  return table->copy(queue, device, host, bytes, SRP_TO_DEVICE) == SRP_OK ? device : NULL;
}

static int run_gae(void) {
  const float reward[4] = {1, 2, 4, 8}, zero[4] = {0};
  float advantages[4] = {-1, -1, -1, -1};
  srp_scan_gae_args args;
  memset(&args, 0, sizeof args);
  args.size = sizeof args;
  args.dtype = SRP_F32;
  args.rewards = upload(reward, sizeof reward);
  args.values = upload(zero, sizeof zero);
  args.advantages = upload(advantages, sizeof advantages);
  args.n = 4;
  args.B = 2;
  args.T = 2;
  args.gamma = args.lambda = 1;
  if (!args.rewards || !args.values || !args.advantages) return failed("upload");
  if (table->scan_gae(queue, &args) != SRP_OK) return failed("scan_gae");
  if (table->copy(queue, advantages, args.advantages, sizeof advantages, SRP_TO_HOST) != SRP_OK) return failed("copy");
  if (table->sync(queue) != SRP_OK) return failed("sync");
  if (advantages[0] != 3 || advantages[1] != 2 || advantages[2] != 12 || advantages[3] != 8) {
    fprintf(stderr, "got %g %g %g %g\n", advantages[0], advantages[1], advantages[2], advantages[3]);
    return 1;
  }

  args.size = 8; /* a caller from before this struct existed */
  if (table->scan_gae(queue, &args) != SRP_UNSUPPORTED) return failed("a short struct was accepted");
  args.size = sizeof args;
  args.T = 3; /* n is not B * T any more */
  if (table->scan_gae(queue, &args) != SRP_BAD_SHAPE) return failed("a wrong shape was accepted");

  /* Offsets that end past the array: found on the device, reported by sync, once. */
  const int32_t offsets[3] = {0, 2, 9};
  args.offsets = upload(offsets, sizeof offsets);
  if (table->scan_gae(queue, &args) != SRP_OK) return failed("scan_gae with offsets");
  if (table->sync(queue) != SRP_OUT_OF_RANGE) return failed("bad offsets were accepted");
  if (table->sync(queue) != SRP_OK) return failed("the fault was reported twice");
  table->free(queue, (void*)args.rewards);
  table->free(queue, (void*)args.values);
  table->free(queue, (void*)args.offsets);
  table->free(queue, args.advantages);
  return 0;
}

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const srp_backend* (*get)(uint32_t) = NULL;
  if (library) *(void**)&get = dlsym(library, "srp_backend_get");
  if (!get) {
    fprintf(stderr, "cannot open: %s\n", dlerror());
    return 2;
  }
  if (get(SRP_ABI + 1)) {
    fprintf(stderr, "another ABI was accepted\n");
    return 1;
  }
  if (!(table = get(SRP_ABI))) {
    fprintf(stderr, "built from other headers: npm run build\n");
    return 1;
  }
  srp_description description = {.size = sizeof description};
  if (table->describe(0, &description) != SRP_OK) return failed("describe");
  if (!description.available) {
    printf("unavailable: %s\n", description.reason);
    if (table->queue_create(0, &queue) != SRP_UNAVAILABLE) return failed("a queue without a device");
    return 3;
  }
  if (table->queue_create(0, &queue) != SRP_OK) return failed("queue_create");
  const int result = run_gae();
  table->queue_destroy(queue);
  if (result == 0) printf("ok\n");
  return result;
}
