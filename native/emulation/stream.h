// A stream: work in order, on a thread of its own.
//
// Each piece of work has a number, its ticket. Waiting for a ticket is the only synchronisation there is: events are
// tickets, and one stream waits for another by waiting for a ticket of it. A ticket must exist before a stream can wait for
// it, so no two streams wait for each other.
//
// SURPRISAL_EMULATION_STREAMS=delay holds work back: for a moment, or until a call waits for it. Work that should have
// waited and did not then runs first, and the data shows it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "errors.h"
#include "settings.h"

namespace srp::emulation {

struct Task {
  std::function<Fault()> work;
  // Whether the task runs even after a fault, unlike kernels and copies: others wait for it, or it frees memory.
  bool always = false;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Ticket = uint64_t;

  // `blocking`: the stream and the legacy stream of its device wait for each other.
  Stream(int device, bool blocking, uint64_t number);
  ~Stream();

  int device() const { return device_; }
  bool blocking() const { return blocking_; }

  Ticket submit(Task task);
  Ticket last() const;
  bool done(Ticket ticket) const;
  void wait(Ticket ticket);
  // Returns the fault since the last call, and clears it.
  Fault take_fault();
  // No work will be submitted any more; the thread ends when it has done all.
  void close();

 private:
  struct Entry {
    Ticket ticket;
    Task task;
  };
  class Lock;

  void start_thread();
  void work_off();
  void hold(Lock& lock, Ticket ticket);
  void run(const Task& task);

  const int device_;
  const bool blocking_;
  const uint64_t number_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  Ticket submitted_ = 0, completed_ = 0, demanded_ = 0;
  bool has_thread_ = false, closed_ = false;
  Shuffler random_;
  uint64_t random_seed_;
  Fault fault_;
};

using StreamRef = std::shared_ptr<Stream>;

// The stream behind a handle; null for a stale one. A null handle is the legacy stream of the current device.
StreamRef find_stream(cudaStream_t handle);
bool is_legacy(const StreamRef& stream);
std::vector<StreamRef> streams_of(int device);

// The number of handles that have not been destroyed.
size_t live_streams();
size_t live_events();
size_t live_graphs();

// Puts work into the stream, or into the graph that it captures; then `ticket` stays as it is.
cudaError_t enqueue(const StreamRef& stream, Task task, Stream::Ticket* ticket = nullptr);
// Waits, takes the fault of the work until then, and records it.
cudaError_t settle(const StreamRef& stream, Stream::Ticket ticket);
// All streams of the device.
cudaError_t settle_device(int device);

}  // namespace srp::emulation
