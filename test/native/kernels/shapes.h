// Shapes of rows and groups (shared/rows.h) that the cases go through.
#pragma once
#include <cstdint>
#include <vector>

#include "random.h"

namespace srp::test {

struct Rows {
  bool packed;
  std::vector<int32_t> offsets;  // also of padded rows
  int64_t n, B, T;
};

Rows padded(int64_t B, int64_t T);
Rows packed(const std::vector<int64_t>& lengths);
const std::vector<Rows>& row_shapes();
// More of them than a block of 128 threads has. Apart from the others: where a block takes a row it is the slowest shape.
const Rows& many_rows();

// Rows of which a device gives each a block, and such that are a warp's each, a long one among both: more than 8192 tokens.
const std::vector<Rows>& long_rows();

struct Groups {
  std::vector<int32_t> members;  // empty: identity
  std::vector<int32_t> offsets;
  int64_t n, G;
};

// Groups of the given sizes; their items in order or, if `shuffled`, anywhere.
Groups groups(Random& random, const std::vector<int64_t>& sizes, bool shuffled);
// `count` items in one group, in groups of one, or in groups of any size (empty ones too); in order or shuffled.
Groups groups_of(Random& random, int64_t count);
const std::vector<std::vector<int64_t>>& group_sizes();

// Numbers with ties, some far from 0; in a few cases with NaN and infinities among them.
std::vector<double> items(Random& random, int64_t count);
// 0 in the place of what an op refuses.
std::vector<double> without_nan(std::vector<double> values);
std::vector<double> finite(std::vector<double> values);

// NaN wherever the mask is 0: what lies there may not be read.
void poison(std::vector<double>& values, const std::vector<uint8_t>& mask);

}  // namespace srp::test
