// GAE, returns and V-trace (contract: surprisal/scan.h), each row cut into tiles and strips (scan_tiles.cuh).
//
//   many rows     one launch. Rows of 960 tokens or less on average: a warp a row, or else most warps of a block would wait; longer
//                 ones: a block a row
//   few long rows fewer than two for each multiprocessor, that may be longer than a strip: three launches.
//                 The maps of all strips, a warp a row to carry through them, the strips again with what comes into them
//
// Either way the same bits. Minimum bytes: of each token every input and output once, and 1 for the mask (gae: 17 in float32);
// the three launches read the inputs twice (26), the second time from L2 as far as it reaches.
#include "backend.cuh"
#include "scan_tiles.cuh"

namespace srp::cuda {
namespace {

constexpr int64_t kWarpRow = 2 * kTileOf<kRun>;
constexpr int64_t kManyRows = 2;  // for each multiprocessor
constexpr int kSharedBytes = 40 * 1024;  // of a block: five of four warps fit a multiprocessor
constexpr int kCarryThreads = 128;

template <class Scan>
struct NumberOf;
template <template <class> class Scan, class F>
struct NumberOf<Scan<F>> {
  using Type = F;
};
template <class Scan, int kOwnRun>
using RowTile = Tile<Scan, typename NumberOf<Scan>::Type, kOwnRun>;

template <class Scan>
constexpr int kTileBytes = tile_bytes<typename NumberOf<Scan>::Type, typename Scan::Args>();

// As many warps of a block as their tiles leave room for.
template <class Scan>
constexpr int warps_of_block() {
  int warps = kMostWarps;
  while (warps * kTileBytes<Scan> > kSharedBytes) warps /= 2;
  return warps;
}

template <class Args>
__device__ __forceinline__ Range checked_range(const Args& a, int64_t b, bool reports, uint32_t* faults) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid && reports) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

template <int kOwnRun, bool kTogether, class Scan>
__device__ __forceinline__ void scan_row(const typename Scan::Args& a, int64_t b, const Range& row,
                                         unsigned char* memory) {
  RowTile<Scan, kOwnRun> tile(a, b, memory);
  Carry carry = carry_of(Scan(a, b));
  for (int64_t s = strips_of(row.end - row.begin) - 1; s >= 0; --s) {
    const int64_t begin = row.begin + s * kStripTokens;
    const int64_t end = begin + kStripTokens < row.end ? begin + kStripTokens : row.end;
    carry = apply(scan_strip<kTogether, true>(tile, begin, end, carry, s > 0), carry);
  }
}

// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// notes     gae in float32 with a mask: 17 bytes a token; read once
// turn      15 of scan_rows_tiled_kernel<GaeScan<float>, true>: 63 loaded, 42 float64, inner 15; 17 bytes; at most 60;
//           must 0.65
template <class Scan, bool kTogether>
__global__ void __launch_bounds__(kMostWarps* kWarp, 4)
    scan_rows_tiled_kernel(typename Scan::Args a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const int64_t b = kTogether ? int64_t{blockIdx.x} : int64_t{blockIdx.x} * warps + warp;
  if (b >= a.B) return;  // the whole warp; together, no block has such a row
  const Range row = checked_range(a, b, threadIdx.x % (kTogether ? blockDim.x : kWarp) == 0, faults);
  unsigned char* const own = memory + warp * kTileBytes<Scan>;
  if (is_short(row))
    scan_row<kShortRun, kTogether, Scan>(a, b, row, own);
  else
    scan_row<kRun, kTogether, Scan>(a, b, row, own);
}

template <int kOwnRun, bool kWrite, class Scan>
__device__ __forceinline__ CarryMap strip_map(const typename Scan::Args& a, int64_t b, int64_t begin, int64_t end,
                                              const Carry& carry, unsigned char* memory) {
  RowTile<Scan, kOwnRun> tile(a, b, memory);
  return scan_strip<true, kWrite>(tile, begin, end, carry, !kWrite);
}

// A block a strip; rows that are shorter leave strips empty.
//
// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     n (s inputs + mask), then n (s (inputs + outputs) + mask)
// limit     memory
// notes     two of three launches for few long rows; the second reads what L2 still holds
template <class Scan, bool kWrite>
__global__ void __launch_bounds__(kMostWarps* kWarp, 4)
    scan_strips_kernel(typename Scan::Args a, int64_t strips, CarryMap* maps, const Carry* carries, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  // The last strips first: the stream through memory goes down, as within them.
  const int64_t item = int64_t{gridDim.x} - 1 - blockIdx.x, b = item / strips, s = item - b * strips;
  const Range row = checked_range(a, b, threadIdx.x == 0, faults);
  const int64_t begin = row.begin + s * kStripTokens;
  if (begin >= row.end) return;
  const int64_t end = begin + kStripTokens < row.end ? begin + kStripTokens : row.end;
  unsigned char* const own = memory + threadIdx.x / kWarp * kTileBytes<Scan>;
  const Carry carry = kWrite ? carries[item] : Carry{0, 0};
  const CarryMap map = is_short(row) ? strip_map<kShortRun, kWrite, Scan>(a, b, begin, end, carry, own)
                                     : strip_map<kRun, kWrite, Scan>(a, b, begin, end, carry, own);
  if (!kWrite && threadIdx.x == 0) maps[item] = map;
}

// A warp a row: 32 strips' maps are read at a time, and every lane goes through them all.
//
// ledger    scan_gae, scan_returns, scan_vtrace
// bytes     56 n / 7680
// limit     latency
// notes     one dependent multiply-add a strip of 7680 tokens, about 10 ns
template <class Scan>
__global__ void strip_carries_kernel(typename Scan::Args a, int64_t strips, const CarryMap* maps, Carry* carries) {
  const int64_t b = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) / kWarp;
  if (b >= a.B) return;  // the whole warp
  const int lane = threadIdx.x % kWarp;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  Carry carry = carry_of(Scan(a, b));
  for (int64_t last = strips_of(row.end - row.begin) - 1; last >= 0; last -= kWarp) {
    const int64_t own = last - lane;
    const CarryMap mine = own >= 0 ? maps[b * strips + own] : keeping();
    Carry into = carry;
    SRP_UNROLL
    for (int k = 0; k < kWarp; ++k) {
      if (k == lane) into = carry;
      const CarryMap map = {__shfl_sync(kFullWarp, mine.value, k), __shfl_sync(kFullWarp, mine.constant, k),
                            __shfl_sync(kFullWarp, mine.of_value, k), __shfl_sync(kFullWarp, mine.of_sum, k),
                            __shfl_sync(kFullWarp, mine.kind, k)};
      carry = apply(map, carry);
    }
    if (own >= 0) carries[b * strips + own] = into;
  }
}

// Launchers

template <class Scan>
srp_status launch_rows(srp_queue* queue, const typename Scan::Args& a, const char* op) {
  constexpr int kWarps = warps_of_block<Scan>();
  const dim3 block(kWarps * kWarp);
  if (a.n / a.B > kWarpRow) {
    SRP_TRY(check_grid(op, a.B));
    SRP_LAUNCH((scan_rows_tiled_kernel<Scan, true>), dim3(static_cast<unsigned>(a.B)), block, kWarps * kTileBytes<Scan>,
               queue->stream, a, queue->faults);
  } else {
    SRP_TRY(check_grid(op, a.B / kWarps + 1));
    SRP_LAUNCH((scan_rows_tiled_kernel<Scan, false>), dim3(blocks_for(a.B, kWarps)), block, kWarps * kTileBytes<Scan>,
               queue->stream, a, queue->faults);
  }
  return launched(op);
}

template <class Scan>
srp_status launch_strips(srp_queue* queue, const typename Scan::Args& a, const char* op, int64_t strips) {
  constexpr int kWarps = warps_of_block<Scan>();
  const int64_t items = a.B * strips;
  SRP_TRY(check_grid(op, items));
  const Scratch maps(queue, static_cast<size_t>(items) * sizeof(CarryMap));
  SRP_TRY(maps.status());
  const Scratch carries(queue, static_cast<size_t>(items) * sizeof(Carry));
  SRP_TRY(carries.status());
  const dim3 grid(static_cast<unsigned>(items)), block(kWarps * kWarp);
  SRP_LAUNCH((scan_strips_kernel<Scan, false>), grid, block, kWarps * kTileBytes<Scan>, queue->stream, a, strips,
             maps.as<CarryMap>(), nullptr, queue->faults);
  SRP_LAUNCH((strip_carries_kernel<Scan>), dim3(blocks_for(a.B * kWarp, kCarryThreads)), dim3(kCarryThreads), 0,
             queue->stream, a, strips, maps.as<CarryMap>(), carries.as<Carry>());
  SRP_LAUNCH((scan_strips_kernel<Scan, true>), grid, block, kWarps * kTileBytes<Scan>, queue->stream, a, strips,
             nullptr, carries.as<Carry>(), queue->faults);
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
