// Which of a launch's blocks comes last: it finds what all others have stored, and goes on alone.
#pragma once
#include "common.cuh"

namespace srp::cuda {

// All threads of a block call it, once, when they have stored what the last block is to read. True in all threads of the last of
// `blocks` blocks. *ticket is 0 before the launch and after it.
__device__ __forceinline__ bool comes_last(uint32_t* ticket, uint32_t blocks) {
  SRP_SHARED(bool, last, 1);
  __threadfence();  // this thread's stores become visible before its block's ticket
  __syncthreads();
  if (threadIdx.x == 0) {
    last[0] = atomicAdd(ticket, 1u) == blocks - 1;
    if (last[0]) atomicExch(ticket, 0u);  // as the next launch must find it
  }
  __syncthreads();
  if (last[0]) __threadfence();
  return last[0];
}

}  // namespace srp::cuda
