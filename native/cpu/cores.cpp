// The affinity of a process lists the CPUs that it may run on; a quota limits its processor time. Both bound the number of threads
// that are of use.
#include "cores.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

#include <atomic>

#include "surprisal/cpu.h"

namespace srp::cpu {
namespace {

// Reads the numbers at the start of a file, as many as there are; "max" is not a number.
int read_numbers(const char* path, long long* first, long long* second) {
  FILE* const file = fopen(path, "re");
  if (!file) return 0;
  const int found = second ? fscanf(file, "%lld %lld", first, second) : fscanf(file, "%lld", first);
  fclose(file);
  return found > 0 ? found : 0;
}

// The quota of one folder: "quota period" in cpu.max (version 2), or a file for each (version 1); a quota of -1 is none.
int32_t quota_in(const char* folder) {
  char path[PATH_MAX + 32];
  long long quota = 0, period = 0;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (read_numbers(path, &quota, &period) != 2) {
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (read_numbers(path, &quota, nullptr) != 1) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (read_numbers(path, &period, nullptr) != 1) return 0;
  }
  if (quota <= 0 || period <= 0) return 0;
  const long long cpus = (quota + period - 1) / period;
  return cpus < SRP_MAX_THREADS ? static_cast<int32_t>(cpus) : SRP_MAX_THREADS;
}

int32_t smaller_quota(int32_t a, int32_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

// The smallest quota from the group's own folder up to the mount point. A container sees no more than that.
int32_t quota_above(const char* root, const char* group) {
  char folder[PATH_MAX];
  if (snprintf(folder, sizeof folder, "%s%s", root, group) >= static_cast<int>(sizeof folder)) return 0;
  int32_t smallest = 0;
  for (;;) {
    smallest = smaller_quota(smallest, quota_in(folder));
    char* const slash = strrchr(folder, '/');
    if (!slash || slash < folder + strlen(root)) return smallest;
    *slash = '\0';
  }
}

// Whether a list of controllers, such as "cpu,cpuacct", has the word cpu.
bool has_cpu(const char* controllers) {
  const size_t length = strcspn(controllers, ",");
  if (length == 3 && strncmp(controllers, "cpu", 3) == 0) return true;
  return controllers[length] == ',' && has_cpu(controllers + length + 1);
}

int32_t count_cpus() {
#if defined(_WIN32)
  long cpus = static_cast<long>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
#else
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
#endif
#if defined(__linux__)
  cpu_set_t set;  // the kernel refuses this size above 1024 CPUs; all CPUs count then
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = CPU_COUNT(&set);
#endif
  const int32_t quota = quota_of("/proc/self/cgroup", "/sys/fs/cgroup");
  if (quota > 0 && quota < cpus) cpus = quota;
  return static_cast<int32_t>(cpus < 1 ? 1 : cpus > SRP_MAX_THREADS ? SRP_MAX_THREADS : cpus);
}

}  // namespace

int32_t quota_of(const char* groups, const char* mount) {
  FILE* const file = fopen(groups, "re");
  if (!file) return 0;
  int32_t smallest = 0;
  char line[PATH_MAX];
  while (fgets(line, sizeof line, file)) {  // number:controllers:path
    line[strcspn(line, "\n")] = '\0';
    char* const controllers = strchr(line, ':');
    char* const path = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!path) continue;
    *path = '\0';
    char root[PATH_MAX];
    if (controllers[1] == '\0')
      snprintf(root, sizeof root, "%s", mount);  // version 2 has one tree
    else if (has_cpu(controllers + 1))
      snprintf(root, sizeof root, "%s/cpu", mount);
    else
      continue;
    smallest = smaller_quota(smallest, quota_above(root, path + 1));
  }
  fclose(file);
  return smallest;
}

}  // namespace srp::cpu

int32_t srp_cpu_available_threads(void) {
  // Several threads may compute this at once. A lock instead could stay locked for ever in a child process that is forked meanwhile.
  static std::atomic<int32_t> known{0};
  int32_t available = known.load(std::memory_order_relaxed);
  if (available == 0) known.store(available = srp::cpu::count_cpus(), std::memory_order_relaxed);
  return available;
}
