// The table of one level: included once by each native/cpu/level_*.cpp, inside its target region.
#include "vector.h"
#include "pairs.h"
#include "logprob_sums.h"
#include "logprob_gradient.h"

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
};

}  // namespace srp::cpu::SRP_LEVEL
