// Group statistics (contract: surprisal/group.h), each op in one launch. group_teams.cuh says which threads walk a group, and in which
// order; the launch chooses by the average size of a group, which changes no bit:
//
//   below 512 items  a warp a few groups: the statistics of a group, with divisions and a root, cost far more than an item, and in
//                    one lane of a warp as much as in 32, so as many groups as fit share it
//   512 and more     a block a group: with few groups, a warp for each would leave most warps idle
#include "backend.cuh"
#include "group_packing.cuh"

namespace srp::cuda {
namespace {

constexpr int64_t kBlockFrom = 512;

// Every op has run(a, walk, g, items, live, faults) for one group, which all threads of the group call.

template <class F, class Walk>
__device__ __forceinline__ void store_statistics(const srp_group_normalize_args& a, const Walk& walk, int64_t g,
                                                 const GroupStatistics& statistics) {
  if (!walk.leads()) return;
  if (a.means) store(static_cast<F*>(a.means), g, statistics.mean());
  if (a.stds) store(static_cast<F*>(a.stds), g, statistics.std());
  if (a.counts) a.counts[g] = statistics.count();
}

// The options of most calls. Those of the others would take registers and code here.
struct Normalize {
  using Args = srp_group_normalize_args;

  static bool takes(const Args& a) { return !a.weights && !a.centers && !a.spreads && GroupLine::knows(a); }

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t g, int64_t items, bool live,
                                             uint32_t*) {
    const PlainTally<F> tally = walk.template number_total<PlainTally<F>>([](PlainTally<F>& t, F x) { t.add(x); });
    GroupStatistics statistics(a, tally.whole(), items);
    if (Walk::any(live && statistics.wants_deviations())) {
      const double mean = statistics.mean();
      const PlainDeviations deviations =
          walk.template number_total<PlainDeviations>([&](PlainDeviations& d, F x) { d.add(x, mean); });
      if (statistics.wants_deviations()) statistics.finish(a, deviations.whole());
    }
    if (!live) return;
    if (a.normalized) {
      const GroupLine line = statistics.line();
      walk.number_write(static_cast<F*>(a.normalized), [&](F x) { return line.of(x); });
    }
    store_statistics<F>(a, walk, g, statistics);
  }
};

struct NormalizeAll {
  using Args = srp_group_normalize_args;

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t g, int64_t items, bool live,
                                             uint32_t*) {
    const Tally tally =
        walk.template rare_total<Tally>([&](Tally& t, int64_t i, double x) { t.add(x, item_weight<F>(a.weights, i)); });
    GroupStatistics statistics(a, tally, items);
    if (Walk::any(live && statistics.wants_deviations())) {
      const double mean = statistics.mean();
      const Deviations deviations = walk.template rare_total<Deviations>(
          [&](Deviations& d, int64_t i, double x) { d.add(x, item_weight<F>(a.weights, i), mean, statistics.high()); });
      if (statistics.wants_deviations()) statistics.finish(a, deviations);
    }
    if (!live) return;
    if (a.normalized)
      walk.rare_write(static_cast<F*>(a.normalized),
                      [&](int64_t i, double x) { return statistics.normalized(x, item_weight<F>(a.weights, i)); });
    if (a.centers)
      walk.rare_write(static_cast<F*>(a.centers),
                      [&](int64_t i, double x) { return statistics.center(x, item_weight<F>(a.weights, i)); });
    if (a.spreads)
      walk.rare_write(static_cast<F*>(a.spreads),
                      [&](int64_t i, double x) { return statistics.spread(x, item_weight<F>(a.weights, i)); });
    store_statistics<F>(a, walk, g, statistics);
  }
};

struct Softmax {
  using Args = srp_group_softmax_args;

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t g, int64_t items, bool live,
                                             uint32_t*) {
    const Largest largest = walk.template total<Largest>([](Largest& l, int64_t, double x) {
      if (x > l.number) l.number = x;  // a NaN is not larger; the sum still becomes NaN
    });
    const double shift = softmax_shift(largest.number);
    const double sum =
        walk.template total<Total>([&](Total& t, int64_t, double x) { t.sum += softmax_term(x, shift, a.temperature); })
            .sum;
    if (!live) return;
    if (a.weights)
      walk.write(static_cast<F*>(a.weights), [&](int64_t, double x) {
        return with_floor(softmax_weight(softmax_term(x, shift, a.temperature), sum), a.floor, items);
      });
    if (!walk.leads()) return;
    if (a.log_sum_exps) store(static_cast<F*>(a.log_sum_exps), g, log_sum_exp(shift, sum, a.temperature));
    if (a.soft_means) store(static_cast<F*>(a.soft_means), g, soft_mean(shift, sum, a.temperature, items));
  }
};

struct Tilt {
  using Args = srp_group_tilt_args;

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t, int64_t, bool live, uint32_t*) {
    const Largest largest = walk.template total<Largest>([&](Largest& l, int64_t i, double) {
      const double z = tilt_exponent<F>(a, i);
      if (z > l.number) l.number = z;
    });
    const double shift = softmax_shift(largest.number);
    const Total total =
        walk.template total<Total>([&](Total& t, int64_t i, double) { t.sum += tilt_term<F>(a, shift, i); });
    if (live)
      walk.write(static_cast<F*>(a.weights),
                 [&](int64_t i, double) { return softmax_weight(tilt_term<F>(a, shift, i), total.sum); });
  }
};

struct Entropy {
  using Args = srp_group_entropy_args;

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t g, int64_t items, bool live,
                                             uint32_t*) {
    Total whole;
    if (a.normalize)
      whole = walk.template total<Total>([&](Total& t, int64_t, double x) { t.sum += at_least(x, a.least); });
    const double entropy =
        walk.template total<Total>([&](Total& t, int64_t i, double) { t.sum += entropy_term<F>(a, whole.sum, i); }).sum;
    if (!live || !walk.leads()) return;
    if (a.entropies) store(static_cast<F*>(a.entropies), g, entropy);
    if (a.evennesses) store(static_cast<F*>(a.evennesses), g, evenness(entropy, items));
  }
};

struct Weigh {
  using Args = srp_group_weigh_args;

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t, int64_t, bool live, uint32_t*) {
    const Span span = walk.template total<Span>([](Span& s, int64_t, double x) {
      if (x < s.low) s.low = x;
      if (x > s.high) s.high = x;
    });
    if (live)
      walk.write(static_cast<F*>(a.weights), [&](int64_t, double x) { return weigh(a, x, span.low, span.high); });
  }
};

struct Top2 {
  using Args = srp_group_top2_args;

  // The best item other than `except`: the largest value, the smaller index on a tie. -1 = none. A NaN raises the queue's flag.
  template <class Walk>
  static __device__ __forceinline__ int32_t best_item(const Walk& walk, int32_t except, uint32_t* faults) {
    const Largest largest = walk.template total<Largest>([&](Largest& l, int64_t i, double x) {
      if (x != x) raise(faults, SRP_FAULT_FINITE);
      if (i != except && x > l.number) l.number = x;
    });
    const Smallest best = walk.template total<Smallest>([&](Smallest& s, int64_t i, double x) {
      if (i != except && x == largest.number && i < s.index) s.index = static_cast<int32_t>(i);
    });
    return best.index == INT32_MAX ? -1 : best.index;  // n is at most that
  }

  template <class F, class Walk>
  static __device__ __forceinline__ void run(const Args& a, const Walk& walk, int64_t g, int64_t, bool live,
                                             uint32_t* faults) {
    const int32_t best = best_item(walk, -1, faults), second = best_item(walk, best, faults);
    if (!live || !walk.leads()) return;
    const F* const values = static_cast<const F*>(a.values);
    a.best[g] = best;
    a.second[g] = second;
    if (a.best_values) store(static_cast<F*>(a.best_values), g, best < 0 ? NAN : load(values, best));
    if (a.second_values) store(static_cast<F*>(a.second_values), g, second < 0 ? NAN : load(values, second));
  }
};

// Blocks of a multiprocessor: the fewer registers a thread, the more items are on their way at once.
template <class Op>
constexpr int kTeamBlocks = 2;
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ >= 1000)
// With three, registers are spilled.
#else
template <>
constexpr int kTeamBlocks<Normalize> = 3;
#endif

// ledger    group_normalize, group_softmax, group_tilt, group_entropy, group_top2, group_weigh
// bytes     s n inputs + s n outputs + 4 n members + 4 G
// limit     memory
// notes     items once, in registers: 1 to 32 lanes a group; 8 MB take 2 us, so small batches are launch-bound
// variants  six ops by one packing of groups; code for the common options alone leaves a loop without branches for the others
// turn      8 of group_teams_kernel<Normalize, float>: 32 loaded, 32 stored, 48 float64; 8.5 bytes; at most 40.5, 41 on sm_89; must
//           0.5; before 75.9, 66 on sm_89
// measured  0.23 of a copy for ragged groups, which move four bytes at a time; more than a copy for groups of 8
template <class Op, class F>
__global__ void __launch_bounds__(kTeamThreads, kTeamBlocks<Op>)
    group_teams_kernel(typename Op::Args a, int batch, uint32_t* faults) {
  each_group_of_warp<F>(a, batch, faults, [&](const auto& walk, int64_t g, int64_t items, bool live) {
    Op::template run<F>(a, walk, g, items, live, faults);
  });
}

// ledger    group_normalize, group_softmax, group_tilt, group_entropy, group_top2, group_weigh
// bytes     s n inputs + s n outputs + 4 n members
// limit     memory
// notes     a block a group of more than 256 items, which later walks find in the cache
// variants  the same ops for groups that no team of lanes holds
// turn      4 of group_blocks_kernel<Normalize, float>: 8 loads, 4 float64, no stored + 8 loads, 12 float64, no stored + 8 loads,
//           16 stored, 16 float64; 9 bytes; at most 119, 117 on sm_89
template <class Op, class F>
__global__ void __launch_bounds__(kTeamThreads, 2) group_blocks_kernel(typename Op::Args a, uint32_t* faults) {
  group_of_block<F>(a, faults, [&](const auto& walk, int64_t g, int64_t items, bool live) {
    Op::template run<F>(a, walk, g, items, live, faults);
  });
}

template <class Op, class F>
srp_status launch_as(srp_queue* queue, const typename Op::Args& a, const char* op) {
  const int64_t items = a.n / a.G;
  if (items >= kBlockFrom) {
    SRP_TRY(check_grid(op, a.G));
    SRP_LAUNCH((group_blocks_kernel<Op, F>), dim3(static_cast<unsigned>(a.G)), dim3(kTeamThreads), 0, queue->stream, a,
               queue->faults);
    return launched(op);
  }
  const int batch = batch_for((a.n + a.G - 1) / a.G), of_block = batch * (kTeamThreads / kWarp);
  SRP_TRY(check_grid(op, a.G / of_block + 1));
  SRP_LAUNCH((group_teams_kernel<Op, F>), dim3(blocks_for(a.G, of_block)), dim3(kTeamThreads), 0, queue->stream, a,
             batch, queue->faults);
  return launched(op);
}

template <class Op>
srp_status launch(srp_queue* queue, const typename Op::Args* a, const char* op) {
  SRP_TRY(check(a));
  SRP_TRY(enter(queue));
  if (a->G == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  return a->dtype == SRP_F64 ? launch_as<Op, double>(queue, *a, op) : launch_as<Op, float>(queue, *a, op);
}

}  // namespace

srp_status group_normalize(srp_queue* queue, const srp_group_normalize_args* a) {
  SRP_TRY(check(a));  // before its options are read
  constexpr const char* kOp = "group_normalize";
  return Normalize::takes(*a) ? launch<Normalize>(queue, a, kOp) : launch<NormalizeAll>(queue, a, kOp);
}
srp_status group_softmax(srp_queue* queue, const srp_group_softmax_args* a) {
  return launch<Softmax>(queue, a, "group_softmax");
}
srp_status group_tilt(srp_queue* queue, const srp_group_tilt_args* a) { return launch<Tilt>(queue, a, "group_tilt"); }
srp_status group_entropy(srp_queue* queue, const srp_group_entropy_args* a) {
  return launch<Entropy>(queue, a, "group_entropy");
}
srp_status group_top2(srp_queue* queue, const srp_group_top2_args* a) { return launch<Top2>(queue, a, "group_top2"); }
srp_status group_weigh(srp_queue* queue, const srp_group_weigh_args* a) {
  return launch<Weigh>(queue, a, "group_weigh");
}

}  // namespace srp::cuda
