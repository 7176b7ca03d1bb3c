// The interface between kernel code and the machine that executes it. Kernel files include it through emulation.h.
//
// One fiber stands for one CUDA thread. A thread runs until it meets a barrier or a warp intrinsic, waits there for its
// partners, and goes on when they have come. Nothing here throws or prints: a broken rule ends the launch with a text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

typedef struct CUstream_st* cudaStream_t;

// Set by the machine whenever it switches to another CUDA thread. __thread, not thread_local: constant initialisation is
// promised, so that a read costs no wrapper call.
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace srp::emulation {

// Whether the device is one whose kernels take pairs of float32 for float64: of capability 8.9.
bool slow_float64();

// Where in the kernel's source a thread waits.
struct Site {
  const char* file;
  int line;
};

// One shared array of the source. Its address is its identity: all threads of a block get the same storage for it.
struct SharedArray {
  const char* name;
  Site site;
};

enum class WarpOp : uint8_t {
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  sync,
  reduce_add,
  reduce_min,
  reduce_max,
  reduce_and,
  reduce_or,
  reduce_xor,
  ldmatrix,
  mma,
  wgmma_fence,
  wgmma,
  wgmma_commit,
  wgmma_wait
};

struct WarpCall {
  WarpOp op;
  uint32_t mask;  // lanes that take part
  uint64_t value;  // this lane's contribution
  int operand;  // shuffles: the lane, distance or lane mask
  int width;  // shuffles: lanes of a segment
  Site site;
};

// What a lane of ldmatrix names and gets, and what a lane of mma brings; WarpCall::value is their address.
struct MatrixRows {
  const void* row;
  bool across;
  const void* rows[4][2];  // of each matrix; across: that of each of the lane's two numbers
};
struct MatrixProduct {
  float a[8], b[4];
  float* sums;  // [4]
};

// What a lane of wgmma brings: the two sides in shared memory, 64 of the sums, which it gets when it has waited.
struct GroupProduct {
  const char *left, *right;
  bool across_left, across_right;
  bool add;
  float* sums;  // [2, 8, 4]
  float (*number)(uint16_t bits);
};

// Of the `bytes` behind `from` the last `zeros` are not read.
struct AsyncCopy {
  char* to;
  const char* from;
  size_t bytes, zeros;
  Site site;
};

void begin_copy(const AsyncCopy& copy);
void commit_copies();
// Copies of the calling thread that have arrived are there for wgmma, too.
void fence_copies();
// A copy that the calling thread must do now, so that at most `groups` of its groups are under way. Null: none.
const AsyncCopy* due_copy(size_t groups);

void block_barrier(Site site);
void cluster_barrier(Site site);
unsigned cluster_rank();
// 8 bytes to where another block of the cluster has what is `place` in the calling thread's.
void store_to_block(unsigned rank, void* place, uint64_t word, Site site);
uint64_t warp_call(const WarpCall& call);
void memory_fence();
void* shared_array(const SharedArray& array, size_t bytes, size_t alignment);
void* dynamic_shared();

// A kernel with its arguments, evaluated once as by a real launch.
struct Kernel {
  const char* name;
  const void* function;
  void (*invoke)(const void* call);
  const void* call;
  size_t checked;  // bytes of the call that are searched for addresses of memory the kernel must not touch
  size_t bytes;  // of the call, which the machine copies: it runs later, and in a graph many times
};

// Puts the grid into the stream. cudaGetLastError() returns the error of a refused configuration; calls that wait
// return faults of the run.
void launch(const Kernel& kernel, dim3 grid, dim3 block, unsigned cluster, size_t shared_bytes, cudaStream_t stream);

// Padding between arguments holds whatever was on the stack, perhaps an old address. Without this a search would find it.
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define SRP_CLEAR_PADDING(object) __builtin_clear_padding(object)
constexpr bool kArgumentsAreClean = true;
#endif
#endif
#if !defined(SRP_CLEAR_PADDING)
#define SRP_CLEAR_PADDING(object)
constexpr bool kArgumentsAreClean = false;
#endif

template <class T>
struct NotDeduced {
  using type = T;
};

template <class... P>
struct KernelCall {
  void (*kernel)(P...);
  std::tuple<P...> arguments;
  static void invoke(const void* call) {
    const auto* self = static_cast<const KernelCall*>(call);
    std::apply(self->kernel, self->arguments);
  }
};

// Parameter types come from the kernel alone, so arguments convert as in an ordinary call.
template <class... P>
void launch_kernel(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, unsigned cluster, size_t shared_bytes,
                   cudaStream_t stream, typename NotDeduced<P>::type... arguments) {
  static_assert((... && (std::is_trivially_copy_constructible_v<P> && std::is_trivially_destructible_v<P>)),
                "arguments of a kernel are copied byte by byte");
  KernelCall<P...> call{kernel, std::tuple<P...>(arguments...)};
  SRP_CLEAR_PADDING(&call);
  launch({name, reinterpret_cast<const void*>(kernel), &KernelCall<P...>::invoke, &call,
          kArgumentsAreClean ? sizeof call : 0, sizeof call},
         grid, block, cluster, shared_bytes, stream);
}

}  // namespace srp::emulation
