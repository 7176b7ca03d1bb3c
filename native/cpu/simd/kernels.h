// The table of one level: included once by each native/cpu/level_*.cpp, inside its target region.
#include "vector.h"
#include "pairs.h"
#include "halves.h"
#include "find.h"
#include "mask.h"
#include "exp_wide.h"
#include "exp_less_one.h"
#include "tanh_wide.h"
#include "wide_map.h"
#include "logprob_largest.h"
#include "logprob_block.h"
#include "logprob_sums.h"
#include "logprob_capped.h"
#include "logprob_gradient.h"
#include "drain.h"
#include "scan_maps.h"
#include "scan_mask.h"
#include "scan_plain.h"
#include "scan.h"
#include "group.h"
#include "group_one.h"
#include "rows.h"
#include "ratio.h"
#include "reduce.h"
#include "modulate.h"
#include "select.h"
#include "covariance.h"
#include "lanes.h"
#if defined(SRP_LEVEL_SIMD128)
// The module has to be small: losses are compiled for size there, loops over logits for speed.
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif
#include "columns.h"
#include "ratio_tokens.h"
#include "loss_figures.h"
#include "loss_inputs.h"
#include "loss_tokens.h"
#include "loss_rows.h"
#include "wide_pairs.h"
#include "log_wide.h"
#include "divergence.h"
#include "divergence_kl.h"
#include "correction.h"
#if defined(SRP_LEVEL_SIMD128)
#pragma clang attribute pop
#endif
#include "product_runs.h"
#include "product.h"
#include "head_columns.h"

namespace srp::cpu::SRP_LEVEL {

template <class T>
constexpr LogprobKernels<T> logprob_kernels() {
  return {sum_row<false, T>, sum_row<true, T>, sum_capped_row<T>, gradient_row<InIntegers, T>};
}

template <class F>
constexpr FloatKernels<F> float_kernels() {
  return {scan_rows<F>,        normalize_groups<F>,   {describe_one<F>, spread_of_one<F>, write_one<F>},
          column_kernels<F>(), sum_differences<F>,    spread<F>,
          reduce_kernels<F>(), modulate_span<F>,      list_between,
          pair_kernels<F>(),   exponential_of_one<F>, log_tokens<F>,
          loss_tokens<F>,      loss_row_kernels<F>(), correction_kernels<F>()};
}

static constexpr Kernels kKernels = {
    SRP_LEVEL_NAME,
    kLanes,
    {float_kernels<float>(), float_kernels<double>()},
    {logprob_kernels<float>(), logprob_kernels<Half>(), logprob_kernels<BFloat16>()},
    {divergence_kernels<float>(), divergence_kernels<double>(), divergence_kernels<Half>(),
     divergence_kernels<BFloat16>()},
    {{find_any<int32_t>}, {find_any<int64_t>}},
    {kHalf,
     product<double>,
     sum_columns,
     gradient_columns,
     {{widen<float>, as_floats<float>},
      {widen<double>, nullptr},
      {widen<Half>, as_floats<Half>},
      {widen<BFloat16>, as_floats<BFloat16>}},
     kLanes,
     product<float>,
     interleave,
     settle,
     narrow_gradients,
     nullptr},
    count_bytes,
};

#if SRP_LEVEL_HAS_BF16
constexpr Kernels with_bf16(Kernels kernels) {
  kernels.name = SRP_LEVEL_NAME_WITH_BF16;
  kernels.head.pair_product = product<BFloat16Pair>;
  static_cast<LogprobKernels<BFloat16>&>(kernels.logprob).gradient = gradient_row<AtOnce, BFloat16>;
  return kernels;
}
static constexpr Kernels kKernelsWithBf16 = with_bf16(kKernels);
#endif

}  // namespace srp::cpu::SRP_LEVEL
