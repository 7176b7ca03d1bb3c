// Losses of tokens and of rows (surprisal/loss.h).
#include "families.h"
#include "refusals.h"

namespace srp::test {
namespace {

using Args = srp_loss_token_args;

struct Setting {
  int32_t dtype, form;
  const Rows& rows;
  Random& random;
};

bool rows_only(int32_t form) { return form == SRP_ROW_CLIP_ONCE || form == SRP_ROW_SQUARED; }

void parameters(Args& args, Random& random) {
  args.clip_low = random.one_of({0.0, 0.1, 0.2, double{INFINITY}});
  args.clip_high = random.one_of({0.0, 0.1, 0.3, double{INFINITY}});
  args.dual_clip = random.one_of({1.1, 3.0, double{INFINITY}});
  args.ratio_cap = random.one_of({1.2, double{INFINITY}});
  args.log_clamp = random.one_of({0.25, double{INFINITY}});
  args.max_log_ratio = random.one_of({0.0, 0.15, double{INFINITY}});
  args.temperature_positive = 1;
  args.temperature_negative = 1.05;
  args.coefficient = 0.5;
  args.shape_positive = args.rate_negative = 2;
  args.rate_positive = args.shape_negative = 3;
  args.count_epsilon = random.one_of({0.0, 1e-8});
  args.kl_coefficient = 0.1;
  args.kl_log_clamp = random.one_of({0.2, double{INFINITY}});
  args.kl_value_clamp = random.one_of({0.1, double{INFINITY}});
}

// Log-probs that differ by at most 0.4; in a few cases one of them is NaN or infinite.
template <bool kRow>
Call<Args> losses(const Setting& s) {
  Random& random = s.random;
  Call<Args> call(kRow ? &srp_backend::loss_row : &srp_backend::loss_token);
  const int64_t n = s.rows.n, B = s.rows.B;
  const bool only = kRow && rows_only(s.form), own_sum = s.form == SRP_ROW_GEOMETRIC || s.form == SRP_ROW_GAMMA;
  std::vector<double> old = random.reals(n, -4, 0), current = old, reference = old;
  for (double& value : current) value += random.real(-0.4, 0.4);
  for (double& value : reference) value += random.real(-0.4, 0.4);
  if (n > 1 && random.chance(0.2)) current[random.integer(0, n - 1)] = random.one_of({double{NAN}, -double{INFINITY}});
  const std::vector<uint8_t> mask = random.flags(n, 0.7);
  if (random.chance(0.7)) {
    poison(current, mask);
    poison(old, mask);
    poison(reference, mask);
    call.in("mask", &Args::mask, flags(mask));
  }
  Args& args = call.args;
  parameters(args, random);
  args.dtype = s.dtype;
  args.form = s.form;
  call.rows(s.rows);
  call.in("current", &Args::current, reals(s.dtype, current));
  args.old_per_row = kRow && !own_sum && random.chance(0.2) ? 1 : 0;
  if (args.old_per_row)
    call.in("old", &Args::old, reals(s.dtype, random.reals(B, -4, 0)));
  else if (random.chance(0.8))
    call.in("old", &Args::old, reals(s.dtype, old));
  args.advantage_per_token = !only && random.chance(0.5) ? 1 : 0;
  call.in("advantage", &Args::advantage, reals(s.dtype, random.reals(args.advantage_per_token ? n : B, -2, 2)));
  if (random.chance(0.5)) {
    args.factor_per_token = !only && random.chance(0.5) ? 1 : 0;
    call.in("factor", &Args::factor, reals(s.dtype, random.reals(args.factor_per_token ? n : B, 0.5, 2)));
  }
  if (random.chance(0.5)) {
    call.in("reference", &Args::reference, reals(s.dtype, reference));
    args.kl_form = static_cast<int32_t>(random.integer(SRP_KL_K1, SRP_KL_K3));
    args.kl_slope_form = static_cast<int32_t>(random.integer(SRP_KL_K1, SRP_KL_K3));
    args.kl_ratio = random.chance(0.5) ? 1 : 0;
  }
  if (kRow) args.reduce = random.chance(0.5) ? SRP_REDUCE_SUM : SRP_REDUCE_MEAN;
  if (random.chance(0.5)) call.in("row_weight", &Args::row_weight, reals(SRP_F64, random.reals(B, 0, 1)));
  if (random.chance(0.3)) call.in("kl_weight", &Args::kl_weight, reals(SRP_F64, random.reals(B, 0, 1)));
  if (!only && random.chance(0.4)) call.in("term_mask", &Args::term_mask, flags(random.flags(n, 0.6)));
  if (random.chance(0.5)) call.in("marks", &Args::marks, flags(random.flags(n, 0.5)));

  const Tolerance sums = Tolerance::sums(s.dtype);
  const bool once = kRow && (only || s.form == SRP_ROW_GEOMETRIC);
  const auto present = [&] { return random.chance(0.85); };
  if (present()) call.out("loss", &Args::loss, s.dtype, once ? B : n, sums);
  if (present()) call.out("ratio", &Args::ratio, s.dtype, kRow ? B : n, sums);
  if (present()) call.out("kl", &Args::kl, s.dtype, n, sums);
  if (present()) call.out("clipped", &Args::clipped, SRP_U8, n, Tolerance::exact());
  if (present()) call.out("grad", &Args::grad, s.dtype, n, sums);
  if (present()) call.out("figures", &Args::figures, SRP_F64, B * SRP_LOSS_FIGURES, Tolerance::sums(SRP_F64));
  return call;
}

template <bool kRow>
void agree(Runner& run, const char* op, int32_t last) {
  run.begin(op, "agrees");
  Random random(11);
  for (int32_t form = 1; form <= last; ++form) {
    for (const int32_t dtype : {SRP_F32, SRP_F64})
      for (const Rows& rows : row_shapes()) run.agree(losses<kRow>({dtype, form, rows, random}));
    run.agree(losses<kRow>({SRP_F32, form, many_rows(), random}));
  }
}

template <bool kRow>
void refuse(Runner& run, const char* op, int32_t last) {
  run.begin(op, "refuses");
  const Rows rows = packed({3, 4, 2, 5, 1, 6});
  Random random(12);
  for (int32_t form = 1; form <= last; ++form) {
    const Call<Args> good = losses<kRow>({SRP_F64, form, rows, random});
    expect_struct_checks(run, good);
    refuse_dtypes(run, good);
    refuse_values(run, good, "form", &Args::form, {0, last + 1, -1, INT32_MAX}, SRP_BAD_ARGUMENT);
    refuse_enumerators(run, good, "reduce", &Args::reduce, SRP_REDUCE_SUM);
    refuse_enumerators(run, good, "kl_form", &Args::kl_form, SRP_KL_K3);
    refuse_enumerators(run, good, "kl_slope_form", &Args::kl_slope_form, SRP_KL_K3);
    refuse_enumerators(run, good, "kl_ratio", &Args::kl_ratio, 1);
    refuse_enumerators(run, good, "old_per_row", &Args::old_per_row, 1);
    refuse_enumerators(run, good, "advantage_per_token", &Args::advantage_per_token, 1);
    refuse_enumerators(run, good, "factor_per_token", &Args::factor_per_token, 1);
    refuse_null(run, good, &Args::current, &Args::advantage);
    refuse_rows(run, good, rows);
    for (double Args::* scalar :
         {&Args::clip_low, &Args::clip_high, &Args::dual_clip, &Args::ratio_cap, &Args::log_clamp, &Args::max_log_ratio,
          &Args::temperature_positive, &Args::temperature_negative, &Args::count_epsilon, &Args::kl_log_clamp,
          &Args::kl_value_clamp})
      refuse_values(run, good, "a scalar", scalar, {-1.0, double{NAN}}, SRP_BAD_ARGUMENT);
    for (double Args::* scalar : {&Args::coefficient, &Args::kl_coefficient, &Args::shape_positive,
                                  &Args::rate_positive, &Args::shape_negative, &Args::rate_negative})
      refuse_values(run, good, "a scalar", scalar, {double{INFINITY}, double{NAN}}, SRP_BAD_ARGUMENT);
    if (kRow && rows_only(form)) {
      refuse_values(run, good, "advantage_per_token", &Args::advantage_per_token, {1}, SRP_BAD_ARGUMENT);
      run.refused("a form without terms",
                  good.with([](Args& a) { a.term_mask = static_cast<const uint8_t*>(a.current); }), SRP_BAD_ARGUMENT);
    }
    run.agree(good);
  }
}

}  // namespace

void loss_agrees(Runner& run) {
  agree<false>(run, "loss_token", SRP_LOSS_SQUARED);
  agree<true>(run, "loss_row", SRP_ROW_SQUARED);
}

void loss_refuses(Runner& run) {
  refuse<false>(run, "loss_token", SRP_LOSS_SQUARED);
  refuse<true>(run, "loss_row", SRP_ROW_SQUARED);
}

}  // namespace srp::test
