// KL divergences of two rows of logits over the whole vocabulary, and their gradient (contract: surprisal/divergence.h), of logits of at
// most 32 bits: one block a row, two walks. All sums; the gradient, from the end of the row, where the cache still has it.
//
// With d = x - top, e = exp(d / temperature) and Z = sum e, for both sides,
//
//   KL(T‖S) = sum e_T (d_T - d_S) / Z_T / temperature - ln(Z_T / Z_S),   and KL(S‖T) with the sides changed
//
// so that one walk is enough for normalisation and terms. The two parts cancel where the rows are nearly equal: D is within 1e-14 then,
// and exactly 0 of equal rows. While a warp adds up, `top` is a logit that it has met: it rises, and the sums follow, only where a
// logit lies 8 powers of two above. In the end it is the row's maximum.
#include <float.h>

#include "divergence.cuh"
#include "greatest.cuh"
#include "pair_powers.cuh"

namespace srp::cuda {
namespace {

constexpr double kLeast = -32.0 * 990;  // of the arguments of powers that need no care, in 32nds
constexpr double kLeastOfPairs = -32.0 * 100;  // of pairs of float32
constexpr double kRise = 32.0 * 8;  // above the top, in 32nds: there the top rises

// One side of a row.
template <class T>
struct Logits {
  const T* x;
  bool aligned;
  float top = -FLT_MAX;  // powers are of differences from it
  float roof = -INFINITY;  // logits above it raise the top
  float deep = INFINITY;  // logits from here on have powers that need no care

  __device__ Logits(const T* row) : x(row), aligned(aligned16(row)) {}

  __device__ __forceinline__ Vector<T> load_at(int64_t j, int64_t V) const {
    return aligned && j + Vector<T>::kCount <= V ? load_vector(x + j) : load_pieces(x, j, V);
  }
  __device__ __forceinline__ TwoFloats pair_below_top(float number) const { return TwoFloats::sum(number, -top); }
  __device__ __forceinline__ double below_top(float number) const {
    return static_cast<double>(number) - static_cast<double>(top);
  }
  // By how much the top rises; 0 of a first one, as nothing is added up before it.
  __device__ double raise_to(float number, double rate) {
    const double rise = roof == -INFINITY ? 0 : below_top(number);
    top = number;
    roof = static_cast<float>(static_cast<double>(top) + kRise / rate);
    const double least = static_cast<double>(top) + (slow_float64() ? kLeastOfPairs : kLeast) / rate;
    deep = slow_float64() && !tame(rate) ? INFINITY : static_cast<float>(least);
    if (static_cast<double>(deep) < least) deep = nextafterf(deep, INFINITY);
    return rise;
  }
  __device__ bool finite() const { return fabsf(top) < INFINITY; }
};

__device__ __forceinline__ float warp_greatest(float number) {
  return warp_reduce(number, [](float a, float b) { return fmaxf(a, b); });
}

template <class N>
struct Power {
  N d, e;
};

// Sums of e, and of e (d - d of the other).
struct KlSums {
  double primary = 0, other = 0, gaps = 0;

  __device__ __forceinline__ void add(const Power<double>& a, const Power<double>& b) {
    primary += a.e;
    other += b.e;
    gaps = fma(a.e, a.d - b.d, gaps);
  }
};
// Of the ids of a vector.
struct PairSums {
  ThreeFloats primary, other, gaps;

  __device__ __forceinline__ void add(const Power<TwoFloats>& a, const Power<TwoFloats>& b) {
    primary += a.e;
    other += b.e;
    gaps += a.e * (a.d - b.d);
  }
};

struct Adds {
  KlSums& mine;
  PairSums& pairs;

  __device__ __forceinline__ void operator()(int, const Power<double>& a, const Power<double>& b) const {
    mine.add(a, b);
  }
  __device__ __forceinline__ void operator()(int, const Power<TwoFloats>& a, const Power<TwoFloats>& b) const {
    pairs.add(a, b);
  }
};

// Both sides of a row; `primary` is the first argument of the divergence, whose probabilities weigh.
template <class T>
struct KlRow {
  static constexpr int kCount = Vector<T>::kCount;
  const LanePowers& powers;
  const PairPowers& pair_powers;
  double rate;
  Logits<T> primary, other;

  // No powers in pairs from here on, where float64 is slow.
  __device__ __forceinline__ void take_care() {
    if (slow_float64()) primary.deep = INFINITY;
  }

  // plain(i, primary, other) for the ids of a vector, in pairs of float32 where float64 is slow; or careful(i, primary, other) for all of
  // them, where powers may be 0. All lanes of the warp call it.
  template <class Plain, class Careful>
  __device__ __forceinline__ void each(const Vector<T>& p, const Vector<T>& q, const Plain& plain,
                                       const Careful& careful) const {
    if (__all_sync(kFullWarp, least(p) >= primary.deep && least(q) >= other.deep)) {
      SRP_UNROLL
      for (int i = 0; i < kCount; ++i) {
        if (slow_float64()) {
          const TwoFloats a = primary.pair_below_top(element(p, i)), b = other.pair_below_top(element(q, i));
          plain(i, Power<TwoFloats>{a, pair_powers(a)}, Power<TwoFloats>{b, pair_powers(b)});
        } else {
          const double a = primary.below_top(element(p, i)), b = other.below_top(element(q, i));
          plain(i, Power<double>{a, powers(a, rate)}, Power<double>{b, powers(b, rate)});
        }
      }
      return;
    }
    SRP_UNROLL
    for (int i = 0; i < kCount; ++i) {  // masked ids, ids behind V, and powers that are 0 or nearly so
      const double a = primary.below_top(element(p, i)), b = other.below_top(element(q, i));
      careful(i, Power<double>{a, powers.deep(a, rate)}, Power<double>{b, powers.deep(b, rate)});
    }
  }

  // The tops rise to these, and the sums of the warp follow. All lanes of the warp call it.
  __device__ void raise(KlSums& sums, float primary_top, float other_top) {
    const double of_primary = powers.deep(-primary.below_top(primary_top), rate);
    const double of_other = powers.deep(-other.below_top(other_top), rate);
    const double rise = primary.raise_to(primary_top, rate), shift = other.raise_to(other_top, rate) - rise;
    sums.gaps = of_primary == 0 ? 0 : of_primary * (sums.gaps + shift * sums.primary);
    sums.primary *= of_primary;
    sums.other *= of_other;
  }

  // Infinite gaps where the other side lacks an id. All threads of the block call it, and all get them; both tops are the maxima then. A
  // row that has no numbers to compare has no sums: its tops say why.
  __device__ KlSums sum(int64_t V) {
    KlSums sums;
    Vector<T> most = load_pieces(primary.x, 0, 0), most_other = most;
    float lacking = -INFINITY;  // the largest logit that the other side lacks
    const int64_t step = int64_t{blockDim.x} * kCount;
    int64_t j = int64_t{threadIdx.x} * kCount;
    Vector<T> next = primary.load_at(j, V), next_other = other.load_at(j, V);
    SRP_KEEP_ROLLED
    for (int64_t first = 0; first < V; first += step) {  // in step: lanes need each other
      const Vector<T> p = next, q = next_other;
      j += step;
      if (first + step < V) {
        next = primary.load_at(j, V);
        next_other = other.load_at(j, V);
      }
      most = greater_or_nan(most, p);
      most_other = greater_or_nan(most_other, q);
      const float top = greatest(p), other_top = greatest(q);
      if (__any_sync(kFullWarp, top > primary.roof || other_top > other.roof))
        raise(sums, fmaxf(primary.top, warp_greatest(top)), fmaxf(other.top, warp_greatest(other_top)));
      KlSums mine;
      PairSums pairs;
      const auto careful = [&](int i, const Power<double>& a, const Power<double>& b) {
        mine.primary += a.e;
        mine.other += b.e;
        if (a.e == 0) return;  // 0 ln 0 = 0, wherever the other side is
        if (b.d > -INFINITY)
          mine.gaps = fma(a.e, a.d - b.d, mine.gaps);
        else
          lacking = fmaxf(lacking, element(p, i));
      };
      each(p, q, Adds{mine, pairs}, careful);
      if (slow_float64()) {
        mine.primary += pairs.primary.wide();
        mine.other += pairs.other.wide();
        mine.gaps += pairs.gaps.wide();
      }
      sums.primary += mine.primary;
      sums.other += mine.other;
      sums.gaps += mine.gaps;
    }
    const float top = block_reduce(greatest_or_nan(most), Max{});
    const float other_top = block_reduce(greatest_or_nan(most_other), Max{});
    if (!(fabsf(top) < INFINITY && fabsf(other_top) < INFINITY)) {
      primary.top = top;
      other.top = other_top;
      return sums;
    }
    raise(sums, top, other_top);
    const bool lacks = powers.deep(primary.below_top(lacking), rate) != 0;
    return {block_sum(sums.primary), block_sum(sums.other), block_sum(lacks ? INFINITY : sums.gaps)};
  }
};

SRP_HD double rate_of(const srp_divergence_rows_args& a) { return 1 / (kNats * a.temperature); }

// What the gradient of a row is made of. The factor comes last of all: it may be infinite.
template <class N>
struct Slopes {
  N factor, of_primary, of_other, of_terms, mean;

  // Of the reverse divergence: S (ln(S/T) - D) = S (d_S - d_T - mean) / temperature.
  template <bool kReverse>
  __device__ __forceinline__ N of(const Power<N>& p, const Power<N>& q) const {
    if (kReverse) return factor * (p.e * of_terms * (p.d - q.d - mean));
    return factor * (q.e * of_other - p.e * of_primary);
  }
};
__device__ __forceinline__ const Slopes<double>& slopes_like(const Power<double>&, const Slopes<double>& slopes,
                                                             const Slopes<TwoFloats>&) {
  return slopes;
}
__device__ __forceinline__ const Slopes<TwoFloats>& slopes_like(const Power<TwoFloats>&, const Slopes<double>&,
                                                                const Slopes<TwoFloats>& slopes) {
  return slopes;
}

// ledger    divergence_rows
// bytes     2 s V N + s stride N grad
// limit     issue
// notes     KL divergences over the vocabulary: two walks, a third of the later one from L2; four powers of two an id, as pairs of
//           float32 where float64 is slow
// variants  temperatures other than 1 take a product an id
// turn      8 of divergence_kl_kernel<BFloat16, false>: 32 loaded, 128 float64 + 32 loaded, 16 stored, 128 float64; 6 bytes; at
//           most 96; must 0.4; before 249; executed 96
// sm_89     8 of divergence_kl_kernel<BFloat16, false>: 32 loaded, 128 fused + 32 loaded, 16 stored, 128 fused; 6 bytes; at most
//           334; must 0.4; before 203
// measured  0.28 of a copy: half of the time is spent waiting for loads
template <class T, bool kReverse>
__global__ void __launch_bounds__(kMostThreads, 2)
    divergence_kl_kernel(srp_divergence_rows_args a, TwoFloats pair_rate) {
  constexpr int kCount = Vector<T>::kCount;
  const LanePowers powers;
  const double rate = rate_of(a);
  const PairPowers pair_powers(pair_rate);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    T* const grad = a.grad_student ? static_cast<T*>(a.grad_student) + n * a.student_stride : nullptr;
    if (!row_kept(a.mask, n)) {
      clear_row(a, n, grad);
      continue;
    }
    const Logits<T> student(static_cast<const T*>(a.student) + n * a.student_stride);
    const Logits<T> teacher(static_cast<const T*>(a.teacher) + n * a.teacher_stride);
    KlRow<T> row = {powers, pair_powers, rate, kReverse ? student : teacher, kReverse ? teacher : student};
    const KlSums sums = row.sum(a.V);
    const bool plain = row.primary.finite() && row.other.finite();
    const bool bad = !(row.primary.top < INFINITY) || !(row.other.top < INFINITY);
    double value = NAN;
    if (plain) {
      value = sums.gaps / sums.primary / a.temperature - log(sums.primary / sums.other);
      value = value < 0 ? 0 : value;  // what rounding left of equal rows
    }
    if (a.divergences && threadIdx.x == 0) a.divergences[n] = value;
    if (!grad) continue;
    const double weight = a.grad_divergences ? a.grad_divergences[n] : 1;
    fill_row(grad, a.V, a.student_stride, 0);
    if (!plain || weight == 0) {
      fill_row(grad, 0, a.V, bad && weight != 0 ? NAN : 0);
      continue;
    }
    const bool aligned = aligned16(grad);
    const double mean = value < INFINITY ? sums.gaps / sums.primary : NAN;
    const Slopes<double> slopes = {weight / a.temperature, 1 / sums.primary, 1 / sums.other,
                                   1 / sums.primary / a.temperature, mean};
    const Slopes<TwoFloats> pair_slopes = {TwoFloats(slopes.factor), TwoFloats(slopes.of_primary),
                                           TwoFloats(slopes.of_other), TwoFloats(slopes.of_terms), TwoFloats(mean)};
    if (!tame(slopes.factor) || !tame(slopes.of_terms)) row.take_care();
    const int64_t step = int64_t{blockDim.x} * kCount;
    int64_t j = (a.V - 1) / step * step + int64_t{threadIdx.x} * kCount;
    Vector<T> next = row.primary.load_at(j, a.V), next_other = row.other.load_at(j, a.V);
    SRP_KEEP_ROLLED
    for (int64_t left = (a.V + step - 1) / step; left > 0; --left, j -= step) {
      const Vector<T> mine = next, others = next_other;
      if (left > 1) {
        next = row.primary.load_at(j - step, a.V);
        next_other = row.other.load_at(j - step, a.V);
      }
      float out[kCount];
      row.each(
          mine, others,
          [&](int i, const auto& p, const auto& q) {
            out[i] = rounds_to(slopes_like(p, slopes, pair_slopes).template of<kReverse>(p, q), T{});
          },
          [&](int i, const Power<double>& p, const Power<double>& q) {
            out[i] = rounds_to(kReverse && p.e == 0 ? 0 : slopes.template of<kReverse>(p, q), T{});
          });
      const Vector<T> to = rounded(out, T{});
      if (aligned && j + kCount <= a.V)
        store_vector(grad + j, to);
      else
        store_pieces(grad, j, a.V, to);
    }
  }
}

template <class T>
void launch(srp_queue* queue, const srp_divergence_rows_args& a) {
  const auto kernel = a.beta == 0 ? divergence_kl_kernel<T, false> : divergence_kl_kernel<T, true>;
  SRP_LAUNCH(kernel, row_blocks(queue, a.N), threads_for(a.V), 0, queue->stream, a, TwoFloats(rate_of(a)));
}

}  // namespace

void launch_kl(srp_queue* queue, const srp_divergence_rows_args& a) {
  if (a.dtype == SRP_F32)
    launch<float>(queue, a);
  else if (a.dtype == SRP_F16)
    launch<Half>(queue, a);
  else
    launch<BFloat16>(queue, a);
}

}  // namespace srp::cuda
