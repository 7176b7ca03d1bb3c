// Logits of a linear head as [ids, rows], kHalf rows of the batch at a time, a row a lane: their sums and their gradients
// (contracts: shared/logprob.h, shared/linear.h), in float64.
namespace srp::cpu::SRP_LEVEL {

template <class T>
static void widen(const T* x, const T* next, int64_t count, double* wide) {
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if (i % kLine == 0) prefetch(next + i);
    store_rounded(wide + i, load_wide_pair(x + i));
  }
  for (; i < count; ++i) wide[i] = srp::load(x, i);
}

template <class T>
static void as_floats(const T* x, const T* next, int64_t count, float* to) {
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if (i % kLine == 0) prefetch(next + i);
    store(to + i, load(x + i));
  }
  for (; i < count; ++i) to[i] = static_cast<float>(srp::load(x, i));
}

template <bool kCapped>
static void sum_lanes(const LogitMap& map, const double* x, int64_t step, int64_t ids, int64_t count, RowSums* rows) {
  const WideMap wide = wide_map(map);
  F64 max = splat(static_cast<double>(-INFINITY)), odd = {};
  for (int64_t j = 0; j < ids; ++j) {
    const F64 at = load(x + j * step);
    max = at > max ? at : max;
    odd = at == at ? odd : at;
  }
  const F64 top = top_of<kCapped>(wide, max);
  F64 rest = {}, weighted = {}, squares = {};
  I64 seen = {};
  for (int64_t j = 0; j < ids; ++j) {
    const F64 at = load(x + j * step), gap = gap_of<kCapped>(wide, at, top);
    const I64 first = (at == max) & ~seen;  // the maximum is in no sum
    seen |= first;
    const F64 all = exp_flushed(gap), e = first ? F64{} : all;
    rest += e;
    weighted += e == F64{} ? F64{} : e * gap;  // a masked id's gap is -infinity
    squares += e * e;
  }
  for (int64_t r = 0; r < count; ++r) {
    RowSums block = {odd[r] == odd[r] ? max[r] : NAN, rest[r], weighted[r], squares[r]};
    if (!block.finite()) block = no_sums(block.max_logit);
    rows[r] = merge_sums(map, rows[r], block);
  }
}

template <bool kCapped>
static void gradient_lanes(const LogitMap& map, double* x, int64_t step, int64_t ids, const RowGradient* rows) {
  const WideMap wide = wide_map(map);
  F64 max = {}, tail = {}, mean_gap = {}, of_logprob = {}, of_entropy = {}, otherwise = {};
  I64 finite = {};
  for (int64_t r = 0; r < kHalf; ++r) {
    const RowGradient& row = rows[r];
    finite[r] = row.max_logit > -INFINITY && row.max_logit < INFINITY ? -1 : 0;
    otherwise[r] = row.max_logit == -INFINITY ? 0 : NAN;
    max[r] = row.max_logit;
    tail[r] = row.log1p_sum;
    mean_gap[r] = row.mean_gap;
    of_logprob[r] = row.of_logprob;
    of_entropy[r] = row.of_entropy;
  }
  const F64 top = top_of<kCapped>(wide, max);
  for (int64_t j = 0; j < ids; ++j) {
    const F64 at = load(x + j * step), gap = gap_of<kCapped>(wide, at, top), p = exp_flushed(gap - tail);
    const F64 dz = -p * (of_logprob + of_entropy * (gap + mean_gap));
    const F64 g = p == F64{} ? F64{} : dz * derivative_of<kCapped>(wide, at);
    store(x + j * step, finite ? g : otherwise);
  }
}

// Adds the logits of `ids` ids to the sums of `count` rows.
static void sum_columns(const LogitMap& map, const double* x, int64_t step, int64_t ids, int64_t count, RowSums* rows) {
  for (int64_t r = 0; r < count; r += kHalf) {
    const int64_t lanes = count - r < kHalf ? count - r : kHalf;
    (map.capped() ? sum_lanes<true> : sum_lanes<false>)(map, x + r, step, ids, lanes, rows + r);
  }
}

// Logits of columns that are no target to their gradients, in place; rows to a multiple of kHalf.
static void gradient_columns(const LogitMap& map, double* x, int64_t step, int64_t ids, int64_t count,
                             const RowGradient* rows) {
  for (int64_t r = 0; r < count; r += kHalf)
    (map.capped() ? gradient_lanes<true> : gradient_lanes<false>)(map, x + r, step, ids, rows + r);
}

}  // namespace srp::cpu::SRP_LEVEL
