// The walk along a row in registers: lanes count from where it begins, and what is left at its end goes through copies with
// nothing kept behind them. So a result depends neither on where an array lies nor on padding behind a row.
namespace srp::cpu::SRP_LEVEL {

// Every bit of the lanes that are kept; all of them without a mask.
SRP_INLINE I64 kept_lanes(const uint8_t* mask, int64_t at) { return mask ? load_mask(mask + at) : ~I64{}; }

// visit(values, mask) for each kLanes positions of [begin, end), `mask` NULL where there is none.
template <class F, class Visit>
SRP_INLINE void each_register(const F* values, const uint8_t* mask, int64_t begin, int64_t end, const Visit& visit) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) visit(values + i, mask ? mask + i : nullptr);
  if (i == end) return;
  F last[kLanes] = {};
  uint8_t kept[kLanes] = {};
  for (int64_t t = 0; t < end - i; ++t) {
    kept[t] = !mask || mask[i + t];
    if (kept[t]) last[t] = values[i + t];
  }
  visit(last, kept);
}

// The same where each visit returns kLanes results for `out`: map(values, mask, low, high). Past the cache `out` lies on a
// multiple of 16.
template <bool kPastCache, class F, class Map>
SRP_INLINE void map_registers(const F* values, const uint8_t* mask, F* out, int64_t begin, int64_t end,
                              const Map& map) {
  F64 y[2];
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    map(values + i, mask ? mask + i : nullptr, &y[0], &y[1]);
    put_wide<kPastCache>(out + i, y[0], y[1]);
  }
  if (i == end) return;
  F last[kLanes] = {};
  uint8_t kept[kLanes] = {};
  for (int64_t t = 0; t < end - i; ++t) {
    kept[t] = !mask || mask[i + t];
    if (kept[t]) last[t] = values[i + t];
  }
  map(last, kept, &y[0], &y[1]);
  put_wide<false>(last, y[0], y[1]);
  memcpy(out + i, last, sizeof(F) * static_cast<size_t>(end - i));
}

// Whether the outputs of a row may be written past the cache, 16 bytes at a time.
SRP_INLINE bool on_sixteen(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

SRP_INLINE int64_t count_lanes(I64 minus_counts) {
  int64_t total = 0;
  for (int64_t lane = 0; lane < kHalf; ++lane) total -= minus_counts[lane];
  return total;
}

}  // namespace srp::cpu::SRP_LEVEL
