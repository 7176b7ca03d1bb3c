// The candidates of a unit near a rank, found in one pass. A sample gives two values between which the rank should lie; candidates
// are counted below, between and above them, a register at a time, and only those between are ranked. If the sample misled, nothing
// is found and the caller ranks digit by digit: the result never depends on the sample.
#ifndef SURPRISAL_CPU_SELECT_SHORTLIST_H
#define SURPRISAL_CPU_SELECT_SHORTLIST_H

#include <math.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "level.h"
#include "pool.h"
#include "sizes.h"
#include "shared/select.h"

namespace srp::cpu {

// visit(i) for each flag of [range) that is kListed, in order.
template <class Visit>
void each_listed(const uint8_t* flags, Range range, Visit visit) {
  int64_t i = range.begin;
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; i + 8 <= range.end; i += 8) {
    uint64_t eight;
    memcpy(&eight, flags + i, sizeof eight);
    for (eight &= 0x0101010101010101u * kListed; eight != 0; eight &= eight - 1) visit(i + __builtin_ctzll(eight) / 8);
  }
#endif
  for (; i < range.end; ++i)
    if (flags[i] == kListed) visit(i);
}

template <class F>
class Shortlist {
 public:
  using Key = decltype(order_key(F{}));

  // Lists those of the `count` candidates of a unit whose ranks are near `first` ... `last`; flags are those of the kernel.
  // False if the list lacks one of these ranks, or there is no memory.
  bool build(const F* values, const uint8_t* mask, Range range, int64_t count, int64_t first, int64_t last,
             uint8_t* flags) {
    F low = -INFINITY, high = INFINITY;
    const int64_t length = range.end - range.begin;
    if (length > kWhole && !bracket(values, mask, range, count, first, last, &low, &high)) return false;
    if (parallel_list(values, mask, range, low, high, flags) != SRP_OK) return false;
    below_ = count - counts_.above - counts_.listed;  // NaN among them
    if (first < below_ || last >= below_ + counts_.listed) return false;
    if (!reserve(&keys_, &capacity_, counts_.listed) || !reserve(&places_, &places_capacity_, counts_.listed))
      return false;
    int64_t found = 0;
    each_listed(flags, range, [&](int64_t i) {
      keys_[found] = order_key(values[i]);
      places_[found++] = static_cast<int32_t>(i - range.begin);  // a unit has at most 2^31 - 1 positions
    });
    begin_ = range.begin;
    return true;
  }

  // visit(i) for each that is listed, in order.
  template <class Visit>
  void each(Visit visit) const {
    for (int64_t k = 0; k < counts_.listed; ++k) visit(begin_ + places_[k]);
  }

  bool has_nan() const { return counts_.nans > 0; }
  int64_t above() const { return counts_.above; }

  // The key at one of these ranks. The list is reordered: keys behind it are not smaller afterwards.
  Key at(int64_t rank) {
    Key* const place = keys_.get() + (rank - below_);
    std::nth_element(keys_.get(), place, keys_.get() + counts_.listed);
    return *place;
  }
  // The key at the rank behind that of the last call of at().
  Key behind(int64_t rank) const {
    return *std::min_element(keys_.get() + (rank - below_) + 1, keys_.get() + counts_.listed);
  }
  int64_t larger_than(Key key) const {
    return std::count_if(keys_.get(), keys_.get() + counts_.listed, [=](Key other) { return other > key; });
  }

 private:
  static constexpr int64_t kWhole = 1024;  // positions of a unit that is listed whole
  static constexpr int64_t kMostSampled = int64_t{1} << 16;

  template <class T>
  static bool reserve(std::unique_ptr<T[]>* memory, int64_t* capacity, int64_t count) {
    if (count <= *capacity) return true;
    memory->reset(new (std::nothrow) T[static_cast<size_t>(count)]);
    *capacity = *memory ? count : 0;
    return *capacity == count;
  }

  // Bounds that fail for one unit in some hundreds: three standard deviations of a rank in a sample. A sample
  // of n^(2/3) / 2 leaves about as much to rank as it costs.
  bool bracket(const F* values, const uint8_t* mask, Range range, int64_t count, int64_t first, int64_t last, F* low,
               F* high) {
    const int64_t length = range.end - range.begin;
    const double root = cbrt(static_cast<double>(length));
    const int64_t wanted = std::min(static_cast<int64_t>(root * root / 2), kMostSampled);
    if (!reserve(&sample_, &sample_capacity_, wanted)) return false;
    const int64_t stride = length / wanted;
    int64_t m = 0;
    for (int64_t j = 0; j < wanted; ++j) {
      const int64_t jitter = static_cast<int64_t>(static_cast<uint32_t>(j) * 2654435761u >> 8) %
                             stride;  // scattered, so that a periodic unit does not mislead the sample
      const int64_t i = range.begin + j * stride + jitter;
      if (candidate(mask, i) && values[i] == values[i]) sample_[m++] = values[i];
    }
    const auto place = [&](int64_t rank) { return (static_cast<double>(rank) + 0.5) / static_cast<double>(count); };
    const auto spread = [&](double p) { return 3 * sqrt(static_cast<double>(m) * p * (1 - p)) + 2; };
    const double from = static_cast<double>(m) * place(first) - spread(place(first));
    const double to = static_cast<double>(m) * place(last) + spread(place(last));
    F* const begin = sample_.get();
    F* const end = begin + m;
    F* middle = begin;
    if (from >= 0 && from < static_cast<double>(m)) {
      middle = begin + static_cast<int64_t>(from);
      std::nth_element(begin, middle, end);
      *low = *middle;
    }
    if (to >= 0 && to < static_cast<double>(m)) {
      F* const place_of_high = begin + static_cast<int64_t>(to);
      std::nth_element(middle, place_of_high, end);
      *high = *place_of_high;
    }
    return true;
  }

  srp_status parallel_list(const F* values, const uint8_t* mask, Range range, F low, F high, uint8_t* flags) {
    const Kernels* const level = kernels();
    const int64_t length = range.end - range.begin;
    if (length < sizes().parallel_bytes / int64_t{sizeof(F)}) {
      counts_ = level->floats.of<F>().list(values, mask, range.begin, range.end, low, high, flags);
      return SRP_OK;
    }
    std::atomic<int64_t> above{0}, listed{0}, nans{0};
    const srp_status status = parallel_pieces(length, sizes().piece_values, [&](int64_t begin, int64_t end) {
      const Listed part =
          level->floats.of<F>().list(values, mask, range.begin + begin, range.begin + end, low, high, flags);
      above += part.above;
      listed += part.listed;
      nans += part.nans;
    });
    counts_ = {above, listed, nans};
    return status;
  }

  Listed counts_ = {0, 0, 0};
  int64_t below_ = 0;
  std::unique_ptr<Key[]> keys_;
  std::unique_ptr<int32_t[]> places_;
  std::unique_ptr<F[]> sample_;
  int64_t capacity_ = 0, places_capacity_ = 0, sample_capacity_ = 0;
  int64_t begin_ = 0;
};

}  // namespace srp::cpu

#endif
