// Scans tokens that are all kept and have one discount and one lambda: what is known of their maps need not be computed. The same
// operations otherwise as in scan.h, and so the same bits. A map waits for the one composed before it, so neighbouring halves of
// registers take each step together.
namespace srp::cpu::SRP_LEVEL {

// Elements: so far ahead what is read and written is brought nearer, all of it, since what is left out comes later than without.
constexpr int64_t kScanAhead = 2048;
// Registers whose steps are taken together, where there are registers enough to hold them.
constexpr int kScanTogether = kLanes == 16 ? 2 : 1;

// kCount times kHalf tokens. `d` is that of the token behind them, then of the first one. Where there are no tokens r and v are 0.
template <bool kValues, int kCount>
SRP_INLINE void scan_plain(const F64 (&r)[kCount], const F64 (&v)[kCount], const ScanConstants& c, F64* d,
                           F64 (&advantages)[kCount], F64 (&returns)[kCount]) {
  const F64 a = c.a[3];
  F64 gap[kCount], b[kCount], own[kCount];
#pragma GCC unroll 4
  for (int k = 0; k < kCount; ++k) {
    gap[k] = kValues ? r[k] - v[k] : r[k];
    b[k] = kValues ? fma(c.lambda, gap[k], v[k]) : gap[k];
  }
#pragma GCC unroll 4
  for (int k = 0; k < kCount; ++k) b[k] = fma(c.a[0], shift_lanes<1>(b[k], F64{}), b[k]);
  if constexpr (kHalf > 2)
#pragma GCC unroll 4
    for (int k = 0; k < kCount; ++k) b[k] = fma(c.a[1], shift_lanes<2>(b[k], F64{}), b[k]);
  if constexpr (kHalf > 4)
#pragma GCC unroll 4
    for (int k = 0; k < kCount; ++k) b[k] = fma(c.a[2], shift_lanes<4>(b[k], F64{}), b[k]);
#pragma GCC unroll 4
  for (int k = kCount - 1; k >= 0; --k) {
    own[k] = fma(a, *d, b[k]);
    if (kValues)
      advantages[k] = fma(c.gamma, shift_lanes<1>(own[k], *d), gap[k]);
    else
      returns[k] = own[k];
    *d = fma(splat(a[0]), *d, splat(b[k][0]));
  }
  if constexpr (kValues)
#pragma GCC unroll 4
    for (int k = 0; k < kCount; ++k) returns[k] = advantages[k] + v[k];
}

// kCount times kHalf tokens from i on.
template <bool kValues, int kCount, class F>
SRP_INLINE void scan_plain_lanes(const ScanRows<F>& row, const ScanConstants& c, int64_t i, F64* d,
                                 F64 (&advantages)[kCount], F64 (&returns)[kCount]) {
  F64 r[kCount], v[kCount] = {};
#pragma GCC unroll 4
  for (int k = 0; k < kCount; ++k) {
    r[k] = load_wide(row.reward + i + k * kHalf);
    if constexpr (kValues) v[k] = load_wide(row.value + i + k * kHalf);
  }
  scan_plain<kValues>(r, v, c, d, advantages, returns);
}

// kRegisters registers below i.
template <bool kValues, int kRegisters, class F>
SRP_INLINE void scan_plain_registers(const ScanRows<F>& row, const ScanConstants& c, int64_t i, F64* d, F** advantages,
                                     F** returns, Leaving<F>* leaving) {
  constexpr int64_t kTokens = kRegisters * kLanes;
  for (int64_t k = 0; k < kTokens; k += kLanes) {
    prefetch(row.reward + i - k - kScanAhead);
    if constexpr (kValues) prefetch(row.value + i - k - kScanAhead);
    if constexpr (kValues) prefetch_place(leaving[0], *advantages, k + kScanAhead);
    prefetch_place(leaving[1], *returns, k + kScanAhead);
  }
  F64 a[2 * kRegisters], r[2 * kRegisters];
  scan_plain_lanes<kValues>(row, c, i - kTokens, d, a, r);
  if (kValues && *advantages) *advantages -= kTokens;
  if (*returns) *returns -= kTokens;
#pragma GCC unroll 2
  for (int k = kRegisters - 1; k >= 0; --k) {
    if constexpr (kValues) put_two(*advantages, k * kLanes, a[2 * k], a[2 * k + 1]);
    put_two(*returns, k * kLanes, r[2 * k], r[2 * k + 1]);
    if constexpr (kValues) leave_some(&leaving[0]);
    leave_some(&leaving[1]);
  }
}

// Registers from the one below i on, until one has tokens that are not kept, or down to `low`. Of tokens without discounts of their
// own.
template <bool kValues, class F>
SRP_INLINE void scan_plain_run(const ScanRows<F>& rows, const ScanConstants& given, int64_t* at, int64_t low,
                               F64* carried, F** to_advantages, F** to_returns, Leaving<F>* leaving) {
  const ScanConstants c = given;
  const ScanRows<F> row = rows;
  F64 d = *carried;
  F *advantages = *to_advantages, *returns = *to_returns;
  int64_t i = *at;
  if constexpr (kScanTogether > 1) {
    constexpr int64_t kTokens = kScanTogether * kLanes;
    for (; i - low >= kTokens; i -= kTokens) {
      if (row.mask && !all_kept<kTokens>(row.mask + i - kTokens)) break;
      scan_plain_registers<kValues, kScanTogether>(row, c, i, &d, &advantages, &returns, leaving);
    }
  }
  for (; i - low >= kLanes; i -= kLanes) {
    if (row.mask && !all_kept<kLanes>(row.mask + i - kLanes)) break;
    scan_plain_registers<kValues, 1>(row, c, i, &d, &advantages, &returns, leaving);
  }
  *at = i;
  *carried = d;
  *to_advantages = advantages;
  *to_returns = returns;
}

// The first `count` tokens of a row, no more than kHalves halves of a register and all kept, ahead of token `end`: in the last lanes,
// so that those ahead of the row are behind nothing.
template <bool kValues, int kHalves, class F>
SRP_INLINE void scan_plain_first(const ScanRows<F>& row, const ScanConstants& c, int64_t end, int64_t count, F64* d,
                                 F* advantages, F* returns) {
  F64 r[kHalves], v[kHalves] = {}, to_advantages[kHalves], to_returns[kHalves];
  for (int64_t k = 0; k < kHalves; ++k) {
    const int64_t behind = (kHalves - 1 - k) * kHalf, i = end - behind - kHalf;
    r[k] = load_last(row.reward + i, count - behind);
    if constexpr (kValues) v[k] = load_last(row.value + i, count - behind);
  }
  scan_plain<kValues>(r, v, c, d, to_advantages, to_returns);
  for (int64_t k = 0; k < kHalves; ++k) {
    const int64_t behind = (kHalves - 1 - k) * kHalf;
    if (kValues && advantages) store_last(advantages - behind - kHalf, to_advantages[k], count - behind);
    if (returns) store_last(returns - behind - kHalf, to_returns[k], count - behind);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
