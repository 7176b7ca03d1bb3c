// Spans between delimiters (contract: surprisal/delim.h). Integers only, so the result equals the CPU's exactly.
//
//   marks   the one pass over the tokens, for all alternatives of start, end and head: a bit a token and delimiter, set where one
//           matches. A table of first ids in shared memory rules out most tokens; a warp takes 256 of them, with the next ones on
//           their way, and keeps the few that are left until there is one for each lane to look at
//   pairs   a warp a row walks from mark to mark as the CPU does, 1024 tokens' marks in its registers: to count the row's
//           spans, and once the counts of all rows before are known (look_back.cuh), to write them. Fewer than four rows for each multiprocessor that may have
//           more than 2048 tokens would leave most of a GPU idle: there each row is walked by many threads (delim_long.cuh)
//
// Minimum bytes: 4 n (tokens; int64: 8 n) + 12 bytes a span, 8 more with alternatives. The marks add n / 8 bytes for each
// delimiter, twice.
#include "backend.cuh"
#include "delim_chain.cuh"
#include "look_back.cuh"
#include "vector.cuh"

namespace srp::cuda {
namespace {

constexpr int kMarkThreads = 256, kTokensOfLane = 8;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class Id>
constexpr int kMarkBlocks = 4;  // a multiprocessor of sm_75 holds 1024 threads
#else
template <class Id>
constexpr int kMarkBlocks = sizeof(Id) > 4 ? 4 : 5;
#endif
constexpr int64_t kMarkTokens = int64_t{kMarkThreads} * kTokensOfLane;
constexpr int kRowsPerBlock = kPairThreads / kWarp;
constexpr int64_t kManyRows = 4;  // for each multiprocessor: a warp a row
constexpr int64_t kLongRow = 2 * kTileTokens;
constexpr int kDelimiters = 3;  // start, end, head
constexpr int kTableWords = 4096 / 4;  // a byte an id's hash, a bit of it a delimiter
constexpr int kMarkWarps = kMarkThreads / kWarp, kWarpTokens = kWarp * kTokensOfLane;
constexpr int kWaiting =
    2 * kWarp;  // candidates of a warp: up to a lane's each, and those of one token more of every lane

__device__ __forceinline__ Delimiter delimiter_of(const srp_delim_spans_args& a, int d) {
  return d == 0 ? start_of(a) : d == 1 ? end_of(a) : head_of(a);
}

// ---- marks

// Which delimiters an id may begin. All threads of the block call it.
__device__ void fill_table(const srp_delim_spans_args& a, uint32_t* table, uint32_t* faults) {
  for (int w = threadIdx.x; w < kTableWords; w += blockDim.x) table[w] = 0;
  __syncthreads();
  for (int d = 0; d < kDelimiters; ++d) {
    const Delimiter delimiter = delimiter_of(a, d);
    // The host could not read the alternatives. A bad one never matches, and the first block reports it.
    const bool reports = blockIdx.x == 0;
    const bool whole =
        delimiter.count == 0 || (delimiter.offsets[0] == 0 && delimiter.offsets[delimiter.count] == delimiter.size);
    if (!whole && reports && threadIdx.x == 0) raise(faults, SRP_FAULT_OFFSETS);
    for (int64_t k = threadIdx.x; k < delimiter.count; k += blockDim.x) {
      const Range alternative = row_range(delimiter.offsets, 0, delimiter.size, k);
      if (!alternative.valid || alternative.begin == alternative.end) {
        if (reports) raise(faults, SRP_FAULT_OFFSETS);
        continue;
      }
      const uint32_t hash = first_id_bit(delimiter.ids[alternative.begin]);
      atomicOr(table + hash / 4, 1u << (hash % 4 * 8 + d));
    }
  }
  __syncthreads();
}

// The row of token i; if offsets go down, some row, which need not hold it.
__device__ int64_t row_of(const srp_delim_spans_args& a, int64_t i) {
  if (a.B == 1) return 0;
  return a.offsets ? row_at(a.offsets, i, 0, a.B) : i / a.T;
}

// Those of `candidates` that do match at token i. One that is no int32 is an error, unless it lies behind the valid tokens of
// its row.
// The first match of a row's head goes to `heads`, if there are any.
template <class Id>
__device__ uint32_t matching(const srp_delim_spans_args& a, const Id* tokens, int64_t i, uint32_t candidates,
                             unsigned long long* heads, uint32_t* faults) {
  const int64_t b = row_of(a, i);
  const Range row = token_range(a, b);
  if (!row.valid || i < row.begin || i >= row.end) return 0;
  if (sizeof(Id) > 4 && !is_int32(tokens[i])) raise(faults, SRP_FAULT_INDEX);
  uint32_t found = 0;
  for (int d = 0; d < kDelimiters; ++d) {
    if (!(candidates >> d & 1)) continue;
    const Match match = match_at(delimiter_of(a, d), tokens + row.begin, row.end - row.begin, i - row.begin);
    if (match.alternative >= 0) found |= 1u << d;
  }
  if (heads && found >> 2 & 1) atomicMax(heads + b, ~static_cast<unsigned long long>(i - row.begin));
  return found;
}

// The tokens of a lane among those of its warp: 16 bytes next to each other, then those 32 times as far on.
template <class Id>
struct LaneTokens {
  static constexpr int kEach = 16 / static_cast<int>(sizeof(Id));
  Id ids[kTokensOfLane];

  __device__ static int place(int k) {
    return (k / kEach * kWarp + static_cast<int>(threadIdx.x) % kWarp) * kEach + k % kEach;
  }

  // Those from n on are 0.
  __device__ __forceinline__ void load(const Id* tokens, int64_t begin, int64_t n, bool aligned) {
    if (aligned && begin + kWarpTokens <= n) {
      SRP_UNROLL
      for (int k = 0; k < kTokensOfLane; k += kEach) {
        const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(tokens + begin + place(k)));
        memcpy(ids + k, &bits, sizeof bits);
      }
      return;
    }
    SRP_UNROLL
    for (int k = 0; k < kTokensOfLane; ++k) ids[k] = begin + place(k) < n ? tokens[begin + place(k)] : Id(0);
  }
};

// Tokens at which a delimiter may match, of a warp. All its lanes call these.
struct Candidates {
  int64_t* tokens;  // [kWaiting] of shared memory: the token, and three bits of which delimiters
  int count;

  __device__ __forceinline__ void add(bool mine, int64_t token, uint32_t those) {
    const unsigned lanes = __ballot_sync(kFullWarp, mine);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (mine) tokens[count + __popc(lanes & ((1u << lane) - 1))] = token << kDelimiters | those;
    count += __popc(lanes);
  }

  // Looks at the last of them, one a lane, and marks those that do match. The words of marks hold 0 or marks before.
  template <class Id>
  __device__ void settle(const srp_delim_spans_args& a, const Id* ids, uint32_t* marks, int64_t words,
                         unsigned long long* heads, uint32_t* faults) {
    __syncwarp();  // the queue is written, and so are the words
    const int own = count - 1 - static_cast<int>(threadIdx.x) % kWarp;
    if (own >= 0) {
      const int64_t token = tokens[own] >> kDelimiters;
      const uint32_t found = matching(a, ids, token, static_cast<uint32_t>(tokens[own]) & 7u, heads, faults);
      SRP_UNROLL
      for (int d = 0; d < kDelimiters; ++d)
        if (found >> d & 1) atomicOr(marks + d * words + token / kWarp, 1u << (token % kWarp));
    }
    count = count > kWarp ? count - kWarp : 0;
    __syncwarp();  // it is read
  }
};

// ledger    delim_spans
// bytes     4 n + n / 8 delimiters
// limit     memory
// notes     the one pass over the tokens, for all alternatives; delimiters: 2, or 3 with a head
// turn      8 of delim_marks_kernel<int>: 2 loads16; 4.25 bytes; at most 17.4, 17.5 on sm_89; must 0.7; before 25.3, 23.9 on sm_89
// measured  0.22 to 0.25 of a copy for 1e7 tokens, with the launches behind it
template <class Id>
__global__ void __launch_bounds__(kMarkThreads, kMarkBlocks<Id>)
    delim_marks_kernel(srp_delim_spans_args a, const Id* tokens, uint32_t* marks, int64_t words,
                       unsigned long long* heads, uint32_t* faults) {
  SRP_SHARED(uint32_t, table, kTableWords);
  SRP_SHARED(int64_t, waiting, kMarkWarps* kWaiting);
  fill_table(a, table, faults);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  Candidates candidates = {waiting + warp * kWaiting, 0};
  const bool aligned = aligned16(tokens);
  const int64_t step = gridDim.x * kMarkTokens;
  int64_t begin = blockIdx.x * kMarkTokens + warp * kWarpTokens;
  LaneTokens<Id> next;
  next.load(tokens, begin, a.n, aligned);
  for (; begin < a.n; begin += step) {
    const LaneTokens<Id> own = next;
    if (begin + step < a.n) next.load(tokens, begin + step, a.n, aligned);
    uint32_t known = 0;  // three bits a token
    SRP_UNROLL
    for (int k = 0; k < kTokensOfLane; ++k) {
      // The table is indexed by the low half of an int64 id; a match compares all of it, and one that is no int32 is looked at.
      const uint32_t hash = first_id_bit(static_cast<int32_t>(own.ids[k]));
      const uint32_t those = sizeof(Id) > 4 && !is_int32(own.ids[k]) ? 7u : table[hash / 4] >> (hash % 4 * 8) & 7u;
      known |= those << (kDelimiters * k);
    }
    const int64_t w = begin / kWarp + lane % kTokensOfLane;
    const int d = lane / kTokensOfLane;
    if (d < kDelimiters && w < words && (d < 2 || a.head_count > 0)) marks[d * words + w] = 0;
    while (__any_sync(kFullWarp, known != 0)) {
      const int k = known ? (__ffs(static_cast<int>(known)) - 1) / kDelimiters : 0;
      const int64_t token = begin + LaneTokens<Id>::place(k);
      const uint32_t those = known >> (kDelimiters * k) & 7u;
      known &= ~(7u << (kDelimiters * k));
      candidates.add(those != 0 && token < a.n, token, those);
      if (candidates.count >= kWarp) candidates.settle(a, tokens, marks, words, heads, faults);
    }
  }
  if (candidates.count > 0) candidates.settle(a, tokens, marks, words, heads, faults);
}

// ---- pairs

template <class Id, class Emit>
__device__ void walk_row(const srp_delim_spans_args& a, const Id* tokens, const uint32_t* marks, int64_t words,
                         const Range& row, Emit& emit) {
  MarkFinder<Id> start(start_of(a), marks, tokens, row), end(end_of(a), marks + words, tokens, row);
  RowWalk<MarkFinder<Id>, Emit> walk(a, row.end - row.begin, start, end, emit);
  if (a.head_count > 0) {
    MarkFinder<Id> head(head_of(a), marks + 2 * words, tokens, row);
    walk.head(head);
  }
  walk.spans();
}

// ledger    delim_spans
// bytes     n / 8 delimiters + 12 S + 8 S alternatives
// limit     latency
// notes     a warp a row goes from mark to mark twice; S: the number of spans
template <class Id>
__global__ void __launch_bounds__(kPairThreads)
    delim_pairs_kernel(srp_delim_spans_args a, const Id* tokens, const uint32_t* marks, int64_t words,
                       LookBack::Word* published, uint32_t* faults) {
  SRP_SHARED(int64_t, counts, kRowsPerBlock);
  SRP_SHARED(int64_t, spans_before, 1);
  const LookBack look_back(published);
  const int64_t block = look_back.enter();
  const int warp = threadIdx.x / kWarp;
  const int64_t b = block * kRowsPerBlock + warp;
  const bool lane0 = threadIdx.x % kWarp == 0;
  Range row = {0, 0, true};
  if (b < a.B) row = token_range(a, b);
  if (!row.valid && lane0) raise(faults, a.offsets ? SRP_FAULT_OFFSETS : SRP_FAULT_INDEX);
  SpanCount found = {0};
  if (b < a.B) walk_row(a, tokens, marks, words, row, found);
  if (lane0) counts[warp] = found.count;
  __syncthreads();
  int64_t total = 0, earlier = 0;  // of the block; of its rows before this one
  for (int w = 0; w < kRowsPerBlock; ++w) {
    if (w == warp) earlier = total;
    total += counts[w];
  }
  if (warp == 0) {
    const int64_t before = look_back.before(block, total);
    if (lane0) spans_before[0] = before;
    if (lane0 && block == int64_t{gridDim.x} - 1) *a.count = before + total;
  }
  __syncthreads();
  SpanWrite spans = {a, b, spans_before[0] + earlier, lane0};
  if (found.count > 0 && spans.next < a.capacity) walk_row(a, tokens, marks, words, row, spans);
}

// Launchers

template <class Id>
srp_status pair_rows(srp_queue* queue, const srp_delim_spans_args& a, const Id* tokens, const uint32_t* marks,
                     int64_t words) {
  const int64_t blocks = (a.B + kRowsPerBlock - 1) / kRowsPerBlock;
  SRP_TRY(check_grid("delim_spans", blocks));
  const size_t bytes = static_cast<size_t>(LookBack::words(blocks)) * sizeof(LookBack::Word);
  const Scratch published(queue, bytes);
  SRP_TRY(published.status());
  LookBack::Word* const memory = published.as<LookBack::Word>();
  SRP_TRY(check_cuda(cudaMemsetAsync(memory, 0, bytes, queue->stream), "delim_spans"));
  SRP_LAUNCH((delim_pairs_kernel<Id>), dim3(static_cast<unsigned>(blocks)), dim3(kPairThreads), 0, queue->stream, a,
             tokens, marks, words, memory, queue->faults);
  return launched("delim_spans");
}

template <class Id>
srp_status mark(srp_queue* queue, const srp_delim_spans_args& a, const Id* tokens, uint32_t* marks, int64_t words,
                unsigned long long* heads) {
  const int64_t blocks = (a.n + kMarkTokens - 1) / kMarkTokens;
  const int64_t at_work = int64_t{kMarkBlocks<Id>} * queue->multiprocessors;  // each fills a table first
  SRP_LAUNCH((delim_marks_kernel<Id>), dim3(static_cast<unsigned>(blocks < at_work ? blocks : at_work)),
             dim3(kMarkThreads), 0, queue->stream, a, tokens, marks, words, heads, queue->faults);
  return launched("delim_spans");
}

template <class Id>
srp_status find_in_long_rows(srp_queue* queue, const srp_delim_spans_args& a, const Id* tokens, uint32_t* marks,
                             int64_t words, int64_t longest) {
  const int64_t groups = (longest + kGroupTokens - 1) / kGroupTokens, items = a.B * groups;
  SRP_TRY(check_grid("delim_spans", items));
  const Scratch summaries(queue, static_cast<size_t>(items) * sizeof(TileSummary));
  SRP_TRY(summaries.status());
  const Scratch exits(queue, static_cast<size_t>(items) * sizeof(TileEntry));
  SRP_TRY(exits.status());
  const Scratch totals(queue, static_cast<size_t>(a.B) * sizeof(int64_t));
  SRP_TRY(totals.status());
  // The counter and the heads, then flags.
  const size_t bytes =
      static_cast<size_t>(1 + a.B) * sizeof(LookBack::Word) + static_cast<size_t>(2 * items + a.B) * sizeof(uint32_t);
  const Scratch cleared(queue, bytes);
  SRP_TRY(cleared.status());
  SRP_TRY(check_cuda(cudaMemsetAsync(cleared.as<void>(), 0, bytes, queue->stream), "delim_spans"));
  LookBack::Word* const started = cleared.as<LookBack::Word>();
  uint32_t* const flags = reinterpret_cast<uint32_t*>(started + 1 + a.B);
  const GroupChain chain = {summaries.as<TileSummary>(),
                            exits.as<TileEntry>(),
                            totals.as<int64_t>(),
                            flags,
                            flags + items,
                            flags + 2 * items,
                            started + 1,
                            started,
                            groups};
  SRP_TRY(mark(queue, a, tokens, marks, words, chain.heads));
  SRP_LAUNCH((delim_groups_kernel<Id>), dim3(static_cast<unsigned>(items)), dim3(kGroupThreads), 0, queue->stream, a,
             tokens, marks, words, chain, queue->faults);
  return launched("delim_spans");
}

template <class Id>
srp_status find_spans(srp_queue* queue, const srp_delim_spans_args& a, const Id* tokens) {
  const int64_t words = (a.n + kWarp - 1) / kWarp;
  const Scratch marks(queue, static_cast<size_t>(words) * kDelimiters * sizeof(uint32_t));
  SRP_TRY(marks.status());
  const int64_t longest = a.offsets ? a.n : a.T;  // that there may be
  if (!a.overlapping && a.B < kManyRows * queue->multiprocessors && longest > kLongRow)
    return find_in_long_rows(queue, a, tokens, marks.as<uint32_t>(), words, longest);
  SRP_TRY(mark(queue, a, tokens, marks.as<uint32_t>(), words, nullptr));
  return pair_rows(queue, a, tokens, marks.as<uint32_t>(), words);
}

}  // namespace

srp_status delim_spans(srp_queue* queue, const srp_delim_spans_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->n == 0 || a->B == 0)
    return check_cuda(cudaMemsetAsync(a->count, 0, sizeof(int64_t), queue->stream), "delim_spans");
  return a->dtype == SRP_I64 ? find_spans(queue, *a, static_cast<const int64_t*>(a->tokens))
                             : find_spans(queue, *a, static_cast<const int32_t*>(a->tokens));
}

}  // namespace srp::cuda
