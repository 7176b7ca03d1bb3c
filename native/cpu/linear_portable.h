// The linear head's kernels for the level "portable": one element at a time.
#ifndef SURPRISAL_CPU_LINEAR_PORTABLE_H
#define SURPRISAL_CPU_LINEAR_PORTABLE_H

#include "level.h"

namespace srp::cpu {

inline void portable_product(const Product<double>& p) {
  for (int64_t m = 0; m < p.rows; ++m)
    for (int64_t k = 0; k < p.depth; ++k) {
      const double a = p.a[m * p.a_row + k * p.a_column];
      for (int64_t n = 0; n < p.columns; ++n) p.c[m * p.c_step + n] += a * p.b[k * p.columns + n];
    }
}

inline void portable_sums(const LogitMap& map, const double* x, int64_t step, int64_t ids, int64_t count,
                          RowSums* rows) {
  for (int64_t j = 0; j < ids; ++j)
    for (int64_t r = 0; r < count; ++r) rows[r] = with_logit(map, rows[r], x[j * step + r]);
}

constexpr int64_t kNoId = -2;  // nor "no target"

inline void portable_gradients(const LogitMap& map, double* x, int64_t step, int64_t ids, int64_t count,
                               const RowGradient* rows) {
  for (int64_t j = 0; j < ids; ++j)
    for (int64_t r = 0; r < count; ++r) x[j * step + r] = rows[r].at(map, x[j * step + r], kNoId);
}

template <class T>
void portable_widen(const T* x, const T*, int64_t count, double* wide) {
  for (int64_t i = 0; i < count; ++i) wide[i] = load(x, i);
}

constexpr HeadKernels kPortableHead = {
    8,
    portable_product,
    portable_sums,
    portable_gradients,
    {{portable_widen<float>, nullptr},
     {portable_widen<double>, nullptr},
     {portable_widen<Half>, nullptr},
     {portable_widen<BFloat16>, nullptr}},
    0,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace srp::cpu

#endif
