// The table of one level: included once by each native/cpu/level_*.cpp, inside its target region.
#include "vector.h"
#include "pairs.h"
#include "find.h"
#include "mask.h"
#include "exp_wide.h"
#include "exp_less_one.h"
#include "tanh_wide.h"
#include "wide_map.h"
#include "logprob_sums.h"
#include "logprob_capped.h"
#include "logprob_gradient.h"
#include "drain.h"
#include "scan.h"
#include "group.h"
#include "ratio.h"
#include "rows.h"
#include "reduce.h"
#include "modulate.h"
#include "select.h"
#include "covariance.h"
#include "lanes.h"
#include "ratio_tokens.h"
#include "loss_figures.h"
#include "loss_inputs.h"
#include "loss_tokens.h"
#include "loss_rows.h"
#include "wide_pairs.h"
#include "log_wide.h"
#include "divergence.h"
#include "correction.h"
#include "product.h"
#include "head_columns.h"

namespace srp::cpu::SRP_LEVEL {

template <class T>
constexpr LogprobKernels<T> logprob_kernels() {
  return {sum_row<false, T>, sum_row<true, T>, sum_capped_row<T>, gradient_row<T>};
}

static const Kernels kKernels = {
    SRP_LEVEL_NAME,
    logprob_kernels<float>(),
    logprob_kernels<Half>(),
    logprob_kernels<BFloat16>(),
    scan_rows<float>,
    scan_rows<double>,
    find_any<int32_t>,
    find_any<int64_t>,
    kLanes,
    normalize_groups<float>,
    normalize_groups<double>,
    sum_differences<float>,
    sum_differences<double>,
    spread<float>,
    spread<double>,
    reduce_kernels<float>(),
    reduce_kernels<double>(),
    modulate_span<float>,
    modulate_span<double>,
    list_between,
    list_between,
    pair_kernels<float>(),
    pair_kernels<double>(),
    count_bytes,
    {kHalf, product, sum_columns, gradient_columns, widen<float>, widen<double>, widen<Half>, widen<BFloat16>},
    log_tokens<float>,
    log_tokens<double>,
    clip_tokens<float>,
    clip_tokens<double>,
    exp_of_one,
    loss_tokens<float>,
    loss_tokens<double>,
    divergence_kernels<float>(),
    divergence_kernels<double>(),
    divergence_kernels<Half>(),
    divergence_kernels<BFloat16>(),
    correction_kernels<float>(),
    correction_kernels<double>(),
    loss_row_kernels<float>(),
    loss_row_kernels<double>(),
};

}  // namespace srp::cpu::SRP_LEVEL
