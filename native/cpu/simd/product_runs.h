// Products in runs of float32 sums (kernels.h), of floats and of pairs of bfloat16: a tile of rows x panel in registers.
namespace srp::cpu::SRP_LEVEL {

// sum += y x is written with its instruction, in the register of the sum: the compiler takes the operands' too, runs out of them, and
// keeps a sum in memory. kOperands of the registers of b are held, the next one is read by each addition.
#if defined(SRP_LEVEL_AVX2)
constexpr int kOperands = 2;
#else
constexpr int kOperands = 3;
#endif

template <class Operand>
struct Terms;

template <>
struct Terms<float> {
  static constexpr int64_t kInRun = kRun;

  SRP_INLINE F32 of(const float* at) { return load(at); }
  SRP_INLINE F32 everywhere(const float* at) { return splat(*at); }
#if defined(SRP_LEVEL_AVX512)
  SRP_INLINE void add(F32& sum, F32 y, F32 x) { __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(y), "v"(x)); }
#elif defined(SRP_LEVEL_AVX2)
  SRP_INLINE void add(F32& sum, F32 y, F32 x) { __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(y), "x"(x)); }
  SRP_INLINE void add(F32& sum, F32 y, const float* x) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(y), "m"(*reinterpret_cast<const F32Memory*>(x)));
  }
#else
  SRP_INLINE void add(F32& sum, F32 y, F32 x) { sum = fma(y, x, sum); }
#endif
};

#if SRP_LEVEL_HAS_BF16
template <>
struct Terms<BFloat16Pair> {
  static constexpr int64_t kInRun = kRun / 2;

  SRP_INLINE F32 of(const BFloat16Pair* at) { return (F32)load_bits(at); }
  SRP_INLINE F32 everywhere(const BFloat16Pair* at) {
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return (F32)splat(bits);
  }
  SRP_INLINE void add(F32& sum, F32 y, F32 x) { __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(y), "v"(x)); }
};
#endif

// The compiler keeps a pointer that it cannot compute again: of four steps' addresses it would make twenty.
template <class T>
SRP_INLINE void keep(T*& pointer) {
  __asm__ volatile("" : "+r"(pointer));
}

// sum += a b over `depth` k, a multiple of kSteps. Either a_column or a_row is 1: a row of a lies in one piece, or a column does;
// the others are `apart`.
template <bool kRowwise, int kRows, int kVectors, class Operand>
SRP_INLINE void add_run(const Operand* a, int64_t apart, const Operand* b, int64_t depth, F32 (&sum)[kRows][kVectors]) {
  constexpr int kPointers = kRowwise ? kRows : kSteps;
  constexpr int kHeld = kVectors > kOperands ? kOperands : kVectors;
  const Operand* at[kPointers];
#pragma GCC unroll 8
  for (int i = 0; i < kPointers; ++i) at[i] = a + i * apart;
  for (int64_t k = 0; k < depth; k += kSteps) {
#pragma GCC unroll 4
    for (int step = 0; step < kSteps; ++step) {
      const Operand* const row = b + step * kVectors * kLanes;
      F32 x[kHeld];
#pragma GCC unroll 3
      for (int v = 0; v < kHeld; ++v) x[v] = Terms<Operand>::of(row + v * kLanes);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const F32 y = Terms<Operand>::everywhere(kRowwise ? at[m] + step : at[step] + m);
#pragma GCC unroll 3
        for (int v = 0; v < kHeld; ++v) Terms<Operand>::add(sum[m][v], y, x[v]);
        if constexpr (kHeld < kVectors) Terms<Operand>::add(sum[m][kHeld], y, row + kHeld * kLanes);
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
template <bool kRowwise, int kRows, int kVectors, class Operand>
SRP_INLINE void run_tile(const Product<Operand>& p, int64_t first) {
  constexpr int64_t kInRun = Terms<Operand>::kInRun;
  float* const c = reinterpret_cast<float*>(p.c + first * p.c_step);
  const int64_t step = 2 * p.c_step, apart = kRowwise ? p.a_row : p.a_column;
  const Operand* const a = p.a + first * p.a_row;
  F32 runs[kRows][kVectors];
  for (int64_t begin = 0; begin < p.depth; begin += kRuns * kInRun) {
    const int64_t end = p.depth - begin < kRuns * kInRun ? p.depth : begin + kRuns * kInRun;
    for (int64_t k = begin;;) {
      const int64_t next = end - k < kInRun ? end : k + kInRun;
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

}  // namespace srp::cpu::SRP_LEVEL
