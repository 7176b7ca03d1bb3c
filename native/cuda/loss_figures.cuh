// The figures of a lane's tokens of a strip. There are at most eight, so the nine figures that count tokens share one word, six bits
// each, where nine float64 would take as many registers as there are left.
#pragma once
#include "row_strips.cuh"
#include "shared/loss.h"

namespace srp::cuda {

constexpr int kFigures = SRP_LOSS_FIGURES;

struct PackedCounts {
  static constexpr int kBits = 6;
  static_assert(kOfLane < 1 << kBits, "a figure counts a lane's tokens of a strip");

  unsigned long long word = 0;

  // Where a figure lies in the word, -1 for one that is a sum.
  static SRP_HD constexpr int place(int figure) {
    if (figure >= SRP_FIGURE_KEPT && figure <= SRP_FIGURE_LIMITED) return figure - SRP_FIGURE_KEPT;
    if (figure >= SRP_FIGURE_BELOW && figure <= SRP_FIGURE_OUTSIDE_NEGATIVE)
      return figure - SRP_FIGURE_BELOW + SRP_FIGURE_LIMITED - SRP_FIGURE_KEPT + 1;
    return -1;
  }

  SRP_HD void add(double*, int figure, bool says) {
    word += static_cast<unsigned long long>(says ? 1 : 0) << (kBits * place(figure));
  }
  SRP_HD double of(int figure) const {
    return static_cast<double>(static_cast<int>(word >> (kBits * place(figure))) & ((1 << kBits) - 1));
  }
};
using StripFigures = FiguresWith<PackedCounts>;

SRP_HD double number_of(const StripFigures& figures, int figure) {
  return PackedCounts::place(figure) < 0 ? figures.at[figure] : figures.counts.of(figure);
}

}  // namespace srp::cuda
