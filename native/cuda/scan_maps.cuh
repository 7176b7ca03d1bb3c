// What a run of tokens does to the carry of gae, returns and V-trace, as a function that composes: so that the runs of a row can be
// looked at side by side. Those of sums: scan_sum_maps.cuh.
//
// The carry is (value, sum): the value of the step behind, and what is summed up. A step makes it (its value, an affine function
// of both); a masked token leaves it (SKIP) or makes it 0 (CUT). `then` composes, `apply` carries through. A map that does
// nothing drops out exactly, so that masked tokens behind a row change no bit of it; one that forgets the carry does so even
// of a NaN.
#pragma once
#include "common.cuh"
#include "shared/scan.h"

namespace srp::cuda {

constexpr int kMostWarps = 4;  // of a block

// Of the pairs of arrays of a scan (each_pair): all, and those that have an input wherever arguments are plain.
struct ArrayCounts {
  int pairs, inputs;
};

struct Carry {
  double value, sum;
};

struct CarryMap {
  enum Kind : int { kKeeps, kForgets, kAffine };
  double value, constant, of_value, of_sum;
  int kind;

  static __device__ __forceinline__ CarryMap keeping() { return {0, 0, 0, 0, kKeeps}; }
  static __device__ __forceinline__ CarryMap forgetting() { return {0, 0, 0, 0, kForgets}; }
};

__device__ __forceinline__ Carry apply(const CarryMap& map, const Carry& carry) {
  if (map.kind == CarryMap::kKeeps) return carry;
  if (map.kind == CarryMap::kForgets) return {map.value, map.constant};
  return {map.value, fma(map.of_sum, carry.sum, fma(map.of_value, carry.value, map.constant))};
}

// `first` is the one behind, to the right.
__device__ __forceinline__ CarryMap then(const CarryMap& first, const CarryMap& second) {
  if (second.kind == CarryMap::kKeeps) return first;
  if (second.kind == CarryMap::kForgets || first.kind == CarryMap::kKeeps) return second;
  const double constant = fma(second.of_sum, first.constant, fma(second.of_value, first.value, second.constant));
  if (first.kind == CarryMap::kForgets) return {second.value, constant, 0, 0, CarryMap::kForgets};
  return {second.value, constant, second.of_sum * first.of_value, second.of_sum * first.of_sum, CarryMap::kAffine};
}

// The same of a `first` that does not forget and a `second` that is affine, in selections rather than branches.
__device__ __forceinline__ CarryMap then_step(const CarryMap& first, const CarryMap& second) {
  const bool keeps = first.kind == CarryMap::kKeeps;
  const double constant = fma(second.of_sum, first.constant, fma(second.of_value, first.value, second.constant));
  return {second.value, keeps ? second.constant : constant, keeps ? second.of_value : second.of_sum * first.of_value,
          keeps ? second.of_sum : second.of_sum * first.of_sum, CarryMap::kAffine};
}

// Each number by itself: to another lane, or from memory.
template <class Move>
__device__ __forceinline__ CarryMap moved(const CarryMap& map, const Move& move) {
  return {move(map.value), move(map.constant), move(map.of_value), move(map.of_sum), move(map.kind)};
}
template <class Move>
__device__ __forceinline__ Carry moved(const Carry& carry, const Move& move) {
  return {move(carry.value), move(carry.sum)};
}

// ---- the map of token i: what step() of shared/scan.h does to its carry

template <class F>
__device__ __forceinline__ double number_at(const void* p, int64_t i) {
  return load(static_cast<const F*>(p), i);
}

template <class Args>
__device__ __forceinline__ bool kept_at(const Args& a, int64_t i) {
  return !a.mask || a.mask[i];
}

template <class F>
__device__ __forceinline__ CarryMap token_map(const srp_scan_gae_args& a, int64_t i) {
  const bool kept = kept_at(a, i);
  if (!kept && a.mask_mode != SRP_MASK_STEPS)
    return a.mask_mode == SRP_MASK_CUT ? CarryMap::forgetting() : CarryMap::keeping();
  const double gamma = kept ? discount_at<F>(a.gammas, a.gamma, i) : a.gamma;
  const double reward = kept ? number_at<F>(a.rewards, i) : 0, value = kept ? number_at<F>(a.values, i) : 0;
  return {value, reward - value, gamma, gamma * lambda_at<F>(a, a.lambda, i, kept), CarryMap::kAffine};
}

template <class F>
__device__ __forceinline__ CarryMap token_map(const srp_scan_returns_args& a, int64_t i) {
  const bool kept = kept_at(a, i);
  if (!kept && a.mask_mode != SRP_MASK_STEPS)
    return a.mask_mode == SRP_MASK_CUT ? CarryMap::forgetting() : CarryMap::keeping();
  const double gamma = kept ? discount_at<F>(a.gammas, a.gamma, i) : a.gamma;
  return {0, kept ? number_at<F>(a.rewards, i) : 0, 0, gamma, CarryMap::kAffine};
}

template <class F>
__device__ __forceinline__ CarryMap token_map(const srp_scan_vtrace_args& a, int64_t i) {
  const bool kept = kept_at(a, i);
  if (!kept && a.mask_mode != SRP_MASK_STEPS)
    return a.mask_mode == SRP_MASK_CUT ? CarryMap::forgetting() : CarryMap::keeping();
  const double gamma = kept ? discount_at<F>(a.gammas, a.gamma, i) : a.gamma;
  const double reward = kept ? number_at<F>(a.rewards, i) : 0, value = kept ? number_at<F>(a.values, i) : 0;
  const double weight = kept ? number_at<F>(a.weights, i) : 1;
  const double rho = VtraceScan<F>::cap(weight, a.rho_bar),
               decay = gamma * lambda_at<F>(a, a.lambda, i, kept) * VtraceScan<F>::cap(weight, a.c_bar);
  if (a.delta == SRP_DELTA_REWARD) return {value, rho * reward - value, gamma, decay, CarryMap::kAffine};
  return {value, rho * (reward - value), rho * gamma, decay, CarryMap::kAffine};
}

// ---- what most calls have: one discount and one decay for all tokens of a row, and masked ones passed over. Of arguments that say so
// where the compiler sees it, the loops over tokens keep no other case.

__device__ __forceinline__ bool is_plain(const srp_scan_returns_args& a) {
  return !a.gammas && a.mask_mode == SRP_MASK_SKIP && !a.transform_masked;
}
__device__ __forceinline__ bool is_plain(const srp_scan_gae_args& a) {
  return !a.gammas && !a.lambdas_per_token && a.mask_mode == SRP_MASK_SKIP && !a.transform_masked;
}
__device__ __forceinline__ bool is_plain(const srp_scan_vtrace_args& a) {
  return !a.gammas && !a.lambdas_per_token && a.mask_mode == SRP_MASK_SKIP;
}

__device__ __forceinline__ srp_scan_returns_args plain(srp_scan_returns_args a) {
  a.gammas = nullptr;
  a.mask_mode = SRP_MASK_SKIP;
  a.transform_masked = 0;
  return a;
}
__device__ __forceinline__ srp_scan_gae_args plain(srp_scan_gae_args a) {
  a.gammas = nullptr;
  a.lambdas_per_token = 0;
  a.mask_mode = SRP_MASK_SKIP;
  a.transform_masked = 0;
  return a;
}
__device__ __forceinline__ srp_scan_vtrace_args plain(srp_scan_vtrace_args a) {
  a.gammas = nullptr;
  a.lambdas_per_token = 0;
  a.mask_mode = SRP_MASK_SKIP;
  return a;
}

// ---- the carry of a scan of shared/scan.h, and a scan that goes on from one, towards the total of its row

template <class F>
__device__ __forceinline__ Carry carry_of(const GaeScan<F>& scan) {
  return {scan.next_value, scan.next_advantage};
}
template <class F>
__device__ __forceinline__ Carry carry_of(const ReturnsScan<F>& scan) {
  return {0, scan.next_return};
}
template <class F>
__device__ __forceinline__ Carry carry_of(const VtraceScan<F>& scan) {
  return {scan.next_value, scan.accumulated};
}

template <class F>
__device__ __forceinline__ void go_on(GaeScan<F>& scan, const srp_scan_gae_args&, const Carry& carry, const Carry&,
                                      int) {
  scan.next_value = carry.value;
  scan.next_advantage = carry.sum;
}
template <class F>
__device__ __forceinline__ void go_on(ReturnsScan<F>& scan, const srp_scan_returns_args&, const Carry& carry,
                                      const Carry&, int) {
  scan.next_return = carry.sum;
}
template <class F>
__device__ __forceinline__ void go_on(VtraceScan<F>& scan, const srp_scan_vtrace_args&, const Carry& carry,
                                      const Carry&, int) {
  scan.next_value = carry.value;
  scan.accumulated = carry.sum;
}

// None computes anything ahead, or needs the total of its row.
__device__ __forceinline__ void prepare(const srp_scan_gae_args&) {}
__device__ __forceinline__ void prepare(const srp_scan_returns_args&) {}
__device__ __forceinline__ void prepare(const srp_scan_vtrace_args&) {}

SRP_HD constexpr bool needs_total(const srp_scan_gae_args&) { return false; }
SRP_HD constexpr bool needs_total(const srp_scan_returns_args&) { return false; }
SRP_HD constexpr bool needs_total(const srp_scan_vtrace_args&) { return false; }

// ---- the numbers of a row, in a copy of the arguments whose token 0 is `begin`. Those of tokens are read where they lie: room for them
// among the arrays of a tile would halve the warps of a block.

template <class F>
__device__ __forceinline__ void set_row(srp_scan_returns_args&, int64_t, int64_t) {}
template <class F, class Args>
__device__ __forceinline__ void set_row(Args& a, int64_t row, int64_t begin) {
  a.lambda = lambda_of_row<F>(a, row);
  if (a.lambdas_per_token) a.lambdas = static_cast<const F*>(a.lambdas) + begin;
}

// ---- the arrays of a scan, for the code that moves them: each input that is always there, with the output that takes its place in
// shared memory. A step reads all its inputs before it writes over them, but for the values of gae, which its returns replace last.

template <class Visit>
__device__ __forceinline__ void each_pair(srp_scan_gae_args& a, const Visit& visit) {
  visit(a.rewards, a.advantages);
  visit(a.values, a.returns);
}
template <class Visit>
__device__ __forceinline__ void each_pair(srp_scan_returns_args& a, const Visit& visit) {
  visit(a.rewards, a.returns);
}
template <class Visit>
__device__ __forceinline__ void each_pair(srp_scan_vtrace_args& a, const Visit& visit) {
  visit(a.rewards, a.targets);
  visit(a.values, a.advantages);
  visit(a.weights, a.accumulated);
}

// And an input that may be there.
template <class Visit>
__device__ __forceinline__ void each_extra(srp_scan_gae_args& a, const Visit& visit) {
  visit(a.gammas);
}
template <class Visit>
__device__ __forceinline__ void each_extra(srp_scan_returns_args& a, const Visit& visit) {
  visit(a.gammas);
}
template <class Visit>
__device__ __forceinline__ void each_extra(srp_scan_vtrace_args& a, const Visit& visit) {
  visit(a.gammas);
}

// How many there may be, and how many there are, the extra one among them.
constexpr ArrayCounts counts_of(const srp_scan_gae_args*) { return {2, 2}; }
constexpr ArrayCounts counts_of(const srp_scan_returns_args*) { return {1, 1}; }
constexpr ArrayCounts counts_of(const srp_scan_vtrace_args*) { return {3, 3}; }

SRP_HD int arrays_of(const srp_scan_gae_args& a) { return 2 + (a.gammas ? 1 : 0); }
SRP_HD int arrays_of(const srp_scan_returns_args& a) { return 1 + (a.gammas ? 1 : 0); }
SRP_HD int arrays_of(const srp_scan_vtrace_args& a) { return 3 + (a.gammas ? 1 : 0); }

}  // namespace srp::cuda
