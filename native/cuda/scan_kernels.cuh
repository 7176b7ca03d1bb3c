// The kernels of all scans (contract: surprisal/scan.h), each row cut into tiles and strips (scan_tiles.cuh).
//
//   many rows     one launch. Rows of 960 tokens or less on average: as many warps as the device holds go over all rows, three at a time,
//                 a third of a warp each where they are short; longer rows: a block a row
//   few long rows fewer than two for each multiprocessor, that may be longer than a strip: one launch, a block a strip, whose carry comes
//                 from the strips ahead of it (scan_strips.cuh)
//
// Either way the same bits. Minimum bytes: of each token every input and output once, and 1 for the mask (gae: 17 in float32). Scans that
// need the total of a row (shares; tails over a mask) read it twice where it is more than a third of a warp's, the second time from L2 as
// far as it reaches. Maps are composed in float64 on every GPU: where that is slow, it takes a sixth longer than the bytes at most.
#pragma once
#include "backend.cuh"
#include "launch.cuh"
#include "scan_strips.cuh"

namespace srp::cuda {
namespace {

constexpr int64_t kWarpRow = 2 * kTileTokens;
constexpr int64_t kManyRows = 2;  // for each multiprocessor
constexpr int kSharedBytes = 44 * 1024;  // of a block
constexpr int kStaticBytes = 2048;  // of a block that holds a strip, beside its tiles: at most

// What takes the registers of three blocks where others are four.
template <class Scan>
constexpr bool kIsWide = sizeof(typename NumberOf<Scan>::Type) == 8;
template <class Scan>
constexpr bool kCarriesMuch = sizeof(CarryOf<Scan>) > sizeof(Carry);

template <class Args>
__device__ __forceinline__ Range checked_range(const Args& a, int64_t b, bool reports, uint32_t* faults) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid && reports) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

// What a third of a warp has of a row: all its tokens, none of an empty one, and kLong of one that is not short.
struct Third {
  int64_t begin;
  int tokens;
};
constexpr int kLong = -1;

// A warp scans three rows, those that are as far behind them as the warps of the grid go at once, and so on. The next three are on their
// way meanwhile, and the offsets of those behind them.
//
// ledger    scan_gae, scan_returns, scan_vtrace, scan_tail, scan_prefix, scan_shares
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// notes     gae in float32 with a mask: 17 bytes a token; read once. Three rows of 128 tokens take about 1,120 instructions of a warp
// variants  six scans by one walk
// turn      GAE: 12 of scan_thirds_kernel<GaeScan<float>>: 1 votes, 45 shuffles, 3 copies, 32 stored, 40 float64 + 2 x 10 read, 15
//           float64, no shuffles, no written + 2 x 10 read, 15 float64, 10 written, no shuffles + 6 x 1 copies, no float64 + 6 x 1
//           read, 16 stored, no float64; 17 bytes; at most 93.5, 92.5 on sm_89; ahead 216; threads 128; shared 34944; must 0.65;
//           before 166.7, 115.4 on sm_89
// measured  0.54 of 4.3 TB/s for 65,536 rows of 128 tokens, 61 us, by the code before
template <class Scan>
__global__ void __launch_bounds__(kMostWarps* kWarp, kIsWide<Scan> || kCarriesMuch<Scan> ? 3 : 4)
    scan_thirds_kernel(typename Scan::Args a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  using F = typename NumberOf<Scan>::Type;
  const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const int lane = threadIdx.x % kWarp, third = lane / kThird;
  const int stride = static_cast<int>(gridDim.x) * warps * kThirds;
  unsigned char* const own = memory + warp * warp_bytes<F>(a);
  const auto third_at = [&](int64_t b) -> Third {
    if (third == kThirds || b >= a.B) return {0, 0};
    const Range row = checked_range(a, b, lane % kThird == 0, faults);
    return {row.begin, is_short(row) ? static_cast<int>(row.end - row.begin) : kLong};
  };
  ShortTiles<Scan> tiles(a, own);
  int64_t first = (int64_t{blockIdx.x} * warps + warp) * kThirds;
  Third row = third_at(first + third), next = third_at(first + third + stride);
  tiles.ask(row.begin, row.tokens);
  SRP_KEEP_ROLLED
  for (; first < a.B; first += stride) {
    const unsigned long_rows = __ballot_sync(kFullWarp, row.tokens == kLong);
    Third later = {0, 0};
    if (long_rows) {
      tiles.ask_nothing();
    } else {
      tiles.ask(next.begin, next.tokens);
      later = third_at(first + third + 2 * stride);
    }
    const int64_t there = row.tokens > 0 ? first + third : first;  // also where the third has none
    const CarryOf<Scan> carry = carry_of(Scan(a, there));
    MapOf<Scan> before;
    const MapOf<Scan> whole = tiles.read(there, row.begin, row.tokens, before);
    tiles.write(there, carry, before, apply(whole, carry));
    if (long_rows) {
      // A long row takes the memory of all thirds, and their registers.
      SRP_KEEP_ROLLED
      for (int t = 0; t < kThirds; ++t)
        if (long_rows >> (t * kThird) & 1)
          scan_row<false, Scan>(a, first + t, row_range(a.offsets, a.T, a.n, first + t), own);
      next = third_at(first + third + stride);
      later = third_at(first + third + 2 * stride);
      tiles.ask(next.begin, next.tokens);
    }
    row = next;
    next = later;
  }
}

// A block a row.
//
// ledger    scan_gae, scan_returns, scan_vtrace, scan_tail, scan_prefix, scan_shares
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// notes     gae in float32 with a mask: 17 bytes a token; read once
// variants  six scans by one walk. scan_thirds_kernel: rows of a third of a warp; scan_strips_kernel: few long rows
// turn      GAE: 15 of scan_rows_tiled_kernel<GaeScan<float>>: 60 shuffles, 2 barriers, 3 copies, 32 stored, 59 float64 + 3 x 2
//           float64, 9 read, no shuffles, no wide, no written + 2 x 10 read, 15 float64, no shuffles, no written + 2 x 10 read, 15
//           float64, 5 written, no shuffles + 5.50 x 1 copies, no float64 + 5.50 x 1 read, 16 stored, no float64; 17 bytes; at most
//           88.5, 88 on sm_89; ahead 272; threads 128; shared 34944; must 0.65; before 166.7, 115.4 on sm_89
// measured  0.57 of 4.3 TB/s for 512 rows of 8,192 tokens, in 29 us, 14 of them instructions alone, by the code before
// turn      returns: 15 of scan_rows_tiled_kernel<ReturnsScan<float>>: 60 shuffles, 2 barriers, 2 copies, 16 stored, 30 float64 + 3
//           x 2 float64, 9 read, no shuffles, no wide, no written + 2 x 5 read, 8 float64, no shuffles, no written + 2 x 5 read, 5
//           float64, 5 written, no shuffles + 2.75 x 1 copies, no float64 + 2.75 x 1 read, 16 stored, no float64; 9 bytes; at most
//           60, 58 on sm_89; ahead 152; threads 128; shared 19456; before 66.1, 61.2 on sm_89
// turn      V-trace: 15 of scan_rows_tiled_kernel<VtraceScan<float>>: 60 shuffles, 2 barriers, 4 copies, 32 stored, 59 float64 + 1
//           x 2 float64, 9 read, no shuffles, no wide, no written + 2 x 15 read, 15 float64, no shuffles, no written + 2 x 15 read,
//           15 float64, 5 written, no shuffles + 8.25 x 1 copies, no float64 + 5.50 x 1 read, 16 stored, no float64; 21 bytes; at
//           most 92.5, 89.5 on sm_89; ahead 392; threads 64; shared 25216; before 99.8, 95.1 on sm_89
template <class Scan>
__global__ void __launch_bounds__(kMostWarps* kWarp, kCarriesMuch<Scan> ? 3 : 4)
    scan_rows_tiled_kernel(typename Scan::Args a, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  using F = typename NumberOf<Scan>::Type;
  const int64_t b = blockIdx.x;
  const Range row = checked_range(a, b, threadIdx.x == 0, faults);
  scan_row<true, Scan>(a, b, row, memory + threadIdx.x / kWarp * warp_bytes<F>(a));
}

// A block a strip; rows that are shorter leave strips empty. Where shared memory does not hold a strip, it is read again when its carry is
// there. Scans that need totals take all strips twice: of the first round nothing is written, the second goes backwards, for L2 still has
// what was read last.
//
// ledger    scan_gae, scan_returns, scan_vtrace, scan_tail, scan_prefix, scan_shares
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// threads   128
// shared    69888
// notes     few long rows; a strip is read once where shared memory holds it, in float32 from sm_86 on, in float64 on sm_80, sm_90 and sm_100,
//           and once more where the total of its row comes first. A row is a step a section of 245 760 tokens, which wait for each
//           other, about 1 us each
// variants  six scans by one walk; strips that shared memory holds are read once, others twice
// omitted   its loops over tokens are those of scan_rows_tiled_kernel, four tiles of a warp one after the other; beside them it
//           waits for the strips ahead
template <class Scan, bool kHeld>
__global__ void __launch_bounds__(kMostWarps* kWarp, kHeld || kCarriesMuch<Scan> ? 3 : 4)
    scan_strips_kernel(typename Scan::Args a, StripChain<Scan> chain, uint32_t* faults) {
  SRP_DYN_SHARED(unsigned char, memory);
  using F = typename NumberOf<Scan>::Type;
  using Carry = CarryOf<Scan>;
  const int64_t number = LookBack(chain.started).enter(), items = a.B * chain.strips;
  const bool tells = !needs_total(a) || number < items, writes = !needs_total(a) || number >= items;
  const int64_t item = tells ? number : 2 * items - 1 - number;
  const int64_t b = item % a.B, s = Scan::kForward ? item / a.B : chain.strips - 1 - item / a.B;
  const Range row = checked_range(a, b, writes && threadIdx.x == 0, faults);
  const Strip strip = {b, row, static_cast<int>(s)};
  const int64_t used = strips_of(row);
  if (s >= used) return;
  const Carry first = carry_of(Scan(a, b));
  if constexpr (kHeld) {
    constexpr int kTilesOfWarp = kTilesOfStrip / kMostWarps;
    HeldStrip<Scan> held(a, memory + threadIdx.x / kWarp * kTilesOfWarp * place_bytes<F>(a, kTileTokens), strip);
    const MapOf<Scan> map = held.read();
    const Carry carry = chain.into(b, s, used, map, first, tells, writes);
    if (writes) held.write(carry, needs_total(a) ? chain.total(b, used) : first);
  } else {
    LongTiles<Scan> tiles(a, memory + threadIdx.x / kWarp * warp_bytes<F>(a));
    ask_strip<true>(tiles, strip);
    constexpr int kNone = -1;
    MapOf<Scan> map = MapOf<Scan>::keeping();
    if (tells) map = scan_strip<true, false>(tiles, strip, first, first, true, writes ? strip.number : kNone);
    const Carry carry = chain.into(b, s, used, map, first, tells, writes);
    if (writes)
      scan_strip<true, true>(tiles, strip, carry, needs_total(a) ? chain.total(b, used) : first, false, kNone);
  }
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
  if (a.n / a.B > kWarpRow) {
    SRP_TRY(check_grid(op, a.B));
    SRP_LAUNCH((scan_rows_tiled_kernel<Scan>), dim3(static_cast<unsigned>(a.B)), shape.block(), shape.shared(),
               queue->stream, a, queue->faults);
  } else {
    const int64_t rows = kThirds * shape.warps, blocks = (a.B + rows - 1) / rows;
    int64_t at_work = 0;
    SRP_TRY(clusters_at_work(queue, &scan_thirds_kernel<Scan>, shape.warps * kWarp, 1, shape.shared(), &at_work));
    const int64_t most = at_work > 0 ? at_work : 1;
    SRP_LAUNCH((scan_thirds_kernel<Scan>), dim3(static_cast<unsigned>(blocks < most ? blocks : most)), shape.block(),
               shape.shared(), queue->stream, a, queue->faults);
  }
  return launched(op);
}

template <class Scan>
srp_status launch_strips(srp_queue* queue, const typename Scan::Args& a, const char* op, int64_t strips) {
  using Chain = StripChain<Scan>;
  const int64_t items = a.B * strips, sections = a.B * Chain::carries_of(strips),
                blocks = needs_total(a) ? 2 * items : items;
  SRP_TRY(check_grid(op, blocks));
  const Scratch maps(queue, static_cast<size_t>(items) * sizeof(MapOf<Scan>));
  SRP_TRY(maps.status());
  const Scratch carries(queue, static_cast<size_t>(sections) * sizeof(CarryOf<Scan>));
  SRP_TRY(carries.status());
  const size_t bytes = sizeof(LookBack::Word) + static_cast<size_t>(items + sections) * sizeof(uint32_t);
  const Scratch flags(queue, bytes);
  SRP_TRY(flags.status());
  SRP_TRY(check_cuda(cudaMemsetAsync(flags.as<void>(), 0, bytes, queue->stream), op));
  LookBack::Word* const started = flags.as<LookBack::Word>();
  uint32_t* const of_maps = reinterpret_cast<uint32_t*>(started + 1);
  const Chain chain = {
      maps.template as<MapOf<Scan>>(), carries.template as<CarryOf<Scan>>(), of_maps, of_maps + items, started, strips};

  const size_t held = static_cast<size_t>(kTilesOfStrip * place_bytes<typename NumberOf<Scan>::Type>(a, kTileTokens));
  int optin = 0;
  SRP_TRY(check_cuda(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, queue->device),
                     "cudaDeviceGetAttribute"));
  const size_t most = static_cast<size_t>(optin - kStaticBytes);
  const bool holds = held <= most;
  const auto kernel = holds ? scan_strips_kernel<Scan, true> : scan_strips_kernel<Scan, false>;
  const Shape shape = holds ? Shape{kMostWarps, static_cast<int>(held) / kMostWarps} : shape_of<Scan>(a);
  SRP_TRY(allow_shared(kernel, most));
  SRP_LAUNCH(kernel, dim3(static_cast<unsigned>(blocks)), shape.block(), shape.shared(), queue->stream, a, chain,
             queue->faults);
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

}  // namespace srp::cuda
