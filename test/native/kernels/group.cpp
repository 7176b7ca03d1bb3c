// Statistics per group of items (surprisal/group.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using NormalizeArgs = srp_group_normalize_args;
using SoftmaxArgs = srp_group_softmax_args;
using Top2Args = srp_group_top2_args;
using WeighArgs = srp_group_weigh_args;
using TiltArgs = srp_group_tilt_args;
using EntropyArgs = srp_group_entropy_args;

template <class Args>
void inputs(Call<Args>& call, int32_t dtype, const Groups& groups, const std::vector<double>& values) {
  call.args.dtype = dtype;
  call.args.n = groups.n;
  call.args.G = groups.G;
  call.in("values", &Args::values, reals(dtype, values));
  if (!groups.members.empty()) call.in("members", &Args::members, ints(groups.members));
  if (groups.G > 0) call.in("offsets", &Args::offsets, ints(groups.offsets));
}

// Multiples of a quarter, 0 among them: their sums are exact, so that in no order one falls to the other side of ddof.
std::vector<double> weights(Random& random, int64_t count) {
  const bool none = random.chance(0.1);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = none ? 0 : static_cast<double>(random.integer(0, 8)) / 4;
  return values;
}

Call<NormalizeArgs> normalize(Random& random, int32_t dtype, const Groups& groups) {
  Call<NormalizeArgs> call(&srp_backend::group_normalize);
  inputs(call, dtype, groups, items(random, groups.n));
  call.args.ddof = random.one_of({0.0, 1.0, 2.0});
  call.args.epsilon = random.one_of({1e-6, 1e-4, 1.0});
  call.args.variance_floor = random.one_of({0.0, 0.25});
  call.args.gain = random.one_of({1.0, 2.5, 0.0});
  if (random.chance(0.5)) call.in("weights", &NormalizeArgs::weights, reals(dtype, weights(random, groups.n)));
  const int64_t absent = random.integer(0, 7);
  if (absent != 1) call.out("normalized", &NormalizeArgs::normalized, dtype, groups.n, Tolerance::sums(dtype));
  if (absent != 2) call.out("means", &NormalizeArgs::means, dtype, groups.G, Tolerance::sums(dtype));
  if (absent != 3) call.out("stds", &NormalizeArgs::stds, dtype, groups.G, Tolerance::sums(dtype));
  if (absent != 4) call.out("counts", &NormalizeArgs::counts, SRP_I32, groups.G, Tolerance::exact());
  if (absent > 4) call.out("centers", &NormalizeArgs::centers, dtype, groups.n, Tolerance::sums(dtype));
  if (absent > 5) call.out("spreads", &NormalizeArgs::spreads, dtype, groups.n, Tolerance::sums(dtype));
  return call;
}

Call<SoftmaxArgs> softmax(Random& random, int32_t dtype, const Groups& groups) {
  Call<SoftmaxArgs> call(&srp_backend::group_softmax);
  inputs(call, dtype, groups, items(random, groups.n));
  call.args.temperature = random.one_of({0.1, 1.0, 7.0});
  call.args.floor = random.one_of({0.0, 1e-6, 0.4});
  const int64_t absent = random.integer(0, 4);
  if (absent != 1) call.out("weights", &SoftmaxArgs::weights, dtype, groups.n, Tolerance::sums(dtype));
  if (absent != 2) call.out("log_sum_exps", &SoftmaxArgs::log_sum_exps, dtype, groups.G, Tolerance::sums(dtype));
  if (absent != 3) call.out("soft_means", &SoftmaxArgs::soft_means, dtype, groups.G, Tolerance::sums(dtype));
  return call;
}

// At temperature 0 there are weights alone. Largest numbers are equal on both sides, to the bit.
Call<SoftmaxArgs> cold_softmax(Random& random, int32_t dtype, const Groups& groups) {
  Call<SoftmaxArgs> call(&srp_backend::group_softmax);
  inputs(call, dtype, groups, items(random, groups.n));
  call.out("weights", &SoftmaxArgs::weights, dtype, groups.n, Tolerance::sums(dtype));
  return call;
}

// Positive values: of the exponents one is the largest by far more than a backend's logarithm may differ.
Call<TiltArgs> tilt(Random& random, int32_t dtype, const Groups& groups) {
  Call<TiltArgs> call(&srp_backend::group_tilt);
  inputs(call, dtype, groups, items(random, groups.n));
  call.args.temperature = random.one_of({0.1, 1.0, 7.0});
  call.args.coefficient = random.one_of({0.0, 0.5});
  call.args.least = random.one_of({0.0, 1e-12, 0.3});
  if (random.chance(0.7)) call.in("log_factors", &TiltArgs::log_factors, reals(dtype, items(random, groups.n)));
  if (random.chance(0.5)) call.in("counts", &TiltArgs::counts, reals(dtype, weights(random, groups.n)));
  call.out("weights", &TiltArgs::weights, dtype, groups.n, Tolerance::sums(dtype));
  return call;
}

Call<EntropyArgs> entropy(Random& random, int32_t dtype, int32_t normalized, const Groups& groups) {
  Call<EntropyArgs> call(&srp_backend::group_entropy);
  call.args.dtype = dtype;
  call.args.n = groups.n;
  call.args.G = groups.G;
  call.in("values", &EntropyArgs::values, reals(dtype, weights(random, groups.n)));
  if (!groups.members.empty()) call.in("members", &EntropyArgs::members, ints(groups.members));
  if (groups.G > 0) call.in("offsets", &EntropyArgs::offsets, ints(groups.offsets));
  call.args.normalize = normalized;
  call.args.least = random.one_of({0.0, 1e-12, 0.3});
  const int64_t absent = random.integer(0, 3);
  if (absent != 1) call.out("entropies", &EntropyArgs::entropies, dtype, groups.G, Tolerance::sums(dtype));
  if (absent != 2) call.out("evennesses", &EntropyArgs::evennesses, dtype, groups.G, Tolerance::sums(dtype));
  return call;
}

Call<Top2Args> top2(Random& random, int32_t dtype, const Groups& groups) {
  Call<Top2Args> call(&srp_backend::group_top2);
  inputs(call, dtype, groups, without_nan(items(random, groups.n)));
  call.out("best", &Top2Args::best, SRP_I32, groups.G, Tolerance::exact());
  call.out("second", &Top2Args::second, SRP_I32, groups.G, Tolerance::exact());
  if (random.chance(0.7)) call.out("best_values", &Top2Args::best_values, dtype, groups.G, Tolerance::exact());
  if (random.chance(0.7)) call.out("second_values", &Top2Args::second_values, dtype, groups.G, Tolerance::exact());
  return call;
}

Call<WeighArgs> weigh(Random& random, int32_t dtype, int32_t form, const Groups& groups) {
  Call<WeighArgs> call(&srp_backend::group_weigh);
  inputs(call, dtype, groups, items(random, groups.n));
  call.args.form = form;
  call.args.power = random.one_of({0.0, 0.5, 2.0});
  call.args.at_max = random.real(-1, 1);
  call.args.at_min = random.real(-1, 1);
  call.args.between = random.real(-1, 1);
  call.args.floor = random.one_of({0.0, 0.1});
  // A power or a choice of each item by itself; extremes do not depend on the order in which they are found.
  call.out("weights", &WeighArgs::weights, dtype, groups.n, Tolerance::exact());
  return call;
}

// Each group shape in item order and shuffled, in both dtypes.
template <class Visit>
void each_grouping(Random& random, Visit visit) {
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const std::vector<int64_t>& sizes : group_sizes())
      for (const bool shuffled : {false, true}) visit(dtype, groups(random, sizes, shuffled));
}

// What the ops over groups refuse. `groups` are shuffled.
template <class Args>
void refuse(Runner& run, const Call<Args>& good, const Groups& groups) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_negative(run, good, &Args::n);
  refuse_null(run, good, &Args::values);
  refuse_groups(run, good, &Args::offsets);
  run.refused("items beyond int32", good.with([](Args& a) { a.n = int64_t{1} << 31; }), SRP_BAD_SHAPE);
  mislead_offsets(run, good, "offsets", groups.G, groups.n);
  mislead_indices(run, good, "members", 0, groups.n);
  mislead_indices(run, good, "members", groups.n - 1, groups.n);
  run.agree(good);
}

}  // namespace

void group_agrees(Runner& run) {
  Random random(3);
  run.begin("group_normalize", "agrees");
  int turn = 0;
  each_grouping(random, [&](int32_t dtype, const Groups& groups) {
    Call<NormalizeArgs> call = normalize(random, dtype, groups);
    for (call.args.center = 0; call.args.center <= SRP_CENTER_RUNNER_UP; ++call.args.center)
      for (call.args.scale = 0; call.args.scale <= SRP_SCALE_SIGNED_MEAN; ++call.args.scale)
        for (call.args.singleton = 0; call.args.singleton <= SRP_SINGLETON_STANDARD; ++call.args.singleton)
          for (call.args.nan_policy = 0; call.args.nan_policy <= SRP_NAN_ABSTAIN; ++call.args.nan_policy)
            if (++turn % 3 == 0) run.agree(call);  // a third of each grouping: another one in the next
  });
  run.begin("group_softmax", "agrees");
  each_grouping(random, [&](int32_t dtype, const Groups& groups) {
    run.agree(softmax(random, dtype, groups));
    run.agree(cold_softmax(random, dtype, groups));
  });
  run.begin("group_tilt", "agrees");
  each_grouping(random, [&](int32_t dtype, const Groups& groups) { run.agree(tilt(random, dtype, groups)); });
  run.begin("group_entropy", "agrees");
  each_grouping(random, [&](int32_t dtype, const Groups& groups) {
    for (const int32_t normalized : {0, 1}) run.agree(entropy(random, dtype, normalized, groups));
  });
  run.begin("group_top2", "agrees");
  each_grouping(random, [&](int32_t dtype, const Groups& groups) { run.agree(top2(random, dtype, groups)); });
  run.begin("group_weigh", "agrees");
  each_grouping(random, [&](int32_t dtype, const Groups& groups) {
    for (const int32_t form : {SRP_WEIGH_POWER, SRP_WEIGH_EXTREMES}) run.agree(weigh(random, dtype, form, groups));
  });
}

void group_refuses(Runner& run) {
  Random random(4);
  const Groups small = groups(random, {3, 4, 2, 5}, true);
  // The other kernels: a block, not a warp, takes each group.
  const Groups large = groups(random, {600, 700, 500, 520}, true);

  run.begin("group_normalize", "refuses");
  for (const Groups& groups : {small, large}) {
    const Call<NormalizeArgs> good = normalize(random, SRP_F32, groups);
    refuse(run, good, groups);
    refuse_enumerators(run, good, "center", &NormalizeArgs::center, SRP_CENTER_RUNNER_UP);
    refuse_enumerators(run, good, "scale", &NormalizeArgs::scale, SRP_SCALE_SIGNED_MEAN);
    refuse_enumerators(run, good, "singleton", &NormalizeArgs::singleton, SRP_SINGLETON_STANDARD);
    refuse_enumerators(run, good, "nan_policy", &NormalizeArgs::nan_policy, SRP_NAN_ABSTAIN);
    for (double NormalizeArgs::* scalar :
         {&NormalizeArgs::ddof, &NormalizeArgs::epsilon, &NormalizeArgs::variance_floor, &NormalizeArgs::gain})
      refuse_values(run, good, "a scalar", scalar, {-1.0, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  }

  run.begin("group_softmax", "refuses");
  for (const Groups& groups : {small, large}) {
    const Call<SoftmaxArgs> good = softmax(random, SRP_F64, groups);
    refuse(run, good, groups);
    run.refused("there is no output",
                good.with([](SoftmaxArgs& a) { a.weights = a.log_sum_exps = a.soft_means = nullptr; }),
                SRP_BAD_ARGUMENT);
    for (double SoftmaxArgs::* scalar : {&SoftmaxArgs::temperature, &SoftmaxArgs::floor})
      refuse_values(run, good, "a scalar", scalar, {-1.0, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
    Call<SoftmaxArgs> cold = cold_softmax(random, SRP_F64, groups);
    cold.out("log_sum_exps", &SoftmaxArgs::log_sum_exps, SRP_F64, groups.G, Tolerance::exact());
    run.refused("temperature 0 has no lse", cold, SRP_BAD_ARGUMENT);
  }

  run.begin("group_tilt", "refuses");
  for (const Groups& groups : {small, large}) {
    const Call<TiltArgs> good = tilt(random, SRP_F32, groups);
    refuse(run, good, groups);
    refuse_null(run, good, &TiltArgs::weights);
    for (double TiltArgs::* scalar : {&TiltArgs::temperature, &TiltArgs::coefficient, &TiltArgs::least})
      refuse_values(run, good, "a scalar", scalar, {-1.0, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  }

  run.begin("group_entropy", "refuses");
  for (const Groups& groups : {small, large}) {
    const Call<EntropyArgs> good = entropy(random, SRP_F64, 1, groups);
    refuse(run, good, groups);
    run.refused("there is no output", good.with([](EntropyArgs& a) { a.entropies = a.evennesses = nullptr; }),
                SRP_BAD_ARGUMENT);
    refuse_enumerators(run, good, "normalize", &EntropyArgs::normalize, 1);
    refuse_values(run, good, "least", &EntropyArgs::least, {-1.0, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  }

  run.begin("group_top2", "refuses");
  for (const Groups& groups : {small, large}) {
    const Call<Top2Args> good = top2(random, SRP_F32, groups);
    refuse(run, good, groups);
    refuse_null(run, good, &Top2Args::best, &Top2Args::second);
  }

  run.begin("group_weigh", "refuses");
  for (const Groups& groups : {small, large}) {
    const Call<WeighArgs> good = weigh(random, SRP_F64, SRP_WEIGH_EXTREMES, groups);
    refuse(run, good, groups);
    refuse_enumerators(run, good, "form", &WeighArgs::form, SRP_WEIGH_EXTREMES);
    refuse_null(run, good, &WeighArgs::weights);
    refuse_values(run, good, "power", &WeighArgs::power, {-1.0, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
    for (double WeighArgs::* scalar : {&WeighArgs::at_max, &WeighArgs::at_min, &WeighArgs::between, &WeighArgs::floor})
      refuse_values(run, good, "a scalar", scalar, {double{NAN}, double{INFINITY}, -double{INFINITY}},
                    SRP_BAD_ARGUMENT);
  }
}

SRP_FAMILY(group);

}  // namespace srp::test
