// A tile of columns of a group, and the kernels that a level has for it (group_columns.cpp, simd/columns.h).
#ifndef SURPRISAL_CPU_COLUMN_TILE_H
#define SURPRISAL_CPU_COLUMN_TILE_H

#include <stdint.h>

namespace srp::cpu {

// What the rows of a group have in some columns (shared/group.h).
constexpr int64_t kTileColumns = 512;
struct ColumnTile {
  alignas(64) double sum[kTileColumns], weight[kTileColumns];
  alignas(64) double first[kTileColumns];  // the first number
  alignas(64) double state[kTileColumns];  // 0: none yet, 1: all are the first one, 2: not
  alignas(64) double baseline[kTileColumns];
};

// Of the first `count` columns of a tile, or some of them: how many is returned. `ahead`: from this row to the next one, which is brought
// nearer.
template <class F>
struct ColumnKernels {
  int64_t (*add)(const F* values, const F* weights, const uint8_t* mask, int64_t ahead, int64_t count, ColumnTile*);
  int64_t (*settle)(ColumnTile*, double epsilon, int64_t count);  // the baselines
  // baselines or centred: or NULL
  int64_t (*write)(const F* values, const uint8_t* mask, const double* baseline, int64_t ahead, int64_t count,
                   F* baselines, F* centred);
};

}  // namespace srp::cpu

#endif
