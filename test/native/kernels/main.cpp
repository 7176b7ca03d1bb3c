// Every op of every family on the CPU backend and on the emulated one, side by side.
//
//   kernels agree ORDER...     good calls, in thread orders 0 (forward), 1 (reverse), 2 (random)
//   kernels refuse ORDER...    bad arguments and bad data
//   kernels endure             good calls, each call of the CUDA runtime failing in turn
//   SURPRISAL_KERNELS=scan     one family only
//   SURPRISAL_KERNELS_EVERY=9  of an op's cases some of the first and then one in nine
//
// Prints a line an op and ends with "N failed". Built plainly, with ASan and UBSan, or with TSan.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "families.h"

using namespace srp::test;

namespace {

struct Family {
  const char* name;
  void (*agrees)(Runner&);
  void (*refuses)(Runner&);
};

const Family kFamilies[] = {
    {"logprob", logprob_agrees, logprob_refuses},
    {"delim", delim_agrees, delim_refuses},
    {"group", group_agrees, group_refuses},
    {"group_rows", group_rows_agrees, group_rows_refuses},
    {"scan", scan_agrees, scan_refuses},
    {"ratio", ratio_agrees, ratio_refuses},
    {"modulate", modulate_agrees, modulate_refuses},
    {"reduce", reduce_agrees, reduce_refuses},
    {"select", select_agrees, select_refuses},
    {"correction", correction_agrees, correction_refuses},
    {"linear", linear_agrees, linear_refuses},
    {"divergence", divergence_agrees, divergence_refuses},
    {"loss", loss_agrees, loss_refuses},
    {"loss_logits", loss_logits_agrees, loss_logits_refuses},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "families")) {
    for (const Family& family : kFamilies) printf("%s\n", family.name);
    return 0;
  }
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "endure" && (argc < 3 || (what != "agree" && what != "refuse"))) {
    fprintf(stderr, "usage: kernels families | agree|refuse ORDER... | endure\n");
    return 2;
  }
  std::vector<int> orders;
  for (int i = 2; i < argc; ++i) orders.push_back(atoi(argv[i]));
  const char* const only = getenv("SURPRISAL_KERNELS");
  const char* const every = getenv("SURPRISAL_KERNELS_EVERY");
  Runner run(what == "endure" ? Claim::kEndures : Claim::kAgrees, orders, every && atoi(every) > 0 ? atoi(every) : 1);
  for (const Family& family : kFamilies) {
    if (only && *only && strcmp(only, family.name) != 0) continue;
    (what == "refuse" ? family.refuses : family.agrees)(run);
  }
  return run.finish();
}
