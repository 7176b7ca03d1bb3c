// Rows cut into pieces of 4096 positions, and how the 256 lanes of a piece read and write it, 16 bytes at a time.
//
// Lane v of a piece has positions (256 k + v) w + j of it, w = 16 / sizeof(F) of them side by side: counted from the row's first
// element, never from an aligned address, so that no sum depends on where a row lies. Where a piece is not aligned its numbers are
// read one by one. The 256 lanes are a team: the threads of a block, or one warp, which plays eight times 32 of them by turns.
// Both add up in the same order (warps.cuh), so the choice changes no bit.
#pragma once
#include "warps.cuh"

namespace srp::cuda {

constexpr int kPieceLanes = 256;
constexpr int kHeld = 16;  // positions of a lane
constexpr int64_t kPiece = int64_t{kPieceLanes} * kHeld;
// Rows of fewer tokens on average take a warp a piece: with a block, most of its warps would have no work.
constexpr int64_t kShortRow = 512;

// Numbers of a lane, 16 bytes by 16 bytes. `kStride`: lanes that share the positions; 0: those of a lane lie side by side.
template <class F, int kStride = kPieceLanes, int kCount = kHeld>
struct Held {
  static constexpr int kWide = 16 / static_cast<int>(sizeof(F)), kVectors = kCount / kWide;
  F at[kCount];

  // The first position of vector k.
  static __device__ __forceinline__ int64_t position(int64_t begin, int lane, int k) {
    if (kStride == 0) return begin + lane * kCount + k * kWide;
    return begin + (int64_t{k} * kStride + lane) * kWide;
  }

  // Those from `end` on are 0, unread. `aligned`: p + begin is.
  __device__ __forceinline__ void read(const F* p, bool aligned, int64_t begin, int64_t end, int lane) {
    SRP_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int64_t i = position(begin, lane, k);
      if (aligned && i + kWide <= end) {
        const uint4 words = *reinterpret_cast<const uint4*>(p + i);
        memcpy(at + k * kWide, &words, sizeof words);
      } else {
        SRP_UNROLL
        for (int j = 0; j < kWide; ++j) at[k * kWide + j] = i + j < end ? p[i + j] : F(0);
      }
    }
  }

  __device__ __forceinline__ void write(F* p, bool aligned, int64_t begin, int64_t end, int lane) const {
    SRP_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int64_t i = position(begin, lane, k);
      if (aligned && i + kWide <= end) {
        uint4 words;
        memcpy(&words, at + k * kWide, sizeof words);
        *reinterpret_cast<uint4*>(p + i) = words;
      } else {
        SRP_UNROLL
        for (int j = 0; j < kWide; ++j)
          if (i + j < end) p[i + j] = at[k * kWide + j];
      }
    }
  }

  // Bit k w + j: whether that position lies before `end` and has a flag that is not 0. Without flags all have one.
  static __device__ __forceinline__ uint32_t flags(const uint8_t* p, int64_t begin, int64_t end, int lane) {
    using Word = typename std::conditional<kWide == 4, uint32_t, uint16_t>::type;
    const bool aligned = (reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(begin)) % sizeof(Word) == 0;
    uint32_t bits = 0;
    SRP_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int64_t i = position(begin, lane, k);
      uint32_t word = 0x01010101u;
      if (p && aligned && i + kWide <= end) {
        word = *reinterpret_cast<const Word*>(p + i);
      } else if (p) {
        word = 0;
        SRP_UNROLL
        for (int j = 0; j < kWide; ++j) word |= (i + j < end ? uint32_t{p[i + j]} : 0u) << (8 * j);
      }
      SRP_UNROLL
      for (int j = 0; j < kWide; ++j)
        bits |= static_cast<uint32_t>(i + j < end && (word >> (8 * j) & 0xffu) != 0) << (k * kWide + j);
    }
    return bits;
  }

  // Writes the bits as flags of 0 and 1.
  static __device__ __forceinline__ void write_flags(uint8_t* p, int64_t begin, int64_t end, int lane, uint32_t bits) {
    using Word = typename std::conditional<kWide == 4, uint32_t, uint16_t>::type;
    const bool aligned = (reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(begin)) % sizeof(Word) == 0;
    SRP_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int64_t i = position(begin, lane, k);
      uint32_t word = 0;
      SRP_UNROLL
      for (int j = 0; j < kWide; ++j) word |= (bits >> (k * kWide + j) & 1u) << (8 * j);
      if (aligned && i + kWide <= end) {
        *reinterpret_cast<Word*>(p + i) = static_cast<Word>(word);
      } else {
        SRP_UNROLL
        for (int j = 0; j < kWide; ++j)
          if (i + j < end) p[i + j] = static_cast<uint8_t>(word >> (8 * j));
      }
    }
  }
};

__device__ __forceinline__ bool aligned16(const void* p, int64_t bytes) {
  return (reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(bytes)) % 16 == 0;
}

// ---- rows

// Rows as the kernels of pieces get them. Each row has at least one piece, be it empty.
struct Rows {
  const int32_t* offsets;
  int64_t n, B, T;

  template <class Args>
  static Rows of(const Args& a) {
    return {a.offsets, a.n, a.B, a.T};
  }

  // Pieces of the longest row that there may be.
  SRP_HD int64_t most() const {
    const int64_t longest = offsets ? n : T;
    return longest > kPiece ? (longest + kPiece - 1) / kPiece : 1;
  }
  // Of packed rows, piece p of row b has slot begin / kPiece + b + p: begin / kPiece + b grows from row to row by at least the
  // row's pieces.
  SRP_HD int64_t slots() const { return offsets ? n / kPiece + B : B * most(); }
  SRP_HD int64_t first_slot(int64_t b) const { return offsets ? offsets[b] / kPiece + b : b * most(); }
};

__device__ __forceinline__ int64_t pieces_of(const Range& row) { return (row.end - row.begin + kPiece - 1) / kPiece; }

struct Piece {
  int64_t b, index, begin, end;
  int64_t pieces;  // of its row; 0: it has no token

  // Of its lanes, those that have a position.
  template <class F>
  __device__ int lanes() const {
    const int64_t vectors = (end - begin + Held<F>::kWide - 1) / Held<F>::kWide;
    return static_cast<int>(vectors < kPieceLanes ? vectors : kPieceLanes);
  }
};

// The piece in a slot. False: there is none. All lanes of a warp call it; it reports rows that are none.
__device__ inline bool piece_in(const Rows& rows, int64_t slot, uint32_t* faults, Piece& piece) {
  if (!rows.offsets) {
    const int64_t most = rows.most();
    piece.b = slot / most;
    piece.index = slot - piece.b * most;
  } else {
    if (slot < rows.B && threadIdx.x % kWarp == 0 && !row_range(rows.offsets, 0, rows.n, slot).valid)
      raise(faults, SRP_FAULT_OFFSETS);
    // Always inside [0, B), even if offsets are wrong.
    piece.b = warp_first(1, rows.B, [&](int64_t b) { return rows.first_slot(b) > slot; }) - 1;
    piece.index = slot - rows.first_slot(piece.b);
  }
  const Range row = row_range(rows.offsets, rows.T, rows.n, piece.b);
  piece.pieces = pieces_of(row);
  piece.begin = row.begin + piece.index * kPiece;
  piece.end = piece.begin + kPiece < row.end ? piece.begin + kPiece : row.end;
  return row.valid && piece.index >= 0 && (piece.index < piece.pieces || piece.index == 0);
}

// ---- teams

// The threads of a block are the lanes of a piece.
struct BlockPieces {
  static constexpr int kTeams = 1;
  static __device__ __forceinline__ int64_t slot() { return blockIdx.x; }
  static __device__ __forceinline__ bool leads() { return threadIdx.x == 0; }

  template <class Visit>
  static __device__ __forceinline__ void each_lane(int, const Visit& visit) {
    visit(static_cast<int>(threadIdx.x));
  }
  // The sum of what `of` returns for every lane. All threads of the block get it.
  template <class Of>
  static __device__ __forceinline__ auto total(int, const Of& of) -> decltype(of(0)) {
    return add_warps(warp_total(of(static_cast<int>(threadIdx.x))));
  }
  // The sum over threads that have added up their own lanes.
  static __device__ __forceinline__ int together(int mine) { return add_warps(warp_total(mine)); }
};

// A warp is all of them, 32 at a time; those from lane `lanes` on have no position, and would add nothing.
struct WarpPieces {
  static constexpr int kTeams = kPieceLanes / kWarp;
  static __device__ __forceinline__ int64_t slot() {
    return int64_t{blockIdx.x} * kTeams + static_cast<int>(threadIdx.x) / kWarp;
  }
  static __device__ __forceinline__ bool leads() { return threadIdx.x % kWarp == 0; }

  template <class Visit>
  static __device__ __forceinline__ void each_lane(int lanes, const Visit& visit) {
    for (int first = 0; first < lanes; first += kWarp) visit(first + static_cast<int>(threadIdx.x) % kWarp);
  }
  template <class Of>
  static __device__ __forceinline__ auto total(int lanes, const Of& of) -> decltype(of(0)) {
    auto all = warp_total(of(static_cast<int>(threadIdx.x) % kWarp));
    for (int first = kWarp; first < lanes; first += kWarp)
      all = joined(all, warp_total(of(first + static_cast<int>(threadIdx.x) % kWarp)));
    return all;
  }
  static __device__ __forceinline__ int together(int mine) { return warp_total(mine); }
};

// Launches `launch(team, blocks)` for the team that suits rows of that length.
template <class Launch>
srp_status launch_pieces(const char* op, const Rows& rows, const Launch& launch) {
  const int64_t slots = rows.slots();
  if (rows.n / rows.B > kShortRow) {
    SRP_TRY(check_grid(op, slots));
    launch(BlockPieces{}, dim3(static_cast<unsigned>(slots)));
  } else {
    SRP_TRY(check_grid(op, slots / WarpPieces::kTeams + 1));
    launch(WarpPieces{}, dim3(blocks_for(slots, WarpPieces::kTeams)));
  }
  return launched(op);
}

}  // namespace srp::cuda
