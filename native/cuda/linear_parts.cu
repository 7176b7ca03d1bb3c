// float32 and float16 numbers as bfloat16 numbers that tensor cores multiply: linear_parts.cuh.
#include "linear_parts.cuh"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;

struct NumberParts {
  BFloat16 near, rest;

  static __device__ __forceinline__ NumberParts of(float x) {
    const BFloat16 near = to_bfloat16(x);
    return {near, to_bfloat16(x - to_float(near))};
  }
};

// ledger    linear_backward
// bytes     6 D N V / 2048 + 6 D V N / 2048
// limit     memory
// notes     float16, and float32 in parts: hidden of a slab's rows and weight of its ids, as bfloat16
// turn      1 of split_kernel<float>: whole, 4 loaded, 4 stored; 8 bytes; at most 82.5, 75.5 on sm_89
template <class T>
__global__ void split_kernel(const T* from, const uint8_t* mask, int64_t there, int64_t lines, int64_t D, int64_t pitch,
                             BFloat16* to) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= lines * pitch) return;
  const int64_t line = i / pitch, d = i % pitch;
  const bool read = line < there && d < D && kept(mask, line);
  const NumberParts parts = NumberParts::of(read ? to_float(from[line * D + d]) : 0.0f);
  to[i] = parts.near;
  to[lines * pitch + i] = parts.rest;
}

// ledger    linear_forward, linear_backward
// bytes     10 D (N + V)
// limit     memory
// notes     float32 in parts alone. Forward hidden of a chunk once and weight once a chunk; backward both for each slab
// turn      1 of logit_parts_kernel: whole, 4 loaded, 6 stored; 10 bytes; at most 103, 95.5 on sm_89
__global__ void logit_parts_kernel(const float* from, const uint8_t* mask, int64_t lines, int64_t D, int64_t pitch,
                                   Operand side, BFloat16* to) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= lines * pitch) return;
  const int64_t line = i / pitch, d = i % pitch;
  const NumberParts parts = NumberParts::of(d < D && kept(mask, line) ? from[line * D + d] : 0.0f);
  BFloat16* const at = to + line * 3 * pitch + d;
  at[0] = parts.near;
  at[pitch] = side == Operand::hidden ? parts.near : parts.rest;
  at[2 * pitch] = side == Operand::hidden ? parts.rest : parts.near;
}

}  // namespace

void launch_logit_parts(srp_queue* queue, const float* from, const uint8_t* mask, int64_t lines, int64_t D,
                        Operand side, BFloat16* to) {
  const int64_t pitch = pitch_of(D);
  if (lines * pitch == 0) return;
  SRP_LAUNCH(logit_parts_kernel, blocks_for(lines * pitch, kThreads), kThreads, 0, queue->stream, from, mask, lines, D,
             pitch, side, to);
}

template <class T>
void launch_split(srp_queue* queue, const T* from, const uint8_t* mask, int64_t there, int64_t lines, int64_t D,
                  BFloat16* to) {
  const int64_t pitch = pitch_of(D);
  if (lines * pitch == 0) return;
  SRP_LAUNCH((split_kernel<T>), blocks_for(lines * pitch, kThreads), kThreads, 0, queue->stream, from, mask, there,
             lines, D, pitch, to);
}

template void launch_split<float>(srp_queue*, const float*, const uint8_t*, int64_t, int64_t, int64_t, BFloat16*);
template void launch_split<Half>(srp_queue*, const Half*, const uint8_t*, int64_t, int64_t, int64_t, BFloat16*);

}  // namespace srp::cuda
