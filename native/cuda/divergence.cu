// Divergence of two rows of logits and its gradient (contract: surprisal/divergence.h): one block a row, float64 throughout as
// on the CPU. The maxima, the sums of both softmaxes, the terms, the gradient: four passes, of which the later ones find
// a row in the cache.
#include "backend.cuh"
#include "divergence.cuh"
#include "select_ranks.cuh"

namespace srp::cuda {
namespace {

// All threads of the block must call it, and all get the result.
template <class F>
__device__ Softmax softmax(const LogitRow<F>& row, double temperature) {
  double max = -INFINITY;
  for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x) max = Max{}(max, row[i]);
  max = block_reduce(max, Max{});
  Softmax found = {max, -1, 0, temperature};
  if (!found.finite()) return found;
  int64_t first = INT64_MAX;
  for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x)
    if (row[i] == max) first = Min{}(first, row.id(i));
  found.first = block_reduce(first, Min{});
  double rest = 0;
  for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x)
    if (row.id(i) != found.first) rest += exp((row[i] - max) / temperature);
  found.rest = block_sum(rest);
  return found;
}

// Whether an id of the row points outside. All threads get the same result.
__device__ bool points_outside(const int32_t* ids, int64_t K, int64_t V) {
  int bad = 0;
  for (int64_t i = threadIdx.x; i < K; i += blockDim.x) bad |= ids[i] < 0 || ids[i] >= V;
  return block_reduce(bad, Max{}) != 0;
}

template <class F>
struct Rows {
  LogitRow<F> student, teacher;
  Softmax S, T;
  double log_S, log_T;
  bool pooled;

  __device__ Rows(const srp_divergence_rows_args& a, int64_t n, const int32_t* ids) {
    pooled = a.outside == SRP_OUTSIDE_POOLED;
    student = {static_cast<const F*>(a.student) + n * a.student_stride, ids, ids ? a.K : a.V};
    teacher = {static_cast<const F*>(a.teacher) + n * a.teacher_stride, ids, student.count};
    S = softmax(pooled ? LogitRow<F>{student.logits, nullptr, a.V} : student, a.temperature);
    T = softmax(pooled ? LogitRow<F>{teacher.logits, nullptr, a.V} : teacher, a.temperature);
    log_S = S.log_sum();
    log_T = T.log_sum();
  }

  __device__ double log_student(int64_t i) const { return S.log_prob(student[i], log_S); }
  __device__ double log_teacher(int64_t i) const { return T.log_prob(teacher[i], log_T); }

  __device__ RowEnd sum_terms(const srp_divergence_rows_args& a) const {
    Term sum = {0, 0};
    Side inside_S = {0, false}, inside_T = {0, false};
    for (int64_t i = threadIdx.x; i < student.count; i += blockDim.x) {
      const double ls = log_student(i), lt = log_teacher(i);
      const Term term = divergence_term(a.beta, ls, lt);
      sum.value += term.value;
      sum.slope += term.slope;
      if (!pooled) continue;
      inside_S.add(S, student.id(i), ls);
      inside_T.add(T, student.id(i), lt);
    }
    sum = {block_sum(sum.value), block_sum(sum.slope)};
    if (!pooled) return {sum.value, sum.slope, 0};
    return add_pool(a, sum, whole(inside_S).outside(S), whole(inside_T).outside(T));
  }

 private:
  __device__ static Side whole(const Side& own) {
    return {block_sum(own.inside), block_reduce(static_cast<int>(own.has_first), Max{}) != 0};
  }
};

template <class F>
__device__ void gradient_row(const srp_divergence_rows_args& a, const Rows<F>& rows, const RowEnd& end, double factor,
                             F* grad) {
  if (rows.pooled)
    for (int64_t j = threadIdx.x; j < a.V; j += blockDim.x)
      store(grad, j, factor * end.pool_gradient(rows.S.log_prob(load(rows.student.logits, j), rows.log_S)));
  else if (rows.student.ids)
    fill_row(grad, 0, a.V, 0);
  if (rows.student.ids) __syncthreads();  // the support's gradients overwrite those of the pool
  for (int64_t i = threadIdx.x; i < rows.student.count; i += blockDim.x)
    store(grad, rows.student.id(i), factor * end.inside_gradient(rows.log_student(i), rows.log_teacher(i), a.beta));
}

// ledger    divergence_rows
// bytes     2 s V N + s stride N grad
// limit     issue
// notes     mixtures, supports, and float64: four passes of which later ones hit the cache
// turn      1 of divergence_rows_kernel<BFloat16>: 4 loaded, 8 float64 + 4 loaded, 8 float64, 2 stored; 6 bytes; at most 251, 205
//           on sm_89; must 0.4; before 249, 203 on sm_89
// short     a mixture needs the normalised probabilities of both sides before its first term, and of each id a logarithm besides
//           two powers, in the walk of the terms and again in that of the gradient: 1e-12 is promised, so all of it is float64. KL
//           divergences over the vocabulary have a kernel of their own (divergence_kl_kernel)
template <class F>
__global__ void divergence_rows_kernel(srp_divergence_rows_args a, uint32_t* faults) {
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    F* const grad = a.grad_student ? static_cast<F*>(a.grad_student) + n * a.student_stride : nullptr;
    if (!row_kept(a.mask, n)) {
      clear_row(a, n, grad);
      continue;
    }
    const int32_t* const ids = a.support ? a.support + n * a.K : nullptr;
    if (ids && points_outside(ids, a.K, a.V)) {
      if (threadIdx.x == 0) raise(faults, SRP_FAULT_INDEX);
      if (a.divergences && threadIdx.x == 0) a.divergences[n] = NAN;
      continue;
    }
    const Rows<F> rows(a, n, ids);
    const RowKind kind = row_kind(rows.S, rows.T);
    const bool plain = kind == RowKind::kPlain;
    const RowEnd end = plain ? rows.sum_terms(a) : RowEnd{NAN, NAN, NAN};
    if (a.divergences && threadIdx.x == 0) a.divergences[n] = end.value;
    if (!grad) continue;
    const double weight = a.grad_divergences ? a.grad_divergences[n] : 1;
    fill_row(grad, a.V, a.student_stride, 0);
    if (plain && weight != 0)
      gradient_row(a, rows, end, weight / a.temperature, grad);
    else
      fill_row(grad, 0, a.V, kind == RowKind::kNaN && weight != 0 ? NAN : 0);
  }
}

// The logits of a row as candidates: all of them.
template <class F>
struct RowKeys {
  using Key = decltype(order_key(to_float(F{})));
  const F* x;
  Range range;
  __device__ bool has(int64_t) const { return true; }
  __device__ Key key(int64_t j) const { return order_key(to_float(x[j])); }
};

// The key of the worst id that is taken, then two counts in index order: of its equals, and of what is taken.
//
// ledger    divergence_top
// bytes     s V N + 4 K N
// limit     issue
// notes     K searches of a row
// turn      1 of divergence_top_kernel<BFloat16>: 1 loads, 1 atomics, no shuffles, no stored; 2 bytes; at most 29.2, 28.2 on sm_89
template <class F>
__global__ void divergence_top_kernel(srp_divergence_top_args a, uint32_t* faults) {
  using Key = typename RowKeys<F>::Key;
  for (int64_t n = blockIdx.x; n < a.N; n += gridDim.x) {
    int32_t* const ids = a.ids + n * a.K;
    if (!row_kept(a.mask, n)) {
      for (int64_t i = threadIdx.x; i < a.K; i += blockDim.x) ids[i] = 0;
      continue;
    }
    const F* const x = static_cast<const F*>(a.logits) + n * a.stride;
    const auto worst = key_at_rank(RowKeys<F>{x, {0, a.V, true}}, a.V - a.K);
    const int64_t equals = a.K - (a.V - worst.below - worst.equal);
    int64_t seen = 0, taken = 0;
    for (int64_t base = 0; base < a.V; base += blockDim.x) {  // in step: every thread counts
      const int64_t j = base + threadIdx.x;
      const Key key = j < a.V ? order_key(to_float(x[j])) : 0;
      if (j < a.V && key == 0) raise(faults, SRP_FAULT_FINITE);
      const bool tie = j < a.V && key == worst.key;
      const FlagRank ties = rank_flags(tie);
      const bool take = j < a.V && (key > worst.key || (tie && seen + ties.before < equals));
      const FlagRank place = rank_flags(take);
      if (take) ids[taken + place.before] = static_cast<int32_t>(j);
      seen += ties.all;
      taken += place.all;
    }
  }
}

template <class F>
void launch_rows(srp_queue* queue, const srp_divergence_rows_args& a) {
  SRP_LAUNCH(divergence_rows_kernel<F>, row_blocks(queue, a.N), threads_for(a.V), 0, queue->stream, a, queue->faults);
}

template <class F>
void launch_top(srp_queue* queue, const srp_divergence_top_args& a) {
  SRP_LAUNCH(divergence_top_kernel<F>, row_blocks(queue, a.N), threads_for(a.V), 0, queue->stream, a, queue->faults);
}

}  // namespace

srp_status divergence_rows(srp_queue* queue, const srp_divergence_rows_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  const bool kl = (a->beta == 0 || a->beta == 1) && !a->support && a->dtype != SRP_F64;
  if (kl)
    launch_kl(queue, *a);
  else if (a->dtype == SRP_F32)
    launch_rows<float>(queue, *a);
  else if (a->dtype == SRP_F64)
    launch_rows<double>(queue, *a);
  else if (a->dtype == SRP_F16)
    launch_rows<Half>(queue, *a);
  else
    launch_rows<BFloat16>(queue, *a);
  return launched("divergence_rows");
}

srp_status divergence_top(srp_queue* queue, const srp_divergence_top_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->N == 0 || a->K == 0) return SRP_OK;
  if (a->dtype == SRP_F32)
    launch_top<float>(queue, *a);
  else if (a->dtype == SRP_F64)
    launch_top<double>(queue, *a);
  else if (a->dtype == SRP_F16)
    launch_top<Half>(queue, *a);
  else
    launch_top<BFloat16>(queue, *a);
  return launched("divergence_top");
}

}  // namespace srp::cuda
