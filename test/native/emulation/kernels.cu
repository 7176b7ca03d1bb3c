// Kernels that use what the emulation offers, each held against a plain loop, in all three thread orders.
// The text is plain CUDA: nvcc compiles it too, and on a device it must print the same lines.
#include "../../../native/shared/number.h"
#include "support.cuh"

// ---- one sum a row: strided loads, a shuffle tree, shared memory between the warps
template <class T, int BLOCK>
__global__ void row_sum_kernel(const T* __restrict__ x, T* __restrict__ sums, int columns) {
  SRP_SHARED(T, partial, BLOCK / 32);
  const T* row = x + static_cast<size_t>(blockIdx.x) * columns;
  T sum = 0;
  SRP_UNROLL
  for (int i = threadIdx.x; i < columns; i += BLOCK) sum += row[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < sizeof partial / sizeof(T) ? partial[threadIdx.x] : T(0);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
}

template <class T>
static bool row_sum() {
  const int rows = 7, columns = 1003;  // neither a multiple of the block nor of a warp
  std::vector<T> x(rows * columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 37 % 101);  // integers: every order adds exactly
  DeviceBuffer<T> in(x), out(rows);
  SRP_LAUNCH((row_sum_kernel<T, 128>), rows, 128, 0, nullptr, in.get(), out.get(), columns);
  const std::vector<T> got = out.read();
  for (int row = 0; row < rows; ++row) {
    T want = 0;
    for (int i = 0; i < columns; ++i) want += x[row * columns + i];
    if (got[row] != want) return false;
  }
  return true;
}

// ---- dynamic shared memory and a second barrier before it is reused
__global__ void reverse_twice_kernel(const int* in, int* out) {
  SRP_DYN_SHARED(int, line);
  const int last = blockDim.x - 1, base = blockIdx.x * blockDim.x;
  line[threadIdx.x] = in[base + threadIdx.x];
  __syncthreads();
  const int mirrored = line[last - threadIdx.x];
  __syncthreads();
  line[threadIdx.x] = mirrored + 1;
  __syncthreads();
  out[base + threadIdx.x] = line[last - threadIdx.x];
}

static bool reverse_twice() {
  std::vector<int> x(5 * 96);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * i % 97);
  DeviceBuffer<int> in(x), out(x.size());
  SRP_LAUNCH(reverse_twice_kernel, 5, 96, 96 * sizeof(int), nullptr, in.get(), out.get());
  const std::vector<int> got = out.read();
  for (size_t i = 0; i < x.size(); ++i)
    if (got[i] != x[i] + 1) return false;
  return true;
}

// ---- votes and reductions on every lane of one warp
struct Votes {
  unsigned ballot, half_ballot, any, all, sum, lowest, highest, bits;
  int signed_lowest;
};
__global__ void vote_kernel(const unsigned* values, Votes* votes) {
  const unsigned v = values[threadIdx.x], mine = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
  Votes r;
  r.ballot = __ballot_sync(0xffffffffu, v & 1);
  r.half_ballot = __ballot_sync(mine, v & 2);
  r.any = __any_sync(0xffffffffu, v == values[3]);
  r.all = __all_sync(0xffffffffu, v == values[3]);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800  // hardware has these since compute capability 8.0
  r.sum = __reduce_add_sync(0xffffffffu, v);
  r.lowest = __reduce_min_sync(0xffffffffu, v);
  r.highest = __reduce_max_sync(0xffffffffu, v);
  r.bits = __reduce_or_sync(0xffffffffu, v);
  r.signed_lowest = __reduce_min_sync(0xffffffffu, 7 - static_cast<int>(threadIdx.x));
#endif
  votes[threadIdx.x] = r;
}

static bool votes() {
  std::vector<unsigned> v(32);
  Votes want{};
  want.lowest = ~0u;
  for (unsigned i = 0; i < 32; ++i) {
    v[i] = i * 2654435761u >> 20;
    want.ballot |= (v[i] & 1) << i;
    want.half_ballot |= (v[i] >> 1 & 1) << i;
    want.sum += v[i];
    want.lowest = v[i] < want.lowest ? v[i] : want.lowest;
    want.highest = v[i] > want.highest ? v[i] : want.highest;
    want.bits |= v[i];
  }
  DeviceBuffer<unsigned> in(v);
  DeviceBuffer<Votes> out(32);
  SRP_LAUNCH(vote_kernel, 1, 32, 0, nullptr, in.get(), out.get());
  unsigned lane = 0;
  for (const Votes& got : out.read()) {
    const unsigned half = lane++ < 16 ? 0x0000ffffu : 0xffff0000u;
    if (got.ballot != want.ballot || got.half_ballot != (want.half_ballot & half)) return false;
    if (got.any != 1 || got.all != 0 || got.sum != want.sum || got.bits != want.bits) return false;
    if (got.lowest != want.lowest || got.highest != want.highest || got.signed_lowest != 7 - 31) return false;
  }
  return true;
}

// ---- 64-bit values, segments of eight lanes, and lanes whose partner lies outside
struct Pair {
  float value;
  int index;
};
struct Moved {
  double up, down, crossed, picked;
  long long whole;
  Pair pair;
};
__global__ void shuffle_kernel(Moved* out) {
  const int lane = threadIdx.x;
  const double d = 1.0 / 3.0 + lane;  // needs all 64 bits
  Moved m;
  m.up = __shfl_up_sync(0xffffffffu, d, 1);
  m.down = __shfl_down_sync(0xffffffffu, d, 3, 8);
  m.crossed = __shfl_xor_sync(0xffffffffu, d, 5, 8);
  m.picked = __shfl_sync(0xffffffffu, d, 2, 8);
  m.whole = __shfl_sync(0xffffffffu, -(1ll << 40) - lane, 31);
  m.pair = {__shfl_sync(0xffffffffu, lane * 0.5f, lane + 1), __shfl_sync(0xffffffffu, lane, lane + 1)};
  out[lane] = m;
}

static bool shuffles() {
  DeviceBuffer<Moved> out(32);
  SRP_LAUNCH(shuffle_kernel, 1, 32, 0, nullptr, out.get());
  const auto d = [](int lane) { return 1.0 / 3.0 + lane; };
  int lane = 0;
  for (const Moved& m : out.read()) {
    const int segment = lane / 8 * 8;
    if (m.up != d(lane > 0 ? lane - 1 : 0)) return false;
    if (m.down != d(lane % 8 + 3 < 8 ? lane + 3 : lane)) return false;
    if (m.crossed != d(segment + (lane % 8 ^ 5)) || m.picked != d(segment + 2)) return false;
    if (m.whole != -(1ll << 40) - 31) return false;
    if (m.pair.index != (lane + 1) % 32 || m.pair.value != (lane + 1) % 32 * 0.5f) return false;
    ++lane;
  }
  return true;
}

// ---- warps that go separate ways, a warp that is not full, __syncwarp between a lane's write and another's read
__global__ void ragged_kernel(int* out) {
  SRP_SHARED(int, seen, 80);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned mask = warp == 2 ? 0x0000ffffu : 0xffffffffu;  // 80 threads: the last warp has 16 lanes
  int value = threadIdx.x;
  for (unsigned turn = 0; turn <= warp; ++turn) {  // each warp shuffles as often as it likes
    seen[threadIdx.x] = value;
    __syncwarp(mask);
    value += seen[threadIdx.x ^ 1];
    __syncwarp(mask);
  }
  if (lane % 2 == 0) value += __shfl_xor_sync(mask & 0x55555555u, value, 2);  // even lanes among themselves
  __syncthreads();
  out[threadIdx.x] = value;
}

static bool ragged() {
  std::vector<int> want(80), before;
  for (int i = 0; i < 80; ++i) want[i] = i;
  for (int turn = 0; turn < 3; ++turn) {
    before = want;
    for (int i = turn * 32; i < 80; ++i) want[i] = before[i] + before[i ^ 1];
  }
  before = want;
  for (int i = 0; i < 80; i += 2) want[i] = before[i] + before[i ^ 2];
  DeviceBuffer<int> out(80);
  SRP_LAUNCH(ragged_kernel, 1, 80, 0, nullptr, out.get());
  return out.read() == want;
}

// ---- three-dimensional blocks and grids
__global__ void corner_kernel(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[i] = i + 1000 * __shfl_sync(0xffffffffu, thread, 0);  // lane 0 of a warp holds the smallest number
}

static bool corners() {
  DeviceBuffer<unsigned> out(2 * 3 * 4 * 4 * 4 * 4);
  SRP_LAUNCH(corner_kernel, dim3(2, 3, 4), dim3(4, 4, 4), 0, nullptr, out.get());
  unsigned i = 0;
  for (const unsigned got : out.read()) {
    if (got != i + 1000 * (i % 64 / 32 * 32)) return false;
    ++i;
  }
  return true;
}

// ---- integer atomics, and the last block to arrive reads what the others wrote
__global__ void last_block_kernel(const int* x, int* partial, unsigned* arrived, unsigned long long* total,
                                  int* extremes) {
  SRP_SHARED(int, sum, 1);
  SRP_SHARED(int, last, 1);
  if (threadIdx.x == 0) *sum = 0;
  __syncthreads();
  const int mine = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(sum, mine);
  atomicMin(&extremes[0], mine);
  atomicMax(&extremes[1], mine);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = *sum;
    __threadfence();
    *last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!*last || threadIdx.x != 0) return;
  __threadfence();
  unsigned long long all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) all += static_cast<unsigned long long>(partial[b]);
  atomicExch(total, all);
}

static bool last_block() {
  const int blocks = 20, threads = 64;
  std::vector<int> x(blocks * threads);
  unsigned long long want = 0;
  for (size_t i = 0; i < x.size(); ++i) want += static_cast<unsigned>(x[i] = static_cast<int>(i * 13 % 1009));
  DeviceBuffer<int> in(x), partial(blocks), extremes(std::vector<int>{1 << 30, -1});
  DeviceBuffer<unsigned> arrived(std::vector<unsigned>{0});
  DeviceBuffer<unsigned long long> total(1);
  SRP_LAUNCH(last_block_kernel, blocks, threads, 0, nullptr, in.get(), partial.get(), arrived.get(), total.get(),
             extremes.get());
  return total.read()[0] == want && extremes.read() == std::vector<int>{0, 1008};
}

// ---- bit functions and float bits at their edges
__global__ void bits_kernel(int* out) {
  int i = 0;
  for (const unsigned v : {0u, 1u, 0x80000000u, 0x00f0u, ~0u}) {
    out[i++] = __popc(v);
    out[i++] = __ffs(static_cast<int>(v));
    out[i++] = __clz(static_cast<int>(v));
  }
  out[i++] = __float_as_int(-0.0f) < 0;
  out[i++] = max(3, min(5, 9)) + static_cast<int>(max(NAN, 2.0f));
}

static bool bits() {
  DeviceBuffer<int> out(17);
  SRP_LAUNCH(bits_kernel, 1, 1, 0, nullptr, out.get());
  return out.read() == std::vector<int>{0, 0, 32, 1, 1, 31, 1, 32, 0, 4, 5, 24, 32, 1, 0, 1, 7};
}

// ---- a 16 x 16 matrix times a 16 x 8 one, from rows that are copied beside the computation; across: from their columns
template <class Number, bool kAcross>
__global__ void multiply_kernel(const uint16_t* a, const uint16_t* b, float* sums) {
  SRP_DYN_SHARED(uint16_t, rows);  // [16 + 8, 16]
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
  for (int piece = lane; piece < 48; piece += 32)
    __pipeline_memcpy_async(rows + piece * 8, piece < 32 ? a + piece * 8 : b + (piece - 32) * 8, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  uint32_t left[4], right[4];
  float mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = sums[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
  if (kAcross) {
    srp::ldmatrix_x4_across(left, rows + (lane / 16 * 8 + lane % 8) * 16 + lane / 8 % 2 * 8);
    srp::ldmatrix_x4_across(right, rows + 16 * 16 + lane % 16 * 8);
  } else {
    srp::ldmatrix_x4(left, rows + lane % 16 * 16 + lane / 16 * 8);
    srp::ldmatrix_x4(right, rows + (16 + lane % 8) * 16 + lane / 8 % 2 * 8);  // the last two matrices are the first two
  }
  srp::mma_m16n8k16(mine, left, right[0], right[1], Number{});
  for (int i = 0; i < 4; ++i) sums[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = mine[i];
}

// Small whole numbers, so that every sum is exact.
template <class Number, bool kAcross>
static bool multiply(Number (*number)(float)) {
  std::vector<uint16_t> a(16 * 16), b(8 * 16);
  std::vector<float> sums(16 * 8), want(16 * 8);
  const auto x = [](int i) { return static_cast<float>(i * 7 % 23 - 11); };
  for (int i = 0; i < 16 * 16; ++i) a[static_cast<size_t>(i)] = number(x(i)).bits;
  for (int i = 0; i < 8 * 16; ++i) b[static_cast<size_t>(i)] = number(x(i + 5)).bits;
  for (int i = 0; i < 16 * 8; ++i) {
    sums[static_cast<size_t>(i)] = want[static_cast<size_t>(i)] = x(i + 9);
    for (int k = 0; k < 16; ++k) {
      const int left = kAcross ? k * 16 + i / 8 : i / 8 * 16 + k, right = kAcross ? k * 8 + i % 8 : i % 8 * 16 + k;
      want[static_cast<size_t>(i)] += x(left) * x(right + 5);
    }
  }
  DeviceBuffer<uint16_t> left(a), right(b);
  DeviceBuffer<float> out(sums);
  SRP_LAUNCH((multiply_kernel<Number, kAcross>), 1, 32, 24 * 16 * 2, nullptr, left.get(), right.get(), out.get());
  return out.read() == want;
}

template <bool kAcross>
static bool multiply_both() {
  return multiply<srp::Half, kAcross>(srp::to_half) && multiply<srp::BFloat16, kAcross>(srp::to_bfloat16);
}

// ---- 64 lines of 32 terms times 128 such lines, by a warpgroup, in two products of 16 terms. Lines of 128 bytes, whose pieces of 16
// change places by the line; across, a term has 64 numbers a line, of one line each, and the 64 after these lie 64 lines further.
constexpr int kGroupTerms = 32, kGroupLines = 64 + 128, kGroupLineBytes = 128;

template <class Number, int kAcross>
__global__ void multiply_group_kernel(const uint16_t* numbers, float* sums) {
  SRP_DYN_SHARED(char, memory);
  char* const lines = memory + (1024 - srp::shared_address(memory) % 1024);
  for (int i = static_cast<int>(threadIdx.x); i < kGroupLines * 8; i += 128) {
    const int line = i / 8, piece = i % 8;
    __pipeline_memcpy_async(lines + line * kGroupLineBytes + (piece ^ line % 8) * 16, numbers + i * 8, 16);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  srp::fence_for_wgmma();
  __syncthreads();
  float mine[2][8][4];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const auto place = [&](int i) {
    return (warp * 16 + i / 2 % 2 * 8 + lane / 4) * 128 + i / 32 * 64 + i / 4 % 8 * 8 + lane % 4 * 2 + i % 2;
  };
  for (int i = 0; i < 64; ++i) mine[i / 32][i / 4 % 8][i % 4] = sums[place(i)];
  const char* const right = lines + 64 * kGroupLineBytes;
  const int step = kAcross ? 16 * kGroupLineBytes : 32;
  srp::wgmma_begin(mine);
  srp::wgmma_m64n128k16<kAcross, kAcross>(mine, lines, right, true, Number{});
  srp::wgmma_m64n128k16<kAcross, kAcross>(mine, lines + step, right + step, true, Number{});
  srp::wgmma_commit();
  srp::wgmma_wait<0>();
  for (int i = 0; i < 64; ++i) sums[place(i)] = mine[i / 32][i / 4 % 8][i % 4];
}

template <class Number, int kAcross>
static bool multiply_group(Number (*number)(float)) {
  constexpr int kNumbers = kGroupLineBytes / 2;
  std::vector<uint16_t> numbers(kGroupLines * kNumbers);
  std::vector<float> sums(64 * 128), want(64 * 128);
  const auto x = [](int i) { return static_cast<float>(i * 7 % 23 - 11); };
  const auto of = [&](int line, int term) {
    return kAcross ? x((line / 64 * 64 + term) * kNumbers + line % 64) : x(line * kNumbers + term);
  };
  for (int i = 0; i < kGroupLines * kNumbers; ++i) numbers[static_cast<size_t>(i)] = number(x(i)).bits;
  for (int i = 0; i < 64 * 128; ++i) {
    sums[static_cast<size_t>(i)] = want[static_cast<size_t>(i)] = x(i + 9);
    for (int k = 0; k < kGroupTerms; ++k) want[static_cast<size_t>(i)] += of(i / 128, k) * of(64 + i % 128, k);
  }
  DeviceBuffer<uint16_t> in(numbers);
  DeviceBuffer<float> out(sums);
  SRP_LAUNCH((multiply_group_kernel<Number, kAcross>), 1, 128, kGroupLines * kGroupLineBytes + 1024, nullptr, in.get(),
             out.get());
  return out.read() == want;
}

template <int kAcross>
static bool multiply_groups() {
  return multiply_group<srp::Half, kAcross>(srp::to_half) && multiply_group<srp::BFloat16, kAcross>(srp::to_bfloat16);
}

// What a copy leaves out is 0, and groups come in their order.
__global__ void copies_kernel(const int* in, int* out) {
  SRP_SHARED(int, values, 3 * 64 * 4);
  for (int group = 0; group < 3; ++group) {
    const size_t zeros = group == 1 ? 8 : 0;
    __pipeline_memcpy_async(values + (group * 64 + threadIdx.x) * 4, in + threadIdx.x * 4, 16, zeros);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  const int other = static_cast<int>(blockDim.x - 1 - threadIdx.x);
  for (int i = 0; i < 4; ++i) out[other * 4 + i] = values[(64 + other) * 4 + i];
  __pipeline_wait_prior(0);
}

static bool copies() {
  std::vector<int> in(64 * 4), want(64 * 4);
  for (int i = 0; i < 64 * 4; ++i) want[static_cast<size_t>(i)] = i % 4 < 2 ? (in[static_cast<size_t>(i)] = i + 1) : 0;
  DeviceBuffer<int> from(in), to(std::vector<int>(64 * 4, -1));
  SRP_LAUNCH(copies_kernel, 1, 64, 0, nullptr, from.get(), to.get());
  return to.read() == want;
}

// ---- a cluster: each block adds up its numbers, and all of them the sums of all

constexpr int kCluster = 4, kTurns = 3;

// Sums of two turns, in turn: others may store theirs of the next while this one's are read.
__global__ void cluster_sums_kernel(const double* x, double* out) {
  SRP_DYN_SHARED(double, sums);
  srp::cluster_sync();  // all blocks have begun
  for (int turn = 0; turn < kTurns; ++turn) {
    double sum = x[(turn * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    double* const found = sums + turn % 2 * kCluster;
    if (threadIdx.x < kCluster) srp::store_to_block(found + srp::cluster_rank(), threadIdx.x, sum);
    srp::cluster_sync();
    if (threadIdx.x == 0)
      out[turn * gridDim.x + blockIdx.x] = found[0] + 2 * found[1] + 3 * found[2] + 4 * found[3] + srp::cluster_rank();
  }
}

static bool cluster_sums() {
  constexpr int kClusters = 5, kBlocks = kClusters * kCluster, kLanes = 32;
  std::vector<double> x(kTurns * kBlocks * kLanes), want(kTurns * kBlocks);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 13 % 101);  // integers: every order adds exactly
  for (size_t b = 0; b < want.size(); ++b) {
    want[b] = static_cast<double>(b % kCluster);
    for (size_t i = 0; i < kCluster * kLanes; ++i)
      want[b] += static_cast<double>(1 + i / kLanes) * x[b / kCluster * kCluster * kLanes + i];
  }
  DeviceBuffer<double> in(x), out(want.size());
  SRP_LAUNCH_CLUSTERS(cluster_sums_kernel, kBlocks, kLanes, kCluster, 2 * kCluster * sizeof(double), nullptr, in.get(),
                      out.get());
  return out.read() == want;
}

int main() {
  Checks checks;
  for (int order = 0; order < kOrders; ++order) {
    set_order(order);
    checks.that(row_sum<float>() && checks.launched(), "a block adds a row of floats");
    checks.that(row_sum<double>() && checks.launched(), "a block adds a row of doubles");
    checks.that(reverse_twice() && checks.launched(), "dynamic shared memory survives its barriers");
    checks.that(votes() && checks.launched(), "votes and reductions reach every lane");
    checks.that(shuffles() && checks.launched(), "shuffles move 64 bits within their segments");
    checks.that(ragged() && checks.launched(), "warps part and meet again, full or not");
    checks.that(corners() && checks.launched(), "indices count x first in three dimensions");
    checks.that(last_block() && checks.launched(), "the last block reads what the others wrote");
    checks.that(multiply_both<false>() && checks.launched(), "a warp multiplies matrices");
    checks.that(multiply_both<true>() && checks.launched(), "a warp multiplies matrices that lie across");
    checks.that(multiply_groups<0>() && checks.launched(), "a warpgroup multiplies lines");
    checks.that(multiply_groups<1>() && checks.launched(), "a warpgroup multiplies lines that lie across");
    checks.that(copies() && checks.launched(), "copies arrive when they are waited for");
    checks.that(cluster_sums() && checks.launched(), "blocks of a cluster tell each other their sums");
    checks.that(bits() && checks.launched(), "bit functions know zero and all ones");
  }
  printf("%d failed\n", checks.failed);
  return checks.failed != 0;
}
