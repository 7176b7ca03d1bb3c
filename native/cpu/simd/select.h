// Candidates of a unit on either side of a range (contract: surprisal/select.h): the pass that reads them.
namespace srp::cpu::SRP_LEVEL {

// One by one, behind the last register.
template <class F>
SRP_INLINE void list_rest(const F* values, const uint8_t* mask, int64_t begin, int64_t end, F low, F high,
                          uint8_t* flags, Listed* counts) {
  for (int64_t i = begin; i < end; ++i) {
    const bool keep = !mask || mask[i], over = keep && values[i] > high,
               in = keep && values[i] >= low && values[i] <= high;
    flags[i] = over ? 1 : in ? kListed : 0;
    counts->above += over;
    counts->listed += in;
    counts->nans += keep && values[i] != values[i];
  }
}

// flags: 1 above the range, kListed in it, 0 below it and under the mask; NaN is below.
static Listed list_between(const float* values, const uint8_t* mask, int64_t begin, int64_t end, float low, float high,
                           uint8_t* flags) {
  const F32 least = splat(low), most = splat(high);
  I32 above = {}, listed = {}, nans = {};  // minus their numbers
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const F32 x = load(values + i);
    const I32 keep = mask ? load_bytes(mask + i) != 0 : ~I32{};
    const I32 over = keep & (x > most), in = keep & (x >= least) & (x <= most);
    store_bytes(flags + i, (over & 1) | (in & int32_t{kListed}));
    above += over;
    listed += in;
    nans += keep & (x != x);
  }
  Listed counts = {0, 0, 0};
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    counts.above -= above[lane];
    counts.listed -= listed[lane];
    counts.nans -= nans[lane];
  }
  list_rest(values, mask, i, end, low, high, flags, &counts);
  return counts;
}

static Listed list_between(const double* values, const uint8_t* mask, int64_t begin, int64_t end, double low,
                           double high, uint8_t* flags) {
  const F64 least = splat(low), most = splat(high);
  I64 above = {}, listed = {}, nans = {};
  Listed counts = {0, 0, 0};
  int64_t i = begin;
  for (; i + kHalf <= end; i += kHalf) {
    const F64 x = load(values + i);
    const I64 keep = kept_lanes(mask, i);
    const I64 over = keep & (x > most), in = keep & (x >= least) & (x <= most),
              flag = (over & 1) | (in & int64_t{kListed});
    for (int64_t lane = 0; lane < kHalf; ++lane) flags[i + lane] = static_cast<uint8_t>(flag[lane]);
    above += over;
    listed += in;
    nans += keep & (x != x);
  }
  counts = {count_lanes(above), count_lanes(listed), count_lanes(nans)};
  list_rest(values, mask, i, end, low, high, flags, &counts);
  return counts;
}

}  // namespace srp::cpu::SRP_LEVEL
