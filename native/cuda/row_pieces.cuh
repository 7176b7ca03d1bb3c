// Rows cut into pieces of 4096 positions, and how the 256 lanes of a piece read and write it, 16 bytes at a time.
//
// Lane v of a piece has positions (256 k + v) w + j of it, w = 16 / sizeof(F) of them side by side: counted from the row's first
// element, never from an aligned address, so that no sum depends on where a row lies. Where a piece is not aligned its numbers are
// read one by one. The 256 lanes are a team: the threads of a block, or one warp, which plays eight times 32 of them by turns.
//
//   lane    adds up its positions: of a piece, or of all pieces of a row that has one team
//   warps   the same lane of each of the eight, in order
//   team    the 32 lanes, by a butterfly (common.cuh)
//
// Both kinds of team add up in this order, so the choice changes no bit. Sums of pieces alone are added up piece after piece (reduce.cu);
// a row gets a team of its own where what comes behind its sums needs all of its tokens once more.
#pragma once
#include "warps.cuh"

namespace srp::cuda {

constexpr int kPieceLanes = 256;
constexpr int kHeld = 16;  // positions of a lane
constexpr int64_t kPiece = int64_t{kPieceLanes} * kHeld;

// Rows of at most so many tokens on average take a warp each, or a warp a piece: with a block, most of its warps would have no work.
constexpr int64_t kShortRow = 512;
inline bool takes_block(int64_t n, int64_t B) { return n / B > kShortRow; }

// Numbers of a lane, 16 bytes by 16 bytes. `kStride`: lanes that share the positions, and so vectors from one of a lane to the next.
template <class F, int kStride = kPieceLanes, int kCount = kHeld>
struct Held {
  static constexpr int kWide = 16 / static_cast<int>(sizeof(F)), kVectors = kCount / kWide;
  F at[kCount];

  // The first position of vector k.
  static __device__ __forceinline__ int64_t position(int64_t begin, int lane, int k) {
    return begin + (int64_t{k} * kStride + lane) * kWide;
  }

  // Whether all positions of the lane lie before `end`: then its vectors are a constant distance apart, and none is looked at alone.
  static __device__ __forceinline__ bool whole(int64_t begin, int64_t end, int lane) {
    return position(begin, lane, kVectors - 1) + kWide <= end;
  }

  // Those from `end` on are 0, unread. `aligned`: p + begin is.
  __device__ __forceinline__ void read(const F* p, bool aligned, int64_t begin, int64_t end, int lane) {
    if (aligned && whole(begin, end, lane)) {
      const uint4* const from = reinterpret_cast<const uint4*>(p + position(begin, lane, 0));
      SRP_UNROLL
      for (int k = 0; k < kVectors; ++k) {
        const uint4 words = from[k * kStride];
        memcpy(at + k * kWide, &words, sizeof words);
      }
      return;
    }
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
    if (aligned && whole(begin, end, lane)) {
      uint4* const to = reinterpret_cast<uint4*>(p + position(begin, lane, 0));
      SRP_UNROLL
      for (int k = 0; k < kVectors; ++k) {
        uint4 words;
        memcpy(&words, at + k * kWide, sizeof words);
        to[k * kStride] = words;
      }
      return;
    }
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

  // Bit j: byte j of the word is not 0.
  static __device__ __forceinline__ uint32_t bits_of(uint32_t word) {
    const uint32_t high = (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
    return (high >> 7) * 0x10204080u >> 28;
  }

  // Bit k w + j: whether that position lies before `end` and has a flag that is not 0. Without flags all have one.
  static __device__ __forceinline__ uint32_t flags(const uint8_t* p, int64_t begin, int64_t end, int lane) {
    using Word = typename std::conditional<kWide == 4, uint32_t, uint16_t>::type;
    constexpr uint32_t kAll = (1u << kWide) - 1;
    const bool aligned = (reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(begin)) % sizeof(Word) == 0;
    uint32_t bits = 0;
    if (aligned && p && whole(begin, end, lane)) {
      const Word* const from = reinterpret_cast<const Word*>(p + position(begin, lane, 0));
      SRP_UNROLL
      for (int k = 0; k < kVectors; ++k) bits |= bits_of(from[k * kStride]) << (k * kWide);
      return bits;
    }
    SRP_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int64_t i = position(begin, lane, k);
      uint32_t some = 0;
      if (i + kWide <= end && (!p || aligned)) {
        some = p ? bits_of(*reinterpret_cast<const Word*>(p + i)) : kAll;
      } else {
        SRP_UNROLL
        for (int j = 0; j < kWide; ++j) some |= static_cast<uint32_t>(i + j < end && (!p || p[i + j] != 0)) << j;
      }
      bits |= some << (k * kWide);
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

// Lane by lane what the same lane of each of the eight warps has, added in order. All threads of the block call it, and the lanes of
// each warp get the block's.
template <class T>
__device__ __forceinline__ T joined_warps(const T& mine) {
  SRP_SHARED(uint64_t, words, kPieceLanes * ((sizeof(T) + 7) / 8));
  T* const lanes = reinterpret_cast<T*>(words);
  __syncthreads();  // a previous call's readers are done
  lanes[threadIdx.x] = mine;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  T all = lanes[lane];
  SRP_UNROLL
  for (int first = kWarp; first < kPieceLanes; first += kWarp) all = joined(all, lanes[first + lane]);
  return all;
}

template <class T>
__device__ __forceinline__ T block_total(const T& mine) {
  return warp_total(joined_warps(mine));
}

// The threads of a block are the lanes of a piece.
struct BlockPieces {
  static constexpr int kTeams = 1, kThreads = kPieceLanes;
  static __device__ __forceinline__ int64_t slot() { return blockIdx.x; }
  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ bool leads() { return threadIdx.x == 0; }

  template <class Visit>
  static __device__ __forceinline__ void each_lane(int, const Visit& visit) {
    visit(thread());
  }
  // The sum of what `of` returns for every lane. All threads of the block get it.
  template <class Of>
  static __device__ __forceinline__ auto total(int, const Of& of) -> decltype(of(0)) {
    return block_total(of(thread()));
  }
  // The sum over threads that have added up their own lanes, of what is the same in any order.
  template <class T>
  static __device__ __forceinline__ T together(const T& mine) {
    return add_warps(warp_total(mine));
  }
};

// What a lane of a warp carries from one of its turns to the next.
template <class T>
struct LaneTotal {
  T all = {};

  __device__ __forceinline__ void add(const T& mine) { all = joined(all, mine); }
  __device__ __forceinline__ T total() const { return warp_total(all); }
};

// A warp is all of them, 32 at a time; those from lane `lanes` on have no position, and would add nothing.
struct WarpPieces {
  static constexpr int kTeams = kPieceLanes / kWarp, kThreads = kWarp;
  static __device__ __forceinline__ int64_t slot() {
    return int64_t{blockIdx.x} * kTeams + static_cast<int>(threadIdx.x) / kWarp;
  }
  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x) % kWarp; }
  static __device__ __forceinline__ bool leads() { return thread() == 0; }

  template <class Visit>
  static __device__ __forceinline__ void each_lane(int lanes, const Visit& visit) {
    for (int first = 0; first < lanes; first += kWarp) visit(first + thread());
  }
  template <class Of>
  static __device__ __forceinline__ auto total(int lanes, const Of& of) -> decltype(of(0)) {
    LaneTotal<decltype(of(0))> all;
    SRP_KEEP_ROLLED
    for (int first = 0; first < lanes; first += kWarp) all.add(of(first + thread()));
    return all.total();
  }
  template <class T>
  static __device__ __forceinline__ T together(const T& mine) {
    return warp_total(mine);
  }
};

// Launches `launch(team, blocks)` for the team that suits rows of that length.
template <class Launch>
srp_status launch_pieces(const char* op, const Rows& rows, const Launch& launch) {
  const int64_t slots = rows.slots();
  if (takes_block(rows.n, rows.B)) {
    SRP_TRY(check_grid(op, slots));
    launch(BlockPieces{}, dim3(static_cast<unsigned>(slots)));
  } else {
    SRP_TRY(check_grid(op, slots / WarpPieces::kTeams + 1));
    launch(WarpPieces{}, dim3(blocks_for(slots, WarpPieces::kTeams)));
  }
  return launched(op);
}

// ---- a team for each row: it takes the pieces one after the other, and a lane adds up its positions of all of them

template <class F>
__device__ __forceinline__ int lanes_of(const Range& row) {
  const int64_t vectors = (row.end - row.begin + Held<F>::kWide - 1) / Held<F>::kWide;
  return static_cast<int>(vectors < kPieceLanes ? vectors : kPieceLanes);
}

// The range of the team's row; a bad one raises the flag and counts as empty.
template <class Team, class Args>
__device__ __forceinline__ Range team_row(const Args& a, int64_t b, uint32_t* faults) {
  const Range row = row_range(a.offsets, a.T, a.n, b);
  if (!row.valid && Team::leads()) raise(faults, SRP_FAULT_OFFSETS);
  return row;
}

// Launches `launch(team, blocks)` for the team that suits the rows of `a`, of which there is one.
template <class Args, class Launch>
srp_status launch_rows(const char* op, const Args& a, const Launch& launch) {
  if (takes_block(a.n, a.B))
    launch(BlockPieces{}, dim3(static_cast<unsigned>(a.B)));
  else
    launch(WarpPieces{}, dim3(blocks_for(a.B, WarpPieces::kTeams)));
  return launched(op);
}

}  // namespace srp::cuda
