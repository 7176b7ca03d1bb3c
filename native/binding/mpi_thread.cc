#include "mpi_thread.h"

#include <string.h>

#include <algorithm>
#include <thread>

#include "back_off.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

namespace srp::binding {
namespace {

size_t bytes_of(const std::vector<std::shared_ptr<MpiJob>>& jobs) {
  size_t sum = 0;
  for (const auto& job : jobs) sum += job->sent.size() + job->received.size();
  return sum;
}

}  // namespace

MpiThread& MpiThread::instance() {
  static MpiThread* const thread = new MpiThread;  // never deleted: its thread may outlive exit handlers
  return *thread;
}

const char* MpiThread::load(const std::string& file) {
#if defined(_WIN32)
  (void)file;
  return "MPI is not supported on Windows";
#else
  const std::lock_guard<std::mutex> lock(mutex_);
  if (functions_) return nullptr;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return dlerror();
  const auto get = reinterpret_cast<const srp_mpi* (*)()>(dlsym(library, "srp_mpi_get"));
  const srp_mpi* const functions = get ? get() : nullptr;
  if (!functions || functions->size != sizeof(srp_mpi))
    return "it and the addon were built from different versions of this package";
  functions_ = functions;
  return nullptr;
#endif
}

void MpiThread::hand_over(std::shared_ptr<MpiJob> job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    handed_over_.push_back(std::move(job));
    if (!running_) std::thread([this] { run(); }).detach();
    running_ = true;
  }
  arrived_.notify_one();
}

void MpiThread::wait(MpiJob& job) {
  // The thread looks at deadlines itself, unless it is inside a call that waits.
  constexpr auto grace = std::chrono::milliseconds(250);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ended = [&]() -> bool { return job.ended; };
  if (job.deadline == Clock::time_point::max()) {
    ended_.wait(lock, ended);
  } else if (!ended_.wait_until(lock, job.deadline + grace, ended)) {
    job.outcome = MpiOutcome::timed_out;
    job.ended = true;
    healthy_ = false;
  }
}

void MpiThread::enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++users_;
}

void MpiThread::leave(bool complete) {
  const auto job = std::make_shared<MpiJob>();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!complete) healthy_ = false;
    if (--users_ > 0 || !opened_) return;
    opened_ = false;
    job->kind = MpiJob::Kind::finish;
    if (!healthy_) job->deadline = Clock::now() + std::chrono::seconds(1);
  }
  hand_over(job);
  wait(*job);
}

void MpiThread::end(MpiJob& job, MpiOutcome outcome, std::string error) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (outcome != MpiOutcome::done && job.kind != MpiJob::Kind::open) healthy_ = false;
    if (job.ended) return;  // its waiter gave up
    job.outcome = outcome;
    job.error = std::move(error);
    job.ended = true;
  }
  ended_.notify_all();
  if (job.on_end) job.on_end();
}

void MpiThread::start(MpiJob& job) {
  const srp_mpi& mpi = *functions_;
  int32_t code = 0;
  switch (job.kind) {
    case MpiJob::Kind::open:
      if (const char* const why = mpi.open(job.library.empty() ? nullptr : job.library.c_str()))
        return end(job, MpiOutcome::failed, why);
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        opened_ = true;
      }
      code = mpi.start(SRP_MPI_DUPLICATE, SRP_MPI_ALL, nullptr, nullptr, 0, 0, &job.request);
      break;
    case MpiJob::Kind::group:
      code = mpi.group(job.comm, reinterpret_cast<const int32_t*>(job.sent.data()), int32_t(job.sent.size() / 4),
                       job.root, &job.made);
      return end(job, code ? MpiOutcome::failed : MpiOutcome::done, code ? mpi.error(code) : "");
    case MpiJob::Kind::transfer:
      code = mpi.start(job.transfer, job.comm, job.sent.data(), job.received.data(),
                       int32_t(job.transfer == SRP_MPI_BROADCAST ? job.received.size() : job.sent.size()), job.root,
                       &job.request);
      break;
    case MpiJob::Kind::finish:
      return end(job, MpiOutcome::done);
    case MpiJob::Kind::abort:
      mpi.abort(1);
      return end(job, MpiOutcome::done);
  }
  if (code) end(job, MpiOutcome::failed, mpi.error(code));
}

bool MpiThread::advance(MpiJob& job) {
  if (job.ended) return true;
  const srp_mpi& mpi = *functions_;
  int32_t done = 0;
  const int32_t code = mpi.test(&job.request, &done);
  if (code) {
    end(job, MpiOutcome::failed, mpi.error(code));
  } else if (done) {
    if (job.kind == MpiJob::Kind::open) mpi.shape(job.made = job.request.made, &job.rank, &job.size);
    end(job, MpiOutcome::done);
  } else if (Clock::now() >= job.deadline) {
    end(job, MpiOutcome::timed_out);
  } else {
    return false;
  }
  return true;
}

// Asks after the jobs under way, and forgets those that have ended.
void MpiThread::look(std::vector<std::shared_ptr<MpiJob>>& active) {
  const auto stays = [this](std::shared_ptr<MpiJob>& job) {
    if (!advance(*job)) return true;
    if (job->outcome != MpiOutcome::done) stranded_.push_back(job);
    return false;
  };
  active.erase(std::stable_partition(active.begin(), active.end(), stays), active.end());
}

// What is under way are farewells, which the other ranks come for in their next call or with their own. Where MPI has failed they
// get a moment.
void MpiThread::finish(std::vector<std::shared_ptr<MpiJob>>& active) {
  BackOff back_off;
  const auto until = healthy_ ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds(200);
  while (!active.empty() && Clock::now() < until) {
    look(active);
    back_off.pause();
  }
  stranded_.insert(stranded_.end(), active.begin(), active.end());
  active.clear();
  if (healthy_) functions_->finish();
}

void MpiThread::run() {
  std::vector<std::shared_ptr<MpiJob>> active, fresh;
  BackOff back_off;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (active.empty()) arrived_.wait(lock, [this] { return !handed_over_.empty(); });
      fresh.swap(handed_over_);
    }
    if (fresh.empty())
      back_off.pause();
    else
      back_off.begin(bytes_of(active) + bytes_of(fresh));
    for (const auto& job : fresh) {
      if (job->kind == MpiJob::Kind::finish) finish(active);
      start(*job);
      if (!job->ended) active.push_back(job);
    }
    fresh.clear();
    look(active);
  }
}

}  // namespace srp::binding
