// A backend library as its users see it: through its table. Queues that end with their scope, and a line a broken expectation.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include <vector>

#include "surprisal/backend.h"

namespace srp::test {

#define EXPECT(condition)                                                                                   \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, srp::test::table().last_error()); \
      exit(1);                                                                                              \
    }                                                                                                       \
  } while (0)
#define EXPECT_OK(expression) EXPECT((expression) == SRP_OK)

const srp_backend& table();
const srp_device_functions& device();
void* symbol(const char* name);  // of the library; NULL if it has none

// A function of the emulation (native/emulation/runtime.h).
template <class Function>
Function emulation(const char* name) {
  const auto found = reinterpret_cast<Function>(symbol(name));
  EXPECT(found);
  return found;
}

bool last_error_has(const char* part);

class Queue {
 public:
  explicit Queue(int32_t index = 0) { EXPECT_OK(table().queue_create(index, &queue_)); }
  ~Queue() { table().queue_destroy(queue_); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  operator srp_queue*() const { return queue_; }

  float* alloc(size_t count) const {
    void* memory = nullptr;
    EXPECT_OK(table().alloc(queue_, count * sizeof(float), &memory));
    return static_cast<float*>(memory);
  }
  float* upload(const std::vector<float>& values) const {
    float* const memory = alloc(values.size());
    write(memory, values);
    return memory;
  }
  void write(float* memory, const std::vector<float>& values) const {
    EXPECT_OK(table().copy(queue_, memory, values.data(), values.size() * sizeof(float), SRP_TO_DEVICE));
  }
  std::vector<float> read(const float* memory, size_t count) const {
    std::vector<float> values(count);
    EXPECT_OK(table().copy(queue_, values.data(), memory, count * sizeof(float), SRP_TO_HOST));
    return values;
  }
  void free(void* memory) const { EXPECT_OK(table().free(queue_, memory)); }
  srp_memory_stats stats() const {
    srp_memory_stats out = {};
    out.size = sizeof out;
    EXPECT_OK(device().memory_stats(queue_, &out));
    return out;
  }

 private:
  srp_queue* queue_ = nullptr;
};

// A kernel: out[i] = 2 in[i].
srp_status enqueue_double(srp_queue* queue, const float* in, float* out, int64_t n);
// A kernel that finds data which points outside its array.
void enqueue_fault(const Queue& queue);

// Calls of most functions of the table; the first status that is not SRP_OK. `after_each` runs behind each.
srp_status everything(srp_queue* queue, void (*after_each)() = [] {});

std::vector<float> filled(size_t count, float value);

void memory_tests(const char* name);
void order_tests(const char* name);
void capture_tests(const char* name);
void sharing_tests(const char* name);
void failure_tests(const char* name);
void context_tests(const char* name);

}  // namespace srp::test
