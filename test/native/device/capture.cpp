// Recorded work: what a launch does, what memory the graph holds, what cannot be recorded.
#include <string.h>

#include "support.h"

namespace srp::test {
namespace {

constexpr size_t kCount = 4096;

// Nothing runs while it is recorded; a launch runs all of it, on the same addresses, on whatever is there by then.
void replay() {
  const Queue queue, other;
  float* const in = queue.upload(filled(kCount, 1));
  float* const out = queue.upload(filled(kCount, -1));
  EXPECT_OK(table().sync(queue));
  int32_t capturing = 0;
  EXPECT_OK(device().capture_begin(queue));
  EXPECT_OK(device().queue_capturing(queue, &capturing));
  EXPECT(capturing == 1);
  float* const between = queue.alloc(kCount);  // the graph's
  EXPECT_OK(enqueue_double(queue, in, between, kCount));
  EXPECT_OK(enqueue_double(queue, between, out, kCount));
  queue.free(between);
  srp_graph* graph = nullptr;
  EXPECT_OK(device().capture_end(queue, &graph));
  EXPECT_OK(device().queue_capturing(queue, &capturing));
  EXPECT(capturing == 0);
  EXPECT(queue.read(out, kCount) == filled(kCount, -1));
  // Nobody else gets the graph's memory, freed or not.
  std::vector<float*> taken;
  for (int i = 0; i < 8; ++i) taken.push_back(queue.upload(filled(kCount, -7)));
  for (const float* memory : taken) EXPECT(memory != between);
  for (int round = 1; round <= 5; ++round) {
    const auto value = static_cast<float>(round);
    queue.write(in, filled(kCount, value));
    EXPECT_OK(device().graph_launch(graph, queue));
    EXPECT_OK(table().sync(queue));
    EXPECT(queue.read(out, kCount) == filled(kCount, 4 * value));
  }
  for (const float* memory : taken) EXPECT(queue.read(memory, kCount) == filled(kCount, -7));
  // On another queue.
  EXPECT_OK(table().sync(queue));
  other.write(in, filled(kCount, 10));
  EXPECT_OK(device().graph_launch(graph, other));
  EXPECT_OK(table().sync(other));
  EXPECT(other.read(out, kCount) == filled(kCount, 40));
  device().graph_destroy(graph);
  EXPECT(queue.alloc(kCount) == between);  // it went back
  queue.free(between);
  for (float* memory : taken) queue.free(memory);
  queue.free(in);
  queue.free(out);
}

// Host memory is copied when it is asked for: a launch writes those bytes again.
void constants() {
  const Queue queue;
  float* const in = queue.alloc(kCount);
  float* const out = queue.alloc(kCount);
  EXPECT_OK(device().capture_begin(queue));
  {
    const std::vector<float> gone = filled(kCount, 3);
    queue.write(in, gone);
  }
  EXPECT_OK(enqueue_double(queue, in, out, kCount));
  srp_graph* graph = nullptr;
  EXPECT_OK(device().capture_end(queue, &graph));
  for (int round = 0; round < 2; ++round) {
    queue.write(in, filled(kCount, 50));
    EXPECT_OK(device().graph_launch(graph, queue));
    EXPECT_OK(table().sync(queue));
    EXPECT(queue.read(out, kCount) == filled(kCount, 6));
  }
  device().graph_destroy(graph);
  queue.free(in);
  queue.free(out);
}

// An array made while it was recorded is its owner's to free, before or after the graph; memory freed meanwhile stays.
void ownership() {
  const Queue queue;
  const int64_t before = queue.stats().in_use;
  float* const input = queue.upload(filled(kCount, 2));
  EXPECT_OK(device().capture_begin(queue));
  float* const early = queue.alloc(kCount);
  float* const late = queue.alloc(kCount);
  EXPECT_OK(enqueue_double(queue, input, early, kCount));
  EXPECT_OK(enqueue_double(queue, early, late, kCount));
  queue.free(input);  // the launches still read it
  srp_graph* graph = nullptr;
  EXPECT_OK(device().capture_end(queue, &graph));
  queue.free(early);
  float* const taken[3] = {queue.alloc(kCount), queue.alloc(kCount), queue.alloc(kCount)};
  for (const float* memory : taken) EXPECT(memory != input && memory != early && memory != late);
  EXPECT_OK(device().graph_launch(graph, queue));
  EXPECT_OK(table().sync(queue));
  EXPECT(queue.read(late, kCount) == filled(kCount, 8));
  device().graph_destroy(graph);
  EXPECT(queue.read(late, kCount) == filled(kCount, 8));
  queue.free(late);
  for (float* memory : taken) queue.free(memory);
  EXPECT(queue.stats().in_use == before);
}

void rules() {
  const Queue queue, other;
  float* const memory = queue.upload(filled(kCount, 1));
  srp_graph *graph = nullptr, *none = nullptr;
  EXPECT(device().capture_end(queue, &none) == SRP_BAD_ARGUMENT && !none && last_error_has("not being captured"));
  srp_event* event = nullptr;
  EXPECT_OK(device().event_create(queue, 0, &event));
  EXPECT_OK(device().capture_begin(queue));
  float host[4];
  int32_t done = 0;
  srp_fence* fence = nullptr;
  EXPECT(device().capture_begin(queue) == SRP_BAD_ARGUMENT);
  EXPECT(table().sync(queue) == SRP_BAD_ARGUMENT && last_error_has("end the capture first"));
  EXPECT(table().copy(queue, host, memory, sizeof host, SRP_TO_HOST) == SRP_BAD_ARGUMENT);
  EXPECT(device().fence_create(queue, memory, 4, &fence) == SRP_BAD_ARGUMENT);
  EXPECT(device().event_record(queue, event) == SRP_BAD_ARGUMENT);
  EXPECT(device().event_wait(queue, event) == SRP_BAD_ARGUMENT);
  EXPECT(device().queue_query(queue, &done) == SRP_BAD_ARGUMENT);
  EXPECT(device().memory_trim(other) == SRP_BAD_ARGUMENT);
  // Other queues go on.
  EXPECT(other.read(memory, 4) == filled(4, 1));
  EXPECT_OK(table().sync(other));
  queue.free(other.alloc(10));
  // And so does the capture.
  EXPECT_OK(enqueue_double(queue, memory, memory, kCount));
  EXPECT_OK(device().capture_end(queue, &graph));
  EXPECT_OK(device().capture_begin(queue));
  EXPECT(device().graph_launch(graph, queue) == SRP_BAD_ARGUMENT);
  EXPECT_OK(device().capture_end(queue, &none));  // of nothing
  EXPECT_OK(device().graph_launch(none, queue));
  EXPECT_OK(device().graph_launch(graph, queue));
  EXPECT_OK(table().sync(queue));
  EXPECT(queue.read(memory, kCount) == filled(kCount, 2));
  EXPECT(device().graph_launch(nullptr, queue) == SRP_BAD_ARGUMENT);
  device().graph_destroy(none);
  device().graph_destroy(graph);
  device().graph_destroy(nullptr);
  device().event_destroy(event);
  queue.free(memory);
}

// What the recorded kernels find is told by the queue that launched them.
void faults() {
  const Queue queue, other;
  EXPECT_OK(device().capture_begin(queue));
  enqueue_fault(queue);
  srp_graph* graph = nullptr;
  EXPECT_OK(device().capture_end(queue, &graph));
  EXPECT_OK(table().sync(queue));  // nothing ran
  for (int round = 0; round < 2; ++round) {
    EXPECT_OK(device().graph_launch(graph, other));
    EXPECT(table().sync(other) == SRP_OUT_OF_RANGE);
    EXPECT_OK(table().sync(other));
    EXPECT_OK(table().sync(queue));
  }
  device().graph_destroy(graph);
}

// A queue that ends in the middle of a capture.
void unfinished() {
  const Queue other;
  const int64_t before = other.stats().in_use;
  {
    const Queue queue;
    EXPECT_OK(device().capture_begin(queue));
    queue.free(queue.alloc(kCount));
  }
  EXPECT(other.stats().in_use == before);
  EXPECT_OK(device().memory_trim(other));
}

}  // namespace

void capture_tests(const char* name) {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"replay", replay}, {"constants", constants}, {"ownership", ownership},
               {"rules", rules},   {"faults", faults},       {"unfinished", unfinished}};
  for (const auto& test : tests)
    if (!strcmp(name, test.name)) {
      test.run();
      printf("passed\n");
      exit(0);
    }
}

}  // namespace srp::test
