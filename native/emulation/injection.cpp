#include "injection.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "process_wide.h"

namespace srp::emulation {

namespace {

struct Order {
  std::string function;  // empty: none
  uint64_t number = 0;
  cudaError_t error = cudaSuccess;
};

// An error that such a function can return.
cudaError_t likely(const std::string& function) {
  if (function.find("Malloc") != std::string::npos || function.find("Alloc") != std::string::npos)
    return cudaErrorMemoryAllocation;
  return function == "launch" ? cudaErrorLaunchOutOfResources : cudaErrorIllegalState;
}

bool parse(const std::string& text, Order& order) {
  order = {};
  if (text.empty() || text == "off") return true;
  const size_t first = text.find(':');
  if (first == std::string::npos || first == 0) return false;
  const size_t second = text.find(':', first + 1);
  const std::string number = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  if (number.empty() || number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos) return false;
  Order made;
  made.function = text.substr(0, first);
  made.number = std::strtoull(number.c_str(), nullptr, 10);
  if (second != std::string::npos) {
    made.error = error_called(text.substr(second + 1));
    if (made.error == cudaSuccess) return false;
  }
  order = made;
  return true;
}

class Injection {
 public:
  bool set(const std::string& text) {
    calls_.clear();
    all_ = 0;
    return parse(text, order_);
  }

  cudaError_t count(const std::string& function) {
    if (watches_) read_environment();
    if (order_.function.empty()) return cudaSuccess;
    const uint64_t mine = ++calls_[function];
    ++all_;
    const bool any = order_.function == "*";
    if (!any && order_.function != function) return cudaSuccess;
    if ((any ? all_ : mine) != order_.number) return cudaSuccess;
    return order_.error == cudaSuccess ? likely(function) : order_.error;
  }

  uint64_t calls(const std::string& function) { return function == "*" ? all_ : calls_[function]; }

  std::mutex mutex;

 private:
  void read_environment() {
    const char* found = std::getenv("SURPRISAL_EMULATION_FAIL");
    watches_ = found != nullptr || !seen_.empty();
    const std::string text = found ? found : "";
    if (text == seen_) return;
    seen_ = text;
    // An order that cannot be parsed must not look like one that never took effect.
    if (!set(text)) order_ = {"*", 1, cudaErrorInvalidValue};
  }

  bool watches_ = true;
  std::string seen_;
  Order order_;
  std::map<std::string, uint64_t> calls_;
  uint64_t all_ = 0;
};

}  // namespace

cudaError_t begin_call(const char* function, Needs needs) {
  auto& injection = process_wide<Injection>();
  cudaError_t error;
  {
    std::lock_guard<std::mutex> lock(injection.mutex);
    error = injection.count(function);
  }
  const Fault ordered = {error, ""};
  if (needs == Needs::nothing) return record(ordered);
  use_device();
  lose_device(current_device(), ordered);
  const Fault fault = lost(current_device());
  return record(fault ? fault : ordered);
}

}  // namespace srp::emulation

using srp::emulation::Injection;
using srp::emulation::process_wide;

extern "C" int srp_emulation_fail(const char* what) {
  auto& injection = process_wide<Injection>();
  std::lock_guard<std::mutex> lock(injection.mutex);
  return injection.set(what ? what : "") ? 0 : 1;
}

extern "C" uint64_t srp_emulation_calls(const char* function) {
  auto& injection = process_wide<Injection>();
  std::lock_guard<std::mutex> lock(injection.mutex);
  return injection.calls(function);
}
