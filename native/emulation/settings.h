// How a launch executes: in which order threads and blocks run, on how many OS threads.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace srp::emulation {

enum class Order : int { forward = 0, reverse = 1, random = 2 };

struct Settings {
  Order order = Order::forward;
  uint64_t seed = 1;
  unsigned threads = 1;
  std::string problem;  // not empty: an environment variable could not be read, and launches must fail saying so
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

// For tests and other programs that drive the library through its C ABI. Both return 0, or 1 for a bad argument.
extern "C" {
__attribute__((visibility("default"))) int srp_emulation_set_order(int order, uint64_t seed);
__attribute__((visibility("default"))) int srp_emulation_set_threads(int threads);
}
