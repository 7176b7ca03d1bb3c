// The exponentials of native/cpu/simd at one level, for arguments in range and for those that a lane only has until something else
// takes it over: beyond the limits, infinite, NaN. UBSan looks on; prints "passed".
#include <math.h>
#include <stdio.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "cpu/kernels.h"
#include "cpu/simd/vector.h"
#include "cpu/simd/pairs.h"
#include "cpu/simd/mask.h"
#include "cpu/simd/exp_wide.h"
#include "cpu/simd/exp_less_one.h"

using namespace srp::cpu::SRP_LEVEL;

namespace {

bool close(double y, double truth, double rtol) {
  return y == truth || fabs(y - truth) <= rtol * fabs(truth) || (y != y && truth != truth);
}

int wrong = 0;

void hold(const char* what, double x, double y, double truth, double rtol) {
  if (close(y, truth, rtol)) return;
  printf("%s of %.17g is %.17g, expected %.17g within %g of it\n", what, x, y, truth, rtol);
  ++wrong;
}

// What exp_less_one.h states, and half a unit in the last place for the C library's own result. `moved`: as far as x may be taken for
// another, relatively. What is beyond the line is held where it is not lost in x: an error of exp(x) - 1 is one of 2 / |x| times the size.
template <class F>
void hold_exponentials(double x, double moved, double near_rtol, double far_rtol) {
  const Exponentials e = exponentials<F>(splat(x));
  const double size = fmin(fabs(x), 1e3), half_unit = 0x1p-53;
  const double less_one_rtol = (size < 0.0216 ? near_rtol : far_rtol) + moved * size + half_unit;
  hold("exp", x, e.exp[0], exp(x), 2 * half_unit + moved * size + half_unit);
  hold("exp - 1", x, e.less_one[0], expm1(x), less_one_rtol);
  if (!(size >= 1e-3 && size <= 1)) return;
  const long double beyond = expm1l(x) - static_cast<long double>(x);
  hold("exp - 1 - x", x, e.less_one[0] - x, static_cast<double>(beyond), 3 * less_one_rtol / size);
}

void hold_at(double x) {
  hold("exp_wide", x, exp_wide(splat(x))[0], exp(x), 2 * 0x1p-52 + 0x1p-53);
  hold_exponentials<double>(x, 0, 4e-16, 1e-15);
  hold_exponentials<float>(x, 0x1p-53, 2e-15, 1e-14);
}

}  // namespace

int main() {
  const double wide[] = {0,     1,     -1,    699,  -699,   700.5, -700.5, 701,    -701,     1e4, -1e4,
                         1e18,  -1e18, 1e300, 1e-3, -1e300, 0.02,  -0.02,  0.0217, -0.0217,  0.3, -0.3,
                         -1e-3, 1e-9,  -1e-9, 37.5, 5e-324, -37.5, 88.7,   -103.9, INFINITY, NAN, -INFINITY};
  for (const double x : wide) hold_at(x);
  for (int i = -3000; i <= 3000; ++i) {
    hold_at(i * 0.0113);
    hold_at(i * 7.2e-6);
  }

  const TermMap map = TermMap::of(1.4426950408889634f);
  const float terms[] = {0, -1, -20, -87, -100, -1e4f, -1e30f, 60, -INFINITY, NAN};
  for (const float x : terms) {
    const float e = end_term(map, begin_term(map, splat(x))).e[0];
    const double truth = ldexp(exp(x < -101 ? -1e4 : x), 20);
    // What counts: of a NaN anything, of the least ones nothing.
    if (x == x && !(fabs(e - truth) <= 1e-5 * truth + 1e-30)) {
      printf("the term of %g is %.9g, expected %.9g\n", static_cast<double>(x), static_cast<double>(e), truth);
      ++wrong;
    }
  }
  if (wrong == 0) puts("passed");
  return wrong;
}
