// Masks of the tokens above a quantile, and of the k largest (surprisal/select.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using QuantileArgs = srp_select_quantile_args;
using TopArgs = srp_select_top_args;

// Ranks are integers and a threshold is two operations on two of the values: the same bits.
constexpr auto kSame = Tolerance::exact;

template <class Args>
void inputs(Call<Args>& call, Random& random, int32_t dtype, int32_t over, const Rows& rows) {
  const std::vector<uint8_t> mask = random.flags(rows.n, random.one_of({0.7, 0.05, 0.0}));
  const bool masked = random.chance(0.7);
  std::vector<double> values = items(random, rows.n);
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
  inputs(call, random, dtype, over, rows);
  call.args.q = random.one_of({0.0, 0.5, 0.8, 0.33, 1.0});
  const int64_t absent = random.integer(0, 3);
  if (absent != 1) call.out("threshold", &QuantileArgs::threshold, SRP_F64, units(over, rows), kSame());
  if (absent != 2) call.out("selected", &QuantileArgs::selected, SRP_U8, rows.n, kSame());
  return call;
}

Call<TopArgs> top(Random& random, int32_t dtype, int32_t over, const Rows& rows) {
  Call<TopArgs> call(&srp_backend::select_top);
  inputs(call, random, dtype, over, rows);
  call.args.share = random.one_of({double{NAN}, double{NAN}, 0.0, 0.2, 1.0});
  call.args.k = random.one_of({0, 1, 5, 300, INT32_MAX});
  call.args.least = random.one_of({0, 1, 1000});
  call.out("selected", &TopArgs::selected, SRP_U8, rows.n, kSame());
  if (random.chance(0.7)) call.out("count", &TopArgs::count, SRP_I32, units(over, rows), kSame());
  return call;
}

template <class Make>
void agree(Runner& run, Make make) {
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t over : {SRP_OVER_ROW, SRP_OVER_ALL})
      for (const Rows& rows : row_shapes())
        for (int i = 0; i < 3; ++i) run.agree(make(dtype, over, rows));
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
      a.threshold = nullptr;
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
}

}  // namespace srp::test
