// The device functions of a backend library (surprisal/device.h), without Node:
//
//   device LIBRARY NAME
//
// Prints "passed", or says what is wrong and ends with 1; "unavailable: REASON" and 3 where there is no device.
#include <dlfcn.h>
#include <string.h>

#include "support.h"

namespace srp::test {
namespace {

void* library = nullptr;
const srp_backend* opened = nullptr;

}  // namespace

const srp_backend& table() { return *opened; }
const srp_device_functions& device() { return *opened->device; }
void* symbol(const char* name) { return dlsym(library, name); }
bool last_error_has(const char* part) { return strstr(opened->last_error(), part) != nullptr; }

std::vector<float> filled(size_t count, float value) { return std::vector<float>(count, value); }

srp_status enqueue_double(srp_queue* queue, const float* in, float* out, int64_t n) {
  srp_reduce_affine_args args = {};
  args.size = sizeof args;
  args.dtype = SRP_F32;
  args.values = in;
  args.n = args.T = n;
  args.B = 1;
  args.divisor = 0.5;
  args.mapped = out;
  return opened->reduce_affine(queue, &args);
}

void enqueue_fault(const Queue& queue) {
  float* const values = queue.upload(filled(4, 1));
  void* offsets = nullptr;
  const int32_t outside[3] = {0, 2, 9};
  EXPECT_OK(opened->alloc(queue, sizeof outside, &offsets));
  EXPECT_OK(opened->copy(queue, offsets, outside, sizeof outside, SRP_TO_DEVICE));
  srp_scan_returns_args args = {};
  args.size = sizeof args;
  args.dtype = SRP_F32;
  args.rewards = values;
  args.offsets = static_cast<int32_t*>(offsets);
  args.n = 4;
  args.B = 2;
  args.gamma = 1;
  float* const out = queue.alloc(4);
  args.returns = out;
  EXPECT_OK(opened->scan_returns(queue, &args));
  queue.free(values);
  queue.free(offsets);
  queue.free(out);
}

}  // namespace srp::test

int main(int argc, char** argv) {
  using namespace srp::test;
  library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  const auto get =
      library ? reinterpret_cast<const srp_backend* (*)(uint32_t)>(dlsym(library, "srp_backend_get")) : nullptr;
  if (!get || !(opened = get(SRP_ABI))) {
    fprintf(stderr, "cannot open: %s\n", dlerror());
    return 2;
  }
  srp_description description = {};
  description.size = sizeof description;
  EXPECT_OK(opened->describe(0, &description));
  if (!description.available) {
    printf("unavailable: %s\n", description.reason);
    return 3;
  }
  EXPECT(opened->device && opened->device->size == sizeof(srp_device_functions));
  for (const auto tests : {memory_tests, order_tests, capture_tests, sharing_tests, failure_tests, context_tests})
    tests(argv[2]);
  fprintf(stderr, "no test is called %s\n", argv[2]);
  return 2;
}
