// A file of cases enters itself: SRP_FAMILY(scan) behind scan_agrees, good calls on which both backends agree, and scan_refuses,
// calls that both refuse.
#pragma once
#include "runner.h"

namespace srp::test {

struct Family {
  const char* name;
  void (*agrees)(Runner&);
  void (*refuses)(Runner&);
};

// Those of all files that are linked, in the order of their names.
const std::vector<Family>& families();

bool enter_family(const Family& family);

#define SRP_FAMILY(family) \
  [[maybe_unused]] static const bool entered_##family = enter_family({#family, family##_agrees, family##_refuses})

}  // namespace srp::test
