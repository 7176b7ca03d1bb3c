// Generated from native/include/surprisal by scripts/contracts.mjs: `npm run contracts` renews it.
// clang-format off
#include <iterator>

#include "field.h"

// The elements of an array, from the args struct `a`.
#define COUNT(expression)                                                \
  [](const void* args) -> int64_t {                                      \
    [[maybe_unused]] const Args& a = *static_cast<const Args*>(args);    \
    return expression;                                                   \
  }

namespace srp::binding {
namespace {

namespace correction_measure {
using Args = srp_correction_measure_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"statistic", Kind::kInt32, offsetof(Args, statistic)},
    {"logClamp", Kind::kFloat64, offsetof(Args, log_clamp)},
    {"low", Kind::kFloat64, offsetof(Args, low)},
    {"high", Kind::kFloat64, offsetof(Args, high)},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"oldLogProbs", Kind::kInput, offsetof(Args, old_log_probs), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"moments", Kind::kOutput, offsetof(Args, moments), SRP_F64, COUNT(times(a.B, SRP_MOMENTS))},
    {"bounded", Kind::kOutput, offsetof(Args, bounded), SRP_F64, COUNT(times(a.B, SRP_MOMENTS))},
    {"differences", Kind::kOutput, offsetof(Args, differences), SRP_F64, COUNT(a.B)},
    {"above", Kind::kOutput, offsetof(Args, above), SRP_I32, COUNT(a.B)},
    {"below", Kind::kOutput, offsetof(Args, below), SRP_I32, COUNT(a.B)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.correction_measure(queue, static_cast<const Args*>(args));
}
}  // namespace correction_measure

namespace correction_bound {
using Args = srp_correction_bound_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"statistic", Kind::kInt32, offsetof(Args, statistic)},
    {"outside", Kind::kInt32, offsetof(Args, outside)},
    {"logClamp", Kind::kFloat64, offsetof(Args, log_clamp)},
    {"low", Kind::kFloat64, offsetof(Args, low)},
    {"high", Kind::kFloat64, offsetof(Args, high)},
    {"maskedWeight", Kind::kFloat64, offsetof(Args, masked_weight)},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"oldLogProbs", Kind::kInput, offsetof(Args, old_log_probs), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"rowFactors", Kind::kInput, offsetof(Args, row_factors), SRP_F64, COUNT(a.B)},
    {"weights", Kind::kOutput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"kept", Kind::kOutput, offsetof(Args, kept), SRP_U8, COUNT(a.n), 12},
    {"keptCounts", Kind::kOutput, offsetof(Args, kept_counts), SRP_I32, COUNT(a.B)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.correction_bound(queue, static_cast<const Args*>(args));
}
}  // namespace correction_bound

namespace delim_spans {
using Args = srp_delim_spans_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"startCount", Kind::kInt64, offsetof(Args, start_count)},
    {"endCount", Kind::kInt64, offsetof(Args, end_count)},
    {"headCount", Kind::kInt64, offsetof(Args, head_count)},
    {"startSize", Kind::kInt64, offsetof(Args, start_size)},
    {"endSize", Kind::kInt64, offsetof(Args, end_size)},
    {"headSize", Kind::kInt64, offsetof(Args, head_size)},
    {"capacity", Kind::kInt64, offsetof(Args, capacity)},
    {"overlapping", Kind::kInt32, offsetof(Args, overlapping)},
    {"includeEnd", Kind::kInt32, offsetof(Args, include_end)},
    {"unterminatedKeep", Kind::kInt32, offsetof(Args, unterminated_keep)},
    {"startsOpen", Kind::kInt32, offsetof(Args, starts_open)},
    {"tokens", Kind::kInput, offsetof(Args, tokens), kOwnDtype, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"lengths", Kind::kInput, offsetof(Args, lengths), SRP_I32, COUNT(a.B)},
    {"startIds", Kind::kInput, offsetof(Args, start_ids), SRP_I32, COUNT(a.start_size)},
    {"startOffsets", Kind::kInput, offsetof(Args, start_offsets), SRP_I32, COUNT(plus(a.start_count, 1))},
    {"endIds", Kind::kInput, offsetof(Args, end_ids), SRP_I32, COUNT(a.end_size)},
    {"endOffsets", Kind::kInput, offsetof(Args, end_offsets), SRP_I32, COUNT(plus(a.end_count, 1))},
    {"headIds", Kind::kInput, offsetof(Args, head_ids), SRP_I32, COUNT(a.head_size)},
    {"headOffsets", Kind::kInput, offsetof(Args, head_offsets), SRP_I32, COUNT(plus(a.head_count, 1))},
    {"spans", Kind::kOutput, offsetof(Args, spans), SRP_I32, COUNT(times(a.capacity, 3))},
    {"alternatives", Kind::kOutput, offsetof(Args, alternatives), SRP_I32, COUNT(times(a.capacity, 2))},
    {"count", Kind::kOutput, offsetof(Args, count), SRP_I64, COUNT(1)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.delim_spans(queue, static_cast<const Args*>(args));
}
}  // namespace delim_spans

namespace delim_means {
using Args = srp_delim_means_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"S", Kind::kInt64, offsetof(Args, S)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"spans", Kind::kInput, offsetof(Args, spans), SRP_I32, COUNT(times(a.S, 3))},
    {"means", Kind::kOutput, offsetof(Args, means), SRP_F64, COUNT(a.S)},
    {"count", Kind::kInput, offsetof(Args, count), SRP_I64, COUNT(1)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.delim_means(queue, static_cast<const Args*>(args));
}
}  // namespace delim_means

namespace delim_mask {
using Args = srp_delim_mask_args;
const Field fields[] = {
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"S", Kind::kInt64, offsetof(Args, S)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"spans", Kind::kInput, offsetof(Args, spans), SRP_I32, COUNT(times(a.S, 3))},
    {"mask", Kind::kOutput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"count", Kind::kInput, offsetof(Args, count), SRP_I64, COUNT(1)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.delim_mask(queue, static_cast<const Args*>(args));
}
}  // namespace delim_mask

namespace delim_ngrams {
using Args = srp_delim_ngrams_args;
const Field fields[] = {
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"length", Kind::kInt64, offsetof(Args, length)},
    {"tokens", Kind::kInput, offsetof(Args, tokens), SRP_I32, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"counts", Kind::kOutput, offsetof(Args, counts), SRP_I32, COUNT(times(a.B, 2))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.delim_ngrams(queue, static_cast<const Args*>(args));
}
}  // namespace delim_ngrams

namespace divergence_rows {
using Args = srp_divergence_rows_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"studentStride", Kind::kInt64, offsetof(Args, student_stride)},
    {"teacherStride", Kind::kInt64, offsetof(Args, teacher_stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"beta", Kind::kFloat64, offsetof(Args, beta)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"outside", Kind::kInt32, offsetof(Args, outside)},
    {"tailFloor", Kind::kFloat64, offsetof(Args, tail_floor)},
    {"student", Kind::kInput, offsetof(Args, student), kOwnDtype, COUNT(times(a.N, a.student_stride))},
    {"teacher", Kind::kInput, offsetof(Args, teacher), kOwnDtype, COUNT(times(a.N, a.teacher_stride))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"gradDivergences", Kind::kInput, offsetof(Args, grad_divergences), SRP_F64, COUNT(a.N)},
    {"support", Kind::kInput, offsetof(Args, support), SRP_I32, COUNT(times(a.N, a.K))},
    {"divergences", Kind::kOutput, offsetof(Args, divergences), SRP_F64, COUNT(a.N)},
    {"gradStudent", Kind::kOutput, offsetof(Args, grad_student), kOwnDtype, COUNT(times(a.N, a.student_stride)), 10},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.divergence_rows(queue, static_cast<const Args*>(args));
}
}  // namespace divergence_rows

namespace divergence_top {
using Args = srp_divergence_top_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"ids", Kind::kOutput, offsetof(Args, ids), SRP_I32, COUNT(times(a.N, a.K))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.divergence_top(queue, static_cast<const Args*>(args));
}
}  // namespace divergence_top

namespace group_normalize {
using Args = srp_group_normalize_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"ddof", Kind::kFloat64, offsetof(Args, ddof)},
    {"epsilon", Kind::kFloat64, offsetof(Args, epsilon)},
    {"varianceFloor", Kind::kFloat64, offsetof(Args, variance_floor)},
    {"center", Kind::kInt32, offsetof(Args, center)},
    {"scale", Kind::kInt32, offsetof(Args, scale)},
    {"singleton", Kind::kInt32, offsetof(Args, singleton)},
    {"nanPolicy", Kind::kInt32, offsetof(Args, nan_policy)},
    {"gain", Kind::kFloat64, offsetof(Args, gain)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"normalized", Kind::kOutput, offsetof(Args, normalized), kOwnDtype, COUNT(a.n)},
    {"means", Kind::kOutput, offsetof(Args, means), kOwnDtype, COUNT(a.G)},
    {"stds", Kind::kOutput, offsetof(Args, stds), kOwnDtype, COUNT(a.G)},
    {"counts", Kind::kOutput, offsetof(Args, counts), SRP_I32, COUNT(a.G)},
    {"weights", Kind::kInput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"centers", Kind::kOutput, offsetof(Args, centers), kOwnDtype, COUNT(a.n)},
    {"spreads", Kind::kOutput, offsetof(Args, spreads), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_normalize(queue, static_cast<const Args*>(args));
}
}  // namespace group_normalize

namespace group_softmax {
using Args = srp_group_softmax_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"floor", Kind::kFloat64, offsetof(Args, floor)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"weights", Kind::kOutput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"logSumExps", Kind::kOutput, offsetof(Args, log_sum_exps), kOwnDtype, COUNT(a.G)},
    {"softMeans", Kind::kOutput, offsetof(Args, soft_means), kOwnDtype, COUNT(a.G)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_softmax(queue, static_cast<const Args*>(args));
}
}  // namespace group_softmax

namespace group_tilt {
using Args = srp_group_tilt_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"coefficient", Kind::kFloat64, offsetof(Args, coefficient)},
    {"least", Kind::kFloat64, offsetof(Args, least)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"logFactors", Kind::kInput, offsetof(Args, log_factors), kOwnDtype, COUNT(a.n)},
    {"counts", Kind::kInput, offsetof(Args, counts), kOwnDtype, COUNT(a.n)},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"weights", Kind::kOutput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_tilt(queue, static_cast<const Args*>(args));
}
}  // namespace group_tilt

namespace group_entropy {
using Args = srp_group_entropy_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"normalize", Kind::kInt32, offsetof(Args, normalize)},
    {"least", Kind::kFloat64, offsetof(Args, least)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"entropies", Kind::kOutput, offsetof(Args, entropies), kOwnDtype, COUNT(a.G)},
    {"evennesses", Kind::kOutput, offsetof(Args, evennesses), kOwnDtype, COUNT(a.G)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_entropy(queue, static_cast<const Args*>(args));
}
}  // namespace group_entropy

namespace group_top2 {
using Args = srp_group_top2_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"best", Kind::kOutput, offsetof(Args, best), SRP_I32, COUNT(a.G)},
    {"second", Kind::kOutput, offsetof(Args, second), SRP_I32, COUNT(a.G)},
    {"bestValues", Kind::kOutput, offsetof(Args, best_values), kOwnDtype, COUNT(a.G)},
    {"secondValues", Kind::kOutput, offsetof(Args, second_values), kOwnDtype, COUNT(a.G)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_top2(queue, static_cast<const Args*>(args));
}
}  // namespace group_top2

namespace group_columns {
using Args = srp_group_columns_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"epsilon", Kind::kFloat64, offsetof(Args, epsilon)},
    {"zeroTail", Kind::kInt32, offsetof(Args, zero_tail)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"weights", Kind::kInput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.B)},
    {"groupOffsets", Kind::kInput, offsetof(Args, group_offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"baselines", Kind::kOutput, offsetof(Args, baselines), kOwnDtype, COUNT(a.n)},
    {"centred", Kind::kOutput, offsetof(Args, centred), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_columns(queue, static_cast<const Args*>(args));
}
}  // namespace group_columns

namespace group_weigh {
using Args = srp_group_weigh_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"form", Kind::kInt32, offsetof(Args, form)},
    {"power", Kind::kFloat64, offsetof(Args, power)},
    {"atMax", Kind::kFloat64, offsetof(Args, at_max)},
    {"atMin", Kind::kFloat64, offsetof(Args, at_min)},
    {"between", Kind::kFloat64, offsetof(Args, between)},
    {"floor", Kind::kFloat64, offsetof(Args, floor)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"weights", Kind::kOutput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_weigh(queue, static_cast<const Args*>(args));
}
}  // namespace group_weigh

namespace group_broadcast {
using Args = srp_group_broadcast_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"row", Kind::kInput, offsetof(Args, row), kOwnDtype, COUNT(a.B)},
    {"rowFactors", Kind::kInput, offsetof(Args, row_factors), kOwnDtype, COUNT(a.B)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"tokens", Kind::kOutput, offsetof(Args, tokens), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_broadcast(queue, static_cast<const Args*>(args));
}
}  // namespace group_broadcast

namespace group_place {
using Args = srp_group_place_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"low", Kind::kFloat64, offsetof(Args, low)},
    {"high", Kind::kFloat64, offsetof(Args, high)},
    {"transformMasked", Kind::kInt32, offsetof(Args, transform_masked)},
    {"row", Kind::kInput, offsetof(Args, row), kOwnDtype, COUNT(a.B)},
    {"tokens", Kind::kInput, offsetof(Args, tokens), kOwnDtype, COUNT(a.n)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"placed", Kind::kOutput, offsetof(Args, placed), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.group_place(queue, static_cast<const Args*>(args));
}
}  // namespace group_place

namespace linear_forward {
using Args = srp_linear_forward_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"D", Kind::kInt64, offsetof(Args, D)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"padded", Kind::kInt64, offsetof(Args, padded)},
    {"chunkRows", Kind::kInt64, offsetof(Args, chunk_rows)},
    {"sums", Kind::kInt32, offsetof(Args, sums)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"hidden", Kind::kInput, offsetof(Args, hidden), kOwnDtype, COUNT(times(a.N, a.D))},
    {"weight", Kind::kInput, offsetof(Args, weight), kOwnDtype, COUNT(times(a.padded, a.D))},
    {"bias", Kind::kInput, offsetof(Args, bias), kOwnDtype, COUNT(a.padded)},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(a.N)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"logProbs", Kind::kOutput, offsetof(Args, log_probs), kWideDtype, COUNT(a.N)},
    {"entropies", Kind::kOutput, offsetof(Args, entropies), kWideDtype, COUNT(a.N)},
    {"logSumExps", Kind::kOutput, offsetof(Args, log_sum_exps), kWideDtype, COUNT(a.N)},
    {"sumSquares", Kind::kOutput, offsetof(Args, sum_squares), kWideDtype, COUNT(a.N)},
    {"maxLogits", Kind::kOutput, offsetof(Args, max_logits), SRP_F64, COUNT(a.N)},
    {"log1pSums", Kind::kOutput, offsetof(Args, log1p_sums), SRP_F64, COUNT(a.N)},
    {"meanGaps", Kind::kOutput, offsetof(Args, mean_gaps), SRP_F64, COUNT(a.N)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.linear_forward(queue, static_cast<const Args*>(args));
}
}  // namespace linear_forward

namespace linear_backward {
using Args = srp_linear_backward_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"D", Kind::kInt64, offsetof(Args, D)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"padded", Kind::kInt64, offsetof(Args, padded)},
    {"chunkRows", Kind::kInt64, offsetof(Args, chunk_rows)},
    {"vocabStart", Kind::kInt64, offsetof(Args, vocab_start)},
    {"vocabSize", Kind::kInt64, offsetof(Args, vocab_size)},
    {"sums", Kind::kInt32, offsetof(Args, sums)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"accumulate", Kind::kInt32, offsetof(Args, accumulate)},
    {"hidden", Kind::kInput, offsetof(Args, hidden), kOwnDtype, COUNT(times(a.N, a.D))},
    {"weight", Kind::kInput, offsetof(Args, weight), kOwnDtype, COUNT(times(a.padded, a.D))},
    {"bias", Kind::kInput, offsetof(Args, bias), kOwnDtype, COUNT(a.padded)},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(a.N)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"maxLogits", Kind::kInput, offsetof(Args, max_logits), SRP_F64, COUNT(a.N)},
    {"log1pSums", Kind::kInput, offsetof(Args, log1p_sums), SRP_F64, COUNT(a.N)},
    {"meanGaps", Kind::kInput, offsetof(Args, mean_gaps), SRP_F64, COUNT(a.N)},
    {"gradLogProbs", Kind::kInput, offsetof(Args, grad_log_probs), kWideDtype, COUNT(a.N)},
    {"gradEntropies", Kind::kInput, offsetof(Args, grad_entropies), kWideDtype, COUNT(a.N)},
    {"gradHidden", Kind::kOutput, offsetof(Args, grad_hidden), kOwnDtype, COUNT(times(a.N, a.D))},
    {"gradWeight", Kind::kOutput, offsetof(Args, grad_weight), kWideDtype, COUNT(times(a.padded, a.D))},
    {"gradBias", Kind::kOutput, offsetof(Args, grad_bias), kWideDtype, COUNT(a.padded)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.linear_backward(queue, static_cast<const Args*>(args));
}
}  // namespace linear_backward

namespace logprob_forward {
using Args = srp_logprob_forward_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(times(a.N, a.K))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"logProbs", Kind::kOutput, offsetof(Args, log_probs), SRP_F32, COUNT(times(a.N, a.K))},
    {"entropies", Kind::kOutput, offsetof(Args, entropies), SRP_F32, COUNT(a.N)},
    {"logSumExps", Kind::kOutput, offsetof(Args, log_sum_exps), SRP_F32, COUNT(a.N)},
    {"maxLogits", Kind::kOutput, offsetof(Args, max_logits), SRP_F32, COUNT(a.N)},
    {"log1pSums", Kind::kOutput, offsetof(Args, log1p_sums), SRP_F32, COUNT(a.N)},
    {"meanGaps", Kind::kOutput, offsetof(Args, mean_gaps), SRP_F32, COUNT(a.N)},
    {"sumSquares", Kind::kOutput, offsetof(Args, sum_squares), SRP_F32, COUNT(a.N)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.logprob_forward(queue, static_cast<const Args*>(args));
}
}  // namespace logprob_forward

namespace logprob_backward {
using Args = srp_logprob_backward_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"vocabStart", Kind::kInt64, offsetof(Args, vocab_start)},
    {"vocabSize", Kind::kInt64, offsetof(Args, vocab_size)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(times(a.N, a.K))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"maxLogits", Kind::kInput, offsetof(Args, max_logits), SRP_F32, COUNT(a.N)},
    {"log1pSums", Kind::kInput, offsetof(Args, log1p_sums), SRP_F32, COUNT(a.N)},
    {"meanGaps", Kind::kInput, offsetof(Args, mean_gaps), SRP_F32, COUNT(a.N)},
    {"gradLogProbs", Kind::kInput, offsetof(Args, grad_log_probs), SRP_F32, COUNT(times(a.N, a.K))},
    {"gradEntropies", Kind::kInput, offsetof(Args, grad_entropies), SRP_F32, COUNT(a.N)},
    {"gradLogits", Kind::kOutput, offsetof(Args, grad_logits), kOwnDtype, COUNT(times(a.N, a.stride)), 10},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.logprob_backward(queue, static_cast<const Args*>(args));
}
}  // namespace logprob_backward

namespace logprob_partial {
using Args = srp_logprob_partial_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"vocabStart", Kind::kInt64, offsetof(Args, vocab_start)},
    {"vocabSize", Kind::kInt64, offsetof(Args, vocab_size)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(times(a.N, a.K))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"states", Kind::kOutput, offsetof(Args, states), SRP_F64, COUNT(times(a.N, plus(SRP_STATE_SUMS, a.K)))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.logprob_partial(queue, static_cast<const Args*>(args));
}
}  // namespace logprob_partial

namespace logprob_merge {
using Args = srp_logprob_merge_args;
const Field fields[] = {
    {"P", Kind::kInt64, offsetof(Args, P)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"states", Kind::kInput, offsetof(Args, states), SRP_F64, COUNT(times(a.P, times(a.N, plus(SRP_STATE_SUMS, a.K))))},
    {"logProbs", Kind::kOutput, offsetof(Args, log_probs), SRP_F32, COUNT(times(a.N, a.K))},
    {"entropies", Kind::kOutput, offsetof(Args, entropies), SRP_F32, COUNT(a.N)},
    {"logSumExps", Kind::kOutput, offsetof(Args, log_sum_exps), SRP_F32, COUNT(a.N)},
    {"maxLogits", Kind::kOutput, offsetof(Args, max_logits), SRP_F32, COUNT(a.N)},
    {"log1pSums", Kind::kOutput, offsetof(Args, log1p_sums), SRP_F32, COUNT(a.N)},
    {"meanGaps", Kind::kOutput, offsetof(Args, mean_gaps), SRP_F32, COUNT(a.N)},
    {"sumSquares", Kind::kOutput, offsetof(Args, sum_squares), SRP_F32, COUNT(a.N)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.logprob_merge(queue, static_cast<const Args*>(args));
}
}  // namespace logprob_merge

namespace logprob_kept_forward {
using Args = srp_logprob_kept_forward_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(a.N)},
    {"ids", Kind::kInput, offsetof(Args, ids), SRP_I32, COUNT(a.K)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.N, 1))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"logProbs", Kind::kOutput, offsetof(Args, log_probs), SRP_F32, COUNT(a.N)},
    {"maxLogits", Kind::kOutput, offsetof(Args, max_logits), SRP_F32, COUNT(a.N)},
    {"log1pSums", Kind::kOutput, offsetof(Args, log1p_sums), SRP_F32, COUNT(a.N)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.logprob_kept_forward(queue, static_cast<const Args*>(args));
}
}  // namespace logprob_kept_forward

namespace logprob_kept_backward {
using Args = srp_logprob_kept_backward_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"K", Kind::kInt64, offsetof(Args, K)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(a.N)},
    {"ids", Kind::kInput, offsetof(Args, ids), SRP_I32, COUNT(a.K)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.N, 1))},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"keptMaxLogits", Kind::kInput, offsetof(Args, kept_max_logits), SRP_F32, COUNT(a.N)},
    {"keptLog1pSums", Kind::kInput, offsetof(Args, kept_log1p_sums), SRP_F32, COUNT(a.N)},
    {"maxLogits", Kind::kInput, offsetof(Args, max_logits), SRP_F32, COUNT(a.N)},
    {"log1pSums", Kind::kInput, offsetof(Args, log1p_sums), SRP_F32, COUNT(a.N)},
    {"meanGaps", Kind::kInput, offsetof(Args, mean_gaps), SRP_F32, COUNT(a.N)},
    {"gradLogProbs", Kind::kInput, offsetof(Args, grad_log_probs), SRP_F32, COUNT(a.N)},
    {"gradEntropies", Kind::kInput, offsetof(Args, grad_entropies), SRP_F32, COUNT(a.N)},
    {"gradLogits", Kind::kOutput, offsetof(Args, grad_logits), kOwnDtype, COUNT(times(a.N, a.stride)), 8},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.logprob_kept_backward(queue, static_cast<const Args*>(args));
}
}  // namespace logprob_kept_backward

namespace loss_token {
using Args = srp_loss_token_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"form", Kind::kInt32, offsetof(Args, form)},
    {"oldLogProbsPerRow", Kind::kInt32, offsetof(Args, old_log_probs_per_row)},
    {"advantagesPerToken", Kind::kInt32, offsetof(Args, advantages_per_token)},
    {"factorsPerToken", Kind::kInt32, offsetof(Args, factors_per_token)},
    {"clipLowsPerToken", Kind::kInt32, offsetof(Args, clip_lows_per_token)},
    {"clipHighsPerToken", Kind::kInt32, offsetof(Args, clip_highs_per_token)},
    {"ratioCapsPerToken", Kind::kInt32, offsetof(Args, ratio_caps_per_token)},
    {"reduce", Kind::kInt32, offsetof(Args, reduce)},
    {"figureCount", Kind::kInt32, offsetof(Args, figure_count)},
    {"parameters.clipLow", Kind::kFloat64, offsetof(Args, parameters.clip_low)},
    {"parameters.clipHigh", Kind::kFloat64, offsetof(Args, parameters.clip_high)},
    {"parameters.dualClip", Kind::kFloat64, offsetof(Args, parameters.dual_clip)},
    {"parameters.ratioCap", Kind::kFloat64, offsetof(Args, parameters.ratio_cap)},
    {"parameters.logClamp", Kind::kFloat64, offsetof(Args, parameters.log_clamp)},
    {"parameters.maxLogRatio", Kind::kFloat64, offsetof(Args, parameters.max_log_ratio)},
    {"parameters.temperaturePositive", Kind::kFloat64, offsetof(Args, parameters.temperature_positive)},
    {"parameters.temperatureNegative", Kind::kFloat64, offsetof(Args, parameters.temperature_negative)},
    {"parameters.coefficient", Kind::kFloat64, offsetof(Args, parameters.coefficient)},
    {"parameters.shapePositive", Kind::kFloat64, offsetof(Args, parameters.shape_positive)},
    {"parameters.ratePositive", Kind::kFloat64, offsetof(Args, parameters.rate_positive)},
    {"parameters.shapeNegative", Kind::kFloat64, offsetof(Args, parameters.shape_negative)},
    {"parameters.rateNegative", Kind::kFloat64, offsetof(Args, parameters.rate_negative)},
    {"parameters.countEpsilon", Kind::kFloat64, offsetof(Args, parameters.count_epsilon)},
    {"kl.kind", Kind::kInt32, offsetof(Args, kl.kind)},
    {"kl.gradientKind", Kind::kInt32, offsetof(Args, kl.gradient_kind)},
    {"kl.timesRatio", Kind::kInt32, offsetof(Args, kl.times_ratio)},
    {"kl.coefficient", Kind::kFloat64, offsetof(Args, kl.coefficient)},
    {"kl.logClamp", Kind::kFloat64, offsetof(Args, kl.log_clamp)},
    {"kl.valueClamp", Kind::kFloat64, offsetof(Args, kl.value_clamp)},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"oldLogProbs", Kind::kInput, offsetof(Args, old_log_probs), kOwnDtype, COUNT((a.old_log_probs_per_row ? a.B : a.n))},
    {"advantages", Kind::kInput, offsetof(Args, advantages), kOwnDtype, COUNT((a.advantages_per_token ? a.n : a.B))},
    {"factors", Kind::kInput, offsetof(Args, factors), kOwnDtype, COUNT((a.factors_per_token ? a.n : a.B))},
    {"clipLows", Kind::kInput, offsetof(Args, clip_lows), kOwnDtype, COUNT((a.clip_lows_per_token ? a.n : a.B))},
    {"clipHighs", Kind::kInput, offsetof(Args, clip_highs), kOwnDtype, COUNT((a.clip_highs_per_token ? a.n : a.B))},
    {"ratioCaps", Kind::kInput, offsetof(Args, ratio_caps), kOwnDtype, COUNT((a.ratio_caps_per_token ? a.n : a.B))},
    {"referenceLogProbs", Kind::kInput, offsetof(Args, reference_log_probs), kOwnDtype, COUNT(a.n)},
    {"rowWeights", Kind::kInput, offsetof(Args, row_weights), SRP_F64, COUNT(a.B)},
    {"klRowWeights", Kind::kInput, offsetof(Args, kl_row_weights), SRP_F64, COUNT(a.B)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"termMask", Kind::kInput, offsetof(Args, term_mask), SRP_U8, COUNT(a.n)},
    {"marks", Kind::kInput, offsetof(Args, marks), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.B)},
    {"groupOffsets", Kind::kInput, offsetof(Args, group_offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"losses", Kind::kOutput, offsetof(Args, losses), kOwnDtype, COUNT(((a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_GEOMETRIC) || a.form == SRP_ROW_SQUARED ? a.B : a.n))},
    {"ratios", Kind::kOutput, offsetof(Args, ratios), kOwnDtype, COUNT((a.form >= SRP_ROW_CLIP ? a.B : a.n))},
    {"klValues", Kind::kOutput, offsetof(Args, kl_values), kOwnDtype, COUNT(a.n)},
    {"clipped", Kind::kOutput, offsetof(Args, clipped), SRP_U8, COUNT((a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_SQUARED ? a.B : a.n))},
    {"gradLogProbs", Kind::kOutput, offsetof(Args, grad_log_probs), kOwnDtype, COUNT(a.n)},
    {"figures", Kind::kOutput, offsetof(Args, figures), SRP_F64, COUNT(times(a.B, a.figure_count))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.loss_token(queue, static_cast<const Args*>(args));
}
}  // namespace loss_token

namespace loss_row {
using Args = srp_loss_row_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"form", Kind::kInt32, offsetof(Args, form)},
    {"oldLogProbsPerRow", Kind::kInt32, offsetof(Args, old_log_probs_per_row)},
    {"advantagesPerToken", Kind::kInt32, offsetof(Args, advantages_per_token)},
    {"factorsPerToken", Kind::kInt32, offsetof(Args, factors_per_token)},
    {"clipLowsPerToken", Kind::kInt32, offsetof(Args, clip_lows_per_token)},
    {"clipHighsPerToken", Kind::kInt32, offsetof(Args, clip_highs_per_token)},
    {"ratioCapsPerToken", Kind::kInt32, offsetof(Args, ratio_caps_per_token)},
    {"reduce", Kind::kInt32, offsetof(Args, reduce)},
    {"figureCount", Kind::kInt32, offsetof(Args, figure_count)},
    {"parameters.clipLow", Kind::kFloat64, offsetof(Args, parameters.clip_low)},
    {"parameters.clipHigh", Kind::kFloat64, offsetof(Args, parameters.clip_high)},
    {"parameters.dualClip", Kind::kFloat64, offsetof(Args, parameters.dual_clip)},
    {"parameters.ratioCap", Kind::kFloat64, offsetof(Args, parameters.ratio_cap)},
    {"parameters.logClamp", Kind::kFloat64, offsetof(Args, parameters.log_clamp)},
    {"parameters.maxLogRatio", Kind::kFloat64, offsetof(Args, parameters.max_log_ratio)},
    {"parameters.temperaturePositive", Kind::kFloat64, offsetof(Args, parameters.temperature_positive)},
    {"parameters.temperatureNegative", Kind::kFloat64, offsetof(Args, parameters.temperature_negative)},
    {"parameters.coefficient", Kind::kFloat64, offsetof(Args, parameters.coefficient)},
    {"parameters.shapePositive", Kind::kFloat64, offsetof(Args, parameters.shape_positive)},
    {"parameters.ratePositive", Kind::kFloat64, offsetof(Args, parameters.rate_positive)},
    {"parameters.shapeNegative", Kind::kFloat64, offsetof(Args, parameters.shape_negative)},
    {"parameters.rateNegative", Kind::kFloat64, offsetof(Args, parameters.rate_negative)},
    {"parameters.countEpsilon", Kind::kFloat64, offsetof(Args, parameters.count_epsilon)},
    {"kl.kind", Kind::kInt32, offsetof(Args, kl.kind)},
    {"kl.gradientKind", Kind::kInt32, offsetof(Args, kl.gradient_kind)},
    {"kl.timesRatio", Kind::kInt32, offsetof(Args, kl.times_ratio)},
    {"kl.coefficient", Kind::kFloat64, offsetof(Args, kl.coefficient)},
    {"kl.logClamp", Kind::kFloat64, offsetof(Args, kl.log_clamp)},
    {"kl.valueClamp", Kind::kFloat64, offsetof(Args, kl.value_clamp)},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"oldLogProbs", Kind::kInput, offsetof(Args, old_log_probs), kOwnDtype, COUNT((a.old_log_probs_per_row ? a.B : a.n))},
    {"advantages", Kind::kInput, offsetof(Args, advantages), kOwnDtype, COUNT((a.advantages_per_token ? a.n : a.B))},
    {"factors", Kind::kInput, offsetof(Args, factors), kOwnDtype, COUNT((a.factors_per_token ? a.n : a.B))},
    {"clipLows", Kind::kInput, offsetof(Args, clip_lows), kOwnDtype, COUNT((a.clip_lows_per_token ? a.n : a.B))},
    {"clipHighs", Kind::kInput, offsetof(Args, clip_highs), kOwnDtype, COUNT((a.clip_highs_per_token ? a.n : a.B))},
    {"ratioCaps", Kind::kInput, offsetof(Args, ratio_caps), kOwnDtype, COUNT((a.ratio_caps_per_token ? a.n : a.B))},
    {"referenceLogProbs", Kind::kInput, offsetof(Args, reference_log_probs), kOwnDtype, COUNT(a.n)},
    {"rowWeights", Kind::kInput, offsetof(Args, row_weights), SRP_F64, COUNT(a.B)},
    {"klRowWeights", Kind::kInput, offsetof(Args, kl_row_weights), SRP_F64, COUNT(a.B)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"termMask", Kind::kInput, offsetof(Args, term_mask), SRP_U8, COUNT(a.n)},
    {"marks", Kind::kInput, offsetof(Args, marks), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.B)},
    {"groupOffsets", Kind::kInput, offsetof(Args, group_offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"losses", Kind::kOutput, offsetof(Args, losses), kOwnDtype, COUNT(((a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_GEOMETRIC) || a.form == SRP_ROW_SQUARED ? a.B : a.n))},
    {"ratios", Kind::kOutput, offsetof(Args, ratios), kOwnDtype, COUNT((a.form >= SRP_ROW_CLIP ? a.B : a.n))},
    {"klValues", Kind::kOutput, offsetof(Args, kl_values), kOwnDtype, COUNT(a.n)},
    {"clipped", Kind::kOutput, offsetof(Args, clipped), SRP_U8, COUNT((a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_SQUARED ? a.B : a.n))},
    {"gradLogProbs", Kind::kOutput, offsetof(Args, grad_log_probs), kOwnDtype, COUNT(a.n)},
    {"figures", Kind::kOutput, offsetof(Args, figures), SRP_F64, COUNT(times(a.B, a.figure_count))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.loss_row(queue, static_cast<const Args*>(args));
}
}  // namespace loss_row

namespace loss_logits {
using Args = srp_loss_logits_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"N", Kind::kInt64, offsetof(Args, N)},
    {"V", Kind::kInt64, offsetof(Args, V)},
    {"stride", Kind::kInt64, offsetof(Args, stride)},
    {"temperature", Kind::kFloat64, offsetof(Args, temperature)},
    {"scale", Kind::kFloat64, offsetof(Args, scale)},
    {"softcap", Kind::kFloat64, offsetof(Args, softcap)},
    {"form", Kind::kInt32, offsetof(Args, form)},
    {"parameters.clipLow", Kind::kFloat64, offsetof(Args, parameters.clip_low)},
    {"parameters.clipHigh", Kind::kFloat64, offsetof(Args, parameters.clip_high)},
    {"parameters.dualClip", Kind::kFloat64, offsetof(Args, parameters.dual_clip)},
    {"parameters.ratioCap", Kind::kFloat64, offsetof(Args, parameters.ratio_cap)},
    {"parameters.logClamp", Kind::kFloat64, offsetof(Args, parameters.log_clamp)},
    {"parameters.maxLogRatio", Kind::kFloat64, offsetof(Args, parameters.max_log_ratio)},
    {"parameters.temperaturePositive", Kind::kFloat64, offsetof(Args, parameters.temperature_positive)},
    {"parameters.temperatureNegative", Kind::kFloat64, offsetof(Args, parameters.temperature_negative)},
    {"parameters.coefficient", Kind::kFloat64, offsetof(Args, parameters.coefficient)},
    {"parameters.shapePositive", Kind::kFloat64, offsetof(Args, parameters.shape_positive)},
    {"parameters.ratePositive", Kind::kFloat64, offsetof(Args, parameters.rate_positive)},
    {"parameters.shapeNegative", Kind::kFloat64, offsetof(Args, parameters.shape_negative)},
    {"parameters.rateNegative", Kind::kFloat64, offsetof(Args, parameters.rate_negative)},
    {"parameters.countEpsilon", Kind::kFloat64, offsetof(Args, parameters.count_epsilon)},
    {"kl.kind", Kind::kInt32, offsetof(Args, kl.kind)},
    {"kl.gradientKind", Kind::kInt32, offsetof(Args, kl.gradient_kind)},
    {"kl.timesRatio", Kind::kInt32, offsetof(Args, kl.times_ratio)},
    {"kl.coefficient", Kind::kFloat64, offsetof(Args, kl.coefficient)},
    {"kl.logClamp", Kind::kFloat64, offsetof(Args, kl.log_clamp)},
    {"kl.valueClamp", Kind::kFloat64, offsetof(Args, kl.value_clamp)},
    {"logits", Kind::kInput, offsetof(Args, logits), kOwnDtype, COUNT(times(a.N, a.stride))},
    {"targets", Kind::kInput, offsetof(Args, targets), SRP_I32, COUNT(a.N)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.N)},
    {"oldLogProbs", Kind::kInput, offsetof(Args, old_log_probs), SRP_F64, COUNT(a.N)},
    {"advantages", Kind::kInput, offsetof(Args, advantages), SRP_F64, COUNT(a.N)},
    {"factors", Kind::kInput, offsetof(Args, factors), SRP_F64, COUNT(a.N)},
    {"clipLows", Kind::kInput, offsetof(Args, clip_lows), SRP_F64, COUNT(a.N)},
    {"clipHighs", Kind::kInput, offsetof(Args, clip_highs), SRP_F64, COUNT(a.N)},
    {"ratioCaps", Kind::kInput, offsetof(Args, ratio_caps), SRP_F64, COUNT(a.N)},
    {"referenceLogProbs", Kind::kInput, offsetof(Args, reference_log_probs), SRP_F64, COUNT(a.N)},
    {"weights", Kind::kInput, offsetof(Args, weights), SRP_F64, COUNT(a.N)},
    {"klWeights", Kind::kInput, offsetof(Args, kl_weights), SRP_F64, COUNT(a.N)},
    {"entropyWeights", Kind::kInput, offsetof(Args, entropy_weights), SRP_F64, COUNT(a.N)},
    {"termMask", Kind::kInput, offsetof(Args, term_mask), SRP_U8, COUNT(a.N)},
    {"marks", Kind::kInput, offsetof(Args, marks), SRP_U8, COUNT(a.N)},
    {"logProbs", Kind::kOutput, offsetof(Args, log_probs), SRP_F32, COUNT(a.N)},
    {"entropies", Kind::kOutput, offsetof(Args, entropies), SRP_F32, COUNT(a.N)},
    {"logSumExps", Kind::kOutput, offsetof(Args, log_sum_exps), SRP_F32, COUNT(a.N)},
    {"maxLogits", Kind::kOutput, offsetof(Args, max_logits), SRP_F32, COUNT(a.N)},
    {"log1pSums", Kind::kOutput, offsetof(Args, log1p_sums), SRP_F32, COUNT(a.N)},
    {"meanGaps", Kind::kOutput, offsetof(Args, mean_gaps), SRP_F32, COUNT(a.N)},
    {"sumSquares", Kind::kOutput, offsetof(Args, sum_squares), SRP_F32, COUNT(a.N)},
    {"gradLogits", Kind::kOutput, offsetof(Args, grad_logits), kOwnDtype, COUNT(times(a.N, a.stride)), 28},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.loss_logits(queue, static_cast<const Args*>(args));
}
}  // namespace loss_logits

namespace modulate_steps {
using Args = srp_modulate_steps_args;
const Field fields[] = {
    {"S", Kind::kInt64, offsetof(Args, S)},
    {"k", Kind::kFloat64, offsetof(Args, k)},
    {"kFuture", Kind::kFloat64, offsetof(Args, k_future)},
    {"epsilon", Kind::kFloat64, offsetof(Args, epsilon)},
    {"finite", Kind::kInt32, offsetof(Args, finite)},
    {"entropies", Kind::kInput, offsetof(Args, entropies), SRP_F64, COUNT(a.S)},
    {"entropyNorms", Kind::kOutput, offsetof(Args, entropy_norms), SRP_F64, COUNT(a.S)},
    {"scales", Kind::kOutput, offsetof(Args, scales), SRP_F64, COUNT(a.S)},
    {"clarities", Kind::kOutput, offsetof(Args, clarities), SRP_F64, COUNT(a.S)},
    {"count", Kind::kInput, offsetof(Args, count), SRP_I64, COUNT(1)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.modulate_steps(queue, static_cast<const Args*>(args));
}
}  // namespace modulate_steps

namespace modulate_spans {
using Args = srp_modulate_spans_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"S", Kind::kInt64, offsetof(Args, S)},
    {"zeta", Kind::kFloat64, offsetof(Args, zeta)},
    {"scope", Kind::kInt32, offsetof(Args, scope)},
    {"advantages", Kind::kInput, offsetof(Args, advantages), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"spans", Kind::kInput, offsetof(Args, spans), SRP_I32, COUNT(times(a.S, 3))},
    {"scales", Kind::kInput, offsetof(Args, scales), SRP_F64, COUNT(a.S)},
    {"clarities", Kind::kInput, offsetof(Args, clarities), SRP_F64, COUNT(a.S)},
    {"modulated", Kind::kOutput, offsetof(Args, modulated), kOwnDtype, COUNT(a.n), 7},
    {"mean", Kind::kOutput, offsetof(Args, mean), SRP_F64, COUNT(1)},
    {"count", Kind::kInput, offsetof(Args, count), SRP_I64, COUNT(1)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.modulate_spans(queue, static_cast<const Args*>(args));
}
}  // namespace modulate_spans

namespace modulate_rows {
using Args = srp_modulate_rows_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"form", Kind::kInt32, offsetof(Args, form)},
    {"negate", Kind::kInt32, offsetof(Args, negate)},
    {"epsilon", Kind::kFloat64, offsetof(Args, epsilon)},
    {"beta", Kind::kFloat64, offsetof(Args, beta)},
    {"zClip", Kind::kFloat64, offsetof(Args, z_clip)},
    {"varianceFloor", Kind::kFloat64, offsetof(Args, variance_floor)},
    {"lowPositive", Kind::kFloat64, offsetof(Args, low_positive)},
    {"highPositive", Kind::kFloat64, offsetof(Args, high_positive)},
    {"lowNegative", Kind::kFloat64, offsetof(Args, low_negative)},
    {"highNegative", Kind::kFloat64, offsetof(Args, high_negative)},
    {"emptyIsolate", Kind::kInt32, offsetof(Args, empty_isolate)},
    {"nonFinite", Kind::kInt32, offsetof(Args, non_finite)},
    {"singletonOne", Kind::kInt32, offsetof(Args, singleton_one)},
    {"singletonZeroMean", Kind::kInt32, offsetof(Args, singleton_zero_mean)},
    {"zeroOne", Kind::kInt32, offsetof(Args, zero_one)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"positive", Kind::kInput, offsetof(Args, positive), SRP_U8, COUNT(a.B)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.B)},
    {"groupOffsets", Kind::kInput, offsetof(Args, group_offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"sequenceEntropies", Kind::kOutput, offsetof(Args, sequence_entropies), SRP_F64, COUNT(a.B)},
    {"groupMeanEntropies", Kind::kOutput, offsetof(Args, group_mean_entropies), SRP_F64, COUNT(a.B)},
    {"entropyRatios", Kind::kOutput, offsetof(Args, entropy_ratios), SRP_F64, COUNT(a.B)},
    {"weights", Kind::kOutput, offsetof(Args, weights), SRP_F64, COUNT(a.B)},
    {"lengths", Kind::kOutput, offsetof(Args, lengths), SRP_I32, COUNT(a.B)},
    {"valid", Kind::kOutput, offsetof(Args, valid), SRP_U8, COUNT(a.B)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.modulate_rows(queue, static_cast<const Args*>(args));
}
}  // namespace modulate_rows

namespace ratio_log {
using Args = srp_ratio_log_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"level", Kind::kInt32, offsetof(Args, level)},
    {"reduce", Kind::kInt32, offsetof(Args, reduce)},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"oldLogProbs", Kind::kInput, offsetof(Args, old_log_probs), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.B)},
    {"groupOffsets", Kind::kInput, offsetof(Args, group_offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"logRatios", Kind::kOutput, offsetof(Args, log_ratios), kOwnDtype, COUNT((a.level == SRP_LEVEL_TOKEN ? a.n : (a.level == SRP_LEVEL_SEQUENCE ? a.B : a.G)))},
    {"ratios", Kind::kOutput, offsetof(Args, ratios), kOwnDtype, COUNT((a.level == SRP_LEVEL_TOKEN ? a.n : (a.level == SRP_LEVEL_SEQUENCE ? a.B : a.G)))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.ratio_log(queue, static_cast<const Args*>(args));
}
}  // namespace ratio_log

namespace reduce_moments {
using Args = srp_reduce_moments_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"nanPolicy", Kind::kInt32, offsetof(Args, nan_policy)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"partials", Kind::kOutput, offsetof(Args, partials), SRP_F64, COUNT(times(a.B, SRP_MOMENTS))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_moments(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_moments

namespace reduce_merge {
using Args = srp_reduce_merge_args;
const Field fields[] = {
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"G", Kind::kInt64, offsetof(Args, G)},
    {"partials", Kind::kInput, offsetof(Args, partials), SRP_F64, COUNT(times(a.B, SRP_MOMENTS))},
    {"members", Kind::kInput, offsetof(Args, members), SRP_I32, COUNT(a.B)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.G, 1))},
    {"merged", Kind::kOutput, offsetof(Args, merged), SRP_F64, COUNT(times(a.G, SRP_MOMENTS))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_merge(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_merge

namespace reduce_whiten {
using Args = srp_reduce_whiten_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"units", Kind::kInt64, offsetof(Args, units)},
    {"over", Kind::kInt32, offsetof(Args, over)},
    {"center", Kind::kInt32, offsetof(Args, center)},
    {"scale", Kind::kInt32, offsetof(Args, scale)},
    {"ddof", Kind::kFloat64, offsetof(Args, ddof)},
    {"countEpsilon", Kind::kFloat64, offsetof(Args, count_epsilon)},
    {"epsilon", Kind::kFloat64, offsetof(Args, epsilon)},
    {"varianceEpsilon", Kind::kFloat64, offsetof(Args, variance_epsilon)},
    {"varianceFloor", Kind::kFloat64, offsetof(Args, variance_floor)},
    {"keepMean", Kind::kInt32, offsetof(Args, keep_mean)},
    {"nanPolicy", Kind::kInt32, offsetof(Args, nan_policy)},
    {"transformMasked", Kind::kInt32, offsetof(Args, transform_masked)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"groupIds", Kind::kInput, offsetof(Args, group_ids), SRP_I32, COUNT(a.B)},
    {"moments", Kind::kInput, offsetof(Args, moments), SRP_F64, COUNT(times(a.units, SRP_MOMENTS))},
    {"whitened", Kind::kOutput, offsetof(Args, whitened), kOwnDtype, COUNT(a.n), 16},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_whiten(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_whiten

namespace reduce_affine {
using Args = srp_reduce_affine_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"transformMasked", Kind::kInt32, offsetof(Args, transform_masked)},
    {"divisor", Kind::kFloat64, offsetof(Args, divisor)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"center", Kind::kInput, offsetof(Args, center), SRP_F64, COUNT(a.B)},
    {"scale", Kind::kInput, offsetof(Args, scale), SRP_F64, COUNT(a.B)},
    {"mapped", Kind::kOutput, offsetof(Args, mapped), kOwnDtype, COUNT(a.n), 6},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_affine(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_affine

namespace reduce_clamp {
using Args = srp_reduce_clamp_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"low", Kind::kFloat64, offsetof(Args, low)},
    {"high", Kind::kFloat64, offsetof(Args, high)},
    {"transformMasked", Kind::kInt32, offsetof(Args, transform_masked)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"clamped", Kind::kOutput, offsetof(Args, clamped), kOwnDtype, COUNT(a.n), 7},
    {"counts", Kind::kOutput, offsetof(Args, counts), SRP_I32, COUNT(times(a.B, SRP_CLAMPED_COUNTS))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_clamp(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_clamp

namespace reduce_gamma {
using Args = srp_reduce_gamma_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"bound", Kind::kFloat64, offsetof(Args, bound)},
    {"shapePositive", Kind::kFloat64, offsetof(Args, shape_positive)},
    {"ratePositive", Kind::kFloat64, offsetof(Args, rate_positive)},
    {"shapeNegative", Kind::kFloat64, offsetof(Args, shape_negative)},
    {"rateNegative", Kind::kFloat64, offsetof(Args, rate_negative)},
    {"allFactors", Kind::kInt32, offsetof(Args, all_factors)},
    {"logRatios", Kind::kInput, offsetof(Args, log_ratios), kOwnDtype, COUNT(a.n)},
    {"factors", Kind::kInput, offsetof(Args, factors), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"signs", Kind::kInput, offsetof(Args, signs), kOwnDtype, COUNT(a.B)},
    {"weights", Kind::kOutput, offsetof(Args, weights), kOwnDtype, COUNT(a.B)},
    {"logWeights", Kind::kOutput, offsetof(Args, log_weights), kOwnDtype, COUNT(a.B)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_gamma(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_gamma

namespace reduce_counts {
using Args = srp_reduce_counts_args;
const Field fields[] = {
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"counts", Kind::kOutput, offsetof(Args, counts), SRP_F64, COUNT(a.B)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.reduce_counts(queue, static_cast<const Args*>(args));
}
}  // namespace reduce_counts

namespace scan_gae {
using Args = srp_scan_gae_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"gamma", Kind::kFloat64, offsetof(Args, gamma)},
    {"lambda", Kind::kFloat64, offsetof(Args, lambda)},
    {"maskMode", Kind::kInt32, offsetof(Args, mask_mode)},
    {"transformMasked", Kind::kInt32, offsetof(Args, transform_masked)},
    {"lambdasPerToken", Kind::kInt32, offsetof(Args, lambdas_per_token)},
    {"rewards", Kind::kInput, offsetof(Args, rewards), kOwnDtype, COUNT(a.n)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"gammas", Kind::kInput, offsetof(Args, gammas), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"bootstrap", Kind::kInput, offsetof(Args, bootstrap), kOwnDtype, COUNT(a.B)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"advantages", Kind::kOutput, offsetof(Args, advantages), kOwnDtype, COUNT(a.n)},
    {"returns", Kind::kOutput, offsetof(Args, returns), kOwnDtype, COUNT(a.n)},
    {"lambdas", Kind::kInput, offsetof(Args, lambdas), kOwnDtype, COUNT((a.lambdas_per_token ? a.n : a.B))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.scan_gae(queue, static_cast<const Args*>(args));
}
}  // namespace scan_gae

namespace scan_returns {
using Args = srp_scan_returns_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"gamma", Kind::kFloat64, offsetof(Args, gamma)},
    {"maskMode", Kind::kInt32, offsetof(Args, mask_mode)},
    {"transformMasked", Kind::kInt32, offsetof(Args, transform_masked)},
    {"rewards", Kind::kInput, offsetof(Args, rewards), kOwnDtype, COUNT(a.n)},
    {"gammas", Kind::kInput, offsetof(Args, gammas), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"bootstrap", Kind::kInput, offsetof(Args, bootstrap), kOwnDtype, COUNT(a.B)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"returns", Kind::kOutput, offsetof(Args, returns), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.scan_returns(queue, static_cast<const Args*>(args));
}
}  // namespace scan_returns

namespace scan_vtrace {
using Args = srp_scan_vtrace_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"gamma", Kind::kFloat64, offsetof(Args, gamma)},
    {"lambda", Kind::kFloat64, offsetof(Args, lambda)},
    {"rhoBar", Kind::kFloat64, offsetof(Args, rho_bar)},
    {"cBar", Kind::kFloat64, offsetof(Args, c_bar)},
    {"pgRhoBar", Kind::kFloat64, offsetof(Args, pg_rho_bar)},
    {"maskMode", Kind::kInt32, offsetof(Args, mask_mode)},
    {"delta", Kind::kInt32, offsetof(Args, delta)},
    {"lambdasPerToken", Kind::kInt32, offsetof(Args, lambdas_per_token)},
    {"rewards", Kind::kInput, offsetof(Args, rewards), kOwnDtype, COUNT(a.n)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"weights", Kind::kInput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"gammas", Kind::kInput, offsetof(Args, gammas), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"bootstrap", Kind::kInput, offsetof(Args, bootstrap), kOwnDtype, COUNT(a.B)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"targets", Kind::kOutput, offsetof(Args, targets), kOwnDtype, COUNT(a.n)},
    {"advantages", Kind::kOutput, offsetof(Args, advantages), kOwnDtype, COUNT(a.n)},
    {"accumulated", Kind::kOutput, offsetof(Args, accumulated), kOwnDtype, COUNT(a.n)},
    {"lambdas", Kind::kInput, offsetof(Args, lambdas), kOwnDtype, COUNT((a.lambdas_per_token ? a.n : a.B))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.scan_vtrace(queue, static_cast<const Args*>(args));
}
}  // namespace scan_vtrace

namespace scan_tail {
using Args = srp_scan_tail_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"gamma", Kind::kFloat64, offsetof(Args, gamma)},
    {"maskMode", Kind::kInt32, offsetof(Args, mask_mode)},
    {"normalize", Kind::kInt32, offsetof(Args, normalize)},
    {"maskedWeight", Kind::kFloat64, offsetof(Args, masked_weight)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"tails", Kind::kOutput, offsetof(Args, tails), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.scan_tail(queue, static_cast<const Args*>(args));
}
}  // namespace scan_tail

namespace scan_prefix {
using Args = srp_scan_prefix_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"exclusive", Kind::kInt32, offsetof(Args, exclusive)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"sumSquares", Kind::kInput, offsetof(Args, sum_squares), kOwnDtype, COUNT(a.n)},
    {"weights", Kind::kInput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"terms", Kind::kOutput, offsetof(Args, terms), kOwnDtype, COUNT(a.n)},
    {"sums", Kind::kOutput, offsetof(Args, sums), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.scan_prefix(queue, static_cast<const Args*>(args));
}
}  // namespace scan_prefix

namespace scan_shares {
using Args = srp_scan_shares_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"gain", Kind::kFloat64, offsetof(Args, gain)},
    {"epsilon", Kind::kFloat64, offsetof(Args, epsilon)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"weights", Kind::kOutput, offsetof(Args, weights), kOwnDtype, COUNT(a.n)},
    {"products", Kind::kOutput, offsetof(Args, products), kOwnDtype, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.scan_shares(queue, static_cast<const Args*>(args));
}
}  // namespace scan_shares

namespace select_quantile {
using Args = srp_select_quantile_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"over", Kind::kInt32, offsetof(Args, over)},
    {"q", Kind::kFloat64, offsetof(Args, q)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"thresholds", Kind::kOutput, offsetof(Args, thresholds), SRP_F64, COUNT((a.over == SRP_OVER_ALL ? 1 : a.B))},
    {"selected", Kind::kOutput, offsetof(Args, selected), SRP_U8, COUNT(a.n)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.select_quantile(queue, static_cast<const Args*>(args));
}
}  // namespace select_quantile

namespace select_top {
using Args = srp_select_top_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"over", Kind::kInt32, offsetof(Args, over)},
    {"share", Kind::kFloat64, offsetof(Args, share)},
    {"k", Kind::kInt64, offsetof(Args, k)},
    {"least", Kind::kInt64, offsetof(Args, least)},
    {"values", Kind::kInput, offsetof(Args, values), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"selected", Kind::kOutput, offsetof(Args, selected), SRP_U8, COUNT(a.n)},
    {"counts", Kind::kOutput, offsetof(Args, counts), SRP_I32, COUNT((a.over == SRP_OVER_ALL ? 1 : a.B))},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.select_top(queue, static_cast<const Args*>(args));
}
}  // namespace select_top

namespace select_covariance {
using Args = srp_select_covariance_args;
const Field fields[] = {
    {"dtype", Kind::kInt32, offsetof(Args, dtype)},
    {"n", Kind::kInt64, offsetof(Args, n)},
    {"B", Kind::kInt64, offsetof(Args, B)},
    {"T", Kind::kInt64, offsetof(Args, T)},
    {"advantagesPerToken", Kind::kInt32, offsetof(Args, advantages_per_token)},
    {"mode", Kind::kInt32, offsetof(Args, mode)},
    {"countEpsilon", Kind::kFloat64, offsetof(Args, count_epsilon)},
    {"low", Kind::kFloat64, offsetof(Args, low)},
    {"high", Kind::kFloat64, offsetof(Args, high)},
    {"share", Kind::kFloat64, offsetof(Args, share)},
    {"k", Kind::kInt64, offsetof(Args, k)},
    {"least", Kind::kInt64, offsetof(Args, least)},
    {"advantages", Kind::kInput, offsetof(Args, advantages), kOwnDtype, COUNT((a.advantages_per_token ? a.n : a.B))},
    {"logProbs", Kind::kInput, offsetof(Args, log_probs), kOwnDtype, COUNT(a.n)},
    {"mask", Kind::kInput, offsetof(Args, mask), SRP_U8, COUNT(a.n)},
    {"excluded", Kind::kInput, offsetof(Args, excluded), SRP_U8, COUNT(a.n)},
    {"offsets", Kind::kInput, offsetof(Args, offsets), SRP_I32, COUNT(plus(a.B, 1))},
    {"selected", Kind::kOutput, offsetof(Args, selected), SRP_U8, COUNT(a.n), 15},
    {"counts", Kind::kOutput, offsetof(Args, counts), SRP_I32, COUNT(1)},
};
srp_status run(const srp_backend& backend, srp_queue* queue, const void* args) {
  return backend.select_covariance(queue, static_cast<const Args*>(args));
}
}  // namespace select_covariance

}  // namespace

const char* const contracts = "7fd88cbc";

const std::vector<Op>& all_ops() {
  // Built once and never destroyed: a call on another thread may outlive static destruction at exit.
  static const std::vector<Op>& ops = *new std::vector<Op>{
      {"correctionMeasure", sizeof(correction_measure::Args), correction_measure::fields, std::size(correction_measure::fields), 8, 0, correction_measure::run},
      {"correctionBound", sizeof(correction_bound::Args), correction_bound::fields, std::size(correction_bound::fields), 10, 0, correction_bound::run},
      {"delimSpans", sizeof(delim_spans::Args), delim_spans::fields, std::size(delim_spans::fields), 15, 0, delim_spans::run},
      {"delimMeans", sizeof(delim_means::Args), delim_means::fields, std::size(delim_means::fields), 5, 0, delim_means::run},
      {"delimMask", sizeof(delim_mask::Args), delim_mask::fields, std::size(delim_mask::fields), 4, 0, delim_mask::run},
      {"delimNgrams", sizeof(delim_ngrams::Args), delim_ngrams::fields, std::size(delim_ngrams::fields), 4, 0, delim_ngrams::run},
      {"divergenceRows", sizeof(divergence_rows::Args), divergence_rows::fields, std::size(divergence_rows::fields), 10, offsetof(divergence_rows::Args, N), divergence_rows::run},
      {"divergenceTop", sizeof(divergence_top::Args), divergence_top::fields, std::size(divergence_top::fields), 5, offsetof(divergence_top::Args, N), divergence_top::run},
      {"groupNormalize", sizeof(group_normalize::Args), group_normalize::fields, std::size(group_normalize::fields), 11, 0, group_normalize::run},
      {"groupSoftmax", sizeof(group_softmax::Args), group_softmax::fields, std::size(group_softmax::fields), 5, 0, group_softmax::run},
      {"groupTilt", sizeof(group_tilt::Args), group_tilt::fields, std::size(group_tilt::fields), 6, 0, group_tilt::run},
      {"groupEntropy", sizeof(group_entropy::Args), group_entropy::fields, std::size(group_entropy::fields), 5, 0, group_entropy::run},
      {"groupTop2", sizeof(group_top2::Args), group_top2::fields, std::size(group_top2::fields), 3, 0, group_top2::run},
      {"groupColumns", sizeof(group_columns::Args), group_columns::fields, std::size(group_columns::fields), 7, 0, group_columns::run},
      {"groupWeigh", sizeof(group_weigh::Args), group_weigh::fields, std::size(group_weigh::fields), 9, 0, group_weigh::run},
      {"groupBroadcast", sizeof(group_broadcast::Args), group_broadcast::fields, std::size(group_broadcast::fields), 4, 0, group_broadcast::run},
      {"groupPlace", sizeof(group_place::Args), group_place::fields, std::size(group_place::fields), 8, 0, group_place::run},
      {"linearForward", sizeof(linear_forward::Args), linear_forward::fields, std::size(linear_forward::fields), 10, 0, linear_forward::run},
      {"linearBackward", sizeof(linear_backward::Args), linear_backward::fields, std::size(linear_backward::fields), 13, 0, linear_backward::run},
      {"logprobForward", sizeof(logprob_forward::Args), logprob_forward::fields, std::size(logprob_forward::fields), 8, offsetof(logprob_forward::Args, N), logprob_forward::run},
      {"logprobBackward", sizeof(logprob_backward::Args), logprob_backward::fields, std::size(logprob_backward::fields), 10, offsetof(logprob_backward::Args, N), logprob_backward::run},
      {"logprobPartial", sizeof(logprob_partial::Args), logprob_partial::fields, std::size(logprob_partial::fields), 10, offsetof(logprob_partial::Args, N), logprob_partial::run},
      {"logprobMerge", sizeof(logprob_merge::Args), logprob_merge::fields, std::size(logprob_merge::fields), 6, 0, logprob_merge::run},
      {"logprobKeptForward", sizeof(logprob_kept_forward::Args), logprob_kept_forward::fields, std::size(logprob_kept_forward::fields), 8, 0, logprob_kept_forward::run},
      {"logprobKeptBackward", sizeof(logprob_kept_backward::Args), logprob_kept_backward::fields, std::size(logprob_kept_backward::fields), 8, 0, logprob_kept_backward::run},
      {"lossToken", sizeof(loss_token::Args), loss_token::fields, std::size(loss_token::fields), 34, 0, loss_token::run},
      {"lossRow", sizeof(loss_row::Args), loss_row::fields, std::size(loss_row::fields), 34, 0, loss_row::run},
      {"lossLogits", sizeof(loss_logits::Args), loss_logits::fields, std::size(loss_logits::fields), 28, offsetof(loss_logits::Args, N), loss_logits::run},
      {"modulateSteps", sizeof(modulate_steps::Args), modulate_steps::fields, std::size(modulate_steps::fields), 5, 0, modulate_steps::run},
      {"modulateSpans", sizeof(modulate_spans::Args), modulate_spans::fields, std::size(modulate_spans::fields), 7, 0, modulate_spans::run},
      {"modulateRows", sizeof(modulate_rows::Args), modulate_rows::fields, std::size(modulate_rows::fields), 20, 0, modulate_rows::run},
      {"ratioLog", sizeof(ratio_log::Args), ratio_log::fields, std::size(ratio_log::fields), 7, 0, ratio_log::run},
      {"reduceMoments", sizeof(reduce_moments::Args), reduce_moments::fields, std::size(reduce_moments::fields), 5, 0, reduce_moments::run},
      {"reduceMerge", sizeof(reduce_merge::Args), reduce_merge::fields, std::size(reduce_merge::fields), 2, 0, reduce_merge::run},
      {"reduceWhiten", sizeof(reduce_whiten::Args), reduce_whiten::fields, std::size(reduce_whiten::fields), 16, 0, reduce_whiten::run},
      {"reduceAffine", sizeof(reduce_affine::Args), reduce_affine::fields, std::size(reduce_affine::fields), 6, 0, reduce_affine::run},
      {"reduceClamp", sizeof(reduce_clamp::Args), reduce_clamp::fields, std::size(reduce_clamp::fields), 7, 0, reduce_clamp::run},
      {"reduceGamma", sizeof(reduce_gamma::Args), reduce_gamma::fields, std::size(reduce_gamma::fields), 10, 0, reduce_gamma::run},
      {"reduceCounts", sizeof(reduce_counts::Args), reduce_counts::fields, std::size(reduce_counts::fields), 3, 0, reduce_counts::run},
      {"scanGae", sizeof(scan_gae::Args), scan_gae::fields, std::size(scan_gae::fields), 9, 0, scan_gae::run},
      {"scanReturns", sizeof(scan_returns::Args), scan_returns::fields, std::size(scan_returns::fields), 7, 0, scan_returns::run},
      {"scanVtrace", sizeof(scan_vtrace::Args), scan_vtrace::fields, std::size(scan_vtrace::fields), 12, 0, scan_vtrace::run},
      {"scanTail", sizeof(scan_tail::Args), scan_tail::fields, std::size(scan_tail::fields), 8, 0, scan_tail::run},
      {"scanPrefix", sizeof(scan_prefix::Args), scan_prefix::fields, std::size(scan_prefix::fields), 5, 0, scan_prefix::run},
      {"scanShares", sizeof(scan_shares::Args), scan_shares::fields, std::size(scan_shares::fields), 6, 0, scan_shares::run},
      {"selectQuantile", sizeof(select_quantile::Args), select_quantile::fields, std::size(select_quantile::fields), 6, 0, select_quantile::run},
      {"selectTop", sizeof(select_top::Args), select_top::fields, std::size(select_top::fields), 8, 0, select_top::run},
      {"selectCovariance", sizeof(select_covariance::Args), select_covariance::fields, std::size(select_covariance::fields), 12, 0, select_covariance::run},
  };
  return ops;
}

}  // namespace srp::binding
