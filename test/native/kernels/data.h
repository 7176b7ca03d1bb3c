// Host copies of arrays, by dtype, and when two of them count as equal.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "surprisal/dtype.h"

namespace srp::test {

struct Data {
  int32_t dtype;
  std::vector<unsigned char> bytes;

  int64_t count() const { return static_cast<int64_t>(bytes.size()) / srp_dtype_size(dtype); }
  // Element i as a number. Integers of 64 bits are counts here and fit.
  double at(int64_t i) const;
  void set(int64_t i, double value);
};

// Values rounded to the dtype.
Data reals(int32_t dtype, const std::vector<double>& values);
Data ints(const std::vector<int32_t>& values);
Data wide_ints(const std::vector<int32_t>& values);  // as int64
Data flags(const std::vector<uint8_t>& values);
// What an output holds before the call: a pattern that no op computes.
Data untouched(int32_t dtype, int64_t count);

// |a - b| <= rtol * max(|a|, |b|) + atol. Equal infinities are equal, and so are two NaNs.
struct Tolerance {
  double rtol = 0, atol = 0;

  // Integers, copies, and what both backends compute by the same operations in the same order.
  static Tolerance exact() { return {}; }
  // Float64 sums of up to a few thousand terms of order 1 to 100, added in another order: 1e-12. Rounded to float32
  // the two results can fall to different sides of a rounding boundary, hence one float32 step.
  static Tolerance sums(int32_t dtype) { return {dtype == SRP_F32 ? 1.2e-7 : 1e-12, 1e-12}; }
};

// Empty when `got` agrees with `want`, else the first element that does not.
std::string difference(const Data& want, const Data& got, const Tolerance& tolerance);

}  // namespace srp::test
