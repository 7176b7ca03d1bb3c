#include "settings.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "process_wide.h"

namespace srp::emulation {

namespace {

constexpr unsigned kMostThreads = 256;

bool parse_number(const std::string& text, uint64_t& number) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 19) return false;
  number = std::strtoull(text.c_str(), nullptr, 10);
  return true;
}

bool parse_order(const std::string& text, Settings& settings) {
  if (text == "forward") {
    settings.order = Order::forward;
  } else if (text == "reverse") {
    settings.order = Order::reverse;
  } else if (text == "random" || text.rfind("random:", 0) == 0) {
    settings.order = Order::random;
    return text == "random" || parse_number(text.substr(7), settings.seed);
  } else {
    return false;
  }
  return true;
}

Settings from_environment() {
  Settings settings;
  settings.threads = std::max(1u, std::min(kMostThreads, std::thread::hardware_concurrency()));
  if (const char* order = std::getenv("SURPRISAL_EMULATION_ORDER"); order && *order) {
    if (!parse_order(order, settings))
      settings.problem = std::string("SURPRISAL_EMULATION_ORDER is \"") + order +
                         "\", expected forward, reverse, random or random:<seed>";
  }
  if (const char* threads = std::getenv("SURPRISAL_EMULATION_THREADS"); threads && *threads) {
    uint64_t number = 0;
    if (parse_number(threads, number) && number >= 1 && number <= kMostThreads)
      settings.threads = static_cast<unsigned>(number);
    else
      settings.problem = std::string("SURPRISAL_EMULATION_THREADS is \"") + threads + "\", expected 1 to 256";
  }
  return settings;
}

struct Shared {
  std::mutex mutex;
  Settings settings = from_environment();
};

}  // namespace

Settings current_settings() {
  auto& s = process_wide<Shared>();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.settings;
}

// SplitMix64.
uint64_t Shuffler::next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Fisher-Yates. The bias of the remainder is about n / 2^64.
void Shuffler::shuffle(std::vector<unsigned>& items) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
}

BlockOrder::BlockOrder(const Settings& settings, uint64_t blocks) : blocks_(blocks) {
  if (settings.order == Order::reverse) {
    start_ = blocks - 1;
    stride_ = blocks - 1;  // -1 modulo the number of blocks
  } else if (settings.order == Order::random && blocks > 1) {
    Shuffler random(settings.seed);
    start_ = random.next() % blocks;
    do stride_ = 1 + random.next() % blocks;
    while (std::gcd(stride_, blocks) != 1);
  }
}

uint64_t BlockOrder::at(uint64_t i) const {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * stride_ + start_) % blocks_);
}

}  // namespace srp::emulation

extern "C" int srp_emulation_set_order(int order, uint64_t seed) {
  if (order < 0 || order > 2) return 1;
  auto& s = srp::emulation::process_wide<srp::emulation::Shared>();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.settings.order = static_cast<srp::emulation::Order>(order);
  s.settings.seed = seed;
  return 0;
}

extern "C" int srp_emulation_set_threads(int threads) {
  if (threads < 1 || threads > static_cast<int>(srp::emulation::kMostThreads)) return 1;
  auto& s = srp::emulation::process_wide<srp::emulation::Shared>();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.settings.threads = static_cast<unsigned>(threads);
  return 0;
}
