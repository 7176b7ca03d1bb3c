// c += a b in float64, the products and sums of a linear head: b a panel of one to three registers' width, a tile of
// rows x panel in registers. Every element is its old value and then one fused multiply-add after the other, upwards, so
// neither tiles nor where a caller cuts the depth change a bit.
namespace srp::cpu::SRP_LEVEL {

template <int kRows, int kVectors>
SRP_INLINE void product_tile(const Product& p, int64_t first) {
  F64 sum[kRows][kVectors];
  double* const c = p.c + first * p.c_step;
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[m][v] = load(c + m * p.c_step + v * kHalf);
  const double* a = p.a + first * p.a_row;
  const double* b = p.b;
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

template <int kVectors>
static void product_panel(const Product& p) {
  int64_t m = 0;
  for (; m + kTileRows <= p.rows; m += kTileRows) product_tile<kTileRows, kVectors>(p, m);
  if constexpr (kTileRows > 4)
    for (; m + 4 <= p.rows; m += 4) product_tile<4, kVectors>(p, m);
  for (; m < p.rows; ++m) product_tile<1, kVectors>(p, m);
}

static void product(const Product& p) {
  switch (p.columns / kHalf) {
    case 1:
      return product_panel<1>(p);
    case 2:
      return product_panel<2>(p);
    default:
      return product_panel<3>(p);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
