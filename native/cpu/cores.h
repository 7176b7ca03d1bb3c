// How many CPUs this process may use.
#ifndef SURPRISAL_CPU_CORES_H
#define SURPRISAL_CPU_CORES_H

#include <stdint.h>

namespace srp::cpu {

// The smallest quota among a process's control groups and their ancestors, in CPUs, rounded up; 0 = none, or not
// readable. `groups` is the process's list (/proc/self/cgroup), `mount` where control groups are (/sys/fs/cgroup);
// versions 1 and 2.
int32_t quota_of(const char* groups, const char* mount);

}  // namespace srp::cpu

#endif
