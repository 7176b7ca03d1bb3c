#include "group_products.h"

#include <algorithm>
#include <cmath>

#include "block.h"
#include "sanitizer.h"
#include "towards_zero.h"

namespace srp::emulation {

namespace {

constexpr unsigned kGroupWarps = 4;
constexpr size_t kLine = 128, kPiece = 16, kNumbers = kLine / 2;  // bytes, bytes, numbers of a line

std::string number(uint64_t n) { return std::to_string(n); }

// Where the number of a line's term lies. A line is 128 bytes, or across, 64 of them a line of a term's. Pieces of 16 bytes change places
// by the number among eight of what is 128 bytes long.
const char* place_in(const char* side, bool across, unsigned line, unsigned term) {
  const size_t offset =
      across ? line / kNumbers * kNumbers * kLine + term * kLine + line % kNumbers * 2 : line * kLine + term * 2;
  const uintptr_t address = reinterpret_cast<uintptr_t>(side + offset), piece = address / kLine % 8 * kPiece;
  return reinterpret_cast<const char*>(address ^ piece);
}

float read_number(const char* at, float (*convert)(uint16_t)) {
  uint16_t bits;
  memcpy(&bits, at, sizeof bits);
  return convert(bits);
}

// Sums that a thread has on its stack, read and written for it: one by one, or the compiler calls memmove, where TSan watches.
void take_sums(const volatile float* from, float* to, unsigned count) {
  for (unsigned i = 0; i < count; ++i) to[i] = from[i];
}
void give_sums(const float* from, volatile float* to, unsigned count) {
  for (unsigned i = 0; i < count; ++i) to[i] = from ? from[i] : NAN;
}

}  // namespace

void GroupProducts::reset(unsigned warps) {
  warps_.resize(warps);
  for (Warp& warp : warps_) {
    warp.products.begun = warp.products.done = warp.groups.begun = warp.groups.done = warp.open = 0;
    warp.held.clear();
    warp.fenced = false;
  }
}

// Calls place(address) for each piece of 16 bytes that the warp's part of a product reads.
template <class Place>
void GroupProducts::each_place(const Product& product, unsigned warp, const Place& place) {
  const GroupProduct& of = product.of;
  const auto each = [&](const char* side, bool across, unsigned first, unsigned lines) {
    constexpr unsigned kEach = kPiece / 2;
    for (unsigned line = 0; line < lines; line += across ? kEach : 1)
      for (unsigned term = 0; term < kTerms; term += across ? 1 : kEach)
        place(place_in(side, across, first + line, term));
  };
  each(of.left, of.across_left, warp % kGroupWarps * kRows, kRows);
  each(of.right, of.across_right, 0, kColumns);
}

void GroupProducts::fence(unsigned warp) { warps_[warp].fenced = true; }

std::string GroupProducts::begin(unsigned warp, GroupProduct* const (&lanes)[warpSize], Site site, AsyncCopies& copies,
                                 unsigned phase) {
  Warp& mine = warps_[warp];
  const GroupProduct& first = *lanes[0];
  if (warp / kGroupWarps * kGroupWarps + kGroupWarps > warps_.size()) return "begins a product without all four warps";
  mine.held.reserve(kMostHeld);
  if (mine.products.full()) return "begins more than " + number(kMost) + " products before it waits";
  if (!mine.fenced) return "begins a product without a wgmma.fence since it waited";
  for (const bool left : {true, false}) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(left ? first.left : first.right) % (8 * kLine);
    const bool across = left ? first.across_left : first.across_right;
    if (across ? at != 0 : at > kLine - kTerms * 2 || at % kPiece != 0)
      return "multiplies lines that do not begin at a multiple of 1024 bytes";
  }
  Product product = {first, {}, site};
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    const GroupProduct& other = *lanes[lane];
    if (other.left != first.left || other.right != first.right || other.add != first.add)
      return "begins a product of other numbers than lane " + number(lane);
    product.sums[lane] = other.sums;
  }
  std::string broken;
  each_place(product, warp, [&](const char* at) {
    if (broken.empty()) broken = copies.begin_read(at, warp, phase);
  });
  if (!broken.empty()) return broken;

  auto held = std::find_if(mine.held.begin(), mine.held.end(), [&](const Held& h) { return h.first == first.sums; });
  if (held == mine.held.end()) {
    if (mine.held.size() == kMostHeld)
      return "adds to more than " + number(kMostHeld) + " arrays of sums before it waits";
    mine.held.push_back({first.sums, 0, {}});
    held = mine.held.end() - 1;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      take_sums(product.sums[lane], held->sums[lane], kOwn);
      give_sums(nullptr, product.sums[lane], kOwn);
    }
  }
  ++held->products;
  mine.last = site;
  ++mine.open;
  mine.products.push(product);
  return {};
}

std::string GroupProducts::commit(unsigned warp) {
  Warp& mine = warps_[warp];
  if (mine.groups.full()) return "commits more than " + number(kMost) + " groups before it waits";
  mine.groups.push(mine.open);
  mine.open = 0;
  return {};
}

void GroupProducts::wait(unsigned warp, int groups, AsyncCopies& copies, unsigned phase) {
  Warp& mine = warps_[warp];
  while (mine.groups.size() > static_cast<size_t>(groups)) {
    for (size_t count = mine.groups.front(); count > 0; --count) finish(warp, copies, phase);
    mine.groups.pop();
  }
  if (groups == 0) mine.fenced = false;
}

// The oldest product: its 16 products are added to each sum in float64, and the result is rounded towards zero.
void GroupProducts::finish(unsigned warp, AsyncCopies& copies, unsigned phase) {
  Warp& mine = warps_[warp];
  const Product product = mine.products.front();
  const GroupProduct& of = product.of;
  mine.products.pop();
  each_place(product, warp, [&](const char* at) { copies.end_read(at, warp, phase); });
  double left[kRows][kTerms], right[kTerms][kColumns];
  for (unsigned k = 0; k < kTerms; ++k) {
    for (unsigned row = 0; row < kRows; ++row)
      left[row][k] = static_cast<double>(
          read_number(place_in(of.left, of.across_left, warp % kGroupWarps * kRows + row, k), of.number));
    for (unsigned column = 0; column < kColumns; ++column)
      right[k][column] = static_cast<double>(read_number(place_in(of.right, of.across_right, column, k), of.number));
  }
  const auto held =
      std::find_if(mine.held.begin(), mine.held.end(), [&](const Held& h) { return h.first == product.sums[0]; });
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    for (unsigned i = 0; i < kOwn; ++i) {
      const unsigned row = i / 2 % 2 * 8 + lane / 4, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = of.add ? static_cast<double>(held->sums[lane][i]) : 0;
      for (unsigned k = 0; k < kTerms; ++k) sum += left[row][k] * right[k][column];
      held->sums[lane][i] = towards_zero(sum);
    }
  }
  if (--held->products > 0) return;
  for (unsigned lane = 0; lane < warpSize; ++lane) give_sums(held->sums[lane], product.sums[lane], kOwn);
  *held = mine.held.back();
  mine.held.pop_back();
}

std::string GroupProducts::uneven() const {
  for (unsigned warp = 0; warp < warps_.size(); ++warp) {
    const unsigned first = warp / kGroupWarps * kGroupWarps;
    const Warp &mine = warps_[warp], &other = warps_[first];
    if (mine.products.begun != other.products.begun)
      return "warp " + number(warp) + " has begun " + number(mine.products.begun) +
             " products of its warpgroup, warp " + number(first) + " " + number(other.products.begun) +
             ", the last by wgmma " + describe(other.products.begun > 0 ? other.last : mine.last);
  }
  return {};
}

std::string GroupProducts::on_return(unsigned warp) const {
  const Queue<Product>& left = warps_[warp].products;
  if (left.size() == 0) return {};
  return "returned while " + number(left.size()) + " of its products are under way, the first by wgmma " +
         describe(left.front().site);
}

void Block::compute_products(unsigned warp, uint32_t participants) {
  Thread* lanes[warpSize];
  if (!whole_warp(warp, participants, lanes)) return;
  const WarpCall& call = lanes[0]->call;
  std::string broken;
  acquire(&warps_[warp].products_tag);
  if (call.op == WarpOp::wgmma_fence) products_.fence(warp);
  if (call.op == WarpOp::wgmma_commit) broken = products_.commit(warp);
  if (call.op == WarpOp::wgmma_wait) products_.wait(warp, call.operand, copies_, phases_);
  if (call.op == WarpOp::wgmma) {
    GroupProduct* brought[warpSize];
    for (unsigned lane = 0; lane < warpSize; ++lane)
      brought[lane] = reinterpret_cast<GroupProduct*>(static_cast<uintptr_t>(lanes[lane]->call.value));
    broken = products_.begin(warp, brought, call.site, copies_, phases_);
  }
  release(&warps_[warp].products_tag);
  if (!broken.empty()) note(name(*lanes[0]) + " " + broken + ", by " + describe(call.op) + " " + describe(call.site));
}

}  // namespace srp::emulation
