// How the device behaves: in which order threads and blocks run, on how many OS threads; when streams do their work; how
// many devices there are, how much memory each has, and whether a fault stays.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace srp::emulation {

enum class Order : int { forward = 0, reverse = 1, random = 2 };

// When the work of a stream is done: before the call returns; by a thread of the stream's own; or by that thread after
// delays that follow from a seed, so that work which does not wait for it comes too early.
enum class Streams : int { sync = 0, async = 1, delay = 2 };

constexpr int kMostDevices = 8, kMostMultiprocessors = 1024;

struct Settings {
  Order order = Order::forward;
  uint64_t seed = 1;
  unsigned threads = 1;
  Streams streams = Streams::async;
  uint64_t delay_seed = 1;
  int devices = 1;
  int capability = 90;  // of compute: 80 has no products of warpgroups, 89 slow float64 besides
  int multiprocessors = 132;  // that each says it has: launches are cut by it
  size_t memory = 0;  // bytes of each device; 0: as much as the host has
  bool sticky = false;  // a fault stays with its device until the process ends, as on hardware
  bool ipc = false;  // memory of cudaMalloc can be opened by other processes
  std::string
      problem;  // not empty: an environment variable could not be parsed, and every launch must fail with this text
};

// From the environment at first use, then as the exported functions set them.
Settings current_settings();

// Permutations are the project's own, so that a seed means the same run everywhere.
class Shuffler {
 public:
  explicit Shuffler(uint64_t seed) : state_(seed) {}
  void shuffle(std::vector<unsigned>& items);
  uint64_t next();

 private:
  uint64_t state_;
};

// Which block runs as the i-th: forward, backward, or a permutation by a stride without common factor.
class BlockOrder {
 public:
  BlockOrder(const Settings& settings, uint64_t blocks);
  uint64_t at(uint64_t i) const;

 private:
  uint64_t blocks_, start_ = 0, stride_ = 1;
};

}  // namespace srp::emulation

// For tests and other programs that drive the library through its C ABI. All return 0, or 1 for a bad argument.
extern "C" {
__attribute__((visibility("default"))) int srp_emulation_set_order(int order, uint64_t seed);
__attribute__((visibility("default"))) int srp_emulation_set_threads(int threads);
__attribute__((visibility("default"))) int srp_emulation_set_streams(int streams, uint64_t seed);
__attribute__((visibility("default"))) int srp_emulation_set_devices(int devices);
__attribute__((visibility("default"))) int srp_emulation_set_memory(size_t bytes);
// 0 also restores lost devices, which no call can do on hardware.
__attribute__((visibility("default"))) int srp_emulation_set_sticky(int sticky);
}
