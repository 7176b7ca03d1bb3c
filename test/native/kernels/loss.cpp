// Losses of tokens and of rows, with their gradients (surprisal/loss.h).
#include "families.h"
#include "loss_numbers.h"

namespace srp::test {
namespace {

using Args = srp_loss_token_args;  // of both ops

struct Setting {
  bool row;  // loss_row
  int32_t dtype, form;
  const Rows& rows;
  Random& random;
  const Groups* groups = nullptr;  // loss_row of groups of rows
  bool plain = false;  // nothing but log-probs, advantages and weights

  bool once() const {
    return row && (form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_GEOMETRIC || form == SRP_ROW_SQUARED);
  }
  // No part of the form is of one token.
  bool whole() const { return row && (form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED); }
  bool reads_widths() const {
    return row ? form <= SRP_ROW_GEOMETRIC
               : form != SRP_LOSS_LINEAR && form != SRP_LOSS_SIGMOID && form != SRP_LOSS_MARKED;
  }
  bool reads_cap() const {
    return row ? form <= SRP_ROW_CLIP_LOCAL : form == SRP_LOSS_CLIP || form == SRP_LOSS_WEIGHTED;
  }
  bool sums_its_own() const { return row && (form == SRP_ROW_GEOMETRIC || form == SRP_ROW_GAMMA); }
};

// Log-probs that differ by at most 0.4; in a few cases one of them is NaN or infinite.
void inputs(Call<Args>& call, const Setting& s) {
  Random& random = s.random;
  Args& a = call.args;
  const int64_t n = s.rows.n, B = s.rows.B;
  a.dtype = s.dtype;
  a.form = s.form;
  a.advantages_per_token = s.whole() ? 0 : random.one_of({0, 1});
  a.old_log_probs_per_row = s.row && !s.sums_its_own() && !s.groups && random.chance(0.2) ? 1 : 0;
  std::vector<double> old = random.reals(n, -4, 0), current = old, reference = old;
  for (double& value : current) value += random.real(-0.4, 0.4);
  for (double& value : reference) value += random.real(-0.4, 0.4);
  if (n > 1 && random.chance(0.2)) current[random.integer(0, n - 1)] = random.one_of({double{NAN}, -double{INFINITY}});
  std::vector<double> advantage = random.reals(a.advantages_per_token ? n : B, -2, 2);
  for (double& value : advantage)
    if (random.chance(0.1)) value = 0;
  const std::vector<uint8_t> mask = random.flags(n, 0.7);
  const bool masked = random.chance(0.7);
  if (masked) {
    poison(current, mask);
    poison(old, mask);
    poison(reference, mask);
    if (a.advantages_per_token) poison(advantage, mask);
  }
  call.rows(s.rows);
  call.in("log_probs", &Args::log_probs, reals(s.dtype, current));
  if (a.old_log_probs_per_row)
    call.in("old_log_probs", &Args::old_log_probs, reals(s.dtype, random.reals(B, -4, 0)));
  else if (s.groups || random.chance(0.85))
    call.in("old_log_probs", &Args::old_log_probs, reals(s.dtype, old));
  call.in("advantages", &Args::advantages, reals(s.dtype, advantage));
  if (!s.plain && random.chance(0.5)) {
    a.factors_per_token = s.whole() ? 0 : random.one_of({0, 1});
    std::vector<double> factor = random.reals(a.factors_per_token ? n : B, 0.1, 2);
    if (masked && a.factors_per_token) poison(factor, mask);
    call.in("factors", &Args::factors, reals(s.dtype, factor));
  }
  const auto bounds = [&](const char* name, auto field, int32_t Args::* per_token, std::vector<double> choices) {
    if (s.plain || random.chance(0.6)) return;
    a.*per_token = s.whole() ? 0 : random.one_of({0, 1});
    std::vector<double> values(static_cast<size_t>(a.*per_token ? n : B));
    for (double& value : values) value = choices[random.integer(0, static_cast<int64_t>(choices.size()) - 1)];
    if (masked && a.*per_token) poison(values, mask);
    call.in(name, field, reals(s.dtype, values));
  };
  const std::vector<double> widths = {0.0, 0.1, 0.2, 0.25, 1.5, double{INFINITY}, random.chance(0.1) ? -1.0 : 0.3};
  if (s.reads_widths()) {
    bounds("clip_lows", &Args::clip_lows, &Args::clip_lows_per_token, widths);
    bounds("clip_highs", &Args::clip_highs, &Args::clip_highs_per_token, widths);
  }
  if (s.reads_cap())
    bounds("ratio_caps", &Args::ratio_caps, &Args::ratio_caps_per_token,
           {1.1, 1.3, double{INFINITY}, random.chance(0.1) ? double{NAN} : 1.0});
  const bool with_reference = !s.groups && !s.plain && random.chance(0.6);
  if (with_reference) call.in("reference_log_probs", &Args::reference_log_probs, reals(s.dtype, reference));
  a.kl = kl_parameters(random, with_reference);
  if (random.chance(0.5)) call.in("row_weights", &Args::row_weights, reals(SRP_F64, random.reals(B, 0, 1)));
  if (random.chance(0.5)) call.in("kl_row_weights", &Args::kl_row_weights, reals(SRP_F64, random.reals(B, 0, 1)));
  if (masked) call.in("mask", &Args::mask, flags(mask));
  if (!s.whole() && !s.plain && random.chance(0.4)) call.in("term_mask", &Args::term_mask, flags(random.flags(n, 0.6)));
  if (random.chance(0.5)) call.in("marks", &Args::marks, flags(random.flags(n, 0.3)));
  if (!s.groups) return;
  a.G = s.groups->G;
  call.in("group_offsets", &Args::group_offsets, ints(s.groups->offsets));
  if (!s.groups->members.empty()) call.in("members", &Args::members, ints(s.groups->members));
}

// Decisions at a bound compare one rounding of the same numbers on both sides, except in THROUGH and LOCAL forms, where a row's
// ratio comes from a sum in another order: random ratios do not lie that near to a bound.
Call<Args> loss(const Setting& s) {
  Random& random = s.random;
  Call<Args> call(s.row ? &srp_backend::loss_row : &srp_backend::loss_token);
  inputs(call, s);
  call.args.reduce = random.one_of({SRP_REDUCE_MEAN, SRP_REDUCE_SUM});
  srp_loss_parameters& p = call.args.parameters;
  p = loss_parameters(random);
  if (s.plain) p.dual_clip = p.ratio_cap = p.log_clamp = p.max_log_ratio = INFINITY;
  const int64_t n = s.rows.n, B = s.rows.B;
  const Tolerance sums = Tolerance::sums(s.dtype);
  const auto present = [&] { return random.chance(0.85); };
  if (present()) call.out("losses", &Args::losses, s.dtype, s.once() ? B : n, sums);
  if (present()) call.out("ratios", &Args::ratios, s.dtype, s.row ? B : n, sums);
  if (!s.groups && !s.plain && present()) call.out("kl_values", &Args::kl_values, s.dtype, n, sums);
  if (present()) call.out("clipped", &Args::clipped, SRP_U8, s.whole() ? B : n, Tolerance::exact());
  if (present()) call.out("grad_log_probs", &Args::grad_log_probs, s.dtype, n, sums);
  const int32_t count = s.groups || random.chance(0.4) ? SRP_LOSS_SUMS : SRP_LOSS_FIGURES;
  call.args.figure_count = count;
  if (present()) call.out("figures", &Args::figures, SRP_F64, B * count, Tolerance::sums(SRP_F64));
  return call;
}

int32_t first_form(bool row) { return row ? static_cast<int32_t>(SRP_ROW_CLIP) : static_cast<int32_t>(SRP_LOSS_CLIP); }

int32_t last_form(bool row) { return row ? SRP_ROW_FORMS - 1 : SRP_LOSS_FORMS - 1; }

void agree(Runner& run, Random& random, bool row) {
  run.begin(row ? "loss_row" : "loss_token", "agrees");
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (int32_t form = first_form(row); form <= last_form(row); ++form)
      for (const Rows& rows : row_shapes())
        for (int i = 0; i < 2; ++i) run.agree(loss({row, dtype, form, rows, random}));
  run.agree(loss({row, SRP_F32, first_form(row), many_rows(), random}));
  for (const Rows& rows : long_rows()) {
    run.want_next();
    run.agree(loss({row, SRP_F32, first_form(row), rows, random}));
  }
}

// One ratio for the rows of a group.
void agree_in_groups(Runner& run, Random& random) {
  run.begin("loss_row", "agrees in groups");
  const auto grouped = [&](int32_t dtype, const Rows& rows, const Groups& groups) {
    run.agree(loss({true, dtype, SRP_ROW_CLIP_ONCE, rows, random, &groups}));
  };
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const Rows& rows : row_shapes())
      for (int i = 0; i < 2; ++i) grouped(dtype, rows, groups_of(random, rows.B));
  // Also more groups than a block of threads has.
  grouped(SRP_F32, many_rows(), groups(random, std::vector<int64_t>(static_cast<size_t>(many_rows().B), 1), true));
  for (const Rows& rows : long_rows()) {
    run.want_next();
    grouped(SRP_F32, rows, groups_of(random, rows.B));
  }
}

// The clipped surrogate alone goes through a shorter text on the cpu backend, unless something is out of the ordinary.
void agree_plain(Runner& run, Random& random) {
  run.begin("loss_token", "agrees where rows are plain");
  for (const int32_t dtype : {SRP_F32, SRP_F64})
    for (const Rows& rows : row_shapes())
      for (int i = 0; i < 4; ++i) run.agree(loss({false, dtype, SRP_LOSS_CLIP, rows, random, nullptr, true}));
}

void refuse(Runner& run, Random& random, bool row) {
  run.begin(row ? "loss_row" : "loss_token", "refuses");
  const Rows rows = packed({3, 4, 300, 5});
  for (int32_t form = first_form(row); form <= last_form(row); ++form) {
    const Setting setting{row, SRP_F32, form, rows, random};
    const Call<Args> good = loss(setting);
    refuse_rows(run, good, rows);
    refuse_null(run, good, &Args::log_probs, &Args::advantages);
    refuse_enumerators(run, good, "advantages_per_token", &Args::advantages_per_token, setting.whole() ? 0 : 1);
    refuse_values(run, good, "old_log_probs_per_row", &Args::old_log_probs_per_row, {-1, 2, INT32_MAX},
                  SRP_BAD_ARGUMENT);
    run.refused("a factor per token without factors", good.with([](Args& a) {
      a.factors = nullptr;
      a.factors_per_token = 1;
    }),
                SRP_BAD_ARGUMENT);
    const auto bound = [&](const char* what, auto field, int32_t Args::* per_token, bool read) {
      run.refused(what, good.with([=](Args& a) {
        a.*field = nullptr;
        a.*per_token = 1;
      }),
                  SRP_BAD_ARGUMENT);
      static const float numbers[512] = {};
      if (!read)
        run.refused(what, good.with([=](Args& a) { a.*field = numbers; }), SRP_BAD_ARGUMENT);
      else if (form == SRP_ROW_CLIP_ONCE)
        run.refused(what, good.with([=](Args& a) {
          a.*field = numbers;
          a.*per_token = 1;
        }),
                    SRP_BAD_ARGUMENT);
    };
    bound("clip_lows", &Args::clip_lows, &Args::clip_lows_per_token, setting.reads_widths());
    bound("clip_highs", &Args::clip_highs, &Args::clip_highs_per_token, setting.reads_widths());
    bound("ratio_caps", &Args::ratio_caps, &Args::ratio_caps_per_token, setting.reads_cap());
    if (!row || setting.sums_its_own())
      run.refused("old per row", good.with([](Args& a) { a.old_log_probs_per_row = 1; }), SRP_BAD_ARGUMENT);
    if (setting.whole()) {
      static const uint8_t terms[512] = {};
      run.refused("terms of a whole row", good.with([](Args& a) { a.term_mask = terms; }), SRP_BAD_ARGUMENT);
    }
    static const int32_t one_group[2] = {0, 4};
    if (form != SRP_ROW_CLIP_ONCE || !row)
      run.refused("groups", good.with([](Args& a) {
        a.group_offsets = one_group;
        a.G = 1;
      }),
                  SRP_BAD_ARGUMENT);
    run.refused("members without groups", good.with([](Args& a) { a.members = one_group; }), SRP_BAD_ARGUMENT);
    if (form != first_form(row)) continue;
    expect_struct_checks(run, good);
    refuse_values(run, good, "figure_count", &Args::figure_count,
                  {0, -1, SRP_LOSS_SUMS - 1, SRP_LOSS_SUMS + 1, SRP_LOSS_FIGURES + 1}, SRP_BAD_ARGUMENT);
    refuse_dtypes(run, good);
    refuse_values(run, good, "form", &Args::form,
                  {0, -1, first_form(row) - 1, last_form(row) + 1, INT32_MAX, INT32_MIN}, SRP_BAD_ARGUMENT);
    refuse_enumerators(run, good, "reduce", &Args::reduce, SRP_REDUCE_SUM);
    refuse_loss_numbers(run, good);
    run.agree(good);
  }
}

void refuse_groups_of_rows(Runner& run, Random& random) {
  run.begin("loss_row", "refuses groups");
  const Rows rows = packed({3, 4, 2, 5, 1, 6});
  const Groups four = groups(random, {2, 1, 2, 1}, true);
  const Call<Args> good = loss({true, SRP_F32, SRP_ROW_CLIP_ONCE, rows, random, &four});
  refuse_groups(run, good, &Args::group_offsets);
  mislead_offsets(run, good, "group_offsets", four.G, four.n);
  mislead_indices(run, good, "members", 0, four.n);
  mislead_indices(run, good, "members", four.n - 1, four.n);
  refuse_null(run, good, &Args::old_log_probs);
  refuse_values(run, good, "old_log_probs_per_row", &Args::old_log_probs_per_row, {1}, SRP_BAD_ARGUMENT);
  refuse_values(run, good, "figure_count", &Args::figure_count, {SRP_LOSS_FIGURES}, SRP_BAD_ARGUMENT);
  run.refused("a KL term", good.with([](Args& a) {
    a.reference_log_probs = a.log_probs;
    a.kl.kind = a.kl.gradient_kind = SRP_KL_K1;
  }),
              SRP_BAD_ARGUMENT);
  run.agree(good);
}

}  // namespace

void loss_agrees(Runner& run) {
  Random random(19);
  for (const bool row : {false, true}) agree(run, random, row);
  agree_in_groups(run, random);
  agree_plain(run, random);
}

void loss_refuses(Runner& run) {
  Random random(20);
  for (const bool row : {false, true}) refuse(run, random, row);
  refuse_groups_of_rows(run, random);
}

SRP_FAMILY(loss);

}  // namespace srp::test
