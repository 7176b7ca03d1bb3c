// The calling thread's context, which every call of the table leaves as it found it.
#include <string.h>

#include <thread>

#include "support.h"

namespace srp::test {
namespace {

int expected;

void same_context() { EXPECT(emulation<int (*)()>("srp_emulation_context")() == expected); }

// All of a queue's life on a thread whose current context is that of `device` (-1: none), the queue being of device 1.
void on_thread(int device) {
  std::thread([device] {
    emulation<void (*)(int)>("srp_emulation_set_context")(device);
    expected = device;
    {
      const Queue queue(1);
      same_context();
      EXPECT_OK(everything(queue, same_context));
    }
    same_context();
    srp_queue* none = nullptr;
    EXPECT(table().queue_create(7, &none) == SRP_UNAVAILABLE);
    same_context();
  }).join();
}

void context() {
  const auto live = emulation<int64_t (*)(const char*)>("srp_emulation_live");
  EXPECT(live("contexts") == 0);  // describe() has made none
  on_thread(-1);
  EXPECT(live("contexts") == 1);  // that of device 1 alone
  on_thread(0);
  on_thread(1);
}

}  // namespace

void context_tests(const char* name) {
  if (strcmp(name, "context")) return;
  context();
  printf("passed\n");
  exit(0);
}

}  // namespace srp::test
