// Finds the next of a few ids in a row of tokens, 64 tokens at a time: a bit for each token, so that one branch tests them all.
namespace srp::cpu::SRP_LEVEL {

template <class Id>
struct IdRegister;
template <>
struct IdRegister<int32_t> {
  typedef I32 Lanes;
  static constexpr int64_t kCount = kLanes;
};
template <>
struct IdRegister<int64_t> {
  typedef I64 Lanes;
  static constexpr int64_t kCount = kHalf;
};

// An int32 moved by 2^31 leaves the upper half of its 64 bits empty: `strange` gathers the halves of those that do not.
SRP_INLINE void note_strange(I32, U64*) {}
SRP_INLINE void note_strange(I64 ids, U64* strange) { *strange |= ((U64)ids + 0x80000000u); }
SRP_INLINE bool any_strange(U64 strange) { return any((I32)((strange >> 32) != 0)); }

// Bit k: ids[k], of `kRegisters` registers, is one of the values.
template <int kCount, int64_t kRegisters, class Id>
SRP_INLINE uint64_t found_among(const Id* ids, const typename IdRegister<Id>::Lanes* values, U64* strange) {
  uint64_t found = 0;
  for (int64_t r = 0; r < kRegisters; ++r) {
    const auto x = load(ids + r * IdRegister<Id>::kCount);
    note_strange(x, strange);
    uint64_t equal = equal_lanes(x, values[0]);
    for (int k = 1; k < kCount; ++k) equal |= equal_lanes(x, values[k]);
    found |= equal << (r * IdRegister<Id>::kCount);
  }
  return found;
}

// Bytes. Cores with AVX-512 have places enough in their first cache for what is looked at for a moment only; others would wait for one.
#if defined(SRP_LEVEL_AVX512)
constexpr int64_t kFindAhead = 8192;
SRP_INLINE void fetch_ids(const void* p) { prefetch(p); }
#else
constexpr int64_t kFindAhead = 4096;
SRP_INLINE void fetch_ids(const void* p) { prefetch_further(p); }
#endif

template <int kCount, class Id>
static int64_t find_some(const Id* ids, int64_t i, int64_t to, const int32_t* wanted) {
  typename IdRegister<Id>::Lanes values[kCount];
  for (int k = 0; k < kCount; ++k) values[k] = splat(Id{wanted[k]});
  constexpr int64_t kBlock = 64, kRegister = IdRegister<Id>::kCount;
  for (; i + kBlock <= to; i += kBlock) {
    for (int64_t byte = 0; byte < kBlock * int64_t{sizeof(Id)}; byte += 64)
      fetch_ids(reinterpret_cast<const char*>(ids + i) + kFindAhead + byte);
    U64 strange = {};
    const uint64_t found = found_among<kCount, kBlock / kRegister>(ids + i, values, &strange);
    if (sizeof(Id) > 4 && any_strange(strange)) return kStrange;
    if (found) return i + __builtin_ctzll(found);
  }
  for (; i + kRegister <= to; i += kRegister) {
    U64 strange = {};
    const uint64_t found = found_among<kCount, 1>(ids + i, values, &strange);
    if (sizeof(Id) > 4 && any_strange(strange)) return kStrange;
    if (found) return i + __builtin_ctzll(found);
  }
  for (; i < to; ++i) {
    if (ids[i] != static_cast<int32_t>(ids[i])) return kStrange;
    for (int k = 0; k < kCount; ++k)
      if (ids[i] == wanted[k]) return i;
  }
  return to;
}

template <class Id>
static int64_t find_any(const Id* ids, int64_t from, int64_t to, const int32_t* values, int64_t count) {
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
