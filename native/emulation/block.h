// One block of CUDA threads, executed by one OS thread.
//
// A round resumes every thread that is ready; the rounds repeat until all threads have returned. A round in which no thread
// is ready and some wait is a deadlock. Rounds keep the warps in step, as a device does not: in other orders than the forward one
// a warp also runs ahead, as far as it comes without the others. The first broken rule ends the block: its threads are abandoned
// where they stand, and run() returns the text.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async_copies.h"
#include "fiber.h"
#include "group_products.h"
#include "machine.h"
#include "settings.h"
#include "shared_memory.h"

namespace srp::emulation {

struct Launch {
  Kernel kernel;
  dim3 grid, block;
  unsigned cluster;  // blocks of one
  size_t shared_bytes, shared_most;  // dynamic ones; at most so many in all
  Settings settings;
};

class Block;
class Cluster;

// 8 bytes to the dynamic shared memory of another block of the cluster.
struct BlockStore {
  unsigned rank;
  size_t offset;
  uint64_t word;
  Site site;
  bool there;
};

struct Thread {
  enum class State : uint8_t { ready, at_barrier, at_cluster_barrier, in_warp_call, returned };

  Fiber fiber;
  Block* block = nullptr;
  unsigned rank = 0;  // its number in the block, x fastest
  uint3 index{};
  State state = State::ready;
  Site site{};  // where it waits
  WarpCall call{};
  uint64_t result = 0;
  std::vector<BlockStore> stores;  // since the last barrier of the cluster
  char arrived = 0, woken = 0;  // addresses for TSan's happens-before at __syncwarp
};

class Block {
 public:
  // Executes block number `number` of the launch. Empty: it ended well.
  const std::string& run(const Launch& launch, uint64_t number);

  // The same in parts, for the blocks of a cluster (cluster.h). advance() goes on until no thread is ready, or until a rule is broken;
  // false: none was.
  void begin(const Launch& launch, uint64_t number, Cluster* cluster);
  bool advance();
  const std::string& end();
  unsigned live() const { return live_; }
  unsigned threads() const { return count_; }
  bool failed() const { return !error_.empty(); }
  std::string name() const;
  std::string waiting() const;  // which threads wait where
  void put_stores();
  void release_from_cluster();
  char* dynamic_shared_at(size_t offset) const { return static_cast<char*>(shared_.dynamic()) + offset; }

  // Called by the running thread.
  void barrier(Site site);
  void cluster_barrier(Site site);
  unsigned cluster_rank() const;
  void store_to_block(unsigned rank, void* place, uint64_t word, Site site);
  uint64_t warp_call(const WarpCall& call);
  void* shared_array(const SharedArray& array, size_t bytes, size_t alignment);
  void* dynamic_shared() const { return shared_.dynamic(); }
  void begin_copy(const AsyncCopy& copy);
  void commit_copies();
  void fence_copies();
  const AsyncCopy* due_copy(size_t groups);

  static Block* running();

 private:
  struct Warp {
    uint32_t waiting = 0;  // lanes in a warp call
    uint32_t returned = 0;  // lanes that have ended, and lanes that a last, incomplete warp does not have
    char products_tag = 0;  // its products, which whichever lane comes last looks after
  };

  static void run_thread(void* thread);
  void prepare(const Launch& launch, uint64_t number);
  bool advance_once();  // false: no thread was ready
  bool run_round(unsigned first_warp, unsigned end_warp);  // false: no thread of these warps was ready
  void switch_to(Thread& thread);
  void on_return(Thread& thread);
  void note(std::string text);  // keeps the first text
  void note_broken(const std::string& rule);  // by the running thread; empty: none was
  // After a note, in the running thread: returns to the scheduler and never comes back. Callers must hold nothing that needs a destructor.
  [[noreturn]] void give_up();
  void abandon_threads();
  std::string name(const Thread& thread) const;

  // warp.cpp
  void complete_calls(unsigned warp);
  void complete(unsigned warp, uint32_t participants);
  bool agree(unsigned warp, uint32_t participants);
  void compute(unsigned warp, uint32_t participants);
  void shuffle(Thread& thread, uint32_t participants);

  // matrix.cpp
  bool whole_warp(unsigned warp, uint32_t participants, Thread* (&lanes)[warpSize]);
  void compute_matrices(unsigned warp, uint32_t participants);

  // group_products.cpp
  void compute_products(unsigned warp, uint32_t participants);

  const Launch* launch_ = nullptr;
  Cluster* cluster_ = nullptr;  // of more than one block
  uint3 index_{};
  unsigned count_ = 0, live_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;  // as many as the largest block so far; the first count_ are in use
  std::vector<Warp> warps_;
  std::vector<unsigned> order_;
  Shuffler shuffler_{0};
  Thread* current_ = nullptr;
  SharedMemory shared_;
  AsyncCopies copies_;
  GroupProducts products_;
  std::string error_;

  unsigned at_barrier_ = 0;
  Site barrier_site_{};
  unsigned phases_ = 0;  // barriers that the block has passed
  char begin_tag_ = 0, end_tag_ = 0;
  // Two, used in turn: a thread that is already at the next barrier must not order its work for one still leaving this.
  char barrier_tag_[2] = {};
};

std::string describe(Site site);
const char* describe(WarpOp op);
bool same(Site a, Site b);

}  // namespace srp::emulation
