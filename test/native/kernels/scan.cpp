// Generalized advantage estimation, returns, V-trace (surprisal/scan.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using Gae = Call<srp_scan_gae_args>;
using Returns = Call<srp_scan_returns_args>;
using Vtrace = Call<srp_scan_vtrace_args>;

// Both backends walk a row from its end in float64 by the same text: the same bits.
constexpr auto kSame = Tolerance::exact;

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
  const auto tokens = [&](double low, double high) {
    std::vector<double> values = random.reals(n, low, high);
    if (masked) poison(values, mask);
    return reals(s.dtype, values);
  };
  call.args.dtype = s.dtype;
  call.args.mask_mode = s.mask_mode;
  call.args.gamma = random.one_of({1.0, 0.99, 0.5, 0.0});
  call.rows(s.rows);
  call.in("reward", &Args::reward, tokens(-1, 1));
  if constexpr (!std::is_same_v<Args, srp_scan_returns_args>) {
    call.args.lambda = random.one_of({1.0, 0.95, 0.0});
    call.in("value", &Args::value, tokens(-1, 1));
  }
  if constexpr (std::is_same_v<Args, srp_scan_vtrace_args>) {
    call.args.rho_bar = random.one_of({1.0, 2.0, double{INFINITY}});
    call.args.c_bar = random.one_of({1.0, 0.5, double{INFINITY}});
    call.args.pg_rho_bar = random.one_of({1.0, 0.0, double{INFINITY}});
    call.in("weight", &Args::weight, tokens(0, 3));
  }
  if (masked) call.in("mask", &Args::mask, flags(mask));
  if (random.chance(0.5)) call.in("discount", &Args::discount, tokens(0, 1));
  if (random.chance(0.5)) call.in("bootstrap", &Args::bootstrap, reals(s.dtype, random.reals(s.rows.B, -1, 1)));
}

// Two outputs, of which either may be left out.
template <class Args>
void outputs(Call<Args>& call, const Setting& s, const char* first, void* Args::* first_field, const char* second,
             void* Args::* second_field) {
  const int64_t absent = s.random.integer(0, 3);
  if (absent != 1) call.out(first, first_field, s.dtype, s.rows.n, kSame());
  if (absent != 2) call.out(second, second_field, s.dtype, s.rows.n, kSame());
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
  call.out("returns", &srp_scan_returns_args::returns, s.dtype, s.rows.n, kSame());
  return call;
}

Vtrace vtrace(const Setting& s) {
  Vtrace call(&srp_backend::scan_vtrace);
  inputs(call, s);
  outputs(call, s, "targets", &srp_scan_vtrace_args::targets, "advantages", &srp_scan_vtrace_args::advantages);
  return call;
}

template <class Make>
void agree(Runner& run, const char* op, Make make) {
  run.begin(op, "agrees");
  Random random(1);
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t mode : {SRP_MASK_SKIP, SRP_MASK_STEPS, SRP_MASK_CUT}) {
      for (const Rows& rows : row_shapes()) run.agree(make(Setting{dtype, mode, rows, random}));
      run.agree(make(Setting{dtype, mode, many_rows(), random}));
    }
}

// What all three refuse.
template <class Args>
void refuse(Runner& run, const Call<Args>& good, const Rows& rows) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_enumerators(run, good, "mask_mode", &Args::mask_mode, SRP_MASK_CUT);
  refuse_negative(run, good, &Args::n, &Args::B, &Args::T);
  refuse_values(run, good, "gamma", &Args::gamma, {-0.1, 1.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::reward);
  run.refused("n is not B * T", good.with([](Args& a) { a.offsets = nullptr; }), SRP_BAD_SHAPE);
  run.refused("B * T overflows", good.with([](Args& a) {
    a.offsets = nullptr;
    a.B = a.T = int64_t{1} << 32;
  }),
              SRP_BAD_SHAPE);
  run.refused("there is no row for the tokens", good.with([](Args& a) { a.B = 0; }), SRP_BAD_SHAPE);
  run.refused("packed tokens beyond int32", good.with([](Args& a) { a.n = int64_t{1} << 31; }), SRP_BAD_SHAPE);
  mislead_offsets(run, good, "offsets", rows.B, rows.n);
  run.agree(good);
}

}  // namespace

void scan_agrees(Runner& run) {
  agree(run, "scan_gae", gae);
  agree(run, "scan_returns", returns);
  agree(run, "scan_vtrace", vtrace);
}

void scan_refuses(Runner& run) {
  const Rows rows = packed({3, 4, 2, 5});
  Random random(2);
  const Setting setting = {SRP_F32, SRP_MASK_SKIP, rows, random};

  run.begin("scan_gae", "refuses");
  const Gae advantages = gae(setting);
  refuse(run, advantages, rows);
  refuse_values(run, advantages, "lambda", &srp_scan_gae_args::lambda, {-0.1, 1.1, double{NAN}}, SRP_BAD_ARGUMENT);
  refuse_null(run, advantages, &srp_scan_gae_args::value);
  run.refused("there is no output", advantages.with([](srp_scan_gae_args& a) { a.advantages = a.returns = nullptr; }),
              SRP_BAD_ARGUMENT);

  run.begin("scan_returns", "refuses");
  const Returns sums = returns(setting);
  refuse(run, sums, rows);
  refuse_null(run, sums, &srp_scan_returns_args::returns);

  run.begin("scan_vtrace", "refuses");
  const Vtrace targets = vtrace(setting);
  using Args = srp_scan_vtrace_args;
  refuse(run, targets, rows);
  refuse_values(run, targets, "lambda", &Args::lambda, {-0.1, 1.1, double{NAN}}, SRP_BAD_ARGUMENT);
  for (double Args::* bar : {&Args::rho_bar, &Args::c_bar, &Args::pg_rho_bar})
    refuse_values(run, targets, "a cap", bar, {-0.1, double{NAN}}, SRP_BAD_ARGUMENT);
  refuse_null(run, targets, &Args::value, &Args::weight);
  run.refused("there is no output", targets.with([](Args& a) { a.targets = a.advantages = nullptr; }),
              SRP_BAD_ARGUMENT);
}

}  // namespace srp::test
