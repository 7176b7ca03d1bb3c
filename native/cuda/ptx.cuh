// Instructions that CUDA C++ has no function for, by their names in PTX, and CUDA's copies beside the computation; for the emulation
// native/emulation/tensor.h, atomics.h and cluster_calls.h have all of them. All lanes of a warp call ldmatrix and mma, all four warps of a
// warpgroup wgmma. Before sm_80 the first do nothing, on other cards than sm_90 the last, before sm_90 what is of clusters: no launcher
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

// An address of shared memory, from the beginning of a block's own.
__device__ __forceinline__ uint32_t shared_address(const void* at) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(at));
}

// Four matrices of 8 x 8 numbers of 16 bits: lanes 8 m to 8 m + 7 name the rows of the m-th, 16 bytes each in shared memory. A lane gets
// two numbers of row lane / 4 of each.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&words)[4], const void* row) {
#if SRP_TENSOR_INSTRUCTIONS
  const uint32_t at = shared_address(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(at)
               : "memory");
#endif
}

// The same of matrices that lie across: a lane gets two numbers of column lane / 4, those of rows lane % 4 * 2 and the next.
__device__ __forceinline__ void ldmatrix_x4_across(uint32_t (&words)[4], const void* row) {
#if SRP_TENSOR_INSTRUCTIONS
  const uint32_t at = shared_address(row);
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

// ---- products of warpgroups, which read shared memory by themselves

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SRP_WARPGROUP_INSTRUCTIONS 1
#else
#define SRP_WARPGROUP_INSTRUCTIONS 0
#endif

// Whether the library has code for sm_90 with all of its instructions.
#if defined(SRP_SM_90A)
constexpr bool kCompiledForWgmma = true;
#else
constexpr bool kCompiledForWgmma = false;
#endif

// What this thread wrote and copied to shared memory is there for wgmma, behind the next barrier.
__device__ __forceinline__ void fence_for_wgmma() {
#if SRP_WARPGROUP_INSTRUCTIONS
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Sums that wgmma adds to stay where they are until it is done: nothing is moved past these.
template <class Sums>
__device__ __forceinline__ void keep_in_place(Sums& sums) {
  SRP_UNROLL
  for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(sums[i / 32][i / 4 % 8][i % 4])::"memory");
}

// Before the first products of a stage.
__device__ __forceinline__ void wgmma_begin(float (&sums)[2][8][4]) {
#if SRP_WARPGROUP_INSTRUCTIONS
  keep_in_place(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wgmma_commit() {
#if SRP_WARPGROUP_INSTRUCTIONS
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Until no more than `kGroups` of those committed are under way.
template <int kGroups>
__device__ __forceinline__ void wgmma_wait() {
#if SRP_WARPGROUP_INSTRUCTIONS
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
#endif
}

#if SRP_WARPGROUP_INSTRUCTIONS
// Lines of 128 bytes behind each other in shared memory, from a multiple of 1024 on, or from a term of theirs; the pieces of 16 bytes of
// line l lie at piece ^ (l % 8). Across, a line is a term, of 64 numbers; the next 64 are 64 lines further.
__device__ __forceinline__ uint64_t lines_for_wgmma(const char* first) {
  constexpr uint64_t kSwizzled = uint64_t{1} << 62, kEightLines = uint64_t{1024 / 16} << 32;
  constexpr uint64_t kNextNumbers = uint64_t{64 * 128 / 16} << 16;  // looked at across alone
  return (shared_address(first) & 0x3ffff) / 16 | kNextNumbers | kEightLines | kSwizzled;
}

#define SRP_FOUR(m, n) "+f"(sums[m][n][0]), "+f"(sums[m][n][1]), "+f"(sums[m][n][2]), "+f"(sums[m][n][3])
#define SRP_EIGHT(m, n) SRP_FOUR(m, n), SRP_FOUR(m, n + 1)
#define SRP_HALF(m) SRP_EIGHT(m, 0), SRP_EIGHT(m, 2), SRP_EIGHT(m, 4), SRP_EIGHT(m, 6)
#define SRP_WGMMA(type)                                                                                        \
  asm volatile(                                                                                                \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"                                                         \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type                                             \
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "      \
      "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "   \
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, "   \
      "%61, %62, %63}, %64, %65, add, 1, 1, %67, %68;\n}"                                                      \
      : SRP_HALF(0), SRP_HALF(1)                                                                               \
      : "l"(lines_for_wgmma(left)), "l"(lines_for_wgmma(right)), "r"(static_cast<int>(add)), "n"(kAcrossLeft), \
        "n"(kAcrossRight))
#else
#define SRP_WGMMA(type)
#endif

// sums [64, 128] += left [64, 16] times the 128 lines of right, or, without `add`, = that: begins it. A thread has of the sums rows
// warp % 4 * 16 + i / 2 * 8 + lane / 4 and columns m * 64 + n * 8 + lane % 4 * 2 + i % 2. Either side may lie across.
template <int kAcrossLeft, int kAcrossRight>
__device__ __forceinline__ void wgmma_m64n128k16(float (&sums)[2][8][4], const char* left, const char* right, bool add,
                                                 BFloat16) {
  SRP_WGMMA("bf16");
}
template <int kAcrossLeft, int kAcrossRight>
__device__ __forceinline__ void wgmma_m64n128k16(float (&sums)[2][8][4], const char* left, const char* right, bool add,
                                                 Half) {
  SRP_WGMMA("f16");
}
#undef SRP_FOUR
#undef SRP_EIGHT
#undef SRP_HALF
#undef SRP_WGMMA

// ---- a flag by which blocks tell each other

// What this thread has stored, and what it has seen, is seen by whoever finds the flag.
__device__ __forceinline__ void raise_flag(uint32_t* flag) {
  asm volatile("fence.acq_rel.gpu;\n\tst.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1u) : "memory");
}

// Waits for a flag that is 0 until it is raised, by a block that this one's place in the grid does not hold up.
__device__ __forceinline__ void await_flag(const uint32_t* flag) {
  uint32_t raised;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  while (raised == 0);
}

// ---- clusters of blocks

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SRP_CLUSTERS 1
#else
#define SRP_CLUSTERS 0
#endif

// The calling block's number in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
#if SRP_CLUSTERS
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

// A barrier of all threads of the cluster, behind which they see what they stored before it, in their blocks' memory and in each
// other's.
__device__ __forceinline__ void cluster_sync() {
#if SRP_CLUSTERS
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}

// To where block `rank` of the cluster has what is `place` in the calling block's dynamic shared memory. It is there behind the next
// cluster_sync(); a first one must lie ahead of it, before which a block may not have begun.
template <class T>
__device__ __forceinline__ void store_to_block(T* place, unsigned rank, const T& value) {
  static_assert(sizeof(T) % 8 == 0 && alignof(T) == 8, "words of 8 bytes");
#if SRP_CLUSTERS
  uint32_t at;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(place)), "r"(rank));
  const unsigned long long* const words = reinterpret_cast<const unsigned long long*>(&value);
  SRP_UNROLL
  for (int w = 0; w < static_cast<int>(sizeof(T) / 8); ++w)
    asm volatile("st.shared::cluster.b64 [%0], %1;" ::"r"(at + 8 * w), "l"(words[w]) : "memory");
#endif
}

}  // namespace srp

#endif
