// GAE, returns and V-trace (contract: surprisal/scan.h), each row cut into tiles and strips (scan_tiles.cuh).
//
//   many rows     one launch. Rows of 960 tokens or less on average: as many warps as the device holds go over all rows, two at a time,
//                 half a warp each where they are short; longer rows: a block a row
//   few long rows fewer than two for each multiprocessor, that may be longer than a strip: three launches.
//                 The maps of all strips, a block a row to carry through them, the strips again with what comes into them
//
// Either way the same bits. Minimum bytes: of each token every input and output once, and 1 for the mask (gae: 17 in float32);
// the three launches read the inputs twice (26), the second time from L2 as far as it reaches.
#include "backend.cuh"
#include "scan_tiles.cuh"

namespace srp::cuda {
namespace {

constexpr int64_t kPairRow = 2 * kTileTokens;
constexpr int64_t kManyRows = 2;  // for each multiprocessor
constexpr int kSharedBytes = 44 * 1024;  // of a block
constexpr int kResidentWarps = 16;  // of a multiprocessor, by their registers
constexpr int kCarryThreads = 512;

template <class Scan>
constexpr bool kIsWide = sizeof(typename NumberOf<Scan>::Type) == 8;

template <class Args>
__device__ __forceinline__ Range checked_range(const Args& a, int64_t b, bool reports, uint32_t* faults) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid && reports) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

// What half a warp has of a row: all its tokens, none of an empty one, and kLong of one that is not short.
struct Half {
  int64_t begin;
  int tokens;
};
constexpr int kLong = -1;

__device__ __forceinline__ Half half_of(const Range& row) {
  return {row.begin, is_short(row) ? static_cast<int>(row.end - row.begin) : kLong};
}
template <class Scan>
__device__ __forceinline__ void ask_half(ShortTiles<Scan>& tiles, const Half& half) {
  tiles.ask(half.begin, half.tokens);
}
// `b`: a row that there is, also where the half has none.
template <class Scan>
__device__ __forceinline__ void scan_half(ShortTiles<Scan>& tiles, const typename Scan::Args& a, int64_t b,
                                          const Half& half) {
  const Carry carry = carry_of(Scan(a, b));
  CarryMap before;
  tiles.read(b, half.begin, half.tokens, before);
  tiles.write(b, carry, before);
}

// A warp scans rows b and b + 1, those b and b + 1 of the next 2 gridDim.x warps, and so on. The next two are on their way meanwhile,
// and the offsets of those behind them.
//
// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// notes     gae in float32 with a mask: 17 bytes a token; read once. Two rows of 128 tokens take about 700 instructions of a warp
template <class Scan>
__global__ void __launch_bounds__(kMostWarps* kWarp, kIsWide<Scan> ? 3 : 4)
    scan_pairs_kernel(typename Scan::Args a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  using F = typename NumberOf<Scan>::Type;
  const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const int lane = threadIdx.x % kWarp, half = lane / kHalfWarp;
  const bool reports = lane % kHalfWarp == 0;
  const int64_t stride = int64_t{gridDim.x} * warps * 2;
  unsigned char* const own = memory + warp * warp_bytes<F>(a);
  const auto half_at = [&](int64_t b) { return b < a.B ? half_of(checked_range(a, b, reports, faults)) : Half{0, 0}; };
  ShortTiles<Scan> tiles(a, own);
  int64_t pair = (int64_t{blockIdx.x} * warps + warp) * 2;
  Half row = half_at(pair + half), next = half_at(pair + half + stride);
  ask_half(tiles, row);
  SRP_KEEP_ROLLED
  for (; pair < a.B; pair += stride) {
    const int64_t b = pair + half < a.B ? pair + half : pair;
    const unsigned long_rows = __ballot_sync(kFullWarp, row.tokens == kLong);
    Half later = {0, 0};
    if (long_rows) {
      tiles.ask_nothing();
    } else {
      ask_half(tiles, next);
      later = half_at(pair + half + 2 * stride);
    }
    scan_half(tiles, a, b, row);
    if (long_rows) {
      // A long row takes the memory of both halves, and their registers.
      SRP_KEEP_ROLLED
      for (int h = 0; h < 2; ++h)
        if (long_rows >> (h * kHalfWarp) & 1)
          scan_row<false, Scan>(a, pair + h, row_range(a.offsets, a.T, a.n, pair + h), own);
      next = half_at(pair + half + stride);
      later = half_at(pair + half + 2 * stride);
      ask_half(tiles, next);
    }
    row = next;
    next = later;
  }
}

// A short row that a block has for itself: the first half warp's.
template <class Scan>
__device__ __forceinline__ void scan_short_alone(const typename Scan::Args& a, int64_t b, const Range& row,
                                                 unsigned char* memory) {
  if (threadIdx.x >= kWarp) return;
  ShortTiles<Scan> tiles(a, memory);
  const Half mine = threadIdx.x < kHalfWarp ? half_of(row) : Half{0, 0};
  ask_half(tiles, mine);
  tiles.ask_nothing();
  scan_half(tiles, a, b, mine);
}

// A block a row.
//
// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// notes     gae in float32 with a mask: 17 bytes a token; read once
template <class Scan>
__global__ void __launch_bounds__(kMostWarps* kWarp, 4)
    scan_rows_tiled_kernel(typename Scan::Args a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  using F = typename NumberOf<Scan>::Type;
  const int64_t b = blockIdx.x;
  const Range row = checked_range(a, b, threadIdx.x == 0, faults);
  if (is_short(row))
    scan_short_alone<Scan>(a, b, row, memory);
  else
    scan_row<true, Scan>(a, b, row, memory + threadIdx.x / kWarp * warp_bytes<F>(a));
}

// A block a strip; rows that are shorter leave strips empty. The map of a row's first strip is not needed.
//
// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     n (s inputs + mask), then n (s (inputs + outputs) + mask)
// limit     memory
// notes     two of three launches for few long rows; the second reads what L2 still holds
template <class Scan, bool kWrite>
__global__ void __launch_bounds__(kMostWarps* kWarp, 4)
    scan_strips_kernel(typename Scan::Args a, int64_t strips, CarryMap* maps, const Carry* carries, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  using F = typename NumberOf<Scan>::Type;
  // The maps' strips from the last one down, then up again from those that were read last.
  const int64_t item = kWrite ? int64_t{blockIdx.x} : int64_t{gridDim.x} - 1 - blockIdx.x;
  const int64_t b = item / strips, s = item - b * strips;
  const Range row = checked_range(a, b, threadIdx.x == 0, faults);
  const int64_t begin = row.begin + s * kStripTokens;
  if (begin >= row.end || (!kWrite && s == 0)) return;
  if (kWrite && is_short(row)) {
    scan_short_alone<Scan>(a, b, row, memory);
    return;
  }
  const Strip strip = {b, begin, begin + kStripTokens < row.end ? begin + kStripTokens : row.end};
  LongTiles<Scan> tiles(a, memory + threadIdx.x / kWarp * warp_bytes<F>(a));
  ask_strip<true>(tiles, strip);
  const CarryMap map = scan_strip<true, kWrite>(tiles, strip, kWrite ? carries[item] : Carry{0, 0}, !kWrite, false);
  if (!kWrite && threadIdx.x == 0) maps[item] = map;
}

// A block a row. The warps make of each section's maps, one a lane, what takes the carry into the section to each strip; the first
// one carries through the sections; all threads apply.
//
// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     136 n / 7680
// limit     latency
// notes     32 dependent compositions of maps, and a dependent multiply-add a section of 245 760 tokens
template <class Scan>
__global__ void __launch_bounds__(kCarryThreads)
    strip_carries_kernel(typename Scan::Args a, int64_t strips, CarryMap* maps, CarryMap* section_maps,
                         Carry* section_carries, Carry* carries) {
  const int64_t b = blockIdx.x;
  const int lane = threadIdx.x % kWarp, warps = blockDim.x / kWarp;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  const int64_t used = strips_of(row.end - row.begin), sections = sections_of(used);
  maps += b * strips;
  carries += b * strips;
  section_maps += b * sections_of(strips);
  section_carries += b * sections_of(strips);
  for (int64_t q = threadIdx.x / kWarp; q < sections; q += warps) {
    const int64_t s = q * kStripsOfSection + kWarp - 1 - lane;
    const CarryMap mine = s > 0 && s < used ? maps[s] : keeping();
    CarryMap behind = keeping(), before = keeping();
    SRP_KEEP_ROLLED
    for (int k = 0; k < kWarp; ++k) {
      if (k == lane) before = behind;
      behind = then(behind, shuffled<kWarp>(mine, k));
    }
    if (s < used) maps[s] = before;
    if (lane == 0) section_maps[q] = behind;
  }
  __syncthreads();
  if (threadIdx.x < kWarp) {
    Carry carry = carry_of(Scan(a, b));
    for (int64_t last = sections - 1; last >= 0; last -= kWarp) {
      const int64_t own = last - lane;
      const CarryMap mine = own >= 0 ? section_maps[own] : keeping();
      Carry into = carry;
      SRP_KEEP_ROLLED
      for (int k = 0; k < kWarp; ++k) {
        if (k == lane) into = carry;
        carry = apply(shuffled<kWarp>(mine, k), carry);
      }
      if (own >= 0) section_carries[own] = into;
    }
  }
  __syncthreads();
  for (int64_t s = threadIdx.x; s < used; s += blockDim.x)
    carries[s] = apply(maps[s], section_carries[s / kStripsOfSection]);
}

// Launchers

// The threads of a block, and the shared memory of each warp.
struct Shape {
  int warps, bytes;
  dim3 block() const { return dim3(static_cast<unsigned>(warps * kWarp)); }
  size_t shared() const { return static_cast<size_t>(warps * bytes); }
};

// As many warps as their tiles leave room for.
template <class Scan>
Shape shape_of(const typename Scan::Args& a) {
  const int bytes = warp_bytes<typename NumberOf<Scan>::Type>(a);
  int warps = kMostWarps;
  while (warps * bytes > kSharedBytes) warps /= 2;
  return {warps, bytes};
}

template <class Scan>
srp_status launch_rows(srp_queue* queue, const typename Scan::Args& a, const char* op) {
  const Shape shape = shape_of<Scan>(a);
  if (a.n / a.B > kPairRow) {
    SRP_TRY(check_grid(op, a.B));
    SRP_LAUNCH((scan_rows_tiled_kernel<Scan>), dim3(static_cast<unsigned>(a.B)), shape.block(), shape.shared(),
               queue->stream, a, queue->faults);
  } else {
    const int64_t blocks = (a.B + 2 * shape.warps - 1) / (2 * shape.warps);
    const int64_t resident = int64_t{queue->multiprocessors} * kResidentWarps / shape.warps;
    SRP_LAUNCH((scan_pairs_kernel<Scan>), dim3(static_cast<unsigned>(blocks < resident ? blocks : resident)),
               shape.block(), shape.shared(), queue->stream, a, queue->faults);
  }
  return launched(op);
}

template <class Scan>
srp_status launch_strips(srp_queue* queue, const typename Scan::Args& a, const char* op, int64_t strips) {
  const Shape shape = shape_of<Scan>(a);
  const int64_t items = a.B * strips, sections = a.B * sections_of(strips);
  SRP_TRY(check_grid(op, items));
  const Scratch maps(queue, static_cast<size_t>(items + sections) * sizeof(CarryMap));
  SRP_TRY(maps.status());
  const Scratch carries(queue, static_cast<size_t>(items + sections) * sizeof(Carry));
  SRP_TRY(carries.status());
  const dim3 grid(static_cast<unsigned>(items));
  SRP_LAUNCH((scan_strips_kernel<Scan, false>), grid, shape.block(), shape.shared(), queue->stream, a, strips,
             maps.as<CarryMap>(), nullptr, queue->faults);
  SRP_LAUNCH((strip_carries_kernel<Scan>), dim3(static_cast<unsigned>(a.B)), dim3(kCarryThreads), 0, queue->stream, a,
             strips, maps.as<CarryMap>(), maps.as<CarryMap>() + items, carries.as<Carry>() + items,
             carries.as<Carry>());
  SRP_LAUNCH((scan_strips_kernel<Scan, true>), grid, shape.block(), shape.shared(), queue->stream, a, strips, nullptr,
             carries.as<Carry>(), queue->faults);
  return launched(op);
}

template <class Scan>
srp_status launch(srp_queue* queue, const typename Scan::Args& a, const char* op) {
  const int64_t strips = strips_of(a.offsets ? a.n : a.T);  // of the longest row that there may be
  if (a.B < kManyRows * queue->multiprocessors && strips > 1) return launch_strips<Scan>(queue, a, op, strips);
  return launch_rows<Scan>(queue, a, op);
}

template <template <class> class Scan, class Args>
srp_status scan(srp_queue* queue, const Args* a, const char* op) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return a->dtype == SRP_F64 ? launch<Scan<double>>(queue, *a, op) : launch<Scan<float>>(queue, *a, op);
}

}  // namespace

srp_status scan_gae(srp_queue* queue, const srp_scan_gae_args* a) { return scan<GaeScan>(queue, a, "scan_gae"); }
srp_status scan_returns(srp_queue* queue, const srp_scan_returns_args* a) {
  return scan<ReturnsScan>(queue, a, "scan_returns");
}
srp_status scan_vtrace(srp_queue* queue, const srp_scan_vtrace_args* a) {
  return scan<VtraceScan>(queue, a, "scan_vtrace");
}

}  // namespace srp::cuda
