// float32 numbers on tensor cores: each is the sum of two bfloat16 numbers, the nearest one and the rest, within 2^-18 of it.
//
// Logits leave out rest times rest, 2^-18 of a product. The three others are one product of lines three times as long,
//
//   hidden   nearest, nearest, rest
//   weight   nearest, rest,    nearest
//
// which tensor cores form as those of bfloat16. The products of gradients take the right side's lines twice, those of the rests behind
// those of the nearest: linear_products.cu.
#pragma once
#include <type_traits>

#include "linear.cuh"
#include "tensor_tiles.cuh"

namespace srp::cuda {

template <class T>
constexpr bool kInParts = std::is_same_v<T, float>;

// What tensor cores multiply for numbers of type T.
template <class T>
using ProductNumber = std::conditional_t<kInParts<T>, BFloat16, T>;

constexpr int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

// A line of one number each, as 16-byte copies take it.
constexpr int64_t pitch_of(int64_t D) { return rounded_up(D, kPieceTerms); }
// And of a line of logits' parts.
constexpr int64_t parts_width(int64_t D) { return 3 * pitch_of(D); }

// The arguments with these parts in place of hidden and weight, of some rows, all of the tiles that touch them, and of some ids. Rows and ids
// keep their numbers: PartsOf says which is the first line of each.
template <class Args>
Args in_parts(Args a, const BFloat16* hidden, const BFloat16* weight) {
  a.hidden = hidden;
  a.weight = weight;
  a.D = parts_width(a.D);
  return a;
}

struct PartsOf {
  int64_t row, id;
};

enum class Operand { hidden, weight };

// [lines, parts_width(D)]. Lines that the mask leaves out are 0, unread.
void launch_logit_parts(srp_queue* queue, const float* from, const uint8_t* mask, int64_t lines, int64_t D,
                        Operand side, BFloat16* to);

// [2, lines, pitch_of(D)]: the nearest, then the rests; 0 where there is none. `there`: lines that there are.
template <class T>
void launch_split(srp_queue* queue, const T* from, const uint8_t* mask, int64_t there, int64_t lines, int64_t D,
                  BFloat16* to);

}  // namespace srp::cuda
