// Rows of log-prob differences (contract: surprisal/ratio.h): their sum, and one gradient written to all kept tokens.
namespace srp::cpu::SRP_LEVEL {

// Lanes count from the row's begin, two registers apart, and are added in their order at the end: the sum depends neither on
// where the arrays lie nor on padding behind the row.
template <class F>
static LogSum sum_differences(const F* log_probs, const F* old_log_probs, const uint8_t* mask, int64_t begin,
                              int64_t end) {
  F64 sums[2] = {};
  I64 kept = {};  // minus their number
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (int64_t k = 0; k < 2; ++k) {
      const int64_t at = i + k * kHalf;
      const F64 d = load_wide(log_probs + at) - load_wide(old_log_probs + at);
      if (mask) {
        const I64 keep = load_mask(mask + at);
        kept += keep;
        sums[k] += keep ? d : F64{};
      } else {
        sums[k] += d;
      }
    }
  }
  LogSum row = {0, i - begin};
  if (mask) {
    row.kept = 0;
    for (int64_t lane = 0; lane < kHalf; ++lane) row.kept -= kept[lane];
  }
  for (int64_t lane = 0; i < end; ++i, ++lane) {
    if (mask && !mask[i]) continue;
    sums[lane / kHalf][lane % kHalf] += static_cast<double>(log_probs[i]) - static_cast<double>(old_log_probs[i]);
    row.kept += 1;
  }
  row.sum = sum(sums[0] + sums[1]);
  return row;
}

template <bool kPastCache, class F>
SRP_INLINE void spread_to(F* out, const uint8_t* mask, int64_t begin, int64_t end, double value) {
  const F one = static_cast<F>(value);
  const F64 wide = splat(static_cast<double>(one));
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const I64 low = kept_lanes(mask, i), high = kept_lanes(mask, i + kHalf);
    put_wide<kPastCache>(out + i, low ? wide : F64{}, high ? wide : F64{});
  }
  for (; i < end; ++i) out[i] = !mask || mask[i] ? one : F(0);
}

template <class F>
static void spread(F* out, const uint8_t* mask, int64_t begin, int64_t end, double value, bool past_cache) {
  if (kStreams && past_cache && on_sixteen(out + begin)) {
    spread_to<true>(out, mask, begin, end, value);
    finish_streams();
  } else {
    spread_to<false>(out, mask, begin, end, value);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
