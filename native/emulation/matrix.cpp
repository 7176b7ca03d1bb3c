// Warp-wide loads and products of matrices. A lane holds of a 16 x 16 matrix A, a 16 x 8 matrix B and 16 x 8 sums what PTX says for
// mma.m16n8k16, g = lane / 4 and t = lane % 4:
//
//   a   (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1), then the same of columns 8 and more
//   b   (2t, g) (2t + 1, g) (2t + 8, g) (2t + 9, g)
//   c   (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
#include "block.h"
#include "towards_zero.h"

namespace srp::emulation {

namespace {

template <class Call>
Call& call_of(const Thread& lane) {
  return *reinterpret_cast<Call*>(static_cast<uintptr_t>(lane.call.value));
}

void multiply(Thread* const (&lanes)[warpSize]) {
  double a[16][16], b[16][8];
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    const MatrixProduct& call = call_of<MatrixProduct>(*lanes[lane]);
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 8; ++i) a[g + i / 2 % 2 * 8][2 * t + i % 2 + i / 4 * 8] = static_cast<double>(call.a[i]);
    for (unsigned i = 0; i < 4; ++i) b[2 * t + i % 2 + i / 2 * 8][g] = static_cast<double>(call.b[i]);
  }
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    float* const sums = call_of<MatrixProduct>(*lanes[lane]).sums;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double sum = static_cast<double>(sums[i]);
      for (unsigned k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
      sums[i] = towards_zero(sum);
    }
  }
}

}  // namespace

bool Block::whole_warp(unsigned warp, uint32_t participants, Thread* (&lanes)[warpSize]) {
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!(participants >> lane & 1)) {
      const Thread& first = *threads_[warp * warpSize + static_cast<unsigned>(__builtin_ctz(participants))];
      note(name(first) + " calls " + describe(first.call.op) + " " + describe(first.call.site) + " without lane " +
           std::to_string(lane) + ", which has returned or does not exist");
      return false;
    }
    lanes[lane] = threads_[warp * warpSize + lane].get();
  }
  return true;
}

// Matrix m of a load is the rows that lanes 8 m and on name; a lane gets four bytes of the row of its number / 4, or, across, two
// bytes of each of two rows.
void Block::compute_matrices(unsigned warp, uint32_t participants) {
  Thread* lanes[warpSize];
  if (!whole_warp(warp, participants, lanes)) return;
  if (lanes[0]->call.op == WarpOp::mma) return multiply(lanes);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    const std::string broken = copies_.read(call_of<MatrixRows>(*lanes[lane]).row, warp, phases_);
    if (!broken.empty())
      return note(name(*lanes[lane]) + " " + broken + ", by ldmatrix " + describe(lanes[lane]->call.site));
  }
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    MatrixRows& call = call_of<MatrixRows>(*lanes[lane]);
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned row = call.across ? lane % 4 * 2 + i % 2 : lane / 4;
      call.rows[i / 2][i % 2] = call_of<MatrixRows>(*lanes[i / 2 * 8 + row]).row;
    }
  }
}

// ---- copies, called by the running thread

void Block::begin_copy(const AsyncCopy& copy) {
  {
    const std::string broken = copies_.begin(copy, current_->rank, phases_);
    if (!broken.empty()) note(name(*current_) + " " + broken + ", by __pipeline_memcpy_async " + describe(copy.site));
  }
  if (!error_.empty()) give_up();
}

void Block::commit_copies() { copies_.commit(current_->rank); }
void Block::fence_copies() { copies_.fence(current_->rank); }
const AsyncCopy* Block::due_copy(size_t groups) { return copies_.due(current_->rank, groups, phases_); }

}  // namespace srp::emulation
