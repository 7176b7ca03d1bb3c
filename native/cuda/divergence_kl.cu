// KL divergences of two rows of logits over the whole vocabulary, and their gradient (contract: surprisal/divergence.h), of logits of at
// most 32 bits: one block a row, three walks of which the later ones find the row in the cache. The maxima; all sums; the gradient.
//
// With d = x - max, e = exp(d / temperature) and Z = sum e, for both sides,
//
//   KL(T‖S) = sum e_T (d_T - d_S) / Z_T / temperature - ln(Z_T / Z_S),   and KL(S‖T) with the sides changed
//
// so that one walk is enough for normalisation and terms. The two parts cancel where the rows are nearly equal: D is within 1e-14 then,
// and exactly 0 of equal rows.
#include "divergence.cuh"
#include "greatest.cuh"
#include "powers.cuh"

namespace srp::cuda {
namespace {

constexpr double kLeast = -32.0 * 990;  // of the arguments of powers that need no care, in 32nds

// One side of a row.
template <class T>
struct Logits {
  const T* x;
  bool aligned;
  float max;  // NaN: the row has one
  float deep;  // logits from here on have powers that need no care

  // All threads of the block call it.
  __device__ Logits(const T* row, int64_t V, double rate) : x(row), aligned(aligned16(row)) {
    constexpr int kCount = Vector<T>::kCount;
    const int64_t step = int64_t{blockDim.x} * kCount;
    Vector<T> most = load_pieces(row, 0, 0);
    for (int64_t j = int64_t{threadIdx.x} * kCount; j < V; j += step) most = greater_or_nan(most, load_at(j, V));
    max = block_reduce(greatest_or_nan(most), Max{});
    const double least = static_cast<double>(max) + kLeast / rate;
    deep = static_cast<float>(least);
    if (static_cast<double>(deep) < least) deep = nextafterf(deep, INFINITY);
  }

  __device__ __forceinline__ Vector<T> load_at(int64_t j, int64_t V) const {
    return aligned && j + Vector<T>::kCount <= V ? load_vector(x + j) : load_pieces(x, j, V);
  }
  __device__ __forceinline__ double below_max(float number) const {
    return static_cast<double>(number) - static_cast<double>(max);
  }
  __device__ bool finite() const { return fabsf(max) < INFINITY; }
};

struct KlSums {
  double primary = 0, other = 0, gaps = 0;  // sums of e, and of e (d - d of the other)
};

// Both sides of a row; `primary` is the first argument of the divergence, whose probabilities weigh.
template <class T>
struct KlRow {
  static constexpr int kCount = Vector<T>::kCount;
  const LanePowers& powers;
  double rate;
  Logits<T> primary, other;

  struct Power {
    double d, e;
  };

  // visit(careful, i, primary, other) for the ids of a vector. `careful`: whether powers may be 0. All lanes of the warp call it.
  template <class Visit>
  __device__ __forceinline__ void each(const Vector<T>& p, const Vector<T>& q, const Visit& visit) const {
    const bool careful = !__all_sync(kFullWarp, least(p) >= primary.deep && least(q) >= other.deep);
    if (!careful) {
      SRP_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const double a = primary.below_max(element(p, i)), b = other.below_max(element(q, i));
        visit(false, i, Power{a, powers(a, rate)}, Power{b, powers(b, rate)});
      }
      return;
    }
    SRP_UNROLL
    for (int i = 0; i < kCount; ++i) {  // masked ids, ids behind V, and powers that are 0 or nearly so
      const double a = primary.below_max(element(p, i)), b = other.below_max(element(q, i));
      visit(true, i, Power{a, powers.deep(a, rate)}, Power{b, powers.deep(b, rate)});
    }
  }

  // All threads of the block call it, and all get them.
  __device__ KlSums sum(int64_t V) const {
    KlSums sums;
    const int64_t step = int64_t{blockDim.x} * kCount;
    for (int64_t first = 0; first < V; first += step) {  // in step: lanes need each other
      const int64_t j = first + int64_t{threadIdx.x} * kCount;
      KlSums mine;
      each(primary.load_at(j, V), other.load_at(j, V), [&](bool careful, int, const Power& a, const Power& b) {
        mine.primary += a.e;
        mine.other += b.e;
        if (!careful || a.e != 0) mine.gaps = fma(a.e, a.d - b.d, mine.gaps);  // 0 ln 0 = 0, wherever the other side is
      });
      sums.primary += mine.primary;
      sums.other += mine.other;
      sums.gaps += mine.gaps;
    }
    return {block_sum(sums.primary), block_sum(sums.other), block_sum(sums.gaps)};
  }
};

// ledger    divergence_rows
// bytes     2 s V N + s stride N grad
// limit     issue
// notes     KL divergences over the vocabulary: three walks, the later two from L2; four powers of two an id, the reverse one three
// turn      8 of divergence_kl_kernel<BFloat16, false>: 16 loaded + 16 loaded + 32 loaded, 128 float64 + 32 loaded, 16 stored, 128 float64; 6 bytes;
//           at most 93; must 0.4
// short     where float64 is slow: 47 float64 operations an id, one in 16 cycles on sm_89. A pair of float32 takes about 15
//           instructions in place of each, which would end just below the goal too, and holds 1e-12 only with care
template <class T, bool kReverse>
__global__ void __launch_bounds__(kMostThreads, 2) divergence_kl_kernel(srp_divergence_rows_args a) {
  constexpr int kCount = Vector<T>::kCount;
  const LanePowers powers;
  const double rate = 1 / (kNats * a.temperature);
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    T* const grad = a.grad_student ? static_cast<T*>(a.grad_student) + n * a.student_stride : nullptr;
    if (!row_kept(a.mask, n)) {
      clear_row(a, n, grad);
      continue;
    }
    const Logits<T> student(static_cast<const T*>(a.student) + n * a.student_stride, a.V, rate);
    const Logits<T> teacher(static_cast<const T*>(a.teacher) + n * a.teacher_stride, a.V, rate);
    const bool plain = student.finite() && teacher.finite();
    const bool bad = !(student.max < INFINITY) || !(teacher.max < INFINITY);
    const KlRow<T> row = {powers, rate, kReverse ? student : teacher, kReverse ? teacher : student};
    KlSums sums;
    double value = NAN;
    if (plain) {
      sums = row.sum(a.V);
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
    const double factor = weight / a.temperature;  // last of all: it may be infinite
    const double of_primary = 1 / sums.primary, of_other = 1 / sums.other;
    // Of the reverse divergence: S (ln(S/T) - D) = S (d_S - d_T - mean) / temperature.
    const double slope = of_primary / a.temperature;
    const double mean = value < INFINITY ? sums.gaps / sums.primary : NAN;
    const int64_t step = int64_t{blockDim.x} * kCount;
    for (int64_t first = 0; first < a.V; first += step) {
      const int64_t j = first + int64_t{threadIdx.x} * kCount;
      float out[kCount];
      row.each(row.primary.load_at(j, a.V), row.other.load_at(j, a.V),
               [&](bool careful, int i, const auto& p, const auto& q) {
                 double g;
                 if (kReverse)
                   g = careful && p.e == 0 ? 0 : factor * (p.e * slope * (p.d - q.d - mean));
                 else
                   g = factor * (q.e * of_other - p.e * of_primary);
                 out[i] = rounds_to(g, T{});
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
  SRP_LAUNCH(kernel, row_blocks(a.N), threads_for(a.V), 0, queue->stream, a);
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
