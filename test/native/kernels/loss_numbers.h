// The numbers of a loss, of tokens, of rows and from logits alike.
#pragma once
#include "random.h"
#include "refusals.h"

namespace srp::test {

inline srp_loss_parameters loss_parameters(Random& random) {
  srp_loss_parameters p = {};
  p.clip_low = random.one_of({0.0, 0.1, 0.2, double{INFINITY}});
  p.clip_high = random.one_of({0.0, 0.1, 0.3, double{INFINITY}});
  p.dual_clip = random.one_of({1.1, 3.0, double{INFINITY}});
  p.ratio_cap = random.one_of({1.2, double{INFINITY}});
  p.log_clamp = random.one_of({0.25, double{INFINITY}});
  p.max_log_ratio = random.one_of({0.0, 0.15, double{INFINITY}});
  p.temperature_positive = random.one_of({1.0, 3.0});
  p.temperature_negative = random.one_of({1.05, 0.5});
  p.coefficient = random.one_of({0.0, 0.5});
  p.shape_positive = 2;
  p.rate_positive = 3;
  p.shape_negative = 3;
  p.rate_negative = 2;
  p.count_epsilon = random.one_of({0.0, 1e-8});
  return p;
}

inline srp_kl_parameters kl_parameters(Random& random, bool with_reference) {
  srp_kl_parameters kl = {};
  if (with_reference) {
    kl.kind = static_cast<int32_t>(random.integer(SRP_KL_K1, SRP_KL_K3));
    kl.gradient_kind = random.chance(0.7) ? kl.kind : static_cast<int32_t>(random.integer(SRP_KL_K1, SRP_KL_K3));
    kl.times_ratio = random.one_of({0, 1});
  }
  kl.coefficient = random.one_of({0.0, 0.05});
  kl.log_clamp = random.one_of({0.2, double{INFINITY}});
  kl.value_clamp = random.one_of({0.1, double{INFINITY}});
  return kl;
}

template <class Args>
void refuse_loss_numbers(Runner& run, const Call<Args>& good) {
  using Form = srp_loss_parameters;
  using Kl = srp_kl_parameters;
  const auto form = [&](double Form::* number, std::initializer_list<double> values) {
    for (const double value : values)
      run.refused("a number of the form", good.with([=](Args& a) { a.parameters.*number = value; }), SRP_BAD_ARGUMENT);
  };
  const auto kl = [&](auto Kl::* number, std::initializer_list<double> values) {
    using Number = std::decay_t<decltype(Kl().*number)>;
    for (const double value : values)
      run.refused("a number of the KL term", good.with([=](Args& a) { a.kl.*number = static_cast<Number>(value); }),
                  SRP_BAD_ARGUMENT);
  };
  for (double Form::* number :
       {&Form::clip_low, &Form::clip_high, &Form::dual_clip, &Form::ratio_cap, &Form::log_clamp, &Form::max_log_ratio,
        &Form::temperature_positive, &Form::temperature_negative, &Form::count_epsilon})
    form(number, {-1.0, NAN});
  for (double Form::* number :
       {&Form::coefficient, &Form::shape_positive, &Form::rate_positive, &Form::shape_negative, &Form::rate_negative})
    form(number, {INFINITY, NAN});
  form(&Form::dual_clip, {1.0});
  for (double Kl::* number : {&Kl::log_clamp, &Kl::value_clamp}) kl(number, {-1.0, NAN});
  kl(&Kl::coefficient, {INFINITY, NAN});
  for (int32_t Kl::* number : {&Kl::kind, &Kl::gradient_kind}) kl(number, {-1, SRP_KL_K3 + 1, INT32_MAX, INT32_MIN});
  kl(&Kl::times_ratio, {-1, 2, INT32_MAX, INT32_MIN});
  run.refused("a KL term without reference", good.with([](Args& a) {
    a.reference_log_probs = nullptr;
    a.kl.kind = a.kl.gradient_kind = SRP_KL_K1;
  }),
              SRP_BAD_ARGUMENT);
}

}  // namespace srp::test
