// Log ratios (surprisal/ratio.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using LogArgs = srp_ratio_log_args;

struct Setting {
  int32_t dtype, level, reduce;
  const Rows& rows;
  Random& random;
  const Groups* groups = nullptr;  // NULL: any
};

int64_t units(const Setting& s, const Groups& groups) {
  return s.level == SRP_LEVEL_TOKEN ? s.rows.n : s.level == SRP_LEVEL_SEQUENCE ? s.rows.B : groups.G;
}

// Log-probs that differ by at most 0.4; in a few cases one of them is NaN or infinite.
Groups inputs(Call<LogArgs>& call, const Setting& s) {
  Random& random = s.random;
  const int64_t n = s.rows.n;
  std::vector<double> old = random.reals(n, -4, 0), current = old;
  for (double& value : current) value += random.real(-0.4, 0.4);
  if (n > 1 && random.chance(0.2)) current[random.integer(0, n - 1)] = random.one_of({double{NAN}, -double{INFINITY}});
  const std::vector<uint8_t> mask = random.flags(n, 0.7);
  if (random.chance(0.7)) {
    poison(current, mask);
    poison(old, mask);
    call.in("mask", &LogArgs::mask, flags(mask));
  }
  call.args.dtype = s.dtype;
  call.args.level = s.level;
  call.args.reduce = s.reduce;
  call.rows(s.rows);
  call.in("log_probs", &LogArgs::log_probs, reals(s.dtype, current));
  call.in("old_log_probs", &LogArgs::old_log_probs, reals(s.dtype, old));
  if (s.level != SRP_LEVEL_GROUP) return {};
  const Groups groups = s.groups ? *s.groups : groups_of(random, s.rows.B);
  call.args.G = groups.G;
  call.in("group_offsets", &LogArgs::group_offsets, ints(groups.offsets));
  if (!groups.members.empty()) call.in("members", &LogArgs::members, ints(groups.members));
  return groups;
}

Call<LogArgs> log_ratios(const Setting& s) {
  Call<LogArgs> call(&srp_backend::ratio_log);
  const int64_t count = units(s, inputs(call, s)), absent = s.random.integer(0, 3);
  if (absent != 1) call.out("log_ratios", &LogArgs::log_ratios, s.dtype, count, Tolerance::sums(s.dtype));
  if (absent != 2) call.out("ratios", &LogArgs::ratios, s.dtype, count, Tolerance::sums(s.dtype));
  return call;
}

void agree(Runner& run) {
  run.begin("ratio_log", "agrees");
  Random random(5);
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP})
      for (const int32_t reduce : {SRP_REDUCE_MEAN, SRP_REDUCE_SUM})
        for (const Rows& rows : row_shapes()) run.agree(log_ratios(Setting{dtype, level, reduce, rows, random}));
  // Also more groups than a block of 128 threads has.
  const Groups singles = groups(random, std::vector<int64_t>(static_cast<size_t>(many_rows().B), 1), true);
  for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP})
    run.agree(log_ratios(Setting{SRP_F32, level, SRP_REDUCE_MEAN, many_rows(), random, &singles}));
  for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP})
    for (const Rows& rows : long_rows()) {
      run.want_next();
      run.agree(log_ratios(Setting{SRP_F32, level, SRP_REDUCE_MEAN, rows, random}));
    }
}

// What is refused at one level.
void refuse(Runner& run, const Call<LogArgs>& good, const Rows& rows, const Groups& groups) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_enumerators(run, good, "level", &LogArgs::level, SRP_LEVEL_GROUP);
  refuse_enumerators(run, good, "reduce", &LogArgs::reduce, SRP_REDUCE_SUM);
  refuse_negative(run, good, &LogArgs::n, &LogArgs::B, &LogArgs::T);
  refuse_null(run, good, &LogArgs::log_probs, &LogArgs::old_log_probs);
  run.refused("there is no row for the tokens", good.with([](LogArgs& a) { a.B = 0; }), SRP_BAD_SHAPE);
  // The log ratio of a token has nothing to do with rows.
  const bool rowless = good.args.level == SRP_LEVEL_TOKEN;
  mislead_offsets(run, good, "offsets", rows.B, rows.n, rowless ? AtSync::kReportedOrNot : AtSync::kReported);
  if (good.args.level == SRP_LEVEL_GROUP) {
    refuse_groups(run, good, &LogArgs::group_offsets);
    mislead_offsets(run, good, "group_offsets", groups.G, groups.n);
    mislead_indices(run, good, "members", 0, groups.n);
    mislead_indices(run, good, "members", groups.n - 1, groups.n);
  } else {
    run.refused("a level without groups", good.with([](LogArgs& a) { a.group_offsets = a.offsets; }), SRP_BAD_ARGUMENT);
    run.refused("a level without members", good.with([](LogArgs& a) { a.members = a.offsets; }), SRP_BAD_ARGUMENT);
  }
  run.agree(good);
}

}  // namespace

void ratio_agrees(Runner& run) { agree(run); }

void ratio_refuses(Runner& run) {
  const Rows rows = packed({3, 4, 2, 5, 1, 6});
  Random random(6);
  const Groups four = groups(random, {2, 1, 2, 1}, true);

  run.begin("ratio_log", "refuses");
  for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP}) {
    const Call<LogArgs> good = log_ratios({SRP_F32, level, SRP_REDUCE_MEAN, rows, random, &four});
    refuse(run, good, rows, four);
    run.refused("there is no output", good.with([](LogArgs& a) { a.log_ratios = a.ratios = nullptr; }),
                SRP_BAD_ARGUMENT);
  }
}

SRP_FAMILY(ratio);

}  // namespace srp::test
