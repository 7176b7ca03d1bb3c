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

using namespace srp::cpu::SRP_LEVEL;

int main() {
  int wrong = 0;
  const double wide[] = {0,    1,    -1,    699,   -699,   701,      -701,      1e4,
                         -1e4, 1e18, -1e18, 1e300, -1e300, INFINITY, -INFINITY, NAN};
  for (const double x : wide) {
    const double y = exp_of_one(x), truth = exp(x);
    if (!(y == truth || fabs(y - truth) <= 1e-15 * truth || (y != y && truth != truth))) {
      printf("exp(%g) is %.17g, expected %.17g\n", x, y, truth);
      ++wrong;
    }
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
