// Order between queues: events, fences, memory that one queue frees and another one gets.
#include <math.h>
#include <string.h>

#include <thread>

#include "support.h"

namespace srp::test {
namespace {

constexpr size_t kCount = 1 << 16;
constexpr int kRounds = 20;

// What a queue freed serves another one, behind the work that still uses it.
void across_queues() {
  const Queue a, b;
  for (int round = 0; round < kRounds; ++round) {
    const auto value = static_cast<float>(round + 1);
    float* const shared = a.upload(filled(kCount, value));
    float* const kept = a.alloc(kCount);
    EXPECT_OK(enqueue_double(a, shared, kept, kCount));
    a.free(shared);
    float* const taken = b.alloc(kCount);
    EXPECT(taken == shared);
    b.write(taken, filled(kCount, -1));
    EXPECT_OK(table().sync(a));
    EXPECT(a.read(kept, kCount) == filled(kCount, 2 * value));
    EXPECT_OK(table().sync(b));
    EXPECT(b.read(taken, kCount) == filled(kCount, -1));
    b.free(taken);
    EXPECT_OK(table().sync(b));
    a.free(kept);
  }
}

// A queue's own memory comes first: it need not wait for anybody.
void own_first() {
  const Queue a, b;
  float* const of_a = a.alloc(kCount);
  float* const of_b = b.alloc(kCount);
  a.free(of_a);
  b.free(of_b);
  EXPECT(a.alloc(kCount) == of_a);
  EXPECT(b.alloc(kCount) == of_b);
  a.free(of_a);
  b.free(of_b);
}

// What a queue kept outlives it.
void after_the_queue() {
  float* memory = nullptr;
  {
    const Queue gone;
    memory = gone.upload(filled(kCount, 1));
    gone.free(memory);
  }
  const Queue queue;
  EXPECT(queue.alloc(kCount) == memory);
  queue.free(memory);
}

void events() {
  const Queue a, b;
  srp_event *start = nullptr, *end = nullptr, *plain = nullptr;
  EXPECT_OK(device().event_create(a, SRP_EVENT_TIMED, &start));
  EXPECT_OK(device().event_create(a, SRP_EVENT_TIMED | SRP_EVENT_SLEEPING, &end));
  EXPECT_OK(device().event_create(a, 0, &plain));
  int32_t done = 0;
  EXPECT_OK(device().event_query(plain, &done));
  EXPECT(done == 1);  // never recorded: nothing to wait for
  EXPECT_OK(device().event_wait(b, plain));
  double elapsed = -1;
  EXPECT(device().event_elapsed(start, end, &elapsed) == SRP_BAD_ARGUMENT && last_error_has("never recorded"));
  EXPECT_OK(device().event_record(a, start));
  for (int round = 0; round < kRounds; ++round) {
    const auto value = static_cast<float>(round + 1);
    float* const in = a.upload(filled(kCount, value));
    float* const out = a.alloc(kCount);
    float* const again = a.alloc(kCount);
    EXPECT_OK(enqueue_double(a, in, out, kCount));
    EXPECT_OK(device().event_record(a, plain));
    EXPECT_OK(device().event_wait(b, plain));
    EXPECT_OK(enqueue_double(b, out, again, kCount));
    EXPECT_OK(table().sync(b));
    EXPECT(b.read(again, kCount) == filled(kCount, 4 * value));
    for (float* memory : {in, out, again}) a.free(memory);
  }
  EXPECT_OK(device().event_record(a, end));
  EXPECT_OK(device().event_sync(end));
  EXPECT_OK(device().event_query(end, &done));
  EXPECT(done == 1);
  EXPECT_OK(device().event_elapsed(start, end, &elapsed));
  EXPECT(isfinite(elapsed) && elapsed >= 0);
  EXPECT_OK(device().event_record(a, plain));
  EXPECT(device().event_elapsed(start, plain, &elapsed) == SRP_BAD_ARGUMENT && last_error_has("SRP_EVENT_TIMED"));
  EXPECT(device().event_create(a, 4, &plain) == SRP_BAD_ARGUMENT);
  EXPECT(device().event_record(a, nullptr) == SRP_BAD_ARGUMENT && device().event_sync(nullptr) == SRP_BAD_ARGUMENT);
  EXPECT_OK(table().sync(a));
  EXPECT_OK(device().queue_query(a, &done));
  EXPECT(done == 1);
  for (srp_event* event : {start, end}) device().event_destroy(event);
  device().event_destroy(nullptr);
}

// A fence carries the memory as it was, whatever comes later, and the faults so far, once; any thread may wait.
void fences() {
  const Queue queue;
  float* const memory = queue.upload(filled(kCount, 5));
  srp_fence *first = nullptr, *second = nullptr;
  EXPECT_OK(device().fence_create(queue, memory, kCount * sizeof(float), &first));
  queue.write(memory, filled(kCount, 6));
  enqueue_fault(queue);
  EXPECT_OK(device().fence_create(queue, nullptr, 0, &second));
  srp_fence* third = nullptr;
  EXPECT_OK(device().fence_create(queue, memory, sizeof(float), &third));
  std::thread([&] {
    EXPECT_OK(device().fence_wait(first));
    const float* const data = static_cast<const float*>(device().fence_data(first));
    EXPECT(std::vector<float>(data, data + kCount) == filled(kCount, 5));
    EXPECT(device().fence_wait(second) == SRP_OUT_OF_RANGE && last_error_has("offsets"));
  }).join();
  EXPECT_OK(device().fence_wait(third));
  EXPECT(*static_cast<const float*>(device().fence_data(third)) == 6);
  for (srp_fence* fence : {first, second, third}) device().fence_destroy(fence);
  srp_fence* unwaited = nullptr;
  EXPECT_OK(device().fence_create(queue, memory, kCount * sizeof(float), &unwaited));
  device().fence_destroy(unwaited);
  device().fence_destroy(nullptr);
  EXPECT(device().fence_create(queue, nullptr, 4, &unwaited) == SRP_BAD_ARGUMENT);
  enqueue_fault(queue);
  EXPECT(table().sync(queue) == SRP_OUT_OF_RANGE);
  EXPECT_OK(table().sync(queue));  // once
  queue.free(memory);
}

}  // namespace

void order_tests(const char* name) {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"across-queues", across_queues},
               {"own-first", own_first},
               {"after-the-queue", after_the_queue},
               {"events", events},
               {"fences", fences}};
  for (const auto& test : tests)
    if (!strcmp(name, test.name)) {
      test.run();
      printf("passed\n");
      exit(0);
    }
}

}  // namespace srp::test
