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

// Two stores into the cache: joining the narrowed halves takes longer than a second store.
template <bool kPastCache, class F>
SRP_INLINE void put_halves(F* out, int64_t i, Lanes low, Lanes high) {
  if (!out) return;
  if (kPastCache) return put_wide<true>(out + i, low.x, high.x);
  store_wide(out + i, low.x);
  store_wide(out + i + kHalf, high.x);
}

// Log ratios

template <bool kPastCache, bool kMasked, class F>
SRP_INLINE void log_register(const LogTokens<F>& row, int64_t i) {
  Lanes x[2];
  Mask kept[2] = {};
  for (int k = 0; k < 2; ++k) {
    const int64_t at = i + k * kHalf;
    if (kMasked) kept[k] = mask_of(row.mask + at);
    x[k] = log_ratio<kMasked>(row.log_probs, row.old_log_probs, kept[k], at);
  }
  put_halves<kPastCache>(row.log_ratio, i, x[0], x[1]);
  if (!row.ratio) return;
  for (int k = 0; k < 2; ++k) {
    const Lanes ratio = exponential(x[k]);
    x[k] = kMasked ? select(kept[k], ratio, Lanes(0)) : ratio;
  }
  put_halves<kPastCache>(row.ratio, i, x[0], x[1]);
}

template <bool kPastCache, bool kMasked, class F>
SRP_INLINE void log_tokens_to(const LogTokens<F>& row, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) log_register<kPastCache, kMasked>(row, i);
  if (i == end) return;
  const int64_t count = end - i;
  const CutTokens<F> cut(row.log_probs + i, row.old_log_probs + i, row.mask ? row.mask + i : nullptr, count);
  F logs[kLanes], ratios[kLanes];
  const LogTokens<F> copy = {cut.log_probs, cut.old_log_probs, cut.mask, row.log_ratio ? logs : nullptr,
                             row.ratio ? ratios : nullptr};
  log_register<false, true>(copy, 0);
  if (row.log_ratio) copy_out(row.log_ratio + i, logs, count);
  if (row.ratio) copy_out(row.ratio + i, ratios, count);
}

template <class F>
static void log_tokens(const LogTokens<F>& row, int64_t begin, int64_t end, bool past_cache) {
  const uintptr_t places = reinterpret_cast<uintptr_t>(row.log_ratio ? row.log_ratio + begin : nullptr) |
                           reinterpret_cast<uintptr_t>(row.ratio ? row.ratio + begin : nullptr);
  if (kStreams && past_cache && places % 16 == 0) {
    row.mask ? log_tokens_to<true, true>(row, begin, end) : log_tokens_to<true, false>(row, begin, end);
    finish_streams();
  } else {
    row.mask ? log_tokens_to<false, true>(row, begin, end) : log_tokens_to<false, false>(row, begin, end);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
