// Copies beside the computation and products of matrices, by the names of CUDA (cuda_pipeline_primitives.h) and of PTX. Memory is
// read and written in these functions, which are compiled with the kernels, so that sanitizers see it.
#pragma once
#include "machine.h"

// The last `zeros` of the bytes are not read; they become 0.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0,
                                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  srp::emulation::begin_copy({static_cast<char*>(to), static_cast<const char*>(from), bytes, zeros, {file, line}});
  memset(to, 0xff, bytes);
}

inline void __pipeline_commit() { srp::emulation::commit_copies(); }

inline void __pipeline_wait_prior(size_t groups) {
  while (const srp::emulation::AsyncCopy* copy = srp::emulation::due_copy(groups)) {
    memcpy(copy->to, copy->from, copy->bytes - copy->zeros);
    memset(copy->to + copy->bytes - copy->zeros, 0, copy->zeros);
  }
}

namespace srp {

inline void ldmatrix_x4(uint32_t (&words)[4], const void* row, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  emulation::MatrixRows call = {row, false, {}};
  emulation::warp_call(
      {emulation::WarpOp::ldmatrix, 0xffffffffu, reinterpret_cast<uintptr_t>(&call), 0, warpSize, {file, line}});
  for (int m = 0; m < 4; ++m) memcpy(&words[m], static_cast<const char*>(call.rows[m][0]) + threadIdx.x % 4 * 4, 4);
}

inline void ldmatrix_x4_across(uint32_t (&words)[4], const void* row, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE()) {
  emulation::MatrixRows call = {row, true, {}};
  emulation::warp_call(
      {emulation::WarpOp::ldmatrix, 0xffffffffu, reinterpret_cast<uintptr_t>(&call), 0, warpSize, {file, line}});
  const size_t column = threadIdx.x % 32 / 4 * 2;
  for (int m = 0; m < 4; ++m) {
    uint16_t pair[2];
    for (int i = 0; i < 2; ++i) memcpy(&pair[i], static_cast<const char*>(call.rows[m][i]) + column, 2);
    memcpy(&words[m], pair, 4);
  }
}

// Products are exact, 16 of them are added to the sum in float64, and the result is rounded towards zero. Cards round so too, but
// drop bits of the smaller products as well.
template <class Number>
void mma_m16n8k16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, Number,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const auto low = [](uint32_t pair) { return to_float(Number{static_cast<uint16_t>(pair)}); };
  const auto high = [](uint32_t pair) { return to_float(Number{static_cast<uint16_t>(pair >> 16)}); };
  emulation::MatrixProduct call = {{}, {low(b0), high(b0), low(b1), high(b1)}, sums};
  for (int i = 0; i < 4; ++i) {
    call.a[2 * i] = low(a[i]);
    call.a[2 * i + 1] = high(a[i]);
  }
  emulation::warp_call(
      {emulation::WarpOp::mma, 0xffffffffu, reinterpret_cast<uintptr_t>(&call), 0, warpSize, {file, line}});
}

// ---- products of warpgroups

constexpr bool kCompiledForWgmma = true;
#define SRP_WARPGROUP_INSTRUCTIONS 1

inline uint32_t shared_address(const void* at) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at)); }

inline void fence_for_wgmma() { emulation::fence_copies(); }

template <class Sums>
void keep_in_place(Sums&) {}

inline void group_call(emulation::WarpOp op, void* call, int operand, const char* file, int line) {
  emulation::warp_call({op, 0xffffffffu, reinterpret_cast<uintptr_t>(call), operand, warpSize, {file, line}});
}

inline void wgmma_begin(float (&)[2][8][4], const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  group_call(emulation::WarpOp::wgmma_fence, nullptr, 0, file, line);
}
inline void wgmma_commit(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  group_call(emulation::WarpOp::wgmma_commit, nullptr, 0, file, line);
}
template <int kGroups>
void wgmma_wait(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  group_call(emulation::WarpOp::wgmma_wait, nullptr, kGroups, file, line);
}

template <int kAcrossLeft, int kAcrossRight, class Number>
void wgmma_m64n128k16(float (&sums)[2][8][4], const char* left, const char* right, bool add, Number,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulation::GroupProduct call = {
      left, right, kAcrossLeft != 0, kAcrossRight != 0, add, &sums[0][0][0], [](uint16_t bits) {
        return to_float(Number{bits});
      }};
  group_call(emulation::WarpOp::wgmma, &call, 0, file, line);
}

}  // namespace srp
