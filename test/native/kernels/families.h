// The families, and two functions of each: good calls on which both backends agree, and calls that both refuse.
#pragma once
#include "runner.h"

#define SRP_FOR_EACH_FAMILY(X) \
  X(logprob)                   \
  X(delim)                     \
  X(group)                     \
  X(group_rows)                \
  X(scan)                      \
  X(ratio)                     \
  X(modulate)                  \
  X(reduce)                    \
  X(select)                    \
  X(correction)                \
  X(linear)                    \
  X(divergence)                \
  X(loss)                      \
  X(loss_logits)

namespace srp::test {

#define SRP_DECLARE(family)          \
  void family##_agrees(Runner& run); \
  void family##_refuses(Runner& run);
SRP_FOR_EACH_FAMILY(SRP_DECLARE)
#undef SRP_DECLARE

}  // namespace srp::test
