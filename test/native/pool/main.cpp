// The thread pool of the CPU backend, alone:
//
//   pool covers|fails|stops|nests|callers|fork|busy-fork
//   pool exit               ends the process while calls run
//   pool quota GROUPS MOUNT prints what a list of control groups allows
//
// Each prints "passed", or says what is wrong and ends with 1. Built plainly, with ASan and UBSan, or with TSan.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../../../native/cpu/cores.h"
#include "../../../native/cpu/pool.h"
#include "../../../native/cpu/sizes.h"
#include "shared/checks.h"
#include "surprisal/cpu.h"

using namespace srp;
using namespace srp::cpu;

namespace {

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                       \
    }                                                                 \
  } while (0)

constexpr int32_t kThreads[] = {1, 2, 3, 8};

// Numbers that no two rows share, added without a lock: a row run twice or by two threads at once shows.
std::vector<int64_t> visits(int64_t count, int64_t size) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  const srp_status status = parallel_pieces(count, size, [&](int64_t begin, int64_t end) {
    EXPECT(begin % size == 0 && begin < end && end - begin <= size);
    for (int64_t i = begin; i < end; ++i) rows[static_cast<size_t>(i)] += i + 1;
  });
  EXPECT(status == SRP_OK);
  return rows;
}

void expect_covered(int64_t count, int64_t size) {
  const std::vector<int64_t> rows = visits(count, size);
  for (int64_t i = 0; i < count; ++i) EXPECT(rows[static_cast<size_t>(i)] == i + 1);
}

void covers() {
  for (const int32_t threads : kThreads) {
    srp_cpu_use_threads(threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1000})
      for (const int64_t size : {1, 3, 64, 5000}) expect_covered(count, size);
    // One call on the caller's thread alone, below the size, and many pieces above it.
    for (const int64_t rows : {int64_t{3}, 2 * sizes().parallel_bytes}) {
      std::atomic<int64_t> sum{0}, pieces{0};
      EXPECT(SRP_OK == parallel_rows(rows, 1, [&](int64_t begin, int64_t end) {
               sum += end - begin;
               ++pieces;
             }));
      EXPECT(sum == rows && (rows == 3) == (pieces == 1));
    }
  }
}

void fails() {
  for (const int32_t threads : kThreads) {
    srp_cpu_use_threads(threads);
    for (int round = 0; round < 50; ++round) {
      const srp_status status = parallel_pieces(100, 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          if (i >= 40 && i % 7 == 2) return fail(SRP_OUT_OF_RANGE, "row %d", static_cast<int>(i));
        return SRP_OK;
      });
      EXPECT(status == SRP_OUT_OF_RANGE && strcmp(failure_text, "row 44") == 0);
    }
  }
  expect_covered(100, 1);  // and the pool is free again
}

void stops() {
  for (const int32_t threads : kThreads) {
    srp_cpu_use_threads(threads);
    int32_t stop = 0;
    srp_cpu_use_stop(&stop);
    expect_covered(100, 1);
    std::atomic<int64_t> pieces{0};
    const srp_status status = parallel_pieces(1000000, 1, [&](int64_t, int64_t) {
      if (++pieces == 20) __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    });
    EXPECT(status == SRP_STOPPED && pieces >= 20 && pieces < 1000000);
    srp_cpu_use_stop(nullptr);
    expect_covered(100, 1);
  }
}

void nests() {
  srp_cpu_use_threads(4);
  std::atomic<int64_t> inner{0};
  const auto outer = [&](int64_t, int64_t) {
    return parallel_pieces(10, 2, [&](int64_t begin, int64_t end) { inner += end - begin; });
  };
  EXPECT(parallel_pieces(20, 1, outer) == SRP_OK);
  EXPECT(inner == 200);
}

void callers() {
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < 5; ++t)
    threads.emplace_back([t] {
      srp_cpu_use_threads(1 + t);
      for (int64_t round = 0; round < 200; ++round) expect_covered(20 + round, 1 + t);
    });
  for (std::thread& thread : threads) thread.join();
}

// The child has a pool of its own; a child of the child as well.
void expect_child(int depth) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    alarm(30);  // a deadlock ends
    for (int round = 0; round < 20; ++round) expect_covered(500, 3);
    if (depth > 1) expect_child(depth - 1);
    _exit(0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void forks() {
  srp_cpu_use_threads(3);
  expect_child(2);  // before the pool was used
  expect_covered(500, 3);
  expect_child(2);
  expect_covered(500, 3);
}

// Somebody else's call has the pool, and maybe its mutex, at the moment of the fork.
void busy_fork() {
  std::atomic<bool> done{false};
  std::thread other([&] {
    srp_cpu_use_threads(3);
    while (!done) expect_covered(300, 1);
  });
  srp_cpu_use_threads(3);
  for (int i = 0; i < 20; ++i) expect_child(1);
  done = true;
  other.join();
}

// Never joined: the process ends under its feet.
void exit_while_running() {
  static std::atomic<int64_t> calls{0};
  for (int i = 0; i < 2; ++i)
    std::thread([] {
      srp_cpu_use_threads(4);
      for (;;) {
        std::atomic<int64_t> sum{0};
        EXPECT(parallel_pieces(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; }) == SRP_OK);
        EXPECT(sum == 1000);
        ++calls;
      }
    }).detach();
  while (calls < 10) std::this_thread::yield();
}

struct Case {
  const char* name;
  void (*run)();
};
const Case kCases[] = {{"covers", covers},   {"fails", fails}, {"stops", stops},         {"nests", nests},
                       {"callers", callers}, {"fork", forks},  {"busy-fork", busy_fork}, {"exit", exit_while_running}};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "quota") == 0) {
    printf("%d\n", quota_of(argv[2], argv[3]));
    return 0;
  }
  for (const Case& test : kCases)
    if (argc == 2 && strcmp(argv[1], test.name) == 0) {
      test.run();
      puts("passed");
      return 0;
    }
  fprintf(stderr, "usage: pool CASE | pool quota GROUPS MOUNT\n");
  return 2;
}
