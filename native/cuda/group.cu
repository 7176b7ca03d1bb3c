// Group statistics (contract: surprisal/group.h). A team of threads takes a group and strides over its items; the team is a
// warp where groups are small and a block where they are large. Both walk any group, the choice is about speed only, and
// it depends on sizes alone, so that results repeat bit for bit.
#include "backend.cuh"
#include "common.cuh"
#include "surprisal/group_steps.h"

namespace srp::cuda {
namespace {

constexpr int kThreads = 256;
// Items per group (tokens per row) from which a block is used: below, most of its threads would have nothing to do.
constexpr int64_t kBlockFrom = 512;

struct WarpTeam {
  static constexpr int kTeams = kThreads / kWarp;  // per block
  static __device__ int rank() { return threadIdx.x % kWarp; }
  static __device__ int size() { return kWarp; }
  static __device__ int index() { return threadIdx.x / kWarp; }
  template <class T, class Combine>
  static __device__ T reduce(T value, Combine combine) {
    return warp_reduce(value, combine);
  }
};

struct BlockTeam {
  static constexpr int kTeams = 1;
  static __device__ int rank() { return threadIdx.x; }
  static __device__ int size() { return blockDim.x; }
  static __device__ int index() { return 0; }
  template <class T, class Combine>
  static __device__ T reduce(T value, Combine combine) {
    return block_reduce(value, combine);
  }
};

// The items of a group that this thread of the team visits. A member outside the values raises the flag and is left out.
template <class Team, class Visit>
__device__ void each_item(const int32_t* members, int64_t n, Range group, uint32_t* faults, Visit visit) {
  for (int64_t k = group.begin + Team::rank(); k < group.end; k += Team::size()) {
    const int64_t i = member(members, k);
    if (i < 0 || i >= n) {
      raise(faults, SRP_FAULT_INDEX);
      continue;
    }
    visit(i);
  }
}

template <class Team>
__device__ Range team_range(const int32_t* offsets, int64_t T, int64_t n, int64_t g, uint32_t* faults) {
  const Range range = row_range(offsets, T, n, g);
  if (!range.valid && Team::rank() == 0) raise(faults, SRP_FAULT_OFFSETS);
  return range;
}

struct Normalize {
  using Args = srp_group_normalize_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.G; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t g, uint32_t* faults) {
    const Range group = team_range<Team>(a.offsets, 0, a.n, g, faults);
    const F* const values = static_cast<const F*>(a.values);

    Tally tally;
    each_item<Team>(a.members, a.n, group, faults,
                    [&](int64_t i) { tally.add(load(values, i), item_weight<F>(a.weights, i)); });
    tally.sum = Team::reduce(tally.sum, Sum{});
    tally.weight = Team::reduce(tally.weight, Sum{});
    tally.low = Team::reduce(tally.low, Min{});
    tally.high = Team::reduce(tally.high, Max{});
    tally.numbers = Team::reduce(tally.numbers, Sum{});

    GroupStatistics statistics(a, tally, group.end - group.begin);
    if (statistics.wants_deviations()) {  // the same for the whole team
      const double mean = statistics.mean();
      Deviations deviations;
      each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
        deviations.add(load(values, i), item_weight<F>(a.weights, i), mean, statistics.high());
      });
      deviations.sum = Team::reduce(deviations.sum, Sum{});
      deviations.squares = Team::reduce(deviations.squares, Sum{});
      if (a.center == SRP_CENTER_RUNNER_UP) {
        deviations.second = Team::reduce(deviations.second, Max{});
        deviations.winners = Team::reduce(deviations.winners, Sum{});
      }
      statistics.finish(a, deviations);
    }

    F* const normalized = static_cast<F*>(a.normalized);
    if (normalized)
      each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
        store(normalized, i, statistics.normalized(load(values, i), item_weight<F>(a.weights, i)));
      });
    if (Team::rank() != 0) return;
    if (a.mean) store(static_cast<F*>(a.mean), g, statistics.mean());
    if (a.std) store(static_cast<F*>(a.std), g, statistics.std());
    if (a.count) a.count[g] = statistics.count();
  }
};

struct Softmax {
  using Args = srp_group_softmax_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.G; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t g, uint32_t* faults) {
    const Range group = team_range<Team>(a.offsets, 0, a.n, g, faults);
    const F* const values = static_cast<const F*>(a.values);

    double largest = -INFINITY;
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
      const double x = load(values, i);
      if (x > largest) largest = x;  // passes over NaN; the sum does not
    });
    largest = Team::reduce(largest, Max{});

    const double shift = softmax_shift(largest);
    const auto term = [&](int64_t i) { return softmax_term(load(values, i), shift, a.temperature); };
    double sum = 0;
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) { sum += term(i); });
    sum = Team::reduce(sum, Sum{});

    F* const weights = static_cast<F*>(a.weights);
    const int64_t count = group.end - group.begin;
    if (weights)
      each_item<Team>(a.members, a.n, group, faults,
                      [&](int64_t i) { store(weights, i, with_floor(softmax_weight(term(i), sum), a.floor, count)); });
    if (Team::rank() != 0) return;
    if (a.lse) store(static_cast<F*>(a.lse), g, log_sum_exp(shift, sum, a.temperature));
    if (a.soft_mean) store(static_cast<F*>(a.soft_mean), g, soft_mean(shift, sum, a.temperature, count));
  }
};

struct Tilt {
  using Args = srp_group_tilt_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.G; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t g, uint32_t* faults) {
    const Range group = team_range<Team>(a.offsets, 0, a.n, g, faults);
    double largest = -INFINITY;
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
      const double z = tilt_exponent<F>(a, i);
      if (z > largest) largest = z;
    });
    const double shift = softmax_shift(Team::reduce(largest, Max{}));
    double sum = 0;
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) { sum += tilt_term<F>(a, shift, i); });
    sum = Team::reduce(sum, Sum{});
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
      store(static_cast<F*>(a.weights), i, softmax_weight(tilt_term<F>(a, shift, i), sum));
    });
  }
};

struct Entropy {
  using Args = srp_group_entropy_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.G; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t g, uint32_t* faults) {
    const Range group = team_range<Team>(a.offsets, 0, a.n, g, faults);
    const F* const values = static_cast<const F*>(a.values);
    double sum = 0, result = 0;
    if (a.normalized) {  // the same for the whole team
      each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) { sum += at_least(load(values, i), a.least); });
      sum = Team::reduce(sum, Sum{});
    }
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) { result += entropy_term<F>(a, sum, i); });
    result = Team::reduce(result, Sum{});
    if (Team::rank() != 0) return;
    if (a.entropy) store(static_cast<F*>(a.entropy), g, result);
    if (a.evenness) store(static_cast<F*>(a.evenness), g, evenness(result, group.end - group.begin));
  }
};

struct Weigh {
  using Args = srp_group_weigh_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.G; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t g, uint32_t* faults) {
    const Range group = team_range<Team>(a.offsets, 0, a.n, g, faults);
    const F* const values = static_cast<const F*>(a.values);
    Tally tally;
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) { tally.add(load(values, i), 1); });
    tally.low = Team::reduce(tally.low, Min{});
    tally.high = Team::reduce(tally.high, Max{});
    each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
      store(static_cast<F*>(a.weights), i, weigh(a, load(values, i), tally.low, tally.high));
    });
  }
};

// The best item of a group but `except`: largest value, ties to the smaller index; NaN never. -1 = none.
// Two reductions of one word each: the largest value, then the smallest index that has it.
template <class Team, class F>
__device__ int32_t best_item(const srp_group_top2_args& a, Range group, int32_t except, uint32_t* faults) {
  const F* const values = static_cast<const F*>(a.values);
  double largest = -INFINITY;
  each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
    const double x = load(values, i);
    if (i != except && x > largest) largest = x;
  });
  largest = Team::reduce(largest, Max{});
  int32_t best = INT32_MAX;  // no item: n is at most that
  each_item<Team>(a.members, a.n, group, faults, [&](int64_t i) {
    if (i != except && load(values, i) == largest && i < best) best = static_cast<int32_t>(i);
  });
  best = Team::reduce(best, Min{});
  return best == INT32_MAX ? -1 : best;
}

struct Top2 {
  using Args = srp_group_top2_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.G; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t g, uint32_t* faults) {
    const Range group = team_range<Team>(a.offsets, 0, a.n, g, faults);
    const int32_t best = best_item<Team, F>(a, group, -1, faults);
    const int32_t second = best_item<Team, F>(a, group, best, faults);
    if (Team::rank() != 0) return;
    const F* const values = static_cast<const F*>(a.values);
    a.best[g] = best;
    a.second[g] = second;
    if (a.best_value) store(static_cast<F*>(a.best_value), g, best < 0 ? NAN : load(values, best));
    if (a.second_value) store(static_cast<F*>(a.second_value), g, second < 0 ? NAN : load(values, second));
  }
};

struct Broadcast {
  using Args = srp_group_broadcast_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.B; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t b, uint32_t* faults) {
    const Range range = team_range<Team>(a.offsets, a.T, a.n, b, faults);
    const double row = load(static_cast<const F*>(a.row), b);
    const double value = a.factor ? row * load(static_cast<const F*>(a.factor), b) : row;
    F* const out = static_cast<F*>(a.out);
    for (int64_t i = range.begin + Team::rank(); i < range.end; i += Team::size())
      store(out, i, !a.mask || a.mask[i] ? value : 0.0);
  }
};

struct Place {
  using Args = srp_group_place_args;
  static __host__ __device__ int64_t count(const Args& a) { return a.B; }

  template <class Team, class F>
  static __device__ void run(const Args& a, int64_t b, uint32_t* faults) {
    const Range range = team_range<Team>(a.offsets, a.T, a.n, b, faults);
    int64_t last = -1;
    for (int64_t i = range.begin + Team::rank(); i < range.end; i += Team::size())
      if (!a.mask || a.mask[i]) last = i;
    last = Team::reduce(last, Max{});
    F* const out = static_cast<F*>(a.out);
    for (int64_t i = range.begin + Team::rank(); i < range.end; i += Team::size())
      store(out, i, i == last && a.row ? place_token<F>(a, i) + place_row<F>(a, b) : place_token<F>(a, i));
  }
};

template <class Op, class Team, class F>
__global__ void group_kernel(typename Op::Args a, uint32_t* faults) {
  const int64_t number = blockIdx.x * static_cast<int64_t>(Team::kTeams) + Team::index();
  if (number >= Op::count(a)) return;  // a whole team or nobody: reductions stay complete
  Op::template run<Team, F>(a, number, faults);
}

template <class Op, class Team>
void launch_teams(srp_queue* queue, const typename Op::Args& a) {
  const dim3 grid(blocks_for(Op::count(a), Team::kTeams)), block(kThreads);
  if (a.dtype == SRP_F64)
    SRP_LAUNCH((group_kernel<Op, Team, double>), grid, block, 0, queue->stream, a, queue->faults);
  else
    SRP_LAUNCH((group_kernel<Op, Team, float>), grid, block, 0, queue->stream, a, queue->faults);
}

template <class Op>
srp_status launch(srp_queue* queue, const typename Op::Args* a, const char* op) {
  SRP_TRY(check(a));
  const int64_t count = Op::count(*a);
  SRP_TRY(check_grid(op, count));
  SRP_TRY(enter(queue));
  if (count == 0) return SRP_OK;  // a grid of size 0 is a CUDA error
  if (a->n / count >= kBlockFrom)
    launch_teams<Op, BlockTeam>(queue, *a);
  else
    launch_teams<Op, WarpTeam>(queue, *a);
  return launched(op);
}

}  // namespace

srp_status group_normalize(srp_queue* queue, const srp_group_normalize_args* a) {
  return launch<Normalize>(queue, a, "group_normalize");
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
srp_status group_broadcast(srp_queue* queue, const srp_group_broadcast_args* a) {
  return launch<Broadcast>(queue, a, "group_broadcast");
}
srp_status group_place(srp_queue* queue, const srp_group_place_args* a) {
  return launch<Place>(queue, a, "group_place");
}

}  // namespace srp::cuda
