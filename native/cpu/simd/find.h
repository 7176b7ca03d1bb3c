// The next of a few ids in a row of tokens: four registers of tokens are compared with each id before the first look at them.
namespace srp::cpu::SRP_LEVEL {

template <int kCount>
SRP_INLINE I32 equal_any(I32 x, const I32* values) {
  I32 hit = x == values[0];
  for (int k = 1; k < kCount; ++k) hit |= x == values[k];
  return hit;
}

template <int kCount>
static int64_t find_some(const int32_t* ids, int64_t i, int64_t to, const int32_t* wanted) {
  I32 values[kCount];
  for (int k = 0; k < kCount; ++k) values[k] = splat(wanted[k]);
  constexpr int64_t kRegisters = 4;
  for (; i + kRegisters * kLanes <= to; i += kRegisters * kLanes) {
    for (int64_t byte = 0; byte < kRegisters * kLanes * 4; byte += 64)
      prefetch(reinterpret_cast<const char*>(ids + i) + 4096 + byte);
    I32 hits[kRegisters];
    for (int64_t r = 0; r < kRegisters; ++r) hits[r] = equal_any<kCount>(load(ids + i + r * kLanes), values);
    if (!any((hits[0] | hits[1]) | (hits[2] | hits[3]))) continue;
    for (int64_t r = 0; r < kRegisters; ++r)
      if (any(hits[r])) return i + r * kLanes + first_lane(hits[r]);
  }
  for (; i < to; ++i)
    for (int k = 0; k < kCount; ++k)
      if (ids[i] == wanted[k]) return i;
  return to;
}

static int64_t find_any(const int32_t* ids, int64_t from, int64_t to, const int32_t* values, int64_t count) {
  switch (count) {
    case 1:
      return find_some<1>(ids, from, to, values);
    case 2:
      return find_some<2>(ids, from, to, values);
    case 3:
      return find_some<3>(ids, from, to, values);
    default:
      return find_some<4>(ids, from, to, values);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
