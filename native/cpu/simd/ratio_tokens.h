// Log ratios of tokens (contract: surprisal/ratio.h), a register at a time.
namespace srp::cpu::SRP_LEVEL {

template <class T>
SRP_INLINE void copy_out(T* to, const T* from, int64_t count) {
  if (to) memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
}

// Copies of the last tokens of a row, fewer than a register, masked behind the end.
template <class F>
struct CutTokens {
  F log_probs[kLanes] = {}, old_log_probs[kLanes] = {};
  uint8_t mask[kLanes] = {};

  CutTokens(const F* log_probs_from, const F* old_log_probs_from, const uint8_t* mask_from, int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      mask[t] = mask_from ? mask_from[t] : 1;
      if (!mask[t]) continue;
      log_probs[t] = log_probs_from[t];
      old_log_probs[t] = old_log_probs_from[t];
    }
  }
};

// Masked tokens have log ratio 0.
template <bool kMasked, class F>
SRP_INLINE F64 log_ratio(const F* log_probs, const F* old_log_probs, Mask kept, int64_t i) {
  const F64 d = load_wide(log_probs + i) - load_wide(old_log_probs + i);
  return kMasked ? pick(kept, d, F64{}) : d;
}

template <class F>
SRP_INLINE void put_halves(F* out, int64_t i, F64 low, F64 high, bool past_cache) {
  if (!past_cache) return put_two(out, i, low, high);
  if (out) put_wide<true>(out + i, low, high);
}

// Log ratios

constexpr int64_t kLogAhead = 2048;  // elements: all that is read and written comes nearer

template <bool kMasked, class F>
SRP_INLINE void log_register(const LogTokens<F>& row, int64_t i, bool past_cache) {
  prefetch(row.log_probs + i + kLogAhead);
  prefetch(row.old_log_probs + i + kLogAhead);
  if (kMasked) prefetch(row.mask + i + kLogAhead);
  if (!past_cache && row.log_ratio) prefetch(row.log_ratio + i + kLogAhead);
  if (!past_cache && row.ratio) prefetch(row.ratio + i + kLogAhead);
  Lanes x[2];
  Mask kept[2] = {};
  for (int k = 0; k < 2; ++k) {
    const int64_t at = i + k * kHalf;
    if (kMasked) kept[k] = mask_of(row.mask + at);
    x[k] = log_ratio<kMasked>(row.log_probs, row.old_log_probs, kept[k], at);
  }
  put_halves(row.log_ratio, i, x[0].x, x[1].x, past_cache);
  if (!row.ratio) return;
  for (int k = 0; k < 2; ++k) {
    const Lanes ratio = exponentials<F>(x[k].x).exp;
    x[k] = kMasked ? select(kept[k], ratio, Lanes(0)) : ratio;
  }
  put_halves(row.ratio, i, x[0].x, x[1].x, past_cache);
}

template <class F>
static void log_tokens(const LogTokens<F>& row, int64_t begin, int64_t end, bool past_cache) {
  const uintptr_t places = reinterpret_cast<uintptr_t>(row.log_ratio ? row.log_ratio + begin : nullptr) |
                           reinterpret_cast<uintptr_t>(row.ratio ? row.ratio + begin : nullptr);
  const bool streams = kStreams && past_cache && places % 16 == 0;
  int64_t i = begin;
  if (!row.mask)
    for (; i + kLanes <= end; i += kLanes) log_register<false>(row, i, streams);
  LogTokens<F> masked = row;
  F logs[kLanes], ratios[kLanes];
  const int64_t whole = begin + (end - begin) / kLanes * kLanes;
  const CutTokens<F> cut(row.log_probs + whole, row.old_log_probs + whole, row.mask ? row.mask + whole : nullptr,
                         end - whole);
  for (int64_t at = i; i < end; i += kLanes, at += kLanes) {
    if (i == whole) {
      masked = {cut.log_probs, cut.old_log_probs, cut.mask, row.log_ratio ? logs : nullptr,
                row.ratio ? ratios : nullptr};
      at = 0;
    }
    log_register<true>(masked, at, streams && i < whole);
  }
  if (streams) finish_streams();
  if (whole == end) return;
  if (row.log_ratio) copy_out(row.log_ratio + whole, logs, end - whole);
  if (row.ratio) copy_out(row.ratio + whole, ratios, end - whole);
}

}  // namespace srp::cpu::SRP_LEVEL
