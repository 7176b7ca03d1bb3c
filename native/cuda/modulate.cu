// Entropy modulation (contract: surprisal/modulate.h).
//
//   steps  one block strides over all steps three times: extremes, sum of the weights, results
//   spans  one block a row walks the row's spans in order, tokens in parallel; a block sums the step mean; a third launch
//          subtracts it. Values stay float64 between the launches, so that each is rounded once
//   rows   one block a row for the masked mean, then one block a group for mu, sigma, ratios and weights
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/modulate_weights.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kStepThreads = 512;

__global__ void steps_kernel(srp_modulate_steps_args a, uint32_t* faults) {
  const int64_t S = checked_spans(a.found, a.S, faults);
  double low = INFINITY, high = -INFINITY;
  for (int64_t s = threadIdx.x; s < S; s += blockDim.x) {
    if (a.finite && !is_finite(a.entropy[s])) raise(faults, SRP_FAULT_FINITE);
    low = Min{}(low, a.entropy[s]);
    high = Max{}(high, a.entropy[s]);
  }
  low = block_reduce(low, Min{});
  high = block_reduce(high, Max{});
  double sum = 0;
  for (int64_t s = threadIdx.x; s < S; s += blockDim.x) sum += step_weights(a, low, high, s).calibrated;
  const double mean = block_sum(sum) / static_cast<double>(S);
  for (int64_t s = S + threadIdx.x; s < a.S; s += blockDim.x) {
    if (a.entropy_norm) a.entropy_norm[s] = 0;
    if (a.scale) a.scale[s] = 0;
    if (a.clarity) a.clarity[s] = 0;
  }
  for (int64_t s = threadIdx.x; s < S; s += blockDim.x) {
    const StepWeights weights = step_weights(a, low, high, s);
    if (a.entropy_norm) a.entropy_norm[s] = weights.norm;
    if (a.scale) a.scale[s] = weights.calibrated / (mean + a.epsilon);
    if (a.clarity) a.clarity[s] = weights.clarity;
  }
}

// What the three launches of modulate_spans hand to each other.
struct SpanScratch {
  double* modulated;  // [n]
  uint8_t* inside;  // [n] covered by a span
  double* first;  // [S] modulated advantage at a span's first token
};

// Spans are device data: a row out of bounds or out of order raises the flag. The walk below only ever looks at rows that
// exist and ranges inside them, whatever the order.
__global__ void check_spans_kernel(srp_modulate_spans_args a, double* first, uint32_t* faults) {
  const int64_t s = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (s >= checked_spans(a.found, a.S, faults)) return;
  first[s] = 0;
  const Span span = span_at(a.spans, s);
  const bool sorted = s == 0 || a.spans[3 * (s - 1)] <= a.spans[3 * s];
  if (span.row < 0 || span.row >= a.B || !sorted) raise(faults, SRP_FAULT_INDEX);
}

// The first span of row b or of a later row.
__device__ int64_t first_span(const srp_modulate_spans_args& a, int64_t b) {
  int64_t low = 0, high = a.S;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (a.spans[3 * middle] < b)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class F>
__global__ void walk_spans_kernel(srp_modulate_spans_args a, SpanScratch scratch, uint32_t* faults) {
  a.S = live_spans(a.found, a.S);
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += blockDim.x) {
    scratch.modulated[i] = load(static_cast<const F*>(a.advantages), i);
    scratch.inside[i] = 0;
  }
  // Every thread searches: the same few cached reads, and no broadcast to wait for.
  const int64_t begin = first_span(a, b);
  int64_t end = begin;
  for (; end < a.S && a.spans[3 * end] == b; ++end) {
    const Span span = span_at(a.spans, end);
    __syncthreads();  // the previous span may overlap this one, and other threads hold its tokens
    if (span.begin < 0 || span.finish <= span.begin || span.finish > row.end - row.begin) {
      if (threadIdx.x == 0) raise(faults, SRP_FAULT_INDEX);
      continue;
    }
    const double scale = a.scale[end], bonus = span_bonus(a, end);
    for (int64_t i = row.begin + span.begin + threadIdx.x; i < row.begin + span.finish; i += blockDim.x) {
      scratch.modulated[i] = scratch.modulated[i] * scale + bonus;
      scratch.inside[i] = 1;
    }
  }
  __syncthreads();  // first tokens are read when all spans are done
  for (int64_t s = begin + threadIdx.x; s < end; s += blockDim.x) {
    const int64_t i = row.begin + a.spans[3 * s + 1];
    if (i >= row.begin && i < row.end) scratch.first[s] = scratch.modulated[i];
  }
}

__global__ void step_mean_kernel(srp_modulate_spans_args a, const double* first) {
  a.S = live_spans(a.found, a.S);
  double sum = 0;
  for (int64_t s = threadIdx.x; s < a.S; s += blockDim.x) sum += first[s];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *a.mean = a.S > 0 ? sum / static_cast<double>(a.S) : 0;
}

template <class F>
__global__ void subtract_mean_kernel(srp_modulate_spans_args a, SpanScratch scratch) {
  a.S = live_spans(a.found, a.S);
  const int64_t b = blockIdx.x;
  const Range row = row_range(a.offsets, a.T, a.n, b);  // its fault was raised by the walk
  const double mean = a.S > 0 ? *a.mean : 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += blockDim.x) {
    const double value = scratch.modulated[i];
    store(static_cast<F*>(a.out), i, a.S > 0 && in_scope(a, i, scratch.inside[i] != 0) ? value - mean : value);
  }
}

template <class F>
srp_status launch_spans(srp_queue* queue, const srp_modulate_spans_args& a) {
  const Scratch modulated(queue, static_cast<size_t>(a.n) * sizeof(double));
  const Scratch inside(queue, static_cast<size_t>(a.n));
  const Scratch first(queue, static_cast<size_t>(a.S) * sizeof(double));
  SRP_TRY(modulated.status());
  SRP_TRY(inside.status());
  SRP_TRY(first.status());
  const SpanScratch scratch = {modulated.as<double>(), inside.as<uint8_t>(), first.as<double>()};
  if (a.S > 0)
    SRP_LAUNCH(check_spans_kernel, dim3(blocks_for(a.S, kThreads)), dim3(kThreads), 0, queue->stream, a, scratch.first,
               queue->faults);
  const dim3 rows(static_cast<unsigned>(a.B));
  if (a.B > 0) SRP_LAUNCH((walk_spans_kernel<F>), rows, dim3(kThreads), 0, queue->stream, a, scratch, queue->faults);
  SRP_LAUNCH(step_mean_kernel, dim3(1), dim3(kStepThreads), 0, queue->stream, a, scratch.first);
  if (a.B > 0) SRP_LAUNCH((subtract_mean_kernel<F>), rows, dim3(kThreads), 0, queue->stream, a, scratch);
  return launched("modulate_spans");
}

template <class F>
__global__ void measure_rows_kernel(srp_modulate_rows_args a, double* entropy, int32_t* length, uint32_t* faults) {
  const int64_t b = blockIdx.x;
  const Range row = checked_row(a.offsets, a.T, a.n, b, faults);
  double sum = 0;
  int kept = 0;
  for (int64_t i = row.begin + threadIdx.x; i < row.end; i += blockDim.x) {
    if (a.mask && !a.mask[i]) continue;
    sum += load(static_cast<const F*>(a.entropy), i);
    ++kept;
  }
  sum = block_sum(sum);
  kept = block_sum(kept);
  if (threadIdx.x != 0) return;
  entropy[b] = kept > 0 ? (a.negate ? -sum : sum) / kept : 0;
  length[b] = kept;
}

// The row of item i of a group, or -1 where members points outside.
__device__ __forceinline__ int64_t checked_member(const srp_modulate_rows_args& a, int64_t i) {
  const int64_t b = member(a.members, i);
  return b >= 0 && b < a.B ? b : -1;
}

__global__ void weigh_rows_kernel(srp_modulate_rows_args a, const double* entropy, const int32_t* length,
                                  uint32_t* faults) {
  const Range group = checked_row(a.group_offsets, 0, a.B, blockIdx.x, faults);
  double sum = 0;
  int count = 0;
  for (int64_t i = group.begin + threadIdx.x; i < group.end; i += blockDim.x) {
    const int64_t b = checked_member(a, i);
    if (b < 0) {
      raise(faults, SRP_FAULT_INDEX);
      continue;
    }
    if (row_poisons(a, entropy[b])) sum = NAN;
    if (!row_valid(a, entropy[b], length[b])) continue;
    sum += entropy[b];
    ++count;
  }
  sum = block_sum(sum);
  count = block_sum(count);
  const double mean = count > 0 ? sum / count : static_cast<double>(NAN);
  double squares = 0;
  for (int64_t i = group.begin + threadIdx.x; i < group.end; i += blockDim.x) {
    const int64_t b = checked_member(a, i);
    if (b >= 0 && row_valid(a, entropy[b], length[b])) squares += (entropy[b] - mean) * (entropy[b] - mean);
  }
  const GroupEntropy statistics = entropy_statistics(a, count, mean, block_sum(squares));
  for (int64_t i = group.begin + threadIdx.x; i < group.end; i += blockDim.x) {
    const int64_t b = checked_member(a, i);
    if (b < 0) continue;
    const bool valid = row_valid(a, entropy[b], length[b]);
    const double ratio = row_ratio(a, statistics, entropy[b], valid);
    if (a.sequence_entropy) a.sequence_entropy[b] = entropy[b];
    if (a.group_mean) a.group_mean[b] = statistics.mean;
    if (a.ratio) a.ratio[b] = ratio;
    if (a.weight) a.weight[b] = row_weight(a, b, ratio);
    if (a.length) a.length[b] = length[b];
    if (a.valid) a.valid[b] = valid;
  }
}

}  // namespace

srp_status modulate_steps(srp_queue* queue, const srp_modulate_steps_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->S == 0) return SRP_OK;
  SRP_LAUNCH(steps_kernel, dim3(1), dim3(kStepThreads), 0, queue->stream, *a, queue->faults);
  return launched("modulate_steps");
}

srp_status modulate_spans(srp_queue* queue, const srp_modulate_spans_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("modulate_spans", a->B));
  SRP_TRY(check_grid("modulate_spans", a->S / kThreads + 1));
  SRP_TRY(enter(queue));
  return a->dtype == SRP_F64 ? launch_spans<double>(queue, *a) : launch_spans<float>(queue, *a);
}

srp_status modulate_rows(srp_queue* queue, const srp_modulate_rows_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("modulate_rows", a->B));
  SRP_TRY(check_grid("modulate_rows", a->G));
  SRP_TRY(enter(queue));
  if (a->B == 0 || a->G == 0) return SRP_OK;
  const Scratch entropy(queue, static_cast<size_t>(a->B) * sizeof(double));
  const Scratch length(queue, static_cast<size_t>(a->B) * sizeof(int32_t));
  SRP_TRY(entropy.status());
  SRP_TRY(length.status());
  const dim3 rows(static_cast<unsigned>(a->B)), groups(static_cast<unsigned>(a->G)), block(kThreads);
  if (a->dtype == SRP_F64)
    SRP_LAUNCH((measure_rows_kernel<double>), rows, block, 0, queue->stream, *a, entropy.as<double>(),
               length.as<int32_t>(), queue->faults);
  else
    SRP_LAUNCH((measure_rows_kernel<float>), rows, block, 0, queue->stream, *a, entropy.as<double>(),
               length.as<int32_t>(), queue->faults);
  SRP_LAUNCH(weigh_rows_kernel, groups, block, 0, queue->stream, *a, entropy.as<double>(), length.as<int32_t>(),
             queue->faults);
  return launched("modulate_rows");
}

}  // namespace srp::cuda
