// Masks of the tokens above a quantile, and of the k largest (surprisal/select.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using QuantileArgs = srp_select_quantile_args;
using TopArgs = srp_select_top_args;
using CovarianceArgs = srp_select_covariance_args;

// Ranks are integers and a threshold is two operations on two of the values: the same bits.
constexpr auto kSame = Tolerance::exact;

template <class Args>
void inputs(Call<Args>& call, Random& random, int32_t dtype, int32_t over, const Rows& rows,
            std::vector<double> values) {
  const std::vector<uint8_t> mask = random.flags(rows.n, random.one_of({0.7, 0.05, 0.0}));
  const bool masked = random.chance(0.7);
  for (double& value : values)
    if (value == 0 && random.chance(0.5)) value = -0.0;
  if (masked) poison(values, mask);
  call.args.dtype = dtype;
  call.args.over = over;
  call.rows(rows);
  call.in("values", &Args::values, reals(dtype, values));
  if (masked) call.in("mask", &Args::mask, flags(mask));
}

int64_t units(int32_t over, const Rows& rows) { return over == SRP_OVER_ALL ? 1 : rows.B; }

Call<QuantileArgs> quantile(Random& random, int32_t dtype, int32_t over, const Rows& rows) {
  Call<QuantileArgs> call(&srp_backend::select_quantile);
  inputs(call, random, dtype, over, rows, items(random, rows.n));
  call.args.q = random.one_of({0.0, 0.5, 0.8, 0.33, 1.0});
  const int64_t absent = random.integer(0, 3);
  if (absent != 1) call.out("thresholds", &QuantileArgs::thresholds, SRP_F64, units(over, rows), kSame());
  if (absent != 2) call.out("selected", &QuantileArgs::selected, SRP_U8, rows.n, kSame());
  return call;
}

Call<TopArgs> top(Random& random, int32_t dtype, int32_t over, const Rows& rows) {
  Call<TopArgs> call(&srp_backend::select_top);
  inputs(call, random, dtype, over, rows, without_nan(items(random, rows.n)));
  call.args.share = random.one_of({double{NAN}, double{NAN}, 0.0, 0.2, 1.0});
  call.args.k = random.one_of({0, 1, 5, 300, INT32_MAX});
  call.args.least = random.one_of({0, 1, 1000});
  call.out("selected", &TopArgs::selected, SRP_U8, rows.n, kSame());
  if (random.chance(0.7)) call.out("counts", &TopArgs::counts, SRP_I32, units(over, rows), kSame());
  return call;
}

// Advantages and log-probs with ties among them. The means are added up in one order everywhere.
Call<CovarianceArgs> covariance(Random& random, int32_t dtype, int32_t mode, const Rows& rows) {
  using Args = CovarianceArgs;
  Call<Args> call(&srp_backend::select_covariance);
  const std::vector<uint8_t> mask = random.flags(rows.n, random.one_of({0.7, 0.05, 0.0}));
  const bool masked = random.chance(0.7);
  call.args.dtype = dtype;
  call.args.mode = mode;
  call.args.advantages_per_token = random.one_of({0, 1});
  std::vector<double> advantages = finite(items(random, call.args.advantages_per_token ? rows.n : rows.B));
  std::vector<double> current = finite(items(random, rows.n));
  if (masked && call.args.advantages_per_token) poison(advantages, mask);
  if (masked) poison(current, mask);
  call.rows(rows);
  call.in("advantages", &Args::advantages, reals(dtype, advantages));
  call.in("log_probs", &Args::log_probs, reals(dtype, current));
  if (masked) call.in("mask", &Args::mask, flags(mask));
  const int64_t excluded = random.integer(0, 2);
  if (excluded) call.in("excluded", &Args::excluded, flags(random.flags(rows.n, 0.3)));
  call.args.count_epsilon = random.one_of({0.0, 1e-8, 1.0});
  // What the mode does not read is what it would refuse.
  call.args.low = mode == SRP_COVARIANCE_RANGE ? random.one_of({0.1, -1.0, 0.0, -double{INFINITY}}) : double{NAN};
  call.args.high = mode == SRP_COVARIANCE_RANGE ? random.one_of({2.0, 0.0, double{INFINITY}}) : double{NAN};
  call.args.share = mode == SRP_COVARIANCE_TOP ? random.one_of({double{NAN}, 0.0, 0.2, 1.0}) : -1;
  call.args.k = mode == SRP_COVARIANCE_TOP ? random.one_of({0, 1, 5, 300, INT32_MAX}) : -1;
  call.args.least = mode == SRP_COVARIANCE_TOP ? random.one_of({0, 1, 1000}) : -1;
  if (excluded == 2)
    call.in_place("excluded", &Args::selected, kSame());
  else
    call.out("selected", &Args::selected, SRP_U8, rows.n, kSame());
  if (random.chance(0.7)) call.out("counts", &Args::counts, SRP_I32, 1, kSame());
  return call;
}

// More tokens than one block ranks, and more than a row's keys in shared memory.
const Rows& large_batch() {
  static const Rows shape = packed({11000, 0, 5, 6000, 300});
  return shape;
}

constexpr int32_t kCovarianceModes[] = {SRP_COVARIANCE_RANGE, SRP_COVARIANCE_TOP};

template <class Make>
void agree(Runner& run, Make make) {
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t over : {SRP_OVER_ROW, SRP_OVER_ALL})
      for (const Rows& rows : row_shapes())
        for (int i = 0; i < (over == SRP_OVER_ALL ? 1 : 2); ++i) run.agree(make(dtype, over, rows));
  for (const int32_t over : {SRP_OVER_ROW, SRP_OVER_ALL})
    for (const int32_t dtype : {SRP_F32, SRP_F64}) {
      if (dtype == SRP_F32) run.want_next();
      run.agree(make(dtype, over, large_batch()));
    }
}

// What both refuse.
template <class Args>
void refuse(Runner& run, const Call<Args>& good, int32_t over, const Rows& rows) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_values(run, good, "over", &Args::over, {-1, SRP_OVER_GROUP, SRP_OVER_ALL + 1, INT32_MAX, INT32_MIN},
                SRP_BAD_ARGUMENT);
  refuse_null(run, good, &Args::values);
  run.refused("a unit beyond int32", good.with([](Args& a) {
    a.offsets = nullptr;
    a.B = 1;
    a.n = a.T = int64_t{1} << 31;
  }),
              SRP_BAD_SHAPE);
  // A device has no use for the offsets where everything is one unit.
  refuse_rows(run, good, rows, over == SRP_OVER_ALL ? AtSync::kReportedOrNot : AtSync::kReported);
  run.agree(good);
}

}  // namespace

void select_agrees(Runner& run) {
  Random random(15);
  run.begin("select_quantile", "agrees");
  agree(run, [&](int32_t dtype, int32_t over, const Rows& rows) { return quantile(random, dtype, over, rows); });
  run.begin("select_top", "agrees");
  agree(run, [&](int32_t dtype, int32_t over, const Rows& rows) { return top(random, dtype, over, rows); });

  run.begin("select_covariance", "agrees");
  // Also more rows than there are lanes.
  const Rows rows_beyond_lanes = padded(300, 3);
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t mode : kCovarianceModes) {
      for (const Rows& rows : row_shapes()) run.agree(covariance(random, dtype, mode, rows));
    }
  run.agree(covariance(random, SRP_F64, SRP_COVARIANCE_TOP, rows_beyond_lanes));
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    run.agree(covariance(random, dtype, SRP_COVARIANCE_TOP, large_batch()));
}

void select_refuses(Runner& run) {
  Random random(16);
  const Rows rows = packed({3, 4, 300, 5});

  run.begin("select_quantile", "refuses");
  for (const int32_t over : {SRP_OVER_ROW, SRP_OVER_ALL}) {
    const Call<QuantileArgs> good = quantile(random, SRP_F32, over, rows);
    refuse(run, good, over, rows);
    refuse_values(run, good, "q", &QuantileArgs::q, {-0.1, 1.1, double{NAN}, double{INFINITY}}, SRP_BAD_ARGUMENT);
    run.refused("there is no output", good.with([](QuantileArgs& a) {
      a.thresholds = nullptr;
      a.selected = nullptr;
    }),
                SRP_BAD_ARGUMENT);
  }

  run.begin("select_top", "refuses");
  for (const int32_t over : {SRP_OVER_ROW, SRP_OVER_ALL}) {
    const Call<TopArgs> good = top(random, SRP_F64, over, rows);
    refuse(run, good, over, rows);
    refuse_values(run, good, "share", &TopArgs::share, {-0.1, 1.1, double{INFINITY}, -double{INFINITY}},
                  SRP_BAD_ARGUMENT);
    refuse_negative(run, good, &TopArgs::k, &TopArgs::least);
    refuse_null(run, good, &TopArgs::selected);
  }

  run.begin("select_covariance", "refuses");
  for (const int32_t mode : kCovarianceModes) {
    using Args = CovarianceArgs;
    const Call<Args> good = covariance(random, SRP_F32, mode, rows);
    expect_struct_checks(run, good);
    refuse_dtypes(run, good);
    refuse_rows(run, good, rows);
    refuse_enumerators(run, good, "mode", &Args::mode, SRP_COVARIANCE_TOP);
    refuse_enumerators(run, good, "advantages_per_token", &Args::advantages_per_token, 1);
    refuse_values(run, good, "count_epsilon", &Args::count_epsilon, {-1, double{NAN}, double{INFINITY}},
                  SRP_BAD_ARGUMENT);
    refuse_null(run, good, &Args::advantages, &Args::log_probs, &Args::selected);
    run.refused("tokens beyond int32", good.with([](Args& a) {
      a.offsets = nullptr;
      a.B = 1;
      a.n = a.T = int64_t{1} << 31;
    }),
                SRP_BAD_SHAPE);
    if (mode == SRP_COVARIANCE_RANGE) {
      refuse_values(run, good, "low", &Args::low, {double{NAN}}, SRP_BAD_ARGUMENT);
      refuse_values(run, good, "high", &Args::high, {double{NAN}}, SRP_BAD_ARGUMENT);
    } else {
      refuse_values(run, good, "share", &Args::share, {-0.1, 1.1, double{INFINITY}}, SRP_BAD_ARGUMENT);
      refuse_negative(run, good, &Args::k, &Args::least);
    }
    run.agree(good);
  }
}

SRP_FAMILY(select);

}  // namespace srp::test
