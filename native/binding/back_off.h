#ifndef SURPRISAL_BINDING_BACK_OFF_H
#define SURPRISAL_BINDING_BACK_OFF_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace srp::binding {

// Pauses between two looks at what is under way: none while it may end within microseconds; other threads' turns for as long as its
// bytes may take, since libraries that move them in pieces do so while they are looked at; then an eighth of the time since the begin,
// a millisecond at most.
class BackOff {
 public:
  explicit BackOff(size_t bytes = 0) { begin(bytes); }

  void begin(size_t bytes) {
    looks_ = 0;
    begin_ = Clock::now();
    busy_ = std::chrono::microseconds(200) + std::chrono::nanoseconds(2 * bytes);  // half a GB/s
  }

  void pause() {
    constexpr int spins = 64;
    if (looks_ < spins) {
      ++looks_;
      return;
    }
    const Clock::duration passed = Clock::now() - begin_;
    if (passed < busy_)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::min<Clock::duration>(std::chrono::milliseconds(1), passed / 8));
  }

 private:
  using Clock = std::chrono::steady_clock;
  int looks_;
  Clock::time_point begin_;
  Clock::duration busy_;
};

}  // namespace srp::binding

#endif
