// What a run of tokens adds to tail sums, prefix sums and shares. The part of a run composes with that of the next, and is the carry
// at once: a carry is the part of all tokens that come before in the order of the scan. Masked tokens add nothing, exactly.
#pragma once
#include "scan_maps.cuh"

namespace srp::cuda {

// ---- sums

struct SumPart {
  double sum;

  static __device__ __forceinline__ SumPart keeping() { return {0}; }
};
__device__ __forceinline__ SumPart then(const SumPart& first, const SumPart& second) {
  return {first.sum + second.sum};
}
template <class Move>
__device__ __forceinline__ SumPart moved(const SumPart& part, const Move& move) {
  return {move(part.sum)};
}

// ---- tails: what a step adds counts gamma times at the step before it

struct TailPart {
  double sum, weight, factor;  // factor: of what lies behind
  int64_t steps;

  static __device__ __forceinline__ TailPart keeping() { return {0, 0, 1, 0}; }
};
__device__ __forceinline__ TailPart then(const TailPart& first, const TailPart& second) {
  return {second.sum + second.factor * first.sum, second.weight + second.factor * first.weight,
          second.factor * first.factor, first.steps + second.steps};
}
template <class Move>
__device__ __forceinline__ TailPart moved(const TailPart& part, const Move& move) {
  return {move(part.sum), move(part.weight), move(part.factor), move(part.steps)};
}

__device__ __forceinline__ SumPart then_step(const SumPart& first, const SumPart& second) {
  return then(first, second);
}
__device__ __forceinline__ TailPart then_step(const TailPart& first, const TailPart& second) {
  return then(first, second);
}
__device__ __forceinline__ SumPart apply(const SumPart& part, const SumPart& carry) { return then(carry, part); }
__device__ __forceinline__ TailPart apply(const TailPart& part, const TailPart& carry) { return then(carry, part); }

// ---- the part of token i

template <class F>
__device__ __forceinline__ SumPart token_map(const srp_scan_prefix_args& a, int64_t i) {
  return {kept_at(a, i) ? PrefixScan<F>::term(a, i) : 0};
}

template <class F>
__device__ __forceinline__ SumPart token_map(const srp_scan_shares_args& a, int64_t i) {
  return {kept_at(a, i) ? fabs(number_at<F>(a.values, i)) : 0};
}

template <class F>
__device__ __forceinline__ TailPart token_map(const srp_scan_tail_args& a, int64_t i) {
  const bool kept = kept_at(a, i);
  if (!kept && a.mask_mode == SRP_MASK_SKIP) return TailPart::keeping();
  return {kept ? number_at<F>(a.values, i) : 0, kept ? 1 : a.masked_weight, a.gamma, 1};
}

// ---- plain arguments, as in scan_maps.cuh: given terms; masked tokens passed over

__device__ __forceinline__ bool is_plain(const srp_scan_prefix_args& a) { return a.values; }
__device__ __forceinline__ bool is_plain(const srp_scan_shares_args&) { return true; }
__device__ __forceinline__ bool is_plain(const srp_scan_tail_args& a) { return a.mask_mode == SRP_MASK_SKIP; }

__device__ __forceinline__ srp_scan_prefix_args plain(srp_scan_prefix_args a) {
  a.log_probs = nullptr;
  return a;
}
__device__ __forceinline__ srp_scan_shares_args plain(srp_scan_shares_args a) { return a; }
__device__ __forceinline__ srp_scan_tail_args plain(srp_scan_tail_args a) {
  a.mask_mode = SRP_MASK_SKIP;
  return a;
}

// ---- totals, and scans that go on from a carry

SRP_HD constexpr bool needs_total(const srp_scan_prefix_args&) { return false; }
SRP_HD constexpr bool needs_total(const srp_scan_shares_args&) { return true; }
SRP_HD bool needs_total(const srp_scan_tail_args& a) {
  return !a.normalize && a.mask && a.mask_mode == SRP_MASK_SKIP;  // else a row has as many steps as tokens
}

template <class F>
struct ShareSteps : SharesScan<F> {
  __device__ ShareSteps(const srp_scan_shares_args&, int64_t) : SharesScan<F>(0, 0) {}
};

// Powers of gamma for the steps of a run, in shared memory, for each warp by itself.
constexpr int kPowers = 16;

__device__ __forceinline__ double* own_powers() {
  SRP_SHARED(double, powers, kMostWarps* kPowers);
  return powers + static_cast<int>(threadIdx.x) / kWarp * kPowers;
}

// What a warp computes once. All its lanes call it.
__device__ __forceinline__ void prepare(const srp_scan_prefix_args&) {}
__device__ __forceinline__ void prepare(const srp_scan_shares_args&) {}
__device__ __forceinline__ void prepare(const srp_scan_tail_args& a) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncwarp();
  if (!a.normalize && lane < kPowers) own_powers()[lane] = pow(a.gamma, static_cast<double>(lane));
  __syncwarp();
}

// The steps of a run. The power of each is one for the run times that of the few steps of the run that lie before it.
template <class F>
struct TailSteps : TailScan<F> {
  __device__ TailSteps(const srp_scan_tail_args& a, int64_t b) : TailScan<F>(0, 0, 0) {
    if (needs_total(a)) return;
    const Range row = row_range(a.offsets, a.T, a.n, b);
    this->before = row.end - row.begin;
  }

  __device__ __forceinline__ void step(const srp_scan_tail_args& a, int64_t i) {
    F* const tails = static_cast<F*>(a.tails);
    const bool kept = kept_at(a, i);
    if (!kept && a.mask_mode == SRP_MASK_SKIP) {
      tails[i] = F(0);
      return;
    }
    const double tail = this->take(a, i, kept);
    store(tails, i, a.normalize ? tail : first_ * own_powers()[this->before] * tail);
  }

  // Counts the steps before a token from the run's first one, of which a token's power has the same bits however many steps are behind it.
  __device__ __forceinline__ void begin_run(double gamma, int steps) {
    const int64_t from = this->before - steps;
    this->before = steps;
    first_ = pow(gamma, static_cast<double>(from));
  }

 private:
  double first_ = 1;
};

template <class F>
__device__ __forceinline__ SumPart carry_of(const PrefixScan<F>&) {
  return SumPart::keeping();
}
template <class F>
__device__ __forceinline__ SumPart carry_of(const ShareSteps<F>&) {
  return SumPart::keeping();
}
template <class F>
__device__ __forceinline__ TailPart carry_of(const TailSteps<F>&) {
  return TailPart::keeping();
}

template <class F>
__device__ __forceinline__ void go_on(PrefixScan<F>& scan, const srp_scan_prefix_args&, const SumPart& carry,
                                      const SumPart&, int) {
  scan.sum = carry.sum;
}
template <class F>
__device__ __forceinline__ void go_on(ShareSteps<F>& scan, const srp_scan_shares_args& a, const SumPart& carry,
                                      const SumPart& total, int) {
  scan.before = carry.sum;
  scan.total = SharesScan<F>::divisor(a, total.sum);
}
template <class F>
__device__ __forceinline__ void go_on(TailSteps<F>& scan, const srp_scan_tail_args& a, const TailPart& carry,
                                      const TailPart& total, int steps) {
  scan.sum = carry.sum;
  scan.weight = carry.weight;
  scan.before = (needs_total(a) ? total.steps : scan.before) - carry.steps;
  if (!a.normalize) scan.begin_run(a.gamma, steps);
}

// ---- arrays, as in scan_maps.cuh; no numbers of a row

template <class F>
__device__ __forceinline__ void set_row(srp_scan_prefix_args&, int64_t, int64_t) {}
template <class F>
__device__ __forceinline__ void set_row(srp_scan_shares_args&, int64_t, int64_t) {}
template <class F>
__device__ __forceinline__ void set_row(srp_scan_tail_args&, int64_t, int64_t) {}

template <class Visit>
__device__ __forceinline__ void each_pair(srp_scan_prefix_args& a, const Visit& visit) {
  const bool given = !a.log_probs;
  const void* terms = given ? a.values : a.log_probs;
  visit(terms, a.sums);
  a.values = given ? terms : a.values;
  a.log_probs = given ? a.log_probs : terms;
  visit(a.sum_squares, a.terms);
}
template <class Visit>
__device__ __forceinline__ void each_pair(srp_scan_shares_args& a, const Visit& visit) {
  const void* none = nullptr;
  visit(a.values, a.weights);
  visit(none, a.products);
}
template <class Visit>
__device__ __forceinline__ void each_pair(srp_scan_tail_args& a, const Visit& visit) {
  visit(a.values, a.tails);
}

template <class Visit>
__device__ __forceinline__ void each_extra(srp_scan_prefix_args& a, const Visit& visit) {
  visit(a.weights);
}
template <class Visit>
__device__ __forceinline__ void each_extra(srp_scan_shares_args&, const Visit&) {}
template <class Visit>
__device__ __forceinline__ void each_extra(srp_scan_tail_args&, const Visit&) {}

constexpr ArrayCounts counts_of(const srp_scan_prefix_args*) { return {2, 1}; }
constexpr ArrayCounts counts_of(const srp_scan_shares_args*) { return {2, 1}; }
constexpr ArrayCounts counts_of(const srp_scan_tail_args*) { return {1, 1}; }

SRP_HD int arrays_of(const srp_scan_prefix_args& a) {
  return 1 + (a.sum_squares || a.terms ? 1 : 0) + (a.weights ? 1 : 0);
}
SRP_HD int arrays_of(const srp_scan_shares_args& a) { return 1 + (a.products ? 1 : 0); }
SRP_HD int arrays_of(const srp_scan_tail_args&) { return 1; }

}  // namespace srp::cuda
