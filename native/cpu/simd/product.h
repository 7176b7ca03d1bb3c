// c += a b, the products and sums of a linear head: b a panel of one to three registers' width, a tile of rows x panel in
// registers. Every element is a fixed sequence of operations upwards in k, so neither tiles nor where a caller cuts the depth
// (of float32: at multiples of a run) change a bit.
namespace srp::cpu::SRP_LEVEL {

template <int kRows, int kVectors>
SRP_INLINE void product_tile(const Product<double>& p, int64_t first) {
  F64 sum[kRows][kVectors];
  double* const c = p.c + first * p.c_step;
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[m][v] = load(c + m * p.c_step + v * kHalf);
  const double *a = p.a + first * p.a_row, *b = p.b;
  for (int64_t k = 0; k < p.depth; ++k, a += p.a_column, b += kVectors * kHalf) {
    F64 x[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) x[v] = load(b + v * kHalf);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const F64 y = splat(a[m * p.a_row]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[m][v] = fma(y, x[v], sum[m][v]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) store(c + m * p.c_step + v * kHalf, sum[m][v]);
}

template <int kRows, int kVectors>
SRP_INLINE void product_tile(const Product<float>& p, int64_t first) {
  p.a_column == 1 ? run_tile<true, kRows, kVectors>(p, first) : run_tile<false, kRows, kVectors>(p, first);
}

#if SRP_LEVEL_HAS_BF16
template <int kRows, int kVectors>
SRP_INLINE void product_tile(const Product<BFloat16Pair>& p, int64_t first) {
  run_tile<true, kRows, kVectors>(p, first);
}
#endif

template <int kVectors, class Operand>
static void product_panel(const Product<Operand>& p) {
  int64_t m = 0;
  for (; m + kTileRows <= p.rows; m += kTileRows) product_tile<kTileRows, kVectors>(p, m);
  if constexpr (kTileRows > 4)
    for (; m + 4 <= p.rows; m += 4) product_tile<4, kVectors>(p, m);
  for (; m < p.rows; ++m) product_tile<1, kVectors>(p, m);
}

template <class Operand>
static void product(const Product<Operand>& p) {
  switch (p.columns / (std::is_same_v<Operand, double> ? kHalf : kLanes)) {
    case 1:
      return product_panel<1>(p);
    case 2:
      return product_panel<2>(p);
    default:
      return product_panel<3>(p);
  }
}

constexpr int64_t kSide = 4;
typedef float Side __attribute__((vector_size(4 * kSide)));
typedef float SideMemory __attribute__((vector_size(4 * kSide), aligned(1), may_alias));

// Four of the eight lanes of x and y.
template <int kA, int kB, int kC, int kD>
SRP_INLINE Side picked(Side x, Side y) {
#if defined(__clang__)
  return __builtin_shufflevector(x, y, kA, kB, kC, kD);
#else
  typedef int32_t Places __attribute__((vector_size(4 * kSide)));
  return __builtin_shuffle(x, y, Places{kA, kB, kC, kD});
#endif
}

SRP_INLINE void transpose_tile(const float* x, int64_t apart, float* to, int64_t to_apart) {
  Side row[kSide];
#pragma GCC unroll 4
  for (int64_t i = 0; i < kSide; ++i) row[i] = *reinterpret_cast<const SideMemory*>(x + i * apart);
  const Side a = picked<0, 4, 1, 5>(row[0], row[1]), b = picked<2, 6, 3, 7>(row[0], row[1]);
  const Side c = picked<0, 4, 1, 5>(row[2], row[3]), d = picked<2, 6, 3, 7>(row[2], row[3]);
  const Side columns[kSide] = {picked<0, 1, 4, 5>(a, c), picked<2, 3, 6, 7>(a, c), picked<0, 1, 4, 5>(b, d),
                               picked<2, 3, 6, 7>(b, d)};
#pragma GCC unroll 4
  for (int64_t i = 0; i < kSide; ++i) *reinterpret_cast<SideMemory*>(to + i * to_apart) = columns[i];
}

// x [width, depth] to [depth, width], both multiples of kSide; pairs are moved as floats are.
static void interleave(const void* from, int64_t width, int64_t depth, void* panel) {
  const float* const x = static_cast<const float*>(from);
  float* const to = static_cast<float*>(panel);
  for (int64_t r = 0; r < width; r += kSide)
    for (int64_t d = 0; d < depth; d += kSide) transpose_tile(x + r * depth + d, depth, to + d * width + r, width);
}

static bool settle(double* sums, int64_t count) {
  F32 odd = {};
  for (int64_t i = 0; i < count; i += kLanes) {
    const float* const at = reinterpret_cast<const float*>(sums + i);
    const F32 sum = load(at), lack = load(at + kLanes);
    const F64 low = widen_low(sum) + widen_low(lack), high = widen_high(sum) + widen_high(lack);
    odd += (sum - sum) + (lack - lack);
    store(sums + i, low);
    store(sums + i + kHalf, high);
  }
  return !any((I32)(odd != F32{}));
}

static void narrow_gradients(const double* x, int64_t count, float* to) {
  const F64 smallest = splat(kSmallest);
  for (int64_t i = 0; i < count; i += kLanes) {
    F64 low = load(x + i), high = load(x + i + kHalf);
    low = ((low < smallest) & (low > -smallest)) ? F64{} : low;
    high = ((high < smallest) & (high > -smallest)) ? F64{} : high;
    store(to + i, narrow(low, high));
  }
}

}  // namespace srp::cpu::SRP_LEVEL
