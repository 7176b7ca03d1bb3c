#include "block.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cluster.h"
#include "sanitizer.h"

__thread uint3 threadIdx = {0, 0, 0}, blockIdx = {0, 0, 0};
__thread dim3 blockDim, gridDim;

namespace srp::emulation {

static __thread Block* running_block = nullptr;

Block* Block::running() { return running_block; }

std::string describe(Site site) { return std::string(site.file) + ":" + std::to_string(site.line); }

bool same(Site a, Site b) { return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0); }

static std::string triple(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

std::string Block::name(const Thread& thread) const { return "thread " + triple(thread.index) + " of " + name(); }

std::string Block::name() const { return "block " + triple(index_); }

void Block::note(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

void Block::note_broken(const std::string& rule) {
  if (!rule.empty()) note(name(*current_) + " " + rule);
}

void Block::give_up() {
  current_->fiber.suspend();
  __builtin_unreachable();  // advance() resumes no thread after an error
}

void Block::abandon_threads() {
  for (unsigned rank = 0; rank < count_; ++rank)
    if (threads_[rank]->state != Thread::State::returned) threads_[rank]->fiber.abandon(&end_tag_);
}

void Block::prepare(const Launch& launch, uint64_t number) {
  const dim3 grid = launch.grid, size = launch.block;
  launch_ = &launch;
  index_ = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
            static_cast<unsigned>(number / grid.x / grid.y)};
  count_ = live_ = size.x * size.y * size.z;
  at_barrier_ = phases_ = 0;
  error_.clear();
  shared_.reset(launch.shared_bytes, launch.shared_most);
  copies_.reset(shared_.begin(), shared_.bytes(), count_);
  products_.reset((count_ + warpSize - 1) / warpSize);

  while (threads_.size() < count_) threads_.push_back(std::make_unique<Thread>());
  for (unsigned rank = 0; rank < count_; ++rank) {
    Thread& thread = *threads_[rank];
    thread.block = this;
    thread.rank = rank;
    thread.index = {rank % size.x, rank / size.x % size.y, rank / (size.x * size.y)};
    thread.state = Thread::State::ready;
    thread.stores.clear();
    thread.fiber.start(&Block::run_thread, &thread);
  }
  warps_.assign((count_ + warpSize - 1) / warpSize, Warp{});
  if (count_ % warpSize != 0) warps_.back().returned = ~0u << count_ % warpSize;

  order_.resize(count_);
  std::iota(order_.begin(), order_.end(), 0u);
  if (launch.settings.order == Order::reverse) std::reverse(order_.begin(), order_.end());
  // The block's number is part of the seed: the run does not depend on which OS thread takes which block.
  shuffler_ = Shuffler(launch.settings.seed ^ number * 0x9e3779b97f4a7c15u);
}

const std::string& Block::run(const Launch& launch, uint64_t number) {
  begin(launch, number, nullptr);
  advance();
  if (live_ > 0 && error_.empty()) note("deadlock in " + name() + ":" + waiting());
  return end();
}

void Block::begin(const Launch& launch, uint64_t number, Cluster* cluster) {
  prepare(launch, number);
  cluster_ = cluster;
  release(&begin_tag_);
}

const std::string& Block::end() {
  if (!error_.empty() || live_ > 0) abandon_threads();
  acquire(&end_tag_);
  if (error_.empty() && live_ == 0) {
    const std::string uneven = products_.uneven(), overrun = shared_.overrun();
    if (!uneven.empty()) error_ = "in " + name() + " " + uneven;
    if (!overrun.empty()) error_ = name() + " wrote past the end of " + overrun;
  }
  return error_;
}

bool Block::advance() {
  running_block = this;
  blockIdx = index_;
  blockDim = launch_->block;
  gridDim = launch_->grid;
  bool progress = false;
  while (live_ > 0 && error_.empty() && advance_once()) progress = true;
  running_block = nullptr;
  return progress;
}

bool Block::advance_once() {
  const unsigned warps = static_cast<unsigned>(warps_.size());
  bool progress = false;
  if (launch_->settings.order == Order::reverse) {
    const unsigned phase = phases_;  // behind each barrier again the last warp first
    for (unsigned warp = warps; warp-- > 0 && phases_ == phase;)
      while (error_.empty() && phases_ == phase && run_round(warp, warp + 1)) progress = true;
    return progress;
  }
  const bool random = launch_->settings.order == Order::random;
  if (random) shuffler_.shuffle(order_);  // anew each round: more interleavings
  progress = run_round(0, warps);
  if (random && shuffler_.next() % 4 == 0) {
    const unsigned ahead = static_cast<unsigned>(shuffler_.next() % warps);
    while (error_.empty() && run_round(ahead, ahead + 1)) continue;
  }
  return progress;
}

bool Block::run_round(unsigned first_warp, unsigned end_warp) {
  bool progress = false;
  for (unsigned rank : order_) {
    Thread& thread = *threads_[rank];
    if (rank / warpSize < first_warp || rank / warpSize >= end_warp || thread.state != Thread::State::ready) continue;
    progress = true;
    switch_to(thread);
    if (!error_.empty()) break;
  }
  return progress;
}

void Block::switch_to(Thread& thread) {
  threadIdx = thread.index;
  current_ = &thread;
  thread.fiber.resume();
}

void Block::run_thread(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  Block& block = *thread.block;
  acquire(&block.begin_tag_);
  try {
    block.launch_->kernel.invoke(block.launch_->kernel.call);
  } catch (
      ...) {  // CUDA kernels do not throw, but host code called by mistake may; the exception must not leave the fiber
    block.note(block.name(thread) + " threw a C++ exception");
  }
  block.on_return(thread);
  release(&block.end_tag_);
}

void Block::on_return(Thread& thread) {
  thread.state = Thread::State::returned;
  --live_;
  if (at_barrier_ > 0)
    note(name(thread) + " returned while " + std::to_string(at_barrier_) + " thread(s) wait at __syncthreads " +
         describe(barrier_site_));
  if (cluster_) {
    const std::string broken = cluster_->on_return();
    if (!broken.empty()) note(name(thread) + " " + broken);
    if (!thread.stores.empty())
      note(name(thread) + " stores to another block " + describe(thread.stores.front().site) +
           ", with no barrier of the cluster behind it");
  }
  const std::string left = copies_.on_return(thread.rank);
  if (!left.empty()) note(name(thread) + " " + left);
  const unsigned warp = thread.rank / warpSize;
  const std::string begun = products_.on_return(warp);
  if (!begun.empty()) note(name(thread) + " " + begun);
  warps_[warp].returned |= 1u << thread.rank % warpSize;
  complete_calls(warp);
}

// CUDA asks every thread of the block to come to the same barrier. Hardware lets some violations pass; here none does.
void Block::barrier(Site site) {
  Thread& me = *current_;
  if (at_barrier_ == 0) barrier_site_ = site;
  if (live_ != count_)
    note(name(me) + " reaches __syncthreads " + describe(site) + " after " + std::to_string(count_ - live_) +
         " thread(s) of the block have returned");
  else if (!same(site, barrier_site_))
    note(name(me) + " is at __syncthreads " + describe(site) + " while " + std::to_string(at_barrier_) +
         " thread(s) wait at " + describe(barrier_site_));
  if (!error_.empty()) give_up();

  char* tag = &barrier_tag_[phases_ % 2];
  release(tag);
  me.state = Thread::State::at_barrier;
  me.site = site;
  if (++at_barrier_ == count_) {
    for (unsigned rank = 0; rank < count_; ++rank) threads_[rank]->state = Thread::State::ready;
    at_barrier_ = 0;
    ++phases_;
    const std::string uneven = products_.uneven();
    if (!uneven.empty()) note("in block " + triple(index_) + " at __syncthreads " + describe(site) + " " + uneven);
  }
  me.fiber.suspend();
  acquire(tag);
}

void* Block::shared_array(const SharedArray& array, size_t bytes, size_t alignment) {
  void* storage = shared_.find(array, bytes, alignment);
  if (!storage)
    note("shared array " + std::string(array.name) + " (" + describe(array.site) + ") takes " + std::to_string(bytes) +
         " bytes where " + std::to_string(shared_.used()) + " of " + std::to_string(shared_.limit()) + " are taken");
  if (!error_.empty()) give_up();
  return storage;
}

void Block::cluster_barrier(Site site) {
  Thread& me = *current_;
  if (at_barrier_ > 0)
    note(name(me) + " is at the barrier of its cluster " + describe(site) + " while " + std::to_string(at_barrier_) +
         " thread(s) wait at __syncthreads " + describe(barrier_site_));
  if (!cluster_) return barrier(site);  // of one block
  note_broken(cluster_->before_barrier(site));
  if (!error_.empty()) give_up();

  me.state = Thread::State::at_cluster_barrier;
  me.site = site;
  char* const tag = cluster_->arrive();
  me.fiber.suspend();
  acquire(tag);
}

// For the next barrier of the block it is one more that all have passed.
void Block::release_from_cluster() {
  for (unsigned rank = 0; rank < count_; ++rank) threads_[rank]->state = Thread::State::ready;
  ++phases_;
}

unsigned Block::cluster_rank() const { return cluster_ ? cluster_->rank_of(this) : 0; }

void Block::store_to_block(unsigned rank, void* place, uint64_t word, Site site) {
  const size_t offset = static_cast<size_t>(static_cast<char*>(place) - dynamic_shared_at(0));
  const BlockStore store = {rank, offset, word, site, false};
  if (offset + sizeof word > launch_->shared_bytes || offset % sizeof word != 0)
    note_broken("stores 8 bytes to another block " + describe(site) +
                " where its own has no dynamic shared memory, or at an address that is no multiple of them");
  else if (!cluster_)
    note_broken("stores to another block " + describe(site) + ", but was launched in no cluster");
  else
    note_broken(cluster_->check(store));
  if (!error_.empty()) give_up();
  current_->stores.push_back(store);
  current_->stores.back().there = cluster_->put_at_once(store);
}

// By the last thread of the cluster that comes to its barrier.
void Block::put_stores() {
  for (unsigned rank = 0; rank < count_; ++rank) {
    for (const BlockStore& store : threads_[rank]->stores)
      if (!store.there) cluster_->put(store);
    threads_[rank]->stores.clear();
  }
}

// Which threads wait where: one clause for each place, with the first thread that waits there.
std::string Block::waiting() const {
  struct Place {
    const Thread* first;
    unsigned threads;
  };
  std::vector<Place> places;
  for (unsigned rank = 0; rank < count_; ++rank) {
    const Thread& thread = *threads_[rank];
    if (thread.state == Thread::State::returned) continue;
    const auto here = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.first->state == thread.state && same(place.first->site, thread.site);
    });
    if (here == places.end())
      places.push_back({&thread, 1});
    else
      ++here->threads;
  }
  std::string text;
  for (const Place& place : places) {
    const Thread& thread = *place.first;
    const std::string where = thread.state == Thread::State::at_barrier           ? "__syncthreads"
                              : thread.state == Thread::State::at_cluster_barrier ? "cluster_sync"
                                                                                  : describe(thread.call.op);
    text += " " + std::to_string(place.threads) + " thread(s), the first " + triple(thread.index) + ", wait at " +
            where + " " + describe(thread.site) + ";";
  }
  return text + " " + std::to_string(count_ - live_) + " returned";
}

}  // namespace srp::emulation
