// Divergence of two rows of logits and its gradient (contract: surprisal/divergence.h), in float64: the maxima, the sums
// of both softmaxes, the terms, the gradient. Loops over a whole vocabulary use the level's kernels; supports, and everything on
// the level "portable", are computed one id at a time.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "backend.h"
#include "level.h"
#include "pool.h"
#include "shared/divergence.h"
#include "shared/select.h"

namespace srp::cpu {
namespace {

template <class F>
Softmax softmax(const LogitRow<F>& row, double temperature) {
  Softmax found = {-INFINITY, -1, 0, temperature};
  if (const Kernels* const level = row.ids ? nullptr : kernels()) {
    level->divergence.of<F>().softmax(row.logits, row.count, temperature, &found);
    return found;
  }
  for (int64_t i = 0; i < row.count; ++i) {
    const double x = row[i];
    if (x != x) return {x, -1, 0, temperature};
    if (x > found.max) {
      found.max = x;
      found.first = row.id(i);
    }
  }
  if (!found.finite()) return found;
  for (int64_t i = 0; i < row.count; ++i)
    if (row.id(i) != found.first) found.rest += exp((row[i] - found.max) / temperature);
  return found;
}

template <class F>
void fill(F* to, int64_t count, double value) {
  for (int64_t j = 0; j < count; ++j) store(to, j, value);
}

constexpr double kApart = 1e-3;  // rows whose divergence is smaller are close

template <class F>
class Row {
 public:
  Row(const srp_divergence_rows_args& a, int64_t n) : a_(a) {
    const F* const student = static_cast<const F*>(a.student) + n * a.student_stride;
    const F* const teacher = static_cast<const F*>(a.teacher) + n * a.teacher_stride;
    const int32_t* const ids = a.support ? a.support + n * a.K : nullptr;
    student_ = {student, ids, ids ? a.K : a.V};
    teacher_ = {teacher, ids, ids ? a.K : a.V};
    pooled_ = a.outside == SRP_OUTSIDE_POOLED;
    if (whole() && (a.beta == 0 || a.beta == 1) && kernels() && add_kl(*kernels())) return;
    S_ = softmax(pooled_ ? LogitRow<F>{student, nullptr, a.V} : student_, a.temperature);
    T_ = softmax(pooled_ ? LogitRow<F>{teacher, nullptr, a.V} : teacher_, a.temperature);
    kind_ = row_kind(S_, T_);
    if (kind_ == RowKind::kPlain)
      sum_terms();
    else
      end_ = {NAN, NAN, NAN};
  }

  double value() const { return end_.value; }

  void gradient(F* grad, double weight) const {
    fill(grad + a_.V, a_.student_stride - a_.V, 0);
    if (weight == 0 || kind_ == RowKind::kEmpty) return fill(grad, a_.V, 0);
    if (kind_ == RowKind::kNaN) return fill(grad, a_.V, NAN);
    const double factor = weight / a_.temperature;
    if (apart_ && isfinite(factor)) return kl_gradient(grad, factor);
    const double log_S = S_.log_sum(), log_T = T_.log_sum();
    const Kernels* const level = whole() && isfinite(end_.slope) ? kernels() : nullptr;
    if (level) return level->divergence.of<F>().gradient(level_row(), factor, end_.slope, grad);
    if (pooled_)
      for (int64_t j = 0; j < a_.V; ++j)
        store(grad, j, factor * end_.pool_gradient(S_.log_prob(load(student_.logits, j), log_S)));
    else if (student_.ids)
      fill(grad, a_.V, 0);
    for (int64_t i = 0; i < student_.count; ++i)
      store(grad, student_.id(i),
            factor * end_.inside_gradient(S_.log_prob(student_[i], log_S), T_.log_prob(teacher_[i], log_T), a_.beta));
  }

 private:
  bool whole() const { return !student_.ids; }
  bool reverse() const { return a_.beta == 1; }

  DivergenceRow<F> level_row() const {
    return {student_.logits,
            teacher_.logits,
            a_.V,
            {S_.max, S_.temperature, S_.log_sum()},
            {T_.max, T_.temperature, T_.log_sum()},
            a_.beta};
  }

  // The divergence in one walk over two rows that are not close. Returns false where they are, or where that walk says nothing of them.
  bool add_kl(const Kernels& level) {
    S_ = T_ = {0, -1, 0, a_.temperature};
    DivergenceRow<F> row = level_row();
    if (reverse()) std::swap(row.student, row.teacher);
    KlSums sums;
    if (!level.divergence.of<F>().kl(row, &sums)) return false;
    const double value = sums.apart / sums.teacher + log(sums.student / sums.teacher);
    if (!(value >= kApart)) return false;
    S_ = {sums.student_max, -1, sums.student - 1, a_.temperature};
    T_ = {sums.teacher_max, -1, sums.teacher - 1, a_.temperature};
    if (reverse()) std::swap(S_, T_);
    kind_ = RowKind::kPlain;
    end_ = {value, 0, 0};
    apart_ = true;
    return true;
  }

  void kl_gradient(F* grad, double factor) const {
    const DivergenceKernels<F>& level = kernels()->divergence.of<F>();
    const double S = 1 + S_.rest, T = 1 + T_.rest;
    if (reverse())
      level.reverse_gradient(level_row(), factor / S, end_.value + log(S / T), grad);
    else
      level.forward_gradient(level_row(), factor / S, factor / T, grad);
  }

  void sum_terms() {
    Term sum = {0, 0};
    if (const Kernels* const level = whole() ? kernels() : nullptr) {
      level->divergence.of<F>().sums(level_row(), &sum.value, &sum.slope);
      end_ = {sum.value, sum.slope, 0};
      return;
    }
    Side S = {0, false}, T = {0, false};
    const double log_S = S_.log_sum(), log_T = T_.log_sum();
    for (int64_t i = 0; i < student_.count; ++i) {
      const double ls = S_.log_prob(student_[i], log_S), lt = T_.log_prob(teacher_[i], log_T);
      const Term term = divergence_term(a_.beta, ls, lt);
      sum.value += term.value;
      sum.slope += term.slope;
      if (!pooled_) continue;
      S.add(S_, student_.id(i), ls);
      T.add(T_, student_.id(i), lt);
    }
    end_ = pooled_ ? add_pool(a_, sum, S.outside(S_), T.outside(T_)) : RowEnd{sum.value, sum.slope, 0};
  }

  const srp_divergence_rows_args& a_;
  LogitRow<F> student_, teacher_;
  bool pooled_, apart_ = false;
  Softmax S_, T_;
  RowKind kind_;
  RowEnd end_;
};

template <class F>
void one_row(const srp_divergence_rows_args& a, int64_t n) {
  F* const grad = a.grad_student ? static_cast<F*>(a.grad_student) + n * a.student_stride : nullptr;
  if (!row_kept(a.mask, n)) {
    if (a.divergences) a.divergences[n] = 0;
    if (grad) fill(grad, a.student_stride, 0);
    return;
  }
  const Row<F> row(a, n);
  if (a.divergences) a.divergences[n] = row.value();
  if (grad) row.gradient(grad, a.grad_divergences ? a.grad_divergences[n] : 1);
}

constexpr int64_t kBytesPerId = 32;  // two exponentials in float64 cost as much time as reading this many

template <class F>
srp_status rows(const srp_divergence_rows_args& a) {
  return parallel_rows(a.N, a.V * kBytesPerId, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) one_row<F>(a, n);
  });
}

constexpr int64_t kLookedThrough = 32;  // logits to look at one by one, once the level found a large one among them

// The k best logits of a row, in a heap with the worst of them at its front.
template <class F>
srp_status top_of_rows(const srp_divergence_top_args& a, int64_t first, int64_t last) {
  using Key = decltype(order_key(to_float(F{})));
  struct Entry {
    Key key;
    int32_t id;
    bool operator<(const Entry& other) const { return key != other.key ? key > other.key : id < other.id; }
  };
  const std::unique_ptr<Entry[]> best(new (std::nothrow) Entry[static_cast<size_t>(a.K)]);
  if (!best) return fail(SRP_OUT_OF_MEMORY, "out of memory: %lld ids a row", static_cast<long long>(a.K));
  Entry* const begin = best.get();
  Entry* const end = begin + a.K;
  for (int64_t n = first; n < last; ++n) {
    int32_t* const ids = a.ids + n * a.K;
    if (!row_kept(a.mask, n)) {
      std::fill(ids, ids + a.K, 0);
      continue;
    }
    const F* const x = static_cast<const F*>(a.logits) + n * a.stride;
    bool nan = false;  // the key 0 is that of NaN, and every other key is above it
    for (int64_t j = 0; j < a.K; ++j) {
      begin[j] = {order_key(to_float(x[j])), static_cast<int32_t>(j)};
      nan = nan || begin[j].key == 0;
    }
    std::make_heap(begin, end);
    const Kernels* const level = kernels();
    for (int64_t j = a.K; j < a.V;) {
      if (level && begin->key != 0) j = level->divergence.of<F>().above(x, j, a.V, key_value(begin->key));
      for (const int64_t stop = std::min(j + kLookedThrough, a.V); j < stop; ++j) {
        const Key key = order_key(to_float(x[j]));
        nan = nan || key == 0;
        if (key <= begin->key) continue;  // an equal one has the larger id
        std::pop_heap(begin, end);
        end[-1] = {key, static_cast<int32_t>(j)};
        std::push_heap(begin, end);
      }
    }
    if (nan) return fail(SRP_NOT_FINITE, "logits has a NaN in row %lld, expected numbers", static_cast<long long>(n));
    for (int64_t i = 0; i < a.K; ++i) ids[i] = begin[i].id;
    std::sort(ids, ids + a.K);
  }
  return SRP_OK;
}

template <class F>
srp_status top(const srp_divergence_top_args& a) {
  if (a.N == 0 || a.K == 0) return SRP_OK;  // and K may be any number
  return parallel_rows(a.N, a.stride * static_cast<int64_t>(sizeof(F)),
                       [&](int64_t begin, int64_t end) { return top_of_rows<F>(a, begin, end); });
}

srp_status check_support(const srp_divergence_rows_args& a) {
  for (int64_t n = 0; n < a.N && a.support; ++n)
    if (row_kept(a.mask, n)) SRP_TRY(check_indices("support", a.support + n * a.K, a.K, a.V));
  return SRP_OK;
}

}  // namespace

srp_status divergence_rows(srp_queue*, const srp_divergence_rows_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_support(*a));
  if (a->dtype == SRP_F32) return rows<float>(*a);
  if (a->dtype == SRP_F64) return rows<double>(*a);
  return a->dtype == SRP_F16 ? rows<Half>(*a) : rows<BFloat16>(*a);
}

srp_status divergence_top(srp_queue*, const srp_divergence_top_args* a) {
  SRP_TRY(check(a));
  if (a->dtype == SRP_F32) return top<float>(*a);
  if (a->dtype == SRP_F64) return top<double>(*a);
  return a->dtype == SRP_F16 ? top<Half>(*a) : top<BFloat16>(*a);
}

}  // namespace srp::cpu
