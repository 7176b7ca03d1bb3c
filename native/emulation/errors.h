// The last error of each host thread, as the runtime functions leave it.
#pragma once
#include <string>

#include "runtime.h"

namespace srp::emulation {

// Keeps a failure for cudaGetLastError() and passes it on; success changes nothing.
cudaError_t record(cudaError_t error);
// A launch that broke a rule.
void record_launch_failure(const std::string& text);
// The launch failure that nobody has taken yet, for calls that wait for earlier work.
cudaError_t pending();

bool is_stream(cudaStream_t stream);

// What the emulated device admits.
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxBlock[3] = {1024, 1024, 64};
constexpr unsigned kMaxGrid[3] = {2147483647, 65535, 65535};

}  // namespace srp::emulation
