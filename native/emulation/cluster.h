// The blocks of a cluster, executed by one OS thread: each goes as far as it comes without the others.
//
// What a block stores to another is there for sure behind their next barrier. It comes as late as that in the forward order, at once in
// the backward one, and either way in the random one: what reads it too early sees the old bytes in one, and what still reads the old
// bytes sees the new ones in the other.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "block.h"

namespace srp::emulation {

// More of them are not promised by every card that has clusters.
constexpr unsigned kMostOfCluster = 8;

class Cluster {
 public:
  // Executes the `number`-th cluster of the launch with these blocks, as many as one has. Empty: it ended well.
  std::string run(const Launch& launch, uint64_t number, const std::vector<std::unique_ptr<Block>>& blocks);

  // Called by the running thread through its block. Each returns the rule that was broken, or nothing.
  std::string before_barrier(Site site);
  std::string check(const BlockStore& store) const;
  std::string on_return() const;
  // Whether the store comes at once, and then does it; else whoever comes last to the next barrier does.
  bool put_at_once(const BlockStore& store);
  void put(const BlockStore& store) const;
  // The thread waits now. Returns what TSan orders those by that come behind the barrier.
  char* arrive();

  unsigned rank_of(const Block* block) const;

 private:
  bool failed() const;
  std::string deadlock() const;
  unsigned live() const;

  std::vector<Block*> blocks_;
  Order order_ = Order::forward;
  Shuffler shuffler_{0};
  unsigned at_barrier_ = 0, phases_ = 0;
  Site barrier_site_{};
  char tags_[2] = {};  // in turn, as a block's
};

}  // namespace srp::emulation
