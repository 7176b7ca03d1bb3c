// Instructions that CUDA C++ has no function for, by their names in PTX, and CUDA's copies beside the computation; for the emulation
// native/emulation/tensor.h has all of them. All lanes of a warp call ldmatrix and mma. Before sm_80 these do nothing: no launcher
// takes a kernel with them there.
#pragma once
#include "cuda.cuh"
#include "shared/number.h"

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>

namespace srp {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SRP_TENSOR_INSTRUCTIONS 1
#else
#define SRP_TENSOR_INSTRUCTIONS 0
#endif

// Four matrices of 8 x 8 numbers of 16 bits: lanes 8 m to 8 m + 7 name the rows of the m-th, 16 bytes each in shared memory. A lane gets
// two numbers of row lane / 4 of each.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&words)[4], const void* row) {
#if SRP_TENSOR_INSTRUCTIONS
  const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(at)
               : "memory");
#endif
}

// The same of matrices that lie across: a lane gets two numbers of column lane / 4, those of rows lane % 4 * 2 and the next.
__device__ __forceinline__ void ldmatrix_x4_across(uint32_t (&words)[4], const void* row) {
#if SRP_TENSOR_INSTRUCTIONS
  const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(at)
               : "memory");
#endif
}

#if SRP_TENSOR_INSTRUCTIONS
#define SRP_MMA(type)                                              \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type       \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "        \
      "{%0, %1, %2, %3};"                                          \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#else
#define SRP_MMA(type)
#endif

// sums [16, 8] += a [16, 16] times b [16, 8], in fragments.
__device__ __forceinline__ void mma_m16n8k16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                             BFloat16) {
  SRP_MMA("bf16");
}
__device__ __forceinline__ void mma_m16n8k16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, Half) {
  SRP_MMA("f16");
}
#undef SRP_MMA

}  // namespace srp

#endif
