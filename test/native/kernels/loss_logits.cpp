// From the logits of tokens to their gradient (surprisal/loss.h, loss_logits).
#include "families.h"
#include "loss_numbers.h"

namespace srp::test {
namespace {

using Args = srp_loss_logits_args;

struct Shape {
  int64_t N, V, padding;
};

// Log-probs of a few nats, and now and then a row with masked ids, without a finite logit, with NaN or with +infinity.
std::vector<double> rows(Random& random, const Shape& s, const std::vector<uint8_t>& mask) {
  std::vector<double> logits(static_cast<size_t>(s.N * (s.V + s.padding)), NAN);  // the padding is not read
  for (int64_t n = 0; n < s.N; ++n) {
    if (!mask.empty() && !mask[n]) continue;
    double* const row = logits.data() + n * (s.V + s.padding);
    const int64_t kind = random.integer(0, 15);
    for (int64_t j = 0; j < s.V; ++j)
      row[j] = kind == 0 || (kind == 1 && random.chance(0.5)) ? -INFINITY : random.real(-3, 3);
    if (s.V > 0 && kind >= 2 && kind <= 4)
      row[random.integer(0, s.V - 1)] = random.one_of({double{NAN}, double{INFINITY}, 12.0});
  }
  return logits;
}

void logits(Call<Args>& call, Random& random, int32_t dtype, const Shape& s, double softcap) {
  Args& a = call.args;
  a.dtype = dtype;
  a.N = s.N;
  a.V = s.V;
  a.stride = s.V + s.padding;
  a.temperature = random.one_of({1.0, 0.7});
  a.scale = random.one_of({1.0, 0.5});
  a.softcap = softcap;
  std::vector<uint8_t> mask;
  if (random.chance(0.6)) mask = random.flags(s.N, 0.7);
  std::vector<int32_t> targets = random.integers(s.N, 0, s.V - 1);
  for (int64_t n = 0; n < s.N && !mask.empty(); ++n)
    if (!mask[n]) targets[n] = INT32_MIN;
  call.in("logits", &Args::logits, reals(dtype, rows(random, s, mask)));
  call.in("targets", &Args::targets, ints(targets));
  if (!mask.empty()) call.in("mask", &Args::mask, flags(mask));
}

// What logprob_forward makes of them on the CPU: old and reference log-probs lie near.
std::vector<double> log_probs(const Call<Args>& call) {
  Call<srp_logprob_forward_args> forward(&srp_backend::logprob_forward);
  srp_logprob_forward_args& a = forward.args;
  a.dtype = call.args.dtype;
  a.N = call.args.N;
  a.V = call.args.V;
  a.stride = call.args.stride;
  a.K = 1;
  a.temperature = call.args.temperature;
  a.scale = call.args.scale;
  a.softcap = call.args.softcap;
  using Forward = srp_logprob_forward_args;
  forward.in("logits", &Forward::logits, call.arrays[0].data);
  forward.in("targets", &Forward::targets, call.arrays[1].data);
  if (call.arrays.size() > 2) forward.in("mask", &Forward::mask, call.arrays[2].data);
  forward.out("log_probs", &Forward::log_probs, SRP_F32, a.N, Tolerance::exact());
  const Data found = on_cpu(forward).arrays[forward.index_of("log_probs")];
  std::vector<double> values(static_cast<size_t>(a.N));
  for (int64_t n = 0; n < a.N; ++n) values[n] = found.at(n);
  return values;
}

void losses(Call<Args>& call, Random& random, int32_t form) {
  Args& a = call.args;
  a.form = form;
  const int64_t N = a.N;
  const bool masked = call.arrays.size() > 2;
  const auto tokens = [&](const char* name, auto field, std::vector<double> values) {
    for (int64_t n = 0; n < N && masked; ++n)
      if (call.arrays[2].data.at(n) == 0) values[n] = NAN;  // not read
    call.in(name, field, reals(SRP_F64, values));
  };
  const std::vector<double> current = log_probs(call);
  const auto near = [&] {
    std::vector<double> values = random.reals(N, -0.4, 0.4);
    for (int64_t n = 0; n < N; ++n) values[n] += current[n] == current[n] && current[n] > -50 ? current[n] : -1;
    return values;
  };
  if (random.chance(0.85)) tokens("old_log_probs", &Args::old_log_probs, near());
  tokens("advantages", &Args::advantages, random.reals(N, -2, 2));
  if (random.chance(0.5)) tokens("factors", &Args::factors, random.reals(N, 0.1, 2));
  const bool widths = form != SRP_LOSS_LINEAR && form != SRP_LOSS_SIGMOID && form != SRP_LOSS_MARKED;
  if (widths && random.chance(0.3)) tokens("clip_lows", &Args::clip_lows, random.reals(N, 0, 0.4));
  if (widths && random.chance(0.3)) tokens("clip_highs", &Args::clip_highs, random.reals(N, 0, 0.4));
  if ((form == SRP_LOSS_CLIP || form == SRP_LOSS_WEIGHTED) && random.chance(0.3))
    tokens("ratio_caps", &Args::ratio_caps, random.reals(N, 1, 1.5));
  const bool with_reference = random.chance(0.6);
  if (with_reference) tokens("reference_log_probs", &Args::reference_log_probs, near());
  if (random.chance(0.7)) tokens("weights", &Args::weights, random.reals(N, 0, 1));
  if (random.chance(0.5)) tokens("kl_weights", &Args::kl_weights, random.reals(N, 0, 1));
  if (random.chance(0.5)) tokens("entropy_weights", &Args::entropy_weights, random.reals(N, -1, 1));
  if (random.chance(0.4)) call.in("term_mask", &Args::term_mask, flags(random.flags(N, 0.6)));
  if (random.chance(0.5)) call.in("marks", &Args::marks, flags(random.flags(N, 0.3)));
  a.parameters = loss_parameters(random);
  a.kl = kl_parameters(random, with_reference);
}

// Float32 terms on the device: 2e-6 of the log-prob, so of the ratio; slopes are below 10. A decision at a bound, which random
// ratios do not come that near to, would differ by more.
Tolerance of_gradient(int32_t dtype) {
  const double step = dtype == SRP_F32 ? 1.2e-7 : dtype == SRP_F16 ? 0x1p-10 : 0x1p-7;
  return {step + 1e-5, 5e-5 + (dtype == SRP_F16 ? 0x1p-24 : 0)};
}

Call<Args> loss(Random& random, int32_t dtype, const Shape& s, double softcap, int32_t form, bool in_place) {
  Call<Args> call(&srp_backend::loss_logits);
  logits(call, random, dtype, s, softcap);
  losses(call, random, form);
  const auto out = [&](const char* name, float* Args::* field, double atol) {
    if (random.chance(0.85)) call.out(name, field, SRP_F32, s.N, {2.2e-6, atol});
  };
  out("log_probs", &Args::log_probs, 1e-6);
  out("entropies", &Args::entropies, 1e-12);
  out("log_sum_exps", &Args::log_sum_exps, 2e-5);
  out("max_logits", &Args::max_logits, 0);
  out("log1p_sums", &Args::log1p_sums, 1e-12);
  out("mean_gaps", &Args::mean_gaps, 1e-12);
  out("sum_squares", &Args::sum_squares, 1e-12);
  if (in_place)
    call.in_place("logits", &Args::grad_logits, of_gradient(dtype));
  else
    call.out("grad_logits", &Args::grad_logits, dtype, s.N * (s.V + s.padding), of_gradient(dtype));
  return call;
}

// No row; one id; a warp and less; more than the threads of a block; more rows than one.
const Shape kShapes[] = {{0, 5, 0}, {2, 1, 0}, {9, 3, 2}, {7, 33, 0}, {3, 300, 3}, {2, 2100, 1}};
// Rows of whole 16 bytes, which a device keeps: by a warp, by a block, by the blocks of a cluster.
const Shape kHeld[] = {{4, 300, 4}, {3, 4101, 3}, {2, 53'251, 5}};

}  // namespace

void loss_logits_agrees(Runner& run) {
  Random random(101);
  run.begin("loss_logits", "agrees");
  for (int32_t form = SRP_LOSS_CLIP; form < SRP_LOSS_FORMS; ++form)
    for (const Shape& shape : kShapes)
      for (const int32_t dtype : {SRP_F32, SRP_F16, SRP_BF16})
        run.agree(loss(random, dtype, shape, random.one_of({0.0, 5.0}), form, random.chance(0.5)));
  for (const Shape& shape : kHeld)
    for (const int32_t dtype : {SRP_F32, SRP_F16, SRP_BF16})
      run.agree(loss(random, dtype, shape, 0, SRP_LOSS_CLIP, dtype == SRP_F16));
}

void loss_logits_refuses(Runner& run) {
  Random random(102);
  run.begin("loss_logits", "refuses");
  Call<Args> good = loss(random, SRP_BF16, {4, 9, 0}, 0, SRP_LOSS_CLIP, false);
  while (good.arrays[2].data.dtype == SRP_U8) good = loss(random, SRP_BF16, {4, 9, 0}, 0, SRP_LOSS_CLIP, false);
  expect_struct_checks(run, good);
  refuse_values(run, good, "dtype", &Args::dtype, {0, -1, SRP_F64, SRP_I32, SRP_U8, INT32_MAX}, SRP_BAD_DTYPE);
  refuse_negative(run, good, &Args::N, &Args::V);
  refuse_null(run, good, &Args::logits, &Args::targets, &Args::advantages, &Args::grad_logits);
  run.refused("a stride below V", good.with([](Args& a) { a.stride = a.V - 1; }), SRP_BAD_SHAPE);
  run.refused("N * stride overflows", good.with([](Args& a) { a.N = a.stride = int64_t{1} << 40; }), SRP_BAD_SHAPE);
  refuse_values(run, good, "form", &Args::form, {0, -1, SRP_LOSS_FORMS, INT32_MAX, INT32_MIN}, SRP_BAD_ARGUMENT);
  for (double Args::* scalar : {&Args::temperature, &Args::scale})
    refuse_values(run, good, "a scalar", scalar, {0.0, -1.0, double{NAN}, double{INFINITY}, 1e-40, 1e40},
                  SRP_BAD_ARGUMENT);
  refuse_values(run, good, "softcap", &Args::softcap, {-1.0, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_loss_numbers(run, good);
  mislead_indices(run, good, "targets", 2, good.args.V);
  run.agree(good);
}

SRP_FAMILY(loss_logits);

}  // namespace srp::test
