#include "families.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../../native/emulation/runtime.h"
#include "../../../native/emulation/roster.h"
#include "../../../native/emulation/settings.h"

// Of the sanitizers; absent in a plain program.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

namespace srp::test {
namespace {

constexpr int kAlways = 3;
constexpr int kPrintedFailures = 5;  // of one op; the first ones say enough

char current_case[160] = "";

// A sanitizer's report has the line of the access, this the case that led to it.
void print_current_case() { fprintf(stderr, "in %s\n", current_case); }

// On a page that nobody may touch. Only what a handler may call.
void went_astray(int signal) {
  (void)!write(STDERR_FILENO, "outside of its memory in ", 25);
  (void)!write(STDERR_FILENO, current_case, strlen(current_case));
  (void)!write(STDERR_FILENO, "\n", 1);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

bool same_bytes(const Data& a, const Data& b) { return a.bytes == b.bytes; }

std::string text_of(srp_status status) { return "status " + std::to_string(static_cast<int>(status)); }

}  // namespace

static std::vector<Family>& entered() {
  static std::vector<Family> list;
  return list;
}

const std::vector<Family>& families() { return entered(); }

bool enter_family(const Family& family) {
  const auto later = [](const Family& a, const Family& b) { return strcmp(a.name, b.name) < 0; };
  std::vector<Family>& list = entered();
  list.insert(std::upper_bound(list.begin(), list.end(), family, later), family);
  return true;
}

Backend::Backend(const srp_backend* table, Fence fence) : table_(table), fence_(fence) {
  if (!table_) {
    fprintf(stderr, "there is no table of ABI %08x\n", SRP_ABI);
    exit(2);
  }
  expect(table_->queue_create(0, &queue_), "queue_create");
}

Backend::~Backend() { table_->queue_destroy(queue_); }

void Backend::expect(srp_status status, const char* what) const {
  if (status == SRP_OK) return;
  fprintf(stderr, "%s: %s: %s\n", name(), what, last_error());
  exit(2);
}

Outcome Backend::execute(const AnyCall& call, bool empty_is_null) const {
  return fence_ == Fence::kNone ? execute_in_own_memory(call, empty_is_null) : execute_fenced(call, empty_is_null);
}

Outcome Backend::execute_fenced(const AnyCall& call, bool empty_is_null) const {
  std::vector<std::unique_ptr<FencedArray>> fenced;
  std::vector<void*> memory;
  for (const Array& array : call.arrays) {
    const std::vector<unsigned char>& bytes = array.data.bytes;
    fenced.push_back(std::make_unique<FencedArray>(bytes.size(), fence_));
    if (!bytes.empty()) memcpy(fenced.back()->data(), bytes.data(), bytes.size());
    if (!array.output) fenced.back()->forbid_writing();
    memory.push_back(bytes.empty() && empty_is_null ? nullptr : fenced.back()->data());
  }
  Outcome outcome = {call.invoke(*table_, queue_, memory), SRP_OK, {}};
  outcome.synced = table_->sync(queue_);
  for (size_t i = 0; i < memory.size(); ++i) {
    Data data = call.arrays[i].data;
    if (!data.bytes.empty()) memcpy(data.bytes.data(), fenced[i]->data(), data.bytes.size());
    outcome.arrays.push_back(data);
  }
  return outcome;
}

Outcome Backend::execute_in_own_memory(const AnyCall& call, bool empty_is_null) const {
  std::vector<void*> memory;
  for (const Array& array : call.arrays) {
    const std::vector<unsigned char>& bytes = array.data.bytes;
    void* pointer = nullptr;
    if (!bytes.empty() || !empty_is_null) expect(table_->alloc(queue_, bytes.size(), &pointer), "alloc");
    expect(table_->copy(queue_, pointer, bytes.data(), bytes.size(), SRP_TO_DEVICE), "copy");
    memory.push_back(pointer);
  }
  Outcome outcome = {call.invoke(*table_, queue_, memory), SRP_OK, {}};
  outcome.synced = table_->sync(queue_);
  for (size_t i = 0; i < memory.size(); ++i) {
    Data data = call.arrays[i].data;
    expect(table_->copy(queue_, data.bytes.data(), memory[i], data.bytes.size(), SRP_TO_HOST), "copy");
    outcome.arrays.push_back(data);
  }
  expect(table_->sync(queue_), "sync");  // reported once: a second one has nothing to say
  for (void* pointer : memory) expect(table_->free(queue_, pointer), "free");
  return outcome;
}

std::string Backend::attempt(const AnyCall& call, std::vector<Data>& arrays) const {
  std::string failed;
  const auto step = [&](const char* what, srp_status status) {
    if (status == SRP_OK) return true;
    const std::string text = last_error();
    failed += std::string(what) + " answers " + std::to_string(static_cast<int>(status)) +
              (text.empty() ? " WITHOUT A TEXT; " : ", " + text + "; ");
    return false;
  };
  std::vector<void*> memory(call.arrays.size());
  bool well = true;
  for (size_t i = 0; well && i < memory.size(); ++i) {
    const std::vector<unsigned char>& bytes = call.arrays[i].data.bytes;
    well = step("alloc", table_->alloc(queue_, bytes.size(), &memory[i])) &&
           step("copy", table_->copy(queue_, memory[i], bytes.data(), bytes.size(), SRP_TO_DEVICE));
  }
  well = well && step("the op", call.invoke(*table_, queue_, memory)) && step("sync", table_->sync(queue_));
  arrays.clear();
  for (size_t i = 0; well && i < memory.size(); ++i) {
    arrays.push_back(call.arrays[i].data);
    std::vector<unsigned char>& bytes = arrays.back().bytes;
    well = step("copy back", table_->copy(queue_, bytes.data(), memory[i], bytes.size(), SRP_TO_HOST));
  }
  well = well && step("the last sync", table_->sync(queue_));
  for (void* pointer : memory) {
    if (!pointer || step("free", table_->free(queue_, pointer))) continue;
    table_->free(queue_, pointer);  // still the caller's; the failure that was ordered has happened
  }
  return failed;
}

void Backend::trim() const {
  table_->sync(queue_);
  expect(table_->device->memory_trim(queue_), "memory_trim");
}

Outcome on_cpu(const AnyCall& call) { return Backend(srp_cpu_backend()).execute(call, false); }

Runner::Runner(Claim claim, std::vector<int> orders, int every)
    : kind_(claim),
      cpu_(srp_cpu_backend(), asked_fence()),
      emulated_(srp_backend_get(SRP_ABI)),
      orders_(std::move(orders)),
      every_(every) {
  if (asked_fence() != Fence::kNone) signal(SIGSEGV, went_astray);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(print_current_case);
}

void Runner::begin(const char* op, const char* claim) {
  close_op();
  op_ = op;
  claim_ = kind_ == Claim::kEndures ? "endures" : claim;
}

int Runner::finish() {
  close_op();
  std::vector<char> names(srp_emulation_kernels(nullptr, 0));
  srp_emulation_kernels(names.data(), names.size());
  for (const char* name = strtok(names.data(), "\n"); name; name = strtok(nullptr, "\n"))
    printf("launched: %s\n", name);
  printf("%d failed\n", failed_ops_);
  return failed_ops_ != 0;
}

void Runner::close_op() {
  if (!op_.empty()) {
    printf("%s: %s %s, %d cases\n", failures_ ? "FAILED" : "passed", op_.c_str(), claim_.c_str(), done_);
    fflush(stdout);
    failed_ops_ += failures_ != 0;
  }
  op_.clear();
  cases_ = done_ = failures_ = 0;
}

bool Runner::start_case(const char* what) {
  empty_is_null_ = cases_ % 2 != 0;
  snprintf(current_case, sizeof current_case, "%s, case %d: %s", op_.c_str(), cases_, what);
  const int index = cases_++;
  bool taken = index % every_ == 0 || (wanted_ && kind_ == Claim::kAgrees);
  wanted_ = false;
  // Of failures at least one case that launches something, which empty ones do not. Of agreement the first three cases, and the
  // next one for as long as they launch kernels that have not run before.
  taken = taken ||
          (kind_ == Claim::kEndures ? done_ == 0 : index < kAlways || roster_ != srp_emulation_kernels(nullptr, 0));
  roster_ = srp_emulation_kernels(nullptr, 0);
  done_ += taken;
  return taken;
}

void Runner::fail(const std::string& text) {
  if (++failures_ <= kPrintedFailures) printf("%s: %s\n", current_case, text.c_str());
}

bool Runner::succeeded(const Backend& backend, const AnyCall& call, const Outcome& outcome) {
  if (outcome.status != SRP_OK || outcome.synced != SRP_OK) {
    fail(std::string(backend.name()) + ": " + text_of(outcome.status) + " and " + text_of(outcome.synced) +
         " at sync: " + backend.last_error());
    return false;
  }
  unchanged(backend, call, outcome, false);
  return true;
}

void Runner::unchanged(const Backend& backend, const AnyCall& call, const Outcome& outcome, bool outputs_too) {
  for (size_t i = 0; i < call.arrays.size(); ++i) {
    const Array& array = call.arrays[i];
    if ((outputs_too || !array.output) && !same_bytes(array.data, outcome.arrays[i]))
      fail(std::string(backend.name()) + ": " + array.name + " was written");
  }
}

void Runner::agree(const AnyCall& call) {
  if (!start_case("good data")) return;
  if (kind_ == Claim::kEndures) return endures(call);
  const Outcome want = cpu_.execute(call, empty_is_null_);
  if (!succeeded(cpu_, call, want)) return;
  Outcome first;
  for (const int order : orders_) {
    srp_emulation_set_order(order, static_cast<uint64_t>(cases_));
    const Outcome got = emulated_.execute(call, empty_is_null_);
    if (!succeeded(emulated_, call, got)) return;
    for (size_t i = 0; i < call.arrays.size(); ++i) {
      const Array& array = call.arrays[i];
      if (!array.output) continue;
      const std::string is = difference(want.arrays[i], got.arrays[i], array.tolerance);
      if (!is.empty()) fail(array.name + is + " (the CPU's), in thread order " + std::to_string(order));
      if (!first.arrays.empty() && !same_bytes(first.arrays[i], got.arrays[i]))
        fail(std::string(array.name) + " has other bits in thread order " + std::to_string(order));
    }
    if (first.arrays.empty()) first = got;
  }
}

// First what the call takes, then once for each of these calls of the runtime. A failure that the backend mends, by a second
// try or by doing without, must leave the right result.
void Runner::endures(const AnyCall& call) {
  std::vector<Data> want, got;
  emulated_.trim();
  const int64_t before[] = {srp_emulation_live("device"), srp_emulation_live("pinned"), srp_emulation_live("streams")};
  srp_emulation_fail("*:0");
  const std::string first = emulated_.attempt(call, want);
  const uint64_t calls = srp_emulation_calls("*");
  if (srp_emulation_calls("launch") == 0) {
    --done_;
    return;
  }
  if (!first.empty()) fail("without a failure: " + first);
  for (uint64_t n = 1; n <= calls; ++n) {
    const std::string which = "call " + std::to_string(n) + " of " + std::to_string(calls);
    srp_emulation_fail(("*:" + std::to_string(n)).c_str());
    const std::string said = emulated_.attempt(call, got);
    srp_emulation_fail(nullptr);
    if (said.find("WITHOUT") != std::string::npos) fail(which + ": " + said);
    for (size_t i = 0; said.empty() && i < want.size(); ++i)
      if (!same_bytes(want[i], got[i])) fail(which + " fails unseen, and " + call.arrays[i].name + " is another");
    const std::string after = emulated_.attempt(call, got);
    if (!after.empty()) fail(which + ": the next call fails too: " + after + "(it said " + said + ")");
    for (size_t i = 0; after.empty() && i < want.size(); ++i)
      if (!same_bytes(want[i], got[i])) fail(which + ": the next call computes another " + call.arrays[i].name);
  }
  emulated_.trim();
  const int64_t left[] = {srp_emulation_live("device"), srp_emulation_live("pinned"), srp_emulation_live("streams")};
  if (left[0] != before[0]) fail(std::to_string(left[0] - before[0]) + " bytes of device memory are left");
  if (left[2] != before[2]) fail(std::to_string(left[2] - before[2]) + " streams are left");
}

void Runner::refused(const char* why, const AnyCall& call, srp_status status) {
  if (!start_case(why)) return;
  for (const Backend* backend : {&cpu_, &emulated_}) {
    const Outcome outcome = backend->execute(call, empty_is_null_);
    if (outcome.status != status || outcome.synced != SRP_OK)
      fail(std::string(backend->name()) + ": " + text_of(outcome.status) + ", then " + text_of(outcome.synced) +
           " at sync; expected " + text_of(status));
    if (strlen(backend->last_error()) == 0) fail(std::string(backend->name()) + ": last_error() is empty");
    unchanged(*backend, call, outcome, true);
  }
}

void Runner::misled(const char* why, const AnyCall& call, srp_status cpu_status, AtSync device) {
  if (!start_case(why)) return;
  const Outcome host = cpu_.execute(call, empty_is_null_);
  if (host.status != cpu_status) fail("cpu: " + text_of(host.status) + ", expected " + text_of(cpu_status));
  unchanged(cpu_, call, host, true);
  for (const int order : orders_) {
    srp_emulation_set_order(order, static_cast<uint64_t>(cases_));
    const Outcome outcome = emulated_.execute(call, empty_is_null_);
    const bool silent = outcome.synced == SRP_OK && device == AtSync::kReportedOrNot;
    if (outcome.status != SRP_OK || (outcome.synced != SRP_OUT_OF_RANGE && !silent))
      fail("emulated: " + text_of(outcome.status) + ", then " + text_of(outcome.synced) + " at sync; expected " +
           text_of(SRP_OUT_OF_RANGE) + " at sync");
    unchanged(emulated_, call, outcome, false);
  }
}

}  // namespace srp::test
