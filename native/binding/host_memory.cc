// Huge pages for large arrays that JavaScript has just made. A page of 4 KiB costs a fault of about a microsecond when it is touched
// first, which is most of the time of a call that fills hundreds of megabytes; a page of 2 MiB costs one fault for 512 of those. The
// kernel may have to move other memory together first, or a host to find it, and may take a second for a large array. So pages are asked
// for and touched one by one: with the first that does not come, or not in time, it ends, and the rest of the array is of ordinary pages,
// asked for at once, which is cheaper than a fault for each.
//
// A page that was dear once is cheap from then on: freed, it stays in one piece. So a process may spend half a second on such pages, a part
// of it in each of its first calls, and a loop has the cheap ones behind them.
#include "host_memory.h"

#include <atomic>

#include "typed_array.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#endif

namespace srp::binding {
namespace {

#if defined(__linux__) && defined(MADV_HUGEPAGE) && defined(RUSAGE_THREAD)

constexpr uintptr_t kHugePage = 2 << 20;
// A page that has to be zeroed alone comes in a quarter of a millisecond. One that takes so long was made by moving others.
constexpr double kLongestPage = 0.01;
// All of them may take so long: less than the faults of ordinary pages in their place.
constexpr double kStart = 0.02, kEachPage = 0.001;
// And so much longer, as long as the process has not spent all of its time for that.
constexpr double kLonger = 0.1, kOfProcess = 0.5;
std::atomic<int64_t> spent_us{0};

constexpr int kPopulate = 23;  // MADV_POPULATE_WRITE: touches all pages. An older kernel than Linux 5.14 refuses it

// Of this thread's work: the kernel moves memory on it. By the clock of the wall, other programs on its core would count.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

long faults() {
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

double longer() {
  const double left = kOfProcess - 1e-6 * static_cast<double>(spent_us.load(std::memory_order_relaxed));
  return left < 0 ? 0 : left < kLonger ? left : kLonger;
}

// Writes zeros into memory that holds zeros, or was never touched.
int64_t take_huge_pages(unsigned char* data, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t end = (begin + bytes) & ~(kHugePage - 1);
  int64_t pages = 0, huge = 0;
  const double start = seconds(), most = kStart + longer();
  double last = start, over = 0;
  uintptr_t page = first;
  bool ends = false;
  for (; page < end && !ends; page += kHugePage) {
    volatile unsigned char* const at = reinterpret_cast<unsigned char*>(page);
    if (madvise(reinterpret_cast<void*>(page), kHugePage, MADV_HUGEPAGE) != 0) break;
    const long before = faults();
    at[0] = 0;
    const long touched = faults();
    at[kHugePage / 2] = 0;
    const bool ordinary = faults() != touched;
    const double now = seconds();
    ++pages;
    // Of a mapping's first page a kernel may count two faults. None: the memory was in use before.
    if (touched != before && !ordinary) ++huge;
    over = now - start - kEachPage * static_cast<double>(pages);
    ends = ordinary || now - last > kLongestPage || over > most;
    last = now;
  }
  if (over > kStart) spent_us.fetch_add(static_cast<int64_t>(1e6 * (over - kStart)), std::memory_order_relaxed);
  if (page < end) madvise(reinterpret_cast<void*>(page), end - page, kPopulate);
  return huge * static_cast<int64_t>(kHugePage);
}

#else

int64_t take_huge_pages(unsigned char*, size_t) { return 0; }

#endif

}  // namespace

Napi::Value use_huge_pages(const Napi::CallbackInfo& info) {
  TypedArray array;
  if (!read_typed_array(info.Env(), info[0], &array)) return Napi::Number::New(info.Env(), 0);
  const int64_t huge = take_huge_pages(static_cast<unsigned char*>(array.data), array.bytes());
  return Napi::Number::New(info.Env(), static_cast<double>(huge));
}

}  // namespace srp::binding
