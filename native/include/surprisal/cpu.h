/* How the CPU backend runs the calls of one thread, and what else it computes. Settings belong to the calling thread and stay until they are changed.
 *
 * threads   a call may use this many threads, its own included. Results do not depend on it: work is cut by sizes alone.
 *           Small calls, and calls while another one has the pool, run on the calling thread alone
 * pool      threads start on first need, sleep between calls and live as long as the process; none is joined at exit. A
 *           forked child starts threads of its own
 * stop      read between pieces of a call: once it is not 0 the call ends within a piece, returns SRP_STOPPED and
 *           leaves its outputs unspecified. A call too small to be cut does not read it */
#ifndef SURPRISAL_CPU_H
#define SURPRISAL_CPU_H

#include <stdint.h>

#define SRP_MAX_THREADS 1024

#ifdef __cplusplus
extern "C" {
#endif

/* CPUs that this process may use: its affinity, cut down by the quotas of its control groups. At least 1. */
int32_t srp_cpu_available_threads(void);

/* 1..SRP_MAX_THREADS; anything else means srp_cpu_available_threads(), as it is before the first call. */
void srp_cpu_use_threads(int32_t threads);

/* NULL = calls run to their end, as they do before the first call. Another thread may write the number at any time. */
void srp_cpu_use_stop(const int32_t* stop);

#define SRP_UNEVEN -1
#define SRP_DOWN -2

/* How far apart all of offsets [0, count] are, the first of which is 0; SRP_UNEVEN where that differs, SRP_DOWN where one is below the one
 * ahead of it. */
int32_t srp_cpu_spacing(const int32_t* offsets, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
