// The cache of memory: what is reused, what it counts, what it refuses.
#include <string.h>

#include <string>
#include <thread>

#include "support.h"

namespace srp::test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

void reuse() {
  const Queue queue;
  const srp_memory_stats before = queue.stats();
  float* const first = queue.alloc(1000);
  const srp_memory_stats lent = queue.stats();
  EXPECT(lent.allocations == before.allocations + 1 && lent.in_use >= before.in_use + 4000);
  EXPECT(lent.in_use <= before.in_use + 4000 + 512 && lent.peak_in_use >= lent.in_use);
  EXPECT(lent.driver_calls == before.driver_calls + 1 && lent.reserved >= lent.in_use);
  queue.free(first);
  const srp_memory_stats freed = queue.stats();
  EXPECT(freed.in_use == before.in_use && freed.reserved == lent.reserved && freed.peak_in_use == lent.peak_in_use);
  EXPECT(queue.alloc(1001) == first);  // the same size, rounded
  const srp_memory_stats again = queue.stats();
  EXPECT(again.driver_calls == lent.driver_calls && again.reused == lent.reused + 1);
  float* const other = queue.alloc(5000);  // another size is other memory
  EXPECT(other != first && queue.stats().driver_calls == again.driver_calls + 1);
  void* empty = nullptr;
  EXPECT_OK(table().alloc(queue, 0, &empty));
  EXPECT(empty != nullptr);
  queue.free(empty);
  EXPECT_OK(table().free(queue, nullptr));
  queue.free(first);
  queue.free(other);
}

// No size is rounded up by more than an eighth, or to less than 512 bytes.
void sizes() {
  const Queue queue;
  for (size_t bytes = 1; bytes < 64 * kMiB; bytes = bytes * 3 / 2 + 1) {
    const int64_t before = queue.stats().in_use;
    void* memory = nullptr;
    EXPECT_OK(table().alloc(queue, bytes, &memory));
    const auto taken = static_cast<size_t>(queue.stats().in_use - before);
    EXPECT(taken >= bytes && (taken <= 512 || taken <= bytes + bytes / 8 + 512));
    queue.free(memory);
  }
}

void limit() {
  const Queue queue;
  EXPECT_OK(device().memory_trim(queue));
  const int64_t base = queue.stats().reserved;
  const auto room = static_cast<int64_t>(8 * kMiB);
  EXPECT_OK(device().memory_limit(queue, base + room));
  EXPECT(queue.stats().limit == base + room);
  void* memory = nullptr;
  EXPECT(table().alloc(queue, 9 * kMiB, &memory) == SRP_OUT_OF_MEMORY && !memory);
  EXPECT(last_error_has("limit") && last_error_has("9.0 MiB asked"));
  EXPECT_OK(table().alloc(queue, 6 * kMiB, &memory));
  void* second = nullptr;
  EXPECT(table().alloc(queue, 3 * kMiB, &second) == SRP_OUT_OF_MEMORY);
  queue.free(memory);  // kept: in the way of another size, until that is asked for
  EXPECT(queue.stats().reserved == base + static_cast<int64_t>(6 * kMiB));
  EXPECT_OK(table().alloc(queue, 3 * kMiB, &second));
  EXPECT(queue.stats().reserved == base + static_cast<int64_t>(3 * kMiB));
  queue.free(second);
  EXPECT_OK(device().memory_limit(queue, base));  // what is kept goes back
  EXPECT(queue.stats().reserved <= base);
  EXPECT_OK(device().memory_limit(queue, 0));
  EXPECT_OK(table().alloc(queue, 9 * kMiB, &memory));
  queue.free(memory);
  EXPECT(device().memory_limit(queue, -1) == SRP_BAD_ARGUMENT);
}

void out_of_memory() {
  const Queue queue;
  float* const kept = queue.alloc(1 << 20);
  queue.free(kept);
  void* memory = nullptr;
  EXPECT(table().alloc(queue, size_t{1} << 50, &memory) == SRP_OUT_OF_MEMORY && !memory);
  EXPECT(last_error_has("out of memory on device 0"));
  EXPECT(queue.stats().reserved == queue.stats().in_use);  // everything kept went back before it gave up
  EXPECT(table().alloc(queue, ~size_t{0}, &memory) == SRP_OUT_OF_MEMORY);
  // Nothing is left of it for the work that follows.
  float* const in = queue.upload(filled(64, 3));
  float* const out = queue.alloc(64);
  EXPECT_OK(enqueue_double(queue, in, out, 64));
  EXPECT_OK(table().sync(queue));
  EXPECT(queue.read(out, 64) == filled(64, 6));
  queue.free(in);
  queue.free(out);
}

void trim() {
  const Queue queue;
  queue.free(queue.alloc(3 << 20));
  const srp_memory_stats kept = queue.stats();
  EXPECT(kept.reserved > kept.in_use);
  EXPECT_OK(device().memory_trim(queue));
  const srp_memory_stats trimmed = queue.stats();
  EXPECT(trimmed.reserved == trimmed.in_use && trimmed.driver_calls > kept.driver_calls);
}

void refusals() {
  const Queue queue;
  float* const memory = queue.alloc(100);
  float host = 0;
  void* none = nullptr;
  EXPECT(table().free(queue, &host) == SRP_BAD_ARGUMENT);
  EXPECT(table().free(queue, memory + 1) == SRP_BAD_ARGUMENT);
  queue.free(memory);
  EXPECT(table().free(queue, memory) == SRP_BAD_ARGUMENT && last_error_has("freed before"));
  EXPECT(table().alloc(queue, 1, nullptr) == SRP_BAD_ARGUMENT);
  EXPECT(table().alloc(nullptr, 1, &none) == SRP_BAD_ARGUMENT);
  srp_memory_stats small = {};
  EXPECT(device().memory_stats(queue, &small) == SRP_BAD_ARGUMENT);
  EXPECT(device().memory_stats(queue, nullptr) == SRP_BAD_ARGUMENT);
}

// Host memory may change as soon as a copy to the device returns, and is complete when one from it does.
void staging() {
  const Queue queue;
  constexpr size_t kCount = (17 << 20) / sizeof(float) + 3;  // chunks, and a part of one
  std::vector<float> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  float* const memory = queue.upload(values);
  const std::vector<float> sent = values;
  for (float& value : values) value = -1;
  EXPECT(queue.read(memory, kCount) == sent);
  queue.free(memory);
}

// Queues of several threads share the memory of the device.
void threads() {
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([t] {
      const Queue queue;
      for (int round = 0; round < 50; ++round) {
        const size_t count = 2u << (5 + (round + t) % 6);
        float* const in = queue.upload(filled(count, static_cast<float>(t + 1)));
        float* const out = queue.alloc(count);
        EXPECT_OK(enqueue_double(queue, in, out, static_cast<int64_t>(count)));
        queue.free(in);
        EXPECT_OK(table().sync(queue));
        EXPECT(queue.read(out, count) == filled(count, static_cast<float>(2 * (t + 1))));
        queue.free(out);
      }
    });
  for (std::thread& thread : all) thread.join();
}

}  // namespace

void memory_tests(const char* name) {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"reuse", reuse}, {"sizes", sizes},       {"limit", limit},     {"out-of-memory", out_of_memory},
               {"trim", trim},   {"refusals", refusals}, {"staging", staging}, {"threads", threads}};
  for (const auto& test : tests)
    if (!strcmp(name, test.name)) {
      test.run();
      printf("passed\n");
      exit(0);
    }
}

}  // namespace srp::test
