#include "shapes.h"

#include <cmath>

namespace srp::test {
namespace {

constexpr int64_t kNotRead = 7;  // T of packed rows

std::vector<int32_t> offsets_of(const std::vector<int64_t>& lengths) {
  std::vector<int32_t> offsets = {0};
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + static_cast<int32_t>(length));
  return offsets;
}

std::vector<int64_t> ragged(uint64_t seed, int64_t count, int64_t longest) {
  Random random(seed);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(random.integer(0, longest));
  return lengths;
}

}  // namespace

Rows padded(int64_t B, int64_t T) {
  return {false, offsets_of(std::vector<int64_t>(static_cast<size_t>(B), T)), B * T, B, T};
}

Rows packed(const std::vector<int64_t>& lengths) {
  const std::vector<int32_t> offsets = offsets_of(lengths);
  return {true, offsets, offsets.back(), static_cast<int64_t>(lengths.size()), kNotRead};
}

// No row; rows without tokens; one token; rows that are no multiple of a warp; rows of which a block of 256 threads takes
// more than two strides.
const std::vector<Rows>& row_shapes() {
  static const std::vector<Rows> shapes = {
      padded(0, 5),
      padded(3, 0),
      padded(1, 1),
      padded(5, 37),
      padded(2, 600),
      packed({}),
      packed({0, 0}),
      packed({1}),
      packed({3, 0, 70, 0, 1}),
      packed({0, 513, 257, 1, 0}),
      packed(ragged(1, 20, 9)),
  };
  return shapes;
}

const Rows& many_rows() {
  static const Rows shape = padded(130, 3);
  return shape;
}

const std::vector<Rows>& long_rows() {
  static const std::vector<Rows> shapes = [] {
    std::vector<int64_t> lengths(40, 30);
    lengths[7] = 8192 + 600;
    return std::vector<Rows>{packed({8192 + 300, 0, 700}), packed(lengths)};
  }();
  return shapes;
}

Groups groups(Random& random, const std::vector<int64_t>& sizes, bool shuffled) {
  const std::vector<int32_t> offsets = offsets_of(sizes);
  const int64_t n = offsets.back();
  return {shuffled ? random.permutation(n) : std::vector<int32_t>(), offsets, n, static_cast<int64_t>(sizes.size())};
}

Groups groups_of(Random& random, int64_t count) {
  const int64_t kind = random.integer(0, 2);
  const bool shuffled = random.chance(0.5);
  if (kind == 0 && count > 0) return groups(random, {count}, shuffled);
  if (kind == 1) return groups(random, std::vector<int64_t>(static_cast<size_t>(count), 1), shuffled);
  std::vector<int64_t> sizes;
  for (int64_t left = count; left > 0 || sizes.empty(); left -= sizes.back())
    sizes.push_back(random.integer(0, left < 12 ? left : 12));
  return groups(random, sizes, shuffled);
}

// No group; empty ones; one item; equal and ragged ones; more groups than a block has warps; and groups of so many items
// that a block takes each (from 512 on), or a warp one after the other.
const std::vector<std::vector<int64_t>>& group_sizes() {
  static const std::vector<std::vector<int64_t>> sizes = {
      {},
      {0, 0, 0},
      {1},
      {4, 4, 4},
      {1, 0, 7, 33, 2, 0, 70},
      ragged(2, 40, 9),
      {600},
      {0, 513, 1100},
      {4, 3, 300, 9, 2},
  };
  return sizes;
}

std::vector<double> items(Random& random, int64_t count) {
  const double offset = random.one_of({0.0, 0.0, 100.0});
  const bool constant = random.chance(0.1), ties = random.chance(0.3), holes = random.chance(0.3);
  std::vector<double> values = random.reals(count, offset - 3, offset + 3);
  for (double& value : values) {
    if (constant) value = offset + 0.1;
    if (ties) value = std::round(value);
    if (holes && random.chance(0.1))
      value = random.one_of({double{NAN}, double{NAN}, double{INFINITY}, -double{INFINITY}});
  }
  return values;
}

std::vector<double> without_nan(std::vector<double> values) {
  for (double& value : values)
    if (std::isnan(value)) value = 0;
  return values;
}

std::vector<double> finite(std::vector<double> values) {
  for (double& value : values)
    if (!std::isfinite(value)) value = 0;
  return values;
}

void poison(std::vector<double>& values, const std::vector<uint8_t>& mask) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!mask[i]) values[i] = NAN;
}

}  // namespace srp::test
