// c += a b, the products and sums of a linear head: b a panel of one to three registers' width, a tile of rows x panel in
// registers. Every element is a fixed sequence of operations upwards in k, so neither tiles nor where a caller cuts the depth
// (of float32: at multiples of a run) change a bit.
namespace srp::cpu::SRP_LEVEL {

template <class Number>
struct VectorOf {
  typedef F64 Type;
  static constexpr int64_t kWidth = kHalf;
};
template <>
struct VectorOf<float> {
  typedef F32 Type;
  static constexpr int64_t kWidth = kLanes;
};

// sum += a b over `depth` k.
template <int kRows, int kVectors, class Number, class V>
SRP_INLINE void add_terms(const Number* a, int64_t a_row, int64_t a_column, const Number* b, int64_t depth,
                          V (&sum)[kRows][kVectors]) {
  constexpr int64_t kWidth = VectorOf<Number>::kWidth;
  for (int64_t k = 0; k < depth; ++k, a += a_column, b += kVectors * kWidth) {
    V x[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) x[v] = load(b + v * kWidth);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const V y = splat(a[m * a_row]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[m][v] = fma(y, x[v], sum[m][v]);
    }
  }
}

template <int kRows, int kVectors>
SRP_INLINE void product_tile(const Product<double>& p, int64_t first) {
  F64 sum[kRows][kVectors];
  double* const c = p.c + first * p.c_step;
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[m][v] = load(c + m * p.c_step + v * kHalf);
  add_terms(p.a + first * p.a_row, p.a_row, p.a_column, p.b, p.depth, sum);
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) store(c + m * p.c_step + v * kHalf, sum[m][v]);
}

// The compiler keeps a pointer that it cannot compute again: of four steps' addresses it would make twenty.
template <class T>
SRP_INLINE void keep(T*& pointer) {
  __asm__ volatile("" : "+r"(pointer));
}

// sum = fma(y, x, sum), in the register of the sum: the compiler takes the operands' too, runs out of them, and keeps a sum in memory.
// kOperands of the registers of b are held, the next one is read by each addition.
#if defined(SRP_LEVEL_AVX512)
constexpr int kOperands = 3;
SRP_INLINE void add_term(F32& sum, F32 y, F32 x) { __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(y), "v"(x)); }
#elif defined(SRP_LEVEL_AVX2)
constexpr int kOperands = 2;
SRP_INLINE void add_term(F32& sum, F32 y, F32 x) { __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(y), "x"(x)); }
#else
constexpr int kOperands = 3;
SRP_INLINE void add_term(F32& sum, F32 y, F32 x) { sum = fma(y, x, sum); }
#endif
SRP_INLINE void add_term(F32& sum, F32 y, const float* x) {
#if defined(SRP_LEVEL_AVX2)
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(y), "m"(*reinterpret_cast<const F32Memory*>(x)));
#else
  sum = fma(y, load(x), sum);
#endif
}

// sum += a b over `depth` k, a multiple of kSteps. Either a_column or a_row is 1: a row of a lies in one piece, or a column does;
// the others are `apart`.
template <bool kRowwise, int kRows, int kVectors>
SRP_INLINE void add_run(const float* a, int64_t apart, const float* b, int64_t depth, F32 (&sum)[kRows][kVectors]) {
  constexpr int kPointers = kRowwise ? kRows : kSteps;
  constexpr int kHeld = kVectors > kOperands ? kOperands : kVectors;
  const float* at[kPointers];
#pragma GCC unroll 8
  for (int i = 0; i < kPointers; ++i) at[i] = a + i * apart;
  for (int64_t k = 0; k < depth; k += kSteps) {
#pragma GCC unroll 4
    for (int step = 0; step < kSteps; ++step) {
      const float* const row = b + step * kVectors * kLanes;
      F32 x[kHeld];
#pragma GCC unroll 3
      for (int v = 0; v < kHeld; ++v) x[v] = load(row + v * kLanes);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const F32 y = splat(kRowwise ? at[m][step] : at[step][m]);
#pragma GCC unroll 3
        for (int v = 0; v < kHeld; ++v) add_term(sum[m][v], y, x[v]);
        if constexpr (kHeld < kVectors) add_term(sum[m][kHeld], y, row + kHeld * kLanes);
      }
    }
    b += kSteps * kVectors * kLanes;
    keep(b);
#pragma GCC unroll 8
    for (int i = 0; i < kPointers; ++i) {
      at[i] += kRowwise ? kSteps : kSteps * apart;
      keep(at[i]);
    }
  }
}

// A run begins with 0, not with what the sum lacks, for which it would wait.
template <bool kRowwise, int kRows, int kVectors>
SRP_INLINE void float_tile(const Product<float>& p, int64_t first) {
  float* const c = reinterpret_cast<float*>(p.c + first * p.c_step);
  const int64_t step = 2 * p.c_step, apart = kRowwise ? p.a_row : p.a_column;
  const float* const a = p.a + first * p.a_row;
  F32 runs[kRows][kVectors];
  for (int64_t begin = 0; begin < p.depth; begin += kRuns * kRun) {
    const int64_t end = p.depth - begin < kRuns * kRun ? p.depth : begin + kRuns * kRun;
    for (int64_t k = begin;;) {
      const int64_t next = end - k < kRun ? end : k + kRun;
      F32 run[kRows][kVectors] = {};
      add_run<kRowwise>(a + k * p.a_column, apart, p.b + k * kVectors * kLanes, next - k, run);
      if (k > begin)
#pragma GCC unroll 8
        for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
          for (int v = 0; v < kVectors; ++v) run[m][v] += runs[m][v];
      k = next;
      if (k < end) {
#pragma GCC unroll 8
        for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
          for (int v = 0; v < kVectors; ++v) runs[m][v] = run[m][v];
        continue;
      }
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) {
          float* const at = c + m * step + 2 * v * kLanes;
          const F32 before = load(at), more = run[m][v] + load(at + kLanes), sum = before + more;
          store(at, sum);
          store(at + kLanes, more - (sum - before));
        }
      break;
    }
  }
}

template <int kRows, int kVectors>
SRP_INLINE void product_tile(const Product<float>& p, int64_t first) {
  p.a_column == 1 ? float_tile<true, kRows, kVectors>(p, first) : float_tile<false, kRows, kVectors>(p, first);
}

template <int kVectors, class Number>
static void product_panel(const Product<Number>& p) {
  int64_t m = 0;
  for (; m + kTileRows <= p.rows; m += kTileRows) product_tile<kTileRows, kVectors>(p, m);
  if constexpr (kTileRows > 4)
    for (; m + 4 <= p.rows; m += 4) product_tile<4, kVectors>(p, m);
  for (; m < p.rows; ++m) product_tile<1, kVectors>(p, m);
}

template <class Number>
static void product(const Product<Number>& p) {
  switch (p.columns / VectorOf<Number>::kWidth) {
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

// x [width, depth] to [depth, width], both multiples of kSide.
static void interleave(const float* x, int64_t width, int64_t depth, float* to) {
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
