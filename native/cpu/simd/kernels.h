// The table of one level: included once by each native/cpu/level_*.cpp, inside its target region.
#include "vector.h"
#include "pairs.h"
#include "find.h"
#include "logprob_sums.h"
#include "logprob_gradient.h"
#include "scan.h"
#include "group.h"
#include "ratio.h"

namespace srp::cpu::SRP_LEVEL {

template <class T>
constexpr LogprobKernels<T> logprob_kernels() {
  return {sum_row<false, T>, sum_row<true, T>, gradient_row<T>};
}

static const Kernels kKernels = {
    SRP_LEVEL_NAME,
    logprob_kernels<float>(),
    logprob_kernels<Half>(),
    logprob_kernels<BFloat16>(),
    scan_row<float>,
    scan_row<double>,
    find_any,
    kHalf,
    normalize_groups<float>,
    normalize_groups<double>,
    sum_differences<float>,
    sum_differences<double>,
    spread<float>,
    spread<double>,
};

}  // namespace srp::cpu::SRP_LEVEL
