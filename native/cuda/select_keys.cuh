// Keys to rank, 16 of a lane at a time (row_pieces.cuh): those of values, or of covariances. Rows of the
// batch do not matter here: tile t has positions 4096 t ... 4096 t + 4095.
#pragma once
#include "row_pieces.cuh"
#include "shared/select.h"

namespace srp::cuda {

template <class F>
struct ValueKeys {
  using Key = decltype(order_key(F{}));
  using Lane = Held<F>;
  const F* values;
  const uint8_t* mask;
  int64_t n;

  // Fills the keys of a tile's lane, and returns which of them belong to candidates.
  __device__ __forceinline__ uint32_t read(int64_t tile, Key (&keys)[kHeld]) const {
    const int lane = static_cast<int>(threadIdx.x);
    Lane held;
    held.read(values, aligned16(values, 0), tile * kPiece, n, lane);
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) keys[e] = order_key(held.at[e]);
    return Lane::flags(mask, tile * kPiece, n, lane);
  }
};

template <class F>
struct CovarianceKeys {
  using Key = uint64_t;
  using Lane = Held<F>;
  srp_select_covariance_args a;
  const PairMeans* means;
  int64_t n;

  __device__ __forceinline__ uint32_t read(int64_t tile, Key (&keys)[kHeld]) const {
    double values[kHeld];
    const uint32_t candidates = covariances(tile, values);
    SRP_UNROLL
    for (int e = 0; e < kHeld; ++e) keys[e] = order_key(values[e]);
    return candidates;
  }

  __device__ __forceinline__ uint32_t covariances(int64_t tile, double (&values)[kHeld]) const {
    const int lane = static_cast<int>(threadIdx.x);
    const int64_t begin = tile * kPiece;
    const PairMeans mean = *means;
    const F *const advantage = static_cast<const F*>(a.advantages), *const log_prob =
                                                                        static_cast<const F*>(a.log_probs);
    uint32_t candidates = Lane::flags(a.mask, begin, n, lane);
    if (a.excluded) candidates &= ~Lane::flags(a.excluded, begin, n, lane);
    Lane held;
    held.read(log_prob, aligned16(log_prob, 0), begin, n, lane);
    if (a.advantages_per_token) {
      Lane advantages;
      advantages.read(advantage, aligned16(advantage, 0), begin, n, lane);
      SRP_UNROLL
      for (int e = 0; e < kHeld; ++e)
        values[e] = product(double{advantages.at[e]} - mean.advantage, double{held.at[e]} - mean.log_prob);
      return candidates;
    }
    int64_t low = 0, high = a.B;  // of rows: those of the tile lie in [low, high)
    if (a.offsets) {
      low = warp_first(1, a.B, [&](int64_t b) { return a.offsets[b] > begin; }) - 1;
      high = warp_first(low + 1, a.B, [&](int64_t b) { return a.offsets[b] >= begin + kPiece; });
    }
    SRP_UNROLL
    for (int k = 0; k < Lane::kVectors; ++k) {
      const int64_t i = Lane::position(begin, lane, k);
      int64_t b = i < n ? row_of(i, low, high) : low;
      SRP_UNROLL
      for (int j = 0; j < Lane::kWide; ++j) {
        const int e = k * Lane::kWide + j;
        while (j > 0 && i + j < n && b + 1 < a.B && row_begin(b + 1) <= i + j) ++b;
        values[e] = product(load(advantage, b) - mean.advantage, double{held.at[e]} - mean.log_prob);
      }
    }
    return candidates;
  }

 private:
  __device__ __forceinline__ int64_t row_begin(int64_t b) const { return a.offsets ? a.offsets[b] : b * a.T; }

  // The row of token i, always inside [low, high), even if offsets are wrong.
  __device__ __forceinline__ int64_t row_of(int64_t i, int64_t low, int64_t high) const {
    if (!a.offsets) return static_cast<uint32_t>(i) / static_cast<uint32_t>(a.T);  // n, and so T, fit
    return row_at(a.offsets, i, low, high);
  }
};

}  // namespace srp::cuda
