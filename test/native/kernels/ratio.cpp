// Log ratios and the clipped objective (surprisal/ratio.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using LogArgs = srp_ratio_log_args;
using ClipArgs = srp_ratio_clip_args;

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
template <class Args>
Groups inputs(Call<Args>& call, const Setting& s) {
  Random& random = s.random;
  const int64_t n = s.rows.n;
  std::vector<double> old = random.reals(n, -4, 0), current = old;
  for (double& value : current) value += random.real(-0.4, 0.4);
  if (n > 1 && random.chance(0.2)) current[random.integer(0, n - 1)] = random.one_of({double{NAN}, -double{INFINITY}});
  const std::vector<uint8_t> mask = random.flags(n, 0.7);
  if (random.chance(0.7)) {
    poison(current, mask);
    poison(old, mask);
    call.in("mask", &Args::mask, flags(mask));
  }
  call.args.dtype = s.dtype;
  call.args.level = s.level;
  call.args.reduce = s.reduce;
  call.rows(s.rows);
  call.in("current", &Args::current, reals(s.dtype, current));
  call.in("old", &Args::old, reals(s.dtype, old));
  if (s.level != SRP_LEVEL_GROUP) return {};
  const Groups groups = s.groups ? *s.groups : groups_of(random, s.rows.B);
  call.args.G = groups.G;
  call.in("group_offsets", &Args::group_offsets, ints(groups.offsets));
  if (!groups.members.empty()) call.in("members", &Args::members, ints(groups.members));
  return groups;
}

Call<LogArgs> log_ratios(const Setting& s) {
  Call<LogArgs> call(&srp_backend::ratio_log);
  const int64_t count = units(s, inputs(call, s)), absent = s.random.integer(0, 3);
  if (absent != 1) call.out("log_ratio", &LogArgs::log_ratio, s.dtype, count, Tolerance::sums(s.dtype));
  if (absent != 2) call.out("ratio", &LogArgs::ratio, s.dtype, count, Tolerance::sums(s.dtype));
  return call;
}

Call<ClipArgs> clipped(const Setting& s) {
  Random& random = s.random;
  Call<ClipArgs> call(&srp_backend::ratio_clip);
  const int64_t ratios = units(s, inputs(call, s)), B = s.rows.B, n = s.rows.n;
  const bool tokens = s.level == SRP_LEVEL_TOKEN;
  call.args.form = SRP_LOSS_CLIP;
  call.args.advantage_per_token = tokens && random.chance(0.5) ? 1 : 0;
  call.args.clip_low = random.one_of({0.0, 0.1, 0.2, double{INFINITY}});
  call.args.clip_high = random.one_of({0.0, 0.1, 0.3, double{INFINITY}});
  call.args.dual_clip = random.one_of({1.1, 3.0, double{INFINITY}});
  call.args.ratio_cap = random.one_of({1.2, double{INFINITY}});
  call.args.log_clamp = random.one_of({0.25, double{INFINITY}});
  call.args.max_log_ratio = random.one_of({0.0, 0.15, double{INFINITY}});
  call.in("advantage", &ClipArgs::advantage,
          reals(s.dtype, random.reals(call.args.advantage_per_token ? n : B, -2, 2)));
  if (random.chance(0.5)) call.in("row_weight", &ClipArgs::row_weight, reals(SRP_F64, random.reals(B, 0, 1)));

  const Tolerance sums = Tolerance::sums(s.dtype), exact = Tolerance::exact();
  const int64_t terms = tokens ? n : B;
  const auto present = [&] { return random.chance(0.85); };
  if (present()) call.out("ratio", &ClipArgs::ratio, s.dtype, ratios, sums);
  if (present()) call.out("clipped_ratio", &ClipArgs::clipped_ratio, s.dtype, ratios, sums);
  if (present()) call.out("term", &ClipArgs::term, s.dtype, terms, sums);
  if (present()) call.out("clipped", &ClipArgs::clipped, SRP_U8, terms, exact);
  if (present()) call.out("grad", &ClipArgs::grad, s.dtype, n, sums);
  if (present()) call.out("objective", &ClipArgs::objective, SRP_F64, B, Tolerance::sums(SRP_F64));
  if (present()) call.out("ratio_sum", &ClipArgs::ratio_sum, SRP_F64, B, Tolerance::sums(SRP_F64));
  if (present()) call.out("ratio_max", &ClipArgs::ratio_max, SRP_F64, B, Tolerance::sums(SRP_F64));
  if (present()) call.out("terms", &ClipArgs::terms, SRP_I32, B, exact);
  if (present()) call.out("clipped_count", &ClipArgs::clipped_count, SRP_I32, B, exact);
  if (present()) call.out("limited_count", &ClipArgs::limited_count, SRP_I32, B, exact);
  return call;
}

template <class Make>
void agree(Runner& run, const char* op, Make make) {
  run.begin(op, "agrees");
  Random random(5);
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP})
      for (const int32_t reduce : {SRP_REDUCE_MEAN, SRP_REDUCE_SUM})
        for (const Rows& rows : row_shapes()) run.agree(make(Setting{dtype, level, reduce, rows, random}));
  // Also more groups than a block of 128 threads has.
  const Groups singles = groups(random, std::vector<int64_t>(static_cast<size_t>(many_rows().B), 1), true);
  for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP})
    run.agree(make(Setting{SRP_F32, level, SRP_REDUCE_MEAN, many_rows(), random, &singles}));
  for (const int32_t level : {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP})
    for (const Rows& rows : long_rows()) {
      run.want_next();
      run.agree(make(Setting{SRP_F32, level, SRP_REDUCE_MEAN, rows, random}));
    }
}

// What both ops refuse, at one level.
template <class Args>
void refuse(Runner& run, const Call<Args>& good, const Rows& rows, const Groups& groups) {
  expect_struct_checks(run, good);
  refuse_dtypes(run, good);
  refuse_enumerators(run, good, "level", &Args::level, SRP_LEVEL_GROUP);
  refuse_enumerators(run, good, "reduce", &Args::reduce, SRP_REDUCE_SUM);
  refuse_negative(run, good, &Args::n, &Args::B, &Args::T);
  refuse_null(run, good, &Args::current, &Args::old);
  run.refused("there is no row for the tokens", good.with([](Args& a) { a.B = 0; }), SRP_BAD_SHAPE);
  // The log ratio of a token has nothing to do with rows.
  const bool rowless = std::is_same_v<Args, LogArgs> && good.args.level == SRP_LEVEL_TOKEN;
  mislead_offsets(run, good, "offsets", rows.B, rows.n, rowless ? AtSync::kReportedOrNot : AtSync::kReported);
  if (good.args.level == SRP_LEVEL_GROUP) {
    refuse_groups(run, good, &Args::group_offsets);
    mislead_offsets(run, good, "group_offsets", groups.G, groups.n);
    mislead_indices(run, good, "members", 0, groups.n);
    mislead_indices(run, good, "members", groups.n - 1, groups.n);
  } else {
    run.refused("a level without groups", good.with([](Args& a) { a.group_offsets = a.offsets; }), SRP_BAD_ARGUMENT);
    run.refused("a level without members", good.with([](Args& a) { a.members = a.offsets; }), SRP_BAD_ARGUMENT);
  }
  run.agree(good);
}

}  // namespace

void ratio_agrees(Runner& run) {
  agree(run, "ratio_log", log_ratios);
  agree(run, "ratio_clip", clipped);
}

void ratio_refuses(Runner& run) {
  const Rows rows = packed({3, 4, 2, 5, 1, 6});
  const int32_t levels[] = {SRP_LEVEL_TOKEN, SRP_LEVEL_SEQUENCE, SRP_LEVEL_GROUP};
  Random random(6);
  const Groups four = groups(random, {2, 1, 2, 1}, true);

  run.begin("ratio_log", "refuses");
  for (const int32_t level : levels) {
    const Call<LogArgs> good = log_ratios({SRP_F32, level, SRP_REDUCE_MEAN, rows, random, &four});
    refuse(run, good, rows, four);
    run.refused("there is no output", good.with([](LogArgs& a) { a.log_ratio = a.ratio = nullptr; }), SRP_BAD_ARGUMENT);
  }

  run.begin("ratio_clip", "refuses");
  for (const int32_t level : levels) {
    const Call<ClipArgs> good = clipped({SRP_F64, level, SRP_REDUCE_SUM, rows, random, &four});
    refuse(run, good, rows, four);
    refuse_null(run, good, &ClipArgs::advantage);
    run.refused("rows of more tokens than int32", good.with([](ClipArgs& a) {
      a.offsets = nullptr;
      a.B = 1;
      a.n = a.T = int64_t{1} << 31;
    }),
                SRP_BAD_SHAPE);
    refuse_values(run, good, "form", &ClipArgs::form, {0, 2, -1, INT32_MAX, INT32_MIN}, SRP_BAD_ARGUMENT);
    refuse_enumerators(run, good, "advantage_per_token", &ClipArgs::advantage_per_token,
                       level == SRP_LEVEL_TOKEN ? 1 : 0);
    for (double ClipArgs::* scalar : {&ClipArgs::clip_low, &ClipArgs::clip_high, &ClipArgs::dual_clip,
                                      &ClipArgs::ratio_cap, &ClipArgs::log_clamp, &ClipArgs::max_log_ratio})
      refuse_values(run, good, "a scalar", scalar, {-1.0, double{NAN}}, SRP_BAD_ARGUMENT);
    refuse_values(run, good, "dual_clip", &ClipArgs::dual_clip, {1.0}, SRP_BAD_ARGUMENT);
    refuse_values(run, good, "ratio_cap", &ClipArgs::ratio_cap, {0.0}, SRP_BAD_ARGUMENT);
    refuse_values(run, good, "log_clamp", &ClipArgs::log_clamp, {0.0}, SRP_BAD_ARGUMENT);
  }
}

}  // namespace srp::test
