#include "cluster.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sanitizer.h"

namespace srp::emulation {

namespace {
std::string number(size_t n) { return std::to_string(n); }
}  // namespace

std::string Cluster::run(const Launch& launch, uint64_t number, const std::vector<std::unique_ptr<Block>>& blocks) {
  blocks_.clear();
  for (const auto& block : blocks) blocks_.push_back(block.get());
  order_ = launch.settings.order;
  shuffler_ = Shuffler(launch.settings.seed ^ ~number * 0x9e3779b97f4a7c15u);
  at_barrier_ = phases_ = 0;
  for (size_t rank = 0; rank < blocks_.size(); ++rank)
    blocks_[rank]->begin(launch, number * blocks_.size() + rank, this);

  std::vector<unsigned> turns(blocks_.size());
  std::iota(turns.begin(), turns.end(), 0u);
  if (order_ == Order::reverse) std::reverse(turns.begin(), turns.end());
  for (bool progress = true; progress && live() > 0 && !failed();) {
    progress = false;
    if (order_ == Order::random) shuffler_.shuffle(turns);
    for (const unsigned rank : turns)
      if (!failed() && blocks_[rank]->advance()) progress = true;
  }

  std::string stuck;
  if (live() > 0 && !failed()) stuck = deadlock();
  // What threads wrote is read behind their end, as TSan knows it.
  std::string error;
  for (Block* block : blocks_) {
    const std::string& text = block->end();
    if (error.empty()) error = text;
  }
  return error.empty() ? stuck : error;
}

std::string Cluster::deadlock() const {
  std::string text = "deadlock in the cluster of " + blocks_[0]->name() + ":";
  const char* separator = "";
  for (const Block* block : blocks_) {
    if (block->live() == 0) continue;
    text += separator + (" in " + block->name()) + block->waiting();
    separator = ";";
  }
  return text;
}

bool Cluster::failed() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const Block* block) { return block->failed(); });
}

unsigned Cluster::live() const {
  unsigned live = 0;
  for (const Block* block : blocks_) live += block->live();
  return live;
}

unsigned Cluster::rank_of(const Block* block) const {
  return static_cast<unsigned>(std::find(blocks_.begin(), blocks_.end(), block) - blocks_.begin());
}

// As strict as the barrier of a block: every thread comes to the same one.
std::string Cluster::before_barrier(Site site) {
  if (at_barrier_ == 0) barrier_site_ = site;
  const size_t all = blocks_.size() * blocks_[0]->threads();
  if (live() != all)
    return "reaches the barrier of its cluster " + describe(site) + " after " + number(all - live()) +
           " thread(s) of it have returned";
  if (!same(site, barrier_site_))
    return "is at the barrier of its cluster " + describe(site) + " while " + number(at_barrier_) +
           " thread(s) wait at " + describe(barrier_site_);
  return {};
}

char* Cluster::arrive() {
  char* const tag = &tags_[phases_ % 2];
  release(tag);
  if (++at_barrier_ < blocks_.size() * blocks_[0]->threads()) return tag;
  acquire(tag);
  for (Block* block : blocks_) block->put_stores();
  release(tag);
  for (Block* block : blocks_) block->release_from_cluster();
  at_barrier_ = 0;
  ++phases_;
  return tag;
}

std::string Cluster::check(const BlockStore& store) const {
  const unsigned rank = store.rank;
  if (rank >= blocks_.size())
    return "stores to block " + number(rank) + " of its cluster " + describe(store.site) + ", which has " +
           number(blocks_.size());
  const std::string what = "stores to shared memory of " + blocks_[rank]->name() + " " + describe(store.site);
  if (phases_ == 0) return what + " before the first barrier of the cluster, when it may not have begun";
  if (blocks_[rank]->live() < blocks_[rank]->threads()) return what + ", where threads have returned";
  return {};
}

bool Cluster::put_at_once(const BlockStore& store) {
  const bool at_once = order_ == Order::reverse || (order_ == Order::random && shuffler_.next() % 2 == 0);
  if (at_once) put(store);
  return at_once;
}

void Cluster::put(const BlockStore& store) const {
  memcpy(blocks_[store.rank]->dynamic_shared_at(store.offset), &store.word, sizeof store.word);
}

std::string Cluster::on_return() const {
  if (at_barrier_ == 0) return {};
  return "returned while " + number(at_barrier_) + " thread(s) wait at the barrier of its cluster " +
         describe(barrier_site_);
}

}  // namespace srp::emulation
