// A linear head to log-probs and entropies, and the gradients of its hidden states and weights (surprisal/linear.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using ForwardArgs = srp_linear_forward_args;
using BackwardArgs = srp_linear_backward_args;

struct Shape {
  int64_t N, D, V, padding;
};

struct Problem {
  int32_t dtype;
  Shape shape;
  int64_t chunk;
  double temperature, scale, softcap;
  std::vector<double> hidden, weight, bias;  // bias empty: none
  std::vector<int32_t> targets;
  std::vector<uint8_t> mask;  // empty: all kept
  int32_t sums = SRP_SUMS_FLOAT32;
};

int32_t wide(const Problem& p) { return p.dtype == SRP_F64 ? SRP_F64 : SRP_F32; }

// Logits of size 3 at most from products, and of 4 with a bias, of which a few are masked.
Problem problem(Random& random, int32_t dtype, const Shape& shape, double softcap) {
  const auto [N, D, V, padding] = shape;
  const double size = D > 0 ? 3.0 / static_cast<double>(D) : 0;
  Problem p = {dtype,
               shape,
               random.one_of({0, 1, 64, 100}),
               random.one_of({1.0, 0.7}),
               random.one_of({1.0, 0.5}),
               softcap,
               random.reals(N * D, -1, 1),
               random.reals((V + padding) * D, -size, size),
               {},
               random.integers(N, 0, V - 1),
               {},
               SRP_SUMS_FLOAT32};
  if (random.chance(0.6)) p.bias = random.reals(V + padding, -1, 1);
  for (double& shift : p.bias)
    if (random.chance(0.05)) shift = -INFINITY;
  if (random.chance(0.6)) p.mask = random.flags(N, 0.7);
  // Padding and rows that are not kept are not read.
  for (int64_t i = V * D; i < (V + padding) * D; ++i) p.weight[i] = NAN;
  for (int64_t j = V; j < V + padding && !p.bias.empty(); ++j) p.bias[j] = NAN;
  for (int64_t n = 0; n < N && !p.mask.empty(); ++n) {
    if (p.mask[n]) continue;
    for (int64_t d = 0; d < D; ++d) p.hidden[n * D + d] = NAN;
    p.targets[n] = INT32_MIN;
  }
  return p;
}

template <class Args>
void inputs(Call<Args>& call, const Problem& p) {
  Args& a = call.args;
  a.dtype = p.dtype;
  a.N = p.shape.N;
  a.D = p.shape.D;
  a.V = p.shape.V;
  a.padded = p.shape.V + p.shape.padding;
  a.chunk_rows = p.chunk;
  a.temperature = p.temperature;
  a.scale = p.scale;
  a.softcap = p.softcap;
  a.sums = p.sums;
  call.in("hidden", &Args::hidden, reals(p.dtype, p.hidden));
  call.in("weight", &Args::weight, reals(p.dtype, p.weight));
  if (!p.bias.empty()) call.in("bias", &Args::bias, reals(p.dtype, p.bias));
  call.in("targets", &Args::targets, ints(p.targets));
  if (!p.mask.empty()) call.in("mask", &Args::mask, flags(p.mask));
}

// A logit is within 2e-6 of sum |hidden weight| <= 3 on the device (8e-6 of D = 296, whose sizes are below 1), its z within 1.5 times that; log-probs of -20 and more
// and what else comes from two z's within 1e-5. Float64 throughout: 1e-12.
// In bfloat16 parts the first is 1.6e-5.
Tolerance of_rows(const Problem& p) {
  if (p.sums == SRP_SUMS_BFLOAT16X3) return {2e-6, 1.6e-4};
  return p.dtype == SRP_F64 ? Tolerance{1e-11, 1e-12} : Tolerance{2e-6, 2e-5};
}

Call<ForwardArgs> forward(Random& random, const Problem& p, double present) {
  Call<ForwardArgs> call(&srp_backend::linear_forward);
  inputs(call, p);
  const auto out = [&](const char* name, auto field, int32_t dtype) {
    if (random.chance(present)) call.out(name, field, dtype, p.shape.N, of_rows(p));
  };
  out("log_probs", &ForwardArgs::log_probs, wide(p));
  out("entropies", &ForwardArgs::entropies, wide(p));
  out("log_sum_exps", &ForwardArgs::log_sum_exps, wide(p));
  out("sum_squares", &ForwardArgs::sum_squares, wide(p));
  out("max_logits", &ForwardArgs::max_logits, SRP_F64);
  out("log1p_sums", &ForwardArgs::log1p_sums, SRP_F64);
  out("mean_gaps", &ForwardArgs::mean_gaps, SRP_F64);
  return call;
}

// Terms are below 10 in these cases; g, and so every sum of V or N of them, moves by the error of its logits.
Tolerance of_gradient(const Problem& p, int32_t dtype) {
  if (p.dtype == SRP_F64) return {1e-11, 1e-11};
  if (p.sums == SRP_SUMS_BFLOAT16X3) return {1.2e-7, 1.6e-4 + 4e-6 * static_cast<double>(p.shape.N)};
  const double step = dtype == SRP_F32 ? 1.2e-7 : dtype == SRP_F16 ? 0x1p-10 : 0x1p-7;
  return {step, 2e-5 + 5e-7 * static_cast<double>(p.shape.N) + (dtype == SRP_F16 ? 0x1p-24 : 0)};
}

struct Wanted {
  bool of_logprob, of_entropy, hidden, weight, bias;
};

Call<BackwardArgs> backward(Random& random, const Problem& p, const Wanted& wanted, int32_t accumulate) {
  const Call<ForwardArgs> rows = forward(random, p, 1);
  const Outcome found = on_cpu(rows);
  const auto result = [&](const char* name) { return found.arrays[rows.index_of(name)]; };
  Call<BackwardArgs> call(&srp_backend::linear_backward);
  inputs(call, p);
  call.args.accumulate = accumulate;
  call.args.vocab_size = call.args.V;
  call.in("max_logits", &BackwardArgs::max_logits, result("max_logits"));
  call.in("log1p_sums", &BackwardArgs::log1p_sums, result("log1p_sums"));
  const auto [N, D, V, padding] = p.shape;
  if (wanted.of_logprob)
    call.in("grad_log_probs", &BackwardArgs::grad_log_probs, reals(wide(p), random.reals(N, -1, 1)));
  if (wanted.of_entropy) {
    call.in("mean_gaps", &BackwardArgs::mean_gaps, result("mean_gaps"));
    call.in("grad_entropies", &BackwardArgs::grad_entropies, reals(wide(p), random.reals(N, -1, 1)));
  }
  const auto sum = [&](const char* name, void* BackwardArgs::* field, int64_t count) {
    call.out(name, field, wide(p), count, of_gradient(p, wide(p)));
    if (accumulate) call.arrays.back().data = reals(wide(p), random.reals(count, -1, 1));
  };
  if (wanted.hidden) call.out("grad_hidden", &BackwardArgs::grad_hidden, p.dtype, N * D, of_gradient(p, p.dtype));
  if (wanted.weight) sum("grad_weight", &BackwardArgs::grad_weight, (V + padding) * D);
  if (wanted.bias) sum("grad_bias", &BackwardArgs::grad_bias, V + padding);
  return call;
}

// No row, no dimension, no padding and some; less and more than a tile of 8 and of 64, than a step of 32, than a strip of
// 1024 ids, and, with chunks of 64, several of these. Tensor cores: more than a tile of 128, than slabs of 2048 ids and rows, dimensions
// that 16-byte copies can take, and more of them than 256.
const Shape kShapes[] = {{0, 3, 5, 1},    {2, 0, 3, 0},      {1, 1, 1, 0},   {9, 5, 7, 2},   {70, 33, 66, 0},
                         {3, 7, 2100, 3}, {130, 40, 130, 0}, {2, 296, 6, 1}, {2060, 3, 4, 0}};

template <class Args>
void refuse_head(Runner& run, const Call<Args>& good) {
  expect_struct_checks(run, good);
  refuse_values(run, good, "dtype", &Args::dtype, {0, -1, SRP_I32, SRP_U8, SRP_I64, INT32_MAX}, SRP_BAD_DTYPE);
  refuse_negative(run, good, &Args::N, &Args::D, &Args::V, &Args::padded, &Args::chunk_rows);
  refuse_values(run, good, "sums", &Args::sums, {-1, 3, INT32_MAX}, SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::hidden, &Args::weight, &Args::targets);
  run.refused("fewer rows of weight than ids", good.with([](Args& a) { a.padded = a.V - 1; }), SRP_BAD_SHAPE);
  run.refused("more ids than int32", good.with([](Args& a) { a.V = a.padded = int64_t{1} << 31; }), SRP_BAD_SHAPE);
  run.refused("N * D overflows", good.with([](Args& a) { a.N = a.D = int64_t{1} << 40; }), SRP_BAD_SHAPE);
  run.refused("padded * D overflows", good.with([](Args& a) { a.padded = a.D = int64_t{1} << 40; }), SRP_BAD_SHAPE);
  for (double Args::* scalar : {&Args::temperature, &Args::scale})
    refuse_values(run, good, "a scalar", scalar, {0.0, -1.0, double{NAN}, double{INFINITY}, 1e-40, 1e40},
                  SRP_BAD_ARGUMENT);
  refuse_values(run, good, "softcap", &Args::softcap, {-1.0, double{NAN}, double{INFINITY}, 1e-40, 1e40},
                SRP_BAD_ARGUMENT);
  mislead_indices(run, good, "targets", 2, good.args.V);
}

}  // namespace

void linear_agrees(Runner& run) {
  Random random(91);
  const auto each = [&](auto visit) {
    for (const Shape& shape : kShapes)
      for (const int32_t dtype : {SRP_F32, SRP_F16, SRP_BF16, SRP_F64}) {
        // These take as long as all others: a second strip is that of one half type, the tiles of tensor cores those of half types.
        if (shape.V > 1024 && dtype == SRP_F16) continue;
        if (shape.N > 128 && dtype != SRP_F16 && dtype != SRP_BF16) continue;
        if (shape.N > 2048 && dtype != SRP_BF16) continue;
        Problem p = problem(random, dtype, shape, random.one_of({0.0, 5.0}));
        visit(p);
        if (dtype != SRP_F32) continue;
        p.sums = SRP_SUMS_BFLOAT16X3;
        visit(p);
      }
  };
  run.begin("linear_forward", "agrees");
  each([&](const Problem& p) { run.agree(forward(random, p, 0.85)); });

  run.begin("linear_backward", "agrees");
  each([&](const Problem& p) {
    run.agree(backward(random, p, {true, true, true, true, true}, 0));
    const bool of_logprob = random.chance(0.5);
    const Wanted some = {of_logprob, !of_logprob, random.chance(0.5), random.chance(0.5), random.chance(0.5)};
    run.agree(backward(random, p, some, 1));
  });
}

void linear_refuses(Runner& run) {
  Random random(92);
  Problem p = problem(random, SRP_BF16, {4, 5, 9, 0}, 0);
  p.mask.clear();
  p.hidden = random.reals(20, -1, 1);
  p.targets = {0, 3, 5, 8};

  run.begin("linear_forward", "refuses");
  const Call<ForwardArgs> rows = forward(random, p, 1);
  refuse_head(run, rows);
  run.agree(rows);

  run.begin("linear_backward", "refuses");
  const Call<BackwardArgs> grad = backward(random, p, {true, true, true, true, true}, 0);
  refuse_head(run, grad);
  refuse_null(run, grad, &BackwardArgs::max_logits, &BackwardArgs::log1p_sums, &BackwardArgs::mean_gaps);
  refuse_enumerators(run, grad, "accumulate", &BackwardArgs::accumulate, 1);
  run.agree(grad);
}

SRP_FAMILY(linear);

}  // namespace srp::test
