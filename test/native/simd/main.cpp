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

// Of arrays of F: exp(x), exp(x) - 1, and what is beyond the line, where it is not lost in x.
template <class F>
void hold_exponentials(double x, double exp_rtol, double less_one_rtol, double beyond_rtol) {
  const Exponentials e = exponentials<F>(splat(x));
  hold("exp", x, e.exp[0], exp(x), exp_rtol);
  hold("exp - 1", x, e.less_one[0], expm1(x), less_one_rtol);
  if (!(fabs(x) >= 1e-3 && fabs(x) <= 1)) return;
  const long double beyond = expm1l(x) - static_cast<long double>(x);
  hold("exp - 1 - x", x, e.less_one[0] - x, static_cast<double>(beyond), beyond_rtol);
}

}  // namespace

int main() {
  const double wide[] = {0,     1,     -1,    699,    -699, 700.5, -700.5, 701,     -701,     1e4,       -1e4,
                         1e18,  -1e18, 1e300, -1e300, 0.02, -0.02, 0.0217, -0.0217, 0.3,      -0.3,      1e-3,
                         -1e-3, 1e-9,  -1e-9, 5e-324, 37.5, -37.5, 88.7,   -103.9,  INFINITY, -INFINITY, NAN};
  for (const double x : wide) {
    hold("exp_wide", x, exp_wide(splat(x))[0], exp(x), 1e-15);
    hold_exponentials<double>(x, 1e-15, 1e-15, 1e-12);
    const double moved = 1.2e-16 * fmin(fabs(x), 1e3);
    hold_exponentials<float>(x, 2.4e-16 + moved, 1e-14 + moved, 1e-11);
  }

  const TermMap map = TermMap::of(1.4426950408889634f);
  const float terms[] = {0, -1, -20, -87, -100, -1e4f, -1e30f, 60, -INFINITY, NAN};
  for (const float x : terms) {
    const float e = term_of(map, splat(x)).e[0];
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
