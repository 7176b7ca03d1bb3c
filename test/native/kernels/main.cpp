// Every op of every family on the CPU backend and on the emulated one, side by side.
//
//   kernels agree ORDER...     good calls, in thread orders 0 (forward), 1 (reverse), 2 (random)
//   kernels refuse ORDER...    bad arguments and bad data
//   kernels endure             good calls, each call of the CUDA runtime failing in turn
//   kernels fuzz SEED COUNT [CORPUS [GROWN]]   random calls of every op, straight at the table (fuzz.h); kernels case HEX tries one again
//   kernels astray WHERE       an op that steps over its fence: it reads or writes at the end that is named, front or behind, or
//                              writes an input (WHERE: read, write, input)
//   SURPRISAL_KERNELS=scan     one family only
//   SURPRISAL_KERNELS_EVERY=9  of an op's cases some of the first and then one in nine
//   SURPRISAL_KERNELS_FENCE=front|behind  the arrays of the CPU backend beside a page that nobody may touch
//
// Prints a line an op and ends with "N failed". Built plainly, with ASan and UBSan, or with TSan.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "families.h"
#include "fuzz.h"

using namespace srp::test;

namespace {

// Not an op: what a fence must stop.
class Astray : public AnyCall {
 public:
  explicit Astray(const std::string& where) : where_(where) {
    arrays.push_back({"bytes", flags(std::vector<uint8_t>(10)), where != "input", {}});
  }

  srp_status invoke(const srp_backend&, srp_queue*, const std::vector<void*>& memory) const override {
    volatile unsigned char* const bytes = static_cast<unsigned char*>(memory[0]);
    const int at = where_ == "input" ? 0 : asked_fence() == Fence::kFront ? -1 : 10;
    if (where_ == "read")
      static_cast<void>(bytes[at]);
    else
      bytes[at] = 1;
    return SRP_OK;
  }

 private:
  const std::string where_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "families")) {
    for (const Family& family : families()) printf("%s\n", family.name);
    return 0;
  }
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "fuzz" && argc >= 4 && argc <= 6)
    return fuzz(strtoull(argv[2], nullptr, 10), atoll(argv[3]), argc > 4 ? argv[4] : nullptr,
                argc > 5 ? argv[5] : nullptr);
  if (what == "case" && argc == 3) return fuzz_one(argv[2]);
  if (what == "astray" && argc == 3) {
    Runner run(Claim::kAgrees, {}, 1);
    run.begin("astray", "agrees");
    run.agree(Astray(argv[2]));
    return run.finish();
  }
  if (what != "endure" && (argc < 3 || (what != "agree" && what != "refuse"))) {
    fprintf(stderr,
            "usage: kernels families | agree|refuse ORDER... | endure | fuzz SEED COUNT [CORPUS [GROWN]] | case HEX | "
            "astray WHERE\n");
    return 2;
  }
  std::vector<int> orders;
  for (int i = 2; i < argc; ++i) orders.push_back(atoi(argv[i]));
  const char* const only = getenv("SURPRISAL_KERNELS");
  const char* const every = getenv("SURPRISAL_KERNELS_EVERY");
  Runner run(what == "endure" ? Claim::kEndures : Claim::kAgrees, orders, every && atoi(every) > 0 ? atoi(every) : 1);
  for (const Family& family : families()) {
    if (only && *only && strcmp(only, family.name) != 0) continue;
    (what == "refuse" ? family.refuses : family.agrees)(run);
  }
  return run.finish();
}
