#include "fuzz.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "fuzz_coverage.h"
#include "fuzz_draw.h"
#include "random.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

namespace srp::test {
namespace {

constexpr int kEveryEmulated =
    50;  // of the calls so many go to the emulated device too, which is slower by more than that
constexpr int kEveryTwice = 7;
constexpr unsigned kLimit = 60;  // seconds after which a call hangs
constexpr size_t kMostBytes = 600;  // of a case

using Case = std::vector<uint8_t>;

Random* source = nullptr;
const Case* current = nullptr;  // under way
const char* current_op = "";
int failures = 0;

uint64_t next_random() { return source->next(); }

std::string hex_of(const Case& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

Case bytes_of(const std::string& hex) {
  Case bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  return bytes;
}

void print_case() { fprintf(stderr, "in %s: kernels case %s\n", current_op, hex_of(*current).c_str()); }

void hangs(int) {
  print_case();
  fprintf(stderr, "a call took more than %u s\n", kLimit);
  _exit(3);
}

void fail(const char* backend, const char* what) {
  if (++failures <= 20) printf("%s on %s: %s: kernels case %s\n", current_op, backend, what, hex_of(*current).c_str());
}

// Statuses whose outputs are as they were (status.h).
bool writes_nothing(srp_status status) {
  return status != SRP_OK && status != SRP_DEVICE && status != SRP_NOT_FINITE && status != SRP_OUT_OF_MEMORY;
}

bool may_come(srp_status status) {
  return status >= SRP_OK && status <= SRP_NOT_FINITE && status != SRP_DEVICE && status != SRP_DEVICE_LOST &&
         status != SRP_UNAVAILABLE && status != SRP_STOPPED;
}

// What must hold after any call, whatever went in.
void check(const char* backend, const DrawnCall& call, srp_status status, const std::vector<const void*>& after,
           const char* text) {
  if (!may_come(status)) fail(backend, "a status that no call has");
  if (status != SRP_OK && !*text) fail(backend, "a refusal without a text");
  for (size_t i = 0; i < call.arrays.size(); ++i) {
    const DrawnArray& array = call.arrays[i];
    if (!array.memory || array.before.empty()) continue;
    bool written = !call.is_input(array);
    for (const DrawnArray& other : call.arrays)
      written = written || (!other.memory && other.data == array.data);  // in place
    const bool same = memcmp(after[i], array.before.data(), array.before.size()) == 0;
    if (!same && !written) fail(backend, "an input was written");
    if (!same && written && writes_nothing(status)) fail(backend, "a refused call has written");
  }
}

srp_status on_cpu(const DrawnCall& call) {
  const srp_backend* const table = srp_cpu_backend();
  const srp_status status = call.op->run(*table, nullptr, call.args.data());
  std::vector<const void*> after;
  for (const DrawnArray& array : call.arrays) after.push_back(array.data);
  check("cpu", call, status, after, table->last_error());
  return status;
}

void restore(DrawnCall& call) {
  for (DrawnArray& array : call.arrays)
    if (array.memory && !array.before.empty()) memcpy(array.data, array.before.data(), array.before.size());
}

// The same call gives the same bits.
void twice(DrawnCall& call, srp_status status) {
  std::vector<std::vector<unsigned char>> once;
  for (const DrawnArray& array : call.arrays) once.emplace_back(array.data, array.data + array.before.size());
  restore(call);
  if (on_cpu(call) != status) fail("cpu", "another status the second time");
  for (size_t i = 0; i < once.size() && status == SRP_OK; ++i)
    if (!once[i].empty() && memcmp(once[i].data(), call.arrays[i].data, once[i].size()) != 0)
      fail("cpu", "other bits the second time");
}

// A number of spans that lies with the data: a device may only pass over those that are too many.
bool has_count(const DrawnCall& call) {
  for (const DrawnArray& array : call.arrays)
    if (!strcmp(array.field->name, "count")) return true;
  return false;
}

// Whether an emulated device is through with it in time: a call may have more tokens than it has arrays for.
bool is_small(const DrawnCall& call) {
  for (size_t i = 0; i < call.op->numbers; ++i) {
    const binding::Field& field = call.op->fields[i];
    int64_t size = 0;
    if (field.kind == binding::Kind::kInt64) memcpy(&size, call.args.data() + field.offset, sizeof size);
    if (size > 1 << 16) return false;
  }
  return true;
}

// On a device that looks at data only as it computes: what the CPU takes is taken, and nothing leaves its memory.
void on_emulated(DrawnCall& call, srp_status cpu) {
  static const srp_backend* const table = srp_backend_get(SRP_ABI);
  static srp_queue* queue = nullptr;
  if (!queue && table->queue_create(0, &queue) != SRP_OK) return fail("emulated", "there is no queue");
  restore(call);
  std::vector<void*> memory;
  std::vector<unsigned char> args = call.args;
  for (const DrawnArray& array : call.arrays) {
    void* pointer = nullptr;
    for (size_t j = 0; j < memory.size() && !array.memory; ++j)
      if (call.arrays[j].data == array.data) pointer = memory[j];
    if (!pointer && (table->alloc(queue, array.before.size(), &pointer) != SRP_OK ||
                     table->copy(queue, pointer, array.before.data(), array.before.size(), SRP_TO_DEVICE) != SRP_OK))
      fail("emulated", table->last_error());
    memory.push_back(pointer);
    memcpy(args.data() + array.field->offset, &pointer, sizeof pointer);
  }
  const srp_status status = call.op->run(*table, queue, args.data());
  const std::string text = table->last_error();
  const srp_status synced = table->sync(queue);
  check("emulated", call, status, {memory.begin(), memory.end()}, text.c_str());
  if (!may_come(synced)) fail("emulated", "a status of sync() that no call has");
  // linear.h: a device has no float64 sums of narrower numbers.
  const bool lacks = status == SRP_BAD_ARGUMENT && text.find("sums is float64") != std::string::npos;
  if (cpu == SRP_OK && !lacks && (status != SRP_OK || synced != SRP_OK)) fail("emulated", "refused what cpu takes");
  if (writes_nothing(cpu) && cpu != SRP_OUT_OF_RANGE && !has_count(call) && status == SRP_OK && synced == SRP_OK)
    fail("emulated", "takes what cpu refuses without a look at the data");
  for (size_t i = 0; i < memory.size(); ++i)
    if (call.arrays[i].memory) table->free(queue, memory[i]);
}

// False: no caller could make this call.
bool execute(Case& bytes, Choices::Next next, int64_t number) {
  Choices choices(bytes, next);
  DrawnCall call = draw_call(choices);
  bytes = choices.bytes;
  if (!call.possible) return false;
  current = &bytes;
  current_op = call.op->name;
  alarm(kLimit);
  const srp_status status = on_cpu(call);
  if (number % kEveryTwice == 0) twice(call, status);
  if (number % kEveryEmulated == 0 && is_small(call)) on_emulated(call, status);
  return true;
}

void mutate(Case& bytes, Random& random) {
  const int64_t edits = random.integer(1, 6);
  for (int64_t edit = 0; edit < edits && !bytes.empty(); ++edit) {
    const size_t at = static_cast<size_t>(random.integer(0, static_cast<int64_t>(bytes.size()) - 1));
    const int64_t way = random.integer(0, 9);
    if (way < 6) bytes[at] = static_cast<uint8_t>(random.next());
    if (way == 6) bytes[at] = static_cast<uint8_t>(bytes[at] + random.integer(-2, 2));
    if (way == 7) bytes.erase(bytes.begin() + static_cast<int64_t>(at));
    if (way == 8) bytes.insert(bytes.begin() + static_cast<int64_t>(at), static_cast<uint8_t>(random.next()));
    if (way == 9) bytes.resize(at);  // the rest anew
  }
}

// The numbers and arrays of a call, for people.
void print_call(const DrawnCall& call) {
  printf("%s\n", call.op->name);
  for (size_t i = 0; i < call.op->numbers; ++i) {
    const binding::Field& field = call.op->fields[i];
    const unsigned char* const at = call.args.data() + field.offset;
    if (field.kind == binding::Kind::kFloat64) {
      double value;
      memcpy(&value, at, sizeof value);
      printf("  %s %g\n", field.name, value);
    } else {
      int64_t value = 0;
      int32_t narrow;
      memcpy(&narrow, at, sizeof narrow);
      if (field.kind == binding::Kind::kInt64) memcpy(&value, at, sizeof value);
      printf("  %s %lld\n", field.name, static_cast<long long>(field.kind == binding::Kind::kInt32 ? narrow : value));
    }
  }
  for (const DrawnArray& array : call.arrays)
    printf("  %s: %zu bytes%s\n", array.field->name, array.before.size(), array.memory ? "" : ", in place");
  fflush(stdout);
}

void begin() {
  signal(SIGALRM, hangs);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(print_case);
}

std::vector<Case> read_corpus(const char* path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) cases.push_back(bytes_of(line));
  return cases;
}

}  // namespace

int fuzz(uint64_t seed, int64_t count, const char* path, const char* grown) {
  begin();
  Random random(seed);
  source = &random;
  std::vector<Case> kept, given = path ? read_corpus(path) : std::vector<Case>();
  std::unordered_set<const char*> ops;
  int64_t done = 0, number = 0;
  const auto attempt = [&](Case bytes, Choices::Next next) {
    if (bytes.size() > kMostBytes || !execute(bytes, next, number++)) return;
    ++done;
    ops.insert(current_op);
    if (new_branches() > 0) kept.push_back(bytes);
  };
  for (const Case& bytes : given) attempt(bytes, nullptr);
  while (done < count + static_cast<int64_t>(given.size())) {
    Case bytes;
    if (!kept.empty() && random.chance(0.7)) {
      bytes = kept[static_cast<size_t>(random.integer(0, static_cast<int64_t>(kept.size()) - 1))];
      mutate(bytes, random);
    }
    attempt(bytes, next_random);
  }
  alarm(0);
  if (grown) {
    std::ofstream file(grown);
    for (const Case& bytes : kept) file << hex_of(bytes) << "\n";
  }
  printf("%lld calls of %zu ops, %zu branches, %zu cases kept\n", static_cast<long long>(done), ops.size(),
         all_branches(), kept.size());
  printf("%d failed\n", failures);
  return failures != 0;
}

int fuzz_one(const char* hex) {
  begin();
  Case bytes = bytes_of(hex);
  Choices choices(bytes, nullptr);
  print_call(draw_call(choices));
  if (!execute(bytes, nullptr, 0)) printf("no caller could make this call\n");
  printf("%d failed\n", failures);
  return failures != 0;
}

}  // namespace srp::test
