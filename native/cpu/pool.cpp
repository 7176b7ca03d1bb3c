// The thread pool (contract: pool.h). A process has one, which is never destroyed, since its threads may still be working at exit.
//
// Only the mutex orders memory. A job is published, joined and left while the mutex is held, so all that its caller wrote happens
// before a helper's pieces, and those happen before the caller continues. `next` and `failed` only hand out numbers and are
// relaxed; `stop` is read relaxed, since seeing it late does no harm.
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <atomic>
#include <new>

#include "shared/checks.h"
#include "sizes.h"
#include "surprisal/cpu.h"

namespace srp::cpu {
namespace {

constexpr size_t kStackBytes = size_t{1} << 21;  // musl would give 128 KiB

thread_local int32_t allowed_threads = 0;  // 0 = those available
thread_local const int32_t* stop_wish = nullptr;

struct Job {
  int64_t count, size;
  void* context;
  RunPiece run;
  const int32_t* stop;

  std::atomic<int64_t> next{0};  // where the next piece begins
  std::atomic<int64_t> failed{INT64_MAX};  // where the first failed piece begins, of those known so far

  // The pool's mutex guards these.
  int32_t seats = 0;  // helpers that may still join
  int32_t helpers = 0;  // helpers at work
  srp_status status = SRP_OK;  // of the piece at `failed`
  char text[sizeof failure_text] = "";
};

struct Pool {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;  // there may be a job with a free seat
  pthread_cond_t left = PTHREAD_COND_INITIALIZER;  // the last helper has left
  // The mutex guards these.
  int32_t threads = 0;
  bool taken = false;  // by one caller, from before its job is published until its helpers have left
  Job* job = nullptr;
};

std::atomic<Pool*> pool_of_process{nullptr};

bool wants_stop(const int32_t* stop) { return stop && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0; }

srp_status stopped() { return fail(SRP_STOPPED, "stopped by its caller"); }

void note_failure(Pool& pool, Job& job, int64_t begin, srp_status status) {
  pthread_mutex_lock(&pool.mutex);
  if (begin < job.failed.load(std::memory_order_relaxed)) {
    job.failed.store(begin, std::memory_order_relaxed);
    job.status = status;
    memcpy(job.text, failure_text, sizeof job.text);
  }
  pthread_mutex_unlock(&pool.mutex);
}

// Pieces are handed out in order, so all before a failed one run as well and the first failure is found.
void work(Pool& pool, Job& job) {
  while (!wants_stop(job.stop)) {
    const int64_t begin = job.next.fetch_add(job.size, std::memory_order_relaxed);
    if (begin >= job.count || begin > job.failed.load(std::memory_order_relaxed)) return;
    const int64_t end = job.size < job.count - begin ? begin + job.size : job.count;
    const srp_status status = job.run(job.context, begin, end);
    if (status != SRP_OK) note_failure(pool, job, begin, status);
  }
}

void* serve(void* data) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "surprisal");
#endif
  Pool& pool = *static_cast<Pool*>(data);
  pthread_mutex_lock(&pool.mutex);
  for (;;) {
    while (!pool.job || pool.job->seats == 0) pthread_cond_wait(&pool.wake, &pool.mutex);
    Job& job = *pool.job;
    --job.seats;
    ++job.helpers;
    pthread_mutex_unlock(&pool.mutex);
    work(pool, job);
    pthread_mutex_lock(&pool.mutex);
    if (--job.helpers == 0) pthread_cond_signal(&pool.left);
  }
  return nullptr;
}

// Call it with the mutex held. If the system refuses more threads, there are fewer helpers.
void start_threads(Pool& pool, int32_t wanted) {
  if (pool.threads >= wanted) return;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
#if !defined(_WIN32)
  sigset_t all, before;  // signals must reach the process's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
  pthread_t thread;
  while (pool.threads < wanted && pthread_create(&thread, &attributes, serve, &pool) == 0) ++pool.threads;
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  pthread_attr_destroy(&attributes);
}

#if defined(_WIN32)
const int registered = 0;  // Windows does not fork
#else
// A forked child has none of the threads, and another thread may have held the mutex at the fork: the child makes a new pool.
void forget_pool() { pool_of_process.store(nullptr, std::memory_order_relaxed); }

// This runs when the library is loaded, not on first need: a fork during a registration on first need would leave it half done for ever.
const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
#endif

// NULL where there is no memory.
Pool* get_pool() {
  if (registered != 0) return nullptr;
  Pool* pool = pool_of_process.load(std::memory_order_acquire);
  if (pool) return pool;
  Pool* const fresh = new (std::nothrow) Pool;
  if (!fresh || pool_of_process.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;  // another thread has made the pool meanwhile
  return pool;
}

srp_status run_alone(int64_t count, int64_t size, void* context, RunPiece run) {
  for (int64_t begin = 0; begin < count; begin += size) {
    if (wants_stop(stop_wish)) return stopped();
    if (count - begin <= size) return run(context, begin, count);
    SRP_TRY(run(context, begin, begin + size));
  }
  return SRP_OK;
}

// Returns false if another call is using the pool.
bool open_job(Pool& pool, Job& job, int32_t helpers) {
  pthread_mutex_lock(&pool.mutex);
  const bool open = !pool.taken;
  if (open) {
    start_threads(pool, helpers);
    job.seats = helpers < pool.threads ? helpers : pool.threads;
    pool.taken = true;
    pool.job = &job;
    for (int32_t i = 0; i < job.seats; ++i) pthread_cond_signal(&pool.wake);
  }
  pthread_mutex_unlock(&pool.mutex);
  return open;
}

void close_job(Pool& pool, Job& job) {
  pthread_mutex_lock(&pool.mutex);
  pool.job = nullptr;  // no helper can join from here on
  while (job.helpers > 0) pthread_cond_wait(&pool.left, &pool.mutex);
  pool.taken = false;
  pthread_mutex_unlock(&pool.mutex);
}

}  // namespace

int32_t threads_of_call() { return allowed_threads > 0 ? allowed_threads : srp_cpu_available_threads(); }

srp_status run_pieces(int64_t count, int64_t size, void* context, RunPiece run) {
  if (count <= 0) return SRP_OK;
  const int64_t pieces = (count - 1) / size + 1;
  const int32_t allowed = threads_of_call();
  const int32_t helpers = (pieces < allowed ? static_cast<int32_t>(pieces) : allowed) - 1;
  Pool* const pool = helpers > 0 ? get_pool() : nullptr;
  if (!pool) return run_alone(count, size, context, run);
  Job job = {count, size, context, run, stop_wish};
  if (!open_job(*pool, job, helpers)) return run_alone(count, size, context, run);
  work(*pool, job);
  close_job(*pool, job);
  if (job.status != SRP_OK) {
    memcpy(failure_text, job.text, sizeof failure_text);
    return job.status;
  }
  return job.next.load(std::memory_order_relaxed) < count ? stopped() : SRP_OK;
}

int64_t rows_in_piece(int64_t bytes_per_row) {
  const int64_t bytes = sizes().piece_bytes, rows = bytes_per_row > 0 ? bytes / bytes_per_row : bytes;
  return rows > 0 ? rows : 1;
}

srp_status run_rows(int64_t rows, int64_t bytes_per_row, void* context, RunPiece run) {
  if (rows <= 0) return SRP_OK;
  const bool small = bytes_per_row <= sizes().parallel_bytes / rows;
  return small ? run(context, 0, rows) : run_pieces(rows, rows_in_piece(bytes_per_row), context, run);
}

}  // namespace srp::cpu

void srp_cpu_use_threads(int32_t threads) {
  srp::cpu::allowed_threads = threads >= 1 && threads <= SRP_MAX_THREADS ? threads : 0;
}

void srp_cpu_use_stop(const int32_t* stop) { srp::cpu::stop_wish = stop; }
