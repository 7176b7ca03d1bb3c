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

}  // namespace

void sharing_tests(const char* name) {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"pointers", pointers}, {"processes", processes}};
  for (const auto& test : tests)
    if (!strcmp(name, test.name)) {
      test.run();
      printf("passed\n");
      exit(0);
    }
}

}  // namespace srp::test
