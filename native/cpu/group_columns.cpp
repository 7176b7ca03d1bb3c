// Column baselines of the rows of a group (contract: surprisal/group.h), groups on threads; within a group a tile of columns at a time, and
// there row after row, the level's kernels for whole registers.
#include "backend.h"
#include "level.h"
#include "pool.h"
#include "shared/group.h"

namespace srp::cpu {
namespace {

// What a row has in a tile of columns.
struct Cut {
  int64_t begin;  // its first element
  int64_t count;
  const uint8_t* mask;  // of these elements, or NULL
};

template <class F>
class GroupColumns {
 public:
  GroupColumns(const srp_group_columns_args& a, int64_t g)
      : a_(a), first_(a.group_offsets[g]), rows_(a.group_offsets[g + 1] - first_) {
    for (int64_t k = 0; k < rows_; ++k) {
      const Range row = row_of(k);
      if (row.end - row.begin > width_) width_ = row.end - row.begin;
    }
    end_ = rows_ == 1 ? 0 : a.zero_tail ? second_longest() : width_;
  }

  void run() {
    for (int64_t t = 0; t < width_; t += kTileColumns) {
      ColumnTile tile = {};
      for (int64_t k = 0; t < end_ && k < rows_; ++k) add(cut_of(k, t), ahead_of(k), &tile);
      const int64_t left = end_ - t;
      settle(left < 0 ? 0 : left < kTileColumns ? left : kTileColumns, &tile);
      for (int64_t k = 0; k < rows_; ++k) write(cut_of(k, t), ahead_of(k), tile.baseline);
    }
  }

 private:
  Range row_of(int64_t k) const { return row_range(a_.offsets, a_.T, a_.n, member(a_.members, first_ + k)); }

  // Up to a kept token.
  int64_t second_longest() const {
    int64_t longest = 0, second = 0;
    for (int64_t k = 0; k < rows_; ++k) {
      const int64_t length = kept_length(a_.mask, row_of(k));
      if (length > longest) {
        second = longest;
        longest = length;
      } else if (length > second) {
        second = length;
      }
    }
    return second;
  }

  // From a row to the next one, and from the last one to the next tile of the first.
  int64_t ahead_of(int64_t k) const {
    return k + 1 < rows_ ? row_of(k + 1).begin - row_of(k).begin : row_of(0).begin + kTileColumns - row_of(k).begin;
  }

  Cut cut_of(int64_t k, int64_t t) const {
    const Range row = row_of(k);
    const int64_t begin = row.begin + t, left = row.end - begin;
    const int64_t count = left < 0 ? 0 : left < kTileColumns ? left : kTileColumns;
    return {begin, count, a_.mask && count > 0 ? a_.mask + begin : nullptr};
  }

  void add(const Cut& cut, int64_t ahead, ColumnTile* tile) const {
    const F* const values = static_cast<const F*>(a_.values) + cut.begin;
    const F* const weights = static_cast<const F*>(a_.weights) + cut.begin;
    // Most rows end in padding.
    const int64_t count = kept_length(cut.mask, {0, cut.count, true});
    int64_t t = level_ ? level_->add(values, weights, cut.mask, ahead, count, tile) : 0;
    for (; t < count; ++t) {
      if (cut.mask && !cut.mask[t]) continue;
      const double x = load(values, t), w = load(weights, t);
      if (tile->state[t] == 0) tile->first[t] = x;
      tile->state[t] = x != tile->first[t] ? 2 : tile->state[t] == 0 ? 1 : tile->state[t];
      tile->sum[t] += w * x;
      tile->weight[t] += w;
    }
  }

  // The baselines of the first `count` columns; those behind them are 0.
  void settle(int64_t count, ColumnTile* tile) const {
    int64_t t = level_ ? level_->settle(tile, a_.epsilon, count) : 0;
    for (; t < count; ++t) {
      const double state = tile->state[t];
      const Column column = {tile->sum[t], tile->weight[t], tile->first[t], state == 0, state < 2};
      tile->baseline[t] = column.baseline(a_, rows_, false);
    }
  }

  void write(const Cut& cut, int64_t ahead, const double* baseline) const {
    const F* const values = static_cast<const F*>(a_.values) + cut.begin;
    F* const baselines = a_.baselines ? static_cast<F*>(a_.baselines) + cut.begin : nullptr;
    F* const centred = a_.centred ? static_cast<F*>(a_.centred) + cut.begin : nullptr;
    int64_t t = level_ ? level_->write(values, cut.mask, baseline, ahead, cut.count, baselines, centred) : 0;
    for (; t < cut.count; ++t) {
      const bool kept = !cut.mask || cut.mask[t];
      if (baselines) store(baselines, t, kept ? baseline[t] : 0.0);
      if (centred) store(centred, t, kept ? load(values, t) - baseline[t] : 0.0);
    }
  }

  const srp_group_columns_args& a_;
  const int64_t first_, rows_;
  int64_t width_ = 0;
  int64_t end_;  // columns from here on have the baseline 0
  const ColumnKernels<F>* const level_ = kernels() ? &kernels()->floats.of<F>().columns : nullptr;
};

template <class F>
srp_status columns(const srp_group_columns_args& a) {
  constexpr int64_t kArrays = 4;
  return parallel_rows_of(a.G, a.n, kArrays * int64_t{sizeof(F)}, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) GroupColumns<F>(a, g).run();
  });
}

}  // namespace

srp_status group_columns(srp_queue*, const srp_group_columns_args* a) {
  SRP_TRY(check(a));
  SRP_TRY(check_offsets("offsets", a->offsets, a->B, a->n));
  SRP_TRY(check_offsets("group_offsets", a->group_offsets, a->G, a->B));
  SRP_TRY(check_indices("members", a->members, a->B, a->B));
  return a->dtype == SRP_F64 ? columns<double>(*a) : columns<float>(*a);
}

}  // namespace srp::cpu
