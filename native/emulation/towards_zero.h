// How tensor cores round a sum.
#pragma once
#include <cmath>

namespace srp::emulation {

inline float towards_zero(double x) {
  const float nearest = static_cast<float>(x);
  if (std::isinf(nearest) && !std::isinf(x)) return nearest;
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0.0f) : nearest;
}

}  // namespace srp::emulation
