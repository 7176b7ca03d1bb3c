// Normalisation of kHalf groups of the same size at once, a group a lane (contract: surprisal/group.h). Every lane does what
// GroupStatistics (surprisal/group_steps.h) does for one group, in the same order, so the results are the same bits.
namespace srp::cpu::SRP_LEVEL {

// Items [first, first + kHalf * size). False: not for this kernel (NaN or an infinity among them), and nothing was written.
template <class F>
static bool normalize_groups(const srp_group_normalize_args& a, int64_t first_group, int64_t first, int64_t size) {
  const F* const values = static_cast<const F*>(a.values) + first;
  F64 x[kMostLaneItems];
  F64 total = {}, low = splat(static_cast<double>(INFINITY)), high = -low;
  for (int64_t k = 0; k < size; ++k) {
    for (int64_t lane = 0; lane < kHalf; ++lane) x[k][lane] = static_cast<double>(values[lane * size + k]);
    total += x[k];
    low = x[k] < low ? x[k] : low;
    high = x[k] > high ? x[k] : high;
  }
  if (any_not_finite(total)) return false;

  const double n = static_cast<double>(size);
  const I64 constant = low == high;
  const F64 rough = total / splat(n);
  F64 sum = {}, squares = {};
  for (int64_t k = 0; k < size; ++k) {
    const F64 d = x[k] - rough;
    sum += d;
    squares += d * d;
  }
  const F64 left = sum / splat(n), floor = splat(a.variance_floor);
  F64 variance = (squares - splat(n) * left * left) / splat(n - a.ddof);
  variance = variance < floor ? floor : variance;
  variance = constant ? floor : variance;
  const F64 mean = constant ? low : rough, residue = constant ? F64{} : left, std = square_root(variance);
  if (any_not_finite(variance)) return false;

  if (a.normalized) {
    F* const normalized = static_cast<F*>(a.normalized) + first;
    const F64 gain = splat(a.gain), divisor = std + splat(a.epsilon), others = splat(n / (n - 1));
    const bool centred = a.center != SRP_CENTER_NONE, scaled = a.scale == SRP_SCALE_STD;
    for (int64_t k = 0; k < size; ++k) {
      F64 y = x[k];
      if (centred) {
        y = (y - mean) - residue;
        if (a.center == SRP_CENTER_LEAVE_ONE_OUT) y *= others;
      }
      if (scaled) y /= divisor;
      if (centred) y = constant ? F64{} : y;
      y *= gain;
      for (int64_t lane = 0; lane < kHalf; ++lane) normalized[lane * size + k] = static_cast<F>(y[lane]);
    }
  }
  const F64 shown = mean + residue;
  for (int64_t lane = 0; lane < kHalf; ++lane) {
    if (a.mean) static_cast<F*>(a.mean)[first_group + lane] = static_cast<F>(shown[lane]);
    if (a.std) static_cast<F*>(a.std)[first_group + lane] = static_cast<F>(std[lane]);
    if (a.count) a.count[first_group + lane] = static_cast<int32_t>(size);
  }
  return true;
}

}  // namespace srp::cpu::SRP_LEVEL
