// Logits to log-probs and entropies, shards and their merge, and the gradient (surprisal/logprob.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using ForwardArgs = srp_logprob_forward_args;
using BackwardArgs = srp_logprob_backward_args;
using PartialArgs = srp_logprob_partial_args;
using MergeArgs = srp_logprob_merge_args;
using KeptForwardArgs = srp_logprob_kept_forward_args;
using KeptBackwardArgs = srp_logprob_kept_backward_args;

// Float32 terms on the device, float64 ones on the CPU: 2e-6 on any row (logprob.h), and both are rounded to float32.
constexpr Tolerance kFloat32Terms = {2.2e-6, 1e-12};
// The maximum and a log1p of less than 10 can cancel.
constexpr Tolerance kLse = {2.2e-6, 2e-5};

struct Shape {
  int64_t N, V, K;
};

// What all ops of a case are about: whole rows, of which shards are cut.
struct Problem {
  int32_t dtype;
  Shape shape;
  double temperature, scale, softcap;
  std::vector<double> logits;  // [N, V]
  std::vector<int32_t> targets;  // [N, K]
  std::vector<uint8_t> mask;  // empty: all kept
};

// Rows as they are hard: peaked, flat, hot, with masked ids, without a finite logit, with NaN or +infinity.
void fill_row(Random& random, double* row, int64_t V) {
  const int64_t kind = random.integer(0, 11);
  for (int64_t j = 0; j < V; ++j) {
    const double x = random.real(-8, 8);
    row[j] = kind == 0 ? 0.5 : kind == 1 ? 1e4 + x : kind == 2 && random.chance(0.5) ? -INFINITY : x;
    if (kind == 3) row[j] = -INFINITY;
  }
  if (V > 0 && kind >= 4 && kind <= 6) row[random.integer(0, V - 1)] = kind == 4 ? 40 : kind == 5 ? NAN : INFINITY;
}

Problem problem(Random& random, int32_t dtype, const Shape& shape, double softcap) {
  Problem p = {dtype, shape, random.one_of({1.0, 0.7, 5.0}), random.one_of({1.0, 0.125}), softcap, {}, {}, {}};
  p.logits.resize(static_cast<size_t>(shape.N * shape.V));
  p.targets = random.integers(shape.N * shape.K, 0, shape.V - 1);
  for (int64_t n = 0; n < shape.N; ++n) fill_row(random, p.logits.data() + n * shape.V, shape.V);
  if (random.chance(0.5)) p.mask = random.flags(shape.N, 0.8);
  // Nothing of an ignored row is read.
  for (int64_t n = 0; n < shape.N && !p.mask.empty(); ++n) {
    if (p.mask[n]) continue;
    for (int64_t j = 0; j < shape.V; ++j) p.logits[n * shape.V + j] = NAN;
    for (int64_t k = 0; k < shape.K; ++k) p.targets[n * shape.K + k] = INT32_MIN;
  }
  return p;
}

// Columns of the vocabulary, in rows with padding behind them.
struct Shard {
  int64_t start, V, padding;
};

template <class Args>
void inputs(Call<Args>& call, const Problem& p, const Shard& shard) {
  const auto [N, vocabulary, K] = p.shape;
  Args& a = call.args;
  a.dtype = p.dtype;
  a.N = N;
  a.V = shard.V;
  a.stride = shard.V + shard.padding;
  a.K = K;
  a.temperature = p.temperature;
  a.scale = p.scale;
  a.softcap = p.softcap;
  std::vector<double> logits(static_cast<size_t>(N * a.stride), NAN);  // NaN: the padding is not read
  for (int64_t n = 0; n < N; ++n)
    for (int64_t j = 0; j < shard.V; ++j) logits[n * a.stride + j] = p.logits[n * vocabulary + shard.start + j];
  call.in("logits", &Args::logits, reals(p.dtype, logits));
  call.in("targets", &Args::targets, ints(p.targets));
  if (!p.mask.empty()) call.in("mask", &Args::mask, flags(p.mask));
  if constexpr (!std::is_same_v<Args, ForwardArgs>) {
    a.vocab_start = shard.start;
    a.vocab_size = vocabulary;
  }
}

template <class Args>
void outputs(Call<Args>& call, Random& random, const Shape& shape, double present, Tolerance terms, Tolerance lse) {
  const auto out = [&](const char* name, float* Args::* field, int64_t count, Tolerance tolerance) {
    if (random.chance(present)) call.out(name, field, SRP_F32, count, tolerance);
  };
  out("log_probs", &Args::log_probs, shape.N * shape.K, terms);
  out("entropies", &Args::entropies, shape.N, terms);
  out("log_sum_exps", &Args::log_sum_exps, shape.N, lse);
  out("max_logits", &Args::max_logits, shape.N, Tolerance::exact());
  out("log1p_sums", &Args::log1p_sums, shape.N, terms);
  out("mean_gaps", &Args::mean_gaps, shape.N, terms);
  out("sum_squares", &Args::sum_squares, shape.N, terms);
}

Call<ForwardArgs> forward(Random& random, const Problem& p, int64_t padding, double present) {
  Call<ForwardArgs> call(&srp_backend::logprob_forward);
  inputs(call, p, {0, p.shape.V, padding});
  outputs(call, random, p.shape, present, kFloat32Terms, kLse);
  return call;
}

Call<PartialArgs> partial(const Problem& p, const Shard& shard) {
  Call<PartialArgs> call(&srp_backend::logprob_partial);
  inputs(call, p, shard);
  call.out("states", &PartialArgs::states, SRP_F64, p.shape.N * (4 + p.shape.K), kFloat32Terms);
  return call;
}

// One thread a row on both backends, in float64: the same bits.
Call<MergeArgs> merge(Random& random, const Problem& p, const Data& states, int64_t P) {
  Call<MergeArgs> call(&srp_backend::logprob_merge);
  call.args.P = P;
  call.args.N = p.shape.N;
  call.args.K = p.shape.K;
  call.args.temperature = p.temperature;
  call.args.scale = p.scale;
  call.args.softcap = p.softcap;
  call.in("states", &MergeArgs::states, states);
  outputs(call, random, p.shape, 0.85, Tolerance::exact(), Tolerance::exact());
  return call;
}

// 2e-6 of the largest term (logprob.h): gradients are at most 1 in these cases, p |log p + H| at most log V < 10. Then
// one step of the logits' dtype, among its subnormals too.
Tolerance gradient_tolerance(const Problem& p) {
  const double largest = p.scale / p.temperature * (static_cast<double>(p.shape.K) + 10);
  const double step = p.dtype == SRP_F32 ? 1.2e-7 : p.dtype == SRP_F16 ? 0x1p-10 : 0x1p-7;
  return {step, 2e-6 * largest + (p.dtype == SRP_F16 ? 0x1p-24 : 0)};
}

// Of a shard, from the statistics of the whole rows.
Call<BackwardArgs> backward(Random& random, const Problem& p, const Shard& shard, bool of_logprob, bool of_entropy) {
  const Call<ForwardArgs> whole = forward(random, p, 0, 1);
  const Outcome rows = on_cpu(whole);
  const auto result = [&](const char* name) { return rows.arrays[whole.index_of(name)]; };
  Call<BackwardArgs> call(&srp_backend::logprob_backward);
  inputs(call, p, shard);
  call.in("max_logits", &BackwardArgs::max_logits, result("max_logits"));
  call.in("log1p_sums", &BackwardArgs::log1p_sums, result("log1p_sums"));
  const int64_t N = p.shape.N, K = p.shape.K;
  if (of_logprob) call.in("grad_log_probs", &BackwardArgs::grad_log_probs, reals(SRP_F32, random.reals(N * K, -1, 1)));
  if (of_entropy) {
    call.in("mean_gaps", &BackwardArgs::mean_gaps, result("mean_gaps"));
    call.in("grad_entropies", &BackwardArgs::grad_entropies, reals(SRP_F32, random.reals(N, -1, 1)));
  }
  if (random.chance(0.5))
    call.in_place("logits", &BackwardArgs::grad_logits, gradient_tolerance(p));
  else
    call.out("grad_logits", &BackwardArgs::grad_logits, p.dtype, N * call.args.stride, gradient_tolerance(p));
  return call;
}

// Ids that a sampler kept of each row, in any order; of an ignored row none that is one.
struct Lists {
  std::vector<int32_t> ids, offsets = {0};
};

Lists lists(Random& random, const Problem& p) {
  Lists kept;
  for (int64_t n = 0; n < p.shape.N; ++n) {
    const double share = random.one_of({0.0, 0.1, 0.7, 1.0});
    const int64_t first = p.shape.V == 0 ? 0 : random.integer(0, p.shape.V - 1);
    for (int64_t j = 0; j < p.shape.V; ++j)
      if (random.chance(share))
        kept.ids.push_back(!p.mask.empty() && !p.mask[n] ? INT32_MIN : static_cast<int32_t>((first + j) % p.shape.V));
    kept.offsets.push_back(static_cast<int32_t>(kept.ids.size()));
  }
  return kept;
}

template <class Args>
void kept_inputs(Call<Args>& call, const Problem& p, const Lists& kept, int64_t padding) {
  const auto [N, V, K] = p.shape;
  Args& a = call.args;
  a.dtype = p.dtype;
  a.N = N;
  a.V = V;
  a.stride = V + padding;
  a.K = static_cast<int64_t>(kept.ids.size());
  a.temperature = p.temperature;
  a.scale = p.scale;
  a.softcap = p.softcap;
  std::vector<double> logits(static_cast<size_t>(N * a.stride), NAN);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t j = 0; j < V; ++j) logits[n * a.stride + j] = p.logits[n * V + j];
  call.in("logits", &Args::logits, reals(p.dtype, logits));
  call.in("targets", &Args::targets, ints(p.targets));
  call.in("ids", &Args::ids, ints(kept.ids));
  call.in("offsets", &Args::offsets, ints(kept.offsets));
  if (!p.mask.empty()) call.in("mask", &Args::mask, flags(p.mask));
}

// Sums in float64 on both backends, in another order: half a step of float32 apart, at most one.
constexpr Tolerance kKept = {1.3e-7, 1e-12};

Call<KeptForwardArgs> kept_forward(const Problem& p, const Lists& kept, int64_t padding) {
  Call<KeptForwardArgs> call(&srp_backend::logprob_kept_forward);
  kept_inputs(call, p, kept, padding);
  call.out("log_probs", &KeptForwardArgs::log_probs, SRP_F32, p.shape.N, kKept);
  call.out("max_logits", &KeptForwardArgs::max_logits, SRP_F32, p.shape.N, Tolerance::exact());
  call.out("log1p_sums", &KeptForwardArgs::log1p_sums, SRP_F32, p.shape.N, kKept);
  return call;
}

Call<KeptBackwardArgs> kept_backward(Random& random, const Problem& p, const Lists& kept, int64_t padding,
                                     bool of_entropy, bool in_place) {
  const Call<KeptForwardArgs> over_kept = kept_forward(p, kept, 0);
  const Call<ForwardArgs> over_all = forward(random, p, 0, 1);
  const Outcome of_kept = on_cpu(over_kept), of_all = on_cpu(over_all);
  Call<KeptBackwardArgs> call(&srp_backend::logprob_kept_backward);
  kept_inputs(call, p, kept, padding);
  const auto from = [](const auto& made, const Outcome& results, const char* name) {
    return results.arrays[made.index_of(name)];
  };
  call.in("kept_max_logits", &KeptBackwardArgs::kept_max_logits, from(over_kept, of_kept, "max_logits"));
  call.in("kept_log1p_sums", &KeptBackwardArgs::kept_log1p_sums, from(over_kept, of_kept, "log1p_sums"));
  const int64_t N = p.shape.N;
  call.in("grad_log_probs", &KeptBackwardArgs::grad_log_probs, reals(SRP_F32, random.reals(N, -1, 1)));
  if (of_entropy) {
    call.in("max_logits", &KeptBackwardArgs::max_logits, from(over_all, of_all, "max_logits"));
    call.in("log1p_sums", &KeptBackwardArgs::log1p_sums, from(over_all, of_all, "log1p_sums"));
    call.in("mean_gaps", &KeptBackwardArgs::mean_gaps, from(over_all, of_all, "mean_gaps"));
    call.in("grad_entropies", &KeptBackwardArgs::grad_entropies, reals(SRP_F32, random.reals(N, -1, 1)));
  }
  if (in_place)
    call.in_place("logits", &KeptBackwardArgs::grad_logits, gradient_tolerance(p));
  else
    call.out("grad_logits", &KeptBackwardArgs::grad_logits, p.dtype, N * call.args.stride, gradient_tolerance(p));
  return call;
}

// The vocabulary cut into P shards of any width.
std::vector<Shard> cut(Random& random, int64_t V, int64_t P) {
  std::vector<Shard> shards;
  for (int64_t start = 0; P > 0; --P) {
    const int64_t width = P == 1 ? V - start : random.integer(0, V - start);
    shards.push_back({start, width, random.integer(0, 3)});
    start += width;
  }
  return shards;
}

Data merged_input(const Problem& p, const std::vector<Shard>& shards) {
  Data states = untouched(SRP_F64, 0);
  for (const Shard& shard : shards) {
    const Call<PartialArgs> call = partial(p, shard);
    const Data state = on_cpu(call).arrays[call.index_of("states")];
    states.bytes.insert(states.bytes.end(), state.bytes.begin(), state.bytes.end());
  }
  return states;
}

// V: one id, less and more than a warp, then rows of one slice of 16 bits and two of float32, of three and five, and of more than a block
// has warps, which several blocks share. K: none, one, several, more than a warp.
const Shape kShapes[] = {{0, 5, 1},   {3, 0, 0},   {2, 1, 1},    {9, 2, 3},    {40, 33, 1},
                         {3, 33, 40}, {5, 300, 2}, {2, 2100, 0}, {2, 8300, 3}, {2, 36000, 1}};
const Shape kManyRows = {3300, 3, 2};  // of which a warp takes two

template <class Visit>
void each_problem(Random& random, Visit visit) {
  for (const Shape& shape : kShapes)
    for (const int32_t dtype : {SRP_F32, SRP_F16, SRP_BF16})
      for (const double softcap : {0.0, 30.0}) visit(problem(random, dtype, shape, softcap));
}

// What the three ops that read logits refuse.
template <class Args>
void refuse_logits(Runner& run, const Call<Args>& good) {
  expect_struct_checks(run, good);
  refuse_values(run, good, "dtype", &Args::dtype, {0, -1, SRP_F64, SRP_I32, SRP_U8, SRP_I64, INT32_MAX}, SRP_BAD_DTYPE);
  refuse_negative(run, good, &Args::N, &Args::V, &Args::stride, &Args::K);
  refuse_null(run, good, &Args::logits);
  run.refused("a row is shorter than V", good.with([](Args& a) { a.stride = a.V - 1; }), SRP_BAD_SHAPE);
  run.refused("more ids than int32", good.with([](Args& a) { a.V = a.stride = int64_t{1} << 31; }), SRP_BAD_SHAPE);
  run.refused("N * stride overflows", good.with([](Args& a) { a.N = a.stride = int64_t{1} << 40; }), SRP_BAD_SHAPE);
  run.refused("N * K overflows", good.with([](Args& a) { a.N = a.K = int64_t{1} << 40; }), SRP_BAD_SHAPE);
}

template <class Args>
void refuse_map(Runner& run, const Call<Args>& good) {
  for (double Args::* scalar : {&Args::temperature, &Args::scale})
    refuse_values(run, good, "a scalar", scalar, {0.0, -1.0, double{NAN}, double{INFINITY}, 1e-40, 1e40},
                  SRP_BAD_ARGUMENT);
  refuse_values(run, good, "softcap", &Args::softcap, {-1.0, double{NAN}, double{INFINITY}, 1e-40, 1e40},
                SRP_BAD_ARGUMENT);
}

template <class Args>
void refuse_shards(Runner& run, const Call<Args>& good) {
  refuse_values(run, good, "vocab_start", &Args::vocab_start, {-1, 1000, INT64_MIN, INT64_MAX}, SRP_BAD_SHAPE);
  refuse_values(run, good, "vocab_size", &Args::vocab_size, {-1, 0, 1, INT64_MIN, INT64_MAX}, SRP_BAD_SHAPE);
}

// Every row keeps this many ids.
Lists lists_of_rows(const Problem& p, int64_t count) {
  Lists kept;
  for (int64_t n = 0; n < p.shape.N; ++n) {
    for (int64_t j = 0; j < count; ++j) kept.ids.push_back(static_cast<int32_t>((7 * n + 3 * j) % p.shape.V));
    kept.offsets.push_back(static_cast<int32_t>(kept.ids.size()));
  }
  return kept;
}

template <class Args>
void refuse_kept(Runner& run, const Call<Args>& good, const Problem& p, int64_t ids) {
  expect_struct_checks(run, good);
  refuse_values(run, good, "dtype", &Args::dtype, {0, -1, SRP_F64, SRP_I32, INT32_MAX}, SRP_BAD_DTYPE);
  refuse_negative(run, good, &Args::N, &Args::V, &Args::stride, &Args::K);
  refuse_map(run, good);
  refuse_null(run, good, &Args::logits, &Args::targets, &Args::ids, &Args::offsets);
  mislead_indices(run, good, "targets", 2, p.shape.V);
  mislead_indices(run, good, "ids", 11, p.shape.V);
  mislead_offsets(run, good, "offsets", p.shape.N, ids);
  run.agree(good);
}

}  // namespace

void logprob_agrees(Runner& run) {
  Random random(11);
  const Problem many = problem(random, SRP_F32, kManyRows, 0);

  run.begin("logprob_forward", "agrees");
  each_problem(random, [&](const Problem& p) {
    for (const int64_t padding : {0, 3}) run.agree(forward(random, p, padding, padding ? 0.85 : 1));
  });
  run.agree(forward(random, many, 0, 1));

  run.begin("logprob_backward", "agrees");
  each_problem(random, [&](const Problem& p) {
    run.agree(backward(random, p, {0, p.shape.V, 2}, true, true));
    run.agree(backward(random, p, {0, p.shape.V, 0}, random.chance(0.5), random.chance(0.5)));
    run.agree(backward(random, p, cut(random, p.shape.V, 2)[1], true, true));
  });
  run.agree(backward(random, many, {0, kManyRows.V, 0}, true, true));
  // Targets of no row: no memory may be asked for.
  const Call<BackwardArgs> none = backward(random, problem(random, SRP_F32, {0, 5, 1}, 0), {0, 5, 0}, true, true);
  for (const int64_t K : {int64_t{1} << 40, INT64_MAX / 64}) run.agree(none.with([=](BackwardArgs& a) { a.K = K; }));

  run.begin("logprob_partial", "agrees");
  each_problem(random, [&](const Problem& p) {
    for (const Shard& shard : cut(random, p.shape.V, 3)) run.agree(partial(p, shard));
  });
  run.agree(partial(many, {1, 2, 0}));

  run.begin("logprob_kept_forward", "agrees");
  each_problem(random, [&](const Problem& p) {
    if (p.shape.K == 1) run.agree(kept_forward(p, lists(random, p), random.integer(0, 2)));
  });

  run.begin("logprob_kept_backward", "agrees");
  each_problem(random, [&](const Problem& p) {
    for (const bool in_place : {false, true})
      if (p.shape.K == 1)
        run.agree(kept_backward(random, p, lists(random, p), random.integer(0, 2), random.chance(0.6), in_place));
  });

  run.begin("logprob_merge", "agrees");
  each_problem(random, [&](const Problem& p) {
    for (const int64_t P : {1, 4}) run.agree(merge(random, p, merged_input(p, cut(random, p.shape.V, P)), P));
  });
  const Problem p = problem(random, SRP_F32, {5, 1, 2}, 0);
  run.agree(merge(random, p, untouched(SRP_F64, 0), 0));  // no shard
  // States that no partial ever wrote. (With log-probs wanted, some of them are a target in no shard.)
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<double> states = random.reals(3 * 5 * 6, -9, 9);
    for (double& x : states)
      if (random.chance(0.2)) x = random.one_of({double{NAN}, double{INFINITY}, -double{INFINITY}, -1.0});
    const auto without_logprob = [](MergeArgs& a) { a.log_probs = nullptr; };
    run.agree(merge(random, p, reals(SRP_F64, states), 3).with(without_logprob));
  }
}

void logprob_refuses(Runner& run) {
  Random random(12);
  Problem p = problem(random, SRP_BF16, {4, 37, 3}, 0);
  p.mask.clear();
  for (double& logit : p.logits) logit = random.real(-8, 8);
  for (int32_t& id : p.targets) id = static_cast<int32_t>(random.integer(0, 36));

  run.begin("logprob_forward", "refuses");
  const Call<ForwardArgs> all = forward(random, p, 2, 1);
  refuse_logits(run, all);
  refuse_map(run, all);
  refuse_null(run, all, &ForwardArgs::targets);
  mislead_indices(run, all, "targets", 5, p.shape.V);
  run.agree(all);

  run.begin("logprob_backward", "refuses");
  for (const bool in_place : {false, true}) {
    Call<BackwardArgs> grad = backward(random, p, {10, 20, 1}, true, true);
    while ((grad.arrays.back().output) == in_place) grad = backward(random, p, {10, 20, 1}, true, true);
    refuse_logits(run, grad);
    refuse_map(run, grad);
    refuse_shards(run, grad);
    refuse_null(run, grad, &BackwardArgs::targets, &BackwardArgs::max_logits, &BackwardArgs::log1p_sums,
                &BackwardArgs::mean_gaps, &BackwardArgs::grad_logits);
    mislead_indices(run, grad, "targets", 2, p.shape.V);
    run.agree(grad);
  }

  run.begin("logprob_partial", "refuses");
  const Call<PartialArgs> shard = partial(p, {10, 20, 1});
  refuse_logits(run, shard);
  refuse_map(run, shard);
  refuse_shards(run, shard);
  refuse_null(run, shard, &PartialArgs::targets, &PartialArgs::states);
  mislead_indices(run, shard, "targets", 11, p.shape.V);
  run.agree(shard);

  Problem one = p;
  one.shape.K = 1;
  one.targets.resize(4);
  const Lists kept = lists_of_rows(one, 9);
  const int64_t ids = static_cast<int64_t>(kept.ids.size());
  run.begin("logprob_kept_forward", "refuses");
  const Call<KeptForwardArgs> over_kept = kept_forward(one, kept, 1);
  refuse_kept(run, over_kept, one, ids);

  run.begin("logprob_kept_backward", "refuses");
  for (const bool in_place : {false, true}) {
    const Call<KeptBackwardArgs> grad = kept_backward(random, one, kept, 1, true, in_place);
    refuse_kept(run, grad, one, ids);
    refuse_null(run, grad, &KeptBackwardArgs::kept_max_logits, &KeptBackwardArgs::kept_log1p_sums,
                &KeptBackwardArgs::grad_log_probs, &KeptBackwardArgs::max_logits, &KeptBackwardArgs::log1p_sums,
                &KeptBackwardArgs::mean_gaps, &KeptBackwardArgs::grad_logits);
  }

  run.begin("logprob_merge", "refuses");
  const Data states = merged_input(p, {{0, 10, 0}, {10, 20, 0}, {30, 7, 0}});
  Call<MergeArgs> merged = merge(random, p, states, 3);
  while (merged.arrays.size() < 8) merged = merge(random, p, states, 3);  // until it has all outputs
  expect_struct_checks(run, merged);
  refuse_map(run, merged);
  refuse_negative(run, merged, &MergeArgs::P, &MergeArgs::N, &MergeArgs::K);
  refuse_null(run, merged, &MergeArgs::states);
  run.refused("P * N * K overflows", merged.with([](MergeArgs& a) { a.P = a.N = a.K = int64_t{1} << 30; }),
              SRP_BAD_SHAPE);
  Call<MergeArgs> incomplete = merge(random, p, merged_input(p, {{0, 1, 0}, {10, 1, 0}, {36, 1, 0}}), 3);
  while (incomplete.arrays.size() < 8) incomplete = merge(random, p, incomplete.arrays[0].data, 3);
  run.misled("a target is in no shard", incomplete);
  run.agree(merged);
}

SRP_FAMILY(logprob);

}  // namespace srp::test
