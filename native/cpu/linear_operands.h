// What the products of a linear head are formed of, and memory for it. An `Operand` is what those of a logit have on both sides, a
// `Number` what those of a gradient have; logits and what becomes of them are float64.
#ifndef SURPRISAL_CPU_LINEAR_OPERANDS_H
#define SURPRISAL_CPU_LINEAR_OPERANDS_H

#include <memory>
#include <new>
#include <type_traits>

#include "linear_portable.h"

namespace srp::cpu::linear {

constexpr int64_t kIds = 128;  // a block of ids, whose logits stay in the cache
constexpr int64_t kSumIds = 256;  // ids between which the sums of gradients are in memory: several blocks
constexpr int64_t kDepth = 128;  // of hidden and weight at a time: a block of weight that stays in the cache
constexpr int64_t kHeadChunk = 256;  // rows that stay in the cache beside the sums of a block of the head's gradient
static_assert(kSumIds % kIds == 0 && kIds % (kRun * kRuns) == 0 && kDepth % (kRun * kRuns) == 0 &&
                  kHeadChunk % (kRun * kRuns) == 0,
              "runs of terms lie at the same places");

inline const HeadKernels& head() { return kernels() ? kernels()->head : kPortableHead; }

// An array that begins at a multiple of 64 bytes: loading a register from two cache lines takes twice the time.
template <class Number>
class Buffer {
 public:
  explicit Buffer(int64_t count) : memory_(new (std::nothrow) Number[static_cast<size_t>(count + kLine)]) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory_.get());
    first_ = memory_.get() + (64 - at % 64) % 64 / sizeof(Number);
  }
  bool failed() const { return !memory_; }
  Number* get() const { return first_; }
  void clear(int64_t count) const {
    for (int64_t i = 0; i < count; ++i) first_[i] = 0;
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(Number);

  std::unique_ptr<Number[]> memory_;
  Number* first_;
};

// Products of doubles: sums are doubles.
template <class Operand>
struct Arithmetic {
  using Number = double;
  // Rows that stay in the cache while the weights of the head are read, with or without the sums of their gradients: a multiple of
  // every panel's width.
  static constexpr int64_t kChunk = 264;
  static constexpr int64_t kTerms = 1;  // terms of a product in an operand
  static constexpr int64_t kStep = 1;  // terms of a product are a multiple of
  static int64_t lanes() { return head().lanes; }
  static void product(const Product<double>& p) { head().product(p); }
  static bool settle(double*, int64_t) { return true; }
  static constexpr int64_t kLogits = 0;  // of a block beside its gradients
  static double* place_of(double*, double* g) { return g; }
  static void keep_gradients(const double*, int64_t, int64_t, double*) {}
};

template <>
struct Arithmetic<float> {
  using Number = float;
  static constexpr int64_t kChunk = 288;
  static constexpr int64_t kTerms = 1;
  static constexpr int64_t kStep = kSteps;
  static int64_t lanes() { return head().float_lanes; }
  static void product(const Product<float>& p) { head().float_product(p); }
  static bool settle(double* sums, int64_t count) { return head().settle(sums, count); }
  static constexpr int64_t kLogits = kIds;
  static double* place_of(double* logits, float*) { return logits; }
  // Of [ids, columns], with ids of 0 to a whole step.
  static void keep_gradients(const double* x, int64_t ids, int64_t columns, float* g) {
    head().narrow(x, ids * columns, g);
    for (int64_t i = ids * columns; i < (ids + kStep - 1) / kStep * kStep * columns; ++i) g[i] = 0;
  }
};

// bfloat16 as it is: logits alone, whose both sides are of it.
template <>
struct Arithmetic<BFloat16Pair> : Arithmetic<float> {
  static constexpr int64_t kTerms = 2;
  static constexpr int64_t kStep = kTerms * kSteps;
  static void product(const Product<BFloat16Pair>& p) { head().pair_product(p); }
};

template <class Operand>
using NumberOf = typename Arithmetic<Operand>::Number;

template <class Operand>
int64_t in_lanes(int64_t count) {
  const int64_t lanes = Arithmetic<Operand>::lanes();
  return (count + lanes - 1) / lanes * lanes;
}

// Terms, with those of 0 behind.
template <class Operand>
int64_t in_steps(int64_t count) {
  constexpr int64_t kStep = Arithmetic<Operand>::kStep;
  return (count + kStep - 1) / kStep * kStep;
}

template <class Operand>
int64_t panel_width() {
  return kPanelVectors * Arithmetic<Operand>::lanes();
}

// Calls run(first, width) for each panel of that many columns, a multiple of the lanes.
template <class Operand, class Run>
void for_panels(int64_t columns, const Run& run) {
  const int64_t most = panel_width<Operand>();
  for (int64_t first = 0; first < columns; first += most) run(first, columns - first < most ? columns - first : most);
}

// Calls run with an operand of the type that logits are formed of.
template <class T, class Args, class Run>
srp_status with_operand(const Args& a, const Run& run) {
  if constexpr (std::is_same_v<T, double>) return run(double{});
  if (a.sums == SRP_SUMS_FLOAT64 || head().float_lanes == 0) return run(double{});
  if constexpr (std::is_same_v<T, BFloat16>)
    if (head().pair_product) return run(BFloat16Pair{});
  return run(float{});
}

inline srp_status out_of_memory(int64_t D) {
  return fail(SRP_OUT_OF_MEMORY, "out of memory: rows of %lld numbers", static_cast<long long>(D));
}

}  // namespace srp::cpu::linear

#endif
