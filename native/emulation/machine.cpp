// A launch: checks its configuration, waits for its turn in the stream and spreads the blocks of the grid over OS threads.
#include "machine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "block.h"
#include "cluster.h"
#include "errors.h"
#include "functions.h"
#include "injection.h"
#include "process_wide.h"
#include "registry.h"
#include "roster.h"
#include "sanitizer.h"

namespace srp::emulation {

void block_barrier(Site site) { Block::running()->barrier(site); }
void cluster_barrier(Site site) { Block::running()->cluster_barrier(site); }
unsigned cluster_rank() { return Block::running()->cluster_rank(); }
void store_to_block(unsigned rank, void* place, uint64_t word, Site site) {
  Block::running()->store_to_block(rank, place, word, site);
}
uint64_t warp_call(const WarpCall& call) { return Block::running()->warp_call(call); }
void begin_copy(const AsyncCopy& copy) { Block::running()->begin_copy(copy); }
void commit_copies() { Block::running()->commit_copies(); }
void fence_copies() { Block::running()->fence_copies(); }
const AsyncCopy* due_copy(size_t groups) { return Block::running()->due_copy(groups); }
void* dynamic_shared() { return Block::running()->dynamic_shared(); }
void* shared_array(const SharedArray& array, size_t bytes, size_t alignment) {
  return Block::running()->shared_array(array, bytes, alignment);
}

// For TSan too: what a thread wrote before its fence happens before what another reads after a later fence of its own,
// as in "the last block to arrive adds up". A fence that one of them forgot leaves a race to report.
void memory_fence() {
  static char tag;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  acquire(&tag);
  release(&tag);
}

namespace {

// Blocks with their stacks, kept for the next launch: mapping and guarding hundreds of stacks takes longer than most kernels.
// Each launch borrows its own.
class BlockPool {
 public:
  std::unique_ptr<Block> borrow() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Block> block = std::move(idle_.back());
        idle_.pop_back();
        return block;
      }
    }
    return std::make_unique<Block>();
  }
  void give_back(std::unique_ptr<Block> block) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() < kKept) idle_.push_back(std::move(block));
  }

 private:
  static constexpr size_t kKept = 8;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> idle_;
};

class Grid {
 public:
  explicit Grid(const Launch& launch)
      : launch_(launch),
        turns_(uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z / launch.cluster),
        order_(launch.settings, turns_) {}

  // Throws std::bad_alloc. The text of the first block or cluster, in the order of execution, that broke a rule; or empty.
  std::string run() {
    const uint64_t workers = std::min<uint64_t>(launch_.settings.threads, turns_);
    std::vector<std::thread> helpers;
    helpers.reserve(workers - 1);
    try {
      while (helpers.size() + 1 < workers) helpers.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system refuses more threads: those that run, and this one, do all the work.
    }
    work();
    for (std::thread& helper : helpers) helper.join();
    if (exception_) std::rethrow_exception(exception_);
    return error_;
  }

 private:
  void work() {
    try {
      BlockPool& pool = process_wide<BlockPool>();
      std::vector<std::unique_ptr<Block>> blocks;
      while (blocks.size() < launch_.cluster) blocks.push_back(pool.borrow());
      Cluster cluster;
      for (uint64_t i; !stop_ && (i = next_++) < turns_;) {
        const std::string text =
            launch_.cluster == 1 ? blocks[0]->run(launch_, order_.at(i)) : cluster.run(launch_, order_.at(i), blocks);
        if (!text.empty()) fail(i, text);
      }
      for (auto& block : blocks) pool.give_back(std::move(block));
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      exception_ = std::current_exception();
      stop_ = true;
    }
  }

  void fail(uint64_t i, const std::string& text) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (i < failed_) error_ = text;
    failed_ = std::min(failed_, i);
    stop_ = true;
  }

  const Launch& launch_;
  const uint64_t turns_;  // blocks, or clusters of them
  const BlockOrder order_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  uint64_t failed_ = ~uint64_t{0};
  std::string error_;
  std::exception_ptr exception_;
};

// A kernel's name as SRP_LAUNCH spells it, without the parentheses that protect its commas.
std::string plain_name(std::string name) {
  if (name.size() > 2 && name.front() == '(' && name.back() == ')') name = name.substr(1, name.size() - 2);
  return name;
}

bool within(dim3 size, const unsigned (&limit)[3]) {
  return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= limit[0] && size.y <= limit[1] && size.z <= limit[2];
}

cudaError_t check(const Launch& launch, const StreamRef& stream) {
  const dim3 b = launch.block;
  if (!stream || stream->device() != current_device()) return cudaErrorInvalidResourceHandle;
  if (!within(launch.grid, kMaxGrid) || !within(b, kMaxBlock)) return cudaErrorInvalidConfiguration;
  if (uint64_t{b.x} * b.y * b.z > kMaxThreads) return cudaErrorInvalidConfiguration;
  if (launch.cluster < 1 || launch.cluster > kMostOfCluster || launch.grid.x % launch.cluster != 0)
    return cudaErrorInvalidClusterSize;
  if (launch.cluster > 1 && launch.settings.capability < 90) return cudaErrorNotSupported;
  if (launch.shared_bytes > shared_bytes_allowed(launch.kernel.function)) return cudaErrorInvalidValue;
  return cudaSuccess;
}

Fault execute(const Launch& launch, int device) {
  try {
    std::string text = misplaced_argument(launch.kernel.call, launch.kernel.checked, device);
    const cudaError_t code = text.empty() ? cudaErrorLaunchFailure : cudaErrorIllegalAddress;
    if (text.empty()) text = Grid(launch).run();
    if (text.empty()) {
      note_kernel(plain_name(launch.kernel.name).c_str());
      return {};
    }
    return {code, "kernel " + plain_name(launch.kernel.name) + ": " + text};
  } catch (const std::bad_alloc&) {
    return {cudaErrorMemoryAllocation, ""};
  } catch (...) {
    return {cudaErrorUnknown, ""};
  }
}

cudaError_t try_launch(const Launch& launch, cudaStream_t handle) {
  const auto refused = [&](const std::string& text) {
    return record(Fault{cudaErrorLaunchFailure, "kernel " + plain_name(launch.kernel.name) + ": " + text});
  };
  SRP_BEGIN("launch");
  if (!launch.settings.problem.empty()) return refused(launch.settings.problem);
  if (Block::running()) return refused("a kernel cannot launch another");
  const StreamRef stream = find_stream(handle);
  if (const cudaError_t error = check(launch, stream); error != cudaSuccess) return record(error);
  const auto* begin = static_cast<const char*>(launch.kernel.call);
  auto call = std::make_shared<const std::vector<char>>(begin, begin + launch.kernel.bytes);
  // Moved, since TSan does not see which thread drops the last reference.
  auto work = [launch, call = std::move(call), device = stream->device()] {
    Launch mine = launch;
    mine.kernel.call = call->data();
    return execute(mine, device);
  };
  return record(enqueue(stream, {std::move(work), false}));
}

}  // namespace

void launch(const Kernel& kernel, dim3 grid, dim3 block, unsigned cluster, size_t shared_bytes, cudaStream_t stream) {
  try {
    try_launch({kernel, grid, block, cluster, shared_bytes, shared_bytes_in_all(kernel.function), current_settings()},
               stream);
  } catch (...) {
    record(cudaErrorMemoryAllocation);
  }
}

}  // namespace srp::emulation
