#include "roster.h"

#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "process_wide.h"

namespace srp::emulation {

namespace {

struct Roster {
  std::mutex mutex;
  std::set<std::string> names;
};

}  // namespace

void note_kernel(const char* name) {
  auto& roster = process_wide<Roster>();
  std::lock_guard<std::mutex> lock(roster.mutex);
  roster.names.insert(name);
}

}  // namespace srp::emulation

extern "C" size_t srp_emulation_kernels(char* out, size_t bytes) {
  auto& roster = srp::emulation::process_wide<srp::emulation::Roster>();
  std::lock_guard<std::mutex> lock(roster.mutex);
  std::string all;
  for (const std::string& name : roster.names) all += name + "\n";
  if (out && bytes > all.size()) memcpy(out, all.c_str(), all.size() + 1);
  return all.size() + 1;
}
