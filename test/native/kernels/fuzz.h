// Random calls of every op straight at the C table, guided by the branches that they take.
#pragma once
#include <cstdint>

namespace srp::test {

// `kernels fuzz SEED COUNT [CORPUS [GROWN]]`: tries what lies in the file CORPUS (a case a line, in hexadecimal digits), then COUNT
// calls more, and writes the cases that reached new branches to GROWN. What a case shows is printed with its bytes; `kernels case HEX`
// tries one again, and prints the call.
int fuzz(uint64_t seed, int64_t count, const char* corpus, const char* grown);
int fuzz_one(const char* hex);

}  // namespace srp::test
