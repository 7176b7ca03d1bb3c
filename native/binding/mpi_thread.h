// The one thread of the process that calls MPI. Calls are jobs: JavaScript threads of every environment hand them over, and sleep
// until they are done or are told of it. The thread starts each without waiting, asks after those under way, and looks at their
// deadlines; jobs that are not done in time stay with it, since MPI still knows their memory.
#ifndef SURPRISAL_BINDING_MPI_THREAD_H
#define SURPRISAL_BINDING_MPI_THREAD_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/mpi.h"

namespace srp::binding {

using Clock = std::chrono::steady_clock;

enum class MpiOutcome : int32_t { done = 0, timed_out = 1, failed = 2 };

struct MpiJob {
  enum class Kind { open, group, transfer, finish, abort };
  Kind kind;
  int32_t transfer = 0;  // SRP_MPI_…
  int32_t comm = SRP_MPI_ALL;
  int32_t root = 0;  // of a broadcast; the tag of a group
  std::vector<unsigned char> sent, received;
  std::string library;  // to open; empty: the first there is
  Clock::time_point deadline = Clock::time_point::max();
  std::function<void()> on_end;  // on the thread, once

  // Written by the thread before `ended`.
  MpiOutcome outcome = MpiOutcome::done;
  std::string error;
  int32_t made = -1;  // number of a communicator
  int32_t rank = 0, size = 0;  // of the one that was opened
  std::atomic<bool> ended{false};
  srp_mpi_request request = {};
};

class MpiThread {
 public:
  static MpiThread& instance();

  // Opens the library of the table's functions; NULL or why not. Once in a process: the first file stays.
  const char* load(const std::string& file);
  const srp_mpi* functions() const { return functions_; }

  void hand_over(std::shared_ptr<MpiJob> job);
  // Sleeps until the job has ended. Where the thread itself is stuck, the deadline ends it.
  void wait(MpiJob& job);

  // Of environments that use MPI. The last one that leaves finishes MPI, which waits for every process of the job. Where a call failed
  // or came too late, or where an environment knows of a process that does not finish MPI, it leaves MPI as it is.
  void enter();
  void leave(bool complete);

 private:
  void run();
  void start(MpiJob& job);
  void finish(std::vector<std::shared_ptr<MpiJob>>& active);
  void look(std::vector<std::shared_ptr<MpiJob>>& active);
  bool advance(MpiJob& job);  // whether it has ended
  void end(MpiJob& job, MpiOutcome outcome, std::string error = {});

  std::mutex mutex_;
  std::condition_variable arrived_, ended_;
  std::vector<std::shared_ptr<MpiJob>> handed_over_;
  std::vector<std::shared_ptr<MpiJob>> stranded_;  // their memory is MPI's until the process ends
  const srp_mpi* functions_ = nullptr;
  int32_t users_ = 0;
  bool running_ = false;
  bool opened_ = false;
  std::atomic<bool> healthy_{true};
};

}  // namespace srp::binding

#endif
