// Warp intrinsics: a call is complete when every living lane of its mask has come; the last to come computes all results.
#include <cstdio>

#include "block.h"
#include "sanitizer.h"

namespace srp::emulation {

const char* describe(WarpOp op) {
  switch (op) {
    case WarpOp::shfl:
      return "__shfl_sync";
    case WarpOp::shfl_up:
      return "__shfl_up_sync";
    case WarpOp::shfl_down:
      return "__shfl_down_sync";
    case WarpOp::shfl_xor:
      return "__shfl_xor_sync";
    case WarpOp::ballot:
      return "__ballot_sync";  // __any_sync and __all_sync too
    case WarpOp::sync:
      return "__syncwarp";
    case WarpOp::reduce_add:
      return "__reduce_add_sync";
    case WarpOp::reduce_min:
      return "__reduce_min_sync";
    case WarpOp::reduce_max:
      return "__reduce_max_sync";
    case WarpOp::reduce_and:
      return "__reduce_and_sync";
    case WarpOp::reduce_or:
      return "__reduce_or_sync";
    case WarpOp::reduce_xor:
      return "__reduce_xor_sync";
    case WarpOp::ldmatrix:
      return "ldmatrix";
    case WarpOp::mma:
      return "mma";
    case WarpOp::wgmma_fence:
      return "wgmma.fence";
    case WarpOp::wgmma:
      return "wgmma";
    case WarpOp::wgmma_commit:
      return "wgmma.commit_group";
    case WarpOp::wgmma_wait:
      return "wgmma.wait_group";
  }
  return "a warp intrinsic";
}

static std::string hex(uint32_t mask) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

static std::string describe(const WarpCall& call) {
  return std::string(describe(call.op)) + " " + describe(call.site) + " with mask " + hex(call.mask);
}

uint64_t Block::warp_call(const WarpCall& call) {
  Thread& me = *current_;
  const unsigned warp = me.rank / warpSize, lane = me.rank % warpSize;
  if (!(call.mask >> lane & 1))
    note(name(me) + " calls " + describe(call) + " that lacks its own lane " + std::to_string(lane));
  else if (call.width < 1 || call.width > warpSize || (call.width & (call.width - 1)) != 0)
    note(name(me) + " calls " + describe(call) + " and width " + std::to_string(call.width) +
         ", expected 1, 2, 4, 8, 16 or 32");
  if (!error_.empty()) give_up();
  const bool orders_memory = call.op == WarpOp::sync;  // shuffles and votes do not, as in CUDA
  if (orders_memory) release(&me.arrived);
  me.state = Thread::State::in_warp_call;
  me.call = call;
  me.site = call.site;
  warps_[warp].waiting |= 1u << lane;
  complete_calls(warp);
  me.fiber.suspend();
  if (orders_memory) acquire(&me.woken);
  return me.result;
}

// Completes each call of the warp for which no lane is missing.
void Block::complete_calls(unsigned warp) {
  uint32_t unseen = warps_[warp].waiting;
  while (unseen != 0) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(unseen));
    const uint32_t mask = threads_[warp * warpSize + lane]->call.mask;
    const uint32_t present = warps_[warp].waiting | warps_[warp].returned;
    unseen &= ~(1u << lane);
    if ((present & mask) != mask) continue;
    const uint32_t participants = mask & warps_[warp].waiting;
    unseen &= ~participants;
    complete(warp, participants);
  }
}

void Block::complete(unsigned warp, uint32_t participants) {
  if (!agree(warp, participants)) return;
  compute(warp, participants);
  warps_[warp].waiting &= ~participants;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    if (participants >> lane & 1) threads_[warp * warpSize + lane]->state = Thread::State::ready;
}

// All lanes of a call must have made the same call, in the same place.
bool Block::agree(unsigned warp, uint32_t participants) {
  const Thread& first = *threads_[warp * warpSize + static_cast<unsigned>(__builtin_ctz(participants))];
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!(participants >> lane & 1)) continue;
    const Thread& other = *threads_[warp * warpSize + lane];
    const WarpCall &a = first.call, &b = other.call;
    if (a.op == b.op && a.mask == b.mask && same(a.site, b.site)) continue;
    note(name(first) + " calls " + describe(a) + " while its partner lane " + std::to_string(lane) + " calls " +
         describe(b));
    return false;
  }
  return true;
}

void Block::compute(unsigned warp, uint32_t participants) {
  Thread* lanes[warpSize];
  unsigned count = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    if (participants >> lane & 1) lanes[count++] = threads_[warp * warpSize + lane].get();

  const WarpOp op = lanes[0]->call.op;
  if (op <= WarpOp::shfl_xor) {
    for (unsigned i = 0; i < count; ++i) shuffle(*lanes[i], participants);
    return;
  }
  if (op >= WarpOp::wgmma_fence) return compute_products(warp, participants);
  if (op >= WarpOp::ldmatrix) return compute_matrices(warp, participants);
  if (op == WarpOp::sync) {
    // Every arrival happens before every awakening, by way of the thread that completes the call.
    for (unsigned i = 0; i < count; ++i) acquire(&lanes[i]->arrived);
    for (unsigned i = 0; i < count; ++i) release(&lanes[i]->woken);
    return;
  }
  uint32_t result = op == WarpOp::ballot ? 0 : static_cast<uint32_t>(lanes[0]->call.value);
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t value = static_cast<uint32_t>(lanes[i]->call.value);
    if (op == WarpOp::ballot) result |= value << lanes[i]->rank % warpSize;
    if (i == 0) continue;  // a reduction starts from the first lane's value
    if (op == WarpOp::reduce_add) result += value;
    if (op == WarpOp::reduce_min) result = value < result ? value : result;
    if (op == WarpOp::reduce_max) result = value > result ? value : result;
    if (op == WarpOp::reduce_and) result &= value;
    if (op == WarpOp::reduce_or) result |= value;
    if (op == WarpOp::reduce_xor) result ^= value;
  }
  for (unsigned i = 0; i < count; ++i) lanes[i]->result = result;
}

// The lane to read from, within segments of `width` lanes. One outside the segment means the lane's own value.
static int source_lane(const WarpCall& call, int lane) {
  const int first = lane & ~(call.width - 1), last = first + call.width - 1;
  switch (call.op) {
    case WarpOp::shfl:
      return first | (call.operand & (call.width - 1));
    case WarpOp::shfl_up:
      return lane - call.operand >= first ? lane - call.operand : lane;
    case WarpOp::shfl_down:
      return lane + call.operand <= last ? lane + call.operand : lane;
    default:
      return (lane ^ call.operand) <= last ? lane ^ call.operand : lane;
  }
}

void Block::shuffle(Thread& thread, uint32_t participants) {
  const int lane = static_cast<int>(thread.rank % warpSize);
  const int source = source_lane(thread.call, lane);
  if (source < 0 || source >= warpSize || !(participants >> source & 1)) {
    note(name(thread) + " reads lane " + std::to_string(source) + " by " + describe(thread.call) +
         ": that lane is not in the mask, has returned or does not exist");
    return;
  }
  thread.result = threads_[thread.rank - static_cast<unsigned>(lane) + static_cast<unsigned>(source)]->call.value;
}

}  // namespace srp::emulation
