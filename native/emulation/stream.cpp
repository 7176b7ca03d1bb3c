#include "stream.h"

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "sanitizer.h"

namespace srp::emulation {

namespace {
constexpr std::chrono::microseconds kLongestPause{300};
constexpr std::chrono::milliseconds kLongestHold{3};  // a caller that only polls must see it done in the end
}  // namespace

Stream::Stream(int device, bool blocking, uint64_t number)
    : device_(device), blocking_(blocking), number_(number), random_(number), random_seed_(0) {}

// TSan does not see the reference counts that order every use before the end.
class Stream::Lock : public std::unique_lock<std::mutex> {
 public:
  explicit Lock(const Stream* stream) : std::unique_lock<std::mutex>(stream->mutex_), stream_(stream) {}
  ~Lock() {
    if (owns_lock()) unlock();
    emulation::release(const_cast<Stream*>(stream_));
  }

 private:
  const Stream* stream_;
};

Stream::~Stream() { acquire(this); }

Stream::Ticket Stream::submit(Task task) {
  Lock lock(this);
  const Ticket ticket = ++submitted_;
  if (current_settings().streams != Streams::sync) start_thread();
  if (current_settings().streams != Streams::sync && has_thread_) {
    queue_.push_back({ticket, std::move(task)});
    changed_.notify_all();
    return ticket;
  }
  demanded_ = ticket;
  changed_.notify_all();
  changed_.wait(lock, [&] { return completed_ == ticket - 1; });
  lock.unlock();
  run(task);
  task = {};
  lock.lock();
  completed_ = ticket;
  changed_.notify_all();
  return ticket;
}

Stream::Ticket Stream::last() const {
  const Lock lock(this);
  return submitted_;
}

bool Stream::done(Ticket ticket) const {
  const Lock lock(this);
  return completed_ >= ticket;
}

void Stream::wait(Ticket ticket) {
  Lock lock(this);
  if (demanded_ < ticket) demanded_ = ticket;
  changed_.notify_all();
  changed_.wait(lock, [&] { return completed_ >= ticket; });
}

Fault Stream::take_fault() {
  const Lock lock(this);
  return std::exchange(fault_, {});
}

void Stream::close() {
  const Lock lock(this);
  closed_ = true;
  changed_.notify_all();
}

// Detached: the process may end while a stream waits for work that never comes. If the system refuses a thread, submit() does the
// work itself.
void Stream::start_thread() {
  if (has_thread_) return;
  try {
    std::thread([self = shared_from_this()] { self->work_off(); }).detach();
    has_thread_ = true;
  } catch (const std::system_error&) {}
}

void Stream::work_off() {
  Lock lock(this);
  for (;;) {
    changed_.wait(lock, [&] { return !queue_.empty() || closed_; });
    if (queue_.empty()) return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    changed_.wait(lock, [&] { return completed_ == entry.ticket - 1; });
    hold(lock, entry.ticket);
    lock.unlock();
    run(entry.task);
    entry.task = {};  // released before any waiter learns that it is done
    lock.lock();
    completed_ = entry.ticket;
    changed_.notify_all();
  }
}

void Stream::hold(Lock& lock, Ticket ticket) {
  const Settings settings = current_settings();
  if (settings.streams != Streams::delay) return;
  if (random_seed_ != settings.delay_seed) {
    random_seed_ = settings.delay_seed;
    random_ = Shuffler(settings.delay_seed * 0x9e3779b97f4a7c15u + number_);
  }
  const uint64_t random = random_.next();
  if (random % 4 == 0)
    changed_.wait_for(lock, kLongestHold, [&] { return demanded_ >= ticket; });
  else if (random % 4 == 1)
    changed_.wait_for(lock, kLongestPause * (random / 4 % 8) / 8, [] { return false; });
}

void Stream::run(const Task& task) {
  Fault fault;
  {
    const Lock lock(this);
    fault = fault_;
  }
  if (!fault) fault = lost(device_);
  if (fault && !task.always) return;
  Fault next = task.work();
  if (!next) return;
  lose_device(device_, next);
  const Lock lock(this);
  if (!fault_) fault_ = std::move(next);
}

}  // namespace srp::emulation
