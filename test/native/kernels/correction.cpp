// Statistics of two policies' log-probs, and their bounds (surprisal/correction.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using MeasureArgs = srp_correction_measure_args;
using BoundArgs = srp_correction_bound_args;

struct Setting {
  int32_t dtype, statistic;
  const Rows& rows;
  Random& random;
};

// Two sets of log-probs that differ by at most 0.4, or by up to 30; now and then NaN or infinite. Bounds that some pass.
template <class Args>
void inputs(Call<Args>& call, const Setting& s, const std::vector<uint8_t>& mask) {
  Random& random = s.random;
  const int64_t n = s.rows.n;
  const double spread = random.one_of({0.4, 0.4, 30.0});
  std::vector<double> old = random.reals(n, -4, 0), current = old;
  for (double& value : current) value += random.real(-spread, spread);
  if (n > 1 && random.chance(0.2)) current[random.integer(0, n - 1)] = random.one_of({double{NAN}, -double{INFINITY}});
  if (random.chance(0.7)) {
    poison(current, mask);
    poison(old, mask);
    call.in("mask", &Args::mask, flags(mask));
  }
  call.args.dtype = s.dtype;
  call.args.statistic = s.statistic;
  call.args.log_clamp = random.one_of({20.0, 0.1, double{INFINITY}});
  call.args.low = random.one_of({-0.1, 0.01, -double{INFINITY}});
  call.args.high = random.one_of({0.1, 1.1, double{INFINITY}});
  call.rows(s.rows);
  call.in("log_probs", &Args::log_probs, reals(s.dtype, current));
  call.in("old_log_probs", &Args::old_log_probs, reals(s.dtype, old));
}

Call<MeasureArgs> measure(const Setting& s) {
  Random& random = s.random;
  Call<MeasureArgs> call(&srp_backend::correction_measure);
  inputs(call, s, random.flags(s.rows.n, random.one_of({0.7, 0.05, 0.0})));
  const int64_t B = s.rows.B, absent = random.integer(0, 9);
  // Sums of up to exp(30) where the log-probs are far apart: the same relative error, another absolute one.
  const Tolerance sums = Tolerance{1e-12, 1e-12};
  if (absent != 0) call.out("moments", &MeasureArgs::moments, SRP_F64, B * SRP_MOMENTS, sums);
  if (absent != 1) call.out("bounded", &MeasureArgs::bounded, SRP_F64, B * SRP_MOMENTS, sums);
  if (absent != 2) call.out("differences", &MeasureArgs::differences, SRP_F64, B, Tolerance{1e-12, 1e-11});
  if (absent != 3) call.out("above", &MeasureArgs::above, SRP_I32, B, Tolerance::exact());
  if (absent != 4) call.out("below", &MeasureArgs::below, SRP_I32, B, Tolerance::exact());
  return call;
}

// A statistic is within 4 ulp of float64 on either backend, and is multiplied by a factor. Random ones do not lie that near to a
// bound: the flags are the same.
Call<BoundArgs> bound(const Setting& s) {
  Random& random = s.random;
  Call<BoundArgs> call(&srp_backend::correction_bound);
  const int64_t n = s.rows.n, B = s.rows.B, absent = random.integer(0, 9);
  inputs(call, s, random.flags(n, 0.7));
  call.args.outside = random.one_of({SRP_OUTSIDE_CLAMP, SRP_OUTSIDE_ZERO});
  call.args.masked_weight = random.one_of({0.0, 1.0});
  if (random.chance(0.5)) {
    std::vector<double> factors = random.reals(B, 0, 2);
    for (double& factor : factors)
      if (random.chance(0.3)) factor = 0;
    call.in("row_factors", &BoundArgs::row_factors, reals(SRP_F64, factors));
  }
  const bool masked = call.arrays.front().name == std::string("mask");
  const Tolerance ulps = Tolerance{s.dtype == SRP_F32 ? 1.2e-7 : 2e-15, 0};
  if (absent != 0) call.out("weights", &BoundArgs::weights, s.dtype, n, ulps);
  if (masked && random.chance(0.5))
    call.in_place("mask", &BoundArgs::kept, Tolerance::exact());
  else if (absent != 1)
    call.out("kept", &BoundArgs::kept, SRP_U8, n, Tolerance::exact());
  if (absent != 2) call.out("kept_counts", &BoundArgs::kept_counts, SRP_I32, B, Tolerance::exact());
  return call;
}

template <class Make>
void agree(Runner& run, Random& random, const char* op, Make make) {
  run.begin(op, "agrees");
  for (int32_t statistic = SRP_STATISTIC_K1; statistic <= SRP_STATISTIC_TOTAL; ++statistic)
    for (size_t shape = 0; shape < row_shapes().size(); ++shape) {  // dtypes in turn: a call takes its time in fibers
      const int32_t dtype = (statistic + shape) % 2 == 0 ? SRP_F32 : SRP_F64;
      run.agree(make({dtype, statistic, row_shapes()[shape], random}));
    }
}

template <class Args>
void refuse(Runner& run, const Call<Args>& good, const Rows& rows) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_rows(run, good, rows);
  refuse_enumerators(run, good, "statistic", &Args::statistic, SRP_STATISTIC_TOTAL);
  refuse_values(run, good, "log_clamp", &Args::log_clamp, {0.0, -1.0, double{NAN}}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "low", &Args::low, {double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "high", &Args::high, {double{NAN}, -double{INFINITY}}, SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::log_probs, &Args::old_log_probs);
  run.agree(good);
}

// With bounds that are finite.
template <class Args>
Call<Args> bounded(Call<Args> call) {
  call.args.low = -0.1;
  call.args.high = 1.1;
  return call;
}

}  // namespace

void correction_agrees(Runner& run) {
  Random random(23);
  agree(run, random, "correction_measure", measure);
  // Rows of several chunks, which the CPU cuts and a device does not.
  static const Rows chunked = packed({3, 4096, 0, 4097, 9000});
  for (const int32_t dtype : {SRP_F32, SRP_F64}) run.agree(measure({dtype, SRP_STATISTIC_RATIO, chunked, random}));
  for (const Rows& rows : long_rows()) {
    run.want_next();
    run.agree(measure({SRP_F32, SRP_STATISTIC_RATIO, rows, random}));
  }
  agree(run, random, "correction_bound", bound);
  for (const Rows& rows : long_rows()) {
    run.want_next();
    run.agree(bound({SRP_F32, SRP_STATISTIC_RATIO, rows, random}));
  }
}

void correction_refuses(Runner& run) {
  Random random(24);
  const Rows rows = packed({3, 4, 2, 5});
  run.begin("correction_measure", "refuses");
  for (int i = 0; i < 3; ++i) refuse(run, bounded(measure({SRP_F32, SRP_STATISTIC_K3, rows, random})), rows);
  run.begin("correction_bound", "refuses");
  for (int i = 0; i < 3; ++i) {
    const Call<BoundArgs> good = bounded(bound({SRP_F64, SRP_STATISTIC_RATIO, rows, random}));
    refuse(run, good, rows);
    refuse_enumerators(run, good, "outside", &BoundArgs::outside, SRP_OUTSIDE_ZERO);
  }
}

SRP_FAMILY(correction);

}  // namespace srp::test
