// Tail sums, prefix sums and shares (contract: surprisal/scan.h), each row cut into runs, tiles and strips (scan_sums.cuh). GAE, returns
// and V-trace: scan_tiled.cu.
//
//   many rows     one launch. Rows of 512 tokens or less on average: a warp a row; longer ones: a block a row. Scans that need
//                 the sum of the whole row first (shares; tails over a mask) read it twice, the second time from the cache
//   few long rows fewer than two for each multiprocessor, that may be longer than a strip: three launches: the
//                 sums of all strips, a warp a row to carry through them, the strips again with what comes into them
//
// Either way the same bits. Minimum bytes: of each token every input and output once, and 1 for the mask (9 for a float32 sum); the
// three launches read the inputs twice (14), the second time from L2 as far as it reaches.
#include "backend.cuh"
#include "scan_sums.cuh"

namespace srp::cuda {
namespace {

constexpr int kThreads = kScanWarps * kWarp;
constexpr int64_t kManyRows = 2;  // for each multiprocessor

// Strip number k of the scan's direction.
template <class Scan>
__device__ __forceinline__ Range strip_of(const Range& row, int64_t strips, int64_t k) {
  const int64_t begin = row.begin + (Scan::kForward ? k : strips - 1 - k) * kStripTokens;
  return {begin, begin + kStripTokens < row.end ? begin + kStripTokens : row.end, true};
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kSumBlocks = 1;  // with two, sm_120 spills a register of the sums to the end
#else
constexpr int kSumBlocks = 2;
#endif

// ledger    scan_tail, scan_prefix, scan_shares
// bytes     n (s (inputs + outputs) + mask)
// limit     memory
// notes     one launch; what needs the sum of a row first goes over it twice, the second time in cache
// variants  three ops by one walk; of a row's length: a warp alone has no barriers, and of rows beyond 512 tokens a block's warps
//           share one
// values    inputs 1
// turn      8 of scan_sums_kernel<PrefixRun<float>, true>: 2 loads16, 32 stored; 9 bytes; at most 42.5, 43 on sm_89
template <class Scan, bool kTogether>
__global__ void __launch_bounds__(kThreads, kSumBlocks) scan_sums_kernel(typename Scan::Args a, uint32_t* faults) {
  using Part = typename Scan::Part;
  const int64_t b = kTogether ? int64_t{blockIdx.x} : int64_t{blockIdx.x} * kScanWarps + threadIdx.x / kWarp;
  if (b >= a.B) return;  // true for a whole warp; with a block for each row, never
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid && threadIdx.x % (kTogether ? kThreads : kWarp) == 0) raise(faults, SRP_FAULT_OFFSETS);
  const int64_t strips = sum_strips_of(row.end - row.begin);
  Part total, before;
  if (Scan::needs_total(a))
    for (int64_t k = 0; k < strips; ++k) {
      const Range strip = strip_of<Scan>(row, strips, k);
      total = then(total, scan_strip<Scan, kTogether, false>(a, row, strip.begin, strip.end, Part{}, Part{}));
    }
  for (int64_t k = 0; k < strips; ++k) {
    const Range strip = strip_of<Scan>(row, strips, k);
    before = then(before, scan_strip<Scan, kTogether, true>(a, row, strip.begin, strip.end, before, total));
  }
}

// A block a strip; rows that are shorter leave strips empty.
//
// ledger    scan_tail, scan_prefix, scan_shares
// bytes     n (s inputs + mask), then n (s (inputs + outputs) + mask)
// limit     memory
// notes     two of three launches for few long rows; the second reads what L2 still holds
// variants  three ops by one walk; once for the sums of strips, once for their values
// values    inputs 1
// turn      8 of scan_sum_strips_kernel<PrefixRun<float>, true>: 2 loads16, 32 stored; 9 bytes; at most 41.5, 42 on sm_89
template <class Scan, bool kWrite>
__global__ void __launch_bounds__(kThreads, 2)
    scan_sum_strips_kernel(typename Scan::Args a, int64_t most, typename Scan::Part* parts,
                           const typename Scan::Part* totals, uint32_t* faults) {
  using Part = typename Scan::Part;
  // Backwards: L2 still holds what the first launch read last.
  const int64_t item = kWrite ? int64_t{gridDim.x} - 1 - blockIdx.x : blockIdx.x;
  const int64_t b = item / most, k = item - b * most;
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!kWrite && !row.valid && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
  const int64_t strips = sum_strips_of(row.end - row.begin);
  if (k >= strips) return;
  const Range strip = strip_of<Scan>(row, strips, k);
  const Part before = kWrite ? parts[item] : Part{}, total = kWrite ? totals[b] : Part{};
  const Part mine = scan_strip<Scan, true, kWrite>(a, row, strip.begin, strip.end, before, total);
  if (!kWrite && threadIdx.x == 0) parts[item] = mine;
}

// From the strips' parts computes what comes before each of them, and the part of the whole row. A warp takes a row: it reads 32
// parts at a time, and every lane goes through them all.
//
// ledger    scan_tail, scan_prefix, scan_shares
// bytes     64 n / 8192
// limit     latency
// notes     one dependent addition a strip of 8192 tokens, a warp a row
// variants  three ops by one walk
template <class Scan>
__global__ void __launch_bounds__(kThreads)
    strip_sums_kernel(typename Scan::Args a, int64_t most, typename Scan::Part* parts, typename Scan::Part* totals) {
  using Part = typename Scan::Part;
  const int64_t b = int64_t{blockIdx.x} * kScanWarps + threadIdx.x / kWarp;
  if (b >= a.B) return;  // the whole warp
  const int lane = lane_of_warp();
  const Range row = row_range(a.offsets, a.T, a.n, b);
  const int64_t strips = sum_strips_of(row.end - row.begin);
  Part before;
  for (int64_t first = 0; first < strips; first += kWarp) {
    Part* const mine = parts + b * most + first + lane;
    Part own, into;
    if (first + lane < strips) own = *mine;
    for (int k = 0; k < kWarp; ++k) {
      if (k == lane) into = before;
      before = then(before, moved(own, [&](auto x) { return __shfl_sync(kFullWarp, x, k); }));
    }
    if (first + lane < strips) *mine = into;
  }
  if (lane == 0) totals[b] = before;
}

// Launchers

template <class Scan>
srp_status launch_rows(srp_queue* queue, const typename Scan::Args& a, const char* op) {
  SRP_TRY(check_grid(op, a.B));
  if (a.n / a.B > kShortRow)
    SRP_LAUNCH((scan_sums_kernel<Scan, true>), dim3(static_cast<unsigned>(a.B)), dim3(kThreads), 0, queue->stream, a,
               queue->faults);
  else
    SRP_LAUNCH((scan_sums_kernel<Scan, false>), dim3(blocks_for(a.B, kScanWarps)), dim3(kThreads), 0, queue->stream, a,
               queue->faults);
  return launched(op);
}

template <class Scan>
srp_status launch_strips(srp_queue* queue, const typename Scan::Args& a, const char* op, int64_t most) {
  using Part = typename Scan::Part;
  const int64_t items = a.B * most;
  SRP_TRY(check_grid(op, items));
  const Scratch parts(queue, static_cast<size_t>(items) * sizeof(Part)),
      totals(queue, static_cast<size_t>(a.B) * sizeof(Part));
  SRP_TRY(parts.status());
  SRP_TRY(totals.status());
  const dim3 grid(static_cast<unsigned>(items)), block(kThreads);
  SRP_LAUNCH((scan_sum_strips_kernel<Scan, false>), grid, block, 0, queue->stream, a, most, parts.template as<Part>(),
             nullptr, queue->faults);
  SRP_LAUNCH((strip_sums_kernel<Scan>), dim3(blocks_for(a.B, kScanWarps)), block, 0, queue->stream, a, most,
             parts.template as<Part>(), totals.template as<Part>());
  SRP_LAUNCH((scan_sum_strips_kernel<Scan, true>), grid, block, 0, queue->stream, a, most, parts.template as<Part>(),
             totals.template as<Part>(), queue->faults);
  return launched(op);
}

template <template <class> class Scan, class Args>
srp_status scan(srp_queue* queue, const Args* a, const char* op) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  const int64_t most = sum_strips_of(a->offsets ? a->n : a->T);  // of the longest row that there may be
  const bool strips = a->B < kManyRows * queue->multiprocessors && most > 1;
  if (a->dtype == SRP_F64)
    return strips ? launch_strips<Scan<double>>(queue, *a, op, most) : launch_rows<Scan<double>>(queue, *a, op);
  return strips ? launch_strips<Scan<float>>(queue, *a, op, most) : launch_rows<Scan<float>>(queue, *a, op);
}

}  // namespace

srp_status scan_tail(srp_queue* queue, const srp_scan_tail_args* a) { return scan<TailRun>(queue, a, "scan_tail"); }
srp_status scan_prefix(srp_queue* queue, const srp_scan_prefix_args* a) {
  return scan<PrefixRun>(queue, a, "scan_prefix");
}
srp_status scan_shares(srp_queue* queue, const srp_scan_shares_args* a) {
  return scan<SharesRun>(queue, a, "scan_shares");
}

}  // namespace srp::cuda
