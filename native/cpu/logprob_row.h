// One row of logits on the CPU, for every op that walks them: its sums, and the gradient of its columns.
//
// The level's kernels take rows without NaN and +infinity. The rest, and everything on the level "portable", goes one element at
// a time in float64: two passes for the sums, the maximum and then the others.
#ifndef SURPRISAL_CPU_LOGPROB_ROW_H
#define SURPRISAL_CPU_LOGPROB_ROW_H

#include "sizes.h"
#include "level.h"

namespace srp::cpu {

template <class T>
RowSums sum_row_slowly(const LogitMap& map, const T* x, int64_t V) {
  double max = -INFINITY;
  int64_t first = -1;
  for (int64_t j = 0; j < V; ++j) {
    const double value = load(x, j);
    if (value != value) return no_sums(value);
    if (value > max) {
      max = value;
      first = j;
    }
  }
  RowSums sums = {max, 0, 0, 0};
  if (!sums.finite()) return no_sums(max);
  for (int64_t j = 0; j < V; ++j) {
    if (j == first) continue;
    const double gap = map.below_max(load(x, j), max);
    const double e = exp(gap);
    if (e == 0) continue;  // masked or far below: gap may be -infinity, and 0 * -infinity is not 0
    sums.rest += e;
    sums.weighted += e * gap;
    sums.squares += e * e;
  }
  return sums;
}

// `squares` false: the sum of squares may stay 0.
template <class T>
RowSums sum_row(const LogitMap& map, const T* x, int64_t V, bool squares = true) {
  const Kernels* const level = kernels();
  RowSums sums;
  if (level) {
    const LogprobKernels<T>& row = level->logprob.of<T>();
    const bool summed = map.capped() ? row.capped_sums(x, V, map, &sums)
                                     : (squares ? row.sums_and_squares : row.sums)(x, V, map.slope, &sums);
    if (summed) return sums;
  }
  return sum_row_slowly(map, x, V);
}

template <class T>
void fill(T* to, int64_t count, double value) {
  T one;
  store(&one, 0, value);
  for (int64_t j = 0; j < count; ++j) to[j] = one;
}

template <class T>
void gradient_row_slowly(const LogitMap& map, const T* x, int64_t V, const RowSlopes& row, T* grad) {
  for (int64_t j = 0; j < V; ++j) {
    const double logit = load(x, j), gap = map.below_max(logit, row.max_logit), p = exp(gap - row.log1p_sum);
    const double dz = p * (0 - row.sum - row.of_entropy * (gap + row.mean_gap));
    store(grad, j, p == 0 ? 0 : dz * map.derivative(logit));
  }
}

// The gradient of all V columns as if none were a target. `grad` may be `x`.
template <class T>
void gradient_row(const LogitMap& map, const T* x, int64_t V, const RowSlopes& row, T* grad, bool past_cache = false) {
  const Kernels* const level = kernels();
  // A coefficient that is not finite must not meet a p of 0.
  if (!level || !(fabs((row.sum + row.of_entropy * (row.mean_gap + 1)) * map.slope) < 1e30))
    return gradient_row_slowly(map, x, V, row, grad);
  const LogprobGradient gradient = {
      static_cast<float>(row.max_logit), row.log1p_sum, map, row.sum, row.mean_gap, row.of_entropy};
  level->logprob.of<T>().gradient(x, grad, V, gradient, past_cache);
}

}  // namespace srp::cpu

#endif
