// Memory of others: pointers that this library did not lend, and other processes.
#include <string.h>

#include "support.h"

namespace srp::test {
namespace {

void pointers() {
  const Queue queue;
  float* const memory = queue.alloc(1000);
  std::vector<float> host(1000);
  EXPECT_OK(device().pointer_check(queue, memory, 4000));
  EXPECT_OK(device().pointer_check(queue, memory + 10, 40));
  EXPECT_OK(device().pointer_check(queue, nullptr, 0));
  EXPECT(device().pointer_check(queue, nullptr, 4) == SRP_BAD_ARGUMENT);
  EXPECT(device().pointer_check(queue, host.data(), 4000) == SRP_BAD_ARGUMENT &&
         last_error_has("expected memory of device 0"));
  EXPECT(device().pointer_check(queue, memory, size_t{1} << 46) == SRP_BAD_ARGUMENT);
  queue.free(memory);
}

// Where the device shares memory there is a handle, else a refusal that says so. Opening needs another process.
void processes() {
  const Queue queue;
  float* const memory = queue.alloc(3 * SRP_IPC_BYTES / sizeof(float));
  uint8_t handle[SRP_IPC_HANDLE_BYTES] = {};
  int64_t offset = -1;
  const srp_status status = device().ipc_export(queue, memory + 8, handle, &offset);
  if (status == SRP_OK) {
    EXPECT(offset == 32);
  } else {
    EXPECT(status == SRP_UNSUPPORTED && last_error_has("not supported"));
    void* opened = nullptr;
    EXPECT(device().ipc_open(queue, handle, &opened) == SRP_UNSUPPORTED && !opened);
  }
  // Smaller memory may lie beside that of others.
  float* const small = queue.alloc(1000);
  EXPECT(device().ipc_export(queue, small, handle, &offset) == SRP_BAD_ARGUMENT && last_error_has("shared: true"));
  queue.free(small);
  float host = 0;
  EXPECT(device().ipc_export(queue, &host, handle, &offset) == SRP_BAD_ARGUMENT);
  queue.free(memory);
  EXPECT(device().ipc_export(queue, memory, handle, &offset) == SRP_BAD_ARGUMENT);  // not lent any more
  EXPECT_OK(table().sync(queue));
}

// Another library's work: on this thread, at once, with the stream of the queue.
int32_t note(void* stream, void* data) {
  *static_cast<void**>(data) = stream;
  return 7;
}

void lending() {
  const Queue queue, other;
  void *first = nullptr, *second = nullptr;
  int32_t result = 0;
  EXPECT_OK(device().queue_lend(queue, note, &first, &result));
  EXPECT(result == 7 && first != nullptr);
  EXPECT_OK(device().queue_lend(other, note, &second, &result));
  EXPECT(second != first);
  EXPECT(device().queue_lend(queue, nullptr, &first, &result) == SRP_BAD_ARGUMENT);
  EXPECT(device().queue_lend(queue, note, &first, nullptr) == SRP_BAD_ARGUMENT);
  EXPECT(device().queue_lend(nullptr, note, &first, &result) == SRP_BAD_ARGUMENT);
  EXPECT_OK(device().capture_begin(queue));
  result = 0;
  EXPECT(device().queue_lend(queue, note, &first, &result) == SRP_BAD_ARGUMENT && result == 0);
  srp_graph* graph = nullptr;
  EXPECT_OK(device().capture_end(queue, &graph));
  device().graph_destroy(graph);
}

}  // namespace

void sharing_tests(const char* name) {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"pointers", pointers}, {"processes", processes}, {"lending", lending}};
  for (const auto& test : tests)
    if (!strcmp(name, test.name)) {
      test.run();
      printf("passed\n");
      exit(0);
    }
}

}  // namespace srp::test
