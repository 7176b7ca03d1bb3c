// Generalized advantage estimation, returns, V-trace, tail and prefix sums (surprisal/scan.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using Gae = Call<srp_scan_gae_args>;
using Returns = Call<srp_scan_returns_args>;
using Vtrace = Call<srp_scan_vtrace_args>;
using Tail = Call<srp_scan_tail_args>;
using Prefix = Call<srp_scan_prefix_args>;
using Shares = Call<srp_scan_shares_args>;

// What a case draws: optional arrays are there or not.
struct Setting {
  int32_t dtype, mask_mode;
  const Rows& rows;
  Random& random;
};

template <class Args>
void inputs(Call<Args>& call, const Setting& s) {
  Random& random = s.random;
  const int64_t n = s.rows.n;
  const std::vector<uint8_t> mask = random.flags(n, 0.7);
  const bool masked = random.chance(0.7);
  bool reads_masked = false;
  if constexpr (!std::is_same_v<Args, srp_scan_vtrace_args>) {
    call.args.transform_masked = random.one_of({0, 1});
    reads_masked = call.args.transform_masked != 0 && s.mask_mode != SRP_MASK_STEPS;
  }
  const auto tokens = [&](double low, double high) {
    std::vector<double> values = random.reals(n, low, high);
    if (masked && !reads_masked) poison(values, mask);
    return reals(s.dtype, values);
  };
  call.args.dtype = s.dtype;
  call.args.mask_mode = s.mask_mode;
  call.args.gamma = random.one_of({1.0, 0.99, 0.5, 0.0});
  call.rows(s.rows);
  call.in("rewards", &Args::rewards, tokens(-1, 1));
  if constexpr (!std::is_same_v<Args, srp_scan_returns_args>) {
    call.args.lambda = random.one_of({1.0, 0.95, 0.0});
    call.in("values", &Args::values, tokens(-1, 1));
    if (random.chance(0.4)) {
      call.args.lambdas_per_token = random.one_of({0, 1});
      call.in("lambdas", &Args::lambdas,
              call.args.lambdas_per_token ? tokens(0, 1) : reals(s.dtype, random.reals(s.rows.B, 0, 1)));
    }
  }
  if constexpr (std::is_same_v<Args, srp_scan_vtrace_args>) {
    call.args.rho_bar = random.one_of({1.0, 2.0, double{INFINITY}});
    call.args.c_bar = random.one_of({1.0, 0.5, double{INFINITY}});
    call.args.pg_rho_bar = random.one_of({1.0, 0.0, double{INFINITY}});
    call.in("weights", &Args::weights, tokens(0, 3));
  }
  if (masked) call.in("mask", &Args::mask, flags(mask));
  if (random.chance(0.5)) call.in("gammas", &Args::gammas, tokens(0, 1));
  if (random.chance(0.5)) call.in("bootstrap", &Args::bootstrap, reals(s.dtype, random.reals(s.rows.B, -1, 1)));
}

// Two outputs, of which either may be left out.
template <class Args>
void outputs(Call<Args>& call, const Setting& s, const char* first, void* Args::* first_field, const char* second,
             void* Args::* second_field) {
  const int64_t absent = s.random.integer(0, 3);
  if (absent != 1) call.out(first, first_field, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
  if (absent != 2) call.out(second, second_field, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
}

Gae gae(const Setting& s) {
  Gae call(&srp_backend::scan_gae);
  inputs(call, s);
  outputs(call, s, "advantages", &srp_scan_gae_args::advantages, "returns", &srp_scan_gae_args::returns);
  return call;
}

Returns returns(const Setting& s) {
  Returns call(&srp_backend::scan_returns);
  inputs(call, s);
  call.out("returns", &srp_scan_returns_args::returns, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
  return call;
}

Vtrace vtrace(const Setting& s) {
  Vtrace call(&srp_backend::scan_vtrace);
  using Args = srp_scan_vtrace_args;
  inputs(call, s);
  call.args.delta = s.random.one_of({SRP_DELTA_CORRECTED, SRP_DELTA_REWARD});
  // 0..2: this one alone; 3..5: all but one; 6: all.
  const int64_t choice = s.random.integer(0, 6);
  const auto wanted = [&](int64_t i) { return choice < 3 ? choice == i : choice - 3 != i; };
  if (wanted(0)) call.out("targets", &Args::targets, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
  if (wanted(1)) call.out("advantages", &Args::advantages, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
  if (wanted(2)) call.out("accumulated", &Args::accumulated, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
  return call;
}

Tail tail(const Setting& s) {
  Tail call(&srp_backend::scan_tail);
  using Args = srp_scan_tail_args;
  Random& random = s.random;
  const std::vector<uint8_t> mask = random.flags(s.rows.n, random.one_of({0.7, 0.0}));
  const bool masked = random.chance(0.7);
  std::vector<double> values = random.reals(s.rows.n, -1, 1);
  if (masked) poison(values, mask);
  call.args.dtype = s.dtype;
  call.args.mask_mode = s.mask_mode;
  call.args.gamma = random.one_of({1.0, 0.99, 0.1, 0.0});  // 0.1: its powers underflow in the long rows
  call.args.normalize = random.one_of({0, 1});
  call.args.masked_weight = random.one_of({0.0, 1.0, 0.25});
  call.rows(s.rows);
  call.in("values", &Args::values, reals(s.dtype, values));
  if (masked) call.in("mask", &Args::mask, flags(mask));
  call.out("tails", &Args::tails, s.dtype, s.rows.n, Tolerance::sums(s.dtype));
  return call;
}

Shares shares(const Setting& s) {
  Shares call(&srp_backend::scan_shares);
  using Args = srp_scan_shares_args;
  Random& random = s.random;
  const std::vector<uint8_t> mask = random.flags(s.rows.n, random.one_of({0.7, 0.0}));
  const bool masked = random.chance(0.7);
  std::vector<double> values = random.reals(s.rows.n, -1, 1);
  if (masked) poison(values, mask);
  call.args.dtype = s.dtype;
  call.args.gain = random.one_of({0.0, 0.5, 3.0});
  call.args.epsilon = random.one_of({1e-8, 100.0});
  call.rows(s.rows);
  call.in("values", &Args::values, reals(s.dtype, values));
  if (masked) call.in("mask", &Args::mask, flags(mask));
  outputs(call, s, "weights", &Args::weights, "products", &Args::products);
  return call;
}

// Terms that are given, or made of log-probabilities.
Prefix prefix(const Setting& s, bool given) {
  Prefix call(&srp_backend::scan_prefix);
  using Args = srp_scan_prefix_args;
  Random& random = s.random;
  const std::vector<uint8_t> mask = random.flags(s.rows.n, 0.7);
  const bool masked = random.chance(0.7);
  const auto tokens = [&](double low, double high) {
    std::vector<double> values = random.reals(s.rows.n, low, high);
    if (masked) poison(values, mask);
    return reals(s.dtype, values);
  };
  call.args.dtype = s.dtype;
  call.args.exclusive = random.one_of({0, 1});
  call.rows(s.rows);
  if (given) {
    call.in("values", &Args::values, tokens(-1, 1));
  } else {
    call.in("log_probs", &Args::log_probs, tokens(-5, 0));
    call.in("sum_squares", &Args::sum_squares, tokens(0, 1));
    if (random.chance(0.5)) call.in("weights", &Args::weights, tokens(-2, 2));
  }
  if (masked) call.in("mask", &Args::mask, flags(mask));
  outputs(call, s, "terms", &Args::terms, "sums", &Args::sums);
  return call;
}

template <class Make>
void agree(Runner& run, const char* op, std::initializer_list<int32_t> modes, Make make) {
  run.begin(op, "agrees");
  Random random(1);
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t mode : modes) {
      for (const Rows& rows : row_shapes()) run.agree(make(Setting{dtype, mode, rows, random}));
      run.agree(make(Setting{dtype, mode, many_rows(), random}));
    }
}

// What the three refuse that walk rewards.
template <class Args>
void refuse(Runner& run, const Call<Args>& good, const Rows& rows) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_enumerators(run, good, "mask_mode", &Args::mask_mode, SRP_MASK_CUT);
  refuse_values(run, good, "gamma", &Args::gamma, {-0.1, 1.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::rewards);
  refuse_rows(run, good, rows);
  run.agree(good);
}

void refuse_tail(Runner& run, const Tail& good, const Rows& rows) {
  using Args = srp_scan_tail_args;
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_enumerators(run, good, "mask_mode", &Args::mask_mode, SRP_MASK_STEPS);
  refuse_enumerators(run, good, "normalize", &Args::normalize, 1);
  refuse_values(run, good, "gamma", &Args::gamma, {-0.1, 1.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "masked_weight", &Args::masked_weight, {-0.1, double{NAN}, double{INFINITY}},
                SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::values, &Args::tails);
  refuse_rows(run, good, rows);
  run.agree(good);
}

void refuse_prefix(Runner& run, const Prefix& good, const Rows& rows, bool given) {
  using Args = srp_scan_prefix_args;
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_enumerators(run, good, "exclusive", &Args::exclusive, 1);
  if (given)
    refuse_null(run, good, &Args::values);  // then the three others are needed, and are not there
  else
    refuse_null(run, good, &Args::log_probs, &Args::sum_squares);
  run.refused("there is no output", good.with([](Args& a) { a.terms = a.sums = nullptr; }), SRP_BAD_ARGUMENT);
  refuse_rows(run, good, rows);
  run.agree(good);
}

void refuse_shares(Runner& run, const Shares& good, const Rows& rows) {
  using Args = srp_scan_shares_args;
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_values(run, good, "gain", &Args::gain, {-0.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "epsilon", &Args::epsilon, {0.0, -0.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::values);
  run.refused("there is no output", good.with([](Args& a) { a.weights = a.products = nullptr; }), SRP_BAD_ARGUMENT);
  refuse_rows(run, good, rows);
  run.agree(good);
}

}  // namespace

struct Lengths {
  int64_t strip, usual;  // so many usual rows and a long one take a block each
};

// Rows of several strips of so many tokens: few of them, and behind more rows than 264.
template <class Make>
void agree_long(Runner& run, const Lengths& of, std::initializer_list<int32_t> modes, Make make) {
  Random random(3);
  const int64_t strip = of.strip;
  std::vector<int64_t> lengths(264, of.usual);
  lengths[7] = strip + 300;
  for (const Rows& rows : {packed({2 * strip + 100, 0, 300, strip}), packed(lengths)}) {
    run.want_next();
    const int64_t mode = random.integer(0, static_cast<int64_t>(modes.size()) - 1);
    run.agree(make(Setting{SRP_F32, modes.begin()[mode], rows, random}));
  }
}

constexpr Lengths kStrip = {7680, 955};

void scan_agrees(Runner& run) {
  const std::initializer_list<int32_t> all = {SRP_MASK_SKIP, SRP_MASK_STEPS, SRP_MASK_CUT};
  agree(run, "scan_gae", all, gae);
  agree_long(run, kStrip, {SRP_MASK_SKIP, SRP_MASK_CUT}, gae);
  agree(run, "scan_returns", all, returns);
  agree_long(run, kStrip, {SRP_MASK_SKIP, SRP_MASK_CUT}, returns);
  agree(run, "scan_vtrace", all, vtrace);
  agree_long(run, kStrip, {SRP_MASK_SKIP, SRP_MASK_CUT}, vtrace);
  // With discounts of tokens, which half of these have, a block has no room for a strip.
  Random random(4);
  for (int k = 0; k < 4; ++k) {
    run.want_next();
    run.agree(vtrace(Setting{SRP_F64, SRP_MASK_SKIP, packed({2 * kStrip.strip + 100, 300}), random}));
  }
  agree(run, "scan_tail", {SRP_MASK_SKIP, SRP_MASK_STEPS}, tail);
  agree_long(run, kStrip, {SRP_MASK_SKIP, SRP_MASK_STEPS}, tail);
  // It has no modes: the two rounds are of the two kinds of terms.
  const auto terms = [](const Setting& s) { return prefix(s, s.mask_mode == 0); };
  agree(run, "scan_prefix", {0, 1}, terms);
  agree_long(run, kStrip, {0, 1}, terms);
  agree(run, "scan_shares", {0}, shares);
  agree_long(run, kStrip, {0}, shares);
}

void scan_refuses(Runner& run) {
  const Rows rows = packed({3, 4, 2, 5});
  Random random(2);
  const Setting setting = {SRP_F32, SRP_MASK_SKIP, rows, random};

  run.begin("scan_gae", "refuses");
  const Gae advantages = gae(setting);
  refuse(run, advantages, rows);
  refuse_values(run, advantages, "lambda", &srp_scan_gae_args::lambda, {-0.1, 1.1, double{NAN}}, SRP_BAD_ARGUMENT);
  refuse_null(run, advantages, &srp_scan_gae_args::values);
  run.refused("a lambda of each token, and none given", advantages.with([](srp_scan_gae_args& a) {
    a.lambdas = nullptr;
    a.lambdas_per_token = 1;
  }),
              SRP_BAD_ARGUMENT);
  refuse_enumerators(run, advantages, "transform_masked", &srp_scan_gae_args::transform_masked, 1);
  run.refused("there is no output", advantages.with([](srp_scan_gae_args& a) { a.advantages = a.returns = nullptr; }),
              SRP_BAD_ARGUMENT);

  run.begin("scan_returns", "refuses");
  const Returns sums = returns(setting);
  refuse(run, sums, rows);
  refuse_null(run, sums, &srp_scan_returns_args::returns);
  refuse_enumerators(run, sums, "transform_masked", &srp_scan_returns_args::transform_masked, 1);

  run.begin("scan_vtrace", "refuses");
  const Vtrace targets = vtrace(setting);
  using Args = srp_scan_vtrace_args;
  refuse(run, targets, rows);
  refuse_values(run, targets, "lambda", &Args::lambda, {-0.1, 1.1, double{NAN}}, SRP_BAD_ARGUMENT);
  for (double Args::* bar : {&Args::rho_bar, &Args::c_bar, &Args::pg_rho_bar})
    refuse_values(run, targets, "a cap", bar, {-0.1, double{NAN}}, SRP_BAD_ARGUMENT);
  refuse_null(run, targets, &Args::values, &Args::weights);
  refuse_values(run, targets, "lambdas_per_token", &Args::lambdas_per_token, {-1, 2}, SRP_BAD_ARGUMENT);
  run.refused("there is no output", targets.with([](Args& a) { a.targets = a.advantages = a.accumulated = nullptr; }),
              SRP_BAD_ARGUMENT);
  refuse_enumerators(run, targets, "delta", &Args::delta, SRP_DELTA_REWARD);

  run.begin("scan_tail", "refuses");
  refuse_tail(run, tail(setting), rows);

  run.begin("scan_prefix", "refuses");
  for (const bool given : {true, false}) refuse_prefix(run, prefix(setting, given), rows, given);

  run.begin("scan_shares", "refuses");
  refuse_shares(run, shares(setting), rows);
}

SRP_FAMILY(scan);

}  // namespace srp::test
