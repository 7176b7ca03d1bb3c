// Divergences of two rows of logits with their gradient, and the likeliest ids (surprisal/divergence.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using RowsArgs = srp_divergence_rows_args;
using TopArgs = srp_divergence_top_args;

constexpr int32_t kDtypes[] = {SRP_F32, SRP_F16, SRP_BF16, SRP_F64};

struct Shape {
  int64_t N, V, K;  // K 0: the whole vocabulary
};

// Rows as they are hard: flat, far from 0, with masked ids, without a finite logit, with NaN or +infinity.
std::vector<double> logits(Random& random, const Shape& shape, int64_t stride, const std::vector<uint8_t>& mask,
                           bool nan = true) {
  std::vector<double> x(static_cast<size_t>(shape.N * stride), NAN);  // NaN: the padding is not read
  for (int64_t n = 0; n < shape.N; ++n) {
    if (!mask.empty() && !mask[n]) continue;
    const int64_t kind = random.integer(0, 11);
    double* const row = x.data() + n * stride;
    for (int64_t j = 0; j < shape.V; ++j) {
      const double value = random.real(-4, 4);
      row[j] = kind == 0 ? 0.5 : kind == 1 ? 1e3 + value : kind == 2 && random.chance(0.3) ? -INFINITY : value;
      if (kind == 3) row[j] = -INFINITY;
    }
    if (shape.V > 0 && (kind == 4 || kind == 5))
      row[random.integer(0, shape.V - 1)] = kind == 4 && nan ? NAN : INFINITY;
  }
  return x;
}

// K distinct ids a row, in no order.
std::vector<int32_t> supports(Random& random, const Shape& shape) {
  std::vector<int32_t> ids;
  for (int64_t n = 0; n < shape.N; ++n) {
    const std::vector<int32_t> order = random.permutation(shape.V);
    ids.insert(ids.end(), order.begin(), order.begin() + shape.K);
  }
  return ids;
}

// The same float64 operations, sums in another order; then one step of the logits' dtype. A pool of 1e-7 is known to 1e-8.
Tolerance values(bool pooled) { return {1e-10, pooled ? 1e-8 : 1e-12}; }
Tolerance gradients(int32_t dtype, bool pooled) {
  const double step = dtype == SRP_F64 ? 1e-10 : dtype == SRP_F32 ? 1.2e-7 : dtype == SRP_F16 ? 0x1p-10 : 0x1p-7;
  return {step, (pooled ? 1e-8 : 1e-11) + (dtype == SRP_F16 ? 0x1p-24 : 0)};
}

Call<RowsArgs> rows(Random& random, int32_t dtype, const Shape& shape, double beta, bool pooled, double present) {
  Call<RowsArgs> call(&srp_backend::divergence_rows);
  RowsArgs& a = call.args;
  a.dtype = dtype;
  a.N = shape.N;
  a.V = shape.V;
  a.K = shape.K;
  a.student_stride = shape.V + random.integer(0, 3);
  a.teacher_stride = shape.V + random.integer(0, 3);
  a.beta = beta;
  a.temperature = random.one_of({1.0, 0.7, 3.0});
  a.outside = pooled ? SRP_OUTSIDE_POOLED : SRP_OUTSIDE_DROPPED;
  a.tail_floor = random.one_of({1e-7, 0.3});
  const std::vector<uint8_t> mask = random.chance(0.5) ? random.flags(shape.N, 0.8) : std::vector<uint8_t>();
  call.in("student", &RowsArgs::student, reals(dtype, logits(random, shape, a.student_stride, mask)));
  call.in("teacher", &RowsArgs::teacher, reals(dtype, logits(random, shape, a.teacher_stride, mask)));
  if (!mask.empty()) call.in("mask", &RowsArgs::mask, flags(mask));
  if (random.chance(0.7)) {
    std::vector<double> weight = random.reals(shape.N, -1, 1);
    for (int64_t n = 0; n < shape.N; ++n) {
      if (random.chance(0.1)) weight[n] = 0;
      if (!mask.empty() && !mask[n]) weight[n] = NAN;
    }
    call.in("grad_divergences", &RowsArgs::grad_divergences, reals(SRP_F64, weight));
  }
  if (shape.K > 0) {
    std::vector<int32_t> ids = supports(random, shape);
    for (int64_t i = 0; i < shape.N * shape.K && !mask.empty(); ++i)
      if (!mask[i / shape.K]) ids[i] = INT32_MIN;
    call.in("support", &RowsArgs::support, ints(ids));
  }
  const bool with_grad = random.chance(present);
  if (!with_grad || random.chance(present))
    call.out("divergences", &RowsArgs::divergences, SRP_F64, shape.N, values(pooled));
  if (!with_grad) return call;
  if (shape.K == 0 && random.chance(0.5))
    call.in_place("student", &RowsArgs::grad_student, gradients(dtype, pooled));
  else
    call.out("grad_student", &RowsArgs::grad_student, dtype, shape.N * a.student_stride, gradients(dtype, pooled));
  return call;
}

Call<TopArgs> top(Random& random, int32_t dtype, const Shape& shape) {
  Call<TopArgs> call(&srp_backend::divergence_top);
  TopArgs& a = call.args;
  a.dtype = dtype;
  a.N = shape.N;
  a.V = shape.V;
  a.K = shape.K;
  a.stride = shape.V + random.integer(0, 3);
  const std::vector<uint8_t> mask = random.chance(0.5) ? random.flags(shape.N, 0.8) : std::vector<uint8_t>();
  std::vector<double> x = logits(random, shape, a.stride, mask, false);
  if (random.chance(0.5))
    for (double& value : x) value = nearbyint(value);  // ties, and both zeros
  call.in("logits", &TopArgs::logits, reals(dtype, x));
  if (!mask.empty()) call.in("mask", &TopArgs::mask, flags(mask));
  call.out("ids", &TopArgs::ids, SRP_I32, shape.N * shape.K, Tolerance::exact());
  return call;
}

// One id, less and more than a warp, then the rows of 128 and of 256 threads. Supports of one id, of more than a warp, of all.
const Shape kShapes[] = {{0, 5, 0},  {3, 0, 0},   {2, 1, 0},   {2, 1, 1},    {9, 3, 0},     {9, 3, 2},   {20, 33, 0},
                         {5, 33, 7}, {5, 40, 40}, {4, 300, 0}, {3, 300, 60}, {2, 2100, 17}, {2, 2100, 0}};
// More than the 8192 blocks that then take rows in turns.
const Shape kManyRows = {8200, 3, 2};

}  // namespace

void divergence_agrees(Runner& run) {
  Random random(61);

  run.begin("divergence_rows", "agrees");
  for (const Shape& shape : kShapes)
    for (const int32_t dtype : kDtypes)
      for (const double beta : {0.0, 0.3, 1.0})
        for (const bool pooled : {false, true}) {
          if (pooled && shape.K == 0) continue;
          if (shape.V > 1000 && dtype != (beta == 0.3 ? SRP_F64 : SRP_BF16))
            continue;  // long rows take their time in fibers
          run.agree(rows(random, dtype, shape, beta, pooled, 0.8));
        }
  run.agree(rows(random, SRP_F32, kManyRows, 0.5, true, 1));

  run.begin("divergence_top", "agrees");
  for (const Shape& shape : kShapes)
    for (const int32_t dtype : kDtypes) run.agree(top(random, dtype, shape));
  run.agree(top(random, SRP_BF16, kManyRows));
}

void divergence_refuses(Runner& run) {
  Random random(62);
  const Shape shape = {4, 37, 5};

  run.begin("divergence_rows", "refuses");
  Call<RowsArgs> good = rows(random, SRP_BF16, shape, 0.5, true, 1);
  while (good.arrays[2].data.dtype == SRP_U8) good = rows(random, SRP_BF16, shape, 0.5, true, 1);  // all rows are kept
  expect_struct_checks(run, good);
  refuse_values(run, good, "dtype", &RowsArgs::dtype, {0, -1, SRP_I32, SRP_U8, SRP_I64, INT32_MAX}, SRP_BAD_DTYPE);
  refuse_negative(run, good, &RowsArgs::N, &RowsArgs::V, &RowsArgs::student_stride, &RowsArgs::teacher_stride,
                  &RowsArgs::K);
  refuse_null(run, good, &RowsArgs::student, &RowsArgs::teacher, &RowsArgs::support);
  refuse_enumerators(run, good, "outside", &RowsArgs::outside, SRP_OUTSIDE_POOLED);
  refuse_values(run, good, "beta", &RowsArgs::beta, {-0.1, 1.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "temperature", &RowsArgs::temperature,
                {0.0, -1.0, double{NAN}, double{INFINITY}, 1e-40, 1e40}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "tail_floor", &RowsArgs::tail_floor, {0.0, 1e-13, 0.6, double{NAN}}, SRP_BAD_ARGUMENT);
  run.refused("no output", good.with([](RowsArgs& a) {
    a.divergences = nullptr;
    a.grad_student = nullptr;
  }),
              SRP_BAD_ARGUMENT);
  run.refused("in place with a support", good.with([](RowsArgs& a) { a.grad_student = const_cast<void*>(a.student); }),
              SRP_BAD_ARGUMENT);
  run.refused("more ids than the vocabulary", good.with([](RowsArgs& a) { a.K = a.V + 1; }), SRP_BAD_SHAPE);
  run.refused("a row is shorter than V", good.with([](RowsArgs& a) { a.teacher_stride = a.V - 1; }), SRP_BAD_SHAPE);
  run.refused("more ids than int32",
              good.with([](RowsArgs& a) { a.V = a.student_stride = a.teacher_stride = int64_t{1} << 31; }),
              SRP_BAD_SHAPE);
  run.refused("N * stride overflows", good.with([](RowsArgs& a) { a.N = a.student_stride = int64_t{1} << 40; }),
              SRP_BAD_SHAPE);
  mislead_indices(run, good, "support", 7, shape.V);
  run.agree(good);

  run.begin("divergence_top", "refuses");
  Call<TopArgs> ids = top(random, SRP_F64, shape);
  expect_struct_checks(run, ids);
  refuse_values(run, ids, "dtype", &TopArgs::dtype, {0, -1, SRP_I32, SRP_U8, SRP_I64, INT32_MAX}, SRP_BAD_DTYPE);
  refuse_negative(run, ids, &TopArgs::N, &TopArgs::V, &TopArgs::stride, &TopArgs::K);
  refuse_null(run, ids, &TopArgs::logits, &TopArgs::ids);
  run.refused("more ids than the vocabulary", ids.with([](TopArgs& a) { a.K = a.V + 1; }), SRP_BAD_SHAPE);
  run.refused("N * stride overflows", ids.with([](TopArgs& a) { a.N = a.stride = int64_t{1} << 40; }), SRP_BAD_SHAPE);
  run.agree(ids);
}

SRP_FAMILY(divergence);

}  // namespace srp::test
