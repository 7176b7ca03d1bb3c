// The merge of shards (contract: surprisal/logprob.h): a thread a row. The ops that read logits: logprob_forward.cu,
// logprob_backward.cu.
//
// Minimum bytes: 8 (4 + K) P N + 4 bytes a row and output.
#include "backend.cuh"
#include "common.cuh"
#include "shared/logprob.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;

// ledger    logprob_merge
// bytes     8 (4 + K) P N + 4 N outputs
// limit     latency
// notes     a thread a row
__global__ void merge_kernel(srp_logprob_merge_args a, uint32_t* faults) {
  const int64_t n = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (n >= a.N) return;
  if (ignored(a, n)) return clear_row(a, n);
  const LogitMap map = LogitMap::of(a);
  const RowSums sums = merged_sums(a, map, n);
  if (!finds_targets(a, sums, n)) raise(faults, SRP_FAULT_INDEX);
  merge_row(a, map, sums, n);
}

}  // namespace

srp_status logprob_merge(srp_queue* queue, const srp_logprob_merge_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_grid("logprob_merge", a->N / kThreads + 1));
  SRP_TRY(enter(queue));
  if (a->N == 0) return SRP_OK;
  SRP_LAUNCH(merge_kernel, blocks_for(a->N, kThreads), kThreads, 0, queue->stream, *a, queue->faults);
  return launched("logprob_merge");
}

}  // namespace srp::cuda
