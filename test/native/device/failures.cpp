// Failures of the runtime, injected by the emulation: what each call answers, and that nothing is lost on the way.
#include <string.h>

#include <string>

#include "support.h"

namespace srp::test {
namespace {

using Fail = int (*)(const char*);
using Calls = uint64_t (*)(const char*);
using Live = int64_t (*)(const char*);

// Each call of the runtime fails once, in a queue of its own: the answer is a status with a text, and the next round passes.
void each_call() {
  const auto fail = emulation<Fail>("srp_emulation_fail");
  const auto calls = emulation<Calls>("srp_emulation_calls");
  EXPECT(fail("*:0") == 0);
  {
    const Queue queue;
    EXPECT_OK(everything(queue));
  }
  const uint64_t count = calls("*");
  EXPECT(count > 50);
  int failed = 0;
  for (uint64_t i = 1; i <= count; ++i) {
    const std::string what = "*:" + std::to_string(i) + ":801";
    EXPECT(fail(what.c_str()) == 0);
    srp_queue* queue = nullptr;
    srp_status status = table().queue_create(0, &queue);
    EXPECT((status == SRP_OK) == (queue != nullptr));
    if (queue) status = everything(queue);
    if (status != SRP_OK) {
      EXPECT(table().last_error()[0] != 0);
      ++failed;
    }
    table().queue_destroy(queue);
    EXPECT(fail("") == 0);
    const Queue next;
    const srp_status again = everything(next);
    if (again != SRP_OK) fprintf(stderr, "after call %d: ", static_cast<int>(i));
    EXPECT_OK(again);
  }
  EXPECT(failed > 40);
  // Every stream and graph went back, and the device's memory is what the figures say.
  const auto live = emulation<Live>("srp_emulation_live");
  EXPECT(live("streams") == 0 && live("graphs") == 0);
  const Queue queue;
  EXPECT_OK(device().memory_trim(queue));
  EXPECT(queue.stats().in_use == queue.stats().reserved && queue.stats().in_use <= 8192);
  EXPECT(live("device") == queue.stats().reserved);
}

// The driver has no memory once: what is kept goes back, and the second try gets it.
void second_try() {
  const auto fail = emulation<Fail>("srp_emulation_fail");
  const Queue queue;
  queue.free(queue.alloc(1 << 20));
  EXPECT(fail("cudaMalloc:1:2") == 0);
  void* memory = nullptr;
  EXPECT_OK(table().alloc(queue, 3 << 20, &memory));
  EXPECT(fail("") == 0);
  EXPECT(queue.stats().reserved == queue.stats().in_use);
  queue.free(memory);
  // No page-locked memory at all: copies go without.
  EXPECT(fail("cudaHostAlloc:1:2") == 0);
  const std::vector<float> values = filled(1 << 20, 4);
  float* const copied = queue.upload(values);
  EXPECT(fail("") == 0);
  EXPECT(queue.read(copied, values.size()) == values);
  queue.free(copied);
}

// An illegal address ends the device for this process: every later call says so, with the first reason.
void lost() {
  const auto fail = emulation<Fail>("srp_emulation_fail");
  const Queue queue;
  float* const memory = queue.upload(filled(100, 1));
  srp_event* event = nullptr;
  EXPECT_OK(device().event_create(queue, 0, &event));
  EXPECT(fail("launch:1:700") == 0);
  srp_status status = enqueue_double(queue, memory, memory, 100);
  if (status == SRP_OK) status = table().sync(queue);
  EXPECT(status == SRP_DEVICE_LOST && last_error_has("CUDA error 700"));
  EXPECT(fail("") == 0);
  void* more = nullptr;
  srp_queue* another = nullptr;
  int32_t done = 0;
  EXPECT(table().alloc(queue, 4, &more) == SRP_DEVICE_LOST && last_error_has("is lost until this process ends"));
  EXPECT(last_error_has("CUDA error 700"));
  EXPECT(table().sync(queue) == SRP_DEVICE_LOST);
  EXPECT(enqueue_double(queue, memory, memory, 100) == SRP_DEVICE_LOST);
  EXPECT(table().free(queue, memory) == SRP_DEVICE_LOST);
  EXPECT(device().event_query(event, &done) == SRP_DEVICE_LOST);
  EXPECT(device().capture_begin(queue) == SRP_DEVICE_LOST);
  EXPECT(table().queue_create(0, &another) == SRP_DEVICE_LOST && !another);
  srp_description description = {};
  description.size = sizeof description;
  EXPECT_OK(table().describe(0, &description));
  EXPECT(!description.available && strstr(description.reason, "is lost"));
  device().event_destroy(event);
}

// Two devices: memory, events and graphs of one are refused by the other, and the loss of one leaves the other.
void devices() {
  const auto fail = emulation<Fail>("srp_emulation_fail");
  srp_queue* none = nullptr;
  EXPECT(table().queue_create(2, &none) == SRP_UNAVAILABLE && last_error_has("device 2 does not exist: 2 device(s)"));
  const Queue first(0), second(1);
  float* const here = first.upload(filled(100, 1));
  float* const there = second.upload(filled(100, 2));
  EXPECT_OK(enqueue_double(second, there, there, 100));
  EXPECT_OK(table().sync(second));
  EXPECT(second.read(there, 100) == filled(100, 4));
  EXPECT(device().pointer_check(first, there, 400) == SRP_BAD_ARGUMENT &&
         last_error_has("lies on device 1, expected device 0"));
  EXPECT(table().free(first, there) == SRP_BAD_ARGUMENT);
  srp_event* event = nullptr;
  EXPECT_OK(device().event_create(first, 0, &event));
  EXPECT(device().event_record(second, event) == SRP_BAD_ARGUMENT &&
         last_error_has("of device 0, the queue of device 1"));
  EXPECT(device().event_wait(second, event) == SRP_BAD_ARGUMENT);
  EXPECT_OK(device().capture_begin(first));
  srp_graph* graph = nullptr;
  EXPECT_OK(device().capture_end(first, &graph));
  EXPECT(device().graph_launch(graph, second) == SRP_BAD_ARGUMENT);
  device().graph_destroy(graph);
  device().event_destroy(event);

  EXPECT(fail("launch:1:999") == 0);  // cudaErrorUnknown
  srp_status status = enqueue_double(second, there, there, 100);
  if (status == SRP_OK) status = table().sync(second);
  EXPECT(status == SRP_DEVICE_LOST && table().sync(second) == SRP_DEVICE_LOST && last_error_has("device 1 is lost"));
  EXPECT(fail("") == 0);
  EXPECT_OK(enqueue_double(first, here, here, 100));
  EXPECT_OK(table().sync(first));
  EXPECT(first.read(here, 100) == filled(100, 2));
  first.free(here);
}

}  // namespace

srp_status everything(srp_queue* queue, void (*after_each)()) {
  const srp_backend& backend = table();
  const srp_device_functions& device = test::device();
  constexpr size_t kCount = 300, kBytes = kCount * sizeof(float);
  void *in = nullptr, *out = nullptr;
  float host[kCount] = {};
  srp_event* event = nullptr;
  srp_fence* fence = nullptr;
  srp_graph* graph = nullptr;
  int32_t done = 0;
  srp_status status = backend.alloc(queue, kBytes, &in);
  const auto then = [&](auto call) {
    if (status == SRP_OK) status = call();
    after_each();
  };
  then([&] { return backend.alloc(queue, kBytes, &out); });
  then([&] { return backend.copy(queue, in, host, kBytes, SRP_TO_DEVICE); });
  then([&] { return enqueue_double(queue, static_cast<float*>(in), static_cast<float*>(out), kCount); });
  then([&] { return backend.copy(queue, in, out, kBytes, SRP_ON_DEVICE); });
  then([&] { return device.event_create(queue, 0, &event); });
  then([&] { return device.event_record(queue, event); });
  then([&] { return device.event_wait(queue, event); });
  then([&] { return device.event_sync(event); });
  then([&] { return device.event_query(event, &done); });
  then([&] { return device.queue_query(queue, &done); });
  then([&] { return device.fence_create(queue, in, kBytes, &fence); });
  then([&] { return device.fence_wait(fence); });
  then([&] { return backend.copy(queue, host, out, kBytes, SRP_TO_HOST); });
  then([&] { return backend.sync(queue); });
  then([&] { return device.capture_begin(queue); });
  int32_t capturing = 0;
  device.queue_capturing(queue, &capturing);
  if (capturing) {
    then([&] { return enqueue_double(queue, static_cast<float*>(in), static_cast<float*>(out), kCount); });
    then([&] { return backend.copy(queue, in, host, kBytes, SRP_TO_DEVICE); });
    const srp_status ended = device.capture_end(queue, &graph);
    then([&] { return ended; });
  }
  then([&] { return device.graph_launch(graph, queue); });
  then([&] { return backend.sync(queue); });
  device.graph_destroy(graph);
  device.fence_destroy(fence);
  device.event_destroy(event);
  const srp_status freed[] = {backend.free(queue, in), backend.free(queue, out)};
  for (const srp_status each : freed) then([&] { return each; });
  then([&] { return device.memory_trim(queue); });
  return status;
}

void failure_tests(const char* name) {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"each-call", each_call}, {"second-try", second_try}, {"lost", lost}, {"devices", devices}};
  for (const auto& test : tests)
    if (!strcmp(name, test.name)) {
      test.run();
      printf("passed\n");
      exit(0);
    }
}

}  // namespace srp::test
