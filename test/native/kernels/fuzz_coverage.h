// Which branches of the backends a call took: g++ puts a call of __sanitizer_cov_trace_pc into every one (-fsanitize-coverage=trace-pc).
#pragma once
#include <cstddef>

namespace srp::test {

// Branches that the calls since the last one took and none before.
size_t new_branches();
// All that were taken so far.
size_t all_branches();
// False in a program that was built without them.
bool has_branches();

}  // namespace srp::test
