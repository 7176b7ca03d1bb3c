// Generated from native/include/surprisal by scripts/contracts.mjs: `npm run contracts` renews it.
// clang-format off
#include "field.h"

namespace srp::binding {
namespace {

namespace correction_measure {
using Args = srp_correction_measure_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(statistic, "statistic"),
    SRP_NUMBER(log_clamp, "logClamp"),
    SRP_NUMBER(low, "low"),
    SRP_NUMBER(high, "high"),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(old_log_probs, "oldLogProbs", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(moments, "moments", SRP_F64, times(a.B, SRP_MOMENTS)),
    SRP_OUTPUT(bounded, "bounded", SRP_F64, times(a.B, SRP_MOMENTS)),
    SRP_OUTPUT(differences, "differences", SRP_F64, a.B),
    SRP_OUTPUT(above, "above", SRP_I32, a.B),
    SRP_OUTPUT(below, "below", SRP_I32, a.B),
};
}  // namespace correction_measure

namespace correction_bound {
using Args = srp_correction_bound_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(statistic, "statistic"),
    SRP_NUMBER(outside, "outside"),
    SRP_NUMBER(log_clamp, "logClamp"),
    SRP_NUMBER(low, "low"),
    SRP_NUMBER(high, "high"),
    SRP_NUMBER(masked_weight, "maskedWeight"),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(old_log_probs, "oldLogProbs", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(row_factors, "rowFactors", SRP_F64, a.B),
    SRP_OUTPUT(weights, "weights", kOwnDtype, a.n),
    SRP_IN_PLACE(kept, "kept", SRP_U8, a.n, 12),
    SRP_OUTPUT(kept_counts, "keptCounts", SRP_I32, a.B),
};
}  // namespace correction_bound

namespace delim_spans {
using Args = srp_delim_spans_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(start_count, "startCount"),
    SRP_NUMBER(end_count, "endCount"),
    SRP_NUMBER(head_count, "headCount"),
    SRP_NUMBER(start_size, "startSize"),
    SRP_NUMBER(end_size, "endSize"),
    SRP_NUMBER(head_size, "headSize"),
    SRP_NUMBER(capacity, "capacity"),
    SRP_NUMBER(overlapping, "overlapping"),
    SRP_NUMBER(include_end, "includeEnd"),
    SRP_NUMBER(unterminated_keep, "unterminatedKeep"),
    SRP_NUMBER(starts_open, "startsOpen"),
    SRP_INPUT(tokens, "tokens", kOwnDtype, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(lengths, "lengths", SRP_I32, a.B),
    SRP_INPUT(start_ids, "startIds", SRP_I32, a.start_size),
    SRP_INPUT(start_offsets, "startOffsets", SRP_I32, plus(a.start_count, 1)),
    SRP_INPUT(end_ids, "endIds", SRP_I32, a.end_size),
    SRP_INPUT(end_offsets, "endOffsets", SRP_I32, plus(a.end_count, 1)),
    SRP_INPUT(head_ids, "headIds", SRP_I32, a.head_size),
    SRP_INPUT(head_offsets, "headOffsets", SRP_I32, plus(a.head_count, 1)),
    SRP_OUTPUT(spans, "spans", SRP_I32, times(a.capacity, 3)),
    SRP_OUTPUT(alternatives, "alternatives", SRP_I32, times(a.capacity, 2)),
    SRP_OUTPUT(count, "count", SRP_I64, 1),
};
}  // namespace delim_spans

namespace delim_means {
using Args = srp_delim_means_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(S, "S"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(spans, "spans", SRP_I32, times(a.S, 3)),
    SRP_OUTPUT(means, "means", SRP_F64, a.S),
    SRP_INPUT(count, "count", SRP_I64, 1),
};
}  // namespace delim_means

namespace delim_mask {
using Args = srp_delim_mask_args;
const Field fields[] = {
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(S, "S"),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(spans, "spans", SRP_I32, times(a.S, 3)),
    SRP_OUTPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(count, "count", SRP_I64, 1),
};
}  // namespace delim_mask

namespace delim_ngrams {
using Args = srp_delim_ngrams_args;
const Field fields[] = {
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(length, "length"),
    SRP_INPUT(tokens, "tokens", SRP_I32, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(counts, "counts", SRP_I32, times(a.B, 2)),
};
}  // namespace delim_ngrams

namespace divergence_rows {
using Args = srp_divergence_rows_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(student_stride, "studentStride"),
    SRP_NUMBER(teacher_stride, "teacherStride"),
    SRP_NUMBER(K, "K"),
    SRP_NUMBER(beta, "beta"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(outside, "outside"),
    SRP_NUMBER(tail_floor, "tailFloor"),
    SRP_INPUT(student, "student", kOwnDtype, times(a.N, a.student_stride)),
    SRP_INPUT(teacher, "teacher", kOwnDtype, times(a.N, a.teacher_stride)),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_INPUT(grad_divergences, "gradDivergences", SRP_F64, a.N),
    SRP_INPUT(support, "support", SRP_I32, times(a.N, a.K)),
    SRP_OUTPUT(divergences, "divergences", SRP_F64, a.N),
    SRP_IN_PLACE(grad_student, "gradStudent", kOwnDtype, times(a.N, a.student_stride), 10),
};
}  // namespace divergence_rows

namespace divergence_top {
using Args = srp_divergence_top_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(stride, "stride"),
    SRP_NUMBER(K, "K"),
    SRP_INPUT(logits, "logits", kOwnDtype, times(a.N, a.stride)),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_OUTPUT(ids, "ids", SRP_I32, times(a.N, a.K)),
};
}  // namespace divergence_top

namespace group_normalize {
using Args = srp_group_normalize_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(ddof, "ddof"),
    SRP_NUMBER(epsilon, "epsilon"),
    SRP_NUMBER(variance_floor, "varianceFloor"),
    SRP_NUMBER(center, "center"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(singleton, "singleton"),
    SRP_NUMBER(nan_policy, "nanPolicy"),
    SRP_NUMBER(gain, "gain"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(members, "members", SRP_I32, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(normalized, "normalized", kOwnDtype, a.n),
    SRP_OUTPUT(means, "means", kOwnDtype, a.G),
    SRP_OUTPUT(stds, "stds", kOwnDtype, a.G),
    SRP_OUTPUT(counts, "counts", SRP_I32, a.G),
    SRP_INPUT(weights, "weights", kOwnDtype, a.n),
};
}  // namespace group_normalize

namespace group_softmax {
using Args = srp_group_softmax_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(floor, "floor"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(members, "members", SRP_I32, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(weights, "weights", kOwnDtype, a.n),
    SRP_OUTPUT(log_sum_exps, "logSumExps", kOwnDtype, a.G),
    SRP_OUTPUT(soft_means, "softMeans", kOwnDtype, a.G),
};
}  // namespace group_softmax

namespace group_tilt {
using Args = srp_group_tilt_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(coefficient, "coefficient"),
    SRP_NUMBER(least, "least"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(log_factors, "logFactors", kOwnDtype, a.n),
    SRP_INPUT(counts, "counts", kOwnDtype, a.n),
    SRP_INPUT(members, "members", SRP_I32, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(weights, "weights", kOwnDtype, a.n),
};
}  // namespace group_tilt

namespace group_entropy {
using Args = srp_group_entropy_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(normalize, "normalize"),
    SRP_NUMBER(least, "least"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(members, "members", SRP_I32, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(entropies, "entropies", kOwnDtype, a.G),
    SRP_OUTPUT(evennesses, "evennesses", kOwnDtype, a.G),
};
}  // namespace group_entropy

namespace group_top2 {
using Args = srp_group_top2_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(G, "G"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(members, "members", SRP_I32, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(best, "best", SRP_I32, a.G),
    SRP_OUTPUT(second, "second", SRP_I32, a.G),
    SRP_OUTPUT(best_values, "bestValues", kOwnDtype, a.G),
    SRP_OUTPUT(second_values, "secondValues", kOwnDtype, a.G),
};
}  // namespace group_top2

namespace group_columns {
using Args = srp_group_columns_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(epsilon, "epsilon"),
    SRP_NUMBER(zero_tail, "zeroTail"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(weights, "weights", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(members, "members", SRP_I32, a.B),
    SRP_INPUT(group_offsets, "groupOffsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(baselines, "baselines", kOwnDtype, a.n),
    SRP_OUTPUT(centred, "centred", kOwnDtype, a.n),
};
}  // namespace group_columns

namespace group_weigh {
using Args = srp_group_weigh_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(form, "form"),
    SRP_NUMBER(power, "power"),
    SRP_NUMBER(at_max, "atMax"),
    SRP_NUMBER(at_min, "atMin"),
    SRP_NUMBER(between, "between"),
    SRP_NUMBER(floor, "floor"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(members, "members", SRP_I32, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(weights, "weights", kOwnDtype, a.n),
};
}  // namespace group_weigh

namespace group_broadcast {
using Args = srp_group_broadcast_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_INPUT(row, "row", kOwnDtype, a.B),
    SRP_INPUT(factor, "factor", kOwnDtype, a.B),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(out, "out", kOwnDtype, a.n),
};
}  // namespace group_broadcast

namespace group_place {
using Args = srp_group_place_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(low, "low"),
    SRP_NUMBER(high, "high"),
    SRP_NUMBER(transform_masked, "transformMasked"),
    SRP_INPUT(row, "row", kOwnDtype, a.B),
    SRP_INPUT(tokens, "tokens", kOwnDtype, a.n),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(out, "out", kOwnDtype, a.n),
};
}  // namespace group_place

namespace linear_forward {
using Args = srp_linear_forward_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(D, "D"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(padded, "padded"),
    SRP_NUMBER(chunk_rows, "chunkRows"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_INPUT(hidden, "hidden", kOwnDtype, times(a.N, a.D)),
    SRP_INPUT(weight, "weight", kOwnDtype, times(a.padded, a.D)),
    SRP_INPUT(bias, "bias", kOwnDtype, a.padded),
    SRP_INPUT(targets, "targets", SRP_I32, a.N),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_OUTPUT(log_probs, "logProbs", kWideDtype, a.N),
    SRP_OUTPUT(entropies, "entropies", kWideDtype, a.N),
    SRP_OUTPUT(log_sum_exps, "logSumExps", kWideDtype, a.N),
    SRP_OUTPUT(sum_squares, "sumSquares", kWideDtype, a.N),
    SRP_OUTPUT(max_logits, "maxLogits", SRP_F64, a.N),
    SRP_OUTPUT(log1p_sums, "log1pSums", SRP_F64, a.N),
    SRP_OUTPUT(mean_gaps, "meanGaps", SRP_F64, a.N),
};
}  // namespace linear_forward

namespace linear_backward {
using Args = srp_linear_backward_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(D, "D"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(padded, "padded"),
    SRP_NUMBER(chunk_rows, "chunkRows"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_NUMBER(accumulate, "accumulate"),
    SRP_INPUT(hidden, "hidden", kOwnDtype, times(a.N, a.D)),
    SRP_INPUT(weight, "weight", kOwnDtype, times(a.padded, a.D)),
    SRP_INPUT(bias, "bias", kOwnDtype, a.padded),
    SRP_INPUT(targets, "targets", SRP_I32, a.N),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_INPUT(max_logits, "maxLogits", SRP_F64, a.N),
    SRP_INPUT(log1p_sums, "log1pSums", SRP_F64, a.N),
    SRP_INPUT(mean_gaps, "meanGaps", SRP_F64, a.N),
    SRP_INPUT(grad_log_probs, "gradLogProbs", kWideDtype, a.N),
    SRP_INPUT(grad_entropies, "gradEntropies", kWideDtype, a.N),
    SRP_OUTPUT(grad_hidden, "gradHidden", kOwnDtype, times(a.N, a.D)),
    SRP_OUTPUT(grad_weight, "gradWeight", kWideDtype, times(a.padded, a.D)),
    SRP_OUTPUT(grad_bias, "gradBias", kWideDtype, a.padded),
};
}  // namespace linear_backward

namespace logprob_forward {
using Args = srp_logprob_forward_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(stride, "stride"),
    SRP_NUMBER(K, "K"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_INPUT(logits, "logits", kOwnDtype, times(a.N, a.stride)),
    SRP_INPUT(targets, "targets", SRP_I32, times(a.N, a.K)),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_OUTPUT(log_probs, "logProbs", SRP_F32, times(a.N, a.K)),
    SRP_OUTPUT(entropies, "entropies", SRP_F32, a.N),
    SRP_OUTPUT(log_sum_exps, "logSumExps", SRP_F32, a.N),
    SRP_OUTPUT(max_logits, "maxLogits", SRP_F32, a.N),
    SRP_OUTPUT(log1p_sums, "log1pSums", SRP_F32, a.N),
    SRP_OUTPUT(mean_gaps, "meanGaps", SRP_F32, a.N),
    SRP_OUTPUT(sum_squares, "sumSquares", SRP_F32, a.N),
};
}  // namespace logprob_forward

namespace logprob_backward {
using Args = srp_logprob_backward_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(stride, "stride"),
    SRP_NUMBER(K, "K"),
    SRP_NUMBER(vocab_start, "vocabStart"),
    SRP_NUMBER(vocab_size, "vocabSize"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_INPUT(logits, "logits", kOwnDtype, times(a.N, a.stride)),
    SRP_INPUT(targets, "targets", SRP_I32, times(a.N, a.K)),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_INPUT(max_logits, "maxLogits", SRP_F32, a.N),
    SRP_INPUT(log1p_sums, "log1pSums", SRP_F32, a.N),
    SRP_INPUT(mean_gaps, "meanGaps", SRP_F32, a.N),
    SRP_INPUT(grad_log_probs, "gradLogProbs", SRP_F32, times(a.N, a.K)),
    SRP_INPUT(grad_entropies, "gradEntropies", SRP_F32, a.N),
    SRP_IN_PLACE(grad_logits, "gradLogits", kOwnDtype, times(a.N, a.stride), 10),
};
}  // namespace logprob_backward

namespace logprob_partial {
using Args = srp_logprob_partial_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(stride, "stride"),
    SRP_NUMBER(K, "K"),
    SRP_NUMBER(vocab_start, "vocabStart"),
    SRP_NUMBER(vocab_size, "vocabSize"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_INPUT(logits, "logits", kOwnDtype, times(a.N, a.stride)),
    SRP_INPUT(targets, "targets", SRP_I32, times(a.N, a.K)),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_OUTPUT(states, "states", SRP_F64, times(a.N, plus(SRP_STATE_SUMS, a.K))),
};
}  // namespace logprob_partial

namespace logprob_merge {
using Args = srp_logprob_merge_args;
const Field fields[] = {
    SRP_NUMBER(P, "P"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(K, "K"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_INPUT(states, "states", SRP_F64, times(a.P, times(a.N, plus(SRP_STATE_SUMS, a.K)))),
    SRP_OUTPUT(log_probs, "logProbs", SRP_F32, times(a.N, a.K)),
    SRP_OUTPUT(entropies, "entropies", SRP_F32, a.N),
    SRP_OUTPUT(log_sum_exps, "logSumExps", SRP_F32, a.N),
    SRP_OUTPUT(max_logits, "maxLogits", SRP_F32, a.N),
    SRP_OUTPUT(log1p_sums, "log1pSums", SRP_F32, a.N),
    SRP_OUTPUT(mean_gaps, "meanGaps", SRP_F32, a.N),
    SRP_OUTPUT(sum_squares, "sumSquares", SRP_F32, a.N),
};
}  // namespace logprob_merge

namespace loss_token {
using Args = srp_loss_token_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(form, "form"),
    SRP_NUMBER(old_log_probs_per_row, "oldLogProbsPerRow"),
    SRP_NUMBER(advantages_per_token, "advantagesPerToken"),
    SRP_NUMBER(factors_per_token, "factorsPerToken"),
    SRP_NUMBER(reduce, "reduce"),
    SRP_NUMBER(figure_count, "figureCount"),
    SRP_NUMBER(parameters.clip_low, "parameters.clipLow"),
    SRP_NUMBER(parameters.clip_high, "parameters.clipHigh"),
    SRP_NUMBER(parameters.dual_clip, "parameters.dualClip"),
    SRP_NUMBER(parameters.ratio_cap, "parameters.ratioCap"),
    SRP_NUMBER(parameters.log_clamp, "parameters.logClamp"),
    SRP_NUMBER(parameters.max_log_ratio, "parameters.maxLogRatio"),
    SRP_NUMBER(parameters.temperature_positive, "parameters.temperaturePositive"),
    SRP_NUMBER(parameters.temperature_negative, "parameters.temperatureNegative"),
    SRP_NUMBER(parameters.coefficient, "parameters.coefficient"),
    SRP_NUMBER(parameters.shape_positive, "parameters.shapePositive"),
    SRP_NUMBER(parameters.rate_positive, "parameters.ratePositive"),
    SRP_NUMBER(parameters.shape_negative, "parameters.shapeNegative"),
    SRP_NUMBER(parameters.rate_negative, "parameters.rateNegative"),
    SRP_NUMBER(parameters.count_epsilon, "parameters.countEpsilon"),
    SRP_NUMBER(kl.kind, "kl.kind"),
    SRP_NUMBER(kl.gradient_kind, "kl.gradientKind"),
    SRP_NUMBER(kl.times_ratio, "kl.timesRatio"),
    SRP_NUMBER(kl.coefficient, "kl.coefficient"),
    SRP_NUMBER(kl.log_clamp, "kl.logClamp"),
    SRP_NUMBER(kl.value_clamp, "kl.valueClamp"),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(old_log_probs, "oldLogProbs", kOwnDtype, (a.old_log_probs_per_row ? a.B : a.n)),
    SRP_INPUT(advantages, "advantages", kOwnDtype, (a.advantages_per_token ? a.n : a.B)),
    SRP_INPUT(factors, "factors", kOwnDtype, (a.factors_per_token ? a.n : a.B)),
    SRP_INPUT(reference_log_probs, "referenceLogProbs", kOwnDtype, a.n),
    SRP_INPUT(row_weights, "rowWeights", SRP_F64, a.B),
    SRP_INPUT(kl_row_weights, "klRowWeights", SRP_F64, a.B),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(term_mask, "termMask", SRP_U8, a.n),
    SRP_INPUT(marks, "marks", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(members, "members", SRP_I32, a.B),
    SRP_INPUT(group_offsets, "groupOffsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(losses, "losses", kOwnDtype, ((a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_GEOMETRIC) || a.form == SRP_ROW_SQUARED ? a.B : a.n)),
    SRP_OUTPUT(ratios, "ratios", kOwnDtype, (a.form >= SRP_ROW_CLIP ? a.B : a.n)),
    SRP_OUTPUT(kl_values, "klValues", kOwnDtype, a.n),
    SRP_OUTPUT(clipped, "clipped", SRP_U8, (a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_SQUARED ? a.B : a.n)),
    SRP_OUTPUT(grad_log_probs, "gradLogProbs", kOwnDtype, a.n),
    SRP_OUTPUT(figures, "figures", SRP_F64, times(a.B, a.figure_count)),
};
}  // namespace loss_token

namespace loss_row {
using Args = srp_loss_row_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(form, "form"),
    SRP_NUMBER(old_log_probs_per_row, "oldLogProbsPerRow"),
    SRP_NUMBER(advantages_per_token, "advantagesPerToken"),
    SRP_NUMBER(factors_per_token, "factorsPerToken"),
    SRP_NUMBER(reduce, "reduce"),
    SRP_NUMBER(figure_count, "figureCount"),
    SRP_NUMBER(parameters.clip_low, "parameters.clipLow"),
    SRP_NUMBER(parameters.clip_high, "parameters.clipHigh"),
    SRP_NUMBER(parameters.dual_clip, "parameters.dualClip"),
    SRP_NUMBER(parameters.ratio_cap, "parameters.ratioCap"),
    SRP_NUMBER(parameters.log_clamp, "parameters.logClamp"),
    SRP_NUMBER(parameters.max_log_ratio, "parameters.maxLogRatio"),
    SRP_NUMBER(parameters.temperature_positive, "parameters.temperaturePositive"),
    SRP_NUMBER(parameters.temperature_negative, "parameters.temperatureNegative"),
    SRP_NUMBER(parameters.coefficient, "parameters.coefficient"),
    SRP_NUMBER(parameters.shape_positive, "parameters.shapePositive"),
    SRP_NUMBER(parameters.rate_positive, "parameters.ratePositive"),
    SRP_NUMBER(parameters.shape_negative, "parameters.shapeNegative"),
    SRP_NUMBER(parameters.rate_negative, "parameters.rateNegative"),
    SRP_NUMBER(parameters.count_epsilon, "parameters.countEpsilon"),
    SRP_NUMBER(kl.kind, "kl.kind"),
    SRP_NUMBER(kl.gradient_kind, "kl.gradientKind"),
    SRP_NUMBER(kl.times_ratio, "kl.timesRatio"),
    SRP_NUMBER(kl.coefficient, "kl.coefficient"),
    SRP_NUMBER(kl.log_clamp, "kl.logClamp"),
    SRP_NUMBER(kl.value_clamp, "kl.valueClamp"),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(old_log_probs, "oldLogProbs", kOwnDtype, (a.old_log_probs_per_row ? a.B : a.n)),
    SRP_INPUT(advantages, "advantages", kOwnDtype, (a.advantages_per_token ? a.n : a.B)),
    SRP_INPUT(factors, "factors", kOwnDtype, (a.factors_per_token ? a.n : a.B)),
    SRP_INPUT(reference_log_probs, "referenceLogProbs", kOwnDtype, a.n),
    SRP_INPUT(row_weights, "rowWeights", SRP_F64, a.B),
    SRP_INPUT(kl_row_weights, "klRowWeights", SRP_F64, a.B),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(term_mask, "termMask", SRP_U8, a.n),
    SRP_INPUT(marks, "marks", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(members, "members", SRP_I32, a.B),
    SRP_INPUT(group_offsets, "groupOffsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(losses, "losses", kOwnDtype, ((a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_GEOMETRIC) || a.form == SRP_ROW_SQUARED ? a.B : a.n)),
    SRP_OUTPUT(ratios, "ratios", kOwnDtype, (a.form >= SRP_ROW_CLIP ? a.B : a.n)),
    SRP_OUTPUT(kl_values, "klValues", kOwnDtype, a.n),
    SRP_OUTPUT(clipped, "clipped", SRP_U8, (a.form == SRP_ROW_CLIP_ONCE || a.form == SRP_ROW_SQUARED ? a.B : a.n)),
    SRP_OUTPUT(grad_log_probs, "gradLogProbs", kOwnDtype, a.n),
    SRP_OUTPUT(figures, "figures", SRP_F64, times(a.B, a.figure_count)),
};
}  // namespace loss_row

namespace loss_logits {
using Args = srp_loss_logits_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(N, "N"),
    SRP_NUMBER(V, "V"),
    SRP_NUMBER(stride, "stride"),
    SRP_NUMBER(temperature, "temperature"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(softcap, "softcap"),
    SRP_NUMBER(form, "form"),
    SRP_NUMBER(parameters.clip_low, "parameters.clipLow"),
    SRP_NUMBER(parameters.clip_high, "parameters.clipHigh"),
    SRP_NUMBER(parameters.dual_clip, "parameters.dualClip"),
    SRP_NUMBER(parameters.ratio_cap, "parameters.ratioCap"),
    SRP_NUMBER(parameters.log_clamp, "parameters.logClamp"),
    SRP_NUMBER(parameters.max_log_ratio, "parameters.maxLogRatio"),
    SRP_NUMBER(parameters.temperature_positive, "parameters.temperaturePositive"),
    SRP_NUMBER(parameters.temperature_negative, "parameters.temperatureNegative"),
    SRP_NUMBER(parameters.coefficient, "parameters.coefficient"),
    SRP_NUMBER(parameters.shape_positive, "parameters.shapePositive"),
    SRP_NUMBER(parameters.rate_positive, "parameters.ratePositive"),
    SRP_NUMBER(parameters.shape_negative, "parameters.shapeNegative"),
    SRP_NUMBER(parameters.rate_negative, "parameters.rateNegative"),
    SRP_NUMBER(parameters.count_epsilon, "parameters.countEpsilon"),
    SRP_NUMBER(kl.kind, "kl.kind"),
    SRP_NUMBER(kl.gradient_kind, "kl.gradientKind"),
    SRP_NUMBER(kl.times_ratio, "kl.timesRatio"),
    SRP_NUMBER(kl.coefficient, "kl.coefficient"),
    SRP_NUMBER(kl.log_clamp, "kl.logClamp"),
    SRP_NUMBER(kl.value_clamp, "kl.valueClamp"),
    SRP_INPUT(logits, "logits", kOwnDtype, times(a.N, a.stride)),
    SRP_INPUT(targets, "targets", SRP_I32, a.N),
    SRP_INPUT(mask, "mask", SRP_U8, a.N),
    SRP_INPUT(old_log_probs, "oldLogProbs", SRP_F64, a.N),
    SRP_INPUT(advantages, "advantages", SRP_F64, a.N),
    SRP_INPUT(factors, "factors", SRP_F64, a.N),
    SRP_INPUT(reference_log_probs, "referenceLogProbs", SRP_F64, a.N),
    SRP_INPUT(weights, "weights", SRP_F64, a.N),
    SRP_INPUT(kl_weights, "klWeights", SRP_F64, a.N),
    SRP_INPUT(entropy_weights, "entropyWeights", SRP_F64, a.N),
    SRP_INPUT(term_mask, "termMask", SRP_U8, a.N),
    SRP_INPUT(marks, "marks", SRP_U8, a.N),
    SRP_OUTPUT(log_probs, "logProbs", SRP_F32, a.N),
    SRP_OUTPUT(entropies, "entropies", SRP_F32, a.N),
    SRP_OUTPUT(log_sum_exps, "logSumExps", SRP_F32, a.N),
    SRP_OUTPUT(max_logits, "maxLogits", SRP_F32, a.N),
    SRP_OUTPUT(log1p_sums, "log1pSums", SRP_F32, a.N),
    SRP_OUTPUT(mean_gaps, "meanGaps", SRP_F32, a.N),
    SRP_OUTPUT(sum_squares, "sumSquares", SRP_F32, a.N),
    SRP_IN_PLACE(grad_logits, "gradLogits", kOwnDtype, times(a.N, a.stride), 28),
};
}  // namespace loss_logits

namespace modulate_steps {
using Args = srp_modulate_steps_args;
const Field fields[] = {
    SRP_NUMBER(S, "S"),
    SRP_NUMBER(k, "k"),
    SRP_NUMBER(k_future, "kFuture"),
    SRP_NUMBER(epsilon, "epsilon"),
    SRP_NUMBER(finite, "finite"),
    SRP_INPUT(entropies, "entropies", SRP_F64, a.S),
    SRP_OUTPUT(entropy_norms, "entropyNorms", SRP_F64, a.S),
    SRP_OUTPUT(scales, "scales", SRP_F64, a.S),
    SRP_OUTPUT(clarities, "clarities", SRP_F64, a.S),
    SRP_INPUT(count, "count", SRP_I64, 1),
};
}  // namespace modulate_steps

namespace modulate_spans {
using Args = srp_modulate_spans_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(S, "S"),
    SRP_NUMBER(zeta, "zeta"),
    SRP_NUMBER(scope, "scope"),
    SRP_INPUT(advantages, "advantages", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(spans, "spans", SRP_I32, times(a.S, 3)),
    SRP_INPUT(scales, "scales", SRP_F64, a.S),
    SRP_INPUT(clarities, "clarities", SRP_F64, a.S),
    SRP_IN_PLACE(out, "out", kOwnDtype, a.n, 7),
    SRP_OUTPUT(mean, "mean", SRP_F64, 1),
    SRP_INPUT(count, "count", SRP_I64, 1),
};
}  // namespace modulate_spans

namespace modulate_rows {
using Args = srp_modulate_rows_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(form, "form"),
    SRP_NUMBER(negate, "negate"),
    SRP_NUMBER(epsilon, "epsilon"),
    SRP_NUMBER(beta, "beta"),
    SRP_NUMBER(z_clip, "zClip"),
    SRP_NUMBER(variance_floor, "varianceFloor"),
    SRP_NUMBER(low_positive, "lowPositive"),
    SRP_NUMBER(high_positive, "highPositive"),
    SRP_NUMBER(low_negative, "lowNegative"),
    SRP_NUMBER(high_negative, "highNegative"),
    SRP_NUMBER(empty_isolate, "emptyIsolate"),
    SRP_NUMBER(non_finite, "nonFinite"),
    SRP_NUMBER(singleton_one, "singletonOne"),
    SRP_NUMBER(singleton_zero_mean, "singletonZeroMean"),
    SRP_NUMBER(zero_one, "zeroOne"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(positive, "positive", SRP_U8, a.B),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(members, "members", SRP_I32, a.B),
    SRP_INPUT(group_offsets, "groupOffsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(sequence_entropies, "sequenceEntropies", SRP_F64, a.B),
    SRP_OUTPUT(group_mean_entropies, "groupMeanEntropies", SRP_F64, a.B),
    SRP_OUTPUT(entropy_ratios, "entropyRatios", SRP_F64, a.B),
    SRP_OUTPUT(weights, "weights", SRP_F64, a.B),
    SRP_OUTPUT(lengths, "lengths", SRP_I32, a.B),
    SRP_OUTPUT(valid, "valid", SRP_U8, a.B),
};
}  // namespace modulate_rows

namespace ratio_log {
using Args = srp_ratio_log_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(G, "G"),
    SRP_NUMBER(level, "level"),
    SRP_NUMBER(reduce, "reduce"),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(old_log_probs, "oldLogProbs", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(members, "members", SRP_I32, a.B),
    SRP_INPUT(group_offsets, "groupOffsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(log_ratios, "logRatios", kOwnDtype, (a.level == SRP_LEVEL_TOKEN ? a.n : (a.level == SRP_LEVEL_SEQUENCE ? a.B : a.G))),
    SRP_OUTPUT(ratios, "ratios", kOwnDtype, (a.level == SRP_LEVEL_TOKEN ? a.n : (a.level == SRP_LEVEL_SEQUENCE ? a.B : a.G))),
};
}  // namespace ratio_log

namespace reduce_moments {
using Args = srp_reduce_moments_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(nan_policy, "nanPolicy"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(partials, "partials", SRP_F64, times(a.B, SRP_MOMENTS)),
};
}  // namespace reduce_moments

namespace reduce_merge {
using Args = srp_reduce_merge_args;
const Field fields[] = {
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(G, "G"),
    SRP_INPUT(partials, "partials", SRP_F64, times(a.B, SRP_MOMENTS)),
    SRP_INPUT(members, "members", SRP_I32, a.B),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.G, 1)),
    SRP_OUTPUT(merged, "merged", SRP_F64, times(a.G, SRP_MOMENTS)),
};
}  // namespace reduce_merge

namespace reduce_whiten {
using Args = srp_reduce_whiten_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(units, "units"),
    SRP_NUMBER(over, "over"),
    SRP_NUMBER(center, "center"),
    SRP_NUMBER(scale, "scale"),
    SRP_NUMBER(ddof, "ddof"),
    SRP_NUMBER(count_epsilon, "countEpsilon"),
    SRP_NUMBER(epsilon, "epsilon"),
    SRP_NUMBER(variance_epsilon, "varianceEpsilon"),
    SRP_NUMBER(variance_floor, "varianceFloor"),
    SRP_NUMBER(keep_mean, "keepMean"),
    SRP_NUMBER(nan_policy, "nanPolicy"),
    SRP_NUMBER(transform_masked, "transformMasked"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(unit, "unit", SRP_I32, a.B),
    SRP_INPUT(moments, "moments", SRP_F64, times(a.units, SRP_MOMENTS)),
    SRP_IN_PLACE(out, "out", kOwnDtype, a.n, 16),
};
}  // namespace reduce_whiten

namespace reduce_affine {
using Args = srp_reduce_affine_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(transform_masked, "transformMasked"),
    SRP_NUMBER(divisor, "divisor"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(center, "center", SRP_F64, a.B),
    SRP_INPUT(scale, "scale", SRP_F64, a.B),
    SRP_IN_PLACE(out, "out", kOwnDtype, a.n, 6),
};
}  // namespace reduce_affine

namespace reduce_clamp {
using Args = srp_reduce_clamp_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(low, "low"),
    SRP_NUMBER(high, "high"),
    SRP_NUMBER(transform_masked, "transformMasked"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_IN_PLACE(out, "out", kOwnDtype, a.n, 7),
    SRP_OUTPUT(counts, "counts", SRP_I32, times(a.B, SRP_CLAMPED_COUNTS)),
};
}  // namespace reduce_clamp

namespace reduce_gamma {
using Args = srp_reduce_gamma_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(bound, "bound"),
    SRP_NUMBER(shape_positive, "shapePositive"),
    SRP_NUMBER(rate_positive, "ratePositive"),
    SRP_NUMBER(shape_negative, "shapeNegative"),
    SRP_NUMBER(rate_negative, "rateNegative"),
    SRP_NUMBER(all_factors, "allFactors"),
    SRP_INPUT(log_ratios, "logRatios", kOwnDtype, a.n),
    SRP_INPUT(factors, "factors", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_INPUT(signs, "signs", kOwnDtype, a.B),
    SRP_OUTPUT(weights, "weights", kOwnDtype, a.B),
    SRP_OUTPUT(log_weights, "logWeights", kOwnDtype, a.B),
};
}  // namespace reduce_gamma

namespace reduce_counts {
using Args = srp_reduce_counts_args;
const Field fields[] = {
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(counts, "counts", SRP_F64, a.B),
};
}  // namespace reduce_counts

namespace scan_gae {
using Args = srp_scan_gae_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(gamma, "gamma"),
    SRP_NUMBER(lambda, "lambda"),
    SRP_NUMBER(mask_mode, "maskMode"),
    SRP_NUMBER(transform_masked, "transformMasked"),
    SRP_INPUT(rewards, "rewards", kOwnDtype, a.n),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(gammas, "gammas", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(bootstrap, "bootstrap", kOwnDtype, a.B),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(advantages, "advantages", kOwnDtype, a.n),
    SRP_OUTPUT(returns, "returns", kOwnDtype, a.n),
};
}  // namespace scan_gae

namespace scan_returns {
using Args = srp_scan_returns_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(gamma, "gamma"),
    SRP_NUMBER(mask_mode, "maskMode"),
    SRP_NUMBER(transform_masked, "transformMasked"),
    SRP_INPUT(rewards, "rewards", kOwnDtype, a.n),
    SRP_INPUT(gammas, "gammas", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(bootstrap, "bootstrap", kOwnDtype, a.B),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(returns, "returns", kOwnDtype, a.n),
};
}  // namespace scan_returns

namespace scan_vtrace {
using Args = srp_scan_vtrace_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(gamma, "gamma"),
    SRP_NUMBER(lambda, "lambda"),
    SRP_NUMBER(rho_bar, "rhoBar"),
    SRP_NUMBER(c_bar, "cBar"),
    SRP_NUMBER(pg_rho_bar, "pgRhoBar"),
    SRP_NUMBER(mask_mode, "maskMode"),
    SRP_NUMBER(delta, "delta"),
    SRP_INPUT(rewards, "rewards", kOwnDtype, a.n),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(weights, "weights", kOwnDtype, a.n),
    SRP_INPUT(gammas, "gammas", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(bootstrap, "bootstrap", kOwnDtype, a.B),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(targets, "targets", kOwnDtype, a.n),
    SRP_OUTPUT(advantages, "advantages", kOwnDtype, a.n),
    SRP_OUTPUT(accumulated, "accumulated", kOwnDtype, a.n),
};
}  // namespace scan_vtrace

namespace scan_tail {
using Args = srp_scan_tail_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(gamma, "gamma"),
    SRP_NUMBER(mask_mode, "maskMode"),
    SRP_NUMBER(normalize, "normalize"),
    SRP_NUMBER(masked_weight, "maskedWeight"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(tails, "tails", kOwnDtype, a.n),
};
}  // namespace scan_tail

namespace scan_prefix {
using Args = srp_scan_prefix_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(exclusive, "exclusive"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(sum_squares, "sumSquares", kOwnDtype, a.n),
    SRP_INPUT(weights, "weights", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(terms, "terms", kOwnDtype, a.n),
    SRP_OUTPUT(sums, "sums", kOwnDtype, a.n),
};
}  // namespace scan_prefix

namespace scan_shares {
using Args = srp_scan_shares_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(gain, "gain"),
    SRP_NUMBER(epsilon, "epsilon"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(weights, "weights", kOwnDtype, a.n),
    SRP_OUTPUT(products, "products", kOwnDtype, a.n),
};
}  // namespace scan_shares

namespace select_quantile {
using Args = srp_select_quantile_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(over, "over"),
    SRP_NUMBER(q, "q"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(thresholds, "thresholds", SRP_F64, (a.over == SRP_OVER_ALL ? 1 : a.B)),
    SRP_OUTPUT(selected, "selected", SRP_U8, a.n),
};
}  // namespace select_quantile

namespace select_top {
using Args = srp_select_top_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(over, "over"),
    SRP_NUMBER(share, "share"),
    SRP_NUMBER(k, "k"),
    SRP_NUMBER(least, "least"),
    SRP_INPUT(values, "values", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_OUTPUT(selected, "selected", SRP_U8, a.n),
    SRP_OUTPUT(counts, "counts", SRP_I32, (a.over == SRP_OVER_ALL ? 1 : a.B)),
};
}  // namespace select_top

namespace select_covariance {
using Args = srp_select_covariance_args;
const Field fields[] = {
    SRP_NUMBER(dtype, "dtype"),
    SRP_NUMBER(n, "n"),
    SRP_NUMBER(B, "B"),
    SRP_NUMBER(T, "T"),
    SRP_NUMBER(advantages_per_token, "advantagesPerToken"),
    SRP_NUMBER(mode, "mode"),
    SRP_NUMBER(count_epsilon, "countEpsilon"),
    SRP_NUMBER(low, "low"),
    SRP_NUMBER(high, "high"),
    SRP_NUMBER(share, "share"),
    SRP_NUMBER(k, "k"),
    SRP_NUMBER(least, "least"),
    SRP_INPUT(advantages, "advantages", kOwnDtype, (a.advantages_per_token ? a.n : a.B)),
    SRP_INPUT(log_probs, "logProbs", kOwnDtype, a.n),
    SRP_INPUT(mask, "mask", SRP_U8, a.n),
    SRP_INPUT(excluded, "excluded", SRP_U8, a.n),
    SRP_INPUT(offsets, "offsets", SRP_I32, plus(a.B, 1)),
    SRP_IN_PLACE(selected, "selected", SRP_U8, a.n, 15),
    SRP_OUTPUT(counts, "counts", SRP_I32, 1),
};
}  // namespace select_covariance

}  // namespace

const char* const contracts = "db1cca79";

const std::vector<Op>& all_ops() {
  // Built once and never destroyed: a call on another thread may outlive static destruction at exit.
  static const std::vector<Op>& ops = *new std::vector<Op>{
      SRP_OP(correction_measure, "correctionMeasure", 8, 0),
      SRP_OP(correction_bound, "correctionBound", 10, 0),
      SRP_OP(delim_spans, "delimSpans", 15, 0),
      SRP_OP(delim_means, "delimMeans", 5, 0),
      SRP_OP(delim_mask, "delimMask", 4, 0),
      SRP_OP(delim_ngrams, "delimNgrams", 4, 0),
      SRP_OP(divergence_rows, "divergenceRows", 10, offsetof(divergence_rows::Args, N)),
      SRP_OP(divergence_top, "divergenceTop", 5, offsetof(divergence_top::Args, N)),
      SRP_OP(group_normalize, "groupNormalize", 11, 0),
      SRP_OP(group_softmax, "groupSoftmax", 5, 0),
      SRP_OP(group_tilt, "groupTilt", 6, 0),
      SRP_OP(group_entropy, "groupEntropy", 5, 0),
      SRP_OP(group_top2, "groupTop2", 3, 0),
      SRP_OP(group_columns, "groupColumns", 7, 0),
      SRP_OP(group_weigh, "groupWeigh", 9, 0),
      SRP_OP(group_broadcast, "groupBroadcast", 4, 0),
      SRP_OP(group_place, "groupPlace", 8, 0),
      SRP_OP(linear_forward, "linearForward", 9, 0),
      SRP_OP(linear_backward, "linearBackward", 10, 0),
      SRP_OP(logprob_forward, "logprobForward", 8, offsetof(logprob_forward::Args, N)),
      SRP_OP(logprob_backward, "logprobBackward", 10, offsetof(logprob_backward::Args, N)),
      SRP_OP(logprob_partial, "logprobPartial", 10, offsetof(logprob_partial::Args, N)),
      SRP_OP(logprob_merge, "logprobMerge", 6, 0),
      SRP_OP(loss_token, "lossToken", 31, 0),
      SRP_OP(loss_row, "lossRow", 31, 0),
      SRP_OP(loss_logits, "lossLogits", 28, offsetof(loss_logits::Args, N)),
      SRP_OP(modulate_steps, "modulateSteps", 5, 0),
      SRP_OP(modulate_spans, "modulateSpans", 7, 0),
      SRP_OP(modulate_rows, "modulateRows", 20, 0),
      SRP_OP(ratio_log, "ratioLog", 7, 0),
      SRP_OP(reduce_moments, "reduceMoments", 5, 0),
      SRP_OP(reduce_merge, "reduceMerge", 2, 0),
      SRP_OP(reduce_whiten, "reduceWhiten", 16, 0),
      SRP_OP(reduce_affine, "reduceAffine", 6, 0),
      SRP_OP(reduce_clamp, "reduceClamp", 7, 0),
      SRP_OP(reduce_gamma, "reduceGamma", 10, 0),
      SRP_OP(reduce_counts, "reduceCounts", 3, 0),
      SRP_OP(scan_gae, "scanGae", 8, 0),
      SRP_OP(scan_returns, "scanReturns", 7, 0),
      SRP_OP(scan_vtrace, "scanVtrace", 11, 0),
      SRP_OP(scan_tail, "scanTail", 8, 0),
      SRP_OP(scan_prefix, "scanPrefix", 5, 0),
      SRP_OP(scan_shares, "scanShares", 6, 0),
      SRP_OP(select_quantile, "selectQuantile", 6, 0),
      SRP_OP(select_top, "selectTop", 8, 0),
      SRP_OP(select_covariance, "selectCovariance", 12, 0),
  };
  return ops;
}

}  // namespace srp::binding
