#include "settings.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "errors.h"
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

bool parse_streams(const std::string& text, Settings& settings) {
  if (text == "sync") {
    settings.streams = Streams::sync;
  } else if (text == "async") {
    settings.streams = Streams::async;
  } else if (text == "delay" || text.rfind("delay:", 0) == 0) {
    settings.streams = Streams::delay;
    return text == "delay" || parse_number(text.substr(6), settings.delay_seed);
  } else {
    return false;
  }
  return true;
}

// A whole number from `least` to `most`.
bool parse_within(const std::string& text, uint64_t least, uint64_t most, uint64_t& number) {
  return parse_number(text, number) && number >= least && number <= most;
}

struct Variable {
  const char* name;
  const char* expected;
  bool (*parse)(const std::string& text, Settings& settings);
};

const Variable kVariables[] = {
    {"SURPRISAL_EMULATION_ORDER", "forward, reverse, random or random:<seed>", parse_order},
    {"SURPRISAL_EMULATION_THREADS", "1 to 256",
     [](const std::string& text, Settings& settings) {
       uint64_t number = 0;
       if (!parse_within(text, 1, kMostThreads, number)) return false;
       settings.threads = static_cast<unsigned>(number);
       return true;
     }},
    {"SURPRISAL_EMULATION_STREAMS", "sync, async, delay or delay:<seed>", parse_streams},
    {"SURPRISAL_EMULATION_DEVICES", "0 to 8",
     [](const std::string& text, Settings& settings) {
       uint64_t number = 0;
       if (!parse_within(text, 0, kMostDevices, number)) return false;
       settings.devices = static_cast<int>(number);
       return true;
     }},
    {"SURPRISAL_EMULATION_CAPABILITY", "8.0, 8.9 or 9.0",
     [](const std::string& text, Settings& settings) {
       settings.capability = text == "8.0" ? 80 : text == "8.9" ? 89 : 90;
       return text == "8.0" || text == "8.9" || text == "9.0";
     }},
    {"SURPRISAL_EMULATION_MULTIPROCESSORS", "1 to 1024",
     [](const std::string& text, Settings& settings) {
       uint64_t number = 0;
       if (!parse_within(text, 1, kMostMultiprocessors, number)) return false;
       settings.multiprocessors = static_cast<int>(number);
       return true;
     }},
    {"SURPRISAL_EMULATION_MEMORY", "a number of bytes",
     [](const std::string& text, Settings& settings) {
       uint64_t number = 0;
       if (!parse_number(text, number)) return false;
       settings.memory = number;
       return true;
     }},
    {"SURPRISAL_EMULATION_STICKY", "0 or 1",
     [](const std::string& text, Settings& settings) {
       settings.sticky = text == "1";
       return text == "0" || text == "1";
     }},
    {"SURPRISAL_EMULATION_IPC", "0 or 1",
     [](const std::string& text, Settings& settings) {
       settings.ipc = text == "1";
       return text == "0" || text == "1";
     }},
};

Settings from_environment() {
  Settings settings;
  settings.threads = std::max(1u, std::min(kMostThreads, std::thread::hardware_concurrency()));
  for (const Variable& variable : kVariables) {
    const char* text = std::getenv(variable.name);
    if (!text || !*text || variable.parse(text, settings)) continue;
    settings.problem = std::string(variable.name) + " is \"" + text + "\", expected " + variable.expected;
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

bool slow_float64() {  // machine.h
  static const bool slow = current_settings().capability == 89;
  return slow;
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

namespace {

template <class Change>
int change(bool valid, Change apply) {
  if (!valid) return 1;
  auto& s = srp::emulation::process_wide<srp::emulation::Shared>();
  std::lock_guard<std::mutex> lock(s.mutex);
  apply(s.settings);
  return 0;
}

}  // namespace

using srp::emulation::Settings;

extern "C" int srp_emulation_set_order(int order, uint64_t seed) {
  return change(order >= 0 && order <= 2, [&](Settings& settings) {
    settings.order = static_cast<srp::emulation::Order>(order);
    settings.seed = seed;
  });
}

extern "C" int srp_emulation_set_threads(int threads) {
  return change(threads >= 1 && threads <= static_cast<int>(srp::emulation::kMostThreads),
                [&](Settings& settings) { settings.threads = static_cast<unsigned>(threads); });
}

extern "C" int srp_emulation_set_streams(int streams, uint64_t seed) {
  return change(streams >= 0 && streams <= 2, [&](Settings& settings) {
    settings.streams = static_cast<srp::emulation::Streams>(streams);
    settings.delay_seed = seed;
  });
}

extern "C" int srp_emulation_set_devices(int devices) {
  return change(devices >= 0 && devices <= srp::emulation::kMostDevices,
                [&](Settings& settings) { settings.devices = devices; });
}

extern "C" int srp_emulation_set_memory(size_t bytes) {
  return change(true, [&](Settings& settings) { settings.memory = bytes; });
}

extern "C" int srp_emulation_set_sticky(int sticky) {
  if (sticky == 0) srp::emulation::heal_devices();
  return change(sticky == 0 || sticky == 1, [&](Settings& settings) { settings.sticky = sticky != 0; });
}
