// Tail sums, prefix sums and shares as runs of tokens whose sums compose, so that the runs of a row can be scanned in parallel.
// Where a row is cut is counted from its first token and the same for every kernel, and so is the order in which runs are composed:
// no bit depends on which threads scan what, on the other rows, or on where a row lies.
//
//   run     8 tokens side by side: a lane, one after the other
//   tile    32 runs, 256 tokens: a warp, by a fixed tree
//   strip   32 tiles, 8192 tokens: tile after tile
//   row     strip after strip
//
// A scan is
//
//   Part                      the state of a run
//   kForward                  whether it goes from left to right
//   then(first, second)       two runs, of which `first` comes first in the scan's direction
//   needs_total(a)            whether a token needs the total of the whole row
//   read(a, begin, end)       reads this lane's run of a tile
//   part(a)                   of that run
//   write(a, row, before, total)   its outputs, from what comes before it
#pragma once
#include "row_pieces.cuh"
#include "shared/scan.h"

namespace srp::cuda {

constexpr int kRun = 8;
constexpr int kTileTokens = kWarp * kRun;
constexpr int kStripTiles = 32;
constexpr int64_t kStripTokens = int64_t{kTileTokens} * kStripTiles;
constexpr int kScanWarps = 8;

SRP_HD int64_t sum_strips_of(int64_t tokens) { return (tokens + kStripTokens - 1) / kStripTokens; }

// A run's numbers of one array, and where they lie.
template <class F>
using RunOf = Held<F, 0, kRun>;

__device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarp; }

struct TileOf {
  int64_t begin, end;

  template <class F>
  __device__ __forceinline__ RunOf<F> numbers(const void* array) const {
    RunOf<F> run;
    const F* const p = static_cast<const F*>(array);
    run.read(p, aligned16(p, begin * int64_t{sizeof(F)}), begin, end, lane_of_warp());
    return run;
  }
  __device__ __forceinline__ uint32_t flags(const uint8_t* mask) const {
    return RunOf<float>::flags(mask, begin, end, lane_of_warp());
  }
  template <class F>
  __device__ __forceinline__ void write(void* array, const RunOf<F>& run) const {
    F* const p = static_cast<F*>(array);
    if (p) run.write(p, aligned16(p, begin * int64_t{sizeof(F)}), begin, end, lane_of_warp());
  }
};

// ---- sums of two directions

struct SumPart {
  double sum = 0;
};
__device__ __forceinline__ SumPart then(const SumPart& first, const SumPart& second) {
  return {first.sum + second.sum};
}
template <class Move>
__device__ __forceinline__ SumPart moved(const SumPart& part, const Move& move) {
  return {move(part.sum)};
}

template <class F>
class PrefixRun {
 public:
  using Args = srp_scan_prefix_args;
  using Part = SumPart;
  static constexpr bool kForward = true;

  static __device__ bool needs_total(const Args&) { return false; }

  __device__ __forceinline__ void read(const Args& a, int64_t begin, int64_t end) {
    tile_ = {begin, end};
    kept_ = tile_.flags(a.mask);
    if (a.values) {
      const RunOf<F> values = tile_.numbers<F>(a.values);
      SRP_UNROLL
      for (int e = 0; e < kRun; ++e) terms_[e] = kept_ >> e & 1 ? double{values.at[e]} : 0;
      return;
    }
    const RunOf<F> log_probs = tile_.numbers<F>(a.log_probs), squares = tile_.numbers<F>(a.sum_squares);
    RunOf<F> weights;
    if (a.weights) weights = tile_.numbers<F>(a.weights);
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e)
      terms_[e] = kept_ >> e & 1
                      ? PrefixScan<F>::norm(log_probs.at[e], squares.at[e], a.weights ? double{weights.at[e]} : 1)
                      : 0;
  }
  __device__ __forceinline__ Part part(const Args&) const {
    Part mine;
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e) mine.sum += terms_[e];
    return mine;
  }
  __device__ __forceinline__ void write(const Args& a, const Range&, const Part& before, const Part&) const {
    RunOf<F> terms, sums;
    double sum = before.sum;
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e) {
      const bool kept = kept_ >> e & 1;
      const double earlier = sum;
      sum += terms_[e];
      terms.at[e] = static_cast<F>(terms_[e]);
      sums.at[e] = static_cast<F>(!kept ? 0 : a.exclusive ? earlier : sum);
    }
    tile_.write(a.terms, terms);
    tile_.write(a.sums, sums);
  }

 private:
  TileOf tile_ = {0, 0};
  uint32_t kept_ = 0;
  double terms_[kRun] = {};
};

template <class F>
class SharesRun {
 public:
  using Args = srp_scan_shares_args;
  using Part = SumPart;
  static constexpr bool kForward = true;

  static __device__ bool needs_total(const Args&) { return true; }

  __device__ __forceinline__ void read(const Args& a, int64_t begin, int64_t end) {
    tile_ = {begin, end};
    kept_ = tile_.flags(a.mask);
    values_ = tile_.numbers<F>(a.values);
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e)
      if (!(kept_ >> e & 1)) values_.at[e] = F(0);
  }
  __device__ __forceinline__ Part part(const Args&) const {
    Part mine;
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e) mine.sum += fabs(double{values_.at[e]});
    return mine;
  }
  __device__ __forceinline__ void write(const Args& a, const Range&, const Part& before, const Part& total) const {
    RunOf<F> weights, products;
    const double divisor = SharesScan<F>::divisor(a, total.sum);
    double sum = before.sum;
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e) {
      const double x = values_.at[e], weight = kept_ >> e & 1 ? SharesScan<F>::share(a, sum, divisor) : 0;
      sum += fabs(x);
      weights.at[e] = static_cast<F>(weight);
      products.at[e] = static_cast<F>(weight * x);
    }
    tile_.write(a.weights, weights);
    tile_.write(a.products, products);
  }

 private:
  TileOf tile_ = {0, 0};
  uint32_t kept_ = 0;
  RunOf<F> values_ = {};
};

// ---- tails: what a step adds counts gamma times at the step before it

struct TailPart {
  double sum = 0, weight = 0;
  double factor = 1;  // of what lies behind
  int64_t steps = 0;
};
__device__ __forceinline__ TailPart then(const TailPart& first, const TailPart& second) {
  return {second.sum + second.factor * first.sum, second.weight + second.factor * first.weight,
          second.factor * first.factor, first.steps + second.steps};
}
template <class Move>
__device__ __forceinline__ TailPart moved(const TailPart& part, const Move& move) {
  return {move(part.sum), move(part.weight), move(part.factor), move(part.steps)};
}

template <class F>
class TailRun {
 public:
  using Args = srp_scan_tail_args;
  using Part = TailPart;
  static constexpr bool kForward = false;

  static __device__ bool needs_total(const Args& a) {
    return !a.normalize && a.mask && a.mask_mode == SRP_MASK_SKIP;  // else a row has as many steps as tokens
  }

  __device__ __forceinline__ void read(const Args& a, int64_t begin, int64_t end) {
    tile_ = {begin, end};
    kept_ = tile_.flags(a.mask);
    steps_ = a.mask_mode == SRP_MASK_STEPS ? tile_.flags(nullptr) : kept_;
    values_ = tile_.numbers<F>(a.values);
  }
  __device__ __forceinline__ Part part(const Args& a) const {
    Part mine;
    SRP_UNROLL
    for (int e = kRun - 1; e >= 0; --e) step(a, e, mine);
    return mine;
  }
  __device__ __forceinline__ void write(const Args& a, const Range& row, const Part& behind, const Part& total) const {
    double tails[kRun];
    Part now = behind;
    SRP_UNROLL
    for (int e = kRun - 1; e >= 0; --e) {
      step(a, e, now);
      tails[e] = a.normalize ? (now.weight > 0 ? now.sum / now.weight : 0.0) : now.sum;
    }
    const int64_t all = needs_total(a) ? total.steps : row.end - row.begin;
    double power = a.normalize ? 1 : pow(a.gamma, static_cast<double>(all - now.steps));
    RunOf<F> out;
    SRP_UNROLL
    for (int e = 0; e < kRun; ++e) {
      const bool is_step = steps_ >> e & 1;
      out.at[e] = static_cast<F>(is_step ? power * tails[e] : 0.0);
      if (is_step && !a.normalize) power *= a.gamma;
    }
    tile_.write(a.tails, out);
  }

 private:
  __device__ __forceinline__ void step(const Args& a, int e, Part& now) const {
    if (!(steps_ >> e & 1)) return;
    const bool kept = kept_ >> e & 1;
    now.sum = (kept ? double{values_.at[e]} : 0) + a.gamma * now.sum;
    now.weight = (kept ? 1 : a.masked_weight) + a.gamma * now.weight;
    now.factor *= a.gamma;
    ++now.steps;
  }

  TileOf tile_ = {0, 0};
  uint32_t kept_ = 0, steps_ = 0;
  RunOf<F> values_ = {};
};

// ---- strips

// What tokens [begin, end), a strip, come to; with kWrite also their outputs, from what comes before them. `kTogether`: the warps of the
// block take a tile each at a time, and all its threads call it; else this warp has the strip for itself.
template <class Scan, bool kTogether, bool kWrite>
__device__ typename Scan::Part scan_strip(const typename Scan::Args& a, const Range& row, int64_t begin, int64_t end,
                                          typename Scan::Part before, const typename Scan::Part& total) {
  using Part = typename Scan::Part;
  SRP_SHARED(uint64_t, words, kScanWarps * (sizeof(Part) / 8));
  Part* const parts = reinterpret_cast<Part*>(words);
  const int lane = lane_of_warp();
  const int worker = kTogether ? static_cast<int>(threadIdx.x) / kWarp : 0;
  const int workers = kTogether ? kScanWarps : 1;
  const int tiles = static_cast<int>((end - begin + kTileTokens - 1) / kTileTokens);
  Part strip;
  for (int done = 0; done < tiles; done += workers) {
    const int own = done + worker;
    Scan run;
    Part mine, earlier;
    if (own < tiles) {
      const int64_t from = begin + int64_t{Scan::kForward ? own : tiles - 1 - own} * kTileTokens;
      run.read(a, from, from + kTileTokens < end ? from + kTileTokens : end);
      mine = run.part(a);
      for (int distance = 1; distance < kWarp; distance *= 2) {
        const Part other = moved(mine, [&](auto x) {
          return Scan::kForward ? __shfl_up_sync(kFullWarp, x, distance) : __shfl_down_sync(kFullWarp, x, distance);
        });
        if (Scan::kForward ? lane >= distance : lane + distance < kWarp) mine = then(other, mine);
      }
      earlier = moved(mine, [&](auto x) {
        return Scan::kForward ? __shfl_up_sync(kFullWarp, x, 1) : __shfl_down_sync(kFullWarp, x, 1);
      });
      if (lane == (Scan::kForward ? 0 : kWarp - 1)) earlier = Part{};
      mine = moved(mine, [&](auto x) { return __shfl_sync(kFullWarp, x, Scan::kForward ? kWarp - 1 : 0); });
    }
    Part into = before;
    if (!kTogether) {
      before = then(before, mine);
      strip = then(strip, mine);
    } else {
      __syncthreads();  // all threads have read the parts of the previous round
      if (lane == 0) parts[worker] = mine;
      __syncthreads();
      for (int w = 0; w < workers; ++w) {
        if (w == worker) into = before;
        const Part part = parts[w];
        before = then(before, part);
        strip = then(strip, part);
      }
    }
    if (kWrite && own < tiles) run.write(a, row, then(into, earlier), total);
  }
  return strip;
}

}  // namespace srp::cuda
